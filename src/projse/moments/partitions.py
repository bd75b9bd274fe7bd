"""Moments of rows in partitions on other machines: what an engine makes of each, and adds up."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.utils import check_array

from projse.engines.dask import DaskRows
from projse.engines.reduction import Layout, Part, Reduction, RowsElsewhere, merge
from projse.moments.align import aligned
from projse.moments.dropped import warn_dropped
from projse.moments.file import moments_from_bytes, moments_to_bytes
from projse.moments.in_memory import moments_of
from projse.moments.own_products import Against, Cross, OwnProducts, taken_from
from projse.moments.sums import Moments, keeps_products
from projse.moments.through import Pass, Through, of_outputs
from projse.sources.covariates import append_covariates
from projse.sources.rows import Rows, make_rows, refuse_non_numeric_columns
from projse.sources.table.encoder import LOOK_ROWS
from projse.sources.table.encoding import TableEncoding
from projse.sources.table.partition import LookOptions, encoded_piece
from projse.sources.two_spellings import warn_spellings_of

Array = NDArray[Any]


def moments_elsewhere(
    rows: RowsElsewhere,
    *,
    with_xx: bool | str = "auto",
    target_type: str = "auto",
    n_jobs: int | None = None,
    batch_size: int | None = None,
    encoding: TableEncoding | None = None,
    through: Through | None = None,
    warns: bool = True,
) -> Moments:
    """Sum over rows where they lie; the options are those of Moments.from_arrays.

    ``encoding`` is how tables are encoded (:func:`encoding_elsewhere`), ``through`` replaces the
    references, ``warns`` says whether what the columns turned out to be is told.
    """
    options = PartitionPass.over(rows, with_xx, target_type, n_jobs, batch_size)
    options = replace(options, encoding=encoding, through=through)
    moments = options.finish(rows.reduce(options.reduction))
    if warns:
        warn_dropped(moments)
        warn_spellings_of(moments)
    return moments


def pass_elsewhere(rows: RowsElsewhere, **options: Any) -> Pass:
    """Make passes over rows where they lie, with their references replaced."""

    def over(through: Through) -> Moments:
        return moments_elsewhere(rows, with_xx=False, through=through, warns=False, **options)

    return over


def n_outputs_elsewhere(rows: RowsElsewhere, target_type: str) -> int:
    """Count the reference columns, if need be by a look at a row; 0 for class labels."""
    if rows.one_view or rows.target_type(target_type) == "class":
        return 0
    if rows.n_y is not None:
        return rows.n_y
    if rows.layout.n_y == 1:  # labels, perhaps
        return 0
    shape: tuple[int, ...] = getattr(rows.head(1)[1], "shape", ())
    return int(shape[1]) if len(shape) == 2 else 0


def encoding_elsewhere(
    rows: RowsElsewhere, options: LookOptions, target_type: str
) -> TableEncoding | None:
    """Look at the first rows, where columns are no numbers; None where nothing is to encode."""
    if not (options.forced or rows.may_be_table):
        return None
    piece = rows.head(LOOK_ROWS)
    names = rows.feature_names, rows.layout.covariate_names
    return options.look(piece, rows.target_type(target_type), *names)


def cross_elsewhere(
    rows: RowsElsewhere,
    first: Moments,
    *,
    n_jobs: int | None = None,
    batch_size: int | None = None,
) -> Cross:
    """Make products of candidates by another pass over rows that moments were summed from."""

    def cross(indices: Array) -> OwnProducts:
        options = PartitionPass.over(rows, False, "auto", n_jobs, batch_size)
        options = replace(options, against=Against.of(indices, first))
        total = options.finish(rows.reduce(options.reduction))
        return taken_from(total, first, "What the partitions hold")

    return cross


def partition_moments(
    rows: DaskRows,
    *,
    with_xx: bool | str = "auto",
    target_type: str = "auto",
    n_jobs: int | None = None,
    batch_size: int | None = None,
    encoding: TableEncoding | None = None,
) -> list[Moments]:
    """Sum each partition by itself; those without rows are left out."""
    options = PartitionPass.over(rows, with_xx, target_type, n_jobs, batch_size)
    options = replace(options, encoding=encoding)
    parts = rows.parts(options.reduction)
    total = merge(parts, add)
    warn_spellings_of(options.finish(total))  # what is wrong with any of them is raised here
    out = []
    for part in parts:
        if part.result is None:
            continue
        assert total.result is not None
        part = replace(part, result=aligned(part.result, total.result)[0])
        out.append(options.finish(part))
    return out


@dataclass(frozen=True)
class PartitionPass:
    """What a worker must know to sum its rows.

    ``against`` and ``through`` replace their references, ``encoding`` makes numbers of tables.
    """

    with_xx: bool | str = False
    target_type: str = "auto"
    n_jobs: int | None = None
    batch_size: int | None = None
    layout: Layout = field(default_factory=Layout)
    against: Against | None = None
    encoding: TableEncoding | None = None
    through: Through | None = None

    @classmethod
    def over(
        cls,
        rows: RowsElsewhere,
        with_xx: bool | str,
        target_type: str,
        n_jobs: int | None,
        batch_size: int | None,
    ) -> PartitionPass:
        """Settle what is known before the pass."""
        if rows.n_x is not None:  # else the workers will know
            with_xx = keeps_products(with_xx, rows.n_x, rows.one_view)
        return cls(
            with_xx=with_xx,
            target_type=rows.target_type(target_type),
            # Engines run a task a core; threads within a task would fight over the cores.
            n_jobs=1 if n_jobs is None else n_jobs,
            batch_size=batch_size,
            layout=rows.layout,
        )

    @property
    def many_labels(self) -> bool:
        """Whether several columns of labels are to become indicators."""
        labels = self.target_type == "class" and self.against is None
        return labels and (self.layout.n_y or 1) > 1

    @property
    def reduction(self) -> Reduction[Moments]:
        """What the engine is to run."""
        n_x = self.layout.n_x or 1
        n_y = (self.layout.n_y or 1) + len(self.layout.covariate_names or ())
        if self.against is not None:
            n_y = len(self.against.indices)
        if self.through is not None:
            n_x = n_y if self.through.of_outputs else n_x
            n_y = self.through.n_combinations + len(self.layout.covariate_names or ())
        return Reduction(
            part=self.sum_rows,
            add=add,
            to_bytes=moments_to_bytes,
            from_bytes=self._from_bytes,
            # Means, squares and extremes are there in any case.
            size=8 * (n_x * (4 + n_y) + n_y**2 + (n_x**2 if self.with_xx else 0)),
        )

    def _from_bytes(self, content: bytes) -> Moments:
        moments = moments_from_bytes(content, path="a partial sum")
        stand_in = self.through is not None and self.through.of_outputs
        return of_outputs(moments) if stand_in else moments

    def sum_rows(self, X: Any, Y: Any, weight: Any, covariates: Any = None) -> Moments | None:
        """Sum the rows of one partition; None where none of them has weight."""
        if self.encoding is not None:
            return self._sum_table((X, Y, weight, covariates), self.encoding)
        if X.shape[0] == 0 or (weight is not None and not np.any(weight)):
            return None
        if isinstance(X, np.ndarray) and X.dtype.kind in "US":
            X = X.astype(object)  # so that the column is named that is not a number
        refuse_non_numeric_columns(X)
        X = check_array(X, accept_sparse=("csr", "csc"), dtype="numeric", ensure_all_finite=False)
        names = self.layout.feature_names
        if self.against is not None:
            rows = self.against(make_rows(X, None, weight, feature_names=names))
        else:
            rows = make_rows(
                X, Y, weight, target_type=self.target_type, feature_names=names, all_rows=False
            )
            titles = self.layout.target_names
            if titles is not None and rows.classes is None and not self.many_labels:
                rows = replace(rows, target_names=titles)
            rows = append_covariates(rows, covariates, self.layout.covariate_names)
        moments = self._moments_of(rows, self.with_xx)
        if self.against is not None:
            return self.against.with_extremes(moments, rows)
        return _as_classes(moments) if self.many_labels else moments

    def _sum_table(self, piece: Any, encoding: TableEncoding) -> Moments | None:
        """Sum the rows of a partition of a table."""
        weight = piece[2]
        if piece[0].shape[0] == 0 or (weight is not None and not np.any(weight)):
            return None
        names = self.layout.covariate_names
        rows = encoded_piece(piece, encoding, self.target_type, names)
        if rows is None:
            return None
        titles = self.layout.target_names
        if rows.classes is None and rows.y_variables is None and titles and not self.many_labels:
            rows.target_names = (*titles, *(rows.y_titles or ())[rows.n_references :])
        moments = self._moments_of(rows, True)
        return _as_classes(moments) if self.many_labels else moments

    def _moments_of(self, rows: Rows, with_xx: bool | str) -> Moments:
        options: Any = {"n_jobs": self.n_jobs, "batch_size": self.batch_size}
        if self.through is not None:
            products = with_xx and not self.through.of_outputs
            return self.through.moments_of(rows, with_xx=products, **options)
        return moments_of(rows, with_xx=with_xx, **options)

    def finish(self, total: Part[Moments]) -> Moments:
        """Take the moments out of the sum of all partitions, or raise what is wrong."""
        moments = total.checked()
        if moments is None:
            raise ValueError(
                "X has 0 rows of non-zero weight: all partitions are empty. There is nothing to "
                "select from."
            )
        return replace(moments, classes=None) if self.many_labels else moments


def add(a: Moments, b: Moments) -> Moments:
    """Add moments of partitions, which must agree on what y is."""
    if (a.classes is None) != (b.classes is None):
        kinds = ("numbers", "class labels") if a.classes is None else ("class labels", "numbers")
        raise ValueError(
            f"y looks like {kinds[1]} here, and like {kinds[0]} in the partitions before; say "
            "which with target_type='class' or target_type='continuous'."
        )
    return a + b


def _as_classes(moments: Moments) -> Moments:
    """Let indicators of several columns of labels grow as one set of classes does.

    Their titles ``column=label`` stand for the classes until all partitions are added.
    """
    assert moments.target_names is not None
    assert moments.y_mean is not None and moments.yy is not None
    n = moments.n_references
    titles = np.array(moments.target_names)
    # Covariates stay behind.
    order = np.r_[np.argsort(titles[:n], kind="stable"), n : moments.n_y]
    yx = moments.yx
    return replace(
        moments,
        y_mean=moments.y_mean[order],
        yy=moments.yy[np.ix_(order, order)],
        yx=sp.csc_array(sp.csr_array(yx)[order]) if sp.issparse(yx) else yx[order],
        y_min=None,
        y_max=None,
        classes=titles[order[:n]],
        target_names=tuple(titles[order].tolist()),
    )
