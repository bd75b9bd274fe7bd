"""The paper's experiments: their parts are right, they resume, and the page is what was saved."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from paper import paper_form
from sklearn.svm import SVC

from projse.metrics import canonical_correlations, kernel_alignment

ROOT = Path(__file__).resolve().parents[2]
EXPERIMENTS = ROOT / "experiments"
RESULTS = EXPERIMENTS / "results"
PAGE = ROOT / "docs" / "results.md"

pytest.importorskip("matplotlib", reason="figures need matplotlib: pip install -e '.[test]'")


@pytest.fixture(autouse=True)
def experiments_on_path(monkeypatch):
    monkeypatch.syspath_prepend(str(EXPERIMENTS))


class Silent:
    def __init__(self):
        self.outcomes = []

    def begin(self, unit):
        pass

    def end(self, unit, outcome):
        self.outcomes.append(outcome)


def test_second_run_does_nothing_again(tmp_path):
    from projse_paper.runner import run
    from projse_paper.store import Store, Unit

    calls = []

    def work(value):
        calls.append(value)
        return {"value": np.float64(value) / 3, "array": np.arange(3)}

    units = [Unit("e", f"u{i}", {"i": i}, lambda i=i: work(i)) for i in range(4)]
    store = Store(tmp_path)
    assert run(units[:2], store, Silent()) == {"done": 2, "already there": 0, "not run": 0}
    assert run(units, store, Silent()) == {"done": 2, "already there": 2, "not run": 0}
    assert calls == [0, 1, 2, 3]
    assert store.records("e")["u2"].results == {"value": 0.6666667, "array": [0, 1, 2]}


def test_run_that_breaks_keeps_what_was_done(tmp_path):
    from projse_paper.runner import run
    from projse_paper.store import Store, Unit

    def broken():
        raise KeyboardInterrupt

    store = Store(tmp_path)
    units = [Unit("e", "a", {}, lambda: {"x": 1}), Unit("e", "b", {}, broken)]
    with pytest.raises(KeyboardInterrupt):
        run(units, store, Silent())
    assert list(store.records("e")) == ["a"]
    repaired = [units[0], Unit("e", "b", {}, lambda: {"x": 2})]
    assert run(repaired, store, Silent()) == {"done": 1, "already there": 1, "not run": 0}


def test_other_parameters_are_other_work(tmp_path):
    from projse_paper.runner import run
    from projse_paper.store import Store, Unit

    store = Store(tmp_path)
    run([Unit("e", "a", {"n": 1}, lambda: {"x": 1})], store, Silent())
    counts = run([Unit("e", "a", {"n": 2}, lambda: {"x": 2})], store, Silent())
    assert counts["done"] == 1
    assert store.records("e")["a"].results == {"x": 2}


def test_missing_data_is_reported_and_tried_again(tmp_path):
    from projse_paper.runner import run
    from projse_paper.store import NotRun, Store, Unit

    def missing():
        raise NotRun("data not at hand")

    store = Store(tmp_path)
    progress = Silent()
    run([Unit("e", "a", {}, missing)], store, progress)
    assert progress.outcomes == ["not run: data not at hand"]
    assert store.records("e")["a"].reason == "data not at hand"
    assert run([Unit("e", "a", {}, lambda: {"x": 1})], store, Silent())["done"] == 1


def test_every_record_says_how_it_was_made(tmp_path):
    from projse_paper.runner import run
    from projse_paper.store import Store, Unit

    store = Store(tmp_path)
    run([Unit("e", "a", {}, lambda: {"x": 1})], store, Silent())
    made = store.records("e")["a"].content["made"]
    assert set(made) == {"command", "commit", "versions", "machine", "date", "seconds"}


@pytest.mark.parametrize("quick", [True, False])
def test_units_have_names_of_their_own(quick):
    from projse_paper.experiments import ALL

    for experiment in ALL.values():
        names = [unit.name for unit in experiment.units(quick)]
        assert len(set(names)) == len(names)
        for unit in experiment.units(quick):
            json.dumps(unit.parameters)


def test_fast_prediction_is_that_of_the_svm(seed):
    from projse_paper.svm import predict

    rng = np.random.default_rng(seed)
    X = rng.normal(size=(120, 4))
    y = rng.integers(5, size=120)
    X[:, 0] += y
    model = SVC(gamma=0.3).fit(X, y)
    rows = rng.normal(size=(80, 4)) * 2
    margins = np.abs(
        SVC(gamma=0.3, decision_function_shape="ovo").fit(X, y).decision_function(rows)
    )
    clear = margins.min(axis=1) > 1e-9
    assert (predict(model, rows) == model.predict(rows))[clear].all()


def test_alignment_in_blocks_is_that_of_the_whole_matrices(seed, monkeypatch):
    from projse_paper import svm

    monkeypatch.setattr(svm, "BLOCK", 17)
    rng = np.random.default_rng(seed)
    X, y = rng.normal(size=(60, 3)), rng.integers(4, size=60)
    K = svm.rbf(X, X, svm.mean_distance_gamma(X))
    onehot = np.eye(4)[y]
    expected = kernel_alignment((K + K.T) / 2, onehot @ onehot.T)
    assert svm.rbf_alignment(X, y) == pytest.approx(expected, abs=1e-10)


def test_correlation_on_the_training_rows_is_canonical(seed):
    from projse_paper.correlation import first_correlation

    rng = np.random.default_rng(seed)
    X = rng.normal(size=(200, 5))
    Y = X[:, :3] + rng.normal(size=(200, 3))
    train, test = first_correlation(X, Y, X, Y)
    expected = canonical_correlations(X, Y)[0]
    assert train[0] == pytest.approx(expected, abs=1e-8)
    assert test[0] == pytest.approx(expected, abs=1e-8)


@pytest.mark.parametrize("kernel", ["linear", "rbf"])
def test_published_loop_with_its_first_pick_removed_is_the_papers(seed, kernel):
    from agreement import check
    from projse_paper.published import published_select

    rng = np.random.default_rng(seed)
    X = rng.normal(size=(150, 12))
    Y = X[:, :5] @ rng.normal(size=(5, 5)) + rng.normal(size=(150, 5))
    X, Y = X / np.linalg.norm(X, axis=0), Y / np.linalg.norm(Y, axis=0)
    picks, scores = published_select(X, Y, 4, kernel, remove_first=True)
    gamma = "mean_distance"
    if kernel == "rbf":  # there the zeros of the diagonal count in the mean distance
        distances = np.sqrt(((Y[:, :, None] - Y[:, None, :]) ** 2).sum(axis=0))
        gamma = 1 / (2 * distances.mean() ** 2)
    selector = paper_form(4, kernel=kernel, gamma=gamma, center=False, center_kernel=True).fit(X, Y)
    check(selector, (picks, scores))


def test_published_loop_picks_a_copy_where_the_papers_does_not(seed):
    from projse_paper.published import published_select_from

    rng = np.random.default_rng(seed)
    X = rng.normal(size=(200, 6))
    X = np.column_stack([X, X[:, 2]])
    Y = np.column_stack([X[:, 2], X[:, 4], X[:, 2]]) + 0.3 * rng.normal(size=(200, 3))
    X, Y = X - X.mean(axis=0), Y - Y.mean(axis=0)
    grams = Y.T @ Y, Y.T @ X, X.T @ X
    kept, _ = published_select_from(*grams, 2, center_kernel=False)
    removed, _ = published_select_from(*grams, 2, center_kernel=False, remove_first=True)
    assert set(kept) == {2, 6}
    assert 4 in removed


def test_papers_numbers_are_read():
    from projse_paper.paper import numbers

    paper = numbers()
    assert paper["two_view"]["mnist"]["projse"]["rho"] == [0.847, 0.890, 0.918, 0.935]
    assert {name: "place" in entry for name, entry in paper.items()} == dict.fromkeys(paper, True)


def test_page_is_what_the_saved_files_give():
    from projse_paper.page import make_page
    from projse_paper.store import Store

    assert PAGE.read_text(encoding="utf-8") == make_page(Store(RESULTS))


def test_saved_files_name_a_command_and_a_commit():
    paths = sorted(RESULTS.glob("*/*.json"))
    assert paths
    for path in paths:
        made = json.loads(path.read_text(encoding="utf-8"))["made"]
        assert made["command"].startswith("projse-paper run "), path.name
        assert re.fullmatch(r"[0-9a-f]{7,40}", made["commit"]), path.name
        assert "--quick" not in made["command"], path.name


def test_every_number_of_the_page_is_in_the_files_of_its_row():
    from projse_paper.paper import numbers

    paper = {round(v, d) for v in flatten(numbers()) for d in range(5)}
    rows = [line for line in PAGE.read_text(encoding="utf-8").splitlines() if line[:2] == "| "]
    checked = 0
    for row in rows:
        links = re.findall(r"\]\((\.\./experiments/results/[^)]+\.json)\)", row)
        saved = [flatten(json.loads((PAGE.parent / link).read_text())) for link in links]
        values = [value for entries in saved for value in entries]
        folder = RESULTS / row.split("|")[1].strip()
        if not links and folder.is_dir():  # how an experiment was made: minutes in all
            made = [json.loads(path.read_text())["made"] for path in folder.glob("*.json")]
            values.append(sum(entry["seconds"] for entry in made) / 60)
        cells = [cell for cell in re.split(r"(?<!\\)\|", row)[2:-2] if "`" not in cell]
        for cell in cells:
            if re.match(r" *[+−]", cell):
                continue  # a difference of two numbers of the same row
            for text in re.findall(r"(?<![\w.+−-])\d+\.\d+(?![\w.])", cell):
                digits = len(text.split(".")[1])
                near = any(abs(v - float(text)) <= 0.51 * 10**-digits for v in values)
                among = round(float(text), digits) in paper
                assert near or among or is_mean(float(text), digits, saved), (text, row)
                checked += 1
    assert checked > 300


def is_mean(value, digits, saved):
    """Whether a number is a mean or a spread over the files of its row, entry by entry."""
    if len(saved) < 2 or len({len(entries) for entries in saved}) != 1:
        return False
    table = np.array(saved)
    found = np.concatenate([table.mean(axis=0), table.std(axis=0)])
    return bool((np.abs(found - value) <= 0.51 * 10**-digits).any())


def flatten(content):
    if isinstance(content, dict):
        return [v for entry in content.values() for v in flatten(entry)]
    if isinstance(content, list):
        return [v for entry in content for v in flatten(entry)]
    if isinstance(content, int | float) and not isinstance(content, bool):
        return [float(content)]
    return []


def test_committed_results_show_what_the_paper_claims():
    def saved(experiment, name):
        return json.loads((RESULTS / experiment / f"{name}.json").read_text())["results"]

    mnist = saved("two-view", "mnist-projse-linear")
    for size, paper in ((10, 0.847), (20, 0.890), (50, 0.918), (100, 0.935)):
        assert mnist["rho_test"][mnist["sizes"].index(size)] >= paper - 0.01
    shapes = saved("timeseries", "shapesall-projse-linear")
    assert (
        shapes["linear_accuracy"][-1] > saved("timeseries", "shapesall-all")["linear_accuracy"][0]
    )
    crop = saved("timeseries", "crop-projse-linear")
    at_20 = crop["rbf_accuracy"][crop["sizes"].index(20)]
    assert at_20 >= saved("timeseries", "crop-all")["rbf_accuracy"][0] - 0.03


def run_command(*words, timeout):
    environment = os.environ | {"PYTHONPATH": str(EXPERIMENTS), "COLUMNS": "120"}
    return subprocess.run(
        [sys.executable, "-m", "projse_paper", *words],
        env=environment,
        capture_output=True,
        text=True,
        timeout=timeout,
        check=False,
    )


@pytest.mark.slow
def test_command_refuses_an_unknown_experiment():
    done = run_command("run", "everything", timeout=120)
    assert done.returncode == 2
    assert "two-view" in done.stderr


@pytest.mark.slow
@pytest.mark.skipif(
    not os.environ.get("PROJSE_DATA"), reason="PROJSE_DATA does not name the folder of the data"
)
def test_quick_run_of_everything_finishes_and_resumes(tmp_path):
    first = run_command("run", "all", "--quick", "--output", str(tmp_path), timeout=600)
    assert first.returncode == 0, first.stderr
    for name in ("scaling", "clustering", "timeseries", "two-view", "timing", "stability"):
        for ending in ("png", "pdf", "csv"):
            assert (tmp_path / name / f"{name}.{ending}").stat().st_size > 0
    written = {path: path.stat().st_mtime_ns for path in tmp_path.glob("*/*.json")}
    second = run_command("run", "all", "--quick", "--output", str(tmp_path), timeout=600)
    assert second.returncode == 0, second.stderr
    done = [path for path, when in written.items() if "not_run" not in path.read_text()]
    assert all(path.stat().st_mtime_ns == written[path] for path in done)
    assert "0 done" in second.stdout
    page = tmp_path / "page.md"
    made = run_command("page", "--results", str(tmp_path), "--to", str(page), timeout=120)
    assert made.returncode == 0, made.stderr
    assert "MNIST halves" in page.read_text(encoding="utf-8")
