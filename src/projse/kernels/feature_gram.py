"""Kernel matrices between variables, as the search sees them, whatever the kernel."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from projse.kernels.eigh import eigh
from projse.threads import threads_worth

if TYPE_CHECKING:
    from projse.kernels.linear_gram import LinearGram

Array = NDArray[Any]

ENTRY_ROUNDING = 32
"""An inner product of normalised variables is known to this many units of roundoff."""

TILE = 4096
"""Columns handled at a time where a whole matrix is not needed."""


class FeatureGram(ABC):
    """Normalised kernel matrices between references Y and candidates X.

    ``yy`` has shape (n_y, n_y). Covariates of dimension ``n_conditioned`` were taken out of all
    variables. ``alive`` marks the candidates that are not constant. The rounding of an entry is
    ``noise`` times the amplifications of its two variables.
    """

    yy: Array
    n_conditioned: int
    alive: NDArray[np.bool_]
    noise: float
    eps: float
    _directions: tuple[Array, Array] | None = None

    def directions(self, *, keep: bool = False) -> tuple[Array, Array]:
        """Return the eigenvalues of ``yy``, ascending, and its eigenvectors.

        About ``9 n_y³`` flops, unless they were kept for whoever asks next.
        """
        found = self._directions
        if found is None:
            with threads_worth(9 * self.n_y**3):
                found = eigh(self.yy)
        self._directions = found if keep else None
        return found

    @property
    def linear(self) -> LinearGram | None:
        """Inner products that the kernel was applied to; None where it saw the columns."""
        return None

    @property
    def x_amplification(self) -> Array:
        """How many times ``noise`` an entry of each candidate is off, shape (n_x,)."""
        return np.ones(self.n_x)

    @property
    def y_amplification(self) -> Array:
        """The same of each reference, shape (n_y,)."""
        return np.ones(self.n_y)

    @property
    def y_off(self) -> Array | None:
        """Length of the rounding that each reference was stored with, shape (n_y,).

        None where it is no more than that of the arithmetic.
        """
        return None

    @property
    def x_norms(self) -> Array:
        """Norms of the candidates before they were normalised, shape (n_x,); 0 for constants."""
        return self.alive.astype(np.float64)

    @property
    def n_x(self) -> int:
        """Number of candidates."""
        return len(self.alive)

    @property
    def n_y(self) -> int:
        """Number of references that are not constant."""
        return len(self.yy)

    @abstractmethod
    def block(self, columns: Any) -> Array:
        """Return columns of ``K_YX``, shape (n_y, k), as a new array."""

    @abstractmethod
    def x_rows(self, indices: Array, columns: Array | None = None) -> Array:
        """Return rows of ``K_XX`` as a new array: whole ones, or some columns of them."""

    @property
    def has_x_rows(self) -> bool:
        """Whether rows of ``K_XX`` can be had."""
        return True

    @property
    def narrow_x_rows(self) -> bool:
        """Whether some columns of rows of ``K_XX`` cost less than all."""
        return True

    @property
    def far_x_rows(self) -> bool:
        """Whether rows of ``K_XX`` cost a pass over rows that are not in memory."""
        return False

    @property
    def rare_references(self) -> bool:
        """Whether one or two rows make up any of the references, or might."""
        return True

    def on_few_rows(self, indices: Array) -> NDArray[np.bool_] | None:
        """Tell which candidates one or two rows make up; None where nothing is known of any.

        Where rows of ``K_XX`` are far, it is known of candidates whose rows were asked for.
        """
        return None

    def left(self, w: Array) -> Array:
        """Return ``wᵀ K_YX``, shape (n_x,)."""
        out = np.empty(self.n_x)
        for tile in tiles(self.n_x):
            out[tile] = w @ self.block(tile)
        return out


def tiles(n: int, width: int = TILE) -> list[slice]:
    """Cut ``range(n)`` into slices of at most ``width``."""
    return [slice(start, min(start + width, n)) for start in range(0, n, width)]
