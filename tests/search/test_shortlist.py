"""A shortlist: rows for many likely picks at a time, made again only where a pick is outside."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from projse.search.shortlist import Shortlist

K = np.eye(40) + 0.1


class CountedGram:
    """Rows of a kernel matrix, and which were asked for at a time."""

    def __init__(self, narrow=False):
        self.asked = []
        self.narrow_x_rows, self.far_x_rows = narrow, False

    def x_rows(self, indices):
        self.asked.append(indices.tolist())
        return K[indices]


@pytest.fixture
def short(monkeypatch):
    monkeypatch.setattr("projse.search.shortlist.SHORTLIST", 4)


def row(shortlist, j, scores):
    return shortlist.rows(np.array([j]), lambda: scores)[0]


@pytest.mark.usefixtures("short")
def test_it_is_filled_again_only_when_a_pick_is_outside():
    gram, eligible, scores = CountedGram(), np.ones(40, dtype=bool), np.arange(40.0)
    shortlist = Shortlist(gram, 30, eligible)
    for j in (39, 38, 36):
        assert_array_equal(row(shortlist, j, scores), K[j])
        eligible[j] = False
    assert gram.asked == [[39, 36, 37, 38]]
    assert_array_equal(row(shortlist, 0, scores), K[0])
    # 37 is at hand, and those that were picked are not likely.
    assert gram.asked[1:] == [[0, 33, 34, 35]]
    assert_array_equal(row(shortlist, 37, scores), K[37])
    assert shortlist.n_fills == 2


@pytest.mark.usefixtures("short")
def test_a_round_is_made_at_once_however_long_it_is():
    gram, wanted = CountedGram(), np.arange(20, 30)
    shortlist = Shortlist(gram, 30, np.ones(40, dtype=bool))
    assert_array_equal(shortlist.rows(wanted, lambda: np.arange(40.0)), K[wanted])
    assert [len(asked) for asked in gram.asked] == [14]


def test_likely_rows_are_as_many_as_the_picks_to_come_ask_for(monkeypatch):
    monkeypatch.setattr("projse.search.shortlist.SPARE", 2)
    gram, wanted = CountedGram(), np.arange(20)
    shortlist = Shortlist(gram, 23, np.arange(40) >= 20)
    shortlist.rows(wanted, lambda: np.arange(40.0))
    assert gram.asked == [[*range(20), 35, 36, 37, 38, 39]]
    row(shortlist, 21, np.arange(40.0))
    assert gram.asked[1:] == [[21]]  # two more to come and two spare, which are there


def test_rows_are_the_callers_to_write_to():
    gram, scores = CountedGram(), np.arange(40.0)
    shortlist = Shortlist(gram, 30, np.ones(40, dtype=bool))
    row(shortlist, 39, scores)[:] = 0.0
    assert_array_equal(row(shortlist, 39, scores), K[39])


def test_rows_that_cost_little_are_made_one_by_one():
    gram = CountedGram(narrow=True)
    shortlist = Shortlist(gram, 30, np.ones(40, dtype=bool))
    for j in (3, 1):
        row(shortlist, j, np.ones(40))
    assert gram.asked == [[3], [1]]


@pytest.mark.parametrize(("far", "most"), [(False, 4), (True, 8)])
def test_no_more_rows_are_made_at_a_time_than_fit_in_memory(short, far, most):
    gram = CountedGram()
    gram.far_x_rows = far
    Shortlist(gram, 39, np.ones(40, bool)).rows(np.array([0]), lambda: np.arange(40, 0, -1.0))
    assert [len(asked) for asked in gram.asked] == [most]
