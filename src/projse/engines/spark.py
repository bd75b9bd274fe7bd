"""Rows of a Spark DataFrame: each partition becomes one result, and a tree of tasks adds them.

Only DataFrame operations are used, no RDDs, so that Spark Connect sessions work as well.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeVar

from projse.engines.reduction import FAN_IN, Layout, Part, Reduction, merge, reduce_partition
from projse.engines.spark_columns import (
    LABELS,
    NUMBERS,
    Covariate,
    block_of,
    check_column,
    column_of,
    covariates_of,
    covariates_with_dates,
    vector_metadata,
)
from projse.sources.arrow_columns import PLAIN, TABLE, Block, labels, matrix
from projse.sources.batches import chunks

SCHEMA = "partition bigint, error string, result binary"

PARTITIONS_A_PART = FAN_IN**2
"""Partitions behind each part that the root of the tree adds."""

TASK_BYTES = 1 << 30
"""Parts that one task adds, in bytes: an Arrow column of bytes must stay below twice this."""

T = TypeVar("T")

_Blocks = tuple[Block, Block | None, Block | None]
"""Candidates, references and covariates."""


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
    covariate_table: Block | None = None

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
        candidates = block_of("features", "X", features, types)
        references = None if targets is None else block_of("targets", "y", targets, types)
        if references is not None and references.kind == TABLE and len(references.columns) == 1:
            check_column("targets", references.columns[0], types, NUMBERS)
        if class_target is not None:
            check_column("class_target", class_target, types, LABELS)
        if weight is not None:
            check_column("weight", weight, types, NUMBERS)
        n: int | None = len(candidates.columns)
        names = None
        if candidates.kind not in (PLAIN, TABLE):
            n, names = vector_metadata(df.schema[candidates.columns[0]].metadata)
        table = covariates_with_dates(covariates, types)
        given: tuple[Covariate, ...] = ()
        if covariates is not None and table is None:
            given = covariates_of(df, covariates, types)
        return cls(df, candidates, references, class_target, weight, n, names, given, table)

    @property
    def n_x(self) -> int | None:
        """Number of candidates; None for vectors that do not say."""
        return self.n_candidates

    @property
    def n_y(self) -> int | None:
        """Number of reference columns; None for class labels and vectors."""
        if self.references is None or self.references.kind not in (PLAIN, TABLE):
            return None
        return len(self.references.columns)

    @property
    def one_view(self) -> bool:
        """Whether the references are the candidates themselves."""
        return self.references is None and self.class_target is None

    @property
    def feature_names(self) -> tuple[str, ...] | None:
        """Names of the candidates."""
        plain = self.candidates.kind in (PLAIN, TABLE)
        return self.candidates.columns if plain else self.vector_names

    @property
    def layout(self) -> Layout:
        """What all partitions must look like."""
        label = self.class_target
        plain = self.references is not None and self.references.kind in (PLAIN, TABLE)
        names = (label,) if label else self.references.columns if plain else None  # type: ignore[union-attr]
        return Layout(
            n_x=self.n_candidates,
            n_y=self.n_y if label is None else 1,
            feature_names=self.feature_names,
            target_names=names,
            weight_name=self.weight,
            covariate_names=self._covariate_names,
        )

    @property
    def _covariate_names(self) -> tuple[str, ...] | None:
        if self.covariate_table is not None:
            return self.covariate_table.columns
        return tuple(c.title for c in self.covariates) or None

    def target_type(self, asked: str) -> str:
        """Tell by the columns: ``class_target`` holds labels, ``targets`` numbers or a table."""
        if asked == "class" and self.class_target is None:
            raise ValueError(
                "target_type='class' needs a column of labels: name it in class_target."
            )
        if self.references is not None and self.references.kind == TABLE:
            return "auto"
        return "continuous" if self.class_target is None else "class"

    @property
    def may_be_table(self) -> bool:
        """Whether some columns are no numbers."""
        blocks = (self.candidates, self.references, self.covariate_table)
        return any(block is not None and block.kind == TABLE for block in blocks)

    def as_table(self) -> SparkRows:
        """Let plain columns be encoded, although all are numbers."""
        if self.candidates.kind not in (PLAIN, TABLE):
            raise ValueError(
                "missing, categorical_features and basis need plain columns in Spark, not a column "
                "of vectors; name the columns in features."
            )
        references = self.references
        if references is not None and references.kind == PLAIN and len(references.columns) > 1:
            references = replace(references, kind=TABLE)
        return replace(self, candidates=replace(self.candidates, kind=TABLE), references=references)

    def head(self, n: int) -> tuple[Any, Any, Any, Any]:
        """Compute candidates, references, weights and covariates of the first rows, of up to n."""
        table = self._chosen().limit(n).toArrow()
        has_labels, has_weight = self.class_target is not None, self.weight is not None
        return _read_blocks(table, self._blocks, has_labels, has_weight)

    @property
    def _blocks(self) -> _Blocks:
        """Candidates, references and covariates, as a pass reads them."""
        names = self._covariate_names
        given = None if names is None else self.covariate_table or Block("covariates", names)
        return self.candidates, self.references, given

    def _chosen(self) -> Any:
        """Select what a pass needs, each block as one column."""
        from pyspark.sql import functions as F

        blocks = [self.candidates] + ([self.references] if self.references else [])
        types = {field.name: field.dataType for field in self.df.schema.fields}
        matrices = [_as_array(block, types) for block in blocks]
        if self.covariate_table is not None:
            matrices.append(_as_array(self.covariate_table, types))
        elif self.covariates:
            matrices.append(F.array(*(c.expression() for c in self.covariates)))
        others = [column_of(name) for name in (self.class_target, self.weight) if name is not None]
        if self.weight is not None:
            others[-1] = others[-1].cast("double")
        # By position: a column may serve twice, and names may hold anything.
        return self.df.select(*(c.alias(f"c{i}") for i, c in enumerate([*matrices, *others])))

    def reduce(self, reduction: Reduction[T]) -> Part[T]:
        """Make a pass over the rows: a result a partition, added up in a tree."""
        from pyspark.sql import functions as F

        task = _partition_task(
            self._blocks,
            self.class_target is not None,
            self.weight is not None,
            self.layout,
            reduction,
        )
        merge_table = _merge_task(reduction)
        parts = self._chosen().mapInArrow(task, SCHEMA)
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
            f"Rows in Spark need pyspark and pyarrow ({error}); pip install 'projse-select[spark]'."
        ) from error


def _partition_task(
    blocks: _Blocks,
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
        try:
            rows = _read_blocks(table, blocks, has_labels, has_weight)
        except ValueError as error:
            return Part(partition, error=str(error))
        return reduce_partition(partition, *rows, layout, reduction)

    return task


def _read_blocks(
    table: Any, blocks: _Blocks, has_labels: bool, has_weight: bool
) -> tuple[Any, Any, Any, Any]:
    """Read candidates, references, weights and covariates of a chunk."""
    present = [block for block in blocks if block is not None]
    X, Y, Z = (None if b is None else matrix(table, present.index(b), b) for b in blocks)
    last = table.num_columns - 1
    if has_labels:
        Y = labels(table, last - has_weight)
    return X, Y, table.column(last).to_numpy() if has_weight else None, Z


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

    if block.kind == TABLE:
        return F.struct(
            *(_as_stored(name, types).alias(f"c{i}") for i, name in enumerate(block.columns))
        )
    if block.kind != PLAIN:
        return column_of(block.columns[0])
    single = all(types[name].simpleString() == "float" for name in block.columns)
    kind = "float" if single else "double"
    return F.array(*(column_of(name).cast(kind) for name in block.columns))


def _as_stored(name: str, types: dict[str, Any]) -> Any:
    """Return a column in a type that the encoder knows; times by the clock on the wall."""
    kind = types[name].simpleString()
    if kind.startswith("decimal"):
        return column_of(name).cast("double")
    return column_of(name).cast("timestamp_ntz") if kind == "timestamp" else column_of(name)
