"""Rows of a Spark DataFrame: each partition becomes one result, and a tree of tasks adds them.

Only DataFrame operations are used, no RDDs, so that Spark Connect sessions work as well.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from projse.engines.reduction import FAN_IN, Layout, Part, Reduction, merge, reduce_partition
from projse.engines.spark_columns import (
    LABELS,
    NUMBERS,
    Covariate,
    check_column,
    column_of,
    covariates_of,
)
from projse.sources.arrow_columns import ARRAY, PLAIN, VECTOR, Block, labels, matrix
from projse.sources.batches import chunks

SCHEMA = "partition bigint, error string, result binary"

PARTITIONS_A_PART = FAN_IN**2
"""Partitions behind each part that the root of the tree adds."""

TASK_BYTES = 1 << 30
"""Parts that one task adds, in bytes: an Arrow column of bytes must stay below twice this."""

T = TypeVar("T")


@dataclass
class SparkRows:
    """Columns of a Spark DataFrame that hold candidates, references and weights."""

    df: Any
    candidates: Block
    references: Block | None
    class_target: str | None
    weight: str | None
    n_candidates: int | None
    vector_names: tuple[str, ...] | None
    covariates: tuple[Covariate, ...] = ()

    @classmethod
    def of(
        cls,
        df: Any,
        features: str | Sequence[str],
        targets: str | Sequence[str] | None = None,
        weight: str | None = None,
        class_target: str | None = None,
        covariates: str | Sequence[str] | None = None,
    ) -> SparkRows:
        """Check columns against the schema; nothing is computed but the levels of covariates."""
        _require_pyspark()
        if not hasattr(df, "mapInArrow"):
            raise TypeError(f"df must be a Spark DataFrame, not {type(df).__name__}.")
        if targets is not None and class_target is not None:
            raise ValueError("Pass targets (numbers) or class_target (labels), not both.")
        types = {field.name: field.dataType for field in df.schema.fields}
        candidates = _block("features", "X", features, types)
        references = None if targets is None else _block("targets", "y", targets, types)
        if class_target is not None:
            check_column("class_target", class_target, types, LABELS)
        if weight is not None:
            check_column("weight", weight, types, NUMBERS)
        n: int | None = len(candidates.columns)
        names = None
        if candidates.kind != PLAIN:
            n, names = _vector_metadata(df.schema[candidates.columns[0]].metadata)
        given = () if covariates is None else covariates_of(df, covariates, types)
        return cls(df, candidates, references, class_target, weight, n, names, given)

    @property
    def n_x(self) -> int | None:
        """Number of candidates; None for vectors that do not say."""
        return self.n_candidates

    @property
    def n_y(self) -> int | None:
        """Number of reference columns; None for class labels and vectors."""
        if self.references is None or self.references.kind != PLAIN:
            return None
        return len(self.references.columns)

    @property
    def one_view(self) -> bool:
        """Whether the references are the candidates themselves."""
        return self.references is None and self.class_target is None

    @property
    def feature_names(self) -> tuple[str, ...] | None:
        """Names of the candidates."""
        plain = self.candidates.kind == PLAIN
        return self.candidates.columns if plain else self.vector_names

    @property
    def layout(self) -> Layout:
        """What all partitions must look like."""
        label = self.class_target
        plain = self.references is not None and self.references.kind == PLAIN
        names = (label,) if label else self.references.columns if plain else None  # type: ignore[union-attr]
        return Layout(
            n_x=self.n_candidates,
            n_y=self.n_y if label is None else 1,
            feature_names=self.feature_names,
            target_names=names,
            weight_name=self.weight,
            covariate_names=tuple(c.title for c in self.covariates) or None,
        )

    def target_type(self, asked: str) -> str:
        """Tell by the columns: ``class_target`` holds labels, ``targets`` numbers."""
        if asked == "class" and self.class_target is None:
            raise ValueError(
                "target_type='class' needs a column of labels: name it in class_target."
            )
        return "continuous" if self.class_target is None else "class"

    def reduce(self, reduction: Reduction[T]) -> Part[T]:
        """Make a pass over the rows: a result a partition, added up in a tree."""
        from pyspark.sql import functions as F

        blocks = [self.candidates] + ([self.references] if self.references else [])
        types = {field.name: field.dataType for field in self.df.schema.fields}
        matrices = [_as_array(block, types) for block in blocks]
        if self.covariates:
            matrices.append(F.array(*(c.expression() for c in self.covariates)))
        others = [column_of(name) for name in (self.class_target, self.weight) if name is not None]
        if self.weight is not None:
            others[-1] = others[-1].cast("double")
        # By position: a column may serve twice, and names may hold anything.
        chosen = [c.alias(f"c{i}") for i, c in enumerate([*matrices, *others])]
        task = _partition_task(
            self.candidates,
            self.references,
            self.class_target is not None,
            self.weight is not None,
            self.layout,
            reduction,
        )
        merge_table = _merge_task(reduction)
        parts = self.df.select(*chosen).mapInArrow(task, SCHEMA)
        # Fewer at a time where they are large.
        fan_in = width = max(2, min(FAN_IN, TASK_BYTES // reduction.size))
        while width <= PARTITIONS_A_PART:
            group = F.floor(F.col("partition") / F.lit(width))
            parts = parts.groupBy(group).applyInArrow(merge_table, SCHEMA)
            width *= fan_in
        parts = parts.groupBy().applyInArrow(merge_table, SCHEMA)
        rows = parts.collect()
        if not rows:
            return Part(0)
        return merge([_from_row(reduction, *row) for row in rows], reduction.add)


def _require_pyspark() -> None:
    try:
        import pyarrow as pa  # noqa: F401
        import pyspark  # noqa: F401
    except ImportError as error:
        raise ImportError(
            f"Rows in Spark need pyspark and pyarrow ({error}); pip install 'projse[spark]'."
        ) from error


def _partition_task(
    candidates: Block,
    references: Block | None,
    has_labels: bool,
    has_weight: bool,
    layout: Layout,
    reduction: Reduction[Any],
) -> Callable[[Iterator[Any]], Iterator[Any]]:
    """Make the function that a task runs over the batches of its partition."""

    def task(batches: Iterator[Any]) -> Iterator[Any]:
        from pyspark import TaskContext

        context = TaskContext.get()
        partition = 0 if context is None else context.partitionId()
        total: Part[Any] = Part(partition)
        for table in chunks(batches):
            if total.error is not None:
                continue  # Spark wants its batches to be read to the end
            total = merge([total, reduce_table(partition, table)], reduction.add)
        yield _as_table(reduction, [total]).to_batches()[0]

    def reduce_table(partition: int, table: Any) -> Part[Any]:
        last = table.num_columns - 1
        try:
            given = None
            if layout.covariate_names is not None:
                block = Block("covariates", layout.covariate_names)
                given = matrix(table, 1 + (references is not None), block)
            X = matrix(table, 0, candidates)
            Y: Any = None
            if references is not None:
                Y = matrix(table, 1, references)
            elif has_labels:
                Y = labels(table, last - has_weight)
            weight = table.column(last).to_numpy() if has_weight else None
        except ValueError as error:
            return Part(partition, error=str(error))
        return reduce_partition(partition, X, Y, weight, given, layout, reduction)

    return task


def _merge_task(reduction: Reduction[Any]) -> Callable[[Any], Any]:
    """Make the function that a task runs over the parts of its group."""

    def merge_table(table: Any) -> Any:
        rows = zip(*(column.to_pylist() for column in table.columns), strict=True)
        parts = [_from_row(reduction, *row) for row in rows]
        return _as_table(reduction, [merge(parts, reduction.add)])

    return merge_table


def _as_table(reduction: Reduction[Any], parts: Iterable[Part[Any]]) -> Any:
    import pyarrow as pa

    parts = list(parts)
    results = [None if p.result is None else reduction.to_bytes(p.result) for p in parts]
    return pa.table(
        {
            "partition": pa.array([part.partition for part in parts], pa.int64()),
            "error": pa.array([part.error for part in parts], pa.string()),
            "result": pa.array(results, pa.binary()),
        }
    )


def _from_row(reduction: Reduction[T], partition: int, error: str | None, content: Any) -> Part[T]:
    result = None if content is None else reduction.from_bytes(bytes(content))
    return Part(partition, result, error)


def _as_array(block: Block, types: dict[str, Any]) -> Any:
    """Have Spark put the numbers of a row side by side, in one type."""
    from pyspark.sql import functions as F

    if block.kind != PLAIN:
        return column_of(block.columns[0])
    single = all(types[name].simpleString() == "float" for name in block.columns)
    kind = "float" if single else "double"
    return F.array(*(column_of(name).cast(kind) for name in block.columns))


def _block(parameter: str, label: str, given: Any, types: dict[str, Any]) -> Block:
    """Tell plain columns from one column of vectors or arrays."""
    columns = (given,) if isinstance(given, str) else tuple(given)
    if not columns:
        raise ValueError(f"{parameter} names no columns; name at least one.")
    twice = {name for name in columns if columns.count(name) > 1}
    if twice:
        raise ValueError(f"{parameter} names column {min(twice)!r} twice; name it once.")
    kinds = [_kind(parameter, name, types) for name in columns]
    if len(columns) == 1:
        return Block(label, columns, kinds[0])
    odd = next((n for n, kind in zip(columns, kinds, strict=True) if kind != PLAIN), None)
    if odd is not None:
        raise ValueError(
            f"{parameter} mixes column {odd!r}, which holds vectors, with others; name plain "
            "columns only, or one column of vectors (pyspark.ml.feature.VectorAssembler makes it)."
        )
    return Block(label, columns)


def _kind(parameter: str, name: str, types: dict[str, Any]) -> str:
    dtype = types.get(name)
    if type(dtype).__name__ == "VectorUDT":
        return VECTOR
    text = "" if dtype is None else dtype.simpleString()
    if text in ("array<double>", "array<float>"):
        return ARRAY
    check_column(parameter, name, types, NUMBERS)
    return PLAIN


def _vector_metadata(metadata: dict[str, Any]) -> tuple[int | None, tuple[str, ...] | None]:
    """Read the size of a vector column and its names, where Spark ML has noted them."""
    noted = (metadata or {}).get("ml_attr", {})
    size = noted.get("num_attrs")
    groups = noted.get("attrs", {})
    entries = [entry for group in groups.values() for entry in group]
    names = {entry["idx"]: entry["name"] for entry in entries if "name" in entry}
    if size is None and entries:
        size = 1 + max(entry["idx"] for entry in entries)
    if size is None or sorted(names) != list(range(size)):
        return size, None
    return size, tuple(names[i] for i in range(size))
