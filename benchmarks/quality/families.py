"""Synthetic families where the real variables are known; each has a variant in either half.

The variants differ in their sizes and in their seed, so that a rule chosen on one has not seen
the other.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np

from quality.problem import Array, Dataset, Half, Kind, Problem


def blocks(seed: int, m: int, n_blocks: int, width: int, correlation: float) -> Problem:
    """Blocks of correlated candidates; one real variable in every second block, five outputs."""
    rng = np.random.default_rng(seed)
    common = np.repeat(rng.standard_normal((m, n_blocks)), width, axis=1)
    own = rng.standard_normal((m, n_blocks * width))
    X = np.sqrt(correlation) * common + np.sqrt(1 - correlation) * own
    truth = np.arange(0, n_blocks, 2) * width + rng.integers(width, size=len(range(0, n_blocks, 2)))
    return Problem(X, _outputs(rng, X[:, truth], 5, noise=1.0), truth)


def latent(seed: int, m: int, n_x: int, n_y: int, n_real: int, dimensions: int) -> Problem:
    """Make outputs that share a few latent dimensions, mixtures of the real variables."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((m, n_x))
    truth = rng.permutation(n_x)[:n_real]
    weights = rng.uniform(0.5, 1.5, (n_real, dimensions)) * rng.choice(
        (-1, 1), (n_real, dimensions)
    )
    shared = X[:, truth] @ weights
    shared /= shared.std(axis=0)
    Y = shared @ rng.standard_normal((dimensions, n_y)) + 0.5 * rng.standard_normal((m, n_y))
    return Problem(X, Y, truth)


def weak(seed: int, m: int, n_x: int, n_y: int, n_real: int, noise: float) -> Problem:
    """Many variables with small effects."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((m, n_x))
    truth = rng.permutation(n_x)[:n_real]
    return Problem(X, _outputs(rng, X[:, truth], n_y, noise), truth)


def noise_outputs(seed: int, m: int, n_x: int, n_signal: int, n_noise: int) -> Problem:
    """Make a few outputs that depend on ten candidates, among many that are noise."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((m, n_x))
    truth = rng.permutation(n_x)[:10]
    Y = _outputs(rng, X[:, truth], n_signal, noise=0.7)
    return Problem(X, np.column_stack([Y, rng.standard_normal((m, n_noise))]), truth)


def wide_outputs(seed: int, m: int, n_x: int, n_y: int, n_real: int) -> Problem:
    """Make no fewer outputs than rows."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((m, n_x))
    truth = rng.permutation(n_x)[:n_real]
    return Problem(X, _outputs(rng, X[:, truth], n_y, noise=1.0), truth)


def few_rows(seed: int, m: int, n_x: int, n_y: int) -> Problem:
    """Few rows: correlated candidates (a slow autoregression), ten of them real."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((m, n_x))
    for j in range(1, n_x):
        X[:, j] = 0.7 * X[:, j - 1] + np.sqrt(1 - 0.49) * X[:, j]
    truth = rng.permutation(n_x)[:10]
    return Problem(X, _outputs(rng, X[:, truth], n_y, noise=0.7), truth)


def heavy_tails(seed: int, m: int, n_x: int, n_y: int, freedom: float) -> Problem:
    """Student's t for candidates and noise."""
    rng = np.random.default_rng(seed)
    X = rng.standard_t(freedom, (m, n_x))
    truth = rng.permutation(n_x)[:12]
    signal = X[:, truth] @ rng.standard_normal((12, n_y))
    noise = rng.standard_t(freedom, (m, n_y))
    return Problem(X, signal / signal.std(axis=0) + noise / noise.std(axis=0), truth)


def rare_columns(seed: int, m: int, n_x: int, n_y: int) -> Problem:
    """Binary candidates that are seldom one, and binary outputs that follow some of them."""
    rng = np.random.default_rng(seed)
    X = (rng.random((m, n_x)) < rng.uniform(0.01, 0.1, n_x)).astype(float)
    truth = rng.permutation(n_x)[:15]
    strength = X[:, truth] @ rng.uniform(1, 4, (15, n_y)) - 2.5 + rng.logistic(size=(m, n_y))
    return Problem(X, (strength > 0).astype(float), truth)


def classes(seed: int, m: int, n_x: int, n_classes: int, n_real: int) -> Problem:
    """Gaussian classes that differ in the means of some candidates; the others are correlated."""
    rng = np.random.default_rng(seed)
    y = rng.integers(n_classes, size=m)
    truth = rng.permutation(n_x)[:n_real]
    mixing = rng.standard_normal((5, n_x))
    X = rng.standard_normal((m, n_x)) + 0.7 * rng.standard_normal((m, 5)) @ mixing
    X[:, truth] += 1.2 * rng.standard_normal((n_classes, n_real))[y]
    return Problem(X, y, truth)


def clusters(seed: int, m: int, n_clusters: int, width: int) -> Problem:
    """One view: clusters of columns of different size around a common factor each."""
    rng = np.random.default_rng(seed)
    sizes = rng.integers(max(2, width // 2), 2 * width, n_clusters)
    common = np.repeat(rng.standard_normal((m, n_clusters)), sizes, axis=1)
    return Problem(common + 0.6 * rng.standard_normal(common.shape))


def shared_factors(seed: int, m: int, n_x: int, n_y: int, dimensions: int) -> Problem:
    """Two views that share latent factors in a tenth of their columns."""
    rng = np.random.default_rng(seed)
    factors = rng.standard_normal((m, dimensions))
    views = []
    for n in (n_x, n_y):
        view = rng.standard_normal((m, n))
        real = rng.permutation(n)[: max(dimensions, n // 10)]
        view[:, real] += factors @ rng.standard_normal((dimensions, len(real)))
        views.append(view)
    return Problem(*views)


def _outputs(rng: np.random.Generator, real: Array, n_y: int, noise: float) -> Array:
    """Mix the real variables with random effects; noise is relative to the signal."""
    signal = real @ rng.standard_normal((real.shape[1], n_y))
    return signal / signal.std(axis=0) + noise * rng.standard_normal(signal.shape)


def _made(
    name: str, kind: Kind, half: Half, make: Callable[..., Problem], *sizes: float
) -> Dataset:
    seed = 1 if half == "tune" else 2
    return Dataset(name, kind, half, partial(make, seed, *sizes))


FAMILIES = (
    _made("blocks a", "numbers", "tune", blocks, 300, 20, 10, 0.8),
    _made("blocks b", "numbers", "report", blocks, 200, 30, 8, 0.7),
    _made("latent 1 a", "numbers", "tune", latent, 250, 100, 3, 8, 1),
    _made("latent 1 b", "numbers", "report", latent, 150, 150, 4, 10, 1),
    _made("latent 3 a", "numbers", "tune", latent, 150, 200, 10, 12, 3),
    _made("latent 2 b", "numbers", "report", latent, 250, 100, 8, 12, 2),
    _made("weak a", "numbers", "tune", weak, 400, 200, 4, 30, 2.0),
    _made("weak b", "numbers", "report", weak, 600, 300, 2, 25, 2.5),
    _made("noise outputs a", "numbers", "tune", noise_outputs, 300, 150, 5, 45),
    _made("noise outputs b", "numbers", "report", noise_outputs, 200, 100, 3, 30),
    _made("wide outputs a", "numbers", "tune", wide_outputs, 60, 1000, 80, 6),
    _made("wide outputs b", "numbers", "report", wide_outputs, 75, 2000, 100, 5),
    _made("40 rows a", "numbers", "tune", few_rows, 40, 100, 3),
    _made("60 rows b", "numbers", "report", few_rows, 60, 200, 5),
    _made("100 rows a", "numbers", "tune", few_rows, 100, 60, 1),
    _made("100 rows b", "numbers", "report", few_rows, 100, 120, 2),
    _made("heavy tails a", "numbers", "tune", heavy_tails, 300, 100, 4, 3.0),
    _made("heavy tails b", "numbers", "report", heavy_tails, 200, 150, 3, 2.5),
    _made("rare columns a", "labels", "tune", rare_columns, 600, 150, 4),
    _made("rare columns b", "labels", "report", rare_columns, 800, 200, 6),
    _made("made classes a", "classes", "tune", classes, 200, 300, 5, 10),
    _made("made classes b", "classes", "report", classes, 150, 400, 4, 8),
    _made("clusters a", "one view", "tune", clusters, 150, 15, 8),
    _made("clusters b", "one view", "report", clusters, 100, 25, 6),
    _made("shared factors a", "two views", "tune", shared_factors, 150, 100, 80, 2),
    _made("shared factors b", "two views", "report", shared_factors, 120, 150, 100, 3),
)
