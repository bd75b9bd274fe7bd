"""Spark: moments of a DataFrame, and a selector for Spark ML pipelines (extra: ``spark``).

Workers need ``projse`` too. All of it runs on DataFrame operations, so that Spark Connect
sessions work as well.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from projse.engines.spark import SparkRows
from projse.engines.spark_columns import NUMBERS, column_of
from projse.estimators.projse import ProjSe
from projse.moments.partitions import encoding_elsewhere, moments_elsewhere
from projse.moments.sums import Moments
from projse.parameters import check_pass_options
from projse.sources.table.partition import LookOptions

try:
    from pyspark import keyword_only
    from pyspark.ml import Estimator, Model
    from pyspark.ml.feature import VectorAssembler, VectorSlicer
    from pyspark.ml.param import Param, Params, TypeConverters
    from pyspark.ml.param.shared import (
        HasFeaturesCol,
        HasInputCols,
        HasLabelCol,
        HasOutputCol,
        HasWeightCol,
    )
    from pyspark.ml.util import (
        DefaultParamsReadable,
        DefaultParamsReader,
        DefaultParamsWritable,
        DefaultParamsWriter,
        MLReadable,
        MLReader,
        MLWritable,
        MLWriter,
    )
    from pyspark.sql import functions as F
except ImportError as error:
    raise ImportError(
        f"projse.spark needs Spark ({error}); pip install 'projse-select[spark]'."
    ) from error

__all__ = ["ProjSeSelector", "ProjSeSelectorModel", "moments"]


def moments(
    df: Any,
    *,
    features: str | Sequence[str],
    targets: str | Sequence[str] | None = None,
    weight: str | None = None,
    class_target: str | None = None,
    covariates: str | Sequence[str] | None = None,
    with_xx: bool | str = "auto",
    categorical_features: Any = "from_dtype",
    missing: str = "refuse",
    basis: str = "linear",
    n_jobs: int | None = None,
    batch_size: int | None = None,
) -> Moments:
    """Sum over the rows of a Spark DataFrame: one row of moments a partition, added in a tree.

    Parameters
    ----------
    df : pyspark.sql.DataFrame
    features : str or sequence of str
        Candidates: plain columns of numbers, strings, booleans and dates, or one column of vectors
        (``VectorUDT``, dense and sparse) or of arrays.
    targets : str or sequence of str, default=None
        References, in the same way.
    weight : str, default=None
        Column of row weights: 2 counts as the row twice, 0 as the row gone.
    class_target : str, default=None
        Column of class labels, in place of ``targets``. Without either: one view.
    covariates : str or sequence of str, default=None
        Columns that a selection takes out of all others first: numbers, or labels, whose levels
        are collected before the pass. With dates among them, the workers encode all of them.
    with_xx : bool or "auto", default="auto"
        Keep the products of the candidates with each other, as in :meth:`Moments.from_arrays`.
    categorical_features, missing, basis
        As in :class:`ProjSe`: how the workers encode columns that are no numbers, or have gaps.
    n_jobs, batch_size : int, default=None
        Threads a task (1 if not given) and rows at a time, as in :class:`ProjSe`.

    Returns
    -------
    Moments

    Examples
    --------
    >>> from pyspark.sql import SparkSession
    >>> from projse import ProjSe
    >>> from projse.spark import moments
    >>> spark = SparkSession.builder.getOrCreate()
    >>> rows = [(float(i % 7), float(i % 5), float(2 * (i % 5))) for i in range(70)]
    >>> df = spark.createDataFrame(rows, ["a", "b", "y"])
    >>> summed = moments(df, features=["a", "b"], targets=["y"])
    >>> summed.n_samples
    70
    >>> ProjSe(1).fit_moments(summed).selected_names_.tolist()
    ['b']
    """
    check_pass_options(n_jobs, batch_size, with_xx)
    rows = SparkRows.of(df, features, targets, weight, class_target, covariates)
    look = LookOptions(categorical_features, missing, basis)
    rows = rows.as_table() if look.forced else rows
    encoding = encoding_elsewhere(rows, look, "auto")
    options: Any = {"n_jobs": n_jobs, "batch_size": batch_size, "encoding": encoding}
    return moments_elsewhere(rows, with_xx=with_xx, **options)


PROJSE_NAMES = {
    "numFeatures": "n_features_to_select",
    "kernel": "kernel",
    "degree": "degree",
    "coef0": "coef0",
    "gamma": "gamma",
    "center": "center",
    "scale": "scale",
    "centerKernel": "center_kernel",
    "alpha": "alpha",
    "redundancy": "redundancy",
    "rank": "rank",
    "tol": "tol",
    "exhausted": "exhausted",
    "roundSize": "round_size",
    "groups": "groups",
    "include": "include",
    "exclude": "exclude",
    "significance": "significance",
    "categoricalFeatures": "categorical_features",
    "missing": "missing",
    "basis": "basis",
}
"""Params of the Spark estimator, and what ProjSe calls them."""


class _Columns(HasFeaturesCol, HasInputCols, HasOutputCol):  # type: ignore[misc]
    """What estimator and model share: where the candidates are, and where the picks go."""

    def _features(self) -> Any:
        return self.getInputCols() if self.isSet("inputCols") else self.getFeaturesCol()


def _param(name: str, doc: str) -> Any:
    return Param(Params._dummy(), name, doc, TypeConverters.identity)


class _Selector(Estimator, _Columns, HasLabelCol, HasWeightCol):  # type: ignore[misc]
    """What a Spark ML estimator for supervised selection is made of."""


class ProjSeSelector(_Selector, DefaultParamsReadable, DefaultParamsWritable):  # type: ignore[misc]
    """Spark ML estimator: select the candidates that best explain a whole set of references.

    Parameters
    ----------
    featuresCol : str, default="features"
        Column of vectors with the candidates.
    inputCols : list of str
        Plain columns with the candidates, in place of ``featuresCol``.
    targetCols : list of str
        Columns of numbers with the references, or one column of vectors. Empty: one view.
    labelCol : str, default="label"
        Column of class labels; used when ``targetCols`` is not set.
    weightCol : str
        Column of row weights.
    covariateCols : list of str
        Columns that are taken out of all others first: numbers or labels.
    outputCol : str
        Column for the vectors of picks, in the order of the candidates; for a struct of them where
        some are no numbers (``select("picks.*")`` makes columns of it).
    numFeatures : int, float, "auto" or None
        ``n_features_to_select`` of :class:`projse.ProjSe`.
    kernel, degree, coef0, gamma, center, scale, centerKernel, alpha, redundancy, rank
        As in :class:`projse.ProjSe`, with its defaults.
    tol, exhausted, roundSize, groups, include, exclude, significance
        As in :class:`projse.ProjSe`, with its defaults.
    categoricalFeatures, missing, basis
        The same, for ``inputCols`` that may then hold strings, booleans, dates and gaps.

    Examples
    --------
    >>> from pyspark.sql import SparkSession
    >>> from projse.spark import ProjSeSelector
    >>> spark = SparkSession.builder.getOrCreate()
    >>> rows = [(float(i % 7), float(i % 5), float(2 * (i % 5))) for i in range(70)]
    >>> df = spark.createDataFrame(rows, ["a", "b", "y"])
    >>> selector = ProjSeSelector(
    ...     inputCols=["a", "b"], targetCols=["y"], outputCol="picks", numFeatures=1
    ... )
    >>> selector.fit(df).transform(df).first()["picks"]
    DenseVector([0.0])
    """

    targetCols = Param(
        Params._dummy(), "targetCols", "references", typeConverter=TypeConverters.toListString
    )
    covariateCols = Param(
        Params._dummy(), "covariateCols", "taken out first", TypeConverters.toListString
    )
    numFeatures = _param("numFeatures", "how many to select")
    kernel = _param("kernel", "linear, poly or rbf")
    degree = _param("degree", "of the polynomial kernel")
    coef0 = _param("coef0", "of the polynomial kernel")
    gamma = _param("gamma", "of the RBF kernel")
    center = _param("center", "subtract means")
    scale = _param("scale", "unit norms before the kernel")
    centerKernel = _param("centerKernel", "centre in feature space")
    alpha = _param("alpha", "ridge on the references, or auto")
    redundancy = _param("redundancy", "share that a copy of a pick keeps, or auto")
    rank = _param("rank", "directions of the references to keep")
    tol = _param("tol", "relative eigenvalue cut")
    exhausted = _param("exhausted", "residual, restart or stop")
    roundSize = _param("roundSize", "picks a round, auto, or None")
    groups = _param("groups", "columns that are picked or left as a whole")
    include = _param("include", "come first")
    exclude = _param("exclude", "never picked")
    significance = _param("significance", "for numFeatures='auto'")
    categoricalFeatures = _param("categoricalFeatures", "columns that are categories")
    missing = _param("missing", "refuse, drop, indicator or mean")
    basis = _param("basis", "linear or spline")

    @keyword_only  # type: ignore[untyped-decorator]
    def __init__(self, **params: Any) -> None:
        super().__init__()
        defaults = ProjSe().get_params()
        self._setDefault(**{name: defaults[ours] for name, ours in PROJSE_NAMES.items()})
        self._set(**self._input_kwargs)

    @keyword_only  # type: ignore[untyped-decorator]
    def setParams(self, **params: Any) -> ProjSeSelector:
        """Set params by name."""
        self._set(**self._input_kwargs)
        return self

    def _fit(self, dataset: Any) -> ProjSeSelectorModel:
        selector = ProjSe(**{ours: self.getOrDefault(name) for name, ours in PROJSE_NAMES.items()})
        columns: dict[str, Any] = {"features": self._features()}
        if self.isSet("targetCols"):
            columns["targets"] = self.getOrDefault("targetCols") or None
        else:
            columns["class_target"] = self.getLabelCol()
        if self.isSet("weightCol"):
            columns["weight"] = self.getWeightCol()
        if self.isSet("covariateCols"):
            columns["covariates"] = self.getOrDefault("covariateCols") or None
        selector.fit_spark(dataset, **columns)
        named = hasattr(selector, "feature_names_in_") or hasattr(selector, "variables_")
        names = [str(selector.variable_names_[j]) for j in selector.selected_] if named else None
        model = ProjSeSelectorModel(
            selected=selector.selected_.tolist(),
            scores=selector.scores_.tolist(),
            pvalues=[None if np.isnan(p) else p for p in selector.pvalues_.tolist()],
            names=names,
            n_features=selector.n_features_in_,
            columns=np.flatnonzero(selector.support_).tolist(),
            gaps="error" if selector.missing == "refuse" else "keep",
        )
        model._resetUid(self.uid)  # as the models of Spark's own estimators
        return self._copyValues(model)


class ProjSeSelectorModel(Model, _Columns, MLReadable, MLWritable):  # type: ignore[misc]
    """Spark ML model: keeps the selected candidates as a column of vectors.

    Attributes
    ----------
    selected : list of int
        Indices of the picks, in the order of selection; with groups, of variables.
    scores, pvalues : list of float
        Of the picks; a p-value that does not exist is None.
    names : list of str or None
        Names of the picks, where the candidates or groups have names.
    n_features : int
        Number of candidate columns.
    columns : list of int
        Columns of the picks, in the order of the candidates.
    gaps : {"error", "keep"}
        What becomes of a gap in a pick: an error, or NaN where the fit took gaps.

    Examples
    --------
    >>> from pyspark.sql import SparkSession
    >>> from projse.spark import ProjSeSelector
    >>> spark = SparkSession.builder.getOrCreate()
    >>> rows = [(float(i % 7), float(i % 5), float(2 * (i % 5))) for i in range(70)]
    >>> df = spark.createDataFrame(rows, ["a", "b", "y"])
    >>> selector = ProjSeSelector(inputCols=["a", "b"], targetCols=["y"], numFeatures=1)
    >>> model = selector.fit(df)
    >>> model.selected, model.names
    ([1], ['b'])
    """

    def __init__(
        self,
        selected: Sequence[int] = (),
        scores: Sequence[float] = (),
        pvalues: Sequence[float | None] = (),
        names: Sequence[str] | None = None,
        n_features: int = 0,
        columns: Sequence[int] | None = None,
        gaps: str = "error",
    ) -> None:
        super().__init__()
        self.gaps = gaps
        self.selected = list(selected)
        self.scores = list(scores)
        self.pvalues = list(pvalues)
        self.names = None if names is None else list(names)
        self.n_features = n_features
        self.columns = sorted(selected if columns is None else columns)

    def _transform(self, dataset: Any) -> Any:
        kept = self.columns
        if self.isSet("inputCols"):
            columns = [self.getInputCols()[j] for j in kept]
            types = dict(dataset.dtypes)
            if any(types[name].split("(")[0] not in NUMBERS for name in columns):
                picks = F.struct(*(column_of(name).alias(name) for name in columns))
                return dataset.withColumn(self.getOutputCol(), picks)
            step = VectorAssembler(
                inputCols=columns, outputCol=self.getOutputCol(), handleInvalid=self.gaps
            )
        else:
            step = VectorSlicer(
                inputCol=self.getFeaturesCol(), outputCol=self.getOutputCol(), indices=kept
            )
        return step.transform(dataset)

    def write(self) -> MLWriter:
        """Return a writer of params and picks."""
        return _ModelWriter(self)

    @classmethod
    def read(cls) -> MLReader:
        """Return a reader of what :meth:`write` wrote."""
        return _ModelReader()


PICKS = ("selected", "scores", "pvalues", "names", "n_features", "columns", "gaps")


class _ModelWriter(MLWriter):  # type: ignore[misc]
    def __init__(self, model: ProjSeSelectorModel) -> None:
        super().__init__()
        self.model = model

    def saveImpl(self, path: str) -> None:
        picks = {name: getattr(self.model, name) for name in PICKS}
        DefaultParamsWriter.saveMetadata(
            self.model, path, self.sparkSession, extraMetadata={"picks": picks}
        )


class _ModelReader(MLReader):  # type: ignore[misc]
    def load(self, path: str) -> ProjSeSelectorModel:
        metadata = DefaultParamsReader.loadMetadata(path, self.sparkSession)
        model = ProjSeSelectorModel(**metadata["picks"])
        model._resetUid(metadata["uid"])
        DefaultParamsReader.getAndSetParams(model, metadata)
        return model
