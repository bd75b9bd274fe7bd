"""Weights that are no counts are refused wherever rows come from; few variables can be found."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from projse import KnockoffProjSe, Moments, moments_from


def table(seed, m=120):
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame(rng.normal(size=(m, 8)), columns=[f"x{j}" for j in range(8)])
    frame["y0"] = frame.x0 + rng.normal(size=m)
    return frame, rng


def weights(kind, rng, m):
    """Weights of no whole numbers; those of mean 1 add up to the number of rows exactly."""
    if kind == "survey":
        return rng.uniform(1000, 4000, m)
    return rng.permutation(np.repeat([0.5, 1.5], m // 2))


@pytest.mark.parametrize("kind", ["survey", "normalised"])
def test_weights_that_are_no_counts_are_refused_in_files(seed, tmp_path, kind):
    frame, rng = table(seed)
    frame["w"] = weights(kind, rng, len(frame))
    frame.to_csv(tmp_path / "rows.csv", index=False)
    found = KnockoffProjSe(random_state=0, n_draws=2)
    with pytest.raises(ValueError, match="counts of rows"):
        found.fit_source(tmp_path / "rows.csv", targets="y0", weight="w")
    X, Y = frame.filter(like="x").to_numpy(), frame[["y0"]].to_numpy()
    with pytest.raises(ValueError, match="counts of rows"):
        found.fit(X, Y, sample_weight=frame.w.to_numpy())


def summed(frame, weight, **options):
    X, Y = frame.filter(like="x").to_numpy(), frame[["y0"]].to_numpy()
    return Moments.from_arrays(X, Y, weight, with_xx=True, **options)


@pytest.mark.parametrize("kind", ["survey", "normalised"])
def test_weights_that_are_no_counts_are_refused_in_moments(seed, tmp_path, kind):
    frame, rng = table(seed)
    weight = weights(kind, rng, len(frame))
    summed(frame, weight).save(tmp_path / "rows.moments")
    half = len(frame) // 2
    parts = [summed(frame[:half], weight[:half]), summed(frame[half:], None)]
    odd = summed(frame, weight)
    loaded, rest = Moments.load(tmp_path / "rows.moments"), odd + odd - odd
    for moments in (odd, loaded, parts[0] + parts[1], rest):
        assert moments.whole_weights is False
    for given in (odd, parts, Moments.load(tmp_path / "rows.moments")):
        with pytest.raises(ValueError, match="counts of rows"):
            KnockoffProjSe(random_state=0, n_draws=2).fit_moments(given)


@pytest.mark.filterwarnings("ignore::projse.exceptions.NothingSelectedWarning")
def test_a_state_folder_knows_of_weights_that_are_no_counts(seed, tmp_path):
    frame, rng = table(seed)
    frame["w"] = weights("normalised", rng, len(frame))
    frame.to_csv(tmp_path / "rows.csv", index=False)
    for _ in range(2):
        moments = moments_from(
            tmp_path / "rows.csv", targets="y0", weight="w", state=tmp_path / "state", with_xx=True
        )
        assert moments.whole_weights is False


@pytest.mark.filterwarnings("ignore::projse.exceptions.NothingSelectedWarning")
def test_weights_of_1_are_counts(seed, tmp_path):
    frame, _ = table(seed)
    frame.assign(w=1.0).to_csv(tmp_path / "rows.csv", index=False)
    found = KnockoffProjSe(random_state=0, n_draws=2)
    found.fit_source(tmp_path / "rows.csv", targets="y0", weight="w")
    assert found.moments_.whole_weights is True


def test_rows_that_are_gone_have_no_say(seed):
    frame, rng = table(seed)
    survey, counts = summed(frame, weights("survey", rng, len(frame))), summed(frame, None)
    coarse = replace(survey, eps=1e-7, y_roundoff=1e-7)
    nothing = coarse - coarse
    assert nothing.whole_weights is None
    for moments in (counts, survey):
        for total in (nothing + moments, moments + nothing, moments - nothing):
            assert total.whole_weights is moments.whole_weights
            assert (total.eps, total.y_roundoff) == (moments.eps, moments.y_roundoff)
    assert (counts - counts + nothing).whole_weights is None


@pytest.mark.filterwarnings("ignore::projse.exceptions.NothingSelectedWarning")
def test_moments_of_before_do_not_tell_and_go_by_the_sum(seed, tmp_path):
    frame, rng = table(seed)
    unknown = replace(summed(frame, None), whole_weights=None)
    unknown.save(tmp_path / "rows.moments")
    loaded = Moments.load(tmp_path / "rows.moments")
    assert loaded.whole_weights is None
    assert (loaded + summed(frame, None)).whole_weights is None
    KnockoffProjSe(random_state=0, n_draws=2).fit_moments(loaded)
    survey = replace(summed(frame, weights("survey", rng, len(frame))), whole_weights=None)
    with pytest.raises(ValueError, match="counts of rows"):
        KnockoffProjSe(random_state=0, n_draws=2).fit_moments(survey)


@pytest.mark.filterwarnings("ignore::projse.exceptions.NothingSelectedWarning")
def test_counts_in_files_are_rows_as_often(seed, tmp_path):
    frame, rng = table(seed)
    counts = rng.integers(1, 4, len(frame))
    frame.assign(w=counts).to_csv(tmp_path / "counts.csv", index=False)
    frame.loc[frame.index.repeat(counts)].to_csv(tmp_path / "rows.csv", index=False)
    found = [
        KnockoffProjSe(random_state=0, n_draws=2).fit_source(tmp_path / name, **options)
        for name, options in (
            ("counts.csv", {"targets": "y0", "weight": "w"}),
            ("rows.csv", {"targets": "y0"}),
        )
    ]
    np.testing.assert_allclose(found[0].statistics_, found[1].statistics_, rtol=1e-6)


@pytest.mark.parametrize("n_variables", [1, 2])
def test_one_or_two_variables_can_be_found(seed, n_variables):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(2000, n_variables))
    Y = 10 * X @ np.ones((n_variables, 3)) + rng.normal(size=(2000, 3))
    found = KnockoffProjSe(random_state=0, n_draws=1).fit(X, Y)
    assert sorted(found.selected_) == list(range(n_variables))


def test_weights_of_any_size_are_counts(seed):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(120, 5))
    Y = X[:, :2] + rng.normal(size=(120, 2))
    found = [
        KnockoffProjSe(n_draws=3, fdr=0.5, random_state=0).fit(X, Y, np.full(120, weight))
        for weight in (1e12, 1e200)
    ]
    np.testing.assert_array_equal(found[0].selected_, found[1].selected_)
