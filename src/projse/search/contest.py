"""How far a variable is ahead of its twins: statistics for the knockoff filter.

A variable and its k twins are rivals. If they change places, the figures of the rivals of that
variable change places with them, and no other figure changes. Of their sum and what each differs
from the mean, ``u = (x₀ + … + xₖ)/√(k+1)``, ``dᵢ = √(k+1) (xᵢ − mean)``, only the differences know
places, and the products are::

    uᵀu = (k + 1) S − k D,    uᵀdᵢ = 0,    dᵢᵀdᵢ = k D,    dᵢᵀdⱼ = −D

So the differences are free of those of other variables and of the sums: the sums tell what to
expect of each difference, and the differences whether that holds.
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


class Rivals:
    """Candidates and their twins, in sums and differences; the same for all draws of twins.

    Parameters
    ----------
    S : ndarray of shape (p, p)
        Products of the candidates.
    s : ndarray of shape (p,)
        Products of candidates and twins are ``S − diag(s)``.
    groups : ndarray of int of shape (p,)
        The variable, 0, 1, …, that a candidate belongs to.
    degrees : int
        Dimension of the space of the variables.
    n_twins : int, default=1
        Twins of each candidate.

    Attributes
    ----------
    sums : ndarray of shape (p, p)
        Products of the sums.
    inverse : ndarray of shape (p, p)
        Their inverse.
    """

    def __init__(self, S: Array, s: Array, groups: Array, degrees: int, n_twins: int = 1) -> None:
        self.S, self.s, self.groups, self.degrees, self.n_twins = S, s, groups, degrees, n_twins
        self.p = len(groups)
        self.sums = (n_twins + 1) * S - n_twins * np.diag(s)
        self.inverse = _inverse(self.sums)
        alone = np.array_equal(groups, np.arange(self.p))
        self._members = None if alone else np.eye(int(groups.max()) + 1)[groups]

    @property
    def gram(self) -> Array:
        """Products of candidates and twins, one set after the other."""
        n, D = self.n_twins + 1, np.diag(self.s)
        return np.kron(np.ones((n, n)), self.S - D) + np.kron(np.eye(n), D)

    def split(self, products: Array) -> tuple[Array, Array]:
        """Turn products (k + 1, p, q) into those of sums (p, q) and differences (k + 1, p, q)."""
        root = np.sqrt(self.n_twins + 1)
        total = products.sum(axis=0)
        return total / root, root * products - total / root

    def by_group(self, values: Array) -> Array:
        """Add up over the candidates of each variable; values of shape (…, p)."""
        return values if self._members is None else values @ self._members

    def longest(self, vectors: Array) -> Array:
        """Compare lengths of vectors (k + 1, p, q), with all that belongs to a variable in one."""
        return ahead(np.sqrt(self.by_group(np.sum(vectors**2, axis=2))))

    def in_noise_units(self, products: Array, K: Array) -> tuple[Array, Array]:
        """Return sums and differences with outputs whose noise is free, of unit variance.

        The noise is what variables and twins together leave of the outputs, which a change of
        places does not change. Where there are hardly more rows than these, the variance of each
        output itself counts as q + 1 rows more.
        """
        c_sum, c = self.split(products)
        n, (p, q) = self.n_twins + 1, c_sum.shape
        flat = c.reshape(n * p, q)
        left = (
            K - c_sum.T @ self.inverse @ c_sum - flat.T @ (flat / np.tile(n * self.s, n)[:, None])
        )
        weight = len(K) + 1
        spare = max(self.degrees - n * p, 0)
        noise = (left + weight * np.diag(np.diag(K)) / self.degrees) / (spare + weight)
        white = _inverse_root(noise)
        return c_sum @ white, c @ white

    def mean_effect(self, c_sum: Array) -> float:
        """Return the variance of effects, if all were alike, from sums in units of the noise."""
        explained = float(np.sum(c_sum * (self.inverse @ c_sum))) / c_sum.shape[1]
        return max((explained - self.p) / float(np.trace(self.sums)), SMALLEST_START)


Statistic = Callable[[Rivals, Array, Array], Array]
"""Takes rivals, products (k + 1, p, q) with the outputs, and K (q, q); a figure a variable."""


def ahead(figures: Array) -> Array:
    """Return by how much the best of the rivals is ahead of the next: negative if it is a twin.

    Parameters
    ----------
    figures : ndarray of shape (k + 1, n)
        Of variables, first, and twins. A tie at the top is nobody's: 0.
    """
    second, best = np.partition(figures, -2, axis=0)[-2:]
    return np.where(figures[0] == best, 1.0, -1.0) * (best - second)


def likelihood(rivals: Rivals, products: Array, K: Array) -> Array:
    """Log-likelihood ratio of each variable against its twins, all else being known by its sums.

    With noise of unit variance and effects ``b ~ N(0, t_g I)`` of each variable g, the sums leave
    of b a normal law with mean μ and variances v. If the i-th of the rivals is the real one, the
    log-likelihood of their differences is, up to what they share::

        ℓ_i = Σ (μᵀdᵢ + v |dᵢ|²/2) / (1 + k s v)    over the candidates of g

    The figure of a variable is the best of these against the mean likelihood of the others: the
    odds that it is the real one.

    Prior variances are estimated with the effects (by expectation and maximisation, from what does
    not tell variable and twins apart). Most become small, and leave their variables out of the
    others' way. Spector and Fithian (2022) show that such ratios have the most power.

    Notes
    -----
    A p × p inverse a round: ``p³`` flops, 6 times.
    """
    c_sum, c = rivals.in_noise_units(products, K)
    q = c.shape[2]
    ks, groups = rivals.n_twins * rivals.s, rivals.groups
    size = rivals.by_group(np.ones(rivals.p))
    squares = np.sum(c**2, axis=2)
    t = np.full(rivals.p, rivals.mean_effect(c_sum))
    for _ in range(ROUNDS):
        V = _inverse(rivals.sums + np.diag(1 / t))
        v, mu = np.diag(V), V @ c_sum
        along = np.sum(mu * c, axis=2)
        logs = rivals.by_group((along + v * squares / 2) / (1 + ks * v))
        # Second moment of the effects given the sums and the differences, whoever is real.
        chances = np.exp(logs - logs.max(axis=0))
        chances = (chances / chances.sum(axis=0))[:, groups]
        both = 1 / (1 / v + ks)
        moment = np.sum(mu**2, axis=1) / v**2 + np.sum(chances * (squares + 2 * along / v), axis=0)
        moment = both**2 * moment / q + both
        t = np.maximum(rivals.by_group(moment) / size, SMALLEST_EFFECT)[groups]
    return odds(logs)


def odds(logs: Array) -> Array:
    """Return log-odds of the best of the rivals against the others' mean: negative if it is a twin.

    Parameters
    ----------
    logs : ndarray of shape (k + 1, n)
        Log-likelihoods of variables, first, and twins. A tie at the top is nobody's: 0.
    """
    others = np.sort(logs, axis=0)
    best, second = others[-1], others[-2]
    mean = np.mean(np.exp(others[:-1] - second), axis=0)
    margin = np.where(best > second, best - second - np.log(mean), 0.0)
    return np.where(logs[0] == best, margin, -margin)


def ridge(rivals: Rivals, products: Array, K: Array) -> Array:
    """Difference of the lengths of ridge coefficients of variable and twins."""
    c_sum, c = rivals.in_noise_units(products, K)
    penalty = 1 / rivals.mean_effect(c_sum)
    b_sum = _inverse(rivals.sums + penalty * np.eye(rivals.p)) @ c_sum
    return rivals.longest(b_sum + c / (rivals.s + penalty)[:, None])


def score(rivals: Rivals, products: Array, K: Array) -> Array:
    """Difference of the lengths of variable and twins in the space of the outputs, one by one."""
    return rivals.longest(products @ _inverse_root(K))


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
    lower, _ = dpotri(factor, lower=1, overwrite_c=1)  # above the diagonal are zeros
    inverse = lower + lower.T
    np.fill_diagonal(inverse, np.diag(lower))
    return inverse


STATISTICS: dict[str, Statistic] = {"likelihood": likelihood, "ridge": ridge, "score": score}
