"""Kernels on numbers whose gaps are filled with the mean: as if they had been filled before."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.metrics.pairwise import polynomial_kernel

from projse import PAPER, ProjSe, ProjSeCV, StabilityProjSe, moments_from
from projse.exceptions import ProductsMissingError

KERNELS: list[dict[str, Any]] = [
    {"kernel": "rbf"},
    {"kernel": "poly", "degree": 2, "coef0": 1.0},
    {"center_kernel": True},
]


def _named(kernel: dict[str, Any]) -> str:
    return ", ".join(f"{name} {getattr(v, '__name__', v)}" for name, v in kernel.items())


def cubic(A: np.ndarray, B: np.ndarray) -> np.ndarray:
    return np.asarray(polynomial_kernel(A.T, B.T, degree=3, gamma=1.0, coef0=0.5))


def with_gaps(seed: int) -> tuple[pd.DataFrame, pd.DataFrame]:
    rng = np.random.default_rng(seed)
    X = pd.DataFrame(rng.normal(size=(90, 7)), columns=list("abcdefg"))
    Y = X.to_numpy()[:, :2] @ rng.normal(size=(2, 3)) + 0.5 * rng.normal(size=(90, 3))
    X = X.mask(rng.random(X.shape) < 0.1)
    X["g"] = rng.normal(size=90)  # without a gap
    return X, pd.DataFrame(Y, columns=["u", "v", "w"])


def same(found: ProjSe, want: ProjSe) -> None:
    assert found.selected_.tolist() == want.selected_.tolist()
    np.testing.assert_allclose(found.scores_, want.scores_, rtol=1e-7)
    np.testing.assert_allclose(found.explained_, want.explained_, atol=1e-9)
    assert found.selected_names_.tolist() == want.selected_names_.tolist()
    assert found.table()["name"].tolist() == want.table()["name"].tolist()


@pytest.mark.parametrize("kernel", [*KERNELS, {"kernel": cubic}], ids=_named)
def test_filled_in_memory_or_before_is_the_same(seed: int, kernel: dict[str, Any]) -> None:
    X, Y = with_gaps(seed)
    want = ProjSe(4, **kernel).fit(X.fillna(X.mean()), Y)
    found = ProjSe(4, missing="mean", **kernel).fit(X, Y)
    same(found, want)
    assert found.transform(X).shape == (90, 4)
    whole = X.notna().all(axis=1)
    dropped = ProjSe(4, missing="drop", **kernel).fit(X, Y)
    same(dropped, ProjSe(4, **kernel).fit(X[whole], Y[whole]))
    assert dropped.transform(X).shape == (90, 4)


@pytest.mark.parametrize("kernel", KERNELS, ids=_named)
def test_filled_in_files_and_batches_is_the_same(
    seed: int, tmp_path: Path, kernel: dict[str, Any]
) -> None:
    X, Y = with_gaps(seed)
    want = ProjSe(4, **kernel).fit(X.fillna(X.mean()), Y)
    pd.concat([X, Y], axis=1).to_csv(tmp_path / "t.csv", index=False)
    selector = ProjSe(4, missing="mean", **kernel)
    same(selector.fit_source(tmp_path, targets=["u", "v", "w"]), want)
    batches = ProjSe(4, missing="mean", **kernel)
    for rows in (slice(40), slice(40, 90)):
        batches.partial_fit(X[rows], Y[rows])
    same(batches, want)
    same(ProjSe(4, **kernel).fit_moments(batches.moments_), want)


@pytest.mark.parametrize("kernel", KERNELS, ids=_named)
def test_resamples_of_blocks_fill_gaps_as_those_of_rows_do(
    seed: int, kernel: dict[str, Any]
) -> None:
    X, Y = with_gaps(seed)
    stable = StabilityProjSe(ProjSe(2, missing="mean", **kernel), 5, 1.0, threshold=0.1)
    whole = ProjSe(2, missing="mean", **kernel).fit(X, Y).selected_.tolist()
    for blocks in (None, 6):
        selections = stable.set_params(blocks=blocks).fit(X, Y).selections_
        assert selections.tolist() == [whole] * 5


@pytest.mark.parametrize("exhausted", ["stop", "restart", "residual"])
@pytest.mark.parametrize("kernel", [{}, *KERNELS], ids=_named)
def test_batches_of_a_table_begin_with_the_products_that_it_needs(
    seed: int, exhausted: str, kernel: dict[str, Any]
) -> None:
    X, Y = with_gaps(seed)
    form = PAPER | {"exhausted": exhausted} | kernel
    tables = [X] if kernel else [X, X.assign(h=["u", "v", "w"] * 30)]
    for table in tables:
        batches = ProjSe(2, missing="mean", **form)
        for rows in (slice(40), slice(40, 90)):
            batches.partial_fit(table[rows], Y[rows])
        same(batches, ProjSe(2, missing="mean", **form).fit(table, Y))


def test_what_is_several_columns_is_refused_for_what_it_is(seed: int, tmp_path: Path) -> None:
    X, Y = with_gaps(seed)
    for parameters, more, words in (
        ({"missing": "indicator"}, {}, "Numbers with gaps need kernel='linear', not kernel='rbf'"),
        ({"missing": "mean"}, {"h": ["u", "v", "w"] * 30}, "Categories need kernel='linear'"),
        ({"missing": "mean"}, {"h": ["u", "v"] * 45}, r"Categories need .* 'h' has 2"),
        ({"missing": "indicator"}, {"h": ["u", "v"] * 45}, r"Categories need .* 'h' has 2"),
        ({"missing": "mean", "basis": "spline"}, {}, "Splines need kernel='linear'"),
    ):
        table = X.assign(**more)
        selector = ProjSe(2, kernel="rbf", **parameters)
        with pytest.raises(ValueError, match=words):
            selector.fit(table, Y)
        pd.concat([table, Y], axis=1).to_csv(tmp_path / "t.csv", index=False)
        with pytest.raises(ValueError, match=words):
            selector.fit_source(tmp_path, targets=["u", "v", "w"])
    with pytest.raises(ValueError, match=r"Numbers with gaps need .* fill them in first"):
        ProjSeCV(ProjSe(2, kernel="rbf", missing="mean")).fit(X, Y)
    with pytest.raises(ValueError, match=r"Groups need kernel='linear'.* or no groups"):
        ProjSe(2, kernel="rbf", groups={"ab": ["a", "b"]}).fit(X.fillna(0), Y)


@pytest.mark.parametrize("kernel", KERNELS, ids=_named)
def test_moments_without_the_products_that_fill_gaps_are_told(
    seed: int, kernel: dict[str, Any]
) -> None:
    X, Y = with_gaps(seed)
    table = pd.concat([X, Y], axis=1)
    options: dict[str, Any] = {"targets": ["u", "v", "w"], "missing": "mean"}
    selector = ProjSe(2, missing="mean", **kernel)
    with pytest.raises(ProductsMissingError, match=r"missing='mean' .* with_xx=True"):
        selector.fit_moments(moments_from(table, with_xx=False, **options))
    selector.fit_moments(moments_from(table, with_xx=True, **options))
