"""How far a variable is ahead of its twin: statistics for the knockoff filter.

Every statistic is antisymmetric: if a variable and its twin change places, its own figure changes
sign and no other changes. In sums and differences of pairs, ``u = (x + x̃)/√2``, ``d = (x − x̃)/√2``,
a swap is a change of sign of d, and the products of all of them are::

    [u d]ᵀ[u d] = [[2S − D, 0], [0, D]]

So the differences are free of each other and of the sums: the sums tell what to expect of each
difference, and the differences whether that holds.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import eigh
from scipy.linalg.lapack import dpotrf, dpotri

Array = NDArray[Any]

ROUNDS = 6
"""Times that the prior variances are brought up to date; twice as many found up to 0.03 more."""

SMALLEST_START = 1e-2
SMALLEST_EFFECT = 1e-8
"""Prior variances, in units of the noise: at first, and later."""


class Pairs:
    """Candidates and their twins, in sums and differences; the same for all draws of twins.

    Parameters
    ----------
    gram : ndarray of shape (2p, 2p)
        Products of candidates and twins.
    groups : ndarray of int of shape (p,)
        The variable, 0, 1, …, that a candidate belongs to.
    degrees : int
        Dimension of the space of the variables.

    Attributes
    ----------
    sums : ndarray of shape (p, p)
        Products of the sums.
    inverse : ndarray of shape (p, p)
        Their inverse.
    s : ndarray of shape (p,)
        Squares of the differences.
    """

    def __init__(self, gram: Array, groups: Array, degrees: int) -> None:
        self.gram, self.groups, self.degrees = gram, groups, degrees
        p = self.p = len(groups)
        self.sums = gram[:p, :p] + gram[:p, p:]
        self.inverse = _inverse(self.sums)
        self.s = np.diag(gram[:p, :p]) - np.diag(gram[:p, p:])

    def split(self, products: Array) -> tuple[Array, Array]:
        """Turn products (2p, q) of candidates and twins into those of sums and differences."""
        real, twin = products[: self.p], products[self.p :]
        return (real + twin) / np.sqrt(2), (real - twin) / np.sqrt(2)

    def by_group(self, values: Array) -> Array:
        """Add up over the candidates of each variable."""
        return np.bincount(self.groups, weights=values)

    def longer(self, real: Array, twin: Array) -> Array:
        """Return by how much what belongs to a variable is longer than what belongs to its twin."""
        lengths = [np.sqrt(self.by_group(np.sum(b**2, axis=1))) for b in (real, twin)]
        return lengths[0] - lengths[1]

    def in_noise_units(self, products: Array, K: Array) -> tuple[Array, Array]:
        """Return sums and differences with outputs whose noise is free, of unit variance.

        The noise is what variables and twins together leave of the outputs, which a swap does not
        change. Where there are hardly more rows than these, the variance of each output itself
        counts as q + 1 rows more.
        """
        c_sum, c = self.split(products)
        left = K - c_sum.T @ self.inverse @ c_sum - c.T @ (c / self.s[:, None])
        weight = len(K) + 1
        spare = max(self.degrees - 2 * self.p, 0)
        noise = (left + weight * np.diag(np.diag(K)) / self.degrees) / (spare + weight)
        white = _inverse_root(noise)
        return c_sum @ white, c @ white

    def mean_effect(self, c_sum: Array) -> float:
        """Return the variance of effects, if all were alike, from sums in units of the noise."""
        explained = float(np.sum(c_sum * (self.inverse @ c_sum))) / c_sum.shape[1]
        return max((explained - self.p) / float(np.trace(self.sums)), SMALLEST_START)


Statistic = Callable[[Pairs, Array, Array], Array]
"""Takes pairs, products (2p, q) with the outputs, and K (q, q); returns a figure a variable."""


def likelihood(pairs: Pairs, products: Array, K: Array) -> Array:
    """Log-likelihood ratio of each variable against its twin, all else being known by its sums.

    With noise of unit variance and effects ``b ~ N(0, t_g I)`` of each variable g, the sums leave
    of b a normal law with mean μ and variances v, and the difference c of a pair is normal about
    ``s μ`` with variance ``s (1 + s v)``. Had variable and twin changed places, it would be −c::

        W_g = Σ 2 μᵀc / (1 + s v)    over the candidates of g

    Prior variances are estimated with the effects (by expectation and maximisation, from what does
    not tell variable and twin apart). Most become small, and leave their variables out of the
    others' way. Spector and Fithian (2022) show that such ratios have the most power.

    Notes
    -----
    A p × p inverse a round: ``p³`` flops, 6 times.
    """
    c_sum, c = pairs.in_noise_units(products, K)
    p, q = c.shape
    s, groups = pairs.s, pairs.groups
    size = pairs.by_group(np.ones(p))
    t = np.full(p, pairs.mean_effect(c_sum))
    for _ in range(ROUNDS):
        V = _inverse(pairs.sums + np.diag(1 / t))
        v, mu = np.diag(V), V @ c_sum
        W = pairs.by_group(2 * np.sum(mu * c, axis=1) / (1 + s * v))
        # Second moment of the effects given the sums and, both ways round, the difference.
        both = 1 / (1 / v + s)
        known = mu / v[:, None]
        way = np.tanh(W / 2)[groups]
        squares = np.sum(known**2 + c**2 + 2 * way[:, None] * known * c, axis=1)
        moment = both**2 * squares / q + both
        t = np.maximum(pairs.by_group(moment) / size, SMALLEST_EFFECT)[groups]
    return W


def ridge(pairs: Pairs, products: Array, K: Array) -> Array:
    """Difference of the lengths of ridge coefficients of variable and twin."""
    c_sum, c = pairs.in_noise_units(products, K)
    penalty = 1 / pairs.mean_effect(c_sum)
    b_sum = _inverse(pairs.sums + penalty * np.eye(pairs.p)) @ c_sum
    b = c / (pairs.s + penalty)[:, None]
    return pairs.longer(b_sum + b, b_sum - b)


def score(pairs: Pairs, products: Array, K: Array) -> Array:
    """Difference of the lengths of variable and twin in the space of the outputs, one by one."""
    C = products @ _inverse_root(K)
    return pairs.longer(C[: pairs.p], C[pairs.p :])


def _inverse_root(A: Array) -> Array:
    """Return B of shape (n, r) with ``BᵀAB = I``, for a matrix of rank r."""
    values, vectors = eigh(A)
    kept = values > values[-1] * 1e-10
    return vectors[:, kept] / np.sqrt(values[kept])


def _inverse(A: Array) -> Array:
    """Return the inverse of a positive definite matrix."""
    factor, failed = dpotrf(A, lower=1)
    if failed:
        raise np.linalg.LinAlgError(
            "Candidates and their twins depend on each other but for rounding; lower "
            "max_correlation, so that what is so close counts as one variable."
        )
    inverse, _ = dpotri(factor, lower=1, overwrite_c=1)
    lower = np.tril(inverse)
    return lower + np.tril(lower, -1).T


STATISTICS: dict[str, Statistic] = {"likelihood": likelihood, "ridge": ridge, "score": score}
