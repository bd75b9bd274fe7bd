"""What cannot be right is refused, by name, with the value and the remedy."""

from __future__ import annotations

import re
from dataclasses import replace

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import scipy.sparse as sp
from planted import planted
from sklearn.exceptions import NotFittedError
from sklearn.utils.validation import check_is_fitted

from projse import (
    Moments,
    ProjSe,
    SourceError,
    TwoViewProjSe,
    block_moments,
    subspace_correlation,
)
from projse.exceptions import ProductsMissingError
from projse.metrics import nogueira_stability

LETTERS = list("abcdefgh")


def refused(call, *words, error=ValueError):
    """Call, and return the message of the error, which must hold all the words."""
    with pytest.raises(error) as caught:
        call()
    assert type(caught.value) is error
    message = str(caught.value)
    for word in words:
        assert word in message, message
    return message


def refuse_fit(*words, X=None, y=None, error=ValueError, parameters=None, **data):
    """Fit on a sound problem with some of it replaced; nothing may stay behind."""
    good_X, good_y = planted(0)
    selector = ProjSe(**({"n_features_to_select": 2} | (parameters or {})))
    X, y = good_X if X is None else X, good_y if y is None else y
    message = refused(lambda: selector.fit(X, y, **data), *words, error=error)
    with pytest.raises(NotFittedError):
        check_is_fitted(selector)
    return message


def spoilt(A, *places, value=np.nan):
    A = np.array(A, dtype=float)
    for place in places:
        A[place] = value
    return A


# NaN and infinity

FORMS = {
    "dense": np.asarray,
    "F order": np.asfortranarray,
    "float32": lambda A: A.astype("f4"),
    "sparse": sp.csr_array,
    "csc": sp.csc_array,
}


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("options", [{}, {"solver": "qr"}, {"kernel": lambda A, B: A.T @ B}])
@pytest.mark.parametrize(("value", "kind"), [(np.nan, "NaN"), (np.inf, "inf"), (-np.inf, "inf")])
def test_non_finite_values_are_counted_by_column(form, options, value, kind):
    X, Y = planted(0)
    X, Y = spoilt(X, (3, 6), (9, 6), (9, 1), value=value), spoilt(Y, (150, 2), value=value)
    counts = f"1 (1 {kind}), 6 (2 {kind})"
    if "kernel" in options and form in ("sparse", "csc"):
        return  # a callable takes no sparse columns
    refuse_fit("X", counts, "impute", X=FORMS[form](X), parameters=options)
    refuse_fit("y", f"2 (1 {kind})", "impute", y=FORMS[form](Y), parameters=options)
    if not options:
        refused(lambda: Moments.from_arrays(FORMS[form](X), planted(0)[1]), "X", counts)
        refused(lambda: subspace_correlation(FORMS[form](X), planted(0)[1]), "X", counts)


def test_non_finite_values_of_frames_carry_the_names():
    X, Y = planted(0)
    bad = pd.DataFrame(spoilt(X, (3, 6), (4, 6)), columns=LETTERS)
    refuse_fit("'g' (2 NaN)", X=bad)
    refuse_fit("'g' (2 NaN)", X=pl.DataFrame(bad))
    refuse_fit("'g' (2 NaN)", X=bad.astype("Float64"))
    refuse_fit("'v' (1 NaN)", y=pd.DataFrame(spoilt(Y, (3, 1)), columns=list("uvw")))
    refuse_fit("'v' (1 NaN)", y=pd.DataFrame({"u": Y[:, 0], "v": [pd.NA, *Y[1:, 1]]}))
    refuse_fit("'height' (1 inf)", y=pd.Series(spoilt(Y[:, 0], 7, value=np.inf), name="height"))
    refuse_fit("0 (1 NaN)", X=spoilt(X, (3, 0)), y=Y, sample_weight=np.arange(200))
    refused(lambda: ProjSe(2).partial_fit(bad, Y), "'g' (2 NaN)")


def test_many_bad_columns_are_summed_up():
    message = refuse_fit("0 (1 NaN)", X=spoilt(np.ones((200, 30)), 5))
    assert message.count("1 NaN") == 10
    assert "20 more" in message


@pytest.mark.parametrize(
    "labels",
    [
        np.array(["a", None] * 100, dtype=object),
        pd.Series(["a", None] * 100),
        pd.Series(["a", pd.NA] * 100, dtype="string"),
        pd.Series(["a", None] * 100).astype("category"),
        pd.Categorical([1.5, None] * 100),
        pl.Series(["a", None] * 100),
        np.array([True, None] * 100, dtype=object),
    ],
)
def test_missing_labels_are_counted(labels):
    refuse_fit("y contains NaN", "100 missing labels", y=labels)


# Shapes and kinds


def test_rows_that_do_not_match():
    X, Y = planted(0)
    refuse_fit("X and y", "200 and 199", y=Y[:-1])
    refuse_fit("X and y", "200 and 199", y=Y[:-1, 0].astype(str))
    refuse_fit("X and y", "200 and 199", y=sp.csr_array(Y[:-1]))
    refuse_fit("X and y", "200 and 199", y=Y[:-1], sample_weight=np.arange(200))
    refuse_fit("covariates", "200 and 199", covariates=X[:-1])
    refuse_fit("sample_weight has 199 entries", "200 rows", sample_weight=np.ones(199))


@pytest.mark.parametrize("options", [{}, {"center": False}, {"kernel": "rbf"}])
def test_too_few_rows_or_columns(options):
    X, Y = planted(0)
    refuse_fit("0 sample", X=X[:0], y=Y[:0], parameters=options)
    refuse_fit("1 sample", "minimum of 2", X=X[:1], y=Y[:1], parameters=options)
    refuse_fit("0 feature", X=X[:, :0], parameters=options)
    refuse_fit("y has 0 columns", y=Y[:, :0], parameters=options)
    refuse_fit("y has 0 columns", y=sp.csr_array(Y[:, :0]), parameters=options)


def test_dimensions():
    X, _ = planted(0)
    refuse_fit("dim 3", X=np.ones((200, 2, 2)))
    refuse_fit("1D array", X=X[:, 0])
    refuse_fit("y must be one- or two-dimensional", "3 dimensions", y=np.ones((200, 2, 2)))
    refuse_fit("y must be one- or two-dimensional", "0 dimensions", y=3.0)
    refuse_fit("covariates must have one or two dimensions", covariates=np.ones((200, 2, 2)))
    refuse_fit("covariates has 0 columns", "None", covariates=np.ones((200, 0)))


def test_complex_numbers():
    X, Y = planted(0)
    refuse_fit("Complex", X=X * 1j)
    refuse_fit("Complex", X=sp.csr_array(X * 1j))
    refuse_fit("Complex", "y is complex", y=Y * 1j)
    refuse_fit("Complex", "y is complex", y=sp.csr_array(Y * 1j))
    refuse_fit("Complex", "covariates is complex", covariates=X[:, 0] * 1j)
    refuse_fit("sample_weight", "complex", sample_weight=np.ones(200) * 1j)


RBF = {"kernel": "rbf"}


def test_columns_that_are_not_numbers_are_named():
    X, Y = planted(0)
    words, dates = ["x", "y"] * 100, np.arange(200).astype("M8[D]")
    for library in (pd, pl):
        table = library.DataFrame({"age": X[:, 0], "town": words, "born": dates})
        assert ProjSe(1).fit(table, Y).n_features_in_ == 3
        for name in ("town", "born"):
            refuse_fit(f"'{name}' has", "linear", X=table[["age", name]], parameters=RBF)
        refused(lambda table=table: Moments.from_arrays(table, Y), "'town'", "'born'")
        refused(lambda table=table: subspace_correlation(table, Y), "'town'", "'born'")
    refuse_fit("Column 0 of y", "datetime64", y=dates, parameters={"target_type": "continuous"})
    refuse_fit("mixes", "strings", y=np.array([1, "1"] * 100, dtype=object))
    refuse_fit("y is sparse", "continuous", y=sp.csr_array(Y), parameters={"target_type": "class"})


def test_covariates_name_their_column():
    X, _ = planted(0)
    table = pd.DataFrame({"site": ["a", "b"] * 100, "age": spoilt(X[:, 0], 3, 4)})
    refuse_fit("covariates['age']", "2 rows", covariates=table)
    refuse_fit("covariates[:, 1]", "1 row;", covariates=spoilt(X[:, :2], (3, 1)))
    refuse_fit(
        "covariates['site']",
        "1 missing",
        covariates=pd.DataFrame({"site": [None, *"ab" * 99, "a"]}),
    )


# Nothing to go by


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("options", [{}, {"kernel": "rbf"}, {"solver": "qr"}])
def test_constants(form, options):
    X, Y = planted(0)
    refuse_fit(
        "All columns of X are constant", X=FORMS[form](np.full(X.shape, 0.1)), parameters=options
    )
    refuse_fit(
        "All columns of y are constant",
        y=FORMS[form](np.full(Y.shape, 1e6 / 3)),
        parameters=options,
    )
    zero = {"center": False, **options}
    refuse_fit("All columns of X are zero", X=FORMS[form](np.zeros(X.shape)), parameters=zero)
    refuse_fit("All columns of y are zero", y=FORMS[form](np.zeros(Y.shape)), parameters=zero)


def test_centring_the_kernel_leaves_nothing_of_a_single_column():
    X, Y = planted(0)
    options = {"center_kernel": True, "n_features_to_select": 1}
    words = "no two differ, and center_kernel=True takes out what they share"
    refuse_fit("All columns of y", words, y=Y[:, 0], parameters=options)
    refuse_fit("All columns of X", words, X=X[:, :1], parameters=options)


def test_one_class_only():
    for labels in (["a"] * 200, np.zeros(200, dtype=int), np.ones(200, dtype=bool)):
        refuse_fit("y", "constant", y=labels)


# Weights

WEIGHTS = {
    "negative": (np.r_[-1.0, np.ones(199)], ("-1", "row 0", "use 0")),
    "NaN": (np.r_[1.0, np.nan, np.ones(198)], ("NaN", "row 1")),
    "infinite": (np.r_[1.0, np.inf, np.ones(198)], ("infinity", "row 1")),
    "all zero": (np.zeros(200), ("non-zero",)),
    "only one": (np.eye(200)[7], ("one sample",)),
    "two columns": (np.ones((200, 2)), ("1D", "2 dimensions")),
    "one column": (np.ones((200, 1)), ("1D",)),
    "words": (["a"] * 200, ("numbers",)),
    "overflow": (np.full(200, 1e307), ("overflow",)),
    "short": (np.ones(3), ("3 entries", "200 rows")),
}


@pytest.mark.parametrize("kind", WEIGHTS)
def test_weights(kind):
    weight, words = WEIGHTS[kind]
    message = refuse_fit(*words, sample_weight=weight)
    assert re.search("sample_?.?weight", message, flags=re.IGNORECASE)


# Parameters

PARAMETERS = [
    ("n_features_to_select", [0, -1, 1.0, 1.5, -0.5, np.nan, 9, "all"], ValueError),
    ("n_features_to_select", [True, [2], (1, 2)], TypeError),
    ("kernel", ["sigmoid", "", None, 3], ValueError),
    ("degree", [0, -1], ValueError),
    ("degree", [2.0, "3", True, None], TypeError),
    ("coef0", [-0.1, np.nan, np.inf], ValueError),
    ("coef0", ["0", None, [1.0]], TypeError),
    ("gamma", [0, -1.0, np.nan, np.inf, "scale"], ValueError),
    ("gamma", [None, [1.0], True], TypeError),
    ("center", ["no", None, 1], TypeError),
    ("scale", ["no", None, 0], TypeError),
    ("center_kernel", ["no", None, 2], TypeError),
    ("alpha", [-1e-9, np.nan, np.inf], ValueError),
    ("alpha", ["0", None, [0.1]], TypeError),
    ("rank", [0, -1, 0.0, 1.5, np.nan, "full", True, [2]], ValueError),
    ("tol", [-1e-9, 1.0, 2, np.nan, np.inf], ValueError),
    ("tol", ["auto", [0.1]], TypeError),
    ("exhausted", ["continue", None, True], ValueError),
    ("round_size", [0, -3], ValueError),
    ("round_size", [2.0, "all", True], TypeError),
    ("target_type", ["binary", None], ValueError),
    ("significance", [0, -0.1, 1, 5, np.nan], ValueError),
    ("significance", ["0.05", None], TypeError),
    ("n_jobs", [0, 1.5, "all", True], ValueError),
    ("batch_size", [0, -1], ValueError),
    ("batch_size", [100.0, "all", True], TypeError),
    ("solver", ["svd", None], ValueError),
    ("include", [5.0, [1.5], [True], [None], [[1]], np.ones(8, dtype=bool), b"a"], TypeError),
    ("exclude", [5.0, [1.5], [True]], TypeError),
]


@pytest.mark.parametrize(("name", "values", "error"), PARAMETERS, ids=lambda part: str(part)[:25])
def test_parameter(name, values, error):
    X, Y = planted(0)
    for value in values:
        message = refuse_fit(name, parameters={name: value}, error=error)
        if name not in ("include", "exclude"):
            assert f"{name}={value!r}" in message
        refused(lambda value=value: ProjSe(**{name: value}).partial_fit(X, Y), name, error=error)


def test_auto_needs_pvalues():
    for options in ({"kernel": "rbf"}, {"kernel": "poly"}, {"center_kernel": True}):
        refuse_fit("'auto'", "Use a number", parameters={"n_features_to_select": "auto", **options})
    refused(lambda: ProjSe("auto").fit(planted(0)[0]), "'auto'")


@pytest.mark.parametrize("name", ["include", "exclude"])
def test_columns_that_are_not_there(name):
    X, _ = planted(0)
    table = pd.DataFrame(X, columns=LETTERS)
    refuse_fit(name, "'zz'", "'a'", X=table, parameters={name: ["a", "zz"]})
    refuse_fit(name, "'a'", "no column names", parameters={name: ["a"]})
    refuse_fit(name, "index 8", "0 to 7", parameters={name: [1, 8]})
    refuse_fit(name, "index -1", "0 to 7", parameters={name: [-1]})
    refuse_fit(name, "twice", parameters={name: [1, 1]})
    refuse_fit(name, "twice", X=table, parameters={name: ["b", 1]})


def test_sets_of_columns_that_cannot_be_had():
    X, _ = planted(0)
    refuse_fit("overlap", "column 1", parameters={"include": [1], "exclude": [2, 1]})
    table = pd.DataFrame(X, columns=LETTERS)
    refuse_fit("overlap", "'b'", X=table, parameters={"include": ["b"], "exclude": [1]})
    refuse_fit("include", "3 variables", "=2", parameters={"include": [0, 1, 2]})
    refuse_fit("=2", "8 columns", "7 are excluded", parameters={"exclude": range(7)})
    nothing_left = {"exclude": range(8), "n_features_to_select": None}
    refuse_fit("exclude", parameters=nothing_left)


# Callable kernels

KERNELS = {
    "shape": (lambda A, B: A @ B.T, ("shape (200, 200)", "(3, 3)")),
    "scalar": (lambda A, B: 1.0, ("shape ()",)),
    "asymmetric": (lambda A, B: np.triu(A.T @ B), ("asymmetric",)),
    "indefinite": (lambda A, B: -(A.T @ B), ("indefinite", "eigenvalue")),
    "NaN": (lambda A, B: A.T @ B * np.nan, ("NaN",)),
}


@pytest.mark.parametrize("kind", KERNELS)
def test_callable_kernel(kind):
    kernel, words = KERNELS[kind]
    refuse_fit("kernel(A, ", *words, parameters={"kernel": kernel})


def test_callable_kernels_need_rows():
    X, Y = planted(0)
    selector = ProjSe(2, kernel=lambda A, B: A.T @ B)
    refused(lambda: selector.partial_fit(X, Y), "callable", "fit")
    refused(lambda: selector.fit_moments(Moments.from_arrays(X, Y)), "callable", "fit")
    refused(lambda: selector.fit(sp.csr_array(X), Y), "callable", "toarray")


@pytest.mark.parametrize("size", [1e-120, 1e120])
def test_callable_kernels_take_columns_of_any_size_that_has_squares(size):
    X, Y = planted(0)
    selector = ProjSe(3, kernel=lambda A, B: A.T @ B)
    want = selector.fit(X, Y).selected_
    np.testing.assert_array_equal(selector.fit(X * size, Y / size).selected_, want)


# Overflow


@pytest.mark.parametrize("form", [np.asarray, sp.csr_array])
@pytest.mark.parametrize("size", [1e154, 1e200, 1e300])
@pytest.mark.parametrize(
    "options", [{}, {"solver": "qr"}, {"kernel": "rbf"}, {"kernel": "callable"}]
)
def test_squares_that_overflow_are_refused_by_column(form, size, options):
    X, Y = planted(0)
    X[:, 6], Y[:, 1] = size * X[:, 6], size * Y[:, 1]
    if options.get("kernel") == "callable":
        if form is sp.csr_array:
            return
        options = {"kernel": lambda A, B: A.T @ B}
    refuse_fit("Column 6 of X", "overflow", "divide", X=form(X), parameters=options)
    refuse_fit("Column 1 of y", "overflow", "divide", y=form(Y), parameters=options)


@pytest.mark.parametrize("size", [1e154, 1e200, 1e300])
def test_covariates_whose_squares_overflow_are_named_as_they_were_given(size):
    X, Y = planted(0)
    Z = X[:, :2] * [1, size]
    named = pd.DataFrame(Z, columns=["age", "dose"])
    for covariates, name in (
        (Z[:, 1], "covariates"),
        (Z, "covariates[:, 1]"),
        (named, "covariates['dose']"),
    ):
        message = refuse_fit(f"{name} holds", "overflow", "divide", covariates=covariates)
        assert message.startswith(name)
    # Where they are encoded with the rest of a table, or come from a file, they lie beside y.
    table = pd.DataFrame(X[:, 2:], columns=LETTERS[2:])
    mixed = table.assign(h=np.where(X[:, 7] > 0, "yes", "no"))
    refuse_fit("Column 'dose' of covariates", "overflow", X=mixed, covariates=named)
    source = pa.Table.from_pandas(table.assign(y=Y[:, 0], dose=Z[:, 1]))
    refused(
        lambda: ProjSe(2).fit_source(source, targets=["y"], covariates=["dose"]),
        "Column 'dose' of covariates",
        error=SourceError,
    )


@pytest.mark.parametrize("size", [1e-160, 1e-200])
def test_covariates_whose_squares_vanish_are_named_as_covariates(size):
    X, Y = planted(0)
    moments = Moments.from_arrays(X, Y, covariates=X[:, :2] * [1, size])
    with pytest.raises(ValueError, match=r"Column 'covariate1' of covariates .* vanish"):
        ProjSe(2).fit_moments(moments)


# Streams


def test_partial_fit_keeps_to_the_columns_it_began_with():
    X, Y = planted(0)
    table = pd.DataFrame(X, columns=LETTERS)
    outputs = pd.DataFrame(Y, columns=list("uvw"))
    selector = ProjSe(2).partial_fit(table, outputs)
    before = selector.moments_
    other = table.rename(columns={"h": "z"})
    for call, words in (
        (lambda: selector.partial_fit(table[LETTERS[:5]], outputs), ("feature names", "- h")),
        (lambda: selector.partial_fit(other, outputs), ("feature names", "- z")),
        (lambda: selector.partial_fit(table, outputs[["u", "v"]]), ("3 and of 2 references",)),
        (lambda: selector.partial_fit(table, outputs[["u", "w", "v"]]), ("different references",)),
        (lambda: selector.partial_fit(table), ("one view",)),
        (lambda: ProjSe(2).partial_fit(X, Y).partial_fit(X[:, :5], Y), ("5 features", "8")),
    ):
        refused(call, *words)
    assert selector.moments_ is before
    labels = ProjSe(2).partial_fit(X, ["a", "b"] * 100)
    refused(lambda: labels.partial_fit(X, [1, 2] * 100), "different kinds")


def test_partial_fit_goes_on_only_from_a_fit_that_kept_its_moments():
    X, Y = planted(0)
    selector = ProjSe(2, solver="qr").fit(X, Y).set_params(solver="auto")
    refused(lambda: selector.partial_fit(X, Y), "partial_fit", "moments")
    selector = ProjSe(2).fit(X, Y, covariates=X[:, 0])
    refused(lambda: selector.partial_fit(X, Y), "1 and of 0 columns of covariates", "same")


def test_fit_moments_takes_moments():
    X, Y = planted(0)
    for other in (X, None, "total.moments", {}):
        refused(lambda other=other: ProjSe(2).fit_moments(other), "Moments", error=TypeError)
    one = Moments.from_arrays(X[:1], Y[:1])
    refused(lambda: ProjSe(2).fit_moments(one), "1 sample", "at least 2")
    refused(lambda: ProjSe(2).fit_moments(one - one), "0 sample")
    thin = Moments.from_arrays(X, Y, with_xx=False)
    for selector, moments, words in (
        (ProjSe(2, include=[1]), thin, ("include", "with_xx=True")),
        (ProjSe(2), Moments.from_arrays(X, with_xx=False), ("with_xx=True",)),
    ):
        refused(lambda s=selector, m=moments: s.fit_moments(m), *words, error=ProductsMissingError)


def test_moments_made_by_hand_must_be_those_of_some_rows():
    X, Y = planted(0)
    sound = Moments.from_arrays(pd.DataFrame(X, columns=LETTERS), Y)
    ProjSe(2).fit_moments(sound)
    nan = sound.yx.copy()
    nan[0, 2] = np.nan
    for changed, *words in (
        ({"yx": nan}, "yx holds NaN", "'c'"),
        ({"yx": 100 * sound.yx}, "yx is", "reference 0", "'a'"),
        ({"xx_diag": sound.xx_diag[:5]}, "xx_diag has shape (5,)"),
        ({"xx_diag": list(sound.xx_diag)}, "xx_diag is no array"),
        ({"xx": -sound.xx}, "diagonal of xx"),
        ({"yy": np.triu(sound.yy)}, "yy is not symmetric"),
        ({"sum_weights": np.inf}, "sum_weights=inf"),
        ({"n_samples": -5}, "n_samples=-5"),
        ({"yx": None}, "yx is missing"),
        ({"y_mean": None}, "yy is there"),
        ({"feature_names": ("a",) * 8}, "'a' more than once"),
    ):
        made = replace(sound, **changed)
        refused(lambda made=made: ProjSe(2).fit_moments(made), "moments cannot be", *words)


def test_blocks_refuse_what_moments_refuse():
    X = np.random.default_rng(0).normal(size=(20, 3))
    for make in (Moments.from_arrays, block_moments):
        for name, value in (("with_xx", "maybe"), ("n_jobs", 0), ("batch_size", 0)):
            with pytest.raises(ValueError, match=f"^{name}="):
                make(X, X[:, :2], **{name: value})


SPLINES = {"basis": "spline", "missing": "mean"}


def test_what_is_no_table_is_refused_in_words_where_tables_are_taken():
    """Not in those of the libraries that would have to read it."""
    for values in ("text", {"a": [1, 2]}, range(60), (row for row in np.ones((60, 2))), 3.0):
        refuse_fit("Expected 2D array", X=values, parameters=SPLINES)
    for values in ("text", {"a": 1}, 3.0, (row for row in np.ones(60))):
        refuse_fit("y must be one- or two-dimensional", y=values, parameters=SPLINES)
    X, Y = planted(0)
    refuse_fit("shape", X=sp.coo_array(X[:, 0]), parameters={"missing": "mean"})
    if sp.coo_array(Y[:, 0]).ndim == 1:  # before SciPy 1.13 it is a matrix of one row
        line = ProjSe(1, missing="mean").fit(X, sp.coo_array(Y[:, 0]))
        np.testing.assert_array_equal(line.selected_, ProjSe(1).fit(X, Y[:, 0]).selected_)


def test_sets_of_labels_are_refused_with_what_makes_columns_of_them():
    X, _ = planted(0)
    labels = [["a"], ["b", "c"]] * (len(X) // 2)
    refuse_fit("y holds rows of different lengths", "MultiLabelBinarizer", y=labels)
    refuse_fit("covariates holds rows of different lengths", covariates=labels)
    refuse_fit("rows of different lengths", y=labels, parameters=SPLINES)


@pytest.mark.parametrize("parameters", [{}, SPLINES])
def test_two_arrow_columns_of_one_name_are_refused_by_name(parameters):
    pa = pytest.importorskip("pyarrow")
    X, Y = planted(0)
    twice = pa.Table.from_arrays([pa.array(X[:, 0]), pa.array(X[:, 1])], names=["a", "a"])
    words = ("several columns called 'a'", "rename")
    refuse_fit(*words, X=twice, parameters=parameters)
    refuse_fit("covariates has", *words, covariates=twice)
    for views in ((twice, Y), (X, twice), (twice.to_pandas(), Y)):
        refused(lambda views=views: TwoViewProjSe(1).fit(*views), *words)


def test_arrow_covariates_are_taken_as_frames_are(seed):
    pa = pytest.importorskip("pyarrow")
    X, Y = planted(seed)
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame({"z": rng.normal(size=len(X)), "c": rng.choice(list("ab"), len(X))})
    want = ProjSe(2).fit(X, Y, covariates=frame)
    table = pa.Table.from_pandas(frame)
    for given in (table, table.to_batches()[0]):
        found = ProjSe(2).fit(X, Y, covariates=given)
        np.testing.assert_array_equal(found.selected_, want.selected_)
        np.testing.assert_allclose(found.scores_, want.scores_, atol=1e-12)


def test_decimals_are_summed_as_numbers():
    X, Y = planted(0)
    eighths = np.rint(8 * X) / 8  # exact in three digits: Polars 1.3 cut off what others round
    frame = pl.DataFrame(eighths).cast(pl.Decimal(20, 3))
    want = Moments.from_arrays(eighths, Y)
    np.testing.assert_allclose(Moments.from_arrays(frame, Y).yx, want.yx, atol=1e-10)


def test_frames_that_are_no_source_are_refused_in_words():
    X, _ = planted(0)
    frame = pd.DataFrame(X[:, :2], columns=[1, "1"])
    fit = ProjSe(1).fit_source
    refused(lambda: fit(frame, targets=["1"]), "several columns called '1'", error=SourceError)
    sparse = pd.DataFrame.sparse.from_spmatrix(sp.csr_matrix(X))
    refused(lambda: fit(sparse, targets=["0"]), "Arrow cannot hold", error=SourceError)
    refused(lambda: fit(frame[1], targets=["1"]), "A Series is no source", error=TypeError)
    refused(
        lambda: fit(sp.dia_array(X[:9]), targets=["1"]), "is no source of rows", error=TypeError
    )


@pytest.mark.parametrize("runs", [[["a", "b"], [1, 0]], [[1, 0], [1]]])
def test_runs_that_are_no_numbers_are_refused_in_words(runs):
    table = np.array(runs, dtype=object) if len(runs[0]) == len(runs[1]) else runs
    refused(lambda: nogueira_stability(table), "Z must hold real numbers")


@pytest.mark.parametrize(
    ("Y", "message"),
    [
        ([(1, 2), (1,), (3, 4)], "Y holds rows of different lengths"),
        ([(1, "a"), (2, "b"), (3, "c")], r"columns of Y: 1 \(object\)\. Encode them"),
        (np.array([["a"], ["b"], ["c"]]), r"columns of Y: 0 \(<U1\)\. Encode them"),
        (["a", "b", "c"], r"Y holds text \('a'\), and no columns of numbers; pass"),
        ("abc", r"Y holds text \('abc'\), and no columns of numbers; pass"),
    ],
    ids=["ragged", "tuples", "array", "list", "text"],
)
def test_a_second_view_that_is_no_table_of_numbers_is_named(Y, message):
    X = np.random.default_rng(0).normal(size=(3, 4))
    with pytest.raises(ValueError, match=message):
        TwoViewProjSe(1).fit(X, Y)


@pytest.mark.parametrize(
    "fit",
    [ProjSe(1).fit, ProjSe(1).partial_fit, Moments.from_arrays, TwoViewProjSe(1).fit],
    ids=["fit", "partial_fit", "moments", "two views"],
)
def test_rows_of_different_lengths_are_named(fit):
    with pytest.raises(ValueError, match=r"^X holds rows of different lengths.* Give every row"):
        fit([[1, 2], [3], [4, 5]], [[1.0, 1.0], [2.0, 0.0], [3.0, 5.0]])
