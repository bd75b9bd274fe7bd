"""The paper's synthetic two-view data, ``Y = XW + E``, whole or in batches of rows."""

from __future__ import annotations

import numbers
from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

Array = NDArray[Any]
Pair = tuple[Array, Array]

# Rows are made in chunks of a fixed size, each from a seed of its own, and always whole: so a row
# is the same, bit for bit, whatever the batches and however many rows come after it.
CHUNK_ROWS, CHUNK_ENTRIES = 4096, 2**20
WEIGHTS, ROWS = 0, 1  # what a seed is for


def make_two_view(
    n_samples: int = 1000,
    n_features: int = 100,
    n_targets: int = 100,
    *,
    scale: float = 1.0,
    noise: float | None = None,
    coef: bool = False,
    dtype: DTypeLike = np.float64,
    random_state: Any = None,
) -> tuple[Array, ...]:
    """Make the paper's synthetic data: two views joined by a random linear map and noise.

    ``Y = XW + E``; the entries of ``X``, ``W`` and ``E`` are independent and normal. The paper has
    100 variables in each view, up to ten million rows, and one standard deviation for all three.

    Parameters
    ----------
    n_samples : int, default=1000
        Number of rows. More rows with the same ``random_state`` begin with the same rows.
    n_features, n_targets : int, default=100
        Number of columns of ``X`` and of ``Y``.
    scale : float, default=1.0
        Standard deviation of the entries of ``X`` and ``W``.
    noise : float, optional
        Standard deviation of the entries of ``E``. If None, the same as ``scale``: the paper.
    coef : bool, default=False
        Return ``W`` too.
    dtype : {float64, float32}, default=float64
        Type of the arrays.
    random_state : int, RandomState, Generator or None
        An int gives the same data in every call.

    Returns
    -------
    X : array of shape (n_samples, n_features)
        First view, the candidates.
    Y : array of shape (n_samples, n_targets)
        Second view, the references.
    W : array of shape (n_features, n_targets)
        The linear map; only if ``coef``.

    See Also
    --------
    iter_two_view : The same rows in batches.

    Notes
    -----
    Every variable takes part, so there is no set of right variables to find. The truth is the
    score of each in the limit of many rows. With s = ``scale``, e = ``noise`` and ``w_j`` row j of
    ``W``::

        corr(x_j, Y)² = s² w_j (s² WᵀW + e² I)⁻¹ w_jᵀ

    Examples
    --------
    >>> from projse.datasets import make_two_view
    >>> X, Y = make_two_view(50, 8, 3, random_state=0)
    >>> X.shape, Y.shape
    ((50, 8), (50, 3))
    """
    scheme = _Scheme(n_samples, n_features, n_targets, scale, noise, dtype, random_state)
    X, Y = next(scheme.batches(scheme.n_samples))
    return (X, Y, scheme.weights) if coef else (X, Y)


def iter_two_view(
    n_samples: int = 1000,
    n_features: int = 100,
    n_targets: int = 100,
    *,
    batch_size: int = 65536,
    scale: float = 1.0,
    noise: float | None = None,
    dtype: DTypeLike = np.float64,
    random_state: Any = None,
) -> Iterator[Pair]:
    """Make the rows of `make_two_view` batch by batch, so that they need not fit in memory.

    Parameters
    ----------
    n_samples : int, default=1000
        Number of rows in all.
    n_features, n_targets : int, default=100
        Number of columns of ``X`` and of ``Y``.
    batch_size : int, default=65536
        Number of rows in a batch; the last may have fewer. It does not change the rows.
    scale : float, default=1.0
        Standard deviation of the entries of ``X`` and ``W``.
    noise : float, optional
        Standard deviation of the entries of ``E``. If None, the same as ``scale``: the paper.
    dtype : {float64, float32}, default=float64
        Type of the arrays.
    random_state : int, RandomState, Generator or None
        An int gives the same rows in every call, and those of `make_two_view`.

    Returns
    -------
    iterator of (X, Y)
        One pair of new arrays for each batch.

    Examples
    --------
    >>> from projse import ProjSe
    >>> from projse.datasets import iter_two_view
    >>> selector = ProjSe(3)
    >>> for X, Y in iter_two_view(5000, 10, 3, batch_size=2000, random_state=0):
    ...     _ = selector.partial_fit(X, Y)
    >>> selector.moments_.n_samples
    5000
    """
    scheme = _Scheme(n_samples, n_features, n_targets, scale, noise, dtype, random_state)
    return scheme.batches(_positive("batch_size", batch_size))


class _Scheme:
    """The scheme with its numbers settled: any chunk of its rows can be made at any time."""

    def __init__(
        self,
        n_samples: int,
        n_features: int,
        n_targets: int,
        scale: float,
        noise: float | None,
        dtype: DTypeLike,
        random_state: Any,
    ) -> None:
        self.n_samples = _positive("n_samples", n_samples)
        self.n_features = _positive("n_features", n_features)
        self.n_targets = _positive("n_targets", n_targets)
        self.scale = _deviation("scale", scale)
        self.noise = self.scale if noise is None else _deviation("noise", noise)
        self.dtype: Any = np.dtype(dtype)
        if self.dtype not in (np.float64, np.float32):
            raise ValueError(f"dtype={dtype!r} is neither float64 nor float32.")
        columns = self.n_features + self.n_targets
        self.chunk_rows = max(1, min(CHUNK_ROWS, CHUNK_ENTRIES // columns))
        self.entropy = _entropy(random_state)
        self.weights = self._normal(WEIGHTS, 0, (self.n_features, self.n_targets), self.scale)

    def batches(self, batch_size: int) -> Iterator[Pair]:
        """Yield the rows, ``batch_size`` at a time."""
        held, chunk = -1, None
        for start in range(0, self.n_samples, batch_size):
            stop = min(self.n_samples, start + batch_size)
            X = np.empty((stop - start, self.n_features), self.dtype)
            Y = np.empty((stop - start, self.n_targets), self.dtype)
            row = start
            while row < stop:
                number, first = divmod(row, self.chunk_rows)
                if chunk is None or number != held:
                    held, chunk = number, self._chunk(number)
                n = min(self.chunk_rows - first, stop - row)
                for batch, rows in zip((X, Y), chunk, strict=True):
                    batch[row - start : row - start + n] = rows[first : first + n]
                row += n
            yield X, Y

    def _chunk(self, number: int) -> Pair:
        n = self.n_features
        shape = (self.chunk_rows, n + self.n_targets)
        drawn = self._normal(ROWS, number, shape, 1.0)
        X = drawn[:, :n] * self.dtype.type(self.scale)
        Y = X @ self.weights + drawn[:, n:] * self.dtype.type(self.noise)
        return X, Y

    def _normal(self, use: int, number: int, shape: tuple[int, int], scale: float) -> Array:
        seed = np.random.SeedSequence(self.entropy, spawn_key=(use, number))
        drawn = np.random.default_rng(seed).standard_normal(shape, dtype=self.dtype)
        return drawn * self.dtype.type(scale)


def _positive(name: str, value: Any) -> int:
    if isinstance(value, bool) or not isinstance(value, numbers.Integral) or int(value) < 1:
        raise ValueError(f"{name}={value!r} is not a positive whole number.")
    return int(value)


def _deviation(name: str, value: Any) -> float:
    number = isinstance(value, numbers.Real) and not isinstance(value, bool)
    if not (number and 0 <= float(value) < np.inf):
        raise ValueError(f"{name}={value!r} is not a standard deviation: a number from 0 up.")
    return float(value)


def _entropy(random_state: Any) -> Any:
    """Turn what scikit-learn calls a random state into the entropy of a seed sequence."""
    if random_state is None:
        return np.random.SeedSequence().entropy
    if isinstance(random_state, np.random.Generator):
        return random_state.integers(2**32, size=4).tolist()
    if isinstance(random_state, np.random.RandomState):
        return random_state.randint(2**32, size=4, dtype=np.uint64).tolist()
    if isinstance(random_state, numbers.Integral) and int(random_state) >= 0:
        return int(random_state)
    raise ValueError(
        f"random_state={random_state!r} is neither a whole number from 0 up, a RandomState, a "
        "Generator nor None."
    )
