"""Parts of a source that need no pyarrow: .npy files, arrays, and iterators of (X, Y) batches."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple, NoReturn

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.utils import check_array

from projse.exceptions import SourceError
from projse.sources import files as _files
from projse.sources.batches import chunk_rows
from projse.sources.columns import Field
from projse.sources.covariates import append_covariates
from projse.sources.encode_targets import is_missing
from projse.sources.parts import Items, Part, Reading
from projse.sources.rows import Rows, check_weight, make_rows, refuse_non_numeric_columns

Array = NDArray[Any]


class NpyPart(Part):
    """A matrix in NumPy's own format, read through a memory map; columns are 0, 1, 2 and so on."""

    repeatable = True

    def __init__(self, file: _files.File) -> None:
        self.file = file
        self.path = self.label = file.path
        self.size = file.size

    def fingerprint(self, content: bool = False) -> dict[str, Any]:
        """Return size and time, or size and content."""
        return _files.fingerprint(self.file.path, content)

    def fields(self) -> list[Field]:
        """Return one field a column."""
        matrix = self._matrix()
        dtype = matrix.dtype
        kind = "bool" if dtype.kind == "b" else "number"
        return [Field(str(j), kind, str(dtype), dtype) for j in range(matrix.shape[1])]

    def rows(self, reading: Reading) -> Iterator[Rows]:
        """Hand out the rows; the map is made anew for each chunk, so that memory stays bounded."""
        columns = reading.columns
        if columns.types:
            self._refuse_encoding()
        m = self._matrix().shape[0]
        itemsize = self._matrix().dtype.itemsize
        size = chunk_rows(len(columns.features), len(columns.beside), itemsize)
        for start in range(0, m, size):
            block = self._matrix()[start : start + size]
            weight = None if columns.weight is None else block[:, int(columns.weight)]
            y = _pick(block, columns.targets) if columns.targets else None
            target_type = "continuous"
            if columns.labels is not None:
                y, target_type = np.asarray(block[:, int(columns.labels)]), "class"
            X = _pick(block, columns.features)
            given = _Given(_pick(block, columns.covariates), columns.covariates)
            rows = _make(X, y, weight, target_type, reading.missing, self.label, given)
            self.done = min(start + size, m) / m
            if rows is not None:
                rows.feature_names = columns.features
                if columns.targets:
                    rows.target_names = columns.beside
                yield rows

    def head(self, reading: Reading, n: int, take: Callable[[Any], Any]) -> Any:
        """Refuse to be encoded."""
        self._refuse_encoding()

    def _refuse_encoding(self) -> NoReturn:
        raise SourceError(
            f"{self.label} is a matrix of numbers: missing='indicator' and 'mean', "
            "categorical_features and basis='spline' need tables. Save it as Parquet or CSV, or "
            "leave these out."
        )

    def _matrix(self) -> Array:
        matrix = memory_map(self.file.path, self.label)
        if matrix.ndim == 1:
            matrix = matrix[:, None]
        if matrix.ndim != 2 or matrix.dtype.kind not in "biuf":
            raise SourceError(
                f"{self.label} holds an array of shape {matrix.shape} and dtype {matrix.dtype}; a "
                "source needs a matrix of numbers, one row a sample."
            )
        return matrix


def memory_map(path: Any, label: str) -> Array:
    """Open an .npy file as a memory map."""
    try:
        opened: Array = np.load(path, mmap_mode="r", allow_pickle=False)
    except Exception as error:  # headers are Python's text to numpy: its parser raises anything
        said = (str(error).splitlines() or [type(error).__name__])[0].rstrip(".")
        if "pickle" in said or "Python objects" in said:  # NumPy would tell how to run them
            said = "it holds no array of numbers"
        raise SourceError(
            f"{label} cannot be read: {said}. It may be cut short or no .npy file: restore it or "
            "remove it."
        ) from error
    return opened


class ArraysPart(Part):
    """Arrays (X, Y) or (X, Y, weight), in memory or memory maps, summed a slice at a time."""

    label = "the arrays"
    repeatable = True

    def __init__(self, arrays: Sequence[Any], target_type: str) -> None:
        self.arrays, self.target_type = arrays, target_type

    def fields(self) -> None:
        """Return None: columns are not chosen by name."""
        return

    def n_outputs(self) -> int:
        """Return the number of reference columns; 0 for what may be class labels."""
        return _n_outputs(self.arrays, self.target_type)

    def rows(self, reading: Reading) -> Iterator[Rows]:
        """Hand out slices of the arrays."""
        X = self.arrays[0]
        m = X.shape[0]
        for other in self.arrays[1:]:
            if other is not None and other.shape[0] != m:
                raise SourceError(
                    f"The arrays have different numbers of rows: {m} and {other.shape[0]}."
                )
        y = self.arrays[1] if len(self.arrays) > 1 else None
        n_y = y.shape[1] if y is not None and y.ndim == 2 else 1
        if y is not None and sp.issparse(y):
            n_y = min(n_y, 1 + 2 * y.nnz // max(m, 1))  # a value and its column
        itemsize = getattr(getattr(X, "dtype", None), "itemsize", 8)
        size = chunk_rows(X.shape[1], n_y, itemsize)

        def slices() -> Iterator[tuple[Any, ...]]:
            for start in range(0, m, size):
                yield tuple(None if a is None else a[start : start + size] for a in self.arrays)
                self.done = min(start + size, m) / m

        yield from _encoded(slices(), self.target_type, reading.missing, self.label)


class IteratorPart(Part):
    """An iterator of (X, Y) or (X, Y, weight) batches, of any size each."""

    label = "the iterator"

    def __init__(self, items: Items, target_type: str) -> None:
        self.items, self.target_type = items, target_type
        self.repeatable = items.repeatable

    def fields(self) -> None:
        """Return None: columns are not chosen by name."""
        return

    def n_outputs(self) -> int:
        """Return the number of reference columns; 0 for what may be class labels."""
        first = self.items.first
        return _n_outputs(first, self.target_type) if isinstance(first, tuple | list) else 0

    def rows(self, reading: Reading) -> Iterator[Rows]:
        """Hand out the batches, small ones put together."""
        yield from _encoded(_recut(self._batches()), self.target_type, reading.missing, self.label)

    def _batches(self) -> Iterator[tuple[Any, ...]]:
        for number, batch in enumerate(self.items):
            if not isinstance(batch, tuple | list) or not 1 <= len(batch) <= 3:
                raise SourceError(
                    f"Batch {number} of {self.label} is a {type(batch).__name__}; each must be "
                    "(X, Y) or (X, Y, weight)."
                )
            lengths = [_length(array) for array in batch if array is not None]
            if len(set(lengths)) > 1:
                raise SourceError(
                    f"Batch {number} of {self.label} has different numbers of rows: "
                    f"{', '.join(map(str, lengths))}."
                )
            yield tuple(batch)


def _n_outputs(arrays: Sequence[Any], target_type: str) -> int:
    shape: tuple[int, ...] = getattr(arrays[1], "shape", ()) if len(arrays) > 1 else ()
    return int(shape[1]) if len(shape) == 2 and shape[1] > 1 and target_type != "class" else 0


def _length(array: Any) -> int:
    return int(array.shape[0]) if hasattr(array, "shape") else len(array)


def _recut(batches: Iterator[tuple[Any, ...]]) -> Iterator[tuple[Any, ...]]:
    """Put small batches of plain arrays together, and cut large ones."""
    waiting: list[tuple[Any, ...]] = []
    n_waiting = 0
    for batch in batches:
        X = batch[0]
        plain = all(a is None or isinstance(a, np.ndarray) for a in batch) and X.ndim == 2
        if not plain:
            if waiting:
                yield _joined(waiting)
                waiting, n_waiting = [], 0
            yield batch
            continue
        if waiting and not _alike(waiting[0], batch):
            yield _joined(waiting)
            waiting, n_waiting = [], 0
        y = batch[1] if len(batch) > 1 else None
        n_y = y.shape[1] if y is not None and y.ndim == 2 else 1
        size = chunk_rows(X.shape[1], n_y, X.dtype.itemsize)
        start = 0
        while start < len(X):
            n = min(size - n_waiting, len(X) - start)
            waiting.append(tuple(None if a is None else a[start : start + n] for a in batch))
            start += n
            n_waiting += n
            if n_waiting == size:
                yield _joined(waiting)
                waiting, n_waiting = [], 0
    if waiting:
        yield _joined(waiting)


def _alike(one: tuple[Any, ...], other: tuple[Any, ...]) -> bool:
    """Whether two batches can be put together."""
    return len(one) == len(other) and all(
        (a is None) == (b is None)
        and (a is None or (a.shape[1:] == b.shape[1:] and a.dtype == b.dtype))
        for a, b in zip(one, other, strict=True)
    )


def _joined(batches: list[tuple[Any, ...]]) -> tuple[Any, ...]:
    if len(batches) == 1:
        return batches[0]
    return tuple(
        None if arrays[0] is None else np.concatenate(arrays)
        for arrays in zip(*batches, strict=True)
    )


def _encoded(
    batches: Iterator[tuple[Any, ...]], target_type: str, missing: str, where: str
) -> Iterator[Rows]:
    """Check and encode batches; the first one decides whether y are labels."""
    for X, *rest in batches:
        y, weight = [*rest, None, None][:2]
        rows = _make(X, y, weight, target_type, missing, where)
        if rows is None:
            continue
        if rows.Y is not None and target_type == "auto":
            target_type = "continuous" if rows.classes is None else "class"
        yield rows


class _Given(NamedTuple):
    """Covariates and their names."""

    values: Any = None
    names: tuple[str, ...] = ()


def _make(
    X: Any,
    y: Any,
    weight: Any,
    target_type: str,
    missing: str,
    where: str,
    covariates: _Given = _Given(),  # noqa: B008 (immutable)
) -> Rows | None:
    """Turn one batch into rows; None where no row of it counts."""
    try:
        refuse_non_numeric_columns(X)
        names = getattr(X, "columns", None)
        if names is not None:
            names = tuple(names) if all(isinstance(n, str) for n in names) else None
        if X.shape[0] == 0:
            return None
        if weight is not None:
            weight = np.asarray(weight, dtype=np.float64)
            if weight.shape == (X.shape[0],) and not weight.any():
                return None
            weight = check_weight(weight, X.shape[0])
        X = check_array(X, accept_sparse=("csr", "csc"), dtype="numeric", ensure_all_finite=False)
        Z = covariates.values if covariates.names else None
        if missing == "drop":
            keep = _complete(X, y, Z)
            if not keep.all():
                if not keep.any():
                    return None
                X, y = X[keep], None if y is None else _take(y, keep)
                weight = None if weight is None else weight[keep]
                Z = None if Z is None else Z[keep]
        options: Any = {"target_type": target_type, "feature_names": names, "all_rows": False}
        return append_covariates(make_rows(X, y, weight, **options), Z, covariates.names)
    except SourceError:
        raise
    except ValueError as error:
        raise SourceError(f"{where}: {error}") from error


def _complete(*parts: Any) -> NDArray[np.bool_]:
    """Rows without a missing value."""
    keep = np.ones(parts[0].shape[0], dtype=bool)
    for values in parts:
        if values is None or sp.issparse(values):
            continue
        array = np.asarray(values)
        if array.dtype.kind == "f":
            missing = np.isnan(array)
        elif array.dtype.kind == "O":
            missing = np.array([is_missing(v) for v in array.ravel()]).reshape(array.shape)
        else:
            continue
        keep &= ~(missing if missing.ndim == 1 else missing.any(axis=1))
    return keep


def _take(y: Any, keep: NDArray[np.bool_]) -> Any:
    return y[keep] if sp.issparse(y) or isinstance(y, np.ndarray) else np.asarray(y)[keep]


def _pick(block: Array, names: Sequence[str]) -> Array:
    """Columns by number: a view where they stand side by side."""
    places = [int(name) for name in names]
    if not places:
        return block[:, :0]
    if places == list(range(places[0], places[-1] + 1)):
        return block[:, places[0] : places[-1] + 1]
    return block[:, places]
