"""The benchmarks: their baseline is right, and what the README quotes is what was measured."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest
from agreement import check

from projse import ProjSe

BENCHMARKS = Path(__file__).resolve().parents[2] / "benchmarks"


@pytest.fixture(autouse=True)
def benchmarks_on_path(monkeypatch):
    monkeypatch.syspath_prepend(str(BENCHMARKS))
    yield
    for path in BENCHMARKS.glob("*.py"):
        sys.modules.pop(path.stem, None)


def test_readme_quotes_the_saved_results():
    import readme

    text = readme.README.read_text()
    results = readme.load(readme.RESULTS)
    assert results["engine"]
    assert not any(made["quick"] for _, made in results.values())
    assert text == readme.with_section(text, results)


@pytest.mark.parametrize("kernel", ["linear", "poly", "rbf"])
def test_textbook_baseline_picks_what_the_selector_picks(seed, kernel):
    from textbook import textbook_select

    rng = np.random.default_rng(seed)
    X = rng.normal(size=(120, 15))
    Y = X[:, :6] @ rng.normal(size=(6, 6)) + rng.normal(size=(120, 6))
    picks = textbook_select(X, Y, 5, kernel)
    selector = ProjSe(5, kernel=kernel).fit(X, Y)
    check(selector, (picks, selector.scores_))


def test_a_time_below_its_baseline_is_drawn_as_better_than_its_target():
    import charts
    from rows import Row

    row = Row("spark", "work", "measure", -5.4, low=-5.9, high=0.5, at_most=1.5)
    assert charts._margin(row) == pytest.approx((10, 3, 10))
