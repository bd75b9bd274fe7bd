"""The choice from held-out scores: better by more than chance, or what is preferred."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.stats

from projse.estimators.held_out_choice import choose, predicts, standard_error

DIFFICULTY = np.array([-0.4, 0.0, 0.1, 0.3])
"""Folds differ by far more than what is compared on them."""


def scores(*curves):
    """Curves of mean scores, with folds that differ alike for all."""
    return np.array(curves)[:, :, None] + DIFFICULTY


def test_a_lead_in_every_fold_counts_however_much_folds_differ():
    assert choose(scores([0.50], [0.51]), "1se") == (1, 0)


def test_a_lead_that_comes_and_goes_does_not_count():
    both = scores([0.50], [0.51])
    both[1, 0] += [0.1, -0.1, 0.1, -0.1]
    assert choose(both, "1se") == (0, 0)
    assert choose(both, "best") == (1, 0)


def test_the_fewest_variables_within_one_standard_error():
    curve = scores([0.1, 0.5, 0.55, 0.6, 0.59])
    error = standard_error(curve)[0, 3]
    assert 0.1 < error < 0.5
    assert choose(curve, "1se") == (0, 1)
    assert choose(curve, "best") == (0, 3)


def test_what_differs_by_rounding_is_equal():
    for rule in ("1se", "best"):
        assert choose(scores([0.3, 0.5], [0.3, 0.5 + 1e-15]), rule)[0] == 0


def test_entries_that_could_not_be_judged_are_not_chosen():
    nan = float("nan")
    for rule in ("1se", "best"):
        entry, size = choose(scores([nan, nan], [0.2, nan], [nan, 0.9]), rule)
        assert (entry, size) == (2, 1)


@pytest.mark.parametrize("overlap", [0.0, 0.25, 1.0])
def test_what_predicts_is_above_zero_by_more_than_chance(overlap):
    folds = scores([0.0])
    k = folds.shape[2]
    # The 95 % quantile of Student's t, by its tail; the variance that folds share comes on top.
    quantile = scipy.stats.t.isf(0.05, k - 1)
    error = folds[0, 0].std(ddof=1) * np.sqrt(1 / k + overlap)
    for times, answer in ((-1, False), (0.99 * quantile, False), (1.01 * quantile, True)):
        assert predicts(scores([-9.0, float("nan"), times * error]), overlap) is answer
