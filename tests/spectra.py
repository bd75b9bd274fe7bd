"""Outputs whose directions decay, lie flat, or are fewer than the outputs."""

from __future__ import annotations

import numpy as np

SPECTRA = ["decaying", "steps", "deficient", "constants", "scales"]


def draw_outputs(rng, spectrum, m=300, p=25, q=120, n_factors=18):
    """Candidates that hold the factors behind the outputs, and the outputs.

    Factors are independent and of unequal strength, so that no two picks are tied.
    """
    factors = rng.normal(size=(m, n_factors))
    strength = 0.8 ** np.arange(n_factors)
    if spectrum == "steps":
        strength = np.repeat([1.0, 0.3, 0.05], n_factors // 3)
    elif spectrum == "flat":
        strength = np.ones(n_factors)
    mix = np.linalg.qr(rng.normal(size=(q, n_factors)))[0].T
    noise = 0.0 if spectrum == "deficient" else 0.002
    Y = (factors * strength) @ mix + noise * rng.normal(size=(m, q))
    if spectrum == "constants":
        Y[:, [0, q // 2]] = 3.0, 0.0
    elif spectrum == "scales":
        Y = Y * 10.0 ** rng.uniform(-4, 4, q) + rng.normal(size=q)
    X = factors @ rng.normal(size=(n_factors, p)) + 2 * rng.normal(size=(m, p))
    return X, Y


def sparse_labels(rng, m=400, q=150, n_topics=6, a_row=5):
    """Label sets that follow topics, and candidates that tell the topic."""
    topics = rng.integers(n_topics, size=m)
    own = rng.integers(q // n_topics, size=(m, a_row)) * n_topics + topics[:, None]
    anything = rng.integers(q, size=(m, a_row))
    Y = np.zeros((m, q))
    np.put_along_axis(Y, np.where(rng.random((m, a_row)) < 0.8, own, anything), 1.0, axis=1)
    X = (topics[:, None] == np.arange(n_topics)) * rng.uniform(1, 2, n_topics)
    return np.hstack([X, np.zeros((m, 8))]) + rng.normal(size=(m, n_topics + 8)), Y
