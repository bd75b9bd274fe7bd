"""Three long runs, each held against one big fit at every tenth of the way.

Rows have means that are 1000 standard deviations from zero, so that sums which are not kept about
their means would show it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from projse import Moments, ProjSe
from soak.watch import Watch

N_X, N_Y = 8, 2
MEAN = 1000.0
POOL = 20
"""Different batches of the run over very many rows."""

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Found:
    """What a run came to.

    Attributes
    ----------
    count : int
        Steps, or rows.
    drift : dict
        After how many batches the largest error of a product was what, relative to the norms of its
        two variables.
    same_picks : bool
        Whether a selection from the result has the picks of the big fit.
    """

    count: int
    drift: dict[int, float]
    same_picks: bool
    watch: Watch


def partial_fits(steps: int, seed: int = 0) -> Iterator[Found]:
    """Add batches of 20 rows with ``partial_fit``, and select anew at each."""
    X, Y = rows(20 * steps, np.random.default_rng(seed))
    watch, drift, model = Watch(), {}, ProjSe(3)
    for step in range(1, steps + 1):
        part = slice(20 * (step - 1), 20 * step)
        model.partial_fit(X[part], Y[part])
        if step % _tenth(steps) == 0:
            so_far = X[: part.stop], Y[: part.stop]
            drift[step] = distance(model.moments_, Moments.from_arrays(*so_far))
            same = same_picks(model, ProjSe(3).fit(*so_far))
            watch(step)
            yield Found(step, drift, same, watch)


def window(steps: int, seed: int = 0) -> Iterator[Found]:
    """Move a window of 20 batches of 50 rows: add the newest, subtract the oldest."""
    rng = np.random.default_rng(seed)
    batches = [rows(50, rng) for _ in range(20)]
    parts = [Moments.from_arrays(*batch) for batch in batches]
    total: Any = sum(parts)
    watch, drift = Watch(), {}
    for step in range(1, steps + 1):
        place = step % len(batches)
        batches[place] = rows(50, rng)
        new = Moments.from_arrays(*batches[place])
        total = total + new - parts[place]
        parts[place] = new
        if step % _tenth(steps) == 0:
            now = _all(batches)
            drift[step] = distance(total, Moments.from_arrays(*now))
            same = same_picks(ProjSe(3).fit_moments(total), ProjSe(3).fit(*now))
            watch(step)
            yield Found(step, drift, same, watch)


def many_rows(n_rows: int, seed: int = 0, batch: int = 10_000) -> Iterator[Found]:
    """Add batches of 10 000 rows, up to very many; the big fit has each of them with its count."""
    rng = np.random.default_rng(seed)
    batches = [rows(batch, rng) for _ in range(POOL)]
    X, Y = _all(batches)
    steps = max(1, n_rows // (batch * POOL))
    total: Any = 0
    watch, drift = Watch(), {}
    for step in range(1, steps + 1):
        for given in batches:
            total = total.update(*given) if total else Moments.from_arrays(*given)
        if step % _tenth(steps) == 0:
            drift[step * POOL] = distance(total, counted(batches, step))
            big = ProjSe(3).fit(X, Y, sample_weight=np.full(len(X), float(step)))
            same = same_picks(ProjSe(3).fit_moments(total), big)
            watch(step * POOL)
            yield Found(step * POOL * batch, drift, same, watch)


CASES: dict[str, tuple[str, int, int, Callable[[int], Iterator[Found]]]] = {
    "partial-fit": ("calls of partial_fit", 10_000, 300, partial_fits),
    "window": ("batches merged into and subtracted from a window", 100_000, 2_000, window),
    "rows": ("rows in batches of 10 000", 500_000_000, 2_000_000, many_rows),
}
"""What is counted, how many there are, how many in a short run, and the run."""


def rows(n: int, rng: np.random.Generator) -> tuple[Array, Array]:
    """Candidates far from zero, and references that some of them explain."""
    X = rng.normal(MEAN, 1.0, size=(n, N_X))
    return X, X[:, :N_Y] + 0.5 * X[:, N_Y : 2 * N_Y] + 0.1 * rng.normal(size=(n, N_Y))


def counted(batches: list[tuple[Array, Array]], rounds: int) -> Moments:
    """Moments of batches that all come ``rounds`` times: those of one round, times the count."""
    once = Moments.from_arrays(*_all(batches), with_xx=True)
    once.n_samples *= rounds
    once.sum_weights *= rounds
    for name in ("yy", "yx", "xx", "xx_diag"):
        setattr(once, name, getattr(once, name) * rounds)
    return once


def distance(got: Moments, want: Moments) -> float:
    """Return the largest error of a mean or a product, relative to norms; rows must be equal."""
    if got.n_samples != want.n_samples:
        raise AssertionError(f"{got.n_samples} rows, where {want.n_samples} were given")
    x, y = np.sqrt(want.xx_diag), np.sqrt(np.diagonal(want.yy))  # type: ignore[arg-type]
    root = np.sqrt(want.sum_weights)
    return float(
        max(
            np.abs((got.yy - want.yy) / np.outer(y, y)).max(),  # type: ignore[operator]
            np.abs((got.yx - want.yx) / np.outer(y, x)).max(),
            np.abs((got.xx - want.xx) / np.outer(x, x)).max(),  # type: ignore[operator]
            (np.abs(got.x_mean - want.x_mean) / (x / root)).max(),
            (np.abs(got.y_mean - want.y_mean) / (y / root)).max(),  # type: ignore[operator]
        )
    )


def same_picks(one: Any, other: Any) -> bool:
    """Tell whether two selections have the same picks, with scores equal to six digits."""
    return bool(
        np.array_equal(one.selected_, other.selected_)
        and np.allclose(one.scores_, other.scores_, rtol=1e-6)
    )


def _tenth(steps: int) -> int:
    return max(1, steps // 10)


def _all(batches: list[tuple[Array, Array]]) -> tuple[Array, Array]:
    return np.vstack([X for X, _ in batches]), np.vstack([Y for _, Y in batches])
