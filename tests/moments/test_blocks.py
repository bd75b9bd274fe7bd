"""Blocks of rows: any sum of them equals the moments of their rows."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose

from projse import Moments, block_moments
from projse.moments.blocks import StackedMoments, all_but_one, moments_of_blocks
from projse.moments.resample import deal, draw_counts, draw_rows
from projse.sources.rows import make_rows


def assert_same_moments(a, b, rtol=1e-9):
    assert a.n_samples == b.n_samples
    for name in ("sum_weights", "x_mean", "y_mean", "yy", "yx", "xx_diag", "xx"):
        mine, other = getattr(a, name), getattr(b, name)
        assert (mine is None) == (other is None), name
        if mine is not None:
            scale = np.abs(other).max()
            assert_allclose(mine, other, rtol=rtol, atol=1e-12 * scale, err_msg=name)


def problem(seed, kind):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(90, 5)) * [1, 10, 0.1, 1, 1] + [0, 1e4, 3, -2, 0]
    Y = rng.normal(size=(90, 3)) + X[:, :1]
    weight = rng.integers(1, 4, 90) if kind == "weights" else None
    if kind == "classes":
        Y = np.array(["a", "b", "c"])[rng.integers(0, 3, 90)]
        Y[:3] = "a", "b", "c"
    return X, (None if kind == "one view" else Y), weight


@pytest.mark.parametrize("with_xx", [False, True])
@pytest.mark.parametrize("kind", ["plain", "weights", "classes", "one view"])
def test_sums_of_blocks_are_the_moments_of_their_rows(seed, kind, with_xx):
    rng = np.random.default_rng([seed, 1])
    X, Y, weight = problem(seed, kind)
    rows = make_rows(X, Y, weight)
    blocks = deal(90, 7, rng, None, None)
    parts = moments_of_blocks(rows, blocks, with_xx=with_xx, n_jobs=2)
    counts = rng.integers(0, 3, (6, 7))
    counts[:, 0] += 1
    for row, got in zip(counts, StackedMoments(parts).sums(counts, chunk=4), strict=True):
        chosen = np.repeat(np.concatenate(blocks), np.repeat(row, [len(b) for b in blocks]))
        again = rows.take(chosen)
        want = moments_of_blocks(again, [np.arange(len(chosen))], with_xx=with_xx)[0]
        assert_same_moments(got, want)


def test_stacks_unite_classes(seed):
    X, Y, _ = problem(seed, "classes")
    order = np.argsort(Y, kind="stable")
    X, Y = X[order], Y[order]
    parts = [Moments.from_arrays(X[s], Y[s]) for s in (slice(0, 40), slice(40, 90))]
    (whole,) = StackedMoments(parts).sums(np.array([[1, 1]]))
    assert_same_moments(whole, Moments.from_arrays(X, Y))
    assert whole.classes.tolist() == ["a", "b", "c"]


@pytest.mark.parametrize("n", [2, 3, 8])
def test_all_but_one(seed, n):
    X, Y, _ = problem(seed, "plain")
    rows = make_rows(X, Y)
    folds = np.array_split(np.arange(90), n)
    parts = moments_of_blocks(rows, folds, with_xx=True)
    for fold, got in zip(folds, all_but_one(parts), strict=True):
        left = np.setdiff1d(np.arange(90), fold)
        assert_same_moments(got, Moments.from_arrays(X[left], Y[left], with_xx=True))


def test_dealing_parts_the_rows_evenly(seed):
    rng = np.random.default_rng(seed)
    blocks = deal(103, 10, rng, None, None)
    assert np.array_equal(np.sort(np.concatenate(blocks)), np.arange(103))
    assert {len(b) for b in blocks} == {10, 11}
    assert any(np.any(np.diff(b) != 1) for b in blocks), "dealt at random, not in runs"
    strata = np.repeat([0, 1, 2], [50, 30, 23])
    for block in deal(103, 10, rng, strata, None):
        shares = np.bincount(strata[block], minlength=3)
        assert np.all(np.abs(shares - np.array([5.0, 3.0, 2.3])) < 1)
    groups = rng.integers(0, 17, 103)
    groups[:17] = np.arange(17)
    of_group = {}
    for i, block in enumerate(deal(103, 4, rng, None, groups)):
        for group in groups[block]:
            assert of_group.setdefault(group, i) == i, "a group stays in one block"
    assert len(of_group) == 17


@pytest.mark.parametrize("bootstrap", [False, True])
def test_draws(seed, bootstrap):
    rng = np.random.default_rng(seed)
    counts = draw_counts(20, 8, 200, rng, bootstrap)
    assert np.all(counts.sum(axis=1) == 8)
    assert (counts.max() > 1) == bootstrap
    strata = np.repeat([0, 1], [30, 10])
    for rows in draw_rows(40, 0.5, 5, rng, bootstrap, strata, None):
        assert np.bincount(strata[rows]).tolist() == [15, 5]
        assert (len(np.unique(rows)) == 20) or bootstrap
    groups = np.repeat(np.arange(8), 5)
    for rows in draw_rows(40, 0.5, 5, rng, bootstrap, None, groups):
        present, sizes = np.unique(groups[rows], return_counts=True)
        assert np.all(sizes % 5 == 0)
        assert sizes.sum() == 20
        assert bootstrap or len(present) == 4


@pytest.mark.parametrize("kind", ["plain", "weights", "classes", "one view"])
def test_public_blocks_add_up_to_all_rows(seed, kind):
    X, Y, weight = problem(seed, kind)
    blocks = block_moments(X, Y, 6, weight, random_state=seed)
    assert len(blocks) == 6
    assert_same_moments(sum(blocks), Moments.from_arrays(X, Y, weight))
    again = block_moments(X, Y, 6, weight, random_state=seed, n_jobs=1)
    for a, b in zip(blocks, again, strict=True):
        assert np.array_equal(a.xx_diag, b.xx_diag)


def test_public_blocks_refuse_what_they_cannot_deal(seed):
    X, Y, _ = problem(seed, "plain")
    for n in (1, 91, 2.5):
        with pytest.raises(ValueError, match=f"n_blocks={n} must be"):
            block_moments(X, Y, n)
    with pytest.raises(ValueError, match="groups has shape"):
        block_moments(X, Y, 5, groups=[1, 2])


@pytest.mark.parametrize("far", [1e6, 1e12, 1e16])
def test_one_row_far_away_is_not_felt_where_its_block_is_left_out(seed, far):
    rng = np.random.default_rng([seed, 9])
    X, Y = rng.normal(size=(200, 3)), rng.normal(size=(200, 2))
    X[17, 1], Y[17, 0] = far, -far
    blocks = [Moments.from_arrays(X[i::10], Y[i::10], with_xx=True) for i in range(10)]
    counts = np.ones((1, 10))
    counts[0, 7] = 0
    got = next(StackedMoments(blocks).sums(counts))
    rest = np.arange(200) % 10 != 7
    want = Moments.from_arrays(X[rest], Y[rest], with_xx=True)
    for name in ("x_mean", "y_mean", "yy", "yx", "xx_diag", "xx"):
        assert_allclose(getattr(got, name), getattr(want, name), rtol=1e-9, atol=1e-10)


def test_blocks_spread_labels_by_the_rows_that_have_weight(seed):
    rng = np.random.default_rng([seed, 8])
    y = rng.permutation(np.repeat(["a", "b"], [6, 94]))
    weight = np.where((y == "b") & (rng.random(100) < 0.6), 0.0, 1.0)
    for block in block_moments(rng.normal(size=(100, 2)), y, 3, weight, random_state=seed):
        assert block.y_mean[0] * block.sum_weights == pytest.approx(2)
