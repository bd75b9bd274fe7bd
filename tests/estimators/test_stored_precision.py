"""References that were stored in float32: their rounding is no direction of theirs."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from variants import slow

from projse import Moments, ProjSe

DIMENSION = 5


def far_outputs(seed, far, n_outputs=60):
    """Five directions in many outputs, ``far`` deviations from 0, stored in float32."""
    rng = np.random.default_rng([seed, 1])
    F = rng.normal(size=(600, DIMENSION))
    X = rng.normal(size=(600, 12))
    X[:, :DIMENSION] += F
    Y = F @ rng.normal(size=(DIMENSION, n_outputs))
    return X, (Y / Y.std(axis=0) + far).astype(np.float32)


def of_arrays(X, Y, tmp_path, **parameters):
    return ProjSe(5, **parameters).fit(X, Y)


def of_moments(X, Y, tmp_path, **parameters):
    halves = [Moments.from_arrays(X[i::2], Y[i::2], with_xx=True) for i in range(2)]
    return ProjSe(5, **parameters).fit_moments(halves[0] + halves[1])


def of_saved_moments(X, Y, tmp_path, **parameters):
    Moments.from_arrays(X, Y, with_xx=True).save(tmp_path / "rows.moments")
    return ProjSe(5, **parameters).fit_moments(Moments.load(tmp_path / "rows.moments"))


def of_file(X, Y, tmp_path, **parameters):
    frame = pd.DataFrame(X).add_prefix("x").join(pd.DataFrame(Y).add_prefix("y"))
    frame.to_parquet(tmp_path / "rows.parquet")
    source = str(tmp_path / "rows.parquet")
    return ProjSe(5, **parameters).fit_source(source, targets="y*")


SKETCHED = {"solver": "sketch", "rank": 50}
WHOLE = {"solver": "gram"}


@pytest.mark.parametrize("alpha", [0.0, *slow("auto")])
@pytest.mark.parametrize("far", [1.0, 100.0, *slow(0.0, 1000.0)])
@pytest.mark.parametrize(
    ("fit", "parameters"),
    [
        (of_arrays, WHOLE),
        (of_arrays, SKETCHED),
        (of_moments, {}),
        (of_saved_moments, {}),
        (of_file, {}),
        (of_file, SKETCHED),
    ],
)
def test_rounding_of_float32_outputs_is_no_direction(seed, tmp_path, fit, parameters, far, alpha):
    X, Y = far_outputs(seed, far)
    model = fit(X, Y, tmp_path, alpha=alpha, **parameters)
    assert model.reference_rank_ == DIMENSION
    exact = ProjSe(5, alpha=alpha).fit(X, Y.astype(np.float64) - far)
    np.testing.assert_array_equal(np.sort(model.selected_), np.sort(exact.selected_))


@pytest.mark.parametrize("parameters", [WHOLE, SKETCHED])
def test_nor_beside_covariates_in_float64(seed, parameters):
    X, Y = far_outputs(seed, 100.0)
    Z = np.random.default_rng([seed, 2]).normal(size=(len(X), 2))
    model = ProjSe(5, alpha=0.0, **parameters).fit(X, Y, covariates=Z)
    assert model.reference_rank_ == DIMENSION


def test_nor_beside_covariates_in_a_file(seed, tmp_path):
    X, Y = far_outputs(seed, 100.0)
    frame = pd.DataFrame(X).add_prefix("x").join(pd.DataFrame(Y).add_prefix("y"))
    frame["site"] = np.random.default_rng([seed, 3]).normal(size=len(X))
    frame.to_parquet(tmp_path / "rows.parquet")
    source = str(tmp_path / "rows.parquet")
    model = ProjSe(5, alpha=0.0).fit_source(source, targets="y*", covariates=["site"])
    assert model.reference_rank_ == DIMENSION


def test_outputs_in_float64_keep_directions_that_float32_could_not_hold(seed):
    X, Y = far_outputs(seed, 0.0)
    noise = np.random.default_rng([seed, 4]).normal(size=Y.shape)
    Y = Y.astype(np.float64) + 1e-4 * noise + 100.0
    for parameters in (WHOLE, {"solver": "sketch", "rank": 50}):
        model = ProjSe(5, alpha=0.0, **parameters).fit(X, Y)
        assert model.reference_rank_ == parameters.get("rank", Y.shape[1])


def test_sums_know_the_coarsest_that_went_in():
    X, Y = far_outputs(0, 1.0)
    coarse, fine = (Moments.from_arrays(X, Y.astype(t)) for t in (np.float32, np.float64))
    assert fine.y_roundoff == np.finfo(np.float64).eps
    assert coarse.y_roundoff == (fine + coarse).y_roundoff == np.finfo(np.float32).eps
