"""Tables straight in: mixed frames, gaps, dates and curved effects."""

from __future__ import annotations

import pickle

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import scipy.sparse as sp
from honest_groups import adjusted
from mixed_tables import LINEAR, NOISE, REAL, planted_table
from sklearn.base import clone
from sklearn.compose import make_column_transformer
from sklearn.linear_model import LinearRegression
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder
from sklearn.utils import get_tags

from projse import PAPER, Moments, ProjSe, ProjSeCV, StabilityProjSe, permutation_test
from projse.estimators import table_rows
from projse.estimators.null_scores import permutations
from projse.estimators.permutation import _seeds
from projse.exceptions import IdentifierWarning, RankExhaustedWarning

SIX = {"n_features_to_select": 6, "missing": "indicator", "basis": "spline"}


def orthonormal(columns: np.ndarray) -> np.ndarray:
    columns = columns - columns.mean(axis=0)
    columns = columns / np.maximum(np.linalg.norm(columns, axis=0), 1e-300)
    U, s, _ = np.linalg.svd(columns, full_matrices=False)
    return U[:, s > 1e-8 * max(s.max(initial=0), 1e-300)]


def honest_first_scores(
    spaces: list[np.ndarray], Y: np.ndarray, n_variables: int = 1
) -> np.ndarray:
    """Scores of subspaces of rows, against the best of n variables by chance, without ridges."""
    m, out = len(Y) - 1, []
    Q_y = orthonormal(Y)
    r = Q_y.shape[1]
    for space in spaces:
        Q = orthonormal(space)
        d = Q.shape[1]
        total = np.sum((Q_y.T @ Q) ** 2)
        out.append(np.clip(adjusted(total, d, np.ones(r), m, n_variables), 0, 1))
    return np.array(out)


def spaces_by_hand(frame: pd.DataFrame) -> dict[str, np.ndarray]:
    """Dense columns of each variable, made with pandas."""
    out = {}
    for name, column in frame.items():
        if column.dtype.kind == "M":
            days = (column - column.min()).dt.days.to_numpy(dtype=float)
            waves = [2 * np.pi * days / period for period in (365.2425, 7)]
            out[name] = np.column_stack([days, *map(np.sin, waves), *map(np.cos, waves)])
        elif column.dtype.kind in "fi":
            filled = column.fillna(column.mean())
            out[name] = np.column_stack([filled, column.isna()]).astype(float)
        else:
            out[name] = pd.get_dummies(column).to_numpy(dtype=float)
    return out


def test_scores_are_those_of_dense_columns_and_projectors(seed: int) -> None:
    X, Y = planted_table(seed, 400)
    numbers = np.column_stack([Y[["y1", "y2", "y3"]], Y["y4"] == "hi"])
    spaces = spaces_by_hand(X)
    honest = honest_first_scores(list(spaces.values()), numbers)
    found = np.array(
        [
            ProjSe(1, missing="indicator", min_frequency=1, include=[], **PAPER)
            .fit(X[[name]], Y)
            .scores_[0]
            for name in X
        ]
    )
    np.testing.assert_allclose(found, honest, atol=1e-8)
    whole = ProjSe(1, missing="indicator", min_frequency=1, **PAPER).fit(X, Y)
    honest = honest_first_scores(list(spaces.values()), numbers, len(spaces))
    assert whole.selected_[0] == np.argmax(honest)


def test_all_kinds_of_frames_give_the_same_picks(seed: int) -> None:
    X, Y = planted_table(seed, 400)
    want = ProjSe(**SIX).fit(X, Y)
    arrow = pa.Table.from_pandas(X, preserve_index=False)
    objects = np.array(list(zip(*(list(X[name]) for name in X), strict=True)), dtype=object)
    for form in (pl.from_arrow(arrow), arrow, objects):
        other = ProjSe(**SIX).fit(form, Y)
        np.testing.assert_array_equal(other.selected_, want.selected_)
        np.testing.assert_allclose(other.scores_, want.scores_, atol=1e-9)
    polars_y = ProjSe(**SIX).fit(X, pl.from_pandas(Y))
    np.testing.assert_allclose(polars_y.scores_, want.scores_)


@pytest.mark.parametrize("runs", [3, pytest.param(40, marks=pytest.mark.slow)])
def test_real_variables_of_a_mixed_table_come_before_noise(runs: int) -> None:
    found = {"spline": 0, "linear": 0}
    for seed in range(runs):
        X, Y = planted_table(seed)
        for basis, wanted in (("spline", REAL), ("linear", LINEAR)):
            fitted = ProjSe(8, missing="indicator", basis=basis).fit(X, Y)
            order = [X.columns[j] for j in fitted.selected_]
            before_noise = order[: next((k for k, n in enumerate(order) if n in NOISE), 8)]
            found[basis] += set(wanted) <= set(before_noise)
    assert min(found.values()) >= 0.95 * runs, found


def test_slices_of_rows_give_the_same_as_all_of_them(
    seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    X, Y = planted_table(seed, 500)
    X = X.sort_values("noise_30", ignore_index=True)  # slices have levels of their own
    want = ProjSe(**SIX).fit(X, Y)
    monkeypatch.setattr(table_rows, "ENCODED_BYTES", 200_000)
    monkeypatch.setattr(table_rows, "SLICE_BYTES", 10_000)
    seen: list[int] = []
    encode = table_rows.TableRows.rows

    def counted(*given: object, **options: object) -> object:
        seen.append(1)
        return encode(*given, **options)

    monkeypatch.setattr(table_rows.TableRows, "rows", counted)
    sliced = ProjSe(**SIX).fit(X, Y)
    assert len(seen) > 5
    np.testing.assert_array_equal(sliced.selected_, want.selected_)
    np.testing.assert_allclose(sliced.scores_, want.scores_, atol=1e-9)
    assert sliced.moments_.n_samples == 500


def test_batches_of_a_table_add_up(seed: int) -> None:
    X, Y = planted_table(seed, 600)
    y = Y[["y1", "y2", "y3"]]
    options = {"n_features_to_select": 4, "missing": "mean"}
    want = ProjSe(**options).fit(X, y)
    parts = ProjSe(**options)
    for start in range(0, 600, 200):
        parts.partial_fit(X[start : start + 200], y[start : start + 200])
    np.testing.assert_array_equal(parts.selected_, want.selected_)
    np.testing.assert_allclose(parts.scores_, want.scores_, rtol=1e-6)
    again = ProjSe(**options).fit_moments(parts.moments_)
    np.testing.assert_array_equal(again.selected_, want.selected_)
    assert again.get_feature_names_out().tolist() == want.get_feature_names_out().tolist()


def test_plain_numbers_take_the_path_of_before(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    X, Y = planted_table(seed, 300)
    numbers, y = X[["a", "square", "noise_0", "flag"]], Y[["y1", "y2"]]
    want = ProjSe(2).fit(numbers.to_numpy(dtype=float), y.to_numpy())

    def never(*_: object, **__: object) -> None:
        raise AssertionError("numbers were encoded")

    monkeypatch.setattr(table_rows.TableRows, "of", never)
    for missing in ("refuse", "indicator"):
        found = ProjSe(2, missing=missing).fit(numbers, y)
        assert found.scores_.tobytes() == want.scores_.tobytes()
    ProjSe(2).fit(sp.csr_array(numbers.to_numpy(dtype=float)), y)


def test_gaps_are_refused_with_the_three_other_words(seed: int) -> None:
    X, Y = planted_table(seed, 200)
    for frame in (X, X[["a", "b"]]):
        with pytest.raises(ValueError, match=r"'b' \(.*'drop'.*'indicator'.*'mean'"):
            ProjSe(1).fit(frame, Y[["y1"]])


def test_drop_leaves_out_rows_with_a_gap_anywhere(seed: int) -> None:
    X, Y = planted_table(seed, 400)
    rng = np.random.default_rng(seed)
    Y = Y.mask(rng.random(Y.shape) < 0.02)
    Z = pd.DataFrame({"age": np.where(rng.random(400) < 0.05, np.nan, rng.normal(size=400))})
    w = np.where(rng.random(400) < 0.05, np.nan, 1.0 + rng.integers(0, 2, 400))
    keep = ~(X.isna().any(axis=1) | Y.isna().any(axis=1) | Z["age"].isna() | np.isnan(w))
    assert keep.sum() < 350
    found = ProjSe(4, missing="drop").fit(X, Y, w, Z)
    want = ProjSe(4).fit(X[keep], Y[keep], w[keep], Z[keep])
    np.testing.assert_array_equal(found.selected_, want.selected_)
    np.testing.assert_allclose(found.scores_, want.scores_)


def test_mean_is_what_filling_by_hand_gives(seed: int) -> None:
    X, Y = planted_table(seed, 400)
    rng = np.random.default_rng(seed)
    numbers = X[["a", "b", "square", "noise_0"]]
    y = Y[["y1", "y2"]].mask(rng.random((400, 2)) < 0.1)
    Z = pd.DataFrame({"z": np.where(rng.random(400) < 0.1, np.nan, rng.normal(size=400))})
    found = ProjSe(3, missing="mean").fit(numbers, y, None, Z)
    filled = [part.fillna(part.mean()) for part in (numbers, y, Z)]
    want = ProjSe(3).fit(filled[0], filled[1], None, filled[2])
    np.testing.assert_array_equal(found.selected_, want.selected_)
    np.testing.assert_allclose(found.scores_, want.scores_, rtol=1e-7)


def test_an_indicator_of_gaps_in_y_is_an_output(seed: int) -> None:
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(300, 5))
    y = np.where(X[:, 3] > 0.5, np.nan, rng.normal(size=300))  # only that it is missing tells
    assert ProjSe(1, missing="indicator").fit(X, y).selected_.tolist() == [3]
    labels = np.where(X[:, 3] > 0.5, None, rng.choice(["u", "v"], 300))
    assert ProjSe(1, missing="indicator").fit(X, labels).selected_.tolist() == [3]


def test_covariates_may_be_categories_dates_codes_and_gaps(seed: int) -> None:
    rng = np.random.default_rng(seed)
    n = 600
    batch, day = rng.integers(0, 4, n), rng.integers(0, 1000, n)
    shift = np.array([0.0, 5.0, -5.0, 1.0])[batch] + day / 100
    X = rng.normal(size=(n, 4))
    X[:, 0] += shift
    y = X[:, 1] + 3 * shift
    days = pd.Timestamp("2020-01-01") + pd.to_timedelta(day, "D")
    Z = pd.DataFrame({"batch": batch, "day": days})
    assert ProjSe(1).fit(X, y).selected_.tolist() == [0]
    coded = Z.astype({"batch": "category"})
    assert ProjSe(1).fit(X, y, None, coded).selected_.tolist() == [1]
    assert ProjSe(1).fit(X, y, None, pl.from_pandas(coded.astype({"batch": str}))).selected_[0] == 1
    # As numbers, codes explain less than as categories.
    as_numbers = ProjSe(1).fit(X, y, None, Z).scores_
    assert as_numbers[0] < ProjSe(1).fit(X, y, None, coded).scores_[0]
    gaps = coded[["batch"]].mask(rng.random((n, 1)) < 0.05)
    by_hand = pd.get_dummies(gaps["batch"], dummy_na=True).astype(float)
    found = ProjSe(2, missing="indicator").fit(X, y, None, gaps)
    np.testing.assert_allclose(found.scores_, ProjSe(2).fit(X, y, None, by_hand).scores_)


def test_integer_codes_declared_categorical_are_levels(seed: int) -> None:
    rng = np.random.default_rng(seed)
    codes = rng.integers(0, 4, 400)
    X = np.column_stack([codes, rng.normal(size=400)])
    y = np.array([1.0, -1.0, 1.0, -1.0])[codes] + 0.1 * rng.normal(size=400)
    plain = ProjSe(1, **PAPER).fit(X, y)
    declared = ProjSe(1, categorical_features=[0], **PAPER).fit(X, y)
    strings = ProjSe(1, **PAPER).fit(pd.DataFrame(X).astype({0: str}).rename(columns=str), y)
    np.testing.assert_allclose(declared.scores_, strings.scores_)
    assert declared.scores_[0] > 0.9 > 0.5 > plain.scores_[0]
    assert declared.n_features_in_ == 2
    assert not hasattr(declared, "feature_names_in_")


def test_groups_hold_columns_of_tables(seed: int) -> None:
    X, Y = planted_table(seed, 600)
    X = X.drop(columns=["flag", "b", "square", "threshold"])
    groups = {"both": ["factor", "a"], "noise": "noise_*"}
    fitted = ProjSe(1, groups=groups, missing="indicator", **PAPER).fit(X, Y)
    numbers = np.column_stack([Y[["y1", "y2", "y3"]], Y["y4"] == "hi"])
    spaces = spaces_by_hand(X)
    group = np.column_stack([spaces["factor"], spaces["a"]])
    assert fitted.variable_names_[fitted.selected_].tolist() == ["both"]
    n = len(fitted.variable_names_)
    assert fitted.scores_[0] == pytest.approx(honest_first_scores([group], numbers, n)[0])
    assert fitted.get_feature_names_out().tolist() == ["a", "factor"]


@pytest.mark.parametrize("make", [pd.DataFrame, pl.from_pandas])
def test_transform_hands_back_the_columns_themselves(seed: int, make: object) -> None:
    X, Y = planted_table(seed, 300)
    frame = make(X)
    fitted = ProjSe(**SIX).fit(frame, Y)
    names = fitted.get_feature_names_out().tolist()
    assert set(names) <= set(X)
    new = X.head(5).assign(factor=["never seen"] * 5)
    out = fitted.transform(make(new))
    assert type(out) is type(frame)
    assert list(out.columns) == names
    assert [str(t) for t in out.dtypes] == [str(frame[n].dtype) for n in names]
    for backend, kind in (("pandas", pd.DataFrame), ("polars", pl.DataFrame)):
        as_asked = clone(fitted).set_output(transform=backend).fit(frame, Y).transform(frame)
        assert isinstance(as_asked, kind)
        assert list(as_asked.columns) == names
    with pytest.raises(ValueError, match="feature names"):
        fitted.transform(make(X.rename(columns={"a": "other"})))


def text_columns(frame: pd.DataFrame) -> list[str]:
    return list(frame.select_dtypes(exclude="number"))


def test_pipelines_and_grids_take_mixed_frames(seed: int) -> None:
    X, Y = planted_table(seed, 300)
    X, y = X.drop(columns=["b", "noise_date"]), Y[["y1", "y2"]]
    text = make_column_transformer(
        (OneHotEncoder(handle_unknown="ignore"), text_columns),
        remainder="passthrough",
    )
    pipeline = make_pipeline(ProjSe(2), text, LinearRegression())
    search = GridSearchCV(
        pipeline,
        {"projse__n_features_to_select": [1, 5], "projse__basis": ["spline"]},
        cv=2,
        error_score="raise",
    )
    search.fit(X, y)
    assert search.best_params_["projse__n_features_to_select"] == 5
    fitted = pickle.loads(pickle.dumps(search.best_estimator_))
    assert fitted.predict(X).shape == (300, 2)


def test_tags_tell_what_is_taken() -> None:
    assert not get_tags(ProjSe()).input_tags.allow_nan
    assert get_tags(ProjSe(missing="mean")).input_tags.allow_nan
    assert get_tags(ProjSe()).input_tags.string
    assert get_tags(ProjSe(kernel="rbf", missing="mean")).input_tags.allow_nan
    assert not get_tags(ProjSe(kernel="rbf", missing="indicator")).input_tags.allow_nan


def test_bad_columns_of_a_table_have_an_outcome_that_is_said(seed: int) -> None:
    X, Y = planted_table(seed, 200)
    X, y = X[["a", "factor"]], Y[["y1"]]
    with pytest.warns(IdentifierWarning, match="'id' of X looks like an identifier"):
        fitted = ProjSe(1).fit(X.assign(id=[f"row {i}" for i in range(200)]), y)
    assert "id" not in fitted.get_feature_names_out()
    nothing = X.assign(empty=np.nan, none=None, one="same")
    with pytest.raises(ValueError, match=r"'empty' \(200\), 'none' \(200\)"):
        ProjSe(1).fit(nothing, y)
    with pytest.raises(ValueError, match=r"'drop' leaves none of 200 rows.*'empty' of X has 200"):
        ProjSe(1, missing="drop").fit(nothing, y)
    for missing in ("indicator", "mean"):
        with pytest.warns(RankExhaustedWarning, match="Selected 2 of 3"):
            fitted = ProjSe(3, missing=missing).fit(nothing, y)
        assert fitted.get_feature_names_out().tolist() == ["a", "factor"]
    with pytest.raises(ValueError, match=r"'mixed' of X mixes types: 1 \(int\) and 'a' \(str\)"):
        ProjSe(1).fit(X.assign(mixed=pd.Series([1, "a"] * 100, dtype=object)), y)
    odd = X.assign(odd=np.resize(["1", "2\x00", "\x1f\n", ""], 200))
    want = ProjSe(3).fit(X.assign(odd=np.resize(["p", "q", "r", "s"], 200)), y)
    np.testing.assert_allclose(ProjSe(3).fit(odd, y).scores_, want.scores_)
    with pytest.raises(ValueError, match=r"kernel='linear'.*'factor' has 4"):
        ProjSe(1, kernel="rbf").fit(X, y)
    with pytest.raises(ValueError, match="X is sparse"):
        ProjSe(1, basis="spline").fit(sp.csr_array(np.eye(5)), np.arange(5.0))


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        (
            {"missing": "fill"},
            "missing='fill' is not one of 'refuse', 'drop'",
        ),
        ({"basis": "cubic"}, "basis='cubic' is not one of 'linear', 'spline'"),
        ({"min_frequency": 0}, "min_frequency=0 must be at least 1"),
        ({"categorical_features": "factor"}, "the only word is 'from_dtype'"),
        ({"categorical_features": ["nope"]}, "categorical_features names 'nope'"),
    ],
)
def test_parameters_of_tables_are_checked(wrong: dict, message: str) -> None:
    X, Y = planted_table(0, 50)
    with pytest.raises(ValueError, match=message):
        ProjSe(1, **wrong).fit(X, Y)


def test_curved_effects_are_found_by_splines_only(seed: int) -> None:
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(500, 8))
    y = X[:, 4] ** 2 + 0.3 * rng.normal(size=500)
    spline = ProjSe(1, basis="spline", **PAPER).fit(X, y)
    assert spline.selected_.tolist() == [4]
    assert spline.scores_[0] > 0.8
    assert ProjSe(1, **PAPER).fit(X, y).scores_[0] < 0.2


def test_one_view_of_a_table(seed: int) -> None:
    X, _ = planted_table(seed, 300)
    X = X[["a", "factor", "flag"]].assign(copy=X["factor"].map({"p": 1, "q": 2, "r": 3, "s": 4}))
    fitted = ProjSe(2, categorical_features=["copy"]).fit(X)
    assert not {"factor", "copy"} <= set(fitted.get_feature_names_out())


def test_moments_of_a_table_say_how_it_was_encoded(seed: int) -> None:
    X, Y = planted_table(seed, 200)
    fitted = ProjSe(2, missing="indicator").fit(X, Y)
    assert isinstance(fitted.moments_, Moments)
    assert fitted.moments_.encoding["x"]["names"] == list(X)
    assert fitted.moments_.x_variables.names == tuple(X)


def test_cross_validation_and_resamples_take_tables(seed: int) -> None:
    X, Y = planted_table(seed, 300)
    selector = ProjSe(6, missing="indicator", basis="spline")
    chosen = ProjSeCV(selector, n_features=8, cv=3, param_grid=None).fit(X, Y)
    assert chosen.best_score_ > 0.3
    assert set(chosen.get_feature_names_out()) <= set(X)
    again = clone(selector).set_params(n_features_to_select=chosen.n_features_).fit(X, Y)
    np.testing.assert_array_equal(chosen.selected_, again.selected_)
    with pytest.raises(ValueError, match="param_grid names 'basis'"):
        ProjSeCV(selector, param_grid={"basis": ["linear", "spline"]}).fit(X, Y)
    for blocks in (None, 20):
        stable = StabilityProjSe(selector, 4, random_state=seed, blocks=blocks, threshold=0.7)
        stable.fit(X, Y)
        assert set(REAL) <= set(stable.get_feature_names_out())
        assert stable.selection_frequencies_.shape == (18,)


def test_permutations_of_a_table_are_fits_to_shuffled_references(seed: int) -> None:
    X, Y = planted_table(seed, 200)
    selector = ProjSe(2, missing="indicator", basis="spline")
    test = permutation_test(selector, X, Y, n_permutations=19, random_state=seed)
    assert set(test.feature_names) <= set(REAL)
    assert test.pvalues[0] == pytest.approx(0.05)
    orders = permutations(_seeds(seed, 19)[:3], 200)
    for scores, order in zip(test.null_scores, orders, strict=False):
        shuffled = clone(selector).fit(X, Y.iloc[order].reset_index(drop=True))
        np.testing.assert_allclose(scores, shuffled.scores_)


def test_sparse_columns_of_pandas_are_numbers(seed: int) -> None:
    rng = np.random.default_rng(seed)
    X = sp.random(100, 6, 0.3, format="csr", random_state=seed)
    y = X[:, [4]].toarray() + 0.01 * rng.normal(size=(100, 1))
    frame = pd.DataFrame.sparse.from_spmatrix(X)
    outputs = pd.DataFrame.sparse.from_spmatrix(sp.csr_matrix(y))
    want = ProjSe(1).fit(X.toarray(), y)
    for given in (ProjSe(1).fit(frame, y), ProjSe(1).fit(X.toarray(), outputs)):
        assert given.selected_.tolist() == want.selected_.tolist() == [4]
        np.testing.assert_allclose(given.scores_, want.scores_)


@pytest.mark.parametrize("first", [20, 25, 40])
def test_a_small_first_batch_makes_no_category_an_identifier(seed, first):
    """Levels that the first rows show once each come again in later ones."""
    rng = np.random.default_rng(seed)
    towns = np.concatenate([rng.permutation(40)[:first], rng.integers(40, size=560)])
    a = rng.normal(size=len(towns))
    X = pd.DataFrame({"town": [f"town {t}" for t in towns], "a": a, "b": rng.normal(size=len(a))})
    Y = rng.normal(size=(40, 2))[towns] + 0.3 * rng.normal(size=(len(towns), 2))
    by_batches = ProjSe(2).partial_fit(X[:first], Y[:first]).partial_fit(X[first:], Y[first:])
    whole = ProjSe(2).fit(X, Y)
    assert by_batches.selected_names_[0] == whole.selected_names_[0] == "town"
    np.testing.assert_allclose(by_batches.scores_, whole.scores_, rtol=1e-9)


def test_booleans_of_few_rows_are_the_same_next_to_any_column(seed: int) -> None:
    rng = np.random.default_rng(seed)
    X = pd.DataFrame({"b": np.arange(20) % 2 == 0, "c": rng.random(20) < 0.5})
    y = X["b"].to_numpy() ^ (np.arange(20) == 3)
    alone = ProjSe(1, min_frequency=20).fit(X, y)
    beside = ProjSe(1, min_frequency=20).fit(X.assign(text=["u", "v"] * 10), y)
    batches = ProjSe(1, min_frequency=20, missing="indicator")
    for part in (slice(0, 10), slice(10, 20)):
        batches.partial_fit(X[part], y[part])
    for found in (beside, batches):
        assert found.selected_names_.tolist() == alone.selected_names_.tolist() == ["b"]
        np.testing.assert_allclose(found.scores_, alone.scores_, rtol=1e-9)
