"""Spark: the same picks and scores as in memory, through a real local session."""

from __future__ import annotations

import doctest
import importlib
import os
import shutil
import subprocess
import sys
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from agreement import check, fit, quietly
from numpy.testing import assert_allclose, assert_array_equal
from paper import paper_form
from patients import TARGETS as PATIENT_TARGETS
from patients import patients
from planted import PICKS, planted, planted_labels
from rare_rows import problem
from same_rows import CELLS, P, rows, selector
from same_rows import NAMES as SAME_NAMES
from sklearn.base import clone
from spectra import draw_outputs
from variants import slow

from projse import PAPER, KnockoffProjSe, Moments, ProjSe
from projse.engines.reduction import FAN_IN
from projse.exceptions import PartitionError, RankExhaustedWarning

pytest.importorskip("pyspark")
pd = pytest.importorskip("pandas")

pytestmark = [
    pytest.mark.slow,  # a session takes half a minute to start
    pytest.mark.filterwarnings("ignore:PySpark does not yet fully support pandas:FutureWarning"),
    pytest.mark.filterwarnings("ignore:unclosed:ResourceWarning"),
]

NAMES = [f"v{j}" for j in range(8)]
TARGETS = ["y0", "y1", "y2"]
KERNELS = ["linear", "poly", "rbf"]
CUTS = {
    "even": (0, 100, 200),
    "skewed, empty, one row": (0, 1, 1, 190, 200),
}
HAS_JAVA = shutil.which("java") or os.environ.get("JAVA_HOME")


TABLE_SCHEMA = (
    "age double, city string, smoker boolean, day date, bmi double, code string, noise double, "
    "y_dose double, y_team string, y_load double"
)


@pytest.fixture(scope="module")
def spark():
    if not HAS_JAVA:
        pytest.skip("Spark needs Java, and there is none")
    from pyspark.sql import SparkSession

    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SPARK_LOCAL_IP", "127.0.0.1")
        patch.setenv("PYSPARK_PYTHON", sys.executable)
        # Two cores; a task may fail three times.
        builder = SparkSession.builder.master("local[2,4]")
        for key, value in {
            "spark.driver.bindAddress": "127.0.0.1",
            "spark.driver.host": "127.0.0.1",
            "spark.ui.enabled": "false",
            "spark.ui.showConsoleProgress": "false",
            "spark.sql.shuffle.partitions": "4",
            "spark.log.level": "OFF",
        }.items():
            builder = builder.config(key, value)
        session = builder.getOrCreate()
        yield session
        session.stop()


def frame(seed):
    X, Y = planted(seed)
    df = pd.DataFrame(X, columns=NAMES)
    df[TARGETS] = Y
    df["w"] = np.random.default_rng(seed).integers(0, 4, size=len(df)).astype(float)
    df["label"] = np.array(["one", "two", "three"])[planted_labels(seed)[1]]
    return df


def cut(spark, df, cuts=CUTS["even"]):
    """Make a Spark DataFrame whose partitions are these runs of rows."""
    schema = spark.createDataFrame(df.dropna().head(1)).schema
    plain = df.astype(object).where(df.notna(), None)
    parts = [list(plain.iloc[a:b].itertuples(index=False, name=None)) for a, b in pairwise(cuts)]
    rows = spark.sparkContext.parallelize(parts, len(parts)).flatMap(list)
    return spark.createDataFrame(rows, schema)


def same(selector, want):
    """Assert equal picks, and scores to 1e-10; return the selector."""
    assert selector.selected_.tolist() == want.selected_.tolist()
    check(selector, want, rtol=1e-10, atol=1e-14)
    return selector


@pytest.fixture
def moments(spark):
    from projse.spark import moments

    return moments


# The same as in memory


@pytest.mark.slow
def test_partitions_of_these_tests_are_what_they_say(spark):
    from pyspark.sql import functions as F

    sdf = cut(spark, frame(0), CUTS["skewed, empty, one row"])
    counted = sdf.groupBy(F.spark_partition_id().alias("p")).count().collect()
    assert {row.p: row["count"] for row in counted} == {0: 1, 2: 189, 3: 10}


@pytest.mark.determinism
@pytest.mark.slow
@pytest.mark.parametrize("cuts", ["even", "skewed, empty, one row"])
def test_every_kernel_gives_the_picks_and_scores_of_memory(seed, spark, moments, cuts):
    df = frame(seed)
    sdf = cut(spark, df, CUTS[cuts])
    got = moments(sdf, features=NAMES, targets=TARGETS)
    assert got.n_samples == 200
    assert got.feature_names == tuple(NAMES)
    assert got.target_names == tuple(TARGETS)
    for kernel in KERNELS:
        for n in (3, 6):
            want = fit(ProjSe(n, kernel=kernel), df[NAMES], df[TARGETS])
            same(quietly(ProjSe(n, kernel=kernel).fit_moments, got), want)


@pytest.mark.slow
@pytest.mark.parametrize("kernel", KERNELS)
def test_fit_with_weights(seed, spark, kernel):
    df = frame(seed)
    df.loc[df.index[:100], "w"] = 0.0  # a whole partition that does not count
    df.loc[3, "v1"] = None  # and what it holds is not looked at
    sdf = cut(spark, df, CUTS["even"])
    got = ProjSe(5, kernel=kernel, include=["v7"])
    got.fit_spark(sdf, features=NAMES, targets=TARGETS, weight="w")
    want = ProjSe(5, kernel=kernel, include=["v7"])
    same(got, want.fit(df[NAMES], df[TARGETS], sample_weight=df["w"]))
    assert got.feature_names_in_.tolist() == NAMES
    assert got.get_feature_names_out().tolist() == want.get_feature_names_out().tolist()


@pytest.mark.parametrize("kind", ["str", *slow("int", "bool")])
def test_class_labels_need_not_be_in_every_partition(seed, spark, kind):
    df = frame(seed).sort_values("label", ignore_index=True)
    if kind != "str":
        codes = df["label"].map({"one": 11, "two": -2, "three": 30})
        df["label"] = codes if kind == "int" else codes > 20
    sdf = cut(spark, df, (0, 20, 90, 200))
    for n in (2, 5):  # five are more than the classes have dimensions: a second pass
        want = fit(ProjSe(n), df[NAMES], df["label"])
        selector = ProjSe(n)
        same(quietly(selector.fit_spark, sdf, features=NAMES, class_target="label"), want)
    assert selector.moments_.classes.tolist() == np.unique(df["label"]).tolist()


@pytest.mark.slow
def test_one_view(seed, spark):
    df = frame(seed)
    df["v3"] += df["v0"] - df["v6"]
    sdf = cut(spark, df, CUTS["skewed, empty, one row"])
    same(ProjSe(4).fit_spark(sdf, features=NAMES), ProjSe(4).fit(df[NAMES]))


@pytest.mark.slow
def test_many_partitions_are_added_in_a_tree(seed, spark, monkeypatch):
    from pyspark.sql import DataFrame

    df = frame(seed)
    sdf = spark.createDataFrame(df).repartition(2 * FAN_IN + 3)
    collect, sizes = type(sdf).collect, []

    def counting(self):
        rows = collect(self)
        sizes.append(len(rows))
        return rows

    monkeypatch.setattr(type(sdf), "collect", counting)
    assert issubclass(type(sdf), DataFrame)
    got = ProjSe(3).fit_spark(sdf, features=NAMES, targets=TARGETS)
    same(got, ProjSe(3).fit(df[NAMES], df[TARGETS]))
    assert got.moments_.n_samples == 200
    assert sizes == [1], "the driver gets the root of the tree, and nothing else"


# Columns


def vectors(seed, kind):
    """Return rows of (vector, targets...) and the matrix that the vectors make up."""
    from pyspark.ml.linalg import Vectors

    X, Y = planted(seed)
    X[np.abs(X) < 1.0] = 0.0

    def vector(i, row):
        if kind == "dense" or (kind == "mixed" and i % 3):
            return Vectors.dense(row)
        return Vectors.sparse(len(row), np.flatnonzero(row), row[np.flatnonzero(row)])

    rows = [(vector(i, x), *map(float, y)) for i, (x, y) in enumerate(zip(X, Y, strict=True))]
    return rows, X, Y


@pytest.mark.determinism
@pytest.mark.parametrize("kind", [*slow("dense", "sparse"), "mixed"])
def test_vectors(seed, spark, kind):
    rows, X, Y = vectors(seed, kind)
    sdf = spark.createDataFrame(rows, ["features", *TARGETS]).repartition(3)
    got = same(
        quietly(ProjSe(6).fit_spark, sdf, features="features", targets=TARGETS),
        fit(ProjSe(6), X, Y),
    )
    assert not hasattr(got, "feature_names_in_")


@pytest.mark.slow
def test_wide_sparse_vectors_stay_sparse(seed, spark):
    from pyspark.ml.linalg import Vectors

    rng = np.random.default_rng(seed)
    n = 3000
    X = np.zeros((120, n))
    X[np.arange(120)[:, None], rng.integers(0, n, size=(120, 20))] = 1.0
    X[:, 7] = rng.integers(0, 2, size=120)
    y = X[:, 7] + 0.1 * rng.normal(size=120)
    rows = [
        (Vectors.sparse(n, np.flatnonzero(x), x[np.flatnonzero(x)]), float(t))
        for x, t in zip(X, y, strict=True)
    ]
    sdf = spark.createDataFrame(rows, ["x", "y"]).repartition(2)
    got = ProjSe(1).fit_spark(sdf, features="x", targets="y")
    same(got, ProjSe(1).fit(X, y))
    assert got.selected_.tolist() == [7]


@pytest.mark.slow
def test_names_of_assembled_vectors_are_known(seed, spark):
    from pyspark.ml.feature import VectorAssembler

    df = frame(seed)
    sdf = VectorAssembler(inputCols=NAMES, outputCol="features").transform(cut(spark, df))
    got = ProjSe(3, exclude=["v5"]).fit_spark(sdf, features="features", targets=TARGETS)
    same(got, ProjSe(3, exclude=["v5"]).fit(df[NAMES], df[TARGETS]))
    assert got.feature_names_in_.tolist() == NAMES


@pytest.mark.slow
def test_arrays_and_odd_names_and_types(seed, spark, moments):
    from pyspark.sql import functions as F

    df = frame(seed)
    df["whole"] = (10 * df["v0"]).round().astype(int)
    df["yes"] = df["v1"] > 0
    df["a.b `c`"] = df["v2"]
    sdf = cut(spark, df)
    columns = ["whole", "yes", "a.b `c`", "exact", "v5"]
    sdf = sdf.withColumn("exact", (F.col("whole") / 4).cast("decimal(12,4)"))
    df["exact"] = df["whole"] / 4.0
    got = moments(sdf, features=columns[:3] + columns[4:], targets=TARGETS, weight="w")
    want = Moments.from_arrays(df[columns[:3] + columns[4:]].astype(float), df[TARGETS], df["w"])
    np.testing.assert_allclose(got.yx, want.yx, rtol=1e-10, atol=1e-9)
    decimal = moments(sdf, features=["exact", "v5"], targets="y0")
    want = Moments.from_arrays(df[["exact", "v5"]].astype(float), df["y0"])
    np.testing.assert_allclose(decimal.xx, want.xx, rtol=1e-10, atol=1e-9)
    arrays = sdf.select(F.array(*NAMES).alias("x"), F.array(*TARGETS).alias("y"))
    same(
        ProjSe(3).fit_spark(arrays, features="x", targets="y"),
        ProjSe(3).fit(df[NAMES], df[TARGETS]),
    )
    single = sdf.select(*(F.col(c).cast("float") for c in NAMES + TARGETS))
    assert tuple(ProjSe(3).fit_spark(single, features=NAMES, targets=TARGETS).selected_) == PICKS


# Covariates


@pytest.mark.slow
@pytest.mark.parametrize("kernel", KERNELS)
def test_covariates_of_numbers_and_labels(seed, spark, moments, kernel):
    from projse.spark import ProjSeSelector

    df = frame(seed)
    rng = np.random.default_rng([seed, 3])
    df["age"], df["site"] = rng.normal(50, 10, 200), np.repeat(["a", "b", "c"], [90, 70, 40])
    for name in [*NAMES[:4], *TARGETS]:
        df[name] += 0.1 * df["age"] + 2.0 * (df["site"] == "b")
    df.loc[3, ["age", "site"]] = None
    df.loc[3, "w"] = 0.0  # what it holds is not looked at
    sdf = cut(spark, df)
    columns = {"features": NAMES, "weight": "w", "covariates": ["age", "site"]}
    given = {"sample_weight": df["w"], "covariates": df[["age", "site"]]}
    want = ProjSe(3, kernel=kernel).fit(df[NAMES], df[TARGETS], **given)
    got = ProjSe(3, kernel=kernel).fit_spark(sdf, targets=TARGETS, **columns)
    same(got, want)
    np.testing.assert_allclose(got.pvalues_, want.pvalues_, rtol=1e-6, atol=1e-12)
    summed = moments(sdf, targets=TARGETS, **columns)
    assert summed.target_names[3:] == ("age", "site=a", "site=b", "site=c")
    same(ProjSe(3, kernel=kernel).fit_moments(summed), want)
    by_class = ProjSe(3, kernel=kernel).fit(df[NAMES], df["label"], **given)
    labels = ProjSe(3, kernel=kernel).fit_spark(sdf, class_target="label", **columns)
    same(labels, by_class)
    one_view = ProjSe(3, kernel=kernel).fit(df[NAMES], **given)
    same(ProjSe(3, kernel=kernel).fit_spark(sdf, **columns), one_view)
    stage = ProjSeSelector(inputCols=NAMES, targetCols=TARGETS, weightCol="w", numFeatures=3)
    stage = stage.setParams(covariateCols=["age", "site"], kernel=kernel)
    assert stage.fit(sdf).selected == want.selected_.tolist()


@pytest.mark.slow
def test_bad_covariates_are_named(seed, spark, monkeypatch):
    df = frame(seed)
    df.loc[150, "label"] = None
    sdf = cut(spark, df)
    columns = {"features": NAMES, "targets": TARGETS}
    with pytest.raises(PartitionError, match=r"Partition 1.*covariates\['label=one'\].*1 row;"):
        ProjSe(3).fit_spark(sdf, covariates=["label"], **columns)
    for names, words in (([], "names no columns"), (["nope"], "covariates: there is no column")):
        with pytest.raises(ValueError, match=words):
            ProjSe(3).fit_spark(sdf, covariates=names, **columns)
    monkeypatch.setattr("projse.engines.spark_columns.MAX_LEVELS", 2)
    with pytest.raises(ValueError, match=r"'label' has more than 2 levels.*identifier"):
        ProjSe(3).fit_spark(sdf, covariates="label", **columns)


# Pipelines


@pytest.mark.slow
def test_a_selector_in_a_pipeline_saves_and_loads(seed, spark, tmp_path):
    from pyspark.ml import Pipeline, PipelineModel
    from pyspark.ml.feature import VectorAssembler

    from projse.spark import ProjSeSelector, ProjSeSelectorModel

    df = frame(seed)
    sdf = cut(spark, df)
    want = ProjSe(4, kernel="poly", degree=2).fit(df[NAMES], df[TARGETS])
    selector = ProjSeSelector(
        targetCols=TARGETS, outputCol="picked", numFeatures=4, kernel="poly", degree=2
    )
    pipeline = Pipeline(stages=[VectorAssembler(inputCols=NAMES, outputCol="features"), selector])
    pipeline.save(str(tmp_path / "pipeline"))
    pipeline = Pipeline.load(str(tmp_path / "pipeline"))
    fitted = pipeline.fit(sdf)
    fitted.save(str(tmp_path / "model"))
    loaded = PipelineModel.load(str(tmp_path / "model"))
    for model in (fitted.stages[1], loaded.stages[1], fitted.stages[1].copy()):
        assert isinstance(model, ProjSeSelectorModel)
        assert model.uid == selector.uid
        assert model.selected == want.selected_.tolist()
        assert model.names == [NAMES[j] for j in want.selected_]
        assert model.n_features == 8
        np.testing.assert_allclose(model.scores, want.scores_, rtol=1e-10)
        assert model.pvalues == [None] * 4
    rows = loaded.transform(sdf).select("picked").collect()
    picked = np.array([row.picked.toArray() for row in rows])
    np.testing.assert_array_equal(picked, df[NAMES].to_numpy()[:, np.sort(want.selected_)])


@pytest.mark.slow
def test_a_selector_takes_plain_columns_labels_and_weights(seed, spark, tmp_path):
    from projse.spark import ProjSeSelector, ProjSeSelectorModel

    df = frame(seed)
    sdf = cut(spark, df)
    selector = ProjSeSelector(inputCols=NAMES, weightCol="w", numFeatures=2)
    model = selector.fit(sdf)
    want = ProjSe(2).fit(df[NAMES], df["label"], sample_weight=df["w"])
    assert model.selected == want.selected_.tolist()
    np.testing.assert_allclose(model.pvalues, want.pvalues_, rtol=1e-6, atol=1e-300)
    model.save(str(tmp_path / "model"))
    model = ProjSeSelectorModel.load(str(tmp_path / "model"))
    assert model.getInputCols() == NAMES
    out = model.transform(sdf)
    picked = np.array([row[0].toArray() for row in out.select(model.getOutputCol()).collect()])
    np.testing.assert_array_equal(picked, df[NAMES].to_numpy()[:, np.sort(want.selected_)])
    # Params of one fit, without changing the estimator.
    other = selector.fit(sdf, {selector.numFeatures: 1})
    assert other.selected == want.selected_[:1].tolist()
    assert selector.getOrDefault("numFeatures") == 2
    paper = selector.copy().setParams(
        targetCols=TARGETS, numFeatures=5, alpha=0.0, redundancy=0.0, roundSize=None
    )
    want = paper_form(5).fit(df[NAMES], df[TARGETS], sample_weight=df["w"])
    np.testing.assert_allclose(paper.fit(sdf).scores, want.scores_, rtol=1e-9)
    one_view = selector.copy().setParams(targetCols=[], numFeatures=3).fit(sdf)
    assert one_view.selected == ProjSe(3).fit(df[NAMES], sample_weight=df["w"]).selected_.tolist()


# Failures


@pytest.mark.slow
def test_groups_are_those_of_memory_and_the_selector_keeps_their_columns(seed, spark, tmp_path):
    from projse.spark import ProjSeSelector, ProjSeSelectorModel

    df, groups = frame(seed), {"pair": NAMES[4:6], "three": [NAMES[0], NAMES[3], NAMES[7]]}
    want = ProjSe(3, groups=groups).fit(df[NAMES], df[TARGETS])
    sdf = cut(spark, df)
    same(ProjSe(3, groups=groups).fit_spark(sdf, features=NAMES, targets=TARGETS), want)
    selector = ProjSeSelector(
        inputCols=NAMES, targetCols=TARGETS, outputCol="picks", numFeatures=3, groups=groups
    )
    model = selector.fit(sdf)
    assert model.selected == want.selected_.tolist()
    assert model.names == want.variable_names_[want.selected_].tolist()
    model.write().overwrite().save(str(tmp_path / "model"))
    for kept in (model, ProjSeSelectorModel.load(str(tmp_path / "model"))):
        got = [row.picks.toArray() for row in kept.transform(sdf).collect()]
        np.testing.assert_allclose(got, want.transform(df[NAMES]))


@pytest.mark.slow
@pytest.mark.fault
def test_a_task_that_fails_twice_counts_no_row_twice(seed, spark, tmp_path):
    df = frame(seed)
    sdf = cut(spark, df)
    marker = str(tmp_path / "attempts")

    def fails_twice(batches):
        from pyspark import TaskContext

        first = TaskContext.get().partitionId() == 0
        for batch in batches:
            for start in range(0, batch.num_rows, 10):
                yield batch.slice(start, 10)
                if first and start == 50 and len(Path(marker).read_text()) < 2:
                    with Path(marker).open("a") as file:
                        file.write("x")
                    raise RuntimeError("this worker has gone")

    Path(marker).write_text("")
    columns = [*NAMES, *TARGETS]
    failing = sdf.select(*columns)
    failing = failing.mapInArrow(fails_twice, failing.schema)
    got = ProjSe(3).fit_spark(failing, features=NAMES, targets=TARGETS)
    assert Path(marker).read_text() == "xx"
    assert got.moments_.n_samples == 200
    same(got, ProjSe(3).fit(df[NAMES], df[TARGETS]))


@pytest.mark.slow
def test_a_null_is_named_with_partition_and_column(seed, spark):
    df = frame(seed)
    df.loc[150, "v4"] = None
    df.loc[150, "y1"] = None
    df.loc[150, "label"] = None
    df.loc[150, "w"] = None
    sdf = cut(spark, df)
    good = NAMES[:4]
    for columns, message in [
        ({"features": NAMES, "targets": "y0"}, r"X .* column 'v4' \(1 NaN\)"),
        ({"features": good, "targets": TARGETS}, r"y .* column 'y1' \(1 NaN\)"),
        ({"features": good, "class_target": "label"}, r"1 missing label\b.*'label'"),
        ({"features": good, "targets": "y0", "weight": "w"}, r"sample_weight .* column 'w'"),
    ]:
        with pytest.raises(PartitionError, match=rf"^Partition 1: .*{message}") as caught:
            ProjSe(2).fit_spark(sdf, **columns)
        assert caught.value.partition == 1
        assert caught.value.__cause__ is None
        assert "\n" not in str(caught.value)


@pytest.mark.slow
def test_bad_vectors_are_named(seed, spark):
    from pyspark.ml.linalg import Vectors, VectorUDT
    from pyspark.sql.types import DoubleType, StructField, StructType

    schema = StructType([StructField("x", VectorUDT()), StructField("y", DoubleType())])
    for bad, message in [
        (None, "column 'x' of X is null in 1 row, first in row 2"),
        (Vectors.dense([1.0]), r"column 'x' of X holds vectors of 3 and of 1 entries \(row 2"),
        (Vectors.sparse(4, [0], [1.0]), "vectors of 3 and of 4 entries"),
        (Vectors.dense([1.0, float("nan"), 0.0]), r"column 1 \(1 NaN\)"),
    ]:
        rows = [(Vectors.dense([1.0, 2.0, float(i)]), float(i)) for i in range(5)]
        rows[2] = (bad, 1.0)
        sdf = spark.createDataFrame(rows, schema).coalesce(1)
        with pytest.raises(PartitionError, match=f"^Partition 0: .*{message}"):
            ProjSe(1).fit_spark(sdf, features="x", targets="y")
    # Different sizes in different partitions.
    rows = [(Vectors.dense([1.0, 2.0]), 1.0), (Vectors.dense([1.0]), 2.0)]
    sdf = spark.createDataFrame(spark.sparkContext.parallelize(rows, 2), schema)
    with pytest.raises(PartitionError, match=r"^Partition 1: .*2 and of 1 candidates"):
        ProjSe(1).fit_spark(sdf, features="x", targets="y")


def test_bad_columns_are_named_before_anything_runs(seed, spark, moments):
    sdf = cut(spark, frame(seed))
    sdf = sdf.withColumn("bytes", sdf["label"].cast("binary"))
    for columns, message in [
        ({"features": [*NAMES, "v9"], "targets": "y0"}, "features: there is no column 'v9'"),
        ({"features": [*NAMES, "bytes"], "targets": "y0"}, "'bytes' is of type binary"),
        ({"features": NAMES, "targets": ["label"]}, "class_target"),
        ({"features": NAMES, "targets": "y0", "weight": "label"}, "weight: column 'label'"),
        ({"features": NAMES, "targets": "y0", "class_target": "label"}, "not both"),
        ({"features": ["v0", "v0"], "targets": "y0"}, "'v0' twice"),
        ({"features": [], "targets": "y0"}, "names no columns"),
    ]:
        with pytest.raises(ValueError, match=message):
            moments(sdf, **columns)
    with pytest.raises(ValueError, match="with_xx"):
        moments(sdf, features=NAMES, with_xx="maybe")
    with pytest.raises(TypeError, match="Spark DataFrame"):
        moments(frame(seed), features=NAMES)
    with pytest.raises(ValueError, match="callable kernel"):
        ProjSe(kernel=lambda A, B: A.T @ B).fit_spark(sdf, features=NAMES, targets="y0")
    with pytest.raises(ValueError, match="class_target"):
        ProjSe(target_type="class").fit_spark(sdf, features=NAMES, targets="y0")


@pytest.mark.slow
def test_no_rows_at_all(seed, spark):
    sdf = cut(spark, frame(seed))
    with pytest.raises(ValueError, match="0 rows"):
        ProjSe(2).fit_spark(sdf.where("v0 > 1e9"), features=NAMES, targets=TARGETS)
    with pytest.raises(ValueError, match=r"1 sample\(s\)"):
        ProjSe(2).fit_spark(sdf.limit(1), features=NAMES, targets=TARGETS)
    with pytest.warns(RankExhaustedWarning):
        ProjSe(5, exhausted="stop").fit_spark(sdf, features=NAMES, targets=TARGETS)


@pytest.mark.slow
@pytest.mark.skipif(not Path("/proc/self/clear_refs").exists(), reason="peak memory needs Linux")
def test_memory_of_the_driver_does_not_grow_with_partitions(spark, moments):
    from pyspark.sql import functions as F

    def status(key):
        lines = Path("/proc/self/status").read_text().splitlines()
        return next(int(line.split()[1]) for line in lines if line.startswith(key)) * 1024

    def peak(n_partitions):
        wide = spark.range(0, 4 * n_partitions, 1, n_partitions).select(
            F.transform(F.sequence(F.lit(1), F.lit(1500)), lambda i: F.rand() + i).alias("x"),
            F.transform(F.sequence(F.lit(1), F.lit(100)), lambda i: F.rand() + i).alias("y"),
        )
        Path("/proc/self/clear_refs").write_text("5")
        before = status("VmRSS")
        got = moments(wide, features="x", targets="y", with_xx=False)
        assert got.n_samples == 4 * n_partitions
        return status("VmHWM") - before

    peak(2)
    few, many = peak(4), peak(100)
    root = 8 * (100**2 + 100 * 1500)
    # 96 more partitions, whose moments are 123 MB: the driver sees those of the root alone.
    assert many - few < 16 * root, (few, many)


# More candidates than have their products summed


def wide(seed, m, p, q=3):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(m, p)) + 0.3 * rng.normal(size=(m, 1))
    return X, X[:, :12] @ rng.normal(size=(12, q)) + rng.normal(size=(m, q))


WIDE_FORMS = [
    {"alpha": "auto", "redundancy": "auto", "round_size": "auto"},
    PAPER,
    {**PAPER, "round_size": 1},
    {**PAPER, "round_size": 5},
]


@pytest.mark.determinism
@pytest.mark.slow
@pytest.mark.parametrize("form", WIDE_FORMS)
@pytest.mark.parametrize("p", [650, 5000])
def test_products_of_the_picks_come_from_another_pass(seed, spark, form, p):
    X, Y = wide(seed, 200, p)
    rows = [(i % 3, x.tolist(), y.tolist()) for i, (x, y) in enumerate(zip(X, Y, strict=True))]
    sdf = spark.createDataFrame(rows, "part int, x array<double>, y array<double>")
    sdf = sdf.repartition(3, "part")
    got = ProjSe(14, **form).fit_spark(sdf, features="x", targets="y")
    assert got.moments_.xx is None
    want = ProjSe(14, **form).fit_moments(Moments.from_arrays(X, Y, with_xx=True))
    same(got, want)


@pytest.mark.slow
@pytest.mark.fault
@pytest.mark.parametrize("lost_in", [1, 2])
@pytest.mark.parametrize("partition", [0, 2])
def test_an_executor_lost_in_either_pass_counts_no_row_twice(
    seed, spark, tmp_path, lost_in, partition
):
    """The Python process of a task is killed once, in the first pass or in that for the picks."""
    X, Y = wide(seed, 200, 650)
    rows = [(i % 3, x.tolist(), y.tolist()) for i, (x, y) in enumerate(zip(X, Y, strict=True))]
    sdf = spark.createDataFrame(rows, "part int, x array<double>, y array<double>")
    folder = str(tmp_path)

    def dies_once(batches):
        import signal
        import uuid

        from pyspark import TaskContext

        number = TaskContext.get().partitionId()
        lost = Path(folder) / "lost"
        passes = 1 + len(list(Path(folder).glob(f"{number}-*")))
        for batch in batches:
            yield batch
            if number == partition and passes == lost_in and not lost.exists():
                lost.write_text(str(os.getpid()))
                os.kill(os.getpid(), signal.SIGKILL)
        (Path(folder) / f"{number}-{uuid.uuid4()}").touch()

    dying = sdf.coalesce(3).repartition(3)
    dying = dying.mapInArrow(dies_once, dying.schema)
    got = ProjSe(14).fit_spark(dying, features="x", targets="y")
    assert (tmp_path / "lost").exists()
    assert got.moments_.n_samples == 200
    same(got, ProjSe(14).fit_moments(Moments.from_arrays(X, Y, with_xx=True)))


def test_without_spark_the_extra_is_named():
    code = (
        "import sys; sys.modules['pyspark'] = None\n"
        "from projse import ProjSe\n"
        "for call in (lambda: __import__('projse.spark'),\n"
        "             lambda: ProjSe().fit_spark(None, features='x')):\n"
        "    try: call()\n"
        "    except ImportError as error: assert 'projse-select[spark]' in str(error), error\n"
        "    else: raise AssertionError\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=120, check=False
    )
    assert done.returncode == 0, done.stderr


@pytest.mark.slow
@pytest.mark.parametrize("further_passes", [False, True])
def test_candidates_that_few_rows_make_up_wait(seed, spark, monkeypatch, further_passes):
    if further_passes:
        monkeypatch.setattr("projse.estimators.fit_elsewhere.ON_CLUSTER", -1e9)
    X, Y = problem(seed)
    form = {"alpha": "auto", "redundancy": "auto", "round_size": "auto"}
    want = ProjSe(6, **form).fit_moments(Moments.from_arrays(X, Y))
    names = [f"v{j}" for j in range(20)]
    frame = spark.createDataFrame(np.hstack([X, Y]).tolist(), names)
    got = ProjSe(6, **form).fit_spark(frame, features=names[:16], targets=names[16:])
    assert (got.moments_.xx is None) == further_passes
    check(got, want)


# Tables


@pytest.mark.determinism
@pytest.mark.slow
@pytest.mark.parametrize("missing", ["indicator", "mean", "drop"])
@pytest.mark.parametrize("basis", ["linear", "spline"])
def test_tables_are_encoded_by_the_workers_as_in_memory(spark, seed, missing, basis):
    table = patients(seed, 200)
    features = list(table.columns[:7])
    selector = ProjSe(5, missing=missing, basis=basis)
    want = clone(selector).fit(table[features], table[PATIENT_TARGETS])
    table["day"] = table.day.dt.date
    plain = table.astype(object).where(table.notna(), None)
    df = spark.createDataFrame(plain.to_dict("records"), schema=TABLE_SCHEMA)
    found = selector.fit_spark(df.repartition(1), features=features, targets=PATIENT_TARGETS)
    assert found.selected_.tolist() == want.selected_.tolist()
    np.testing.assert_allclose(found.scores_, want.scores_, rtol=0, atol=1e-10)
    assert found.get_feature_names_out().tolist() == want.get_feature_names_out().tolist()


@pytest.mark.determinism
@pytest.mark.slow
def test_partitions_with_different_levels_add_up(spark, seed):
    table = patients(seed, 200, gaps=False)
    features = list(table.columns[:7])
    want = ProjSe(5).fit(table[features], table[PATIENT_TARGETS])
    table["day"] = table.day.dt.date
    df = spark.createDataFrame(table.to_dict("records"), schema=TABLE_SCHEMA)
    found = ProjSe(5).fit_spark(df.repartition(3), features=features, targets=PATIENT_TARGETS)
    assert found.selected_.tolist() == want.selected_.tolist()
    np.testing.assert_allclose(found.scores_, want.scores_, rtol=0, atol=1e-10)


@pytest.mark.slow
@pytest.mark.parametrize("missing", ["refuse", "indicator", "mean"])
def test_dates_among_covariates_are_trend_and_cycles_as_in_memory(spark, seed, missing):
    table = patients(seed, 200, gaps=missing != "refuse")
    features, given = ["age", "bmi", "noise"], ["day", "city"]
    targets, model = ["y_dose", "y_load"], ProjSe(3, missing=missing)
    want = clone(model).fit(table[features], table[targets], covariates=table[given])
    table["day"] = table.day.dt.date
    plain = table.astype(object).where(table.notna(), None)
    df = spark.createDataFrame(plain.to_dict("records"), schema=TABLE_SCHEMA).repartition(3)
    found = model.fit_spark(df, features=features, targets=targets, covariates=given)
    assert found.selected_.tolist() == want.selected_.tolist()
    np.testing.assert_allclose(found.scores_, want.scores_, rtol=0, atol=1e-10)


@pytest.mark.slow
def test_a_selector_of_spark_ml_takes_tables(spark, seed, tmp_path):
    from projse.spark import ProjSeSelector, ProjSeSelectorModel

    table = patients(seed, 200)
    features = list(table.columns[:7])
    want = ProjSe(5, missing="indicator").fit(table[features], table[PATIENT_TARGETS])
    table["day"] = table.day.dt.date
    plain = table.astype(object).where(table.notna(), None)
    df = spark.createDataFrame(plain.to_dict("records"), schema=TABLE_SCHEMA).repartition(1)
    stage = ProjSeSelector(
        inputCols=features,
        targetCols=PATIENT_TARGETS,
        numFeatures=5,
        missing="indicator",
        outputCol="picks",
    )
    model = stage.fit(df)
    assert model.selected == want.selected_.tolist()
    picks = model.transform(df).select("picks.*")
    assert picks.columns == want.get_feature_names_out().tolist()
    assert picks.count() == len(table)
    # Of numbers alone a vector comes out, with NaN at gaps.
    numbers = stage.copy().setParams(inputCols=["age", "bmi", "noise"], numFeatures=3).fit(df)
    numbers.write().save(str(tmp_path / "model"))
    loaded = ProjSeSelectorModel.load(str(tmp_path / "model"))
    rows = np.array([row[0].toArray() for row in loaded.transform(df).select("picks").collect()])
    n_gaps = table[["age", "bmi", "noise"]].isna().sum().sum()
    assert np.isnan(rows).sum() == n_gaps > 0


@pytest.mark.slow
def test_examples_in_the_docs_run(spark):
    found = doctest.testmod(importlib.import_module("projse.spark"))
    assert found.attempted >= 15
    assert found.failed == 0


@pytest.mark.slow
def test_discoveries_are_those_of_memory(spark, seed):
    X, Y = planted(seed, n_samples=400, n_features=12)
    df = pd.DataFrame(X, columns=[f"v{j}" for j in range(12)])
    df[TARGETS] = Y
    model = KnockoffProjSe(fdr=0.5, n_draws=5, random_state=0)
    there = clone(model).fit_spark(
        spark.createDataFrame(df), features=[f"v{j}" for j in range(12)], targets=TARGETS
    )
    here = clone(model).fit(X, Y)
    assert_array_equal(there.selected_, here.selected_)
    assert set(here.selected_) >= set(PICKS)
    assert_allclose(there.statistics_, here.statistics_, rtol=1e-6)


@pytest.mark.slow
def test_discoveries_in_a_table_are_those_of_memory(spark, seed):
    rng = np.random.default_rng([seed, 16])
    codes = rng.integers(0, 3, size=(400, 5))
    frame = pd.DataFrame(np.array(["red", "green", "blue"])[codes], columns=list("abcde"))
    frame["n"] = np.where(rng.random(400) < 0.1, np.nan, rng.normal(size=400))
    frame["z"] = rng.normal(size=400)
    frame["y"] = np.array([-1.5, 0.0, 1.5])[codes[:, :4]].sum(axis=1) + rng.normal(size=400)
    model = KnockoffProjSe(ProjSe(missing="indicator"), fdr=0.5, n_draws=4, random_state=0)
    names = list("abcden")
    here = clone(model).fit(frame[names], frame["y"], covariates=frame[["z"]])
    there = clone(model).fit_spark(
        spark.createDataFrame(frame), features=names, targets=["y"], covariates=["z"]
    )
    assert_array_equal(there.selected_, here.selected_)
    assert set(here.selected_) >= {0, 1, 2, 3}
    assert_allclose(there.statistics_, here.statistics_, rtol=1e-6)


@pytest.mark.determinism
@pytest.mark.parametrize(("form", "grouped"), CELLS)
@pytest.mark.parametrize("n_partitions", [1, 5])
def test_the_same_rows_give_the_same(spark, n_partitions, form, grouped, seed):
    X, Y = rows(seed)
    reference = selector(form, grouped).fit(X, Y)
    frame = pd.DataFrame(np.hstack([X, Y]), columns=SAME_NAMES)
    df = spark.createDataFrame(frame).repartition(n_partitions)
    made = selector(form, grouped)
    quietly(made.fit_spark, df, features=SAME_NAMES[:P], targets=SAME_NAMES[P:])
    same(made, reference)


@pytest.mark.determinism
def test_sketches_of_many_outputs(seed, spark):
    """Plain columns with weights and covariates, and vectors, whose width a row tells."""
    rng = np.random.default_rng([seed, 30])
    X, Y = draw_outputs(rng, "scales", m=200, q=40)
    w, Z = rng.integers(1, 4, len(X)).astype(float), rng.normal(size=(len(X), 2))
    sketch = ProjSe(8, rank=10, solver="sketch", iterated_power=1)
    blocks = {"x": X, "y": Y, "z": Z, "w": w[:, None]}
    names = {key: [f"{key}{j}" for j in range(part.shape[1])] for key, part in blocks.items()}
    df = pd.DataFrame(
        {f"{key}{j}": part[:, j] for key, part in blocks.items() for j in range(part.shape[1])}
    )
    columns = {"features": names["x"], "targets": names["y"], "covariates": names["z"]}
    got = clone(sketch).fit_spark(cut(spark, df), weight="w0", **columns)
    check(got, clone(sketch).fit(X, Y, w, Z), rtol=1e-10, atol=1e-12)
    rows = list(zip(X.tolist(), Y.tolist(), strict=True))
    vectors = spark.createDataFrame(rows, "x array<double>, y array<double>")
    got = clone(sketch).fit_spark(vectors, features="x", targets="y")
    check(got, clone(sketch).fit(X, Y), rtol=1e-10, atol=1e-12)
