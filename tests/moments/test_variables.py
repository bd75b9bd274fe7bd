"""Moments of encoded tables: columns that carry meaning are aligned, kept, and checked."""

from __future__ import annotations

import hashlib
import json
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp

import projse.moments.in_memory
from projse import Moments, MomentsFileError
from projse.moments.align import place, united
from projse.moments.blocks import StackedMoments, all_but_one
from projse.moments.check import check_moments
from projse.moments.file import MAGIC, PREFIX, VERSION, moments_from_bytes, moments_to_bytes
from projse.moments.in_memory import moments_of
from projse.moments.sparse_products import centred_yx
from projse.moments.views import restricted, swapped
from projse.sources.rows import Rows
from projse.sources.table.encoder import TableEncoder
from projse.sources.table.encoding import TableEncoding
from projse.sources.table.plan import ColumnPlan
from projse.sources.variables import KINDS, MAX_LEVELS, Column, Variables

NAMES = ("age", "city", "weight")
PLAN = TableEncoding(
    TableEncoder(NAMES, (ColumnPlan("number"), ColumnPlan("category"), ColumnPlan("number")))
).to_dict()
ARRAYS = ("x_mean", "y_mean", "yy", "yx", "xx_diag", "xx", "x_min", "x_max", "y_min", "y_max")


def table(seed, n_samples=60):
    """A number, a category of levels that come one after the other, and a number with gaps."""
    rng = np.random.default_rng(seed)
    city = [f"c{rng.integers(max(0, i // 9 - 2), i // 9 + 1)}" for i in range(n_samples)]
    weight = rng.normal(size=n_samples)
    weight[n_samples // 2 :: 7] = np.nan
    frame = pd.DataFrame({"age": rng.normal(size=n_samples) + 3, "city": city, "weight": weight})
    y = pd.DataFrame({"score": rng.normal(size=n_samples), "team": np.roll(city, 5)})
    return frame, y, rng.uniform(0.5, 2, n_samples)


def encoded(frame, names):
    """Encode a frame by what it holds itself: absent levels and gaps have no column."""
    parts, columns = [], []
    for j, name in enumerate(names):
        values = frame[name]
        if values.dtype == float:
            parts.append(values.fillna(0.0).to_numpy()[:, None])
            columns.append(Column(j))
            if values.isna().any():
                parts.append(values.isna().to_numpy(float)[:, None])
                columns.append(Column(j, "gap"))
        else:
            dummies = pd.get_dummies(values)
            parts.append(dummies.to_numpy(float))
            columns += [Column(j, "level", str(level)) for level in dummies.columns]
    return np.hstack(parts), Variables(tuple(names), tuple(columns))


def moments_of_table(frame, y, weight, *, rng=None, sparse=False, **options):
    """Sum a batch; ``rng`` puts its columns in some order."""
    X, x_variables = encoded(frame, NAMES)
    Y, y_variables = encoded(y, ("score", "team"))
    if rng is not None:
        order = rng.permutation(X.shape[1])
        X, x_variables = X[:, order], x_variables.restricted(order)
    if sparse:
        X, Y = sp.csr_array(X), sp.csr_array(Y)
    rows = Rows(X, Y, weight, x_variables=x_variables, y_variables=y_variables, encoding=PLAN)
    return moments_of(rows, with_xx=options.pop("with_xx", True), **options)


def batches(seed, cuts=(7, 20, 21, 40, 52), **options):
    frame, y, weight = table(seed)
    parts = np.split(np.arange(len(frame)), cuts)
    return [
        moments_of_table(frame.iloc[rows], y.iloc[rows], weight[rows], **options) for rows in parts
    ]


def in_order(moments):
    """Put the columns of moments in the order that sums have."""
    views = (moments.x_variables.columns, moments.y_variables.columns)
    return restricted(
        moments, *(sorted(range(len(v)), key=lambda j, v=v: place(v[j])) for v in views)
    )


def assert_same(a, b, rtol=1e-10):
    assert (a.x_variables, a.y_variables) == (b.x_variables, b.y_variables)
    assert (a.feature_names, a.target_names) == (b.feature_names, b.target_names)
    assert a.n_samples == b.n_samples
    for name in ARRAYS:
        values = [getattr(m, name) for m in (a, b)]
        values = [v.toarray() if sp.issparse(v) else v for v in values]
        np.testing.assert_allclose(*values, rtol=rtol, atol=1e-11, err_msg=name)


# Sums


@pytest.mark.parametrize("sparse", [False, True])
def test_batches_of_different_levels_add_up_to_all_rows_at_once(seed, sparse):
    whole = in_order(moments_of_table(*table(seed)))
    parts = batches(seed, sparse=sparse)
    assert len({part.n_x for part in parts}) > 1
    total = sum(parts)
    assert_same(total, whole)
    assert set(total.feature_names) >= {"age", "city=c0", "city=c5", "weight", "weight (gap)"}


def test_sparse_products_are_aligned_too(seed, monkeypatch):
    monkeypatch.setattr(projse.moments.in_memory, "SPARSE_YX_ELEMENTS", 0)
    parts = batches(seed, sparse=True, with_xx=False)
    total = sum(parts)
    assert sp.issparse(total.yx)
    whole = in_order(moments_of_table(*table(seed), sparse=True, with_xx=False))
    assert total.x_variables == whole.x_variables
    np.testing.assert_allclose(centred_yx(total), whole.yx, atol=1e-11)


def test_any_order_and_any_tree_of_merges_gives_the_same(seed):
    rng = np.random.default_rng(seed)
    parts = batches(seed, rng=rng)
    expected = sum(parts)
    for _ in range(10):
        waiting = [parts[i] for i in rng.permutation(len(parts))]
        while len(waiting) > 1:
            i = rng.integers(len(waiting) - 1)
            waiting[i : i + 2] = [waiting[i] + waiting[i + 1]]
        assert_same(waiting[0], expected)


def test_a_difference_keeps_the_columns_and_a_level_without_rows_is_zero(seed):
    first, *others = batches(seed)
    total = sum(others, start=first)
    rest = total - sum(others)
    assert rest.x_variables == total.x_variables
    gone = [j for j, c in enumerate(rest.x_variables.columns) if c not in first.x_variables.columns]
    assert gone
    np.testing.assert_allclose(rest.x_mean[gone], 0, atol=1e-14)
    np.testing.assert_allclose(rest.xx_diag[gone], 0, atol=1e-12)
    kept = [rest.x_variables.columns.index(c) for c in first.x_variables.columns]
    np.testing.assert_allclose(rest.xx[np.ix_(kept, kept)], first.xx, atol=1e-11)
    check_moments(rest)


def test_rows_with_a_level_that_was_never_added_cannot_be_taken_out(seed):
    first, *_, last = batches(seed)
    with pytest.raises(ValueError, match="never added"):
        (first + last) - last - last


def test_blocks_and_sums_of_all_but_one_are_aligned(seed):
    parts = batches(seed)
    for i, rest in enumerate(all_but_one(parts)):
        assert_same(rest, sum(parts[:i] + parts[i + 1 :]))
    stacked = StackedMoments(parts)
    (moments,) = stacked.sums(np.array([[1, 0, 2, 0, 1, 1]]))
    counts = [part for part, n in zip(parts, (1, 0, 2, 0, 1, 1), strict=True) for _ in range(n)]
    expected = sum(counts)
    places = [moments.x_variables.columns.index(c) for c in expected.x_variables.columns]
    np.testing.assert_allclose(moments.xx[np.ix_(places, places)], expected.xx, atol=1e-10)
    others = np.setdiff1d(np.arange(moments.n_x), places)
    np.testing.assert_allclose(moments.xx_diag[others], 0, atol=1e-10)


def level_moments(keys, name="id"):
    X = np.eye(len(keys))
    columns = tuple(Column(0, "level", key) for key in keys)
    return moments_of(Rows(X, x_variables=Variables((name,), columns)), with_xx=True)


DROPPED = Variables(("id",), (Column(0, "dropped"),))


def test_dropped_wins_over_any_columns_in_any_order(seed):
    levels = level_moments(["a", "b", "c"])
    dropped = moments_of(Rows(np.zeros((4, 1)), x_variables=DROPPED), with_xx=True)
    for total in (levels + dropped, dropped + levels, levels + (dropped + levels)):
        assert total.x_variables == DROPPED
        assert total.feature_names == ("id",)
        assert not total.xx.any()
        check_moments(total)


def test_more_levels_than_the_limit_drop_the_variable_whatever_is_added_first():
    half = MAX_LEVELS // 2
    keys = [f"{i:04}" for i in range(3 * half)]
    variables = [
        Variables(("id",), tuple(Column(0, "level", k) for k in keys[start : start + half]))
        for start in (0, half, 2 * half)
    ]
    a, b, c = variables
    assert len(united(a, b).columns) == MAX_LEVELS
    assert united(united(a, b), c) == united(a, united(b, c)) == united(united(c, a), b) == DROPPED


# What cannot be added


@pytest.mark.parametrize(
    ("other", "message"),
    [
        (Variables(("a", "c"), (Column(0), Column(1))), r"different variables: 'b' and 'c'"),
        (Variables(("a",), (Column(0), Column(0, "gap"))), "2 and 1 of them"),
        (Variables(("a", "b"), (Column(0), Column(1, "level", "u"))), "'b'.*value.*level"),
        (Variables(("a", "b"), (Column(0), Column(1, "spline", "0"))), "'b'.*value.*spline"),
        (None, "plain columns"),
    ],
)
def test_other_variables_are_refused_in_words(other, message):
    X = np.eye(2)
    ours = Variables(("a", "b"), (Column(0), Column(1)))
    a, b = (moments_of(Rows(X, x_variables=v), with_xx=True) for v in (ours, other))
    with pytest.raises(ValueError, match=message) as caught:
        a + b
    assert "\n" not in str(caught.value)
    with pytest.raises(ValueError, match=r"variables|encoded"):
        b + a


@pytest.mark.parametrize(
    ("other", "message"),
    [
        ({"columns": [{"name": "age", "fill": 2.0}]}, "columns 'age', fill is 1.5.* 2.0"),
        ({"columns": []}, "columns has 1 entries in the first and 0"),
        ({"columns": [{"name": "age", "fill": 1.5}], "basis": "spline"}, "basis is only in the se"),
        (None, "encoded by a plan and of others"),
    ],
)
def test_another_plan_is_refused_and_the_difference_is_named(other, message):
    plan = {"columns": [{"name": "age", "fill": 1.5}]}
    a, b = (moments_of(Rows(np.eye(2), encoding=e)) for e in (plan, other))
    with pytest.raises(ValueError, match=message):
        a + b
    again = moments_of(Rows(np.eye(2), encoding=json.loads(json.dumps(plan))))
    assert (a + again).encoding == plan


# Names


def test_titles_are_different_and_printable():
    columns = [Column(0), Column(1, "level", "b"), Column(1, "level", "x\n\x1b[1m"), Column(2)]
    columns += [Column(1, "gap"), Column(3, "cycle", "year:sin"), Column(3, "trend")]
    variables = Variables(("a=b", "a", "a (gap)", "day"), tuple(columns))
    titles = variables.titles
    assert len(set(titles)) == len(titles)
    assert all(title.isprintable() for title in titles)
    assert titles[:3] == ("a=b", "a=b (2)", r"a=x\n\x1b[1m")
    assert titles[5:] == ("day (cycle year:sin)", "day (trend)")


# Views


def test_restricted_and_swapped_carry_the_variables(seed):
    whole = moments_of_table(*table(seed))
    other = swapped(whole)
    assert (other.x_variables, other.y_variables) == (whole.y_variables, whole.x_variables)
    assert_same(swapped(other), whole)
    few = restricted(whole, np.array([2, 0]), np.array([1]))
    assert few.x_variables.columns == (whole.x_variables.columns[2], whole.x_variables.columns[0])
    assert few.y_variables.columns == whole.y_variables.columns[1:2]
    check_moments(few)


# Files


def test_files_keep_variables_and_plan(seed, tmp_path):
    whole = moments_of_table(*table(seed))
    whole.save(tmp_path / "file")
    again = Moments.load(tmp_path / "file")
    assert_same(again, whole, rtol=0)
    assert again.encoding == whole.encoding
    assert_same(again + whole, whole + whole)


def test_plain_moments_are_written_as_older_versions_read_them():
    content = moments_to_bytes(Moments.from_arrays(np.eye(3), np.ones((3, 1))))
    assert PREFIX.unpack(content[len(MAGIC) :][: PREFIX.size])[0] == 1
    of_table = moments_to_bytes(level_moments("ab"))
    assert PREFIX.unpack(of_table[len(MAGIC) :][: PREFIX.size])[0] == VERSION == 2


def with_header(content, **changed):
    """The same file with another header, and a valid checksum."""
    start = len(MAGIC) + PREFIX.size
    version, length = PREFIX.unpack(content[len(MAGIC) : start])
    header = json.loads(content[start : start + length])
    text = json.dumps(header | changed).encode()
    body = MAGIC + PREFIX.pack(version, len(text)) + text + content[start + length : -32]
    return body + hashlib.sha256(body).digest()


def deep(n):
    value = []
    for _ in range(n):
        value = [value]
    return {"plan": value}


def described(*columns, names=("id",)):
    return {"x_variables": {"names": names, "columns": columns}}


A, B = (0, "level", "a"), (0, "level", "b")
HOSTILE = {
    "fewer columns": (described(A), "describe 1 columns, but there are 2"),
    "more columns": (described(A, B, (0, "gap", "")), "describe 3 columns"),
    "variable out of range": (described(A, (1, "level", "b")), "column 1 is of variable 1 of 1"),
    "negative variable": (described(A, (-1, "level", "b")), "variable -1"),
    "variable no number": (described(A, (True, "level", "b")), "variable True"),
    "fractional variable": (described(A, (0.0, "level", "b")), "variable 0.0"),
    "unknown kind": (described(A, (0, "evil", "b")), "kind 'evil', not one of"),
    "kind no string": (described(A, (0, ["level"], "b")), "kind"),
    "key no string": (described(A, (0, "level", 7)), "key that is no string"),
    "unknown cycle": (described(A, (0, "cycle", "decade:sin")), "cycle 'decade:sin', not one of"),
    "column twice": (described(A, A), "is there 2 times"),
    "name twice": (described(A, B, names=("id", "id")), "'id' more than once"),
    "name no string": (described(A, B, names=(None,)), "not strings"),
    "dropped with others": (described(A, (0, "dropped", "")), "dropped, but has other columns"),
    "dropped that is not 0": (described(A, (1, "dropped", ""), names="iv"), "is a dropped"),
    "no mapping": ({"x_variables": [1]}, "."),
    "no columns": ({"x_variables": {"names": ["id"]}}, "columns"),
    "short column": (described(A, ()), "."),
    "y without y": ({"y_variables": {"names": ["id"], "columns": [A, B]}}, "y_mean is not"),
    "plan no mapping": ({"encoding": [1]}, "not a dict"),
    "plan with NaN": ({"encoding": {"fill": float("nan")}}, "NaN"),
    "plan of nothing": ({"encoding": {}}, "a plan for x"),
    "plan without columns": ({"encoding": {"x": {}}}, "a plan of columns has"),
    "plan without a kind": ({"encoding": {"x": PLAN["x"] | {"plans": [{}] * 3}}}, "'kind'"),
    "plan of no columns": (
        {"encoding": {"x": PLAN["x"] | {"names": [], "plans": []}}},
        "0 plans for",
    ),
    "plan too deep": ({"encoding": deep(200)}, "nested deeper"),
}


@pytest.mark.parametrize("kind", HOSTILE)
def test_a_file_whose_variables_make_no_sense_is_refused(kind):
    changed, message = HOSTILE[kind]
    content = moments_to_bytes(level_moments("ab"))
    moments_from_bytes(with_header(content))
    with pytest.raises(MomentsFileError, match=f"cannot be read as moments: .*{message}") as caught:
        moments_from_bytes(with_header(content, **changed))
    assert "\n" not in str(caught.value)


def test_indicators_beyond_their_range_and_too_many_levels_are_refused():
    moments = level_moments("ab")
    with pytest.raises(ValueError, match="is a level and cannot have a mean of 7"):
        check_moments(replace(moments, x_mean=np.array([7.0, 0.5]), x_min=None, x_max=None))
    n = MAX_LEVELS + 1
    many = Variables(("id",), tuple(Column(0, "level", str(i)) for i in range(n)))
    wide = Moments(
        n, float(n), np.full(n, 1 / n), None, None, None, np.full(n, 1 - 1 / n), x_variables=many
    )
    with pytest.raises(ValueError, match="more than 1000 levels"):
        check_moments(wide, definite=False)


@pytest.mark.parametrize("key", ["\x00", "a\nb", "\x1b[2J", "\ud800", "3.0", "", "\x1f"])
def test_levels_of_any_characters_survive_a_file(key):
    moments = level_moments(["a", key])
    again = moments_from_bytes(moments_to_bytes(moments))
    assert again.x_variables == moments.x_variables
    assert all(name.isprintable() for name in again.feature_names)


def test_every_kind_of_column_can_be_kept():
    keys = {"cycle": "year:sin"}
    columns = tuple(Column(j, kind, keys.get(kind, "")) for j, kind in enumerate(KINDS))
    X = np.eye(len(KINDS)) * (np.array(KINDS) != "dropped")
    moments = moments_of(Rows(X, x_variables=Variables(KINDS, columns)), with_xx=True)
    assert moments_from_bytes(moments_to_bytes(moments)).x_variables == moments.x_variables
