"""Soft conditioning: after each pick everything is conditioned on it, with a ridge.

Hard conditioning takes a pick out of all variables wholly, which overfits where there are few
rows; ranking takes nothing out. In between, the pivot of the partial Cholesky factorisation of
``K_XX`` is ``norm + λ`` instead of ``norm``, so that after the picks S::

    K_ab|S = K_ab − K_aS (K_SS + λI)⁻¹ K_Sb,    score(x) = k_xY|S (K_YY|S + αI)⁻¹ k_Yx|S / k_xx|S

An exact copy of a pick keeps the share ``ρ = λ / (1 + λ)`` of itself: of its norm, and of its score
as far as the references are still there. Every pick may have a λ of its own, ``K_SS + diag(λ)``.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import solve_triangular

from projse.kernels.feature_gram import tiles
from projse.search.coordinates import Coordinates, squared_lengths
from projse.search.deflation import GrowingRows
from projse.search.greedy import REFRESH, TIE, Pick, first_of, top_of

Array = NDArray[Any]


class SoftConditioning:
    """Scores of all candidates given the picks so far, brought up to date pick by pick.

    Parameters
    ----------
    R : Coordinates
        ``F K_YX`` of shape (r, n) with ``FᵀF = (K_YY + αI)⁻¹``, of candidates of unit norm.
    alive : ndarray of bool of shape (n,)
        Candidates that are not constant.
    ridge : callable ``(place, norm) -> float``
        The λ of a pick, from its coordinates and squared norm given the picks before it; infinite
        where nothing is conditioned on it.
    vanishing : float
        A candidate whose conditioned norm is at most this depends on the picks, and scores 0.
    gone : float
        A direction of the references of which a pick leaves at most this share is gone.

    Notes
    -----
    A pick costs a row of ``K_XX``, one product with R and one with the rows of the picks before:
    ``2 n (r + s)`` flops after s picks. ``K_YY|S + αI = K_YY + αI − BᵀB`` is never factored again:
    in the coordinates of F it is ``I − B̃ᵀB̃``, whose inverse ``I + UᵀU`` gains a row of U a pick.
    """

    def __init__(
        self,
        R: Coordinates,
        alive: NDArray[np.bool_],
        ridge: Callable[[Array, float], float],
        vanishing: float,
        gone: float,
    ) -> None:
        self.R = R
        self.n = R.n
        self._ridge = ridge
        self.redundancy = 0.0
        self.norms = alive.astype(np.float64)
        self._vanishing = vanishing
        self._gone = gone
        self._A, self._B, self._U = (GrowingRows(n) for n in (R.n, R.rank, R.rank))
        self._picks: list[int] = []
        self._roots: list[float] = []
        self._squares = self._exact_squares()
        self._reference = 0.0

    def scores(self, eligible: NDArray[np.bool_] | bool = True) -> Array:
        """Scores of the candidates, in [0, 1] up to rounding; 0 for those that are not eligible."""
        some = (self.norms > self._vanishing) & eligible
        return np.divide(self._squares, self.norms, out=np.zeros(self.n), where=some)

    def take(self, j: int, row: Array | None) -> None:
        """Condition everything on candidate j, given its row of ``K_XX``; the last does without."""
        A, B, U = self._A.rows, self._B.rows, self._U.rows
        place, along = self.R.column(j), A[:, j]
        if len(A):
            place -= along @ B
        norm = float(self.norms[j])
        ridge = self._ridge(place, norm)
        if math.isinf(ridge):
            self.redundancy = 1.0
            return
        self.redundancy = ridge / (norm + ridge)
        if row is None:
            return
        root = math.sqrt(norm + ridge)
        b = place / root
        w = b
        if len(A):
            row = row - along @ A
            w = b + (U @ b) @ U
        a = row / root
        beta = float(b @ w)
        d = self.R.project(w)
        if len(A):
            d -= (B @ w) @ A
        d -= beta * a
        # Where nothing is left of a direction, no candidate has a part in it.
        gain = 1.0 / (1.0 - beta) if 1.0 - beta > self._gone else 0.0
        # a (−2 d − β a) + gain d²
        step = gain * d
        step -= 2.0 * a
        step *= d
        lost = a * a
        self.norms -= lost
        lost *= beta
        step -= lost
        self._squares += step
        self._picks.append(j)
        self._roots.append(root)
        self._A.append(a)
        self._B.append(b)
        self._U.append(w * np.sqrt(gain))

    @property
    def picks(self) -> Array:
        """What everything is conditioned on, shape (s,)."""
        return np.array(self._picks, dtype=np.intp)

    @property
    def metric(self) -> Array:
        """``G`` with ``score = ‖G r‖² / norm`` for coordinates r that are left, (r + s, r)."""
        return np.concatenate([np.eye(self.R.rank), self._U.rows])

    def coefficients(self, columns: Any) -> tuple[Array, Array]:
        """Return those on the picks, ``(K_SS + Λ)⁻¹ K_S·``: of candidates and of coordinates."""
        A = self._A.rows
        if not len(A):  # of no equations SciPy before 1.14 makes an error
            return A[:, columns], self._B.rows
        L = np.triu(A[:, self.picks], 1) + np.diag(self._roots)
        return solve_triangular(L, A[:, columns]), solve_triangular(L, self._B.rows)

    def _exact_squares(self) -> Array:
        A, B, U = self._A.rows, self._B.rows, self._U.rows
        if not len(A):
            return squared_lengths(self.R)
        out = np.empty(self.n)
        for columns in tiles(self.n, 1 << 14):
            block = self.R.tile(columns) - B.T @ A[:, columns]
            inner = U @ block
            out[columns] = np.einsum("ij,ij->j", block, block)
            out[columns] += np.einsum("ij,ij->j", inner, inner)
        return out

    def best(
        self,
        eligible: NDArray[np.bool_],
        tie_order: Array | None = None,
        given: int | None = None,
    ) -> Pick | None:
        """Return the best of the eligible candidates by the tie rule; None where all score 0.

        With ``given``, return that candidate instead.
        """
        scores = self.scores(eligible)
        top = top_of(scores)
        if top < REFRESH * self._reference:
            self._squares = self._exact_squares()
            self._reference = top
            scores = self.scores(eligible)
            top = top_of(scores)
        if not top > 0.0:
            return None
        self._reference = max(self._reference, top)
        j, n_tied = first_of(scores >= top * (1 - TIE), tie_order)
        if given is not None and scores[given] > 0:
            j, n_tied = given, 1
        score = float(scores[j])
        scores[j] = 0.0
        runner_up = max(top_of(scores), 0.0)
        margin = max(score - runner_up, 0.0) / score
        return Pick(j, min(score, 1.0), margin, int(np.count_nonzero(eligible)), n_tied)
