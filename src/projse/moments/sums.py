"""Moments: the few small matrices that stand for all the rows, and add up."""

from __future__ import annotations

from dataclasses import dataclass, fields
from os import PathLike
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import check_array

from projse.engines.dask import DaskRows
from projse.moments.combine import combine
from projse.parameters import check_pass_options
from projse.sources.covariates import append_covariates
from projse.sources.encode_targets import column_names
from projse.sources.rows import is_dask, make_rows, refuse_non_numeric_columns
from projse.sources.variables import Variables

Array = NDArray[Any]

AUTO_XX_COLUMNS = 512
"""Up to this many candidates, ``with_xx="auto"`` keeps their products with each other."""


@dataclass(eq=False)
class Moments:
    """Weighted first and second moments of candidates X and references Y over some rows.

    Moments of disjoint sets of rows add up: ``a + b`` are the moments of both, ``a - b`` takes
    rows out again. Every kernel and every number of picks is served by the same moments.

    A difference that no rows have (negative squares, products beyond what the squares allow, or,
    for up to 512 variables, a negative direction) is refused: ``b`` was never added. Where the
    difference is possible, that cannot be seen: moments know no rows, and a few rows like those
    that were added can be taken out as well. Rounding stays: a column of which the difference
    leaves less than that raises a :class:`~projse.exceptions.PrecisionLossWarning`.

    Build them with :meth:`from_arrays`; the constructor takes the finished parts.

    Attributes
    ----------
    n_samples : int
        Number of rows of non-zero weight.
    sum_weights : float
        Sum of the row weights; ``n_samples`` without weights.
    x_mean, y_mean : ndarray of shape (n_x,), (n_y,)
        Weighted means. ``y_mean`` is None for one view (Y is X).
        With covariates, the last columns of Y are those.
    yy : ndarray of shape (n_y, n_y)
        ``Σ w (y − ȳ)(y − ȳ)ᵀ``; None for one view.
    yx : ndarray or csc_array of shape (n_y, n_x)
        ``Σ w (y − ȳ)(x − x̄)ᵀ``; None for one view. Very wide sparse products are kept as a
        sparse ``Σ w y xᵀ`` that is not centred.
    xx_diag : ndarray of shape (n_x,)
        ``Σ w (x − x̄)²``.
    xx : ndarray of shape (n_x, n_x) or None
        The whole matrix, when it was asked for: conditioning on variables needs it.
    feature_names, target_names : tuple of str or None
    classes : ndarray or None
        Class labels, when the references (but for covariates) are their indicators. Sums take
        the union.
    eps : float
        Unit roundoff of the products: that of float32 where float32 rows were multiplied.
    y_roundoff : float
        Unit roundoff that the references were stored with. Where it is larger than ``eps`` (float32
        references beside float64 candidates), it tells which directions are rounding.
    x_peak, y_peak : ndarray of shape (n_x,), (n_y,) or None
        Largest sums of squares that a difference came from: its rounding is a share of them. None
        where nothing was subtracted.
    x_min, x_max, y_min, y_max : ndarray of shape (n_x,), (n_y,) or None
        Smallest and largest values, which tell variables that one or two rows make up. None where
        they are not known: they are taken in passes that sum ``xx``, and not of class indicators;
        ``y_min`` and ``y_max`` also in others. Of a difference they are those of before: bounds;
        closer ones where rows taken out had them, and they would let one of the others stand out.
        So a difference does not tell that another row, nearer to the rest, stands out as well; the
        sum of the parts that are left does. Fits to many rows in memory have bounds for all
        variables that no row stands out in: no value is further from the shift than the root of its
        batch's sum of squares.
    x_bounded, y_bounded : ndarray of bool of shape (n_x,), (n_y,) or None
        Columns whose extremes are such bounds. None where there are none.
    x_variables, y_variables : Variables or None
        Which variable each column belongs to, and as what, where rows of a table were encoded: a
        category is a column a level. Sums go by it: a level that rows lack is 0 in them. None
        where every column is a variable. ``y_variables`` are about references alone.
    z_variables : Variables or None
        The same of the covariates, where not all are numbers.
    encoding : dict or None
        How the rows were encoded, in plain values: moments add up where it is the same.
    n_covariates : int
        How many of the last columns of Y are covariates: a selection takes them out of all other
        variables first. Moments add up only with those of the same covariates.
    whole_weights : bool or None
        Whether all weights were whole numbers, which may be counts of rows. None where that is not
        known: files of before do not tell.
    n_partialled : int
        Dimension of covariates that were already taken out (:mod:`projse.moments.partial`):
        p-values have so many degrees of freedom less.

    Examples
    --------
    >>> import numpy as np
    >>> from projse import Moments
    >>> rng = np.random.default_rng(0)
    >>> X, Y = rng.normal(size=(100, 4)), rng.normal(size=(100, 2))
    >>> first, second = Moments.from_arrays(X[:60], Y[:60]), Moments.from_arrays(X[60:], Y[60:])
    >>> both = first + second
    >>> both.n_samples
    100
    >>> bool(np.allclose(both.yx, Moments.from_arrays(X, Y).yx))
    True
    """

    n_samples: int
    sum_weights: float
    x_mean: Array
    y_mean: Array | None
    yy: Array | None
    yx: Any
    xx_diag: Array
    xx: Array | None = None
    feature_names: tuple[str, ...] | None = None
    target_names: tuple[str, ...] | None = None
    classes: Array | None = None
    eps: float = float(np.finfo(np.float64).eps)
    x_peak: Array | None = None
    y_peak: Array | None = None
    x_min: Array | None = None
    x_max: Array | None = None
    y_min: Array | None = None
    y_max: Array | None = None
    x_variables: Variables | None = None
    y_variables: Variables | None = None
    z_variables: Variables | None = None
    encoding: dict[str, Any] | None = None
    n_covariates: int = 0
    n_partialled: int = 0
    y_roundoff: float = float(np.finfo(np.float64).eps)
    whole_weights: bool | None = None
    x_bounded: Array | None = None
    y_bounded: Array | None = None

    _x_label: ClassVar[str] = "X"
    """What messages call the candidates."""

    @classmethod
    def from_arrays(
        cls,
        X: Any,
        Y: Any = None,
        sample_weight: Any = None,
        *,
        covariates: Any = None,
        with_xx: bool | str = "auto",
        target_type: str = "auto",
        n_jobs: int | None = None,
        batch_size: int | None = None,
    ) -> Moments:
        """Sum over the rows of arrays, data frames, sparse matrices or Dask collections.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_x)
            Candidates.
        Y : array-like or sparse matrix of shape (n_samples,) or (n_samples, n_y), or None
            References: numbers, class labels or label indicators. None for one view.
        sample_weight : array-like of shape (n_samples,), default=None
            Weight 2 counts as the row twice, weight 0 as the row gone.
        covariates : array-like of shape (n_samples,) or (n_samples, n_covariates), default=None
            As in :meth:`ProjSe.fit`: what a selection from these moments takes out of everything
            else first. Batches need not have the same levels of a category.
        with_xx : bool or "auto", default="auto"
            Keep the n_x × n_x products of the candidates, which more picks than the references
            have dimensions, ``include`` and ``round_size`` need. "auto" keeps them for up to
            512 candidates, and for one view.
        target_type : {"auto", "continuous", "class"}, default="auto"
            As in :class:`ProjSe`.
        n_jobs, batch_size : int, default=None
            As in :class:`ProjSe`.

        Returns
        -------
        Moments
        """
        from projse.moments.in_memory import moments_of
        from projse.moments.partitions import moments_elsewhere
        from projse.moments.whole_numbers import settle_targets

        check_pass_options(n_jobs, batch_size, with_xx)
        if is_dask(X, Y, sample_weight, covariates):
            options: Any = {"target_type": target_type, "n_jobs": n_jobs, "batch_size": batch_size}
            remote = DaskRows.of(X, Y, sample_weight, covariates)
            moments = moments_elsewhere(remote, with_xx=with_xx, **options)
            return settle_targets(moments, target_type, Y)
        refuse_non_numeric_columns(X)
        names = column_names(X)
        X = check_array(X, accept_sparse=("csr", "csc"), dtype="numeric", ensure_all_finite=False)
        rows = make_rows(X, Y, sample_weight, target_type=target_type, feature_names=names)
        rows = append_covariates(rows, covariates)
        return moments_of(rows, with_xx=with_xx, n_jobs=n_jobs, batch_size=batch_size)

    @property
    def n_x(self) -> int:
        """Number of candidates."""
        return len(self.x_mean)

    @property
    def n_y(self) -> int:
        """Number of columns of Y, covariates among them; with one view, the candidates."""
        return self.n_x if self.y_mean is None else len(self.y_mean)

    @property
    def n_references(self) -> int:
        """Number of reference columns, without covariates; with one view, the candidates."""
        return self.n_x if self.one_view else self.n_y - self.n_covariates

    @property
    def one_view(self) -> bool:
        """Whether the references are the candidates themselves."""
        return self.y_mean is None or 0 < self.n_covariates == len(self.y_mean)

    def update(self, X: Any, Y: Any = None, sample_weight: Any = None, **options: Any) -> Moments:
        """Add more rows in place, and return self.

        The arguments are those of :meth:`from_arrays`; the columns must be those of before. Rows
        of a table are encoded as the rows before them were. Rows that all have weight 0 add
        nothing.
        """
        from projse.sources.no_weight import weighs_nothing

        if weighs_nothing(X, sample_weight):
            return self
        options.setdefault("with_xx", self.xx is not None)
        options.setdefault("target_type", "continuous" if self.classes is None else "class")
        if self.encoding is None:
            more = type(self).from_arrays(X, Y, sample_weight, **options)
        else:
            from projse.moments.in_memory import moments_of_table

            more = moments_of_table(X, Y, sample_weight, self.encoding, **options)
        total = self + more
        for field in fields(self):
            setattr(self, field.name, getattr(total, field.name))
        return self

    def __copy__(self) -> Moments:
        other = object.__new__(type(self))
        vars(other).update(vars(self))
        return other

    def __add__(self, other: Moments) -> Moments:
        if not isinstance(other, Moments):
            return NotImplemented
        return combine(self, other, +1)

    def __sub__(self, other: Moments) -> Moments:
        if not isinstance(other, Moments):
            return NotImplemented
        return combine(self, other, -1)

    def __radd__(self, other: Any) -> Moments:
        return self if isinstance(other, int) and other == 0 else NotImplemented

    def save(self, path: str | PathLike[str]) -> None:
        """Write to a file, atomically and with a checksum (see :mod:`projse.moments.file`)."""
        from projse.moments.file import write_moments

        write_moments(self, path)

    @classmethod
    def load(cls, path: str | PathLike[str]) -> Moments:
        """Read a file that :meth:`save` wrote. Nothing in it is ever executed."""
        from projse.moments.file import read_moments

        return read_moments(path)

    def __repr__(self) -> str:
        kind = "one view" if self.one_view else f"n_y={self.n_references}"
        given = f", n_covariates={self.n_covariates}" if self.n_covariates else ""
        xx = ", with xx" if self.xx is not None else ""
        return f"Moments(n_samples={self.n_samples}, n_x={self.n_x}, {kind}{given}{xx})"


def keeps_products(with_xx: bool | str, n_x: int, one_view: bool) -> bool:
    """Tell whether the products of the candidates are kept; "auto": where they are few."""
    return one_view or n_x <= AUTO_XX_COLUMNS if with_xx == "auto" else bool(with_xx)
