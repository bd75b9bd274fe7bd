"""Whatever holds the numbers, the answer is that of a plain float64 array."""

from __future__ import annotations

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse as sp
from agreement import check, fit
from marks import arbitrary_picks
from numpy.testing import assert_equal
from planted import planted, planted_labels
from sklearn.base import clone
from sklearn.model_selection import KFold
from variants import slow

from projse import (
    Moments,
    ProjSe,
    ProjSeCV,
    StabilityProjSe,
    block_moments,
    moments_from,
    subspace_correlation,
)
from projse.exceptions import ManyClassesWarning
from projse.sources.rows import Rows


def whole(A):
    """Whole numbers from 0 to 15, about half of them 0: every dtype but bool can hold them."""
    return np.clip(np.round(3 * (A - A.mean(axis=0)) + 1), 0, 15)


def unaligned(A):
    buffer = np.zeros(A.nbytes + 1, dtype=np.uint8)
    out = buffer[1:].view(np.float64).reshape(A.shape)
    out[:] = A
    return out


def read_only(A):
    A = A.copy()
    A.flags.writeable = False
    return A


def every_third(A):
    wide = np.full((A.shape[0], 3 * A.shape[1]), np.nan)
    wide[:, ::3] = A
    return wide[:, ::3]


def messy_csr(A):
    """Read-only CSR whose rows hold every entry twice, in falling order of columns."""
    m, n = A.shape
    entries = np.concatenate([A[:, ::-1] / 2, A[:, ::-1] / 2], axis=1)
    columns = np.tile(np.arange(n)[::-1], (m, 2))
    out = sp.csr_array((entries.ravel(), columns.ravel(), np.arange(m + 1) * 2 * n), shape=A.shape)
    for part in (out.data, out.indices, out.indptr):
        part.flags.writeable = False
    return out


def long_indices(A):
    out = sp.csr_array(A)
    out.indices, out.indptr = out.indices.astype(np.int64), out.indptr.astype(np.int64)
    return out


def frame(A, **dtypes):
    return pd.DataFrame(A, columns=[f"c{j}" for j in range(A.shape[1])]).astype(dtypes)


DENSE = {
    "F order": np.asfortranarray,
    "every second row": lambda A: np.repeat(A, 2, axis=0)[::2],
    "every third column": every_third,
    "rows backwards": lambda A: A[::-1].copy()[::-1],
    "columns backwards": lambda A: A[:, ::-1].copy()[:, ::-1],
    "transposed": lambda A: np.ascontiguousarray(A.T).T,
    "read-only": read_only,
    "unaligned": unaligned,
    "list": lambda A: A.tolist(),
    "object": lambda A: A.astype(object),
    "pandas": frame,
    "pandas, mixed": lambda A: frame(A, c0="int8", c1="float32", c2="Int64"),
    "pandas, nullable": lambda A: frame(A).astype("Float64"),
    "pandas, arrow": lambda A: frame(A).astype("int64[pyarrow]"),
    "pandas, objects": lambda A: frame(A).astype(object),
    "polars": lambda A: pl.DataFrame(A),
    "polars, mixed": lambda A: pl.DataFrame(A).cast({"column_0": pl.Int16, "column_1": pl.Float32}),
} | {
    dtype: lambda A, dtype=dtype: A.astype(dtype)
    for dtype in ("f2", "f4", "longdouble", ">f8", "i1", "u1", "i8", "u8")
}
SPARSE = {
    f"{kind}_{name}": getattr(sp, f"{kind}_{name}")
    for kind in ("csr", "csc", "coo", "lil", "bsr", "dok")
    for name in ("array", "matrix")
} | {
    "CSR in disorder": messy_csr,
    "CSR, int64 indices": long_indices,
    "CSC, float32": lambda A: sp.csc_array(A.astype("f4")),
    "CSR, uint8": lambda A: sp.csr_array(A.astype("u1")),
}
FORMS = DENSE | SPARSE


def problem(seed, n_samples=120):
    X, Y = planted(seed, n_samples)
    return whole(X), whole(Y)


def same(selector, want):
    check(selector, want, rtol=1e-5, atol=1e-6, near=1e-5)


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("where", ["both", *slow("X", "Y")])
def test_form(seed, form, where):
    X, Y = problem(seed)
    given = FORMS[form](X) if where != "Y" else X, FORMS[form](Y) if where != "X" else Y
    weight = np.arange(120) % 4
    same(fit(ProjSe(6), *given), fit(ProjSe(6), X, Y))
    same(fit(ProjSe(4, center=False), *given, weight), fit(ProjSe(4, center=False), X, Y, weight))
    np.testing.assert_allclose(
        subspace_correlation(*given), subspace_correlation(X, Y), rtol=1e-4, atol=1e-6
    )


@arbitrary_picks
@pytest.mark.parametrize("form", FORMS)
def test_form_with_one_view_and_with_a_factored_reference(seed, form):
    X, Y = problem(seed)
    same(fit(ProjSe(5), FORMS[form](X)), fit(ProjSe(5), X))
    same(fit(ProjSe(5, solver="qr"), X, FORMS[form](Y)), fit(ProjSe(5, solver="qr"), X, Y))
    fat = whole(np.random.default_rng(seed).normal(size=(20, 30)))
    same(fit(ProjSe(5), X[:20], FORMS[form](fat)), fit(ProjSe(5), X[:20], fat))


@pytest.mark.parametrize("form", [np.asarray, sp.csr_array, sp.csc_matrix, sp.coo_array])
def test_booleans(seed, form):
    X, Y = (A > 1 for A in problem(seed))
    given = form(X), form(Y)
    same(fit(ProjSe(5), *given), fit(ProjSe(5), X.astype(float), Y.astype(float)))
    table = frame(X).astype({"c0": "boolean", "c1": float})
    same(fit(ProjSe(5), table, frame(Y)), fit(ProjSe(5), X.astype(float), Y.astype(float)))


def test_memmap(seed, tmp_path):
    X, Y = problem(seed)
    stored = np.memmap(tmp_path / "rows", dtype="f8", mode="w+", shape=X.shape)
    stored[:] = X
    stored.flush()
    opened = np.memmap(tmp_path / "rows", dtype="f8", mode="r", shape=X.shape)
    same(fit(ProjSe(5), opened, Y), fit(ProjSe(5), X, Y))


@pytest.mark.parametrize("form", ["CSR in disorder", "csr_array", "pandas", "read-only", "F order"])
def test_inputs_are_left_as_they_were(seed, form):
    X, Y = problem(seed)
    given = [FORMS[form](X), FORMS[form](Y)]
    before = [A.copy() for A in given]
    fit(ProjSe(6), *given, np.arange(120) % 3)
    for A, copy in zip(given, before, strict=True):
        for part in ("data", "indices", "indptr") if sp.issparse(A) else ("__array__",):
            values = [np.asarray(getattr(B, part) if sp.issparse(B) else B) for B in (A, copy)]
            np.testing.assert_array_equal(*values)


@pytest.mark.parametrize(
    ("n_samples", "dtype", "solver"), [(50_000, "f4", "auto"), (2000, "f2", "qr")]
)
def test_narrow_floats_keep_small_directions_however_many_rows(n_samples, dtype, solver):
    X, Y = planted(0, n_samples)
    Y[:, 2] = Y[:, 0] + 0.005 * Y[:, 2]
    X, Y = X.astype(dtype), Y.astype(dtype)
    if dtype == "f2":
        Y[:, 2] = Y[:, 0] * (1 + np.arange(n_samples) % 2 / 4)
    want = ProjSe(3).fit(X.astype(float), Y.astype(float))
    selector = ProjSe(3, solver=solver).fit(X, Y)
    assert selector.reference_rank_ == want.reference_rank_ == 3
    check(selector, want, rtol=1e-3, atol=1e-3)


# Class labels

LABELS = {
    "int": lambda codes: codes,
    "small int": lambda codes: codes.astype("i1"),
    "object int": lambda codes: codes.astype(object),
    "list": lambda codes: codes.tolist(),
    "column": lambda codes: codes[:, None],
    "str": lambda codes: np.array(["ä", "b b", ""])[codes],
    "str column": lambda codes: np.array(["x", "y", "z"])[codes][:, None],
    "str list": lambda codes: [f"class {c}" for c in codes],
    "bytes": lambda codes: np.array([b"a", b"b", b"c"])[codes],
    "object str": lambda codes: np.array(["a", "b", "c"], dtype=object)[codes],
    "pandas str": lambda codes: pd.Series(codes.astype(str), name="kind"),
    "pandas string": lambda codes: pd.Series(codes.astype(str)).astype("string"),
    "pandas Int64": lambda codes: pd.Series(codes, dtype="Int64"),
    "categorical": lambda codes: pd.Series(codes.astype(str)).astype("category"),
    "categorical, unused": lambda codes: pd.Categorical.from_codes(codes, list("pqrs")),
    "categorical of int": lambda codes: pd.Series(pd.Categorical(codes)),
    "categorical of float": lambda codes: pd.Categorical(codes / 2),
    "one column": lambda codes: pd.DataFrame({"kind": pd.Categorical(codes / 2)}),
    "polars str": lambda codes: pl.Series(codes.astype(str)),
    "polars int": lambda codes: pl.Series(codes),
    "polars categorical": lambda codes: pl.Series(codes.astype(str)).cast(pl.Categorical),
    "polars frame": lambda codes: pl.DataFrame({"kind": codes.astype(str)}),
}
if hasattr(np.dtypes, "StringDType"):
    LABELS["StringDType"] = lambda codes: codes.astype(np.dtypes.StringDType())


def one_hot(codes):
    return np.eye(codes.max() + 1)[codes]


@pytest.mark.parametrize("form", LABELS)
@pytest.mark.parametrize("sparse", [False, True])
def test_labels_equal_their_dense_indicators(seed, form, sparse):
    X, codes = planted_labels(seed)
    candidates = sp.csr_array(X) if sparse else X
    weight = np.arange(200) % 3
    for options in ({}, {"center": False}, {"kernel": "rbf"}):
        selector = fit(ProjSe(4, **options), candidates, LABELS[form](codes), weight)
        same(selector, fit(ProjSe(4, **options), X, one_hot(codes), weight))
    assert len(selector.moments_.classes) == 3


@pytest.mark.parametrize("as_bool", [np.asarray, pd.Series, pl.Series, list])
def test_booleans_are_two_classes(seed, as_bool):
    X, codes = planted_labels(seed)
    selector = ProjSe(1).fit(X, as_bool(codes > 0))
    same(selector, ProjSe(1).fit(X, one_hot((codes > 0).astype(int))))
    assert selector.moments_.classes.tolist() == [False, True]


def test_target_type_overrides(seed):
    X, codes = planted_labels(seed)
    as_number, as_class = codes.astype(float), ProjSe(4, target_type="class")
    same(ProjSe(4, target_type="continuous").fit(X, codes), ProjSe(4).fit(X, as_number))
    same(as_class.fit(X, as_number), ProjSe(4).fit(X, codes))
    assert as_class.reference_rank_ == 2
    assert ProjSe(4).fit(X, as_number).reference_rank_ == 1


def test_several_label_columns_become_one_set_of_indicators_each(seed):
    X, codes = planted_labels(seed)
    other = (X[:, 0] > X[:, 0].mean()).astype(int)
    table = pd.DataFrame({"kind": codes, "side": np.array(["left", "right"])[other]})
    selector = ProjSe(3, target_type="class").fit(X, table)
    same(selector, ProjSe(3).fit(X, np.c_[one_hot(codes), one_hot(other)]))
    names = ("kind=0", "kind=1", "kind=2", "side=left", "side=right")
    assert selector.moments_.target_names == names


def test_label_sets_are_used_as_they_are(seed):
    X, Y = problem(seed)
    labels = (Y > 1).astype(int)
    same(fit(ProjSe(4), X, labels), fit(ProjSe(4), X, labels.astype(float)))


def test_one_output_in_one_dimension_or_two(seed):
    X, Y = planted(seed)
    want = ProjSe(3).fit(X, Y[:, :1])
    for y in (Y[:, 0], Y[:, 0].tolist(), pd.Series(Y[:, 0]), sp.coo_array(Y[:, :1])):
        same(ProjSe(3).fit(X, y), want)


# Names


@pytest.mark.parametrize("library", [pd, pl])
def test_names_are_kept_and_understood(seed, library):
    X, Y = planted(seed)
    table = library.DataFrame(dict(zip("abcdefgh", X.T, strict=True)))
    outputs = library.DataFrame(dict(zip("uvw", Y.T, strict=True)))
    selector = ProjSe(4, include=["b", 3], exclude="f").fit(table, outputs)
    same(selector, ProjSe(4, include=[1, 3], exclude=[5]).fit(X, Y))
    assert selector.selected_[:2].tolist() == [1, 3]
    assert selector.feature_names_in_.tolist() == list("abcdefgh")
    assert selector.moments_.feature_names == tuple("abcdefgh")
    assert selector.moments_.target_names == ("u", "v", "w")
    assert Moments.from_arrays(table, outputs[["u"]]).target_names == ("u",)


# Covariates


def test_covariates_of_any_kind(seed):
    X, Y = planted(seed)
    rng = np.random.default_rng(seed)
    codes = np.r_[0, 1, 2, rng.integers(0, 3, size=197)]
    plain = np.c_[X[:, 5], one_hot(codes)]
    want = ProjSe(3).fit(X, Y, covariates=plain)
    assert want.selected_[0] == 2
    words = np.array(["x", "y", "z"])[codes]
    tables = {
        "pandas": pd.DataFrame({"age": X[:, 5], "site": words}),
        "categorical": pd.DataFrame({"age": X[:, 5], "site": pd.Categorical(codes)}),
        "polars": pl.DataFrame({"age": X[:, 5], "site": words}),
        "object": np.array([X[:, 5].tolist(), words.tolist()], dtype=object).T,
        "rows of a list": [list(row) for row in zip(X[:, 5].tolist(), words.tolist(), strict=True)],
        "sparse": sp.csr_array(plain),
        "same name twice": pd.DataFrame(plain, columns=list("aabb")),
        "redundant": np.c_[plain, plain, np.full(200, 0.1)],
    }
    for name, table in tables.items():
        check(ProjSe(3).fit(X, Y, covariates=table), want, name)
        check(ProjSe(3).fit(sp.csr_array(X), sp.csr_array(Y), covariates=table), want, name)
    whole_numbers = ProjSe(3).fit(X, Y, covariates=codes)
    check(whole_numbers, ProjSe(3).fit(X, Y, covariates=codes.astype(float)))


# Rows of weight 0


@pytest.mark.parametrize("route", ["dense", "sparse", "qr", "one view", "labels", "callable"])
def test_rows_of_weight_0_are_gone_whatever_they_hold(seed, route):
    X, Y = planted(seed)
    y = {"one view": None, "labels": np.digitize(X[:, 5], [-0.5, 0.5]).astype(str)}.get(route, Y)
    weight = np.arange(200) % 3.0
    keep = weight > 0
    covariates = np.array(["a", "b", "c", "d"], dtype=object)[np.arange(200) // 2 % 4]
    options = {"qr": {"solver": "qr"}, "callable": {"kernel": lambda A, B: A.T @ B}}.get(route, {})
    others = {"covariates": covariates} if route == "labels" else {}
    kept = {name: value[keep] for name, value in others.items()}
    want = ProjSe(3, **options).fit(X[keep], None if y is None else y[keep], weight[keep], **kept)
    X, Y = X.copy(), Y.copy()
    X[~keep], Y[~keep] = np.nan, np.inf
    if route == "labels":
        y = y.astype(object)
        y[~keep] = None
        covariates[~keep] = None
    elif y is not None:
        y = Y
    form = sp.csr_array if route == "sparse" else np.asarray
    check(ProjSe(3, **options).fit(form(X), y, weight, **others), want)


# Whole numbers: labels, or measurements?


def test_continuous_numbers_are_no_class_labels(seed):
    X, Y = planted(seed)
    scores = Y[:, 0] + np.linspace(0.1, 0.2, 200)
    weight = np.ones(200)
    weight[7] = 0
    labels = np.floor(scores)
    labels[7] = 0.5  # of weight 0: not looked at
    ProjSe(1, target_type="class").fit(X, labels, sample_weight=weight)
    for y in (scores, scores.astype(object), scores.astype(np.float32), np.where(X[:, 0], 1.5, 1)):
        for call in (
            ProjSe(1, target_type="class").fit,
            ProjSe(1, target_type="class").partial_fit,
            lambda X, y: Moments.from_arrays(X, y, target_type="class"),
        ):
            with pytest.raises(ValueError, match=r"^Unknown label type: y .*'continuous'.*Bins"):
                call(X, y)
    with pytest.raises(ValueError, match=r"Unknown label type: y .*\(inf\)"):
        ProjSe(1, target_type="class").fit(X, np.where(np.arange(200) == 3, np.inf, 1.0))
    with pytest.raises(ValueError, match="Unknown label type"):
        ProjSe(1, target_type="class").fit(X, Y)


def whole_number_fits(X, y):
    """Moments of every way in, but for clusters."""
    yield ProjSe(1).fit(X, y).moments_
    yield Moments.from_arrays(X, y)
    yield ProjSe(1).fit_source((X, y)).moments_
    yield moments_from(iter([(X[:100], y[:100]), (X[100:], y[100:])]))
    parts = block_moments(X, y, 4)
    yield sum(parts[1:], parts[0])


def test_whole_numbers_of_many_distinct_values_are_numbers_wherever_they_come_from(seed):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(400, 5))
    y = np.round(90 * X[:, 0] + 30 * rng.normal(size=400)).astype(int) + 10**6
    assert len(np.unique(y)) > 30
    want = Moments.from_arrays(X, y.astype(float))
    for moments in whole_number_fits(X, y):
        assert moments.classes is None
        np.testing.assert_allclose(moments.yy, want.yy, rtol=1e-9)
        np.testing.assert_allclose(moments.yx, want.yx, rtol=1e-9, atol=1e-6)
        np.testing.assert_allclose(moments.y_mean, want.y_mean)
    honest = ProjSe(2).fit(X, y.astype(float))
    batches = ProjSe(2).partial_fit(X[:50], y[:50]).partial_fit(X[50:], y[50:])
    assert batches.selected_.tolist() == honest.selected_.tolist()
    np.testing.assert_allclose(batches.scores_, honest.scores_, rtol=1e-6)
    # Whoever says what they are is believed.
    n_classes = len(np.unique(y))
    assert ProjSe(1, target_type="class").fit(X, y).moments_.n_y == n_classes
    assert ProjSe(1).fit(X, y.astype(str)).moments_.n_y == n_classes
    assert ProjSe(1).fit(X, pd.Series(y).astype("category")).moments_.n_y == n_classes


@pytest.mark.parametrize(("n_distinct", "n_classes"), [(16, 16), (20, 20), (21, 1), (29, 1)])
def test_a_close_call_about_whole_numbers_is_told(seed, n_distinct, n_classes):
    rng = np.random.default_rng(seed)
    y = rng.permutation(np.arange(400) % n_distinct)
    X = rng.normal(size=(400, 5)) + y[:, None]
    taken = "each was taken for a class" if n_classes > 1 else "they were taken for numbers"
    for call in (
        ProjSe(1).fit,
        ProjSe(1).partial_fit,
        Moments.from_arrays,
        StabilityProjSe(ProjSe(1), 3, stratify=False, threshold=0.3, blocks=5).fit,
        lambda X, y: ProjSeCV(cv=KFold(5)).fit(X, y),
        lambda X, y: ProjSe(1).fit_source((X, y)),
    ):
        said = rf"{n_distinct} distinct values \(0 to {n_distinct - 1}\) in 400 rows, and {taken}"
        with pytest.warns(ManyClassesWarning, match=said) as found:
            call(X, y)
        assert len(found) == 1
        assert found[0].filename == __file__, "the warning points at the user's line"
    for target_type in ("class", "continuous"):
        ProjSe(1, target_type=target_type).fit(X, y)
    ProjSe(1).fit(X, y.astype(float))
    ProjSe(1).fit(X, y.astype(str))


@pytest.mark.parametrize(
    ("n_classes", "n_samples"), [(13, 40), (100, 50_000), (10, 100), (100, 23_000), (2, 4)]
)
def test_honest_class_labels_are_taken_without_a_word(seed, n_classes, n_samples):
    rng = np.random.default_rng(seed)
    y = rng.permutation(np.arange(n_samples) % n_classes)
    assert ProjSe(1).fit(rng.normal(size=(n_samples, 3)), y).moments_.n_y == n_classes


def test_a_stream_of_labels_is_judged_by_all_rows_so_far(seed):
    rng = np.random.default_rng(seed)
    y = rng.permutation(np.arange(3000) % 30)
    X = rng.normal(size=(3000, 3))
    selector = ProjSe(1).partial_fit(X[:2100], y[:2100])
    selector.partial_fit(X[2100:2200], y[2100:2200])  # 30 classes in 100 rows are no sign
    assert selector.moments_.n_y == 30


def test_categories_may_be_any_numbers(seed):
    X, codes = planted_labels(seed)
    labels = pd.Series(codes / 4).astype("category")
    want = ProjSe(2).fit(X, codes)
    same(ProjSe(2).fit(X, labels), want)
    both = pd.DataFrame({"a": labels, "b": labels})
    ProjSe(2, target_type="class").fit(X, both)
    stable = StabilityProjSe(ProjSe(2), 5, random_state=0, blocks=None)
    assert_equal(stable.fit(X, labels).selections_, clone(stable).fit(X, codes).selections_)


def test_a_column_of_labels_in_a_table_holds_no_continuous_numbers(seed):
    X, _ = planted(seed)
    table = pd.DataFrame(X, columns=list("abcdefgh"))
    with pytest.raises(ValueError, match=r"Unknown label type.*continuous"):
        ProjSe(1).fit_source(table, class_target="c")
    table["c"] = table["c"].round()
    ProjSe(1).fit_source(table, class_target="c")


@pytest.mark.parametrize("order", ["C", "F"])
def test_rows_are_taken_by_number_slice_or_mask_from_any_layout(seed, order):
    rng = np.random.default_rng(seed)
    X, Y = np.asarray(rng.normal(size=(50, 4)), order=order), rng.normal(size=(50, 2))
    rows = Rows(X, sp.csr_array(Y), rng.uniform(size=50))
    for chosen in (rng.integers(0, 50, 20), slice(5, 30), rng.uniform(size=50) < 0.3):
        some = rows.take(chosen)
        np.testing.assert_array_equal(some.X, X[chosen])
        np.testing.assert_array_equal(some.Y.toarray(), Y[chosen])
        np.testing.assert_array_equal(some.weight, rows.weight[chosen])


def test_an_object_that_is_no_number_is_named_with_its_column(seed):
    X = np.random.default_rng(seed).normal(size=(20, 3)).astype(object)
    X[4, 1] = pd.Timestamp("2020-01-01")
    with pytest.raises(TypeError, match=r"Column 1 of X holds Timestamp\('2020-01-01 00:00:00'\)"):
        Moments.from_arrays(X)


def test_lists_as_outputs_or_covariates_are_refused_with_a_remedy(seed):
    X = np.random.default_rng(seed).normal(size=(20, 3))
    frame = pd.DataFrame({"a": X[:, 0], "tags": [["u", "v"]] * 20})
    with pytest.raises(ValueError, match=r"y holds \['u', 'v'\] \(list\).*MultiLabelBinarizer"):
        Moments.from_arrays(X, frame)
    with pytest.raises(ValueError, match=r"covariates\['tags'\] holds \['u', 'v'\] \(list\)"):
        Moments.from_arrays(X, X[:, 0], covariates=frame)
