"""The bench of calibration: its data are as they say, runs go on, the page is of the files."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest

BENCHMARKS = Path(__file__).resolve().parents[2] / "benchmarks"


@pytest.fixture(autouse=True)
def benchmarks_on_path(monkeypatch):
    monkeypatch.syspath_prepend(str(BENCHMARKS))
    yield
    for name in [n for n in sys.modules if n.split(".")[0] in ("calibration", "knockoffs")]:
        del sys.modules[name]


def test_data_sets_are_what_the_setting_says():
    from calibration.settings import SETTINGS, is_real, problem

    for setting in SETTINGS.values():
        made = problem(setting, 3)
        assert made.X.shape == (setting.m, setting.p)
        assert made.Y.shape == (setting.m, setting.q)
        assert is_real(setting) in (0, 3)
        np.testing.assert_array_equal(problem(setting, 3).Y, made.Y)
        assert np.any(problem(setting, 4).Y != made.Y)


def test_runs_have_the_index_that_they_say():
    from calibration.settings import RUNS

    from projse.metrics import nogueira_stability

    for runs in RUNS.values():
        drawn = runs.draw(4000, np.random.default_rng(0))
        assert drawn.shape == (4000, runs.d)
        np.testing.assert_allclose(drawn.mean(axis=0), runs.chances, atol=0.04)
        np.testing.assert_allclose(nogueira_stability(drawn), runs.index, atol=0.02)


def test_further_rows_have_the_same_effects():
    from calibration.settings import SETTINGS, problem

    setting = SETTINGS["one output, 3 real"]
    few, many = problem(setting, 5), problem(setting, 5, m=20_000)
    effects = [np.linalg.lstsq(made.X, made.Y, rcond=None)[0][:3] for made in (few, many)]
    np.testing.assert_allclose(*effects, atol=0.8)


def test_a_rate_is_judged_by_its_own_error():
    from calibration.page import verdict

    assert verdict(0.05, 0.05, 1000) == "holds"
    assert verdict(0.06, 0.05, 1000) == "holds"
    assert verdict(0.08, 0.05, 1000) == "**too often**"
    assert verdict(0.02, 0.05, 1000) == "safe side"


@pytest.mark.slow
def test_a_run_goes_on_and_its_tables_have_every_measure(tmp_path, capsys):
    from calibration.cli import main
    from calibration.measures import MEASURES
    from knockoffs import store

    run = ["run", "--setting", "five outputs, 3 real", "five outputs", "--output", str(tmp_path)]
    main([*run, "--share", "0.01"])
    first = store.read(tmp_path, "five outputs", "auto")["found"]
    main([*run, "--share", "0.02", "--only", "auto"])
    assert store.read(tmp_path, "five outputs", "auto")["found"][: len(first)] == first
    capsys.readouterr()
    main(["tables", "--output", str(tmp_path)])
    text = capsys.readouterr().out
    assert text.count("| five outputs") >= len(MEASURES)
    assert "at commit " in text


def test_the_page_is_made_of_the_files():
    from calibration import page
    from calibration.cli import RESULTS
    from knockoffs import store

    text = page.PAGE.read_text()
    assert text == page.page(text, store.load(RESULTS))
