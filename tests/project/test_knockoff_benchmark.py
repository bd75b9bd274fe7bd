"""The bench of discoveries: its settings are as they say, runs go on, the page is of the files."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest

BENCHMARKS = Path(__file__).resolve().parents[2] / "benchmarks"


@pytest.fixture(autouse=True)
def benchmarks_on_path(monkeypatch):
    from projse.search.entrants import DISTANCES

    monkeypatch.syspath_prepend(str(BENCHMARKS))
    monkeypatch.setitem(DISTANCES, "mvr", DISTANCES["mvr"])  # the bench keeps s for a design
    yield
    for name in [name for name in sys.modules if name.split(".")[0] == "knockoffs"]:
        del sys.modules[name]


@pytest.mark.parametrize("name", ["one output", "near-copies", "class labels", "rows twice"])
def test_data_sets_are_what_the_setting_says(name):
    from knockoffs.settings import SETTINGS, problem

    setting = SETTINGS[name]
    made = problem(setting, 3)
    assert made.X.shape == (setting.m, setting.p)
    assert made.y.shape == (setting.m, setting.q)
    assert made.real.sum() == setting.n_real
    np.testing.assert_allclose(np.linalg.norm(made.X, axis=0), 1)
    np.testing.assert_allclose(made.moments.yx, made.y.T @ made.X)
    np.testing.assert_array_equal(problem(setting, 3).y, made.y)
    assert np.any(problem(setting, 4).y != made.y)


def test_shares_are_of_what_was_found_and_of_what_is_real():
    from knockoffs.contestants import judged

    real = np.array([True, True, True, False, False])
    assert judged(np.array([True, True, False, True, False]), real) == (1 / 3, 2 / 3)
    assert judged(np.zeros(5, dtype=bool), real) == (0.0, 0.0)


@pytest.mark.slow
def test_a_run_goes_on_and_its_tables_have_every_contestant(tmp_path, capsys):
    from knockoffs import store
    from knockoffs.cli import main

    run = ["run", "--setting", "one output", "--output", str(tmp_path), "--sets"]
    main([*run, "2"])
    first = store.read(tmp_path, "one output", "BH")["found"]
    main([*run, "3"])
    assert store.read(tmp_path, "one output", "BH")["found"][:2] == first
    assert len(store.read(tmp_path, "one output", "one draw")["found"]) == 3
    capsys.readouterr()
    main(["tables", "--output", str(tmp_path)])
    assert "| one output | 500 × 50 × 1 | 15 | 0" in capsys.readouterr().out


@pytest.mark.slow
def test_the_bench_counts_variables_where_copies_are_one():
    from knockoffs.contestants import CONTESTANTS, judged
    from knockoffs.settings import SETTINGS, problem

    from projse import KnockoffProjSe

    setting = SETTINGS["near-copies"]
    made = problem(setting, 1)
    model = KnockoffProjSe(fdr=0.2, n_draws=1, random_state=1).fit(made.X, made.y)
    first = np.arange(setting.p) < setting.p // 2  # the others are their copies
    expected = judged(model.support_[first], made.real[first])
    assert CONTESTANTS["several twins"](made, setting, 1)[2] == expected


def test_the_page_is_made_of_the_files():
    from knockoffs import page, store

    text = page.PAGE.read_text()
    assert text == page.page(text, store.load(store.RESULTS))


@pytest.mark.slow
def test_python_on_the_page_runs():
    import re

    from knockoffs import page

    (block,) = re.findall(r"```python\n(.*?)```", page.PAGE.read_text(), flags=re.DOTALL)
    names: dict[str, object] = {}
    exec(block, names)
    real = set(range(0, 75, 5))
    assert len(real & set(names["found"].selected_)) >= 10
