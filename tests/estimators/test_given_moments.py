"""Fits from moments: those that no rows have are refused, and so is what needs rows."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from planted import planted

from projse import Moments, ProjSe, ProjSeCV, StabilityProjSe, TwoViewProjSe, block_moments

FITS = {
    "one": (lambda: ProjSe(2), lambda parts: sum(parts[1:], start=parts[0]), "moments"),
    "two views": (lambda: TwoViewProjSe(2), lambda parts: parts[1], "moments"),
    "folds": (lambda: ProjSeCV(n_features=2), lambda parts: parts, r"folds\[1\]"),
    "blocks": (lambda: StabilityProjSe(ProjSe(2), 5), lambda parts: parts, r"blocks\[1\]"),
}


def blocks(seed):
    X, Y = planted(seed)
    return block_moments(X, Y, 5, random_state=seed, with_xx=True)


def with_nan(moments):
    yx = moments.yx.copy()
    yx[0, 3] = np.nan
    return replace(moments, yx=yx)


def with_too_much(moments):
    return replace(moments, xx_diag=-moments.xx_diag)


@pytest.mark.parametrize("damage", [with_nan, with_too_much])
@pytest.mark.parametrize("case", [name for name in FITS if name != "one"])
def test_moments_that_no_rows_have_are_refused_by_name(seed, case, damage):
    make, of, name = FITS[case]
    parts = blocks(seed)
    make().fit_moments(of(parts))
    parts[1] = damage(parts[1])
    with pytest.raises(ValueError, match=rf"^{name} cannot be those of any rows: "):
        make().fit_moments(of(parts))


@pytest.mark.parametrize("case", ["folds", "blocks"])
def test_files_of_moments_do_as_well(seed, case, tmp_path):
    make, _, _ = FITS[case]
    paths = [tmp_path / f"{i}.moments" for i in range(5)]
    for path, part in zip(paths, blocks(seed), strict=True):
        part.save(path)
    assert make().fit_moments(paths).support_.sum() >= 1


QR = {
    "fit_moments": lambda parts, X, Y: ProjSe(2, solver="qr").fit_moments(parts[0]),
    "partial_fit": lambda parts, X, Y: ProjSe(2, solver="qr").partial_fit(X, Y),
    "fit_source": lambda parts, X, Y: ProjSe(2, solver="qr").fit_source((X, Y)),
    "folds": lambda parts, X, Y: ProjSeCV(ProjSe(solver="qr")).fit_moments(parts),
    "folds of rows": lambda parts, X, Y: ProjSeCV(ProjSe(solver="qr")).fit(X, Y),
    "grid": lambda parts, X, Y: ProjSeCV(param_grid={"solver": ["auto", "qr"]}).fit(X, Y),
    "blocks": lambda parts, X, Y: StabilityProjSe(ProjSe(2, solver="qr")).fit_moments(parts),
    "blocks of rows": lambda parts, X, Y: StabilityProjSe(ProjSe(2, solver="qr"), blocks=10).fit(
        X, Y
    ),
}


@pytest.mark.parametrize("case", QR)
def test_a_solver_that_factors_rows_is_refused_where_there_are_none(seed, case):
    X, Y = planted(seed)
    with pytest.raises(ValueError, match=r"solver='qr' factors rows, .*solver='auto'"):
        QR[case](blocks(seed), X, Y)


def test_resamples_of_many_rows_are_factored_where_asked_for(seed, monkeypatch):
    """``blocks="auto"`` takes no blocks, which have only moments."""
    monkeypatch.setattr("projse.estimators.stability.ROW_LEVEL_SAMPLES", 50)
    X, Y = planted(seed)
    asked = []
    whole = ProjSe(2, solver="qr")
    model = StabilityProjSe(whole, 5, random_state=0)
    monkeypatch.setattr(model, "_fit_blocks", lambda *given: asked.append(given))
    model.fit(X, Y)
    assert not asked


def test_partial_fit_and_fit_moments_go_by_the_other_solvers(seed):
    X, Y = planted(seed)
    for solver in ("auto", "gram"):
        want = ProjSe(2, solver=solver).fit(X, Y).selected_.tolist()
        moments = Moments.from_arrays(X, Y)
        assert ProjSe(2, solver=solver).fit_moments(moments).selected_.tolist() == want
        assert ProjSe(2, solver=solver).partial_fit(X, Y).selected_.tolist() == want
