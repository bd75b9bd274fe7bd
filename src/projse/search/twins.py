"""Twins of the candidates, from moments alone: the same correlations, and no say in the outputs.

For candidates of unit norm with products S, and C, K the products with and of the outputs, the
k twins of each (fixed-X knockoffs, Barber and Candès 2015; several of them, Gimenez and Zou 2019)
are columns X̃₁ … X̃ₖ with::

    X̃ᵢᵀX̃ᵢ = S,    XᵀX̃ᵢ = X̃ᵢᵀX̃ⱼ = S − D,    D = diag(s),  0 ⪯ D ⪯ (1 + 1/k) S

From rows they are ``X̃ᵢ = X (I − S⁻¹D) + Eᵢ`` with ``EᵢᵀEⱼ = D − D S⁻¹ D``, plus D for i = j: the
E span a space that is drawn at random from what is orthogonal to X. In directions of the twins of
which the first is their mean, they are free of each other::

    E₁ᵀE₁ = (k + 1) D − k D S⁻¹ D = LᵀL,    EᵢᵀEᵢ = D    for the others

A selection sees products only, and ``EᵀY = Lᵀ Z R`` or ``√D Z R`` with ``RᵀR = K − Cᵀ S⁻¹ C`` and Z
the corner of a random orthogonal matrix. Its law is known, and a draw of it stands for rows that
nobody has to read.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import cho_factor, cho_solve, eigh, helmert, solve_triangular
from scipy.linalg.blas import dsyr
from scipy.linalg.lapack import dpotrf

Array = NDArray[Any]

SWEEPS = 50
"""Coordinate descent ends after this many sweeps over all candidates, or when it stands still."""

STANDSTILL = 1e-6
"""A sweep that changes the loss by a smaller share is the last."""

SHRINKAGE = 1e-3
"""Equal s stay this share below their limit, where sums with twins depend on each other."""


class Twins:
    """Twins of candidates whose products with all outputs are known.

    Parameters
    ----------
    S : ndarray of shape (p, p)
        Products of the candidates; unit diagonal, positive definite.
    C : ndarray of shape (p, q)
        Products of candidates and outputs.
    K : ndarray of shape (q, q)
        Products of the outputs.
    degrees : int
        Dimension of the space that the variables vary in: rows, less one for the means, less what
        was conditioned on. At least ``(n_twins + 1) p``.
    s : ndarray of shape (p,)
        Square of what tells candidates and twins apart, halved: ``1 − s`` is their correlation.
    n_twins : int, default=1
        Twins of each candidate.
    rounding : float
        Outputs of which the candidates leave no more than this share are explained wholly.

    Notes
    -----
    Costs ``O(p³)`` once, and ``2 p² q + k p q²`` flops a draw. The roots of L and of R are those
    that do not depend on signs or orders that rounding may change: the same random numbers give
    the same twins wherever the moments were summed.
    """

    def __init__(
        self,
        S: Array,
        C: Array,
        K: Array,
        degrees: int,
        s: Array,
        n_twins: int = 1,
        rounding: float = 1e-10,
    ) -> None:
        p, k = len(S), n_twins
        if degrees < (k + 1) * p:
            raise ValueError(f"{degrees} dimensions do not hold {p} candidates and their twins.")
        self.C, self.n_twins = C, n_twins
        factor = cho_factor(S, lower=True)
        self._explained = C - s[:, None] * cho_solve(factor, C)
        common = (k + 1) * np.diag(s) - k * s[:, None] * cho_solve(factor, np.diag(s))
        self._L, self._root_s = definite_root(common), np.sqrt(s)
        self._directions = helmert(k, full=True)
        half = solve_triangular(factor[0], C, lower=True)
        left, nothing = K - half.T @ half, rounding * np.diag(K)
        # What the candidates leave has no more dimensions than this, whatever rounding says.
        self._R = echelon_root(left, nothing)[: degrees - p]
        explained = np.diag(left) <= nothing
        self._nothing = np.sqrt(np.outer(s, np.where(explained, nothing, 0.0)))
        self._spare = degrees - (k + 1) * p

    def draw(self, rng: np.random.Generator) -> Array:
        """Return products with the outputs, of shape (n_twins + 1, p, q): candidates come first.

        Of outputs that candidates explain wholly, nothing but rounding tells those that do not
        matter from their twins: then their products are the same, and no twin loses by rounding.
        """
        k, (p, q) = self.n_twins, self.C.shape
        Z = orthogonal_corner(k * p, len(self._R), self._spare, rng)
        E = (Z @ self._R).reshape(k, p, q)
        E[0] = self._L @ E[0]
        E[1:] *= self._root_s[:, None]
        E = np.tensordot(self._directions.T, E, axes=1)
        products = np.concatenate([self.C[None], self._explained + E])
        mean = products.mean(axis=0)
        return np.where(np.abs(products - mean).max(axis=0) > self._nothing, products, mean)


def orthogonal_corner(p: int, r: int, spare: int, rng: np.random.Generator) -> Array:
    """Draw the upper left p × r corner of a random orthogonal matrix of order ``p + spare``.

    ``A (AᵀA + B)^(−1/2)`` with A standard normal and B Wishart with ``spare`` degrees of freedom,
    singular where these are fewer than r. Any root of the sum gives the same law, because r random
    directions are as random in every basis.
    """
    A = rng.standard_normal((p, r))
    if not r:  # older SciPy solves no system without equations
        return A
    if spare <= 2 * r:
        G = rng.standard_normal((spare, r))
        B = G.T @ G
    else:
        B = wishart(r, spare, rng)
    T = np.linalg.cholesky(A.T @ A + B)
    return solve_triangular(T, A.T, lower=True).T


def wishart(r: int, degrees: int, rng: np.random.Generator) -> Array:
    """Draw a Wishart matrix of order r by Bartlett's decomposition; ``degrees`` at least r."""
    T = np.tril(rng.standard_normal((r, r)), -1)
    T[np.diag_indices(r)] = np.sqrt(rng.chisquare(degrees - np.arange(r)))
    return T @ T.T


def definite_root(A: Array) -> Array:
    """Return B with ``B Bᵀ = A``, for a matrix that is positive definite, or but for rounding."""
    factor, failed = dpotrf(A, lower=1, clean=1)
    if not failed:
        return factor
    values, vectors = eigh((A + A.T) / 2)
    return (vectors * np.sqrt(np.clip(values, 0.0, None))) @ vectors.T


def echelon_root(A: Array, nothing: Array) -> Array:
    """Return R of shape (r, n) with ``RᵀR = A`` and as many rows as A has rank.

    A Cholesky factorisation in the order of the columns, which leaves out those that depend on the
    ones before: of their squares no more is left than ``nothing`` (n,) says.
    """
    left = (A + A.T) / 2
    rows = []
    for j in range(len(left)):
        if left[j, j] <= nothing[j]:
            continue
        row = left[j] / np.sqrt(left[j, j])
        row[:j] = 0.0
        rows.append(row)
        left = left - np.outer(row, row)
    return np.array(rows).reshape(len(rows), len(left))


def equal_distances(S: Array, n_twins: int = 1) -> Array:
    """Return the largest s that is the same for all candidates, at most 1."""
    least = float(eigh(S, eigvals_only=True, subset_by_index=[0, 0])[0])
    most = min(1.0, (1 + 1 / n_twins) * max(least, 0.0))
    return np.full(len(S), most * (1.0 - SHRINKAGE))


def least_reconstructable(S: Array, n_twins: int = 1) -> Array:
    """Return the s with which candidates and twins tell least about each other.

    Minimum variance-based reconstructability (Spector and Janson 2022): least ``tr G⁻¹`` of the
    products G of candidates and k twins, the sum of inverse variances of each given all others::

        tr G⁻¹ = tr ((k + 1) S − k D)⁻¹ + k tr D⁻¹

    by coordinate descent. With ``A = ((k + 1) S − k D)⁻¹`` the best change of one s_j solves
    ``‖A_j‖ (s_j + δ) = 1 − k δ A_jj``, and changes A by a matrix of rank one: ``O(p²)`` flops a
    step, a sweep over all candidates costs ``O(p³)``, and few are needed.
    """
    k = n_twins
    s = equal_distances(S, k) / 2  # at the limit the matrix has no inverse
    p = len(s)
    loss = np.inf
    for _ in range(SWEEPS):
        A = np.asfortranarray(np.linalg.inv((k + 1) * S - k * np.diag(s)))
        before, loss = loss, float(np.trace(A) + k * np.sum(1 / s))
        if before - loss <= STANDSTILL * loss:
            break
        for j in range(p):
            # Only the lower half is kept up to date: half the work.
            column = np.concatenate([A[j, :j], A[j:, j]])
            norm = float(np.sqrt(column @ column))
            step = (1.0 - s[j] * norm) / (norm + k * column[j])
            s[j] += step
            A = dsyr(k * step / (1.0 - k * step * column[j]), column, a=A, lower=1, overwrite_a=1)
    return s
