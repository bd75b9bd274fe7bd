"""The benchmarks: their baseline is right, and what the README quotes is what was measured."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest
from agreement import check
from paper import paper_form

BENCHMARKS = Path(__file__).resolve().parents[2] / "benchmarks"


@pytest.fixture(autouse=True)
def benchmarks_on_path(monkeypatch):
    monkeypatch.syspath_prepend(str(BENCHMARKS))
    yield
    for path in BENCHMARKS.glob("*.py"):
        sys.modules.pop(path.stem, None)


def test_readme_and_site_quote_the_saved_results():
    import readme

    machines = readme.load_machines(readme.RESULTS)
    assert all(results["engine"] for results in machines.values())
    assert not any(made["quick"] for of in machines.values() for _, made in of.values())
    pages = readme.pages(machines)
    assert {path.name for path in pages} == {"README.md", "benchmarks.md"}
    for path, text in pages.items():
        assert path.read_text() == text, f"{path.name}: python benchmarks/readme.py"


@pytest.mark.parametrize("kernel", ["linear", "poly", "rbf"])
def test_textbook_baseline_picks_what_the_selector_picks(seed, kernel):
    from textbook import textbook_select

    rng = np.random.default_rng(seed)
    X = rng.normal(size=(120, 15))
    Y = X[:, :6] @ rng.normal(size=(6, 6)) + rng.normal(size=(120, 6))
    picks = textbook_select(X, Y, 5, kernel)
    selector = paper_form(5, kernel=kernel).fit(X, Y)
    check(selector, (picks, selector.scores_))


def test_a_time_below_its_baseline_is_drawn_as_better_than_its_target():
    import charts
    from rows import Row

    row = Row("spark", "work", "measure", -5.4, low=-5.9, high=0.5, at_most=1.5)
    assert charts._margin(row) == pytest.approx((10, 3, 10))


def test_row_of_times_shows_their_ratio_and_the_contestants_beside_it():
    from measure import MIB, Comparison
    from rows import time_ratio_row

    times = {"numpy": [2.0, 4.0, 4.0], "projse": [1.0, 1.0, 3.0], "other": [9.0, 9.0, 9.0]}
    measured = Comparison(times, {"numpy": MIB, "projse": 2 * MIB, "other": 3 * MIB})
    row = time_ratio_row("case", "work", "measure", measured, ("projse", "numpy"), at_most=0.6)
    assert (row.value, row.low, row.high, row.of_best, row.n_runs) == (0.5, 0.25, 0.75, 0.5, 3)
    assert row.passed
    assert row.seconds == {"numpy": 4.0, "projse": 1.0, "other": 9.0}
    assert row.memory_mib == {"numpy": 1.0, "projse": 2.0, "other": 3.0}
    over = ("projse", "numpy")
    pair = time_ratio_row("case", "work", "measure", measured, over, beside=over)
    assert list(pair.seconds) == list(pair.memory_mib) == ["projse", "numpy"]


def test_exponents_are_those_of_each_round():
    from measure import exponents
    from rows import spread_row

    slopes = exponents([1, 10, 100], [[1.0, 1.0, 2.0], [10.0, 1.0, 20.0], [100.0, 1.0, 200.0]])
    assert slopes == pytest.approx([1, 0, 1])
    row = spread_row("case", "work", "measure", slopes, unit="exponent")
    assert (row.value, row.low, row.high, row.n_runs) == pytest.approx((1, 0, 1, 3))


def test_suite_goes_on_when_a_case_fails(monkeypatch):
    import run

    def isolated(function, suite, case, quick):
        if case == "broken":
            raise RuntimeError("no such thing")
        return [case]

    monkeypatch.setattr(run, "isolated", isolated)
    monkeypatch.setattr(run, "progress", lambda message: None)
    failed, done = run.run_rows("engine", ["broken", "whole"], quick=True)
    assert done == "whole"
    assert (failed.case, failed.value) == ("broken", None)
    assert failed.note == "not run: RuntimeError: no such thing"


@pytest.mark.slow
@pytest.mark.parametrize(
    "case", ["search", "few-outputs", "growth-in-rows", "small-fits", "include"]
)
def test_case_of_the_engine_runs_in_a_process_of_its_own(case):
    from measure import isolated
    from suites import run_case

    rows = isolated(run_case, "engine", case, True)
    assert rows
    assert {row.case for row in rows} == {case}
    # An exponent of growth, measured at the small sizes of a quick run, may have either sign.
    assert all(np.isfinite(row.value) and row.memory_mib for row in rows)
    assert all(second > 0 for row in rows for second in row.seconds.values())


def test_cases_run_later_stand_beside_those_of_the_same_commit_only(tmp_path):
    import saved
    from rows import Row

    def made(commit):
        return {"quick": False, "command": "-", "minutes": 1.0, "machine": {"commit": commit}}

    def cases():
        return {row.case: row.value for row in saved.load(tmp_path)["engine"][0]}

    first, again, other = (
        Row(c, "w", "m", v) for c, v in (("tall", 1), ("tall", 2), ("search", 3))
    )
    saved.save("engine", [other], made("a"), tmp_path)
    saved.save("engine", [first], made("a"), tmp_path, cases=True)
    saved.save("engine", [again], made("a"), tmp_path, cases=True)
    assert list(cases().items()) == [("tall", 2), ("search", 3)]
    saved.save("engine", [again], made("b"), tmp_path, cases=True)
    assert cases() == {"tall": 2}


def test_other_kernels_are_another_machine(monkeypatch):
    import machine

    monkeypatch.delenv("OPENBLAS_CORETYPE", raising=False)
    own = machine.kind()
    monkeypatch.setattr(machine, "blas_kernels", lambda: "Prescott")
    assert machine.kind() == own
    monkeypatch.setenv("OPENBLAS_CORETYPE", "Prescott")
    assert machine.kind() == f"{own}-prescott-kernels"
    import run

    assert run.command_line(["--quick"]) == (
        "OPENBLAS_CORETYPE=Prescott python benchmarks/run.py --quick"
    )


def test_own_kernels_stand_before_others_of_a_machine(tmp_path):
    import saved
    from report import kind_title
    from rows import Row

    made = {"quick": False, "command": "-", "minutes": 1.0, "machine": {"commit": "a"}}
    for kind in ("amd-avx2", "intel-avx512-haswell-kernels", "intel-avx512"):
        saved.save("engine", [Row("tall", "w", "m", 1.0)], made, tmp_path / kind)
    assert [kind_title(kind) for kind in saved.load_machines(tmp_path)] == [
        "Intel, AVX-512",
        "Intel, AVX-512, Haswell kernels",
        "AMD, AVX2",
    ]
