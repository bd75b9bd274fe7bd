"""Kernels on variables: elementwise maps of Gram matrices, normalised to ``κ(x, x) = 1``.

The linear, polynomial and RBF kernels between two variables depend on their inner product and
their norms alone, so a kernel matrix costs a pass over a Gram matrix, never over the rows.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from projse.kernels.feature_gram import ENTRY_ROUNDING

Array = NDArray[Any]


@dataclass(frozen=True)
class Kernel:
    """A kernel that is an elementwise function of inner products.

    Attributes
    ----------
    name : {"linear", "poly", "rbf"}
    degree, coef0 : int, float
        Of ``(⟨x, y⟩ + coef0)^degree``.
    gamma : float
        Of ``exp(−γ ‖x − y‖²)``.
    """

    name: str
    degree: int = 3
    coef0: float = 0.0
    gamma: float = 1.0

    def of_unit_norms(self, g: Array) -> Array:
        """Map inner products of variables of norm 1, in place where that is possible."""
        if self.name == "rbf":
            g -= 1.0
            np.minimum(g, 0.0, out=g)
            g *= 2 * self.gamma
            return np.exp(g, out=g)
        if self.name == "linear":
            return g
        if self.coef0:
            g += self.coef0
            g /= 1 + self.coef0
        return _power(g, self.degree)

    def __call__(self, g: Array, gy: Array, gx: Array) -> Array:
        """Map inner products to normalised kernel values, in place where that is possible.

        Parameters
        ----------
        g : ndarray of shape (k, l)
            Inner products; overwritten.
        gy, gx : ndarray of shape (k,), (l,)
            Squared norms, positive.
        """
        if self.name == "rbf":
            g *= -2.0
            g += gy[:, None]
            g += gx
            np.maximum(g, 0.0, out=g)
            g *= -self.gamma
            return np.exp(g, out=g)
        c = self.coef0 if self.name == "poly" else 0.0
        if c:
            g += c
        g /= np.sqrt(gy + c)[:, None]
        g /= np.sqrt(gx + c)
        return _power(g, self.degree) if self.name == "poly" else g

    def amplification(self, norms: Array) -> Array:
        """How many times its usual rounding a kernel value of variables of these norms is off.

        A small distance is the difference of squared norms; γ is what they are measured in.
        """
        return np.sqrt(1 + 2 * self.gamma * norms) if self.name == "rbf" else np.ones_like(norms)

    def noise(self, eps: float) -> float:
        """Size of a kernel value that rounding alone can give to unrelated variables."""
        base = ENTRY_ROUNDING * eps
        if self.name == "poly" and not self.coef0:
            return max(base**self.degree, np.finfo(np.float64).tiny ** 0.5)
        return base


def _power(g: Array, degree: int) -> Array:
    """Raise to a whole power by multiplication: several times faster than ``pow``."""
    result: Array | None = None
    while degree:
        if degree & 1:
            result = g.copy() if result is None else np.multiply(result, g, out=result)
        degree >>= 1
        if degree:
            g *= g
    assert result is not None
    return result
