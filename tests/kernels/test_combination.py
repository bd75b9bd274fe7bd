"""Subspaces read off moments: the same as those of a table that was mended by hand."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from projse.kernels.combination import bases_of, merge_bases
from projse.sources.table import TableEncoder
from projse.sources.variables import Column, Variables


def projector(columns: np.ndarray, weight: np.ndarray) -> np.ndarray:
    """Project on what the centred, weighted columns span."""
    root = np.sqrt(weight)[:, None]
    centred = root * (columns - np.average(columns, axis=0, weights=weight))
    U, s, _ = np.linalg.svd(centred, full_matrices=False)
    U = U[:, s > 1e-9 * max(s.max(initial=0), 1e-300)]
    return U @ U.T


def subspaces(frame: pd.DataFrame, weight: np.ndarray, **options: object) -> list[np.ndarray]:
    """Projectors of the variables, from the encoder and what the moments would hold."""
    encoder = TableEncoder.look(
        frame.iloc[:50],
        missing="indicator",
        basis=str(options.pop("basis", "linear")),
    )
    rows, variables = encoder.encode(frame)
    rows = rows.toarray() if hasattr(rows, "toarray") else rows
    bases = bases_of(
        variables,
        encoder.plans,
        np.average(rows, axis=0, weights=weight),
        sum_weights=float(weight.sum()),
        n_rows=len(frame),
        x_min=rows.min(axis=0),
        x_max=rows.max(axis=0),
        **options,
    )
    out = []
    for v in range(variables.n):
        columns = rows[:, variables.columns_of(v)]
        out.append(projector(columns @ bases.get(v, np.eye(columns.shape[1])), weight))
    return out


@pytest.fixture
def weight(seed: int) -> np.ndarray:
    return np.random.default_rng(seed).integers(1, 4, 300).astype(float)


def test_rare_levels_are_pooled_by_weight(seed: int, weight: np.ndarray) -> None:
    rng = np.random.default_rng(seed)
    level = rng.choice(list("abcdefgh"), 300, p=[0.4, 0.4, 0.1, 0.04, 0.03, 0.01, 0.01, 0.01])
    frame = pd.DataFrame({"k": level})
    counts = pd.Series(weight).groupby(level).sum()
    pooled = np.where(counts[level] < 20, "rare", level)
    honest = projector(pd.get_dummies(pooled).to_numpy(dtype=float), weight)
    (found,) = subspaces(frame, weight, min_frequency=20)
    np.testing.assert_allclose(found, honest, atol=1e-8)


def test_a_boolean_is_pooled_only_if_it_has_gaps(seed: int, weight: np.ndarray) -> None:
    flag = np.random.default_rng(seed).random(300) < 0.5
    gaps = np.where(np.arange(300) < 20, None, flag)
    found, pooled = subspaces(pd.DataFrame({"f": flag, "g": gaps}), weight, min_frequency=10_000)
    np.testing.assert_allclose(found, projector(flag[:, None].astype(float), weight), atol=1e-8)
    assert round(np.trace(pooled)) == 0


@pytest.mark.parametrize("basis", ["linear", "spline"])
def test_mean_fills_exactly_whatever_the_first_look_was(
    seed: int, weight: np.ndarray, basis: str
) -> None:
    rng = np.random.default_rng(seed)
    x = np.where(rng.random(300) < 0.2, np.nan, 5 + rng.normal(size=300))
    frame = pd.DataFrame({"x": x})
    (found,) = subspaces(frame, weight, missing="mean", basis=basis)
    encoder = TableEncoder.look(frame.iloc[:50].dropna(), basis=basis)
    seen = ~np.isnan(x)
    honest = np.zeros((300, 1 if basis == "linear" else 6))
    honest[seen] = encoder.encode(frame[seen])[0]
    honest[~seen] = np.average(honest[seen], axis=0, weights=weight[seen])
    np.testing.assert_allclose(found, projector(honest, weight), atol=1e-7)


def test_an_indicator_is_value_and_gap_but_few_gaps_are_filled(
    seed: int, weight: np.ndarray
) -> None:
    rng = np.random.default_rng(seed)
    x = np.where(rng.random(300) < 0.2, np.nan, rng.normal(size=300))
    frame = pd.DataFrame({"x": x})
    both = np.column_stack([np.nan_to_num(x), np.isnan(x)])
    (found,) = subspaces(frame, weight, min_frequency=5)
    np.testing.assert_allclose(found, projector(both, weight), atol=1e-8)
    (filled,) = subspaces(frame, weight, missing="mean")
    (few,) = subspaces(frame, weight, min_frequency=10_000)
    np.testing.assert_allclose(few, filled, atol=1e-8)


def test_a_rare_gap_of_a_category_joins_the_rare_levels(weight: np.ndarray) -> None:
    level = np.array(["a"] * 150 + ["b"] * 140 + ["c"] * 5 + [None] * 5, dtype=object)
    (found,) = subspaces(pd.DataFrame({"k": level}), weight, min_frequency=50)
    honest = pd.get_dummies([v if v in ("a", "b") else "rare" for v in level])
    np.testing.assert_allclose(found, projector(honest.to_numpy(dtype=float), weight), atol=1e-8)


@pytest.mark.parametrize(
    ("days", "rank"),
    [(10, 1), (13.9, 1), (14.1, 3), (400, 3), (731, 5)],
    ids=["10 days", "under two weeks", "two weeks", "a year", "two years"],
)
def test_cycles_count_once_the_dates_cover_them_twice(days: float, rank: int) -> None:
    # Spans by all rows, not by the first look (50 rows).
    t = pd.Timestamp("2020-01-01") + pd.to_timedelta(np.linspace(0, days, 300).round(1), "D")
    frame = pd.DataFrame({"t": t.round("D") if days > 20 else t})
    (found,) = subspaces(frame, np.ones(300))
    hours = 2 if days <= 20 else 0  # whole days have no hours
    assert round(np.trace(found)) == rank + hours


def test_no_counts_but_shares_pool_by_rows() -> None:
    frame = pd.DataFrame({"k": ["a"] * 150 + ["b"] * 147 + ["c"] * 3})
    (found,) = subspaces(frame, np.full(300, 1 / 300), min_frequency=5)
    assert round(np.trace(found)) == 2


def test_too_many_levels_have_no_subspace() -> None:
    columns = tuple(Column(0, "level", str(k)) for k in range(1001))
    encoder = TableEncoder.look(pd.DataFrame({"k": ["a", "b"]}))
    options: dict = {"sum_weights": 1e6, "n_rows": 10**6}
    bases = bases_of(Variables(("k",), columns), encoder.plans, np.full(1001, 1e-3), **options)
    assert bases[0].shape == (1001, 0)
    few = Variables(("k",), columns[:1000])
    assert bases_of(few, encoder.plans, np.full(1000, 1e-3), **options) == {}


def test_groups_of_variables_have_the_bases_of_their_variables_side_by_side(seed: int) -> None:
    rng = np.random.default_rng(seed)
    inner = Variables(
        ("a", "b", "c"), tuple(Column(v, "level", str(k)) for k, v in enumerate([0, 1, 2, 1, 0, 2]))
    )
    groups = Variables(("ac", "b"), (Column(0), Column(1), Column(0)))
    bases = {0: rng.normal(size=(2, 1))}
    merged = merge_bases(bases, inner, groups)
    assert set(merged) == {0}
    rows = rng.normal(size=(9, 6))
    outer = rows[:, inner.grouped(groups).columns_of(0)] @ merged[0]
    sides = [rows[:, [0, 4]] @ bases[0], rows[:, [2, 5]]]
    np.testing.assert_allclose(outer, np.concatenate(sides, axis=1))
