"""Soft conditioning in a page of numpy: the yardstick for rules, and for projse's own code.

With unit-norm variables, picks S and λ = ρ/(1 − ρ), all Gram matrices are conditioned with a
ridge, ``K_ab|S = K_ab − K_aS (K_SS + λI)⁻¹ K_Sb``, and a candidate scores
``K_xY|S (K_YY|S + αI)⁻¹ K_Yx|S / K_xx|S``. An exact copy of the first pick has the conditioned
norm ρ and products ρ K_xY with the outputs: it keeps the share ρ of its score (while the outputs
are weighed as before, that is, for α large or with the factor of K_YY kept).

With a *noise floor*, a candidate's score is raised by what the best of n_x noise candidates would
get, times its own score before any pick (as a share of the best) and the share of its norm that
the picks leave. Where evidence stands far above noise nothing changes; where it has run out, the
order is that of plain ranking among candidates that are new, instead of a fit to the residual.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from quality.problem import Array

VANISHED = 1e-10


@dataclass(frozen=True)
class Situation:
    """What a rule may look at: sizes, spectra and first scores, all functions of the moments."""

    m: int
    n_x: int
    n_y: int
    spectrum: Array  # of K_YY, the part above rounding
    trace_xx2: float  # tr K_XX²
    n_picks: int
    one_view: bool

    def weights(self, alpha: float) -> Array:
        """Return what each direction of the references counts for, e/(e + α) or e."""
        return self.spectrum if np.isinf(alpha) else self.spectrum / (self.spectrum + alpha)


Alpha = Callable[[Situation], float]
Redundancy = Callable[[Situation, float, Array], float]


def unit_columns(A: Array) -> Array:
    """Return centred columns of norm one (zero where a column is constant)."""
    A = A - A.mean(axis=0)
    norms = np.linalg.norm(A, axis=0)
    return A / np.where(norms > 1e-9 * np.sqrt(len(A)), norms, np.inf)


def best_of_noise(N: Array, situation: Situation, t: int) -> float:
    """Bound the best score of n_x candidates that are noise, after t picks.

    Such a score is a weighted sum of squares of normals, over the rows: the bound of Laurent and
    Massart (2000, lemma 1) at the level 1/n_x.
    """
    e = np.maximum(np.linalg.eigvalsh(N), 0)
    level = np.log(situation.n_x)
    bound = e.sum() + 2 * np.sqrt((e**2).sum() * level) + 2 * e.max() * level
    return float(bound) / max(situation.m - t, 1)


def soft_select(
    X: Array,
    Y: Array,
    n: int,
    alpha: Alpha | float,
    redundancy: Redundancy | float,
    *,
    refactor: bool = True,
    floor: bool = False,
) -> Array:
    """Pick n candidates one by one, each conditioned on at once; O(r n_x) a pick and X'x.

    ``refactor`` weighs the outputs anew after each pick, by (K_YY|S + αI)⁻¹; otherwise the first
    factor, (K_YY + αI)⁻¹, stays.
    """
    one_view = X is Y
    X, Y = unit_columns(X), unit_columns(Y)
    U, s, _ = np.linalg.svd(Y, full_matrices=False)
    U, s = U[:, s > 1e-7 * s[0]], s[s > 1e-7 * s[0]]
    small = X if len(X) > X.shape[1] else X.T
    trace_xx2 = float(((small.T @ small) ** 2).sum()) if len(small.T) <= 2000 else np.nan
    situation = Situation(len(X) - 1, X.shape[1], Y.shape[1], s**2, trace_xx2, n, one_view)
    a = alpha(situation) if callable(alpha) else alpha
    R = np.sqrt(situation.weights(a))[:, None] * (U.T @ X)
    N = np.diag(situation.weights(a))  # what is left of the outputs, in the coordinates of R
    norms = (X**2).sum(axis=0)
    scores = alone = (R**2).sum(axis=0)
    rho = redundancy(situation, a, scores) if callable(redundancy) else redundancy
    ridge = rho / (1 - rho) if rho < 1 else np.inf
    rows: list[Array] = []
    picks: list[int] = []
    allowed = norms > VANISHED
    for t in range(min(n, int(allowed.sum()))):
        scores = (R**2).sum(axis=0) / np.where(norms > VANISHED, norms, np.inf)
        if floor:
            scores = scores + best_of_noise(N, situation, t) * alone / alone.max() * norms
        best = int(np.argmax(np.where(allowed, scores, -1)))
        picks.append(best)
        allowed[best] = False
        if np.isinf(ridge):
            continue
        column = X.T @ X[:, best] - sum((row * row[best] for row in rows), np.zeros(X.shape[1]))
        pivot = norms[best] + ridge
        if pivot <= VANISHED:
            continue
        shadow = R[:, best].copy()
        R -= np.outer(shadow, column / pivot)
        N -= np.outer(shadow, shadow) / pivot
        norms = norms - column**2 / pivot
        rows.append(column / np.sqrt(pivot))
        if refactor and not np.isinf(a):
            # K_YY lost shadow shadow'/pivot (in these coordinates): whiten again by rank one.
            share = min(float(shadow @ shadow) / pivot, 1 - 1e-9)
            if share > 1e-15:
                gain = (1 / np.sqrt(1 - share) - 1) / float(shadow @ shadow)
                R += np.outer(gain * shadow, shadow @ R)
                N += np.outer(gain * shadow, shadow @ N)
                N += np.outer(N @ shadow, gain * shadow)
    return np.array(picks)
