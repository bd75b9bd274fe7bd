"""Sketches of many outputs are the same from arrays, batches, files and clusters."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
import scipy.sparse as sp
from agreement import check
from numpy.testing import assert_allclose
from spectra import draw_outputs, sparse_labels

import projse
from projse import Moments, ProjSe, ProjSeCV, TwoViewProjSe, moments_from

pd = pytest.importorskip("pandas")

SKETCH = {"rank": 10, "solver": "sketch", "iterated_power": 1}
TIGHT = {"rtol": 1e-10, "atol": 1e-12}


def problem(seed, weighted=False):
    rng = np.random.default_rng([seed, 20])
    X, Y = draw_outputs(rng, "scales", m=260, q=60)
    w = rng.integers(1, 4, len(X)).astype(float) if weighted else None
    Z = Y[:, [1]] / Y[:, 1].std() + rng.normal(size=(len(X), 2))
    return X, Y, w, Z


def as_frame(X, Y, w=None, Z=None):
    parts = {"x": X, "y": Y, "w": w, "z": Z}
    columns = {
        f"{name}{j}": column
        for name, part in parts.items()
        if part is not None
        for j, column in enumerate(np.atleast_2d(part.T))
    }
    return pd.DataFrame(columns)


def selector():
    return ProjSe(8, **SKETCH)


@pytest.mark.determinism
@pytest.mark.parametrize("weighted", [False, True])
def test_arrays_and_batches(seed, weighted):
    X, Y, w, _ = problem(seed, weighted)
    want = selector().fit(X, Y, w)
    parts = (X, Y) if w is None else (X, Y, w)
    batches = [tuple(part[i : i + 100] for part in parts) for i in range(0, len(X), 100)]
    check(selector().fit_source(parts), want, **TIGHT)
    check(selector().fit_source(batches), want, **TIGHT)
    sparse = [(x, sp.csr_array(y), *rest) for x, y, *rest in batches]
    check(selector().fit_source(sparse), want, **TIGHT)


@pytest.mark.determinism
@pytest.mark.parametrize("format", ["frame", "parquet", "csv", "npy"])
def test_frames_and_files_with_weights_and_covariates(seed, tmp_path, format):
    X, Y, w, Z = problem(seed, True)
    frame = as_frame(X, Y, w, Z)
    want = selector().fit(X, Y, w, Z)
    names = {"targets": "y*", "weight": "w0", "covariates": "z*"}
    cuts = ((0, 90), (90, len(X)))
    if format == "frame":
        source = frame
    elif format == "npy":
        for i, (start, stop) in enumerate(cuts):
            np.save(tmp_path / f"{i}.npy", frame.to_numpy()[start:stop])
        p, q = X.shape[1], Y.shape[1]
        source = str(tmp_path)
        names = {
            "targets": [str(j) for j in range(p, p + q)],
            "weight": str(p + q),
            "covariates": [str(p + q + 1), str(p + q + 2)],
        }
    else:
        for i, (start, stop) in enumerate(cuts):
            part = frame[start:stop]
            path = tmp_path / f"{i}.{format}"
            if format == "parquet":
                part.to_parquet(path)
            else:
                part.to_csv(path, index=False, float_format="%.17g")
        source = str(tmp_path)
    got = selector().fit_source(source, **names)
    check(got, want, **TIGHT)
    assert_allclose(got.pvalues_, want.pvalues_, rtol=1e-5, atol=1e-14)


@pytest.mark.determinism
def test_dask_arrays_and_frames(seed):
    da = pytest.importorskip("dask.array")
    dd = pytest.importorskip("dask.dataframe")
    X, Y, w, Z = problem(seed, True)
    want = selector().fit(X, Y, w, Z)
    cut = [da.from_array(part, chunks=(70, -1)) for part in (X, Y)]
    got = selector().fit(*cut, da.from_array(w, chunks=70), da.from_array(Z, chunks=(70, -1)))
    check(got, want, **TIGHT)
    frame = dd.from_pandas(as_frame(X, Y), npartitions=3)
    x, y = ([c for c in frame.columns if c[0] == name] for name in "xy")
    check(selector().fit(frame[x], frame[y]), selector().fit(X, Y), **TIGHT)


def test_categories_among_candidates_and_covariates(seed):
    rng = np.random.default_rng([seed, 21])
    X, Y, _, _ = problem(seed)
    frame = as_frame(X[:, :6], Y).assign(city=rng.choice(list("abc"), len(X)))
    batch = pd.DataFrame({"batch": rng.choice(["p", "q", "r"], len(X))})
    candidates = frame[[c for c in frame if c[0] != "y"]]
    select = ProjSe(5, **SKETCH)
    got = select.fit(candidates, Y, covariates=batch)
    exact = ProjSe(5, rank=10, solver="gram").fit(candidates, Y, covariates=batch)
    check(got, exact, near=0.05, rtol=0.05, atol=0.01)
    whole = frame.assign(batch=batch["batch"])
    from_source = ProjSe(5, **SKETCH).fit_source(whole, targets="y*", covariates="batch")
    check(from_source, got, **TIGHT)


def test_a_source_that_cannot_be_read_again_and_a_state_are_told(tmp_path):
    X, Y, _, _ = problem(0)
    with pytest.raises(ValueError, match="can be read again, and no state"):
        selector().fit_source(iter([(X, Y)]))
    as_frame(X, Y).to_parquet(tmp_path / "a.parquet")
    with pytest.raises(ValueError, match="can be read again, and no state"):
        selector().fit_source(tmp_path / "a.parquet", targets="y*", state=tmp_path / "state")
    for refused in (selector().partial_fit, lambda X, Y: ProjSeCV(selector()).fit(X, Y)):
        with pytest.raises(ValueError, match="solver='sketch' goes over rows"):
            refused(X, Y)
    with pytest.raises(ValueError, match="solver='sketch' goes over rows"):
        selector().fit_moments(Moments.from_arrays(X, Y))


def test_files_with_more_outputs_than_any_matrix_holds_name_the_remedy(monkeypatch):
    """With a small limit: without rank, from a stream read once, and from moments."""
    monkeypatch.setattr("projse.moments.in_memory.MOST_OUTPUTS", 50)
    monkeypatch.setattr("projse.kernels.many_outputs.MANY_OUTPUTS", 40)
    X, Y, _, _ = problem(1)
    message = "y has 60 columns.*rank='auto'"
    for refused in (
        lambda: ProjSe(3).fit(X, Y),
        lambda: ProjSe(3, rank=4).partial_fit(X, Y),
        lambda: ProjSe(3, rank=4).fit_source(iter([(X, Y)])),
        lambda: ProjSe(3, rank=4, kernel="rbf").fit(X, Y),
        lambda: moments_from((X, Y)),
        lambda: Moments.from_arrays(X, Y),
        lambda: ProjSeCV(ProjSe(rank=4)).fit(X, Y),
        lambda: TwoViewProjSe(3, rank=4).fit(X, Y),
    ):
        with pytest.raises(ValueError, match=message):
            refused()
    assert len(ProjSe(3, rank=4).fit(X, Y).selected_) == 3
    assert len(ProjSe(3, rank=4).fit_source((X, Y)).selected_) == 3


def test_pickle_and_report_of_a_sketch(tmp_path):
    rng = np.random.default_rng(2)
    X, Y = sparse_labels(rng)
    fitted = selector().fit(X, sp.csr_array(Y))
    again = pickle.loads(pickle.dumps(fitted))
    check(again, fitted)
    assert len(pickle.dumps(fitted)) < 8 * X.shape[1] * 200 + 20_000
    projse.report(fitted, tmp_path / "report.html")
    assert "x0" in (tmp_path / "report.html").read_text(encoding="utf-8")
