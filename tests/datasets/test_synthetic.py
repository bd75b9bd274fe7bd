"""The synthetic scheme: the same rows whatever the batches, and the truth it documents."""

from __future__ import annotations

import numpy as np
import pytest

from projse import ProjSe, datasets, subspace_correlation
from projse.datasets import synthetic


def test_two_views_have_the_shapes_types_and_the_truth_asked_for(seed):
    X, Y, W = datasets.make_two_view(50, 8, 3, coef=True, random_state=seed)
    assert (X.shape, Y.shape, W.shape) == ((50, 8), (50, 3), (8, 3))
    assert X.dtype == Y.dtype == W.dtype == np.float64
    assert X.flags.c_contiguous
    assert Y.flags.c_contiguous
    X, Y = datasets.make_two_view(50, 8, 3, dtype="float32", random_state=seed)
    assert X.dtype == Y.dtype == np.float32
    X, Y, W = datasets.make_two_view(50, 8, 3, noise=0, coef=True, random_state=seed)
    np.testing.assert_allclose(Y, X @ W)


def test_entries_are_normal_with_the_deviations_asked_for(seed):
    X, Y, W = datasets.make_two_view(
        5000, 20, 20, scale=2.0, noise=0.5, coef=True, random_state=seed
    )
    E = Y - X @ W
    for part, deviation in ((X, 2.0), (W, 2.0), (E, 0.5)):
        tolerance = 6 / np.sqrt(part.size)
        assert part.std() == pytest.approx(deviation, rel=tolerance)
        assert part.mean() == pytest.approx(0, abs=deviation * tolerance)
    both = np.corrcoef(np.hstack([X, E]), rowvar=False) - np.eye(40)
    assert np.abs(both).max() < 0.1  # seven standard errors
    X, Y, W = datasets.make_two_view(5000, 20, 20, scale=2.0, coef=True, random_state=seed)
    assert (Y - X @ W).std() == pytest.approx(2.0, rel=0.05)  # the paper: one for all


@pytest.mark.parametrize("noise", [0.5, 3.0])
def test_scores_are_those_of_the_documented_truth(seed, noise):
    X, Y, W = datasets.make_two_view(
        40_000, 6, 4, scale=1.5, noise=noise, coef=True, random_state=seed
    )
    s, e = 1.5**2, noise**2
    truth = np.diag(s * W @ np.linalg.inv(s * W.T @ W + e * np.eye(4)) @ W.T)
    np.testing.assert_allclose(subspace_correlation(X, Y) ** 2, truth, atol=0.03)


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("batch_size", [1000, synthetic.CHUNK_ROWS, 5000, 9000, 10**6])
def test_rows_are_the_same_whatever_the_batches(seed, batch_size, dtype):
    options = {"dtype": dtype, "random_state": seed}
    X, Y = datasets.make_two_view(9000, 7, 5, **options)
    batches = list(datasets.iter_two_view(9000, 7, 5, batch_size=batch_size, **options))
    sizes = [len(batch) for batch, _ in batches]
    assert set(sizes[:-1]) <= {batch_size}
    assert sum(sizes) == 9000
    assert np.array_equal(np.concatenate([batch for batch, _ in batches]), X)
    assert np.array_equal(np.concatenate([batch for _, batch in batches]), Y)


def test_batches_of_one_row_are_the_same_rows(seed):
    X, Y = datasets.make_two_view(40, 3, 2, random_state=seed)
    rows = list(datasets.iter_two_view(40, 3, 2, batch_size=1, random_state=seed))
    assert np.array_equal(np.concatenate([row for row, _ in rows]), X)
    assert np.array_equal(np.concatenate([row for _, row in rows]), Y)


def test_more_rows_begin_with_the_same_rows_and_the_same_map(seed):
    X, Y, W = datasets.make_two_view(10_000, 6, 4, coef=True, random_state=seed)
    for n in (1, 100, 5000):
        fewer = datasets.make_two_view(n, 6, 4, coef=True, random_state=seed)
        assert np.array_equal(fewer[0], X[:n])
        assert np.array_equal(fewer[1], Y[:n])
        assert np.array_equal(fewer[2], W)
    assert len(np.unique(X[:, 0])) == 10_000  # no chunk is repeated


def test_batches_do_not_share_memory_with_each_other(seed):
    batches = datasets.iter_two_view(100, 3, 2, batch_size=40, random_state=seed)
    X, Y = next(batches)
    kept = X.copy(), Y.copy()
    for later, _ in batches:
        later[:] = np.nan
    assert np.array_equal(X, kept[0])
    assert np.array_equal(Y, kept[1])


def test_very_wide_rows_are_made_few_at_a_time(seed):
    X, _ = datasets.make_two_view(3, 400_000, 2, random_state=seed)
    assert X.shape == (3, 400_000)
    again, _ = datasets.make_two_view(2, 400_000, 2, random_state=seed)
    assert np.array_equal(again, X[:2])


def test_random_state_is_what_scikit_learn_takes(seed):
    def rows(random_state):
        return datasets.make_two_view(5, 3, 2, random_state=random_state)[0].tolist()

    assert rows(seed) == rows(seed) == rows(np.int64(seed))
    assert rows(seed) != rows(seed + 1)
    assert rows(None) != rows(None)
    for kind in (np.random.RandomState, np.random.default_rng):
        assert rows(kind(seed)) == rows(kind(seed))
        state = kind(seed)
        assert rows(state) != rows(state)


@pytest.mark.parametrize(
    ("options", "why"),
    [
        ({"n_samples": 0}, "n_samples=0 is not a positive whole number"),
        ({"n_features": 2.5}, "n_features=2.5 is not"),
        ({"n_targets": True}, "n_targets=True is not"),
        ({"scale": -1}, "scale=-1 is not a standard deviation"),
        ({"noise": np.inf}, "noise=inf is not"),
        ({"noise": "a"}, "noise='a' is not"),
        ({"dtype": "int64"}, "dtype='int64' is neither float64 nor float32"),
        ({"random_state": -1}, "random_state=-1 is neither"),
        ({"random_state": "a"}, "random_state='a' is neither"),
    ],
)
def test_arguments_that_make_no_sense_are_refused_at_once(options, why):
    for make in (datasets.make_two_view, datasets.iter_two_view):
        with pytest.raises(ValueError, match=why):
            make(**options)
    with pytest.raises(ValueError, match="batch_size=0 is not"):
        datasets.iter_two_view(batch_size=0)


def test_streamed_batches_select_what_the_whole_does(seed):
    X, Y = datasets.make_two_view(6000, 12, 4, random_state=seed)
    selector = ProjSe(4)
    for batch in datasets.iter_two_view(6000, 12, 4, batch_size=1700, random_state=seed):
        selector.partial_fit(*batch)
    assert selector.selected_.tolist() == ProjSe(4).fit(X, Y).selected_.tolist()
