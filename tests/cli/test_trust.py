"""``projse select --cv``, ``--stability`` and ``--permutations``: what Python says, from files."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pyarrow.parquet as pq
import pytest
from day_files import days, planted_table, small_chunks
from pages import gathered
from patients import TARGETS, patients
from processes import picks
from sklearn.model_selection import KFold
from variants import slow

from projse import Moments, ProjSe, ProjSeCV, StabilityProjSe, moments_from, permutation_test
from projse.sources.file_part import FilePart

FIXED = ("--alpha", "0.1")  # nothing is left to tune but how many


@pytest.fixture
def found(command, tmp_path):
    """Run a selection; return what it wrote as JSON, and what it printed."""

    def select(*arguments):
        record = tmp_path / "out.json"
        done = command("select", *arguments, "--json", record)
        assert done.returncode == 0, done.stderr
        return json.loads(record.read_text()), done

    return select


def file_moments(folder):
    files = sorted(folder.iterdir())
    return [moments_from(f, targets="y_*", with_xx=True) for f in files]


def test_folds_of_files_choose_what_python_chooses(found, folder):
    record, done = found(folder, "-t", "y_*", "--cv", "4", *FIXED)
    cv = ProjSeCV(ProjSe(alpha=0.1), param_grid=None).fit_moments(file_moments(folder))
    assert record["cv"]["n_features"] == cv.n_features_ == len(record["picks"])
    assert record["cv"]["folds_of"] == "files"
    assert [p["index"] for p in record["picks"]] == cv.selected_.tolist()
    means = [point["mean_test_score"] for point in record["cv"]["curve"]]
    np.testing.assert_allclose(means, cv.cv_results_["mean_test_score"], rtol=1e-6)
    assert f"chose {cv.n_features_} variables" in done.stdout
    assert "4 folds of whole files" in done.stdout


def test_fewer_files_than_folds_are_dealt_by_rows(found, folder, monkeypatch):
    small_chunks(monkeypatch)
    record, done = found(folder, "-t", "y_*", "--cv", *FIXED)
    assert record["cv"]["n_folds"] == 5
    assert record["cv"]["folds_of"] == "rows"
    assert {"x_5", "x_2", "x_0"} == {p["name"] for p in record["picks"]}
    assert record["n_rows"] == 240
    assert "dealt at random" in done.stdout
    again, _ = found(folder, "-t", "y_*", "--cv", *FIXED, "--seed", "0")
    assert again["cv"] == record["cv"]


def test_the_number_may_be_left_out_wherever_the_option_stands(found, folder):
    first, _ = found("--cv", folder, "-t", "y_*", *FIXED)
    last, _ = found(folder, "-t", "y_*", *FIXED, "--cv", "5", "-k", "2")
    assert first["cv"]["n_folds"] == last["cv"]["n_folds"] == 5
    assert max(point["n_features"] for point in last["cv"]["curve"]) == 2


@pytest.mark.slow
def test_parameters_are_tuned_unless_they_are_given(found, folder):
    tuned, _ = found(folder, "-t", "y_*", "--cv", "3")
    given, _ = found(folder, "-t", "y_*", "--cv", "3", "--paper")
    assert len({str(point["params"]) for point in tuned["cv"]["curve"]}) > 1
    assert {str(point["params"]) for point in given["cv"]["curve"]} == {"{}"}


def test_stability_from_moments_is_that_of_python(found, folder, tmp_path, command):
    paths = []
    for i, moments in enumerate(file_moments(folder)):
        paths.append(tmp_path / f"{i}.moments")
        moments.save(paths[-1])
    record, done = found(*paths, "-k", "3", "--stability", "30", "--seed", "7")
    parts = [Moments.load(path) for path in paths]
    stable = StabilityProjSe(ProjSe(3), 30, random_state=7).fit_moments(parts)
    frequencies = stable.selection_frequencies_
    assert [p["frequency"] for p in record["picks"]] == [
        frequencies[p["index"]] for p in record["picks"]
    ]
    assert record["stability"]["stability"] == pytest.approx(stable.stability_)
    assert record["stability"]["interval"] == pytest.approx(stable.stability_interval_)
    assert "comes back" in done.stdout
    one = command("select", paths[0], "-k", "3", "--stability")
    assert one.returncode == 1
    assert "one file of moments cannot be cut" in one.stderr


@pytest.mark.slow
def test_stability_from_rows_draws_from_many_blocks(found, seed, tmp_path):
    noisy, _ = found(days(seed, tmp_path / "days"), "-t", "y_*", "-k", "4", "--stability", "50")
    frequencies = {p["name"]: p["frequency"] for p in noisy["picks"]}
    assert min(frequencies[name] for name in ("x_0", "x_2", "x_5")) > 0.9
    fourth = noisy["picks"][3]
    assert fourth["frequency"] < 1
    assert len({round(50 * v) for v in frequencies.values()}) > 1


def test_permutations_are_those_of_python(found, seed, folder):
    record, done = found(folder, "-t", "y_*", "-k", "3", "--permutations", "39")
    X, Y, _ = planted_table(seed)
    test = permutation_test(ProjSe(3), X, Y, n_permutations=39, random_state=0)
    assert [p["permutation_p_value"] for p in record["picks"]] == test.pvalues.tolist()
    assert record["permutations"]["n_permutations"] == 39
    assert "39 shuffles" in done.stdout
    said = " ".join(done.stdout.split())
    assert "Those of later picks ask whether anything is related at all" in said


@pytest.mark.parametrize("asked", [(), ("--cv", "3"), ("--state", "kept")])
def test_permutations_read_no_file_twice(found, folder, monkeypatch, tmp_path, asked):
    want, _ = found(folder, "-t", "y_*", *(("-k", "3") if "--cv" not in asked else asked))
    opened: list[str] = []
    plain = FilePart._open

    def counted(self: FilePart, *given: Any) -> Any:
        opened.append(self.label)
        return plain(self, *given)

    monkeypatch.setattr(FilePart, "_open", counted)
    more = [str(tmp_path / word) if word == "kept" else word for word in asked]
    k = () if "--cv" in asked else ("-k", "3")
    got, _ = found(folder, "-t", "y_*", *k, *more, "--permutations", "9")
    assert sorted(opened) == sorted(str(path) for path in folder.iterdir())
    assert [p["name"] for p in got["picks"]] == [p["name"] for p in want["picks"]]
    np.testing.assert_allclose(*([p["score"] for p in r["picks"]] for r in (got, want)), rtol=1e-9)


@pytest.mark.slow
def test_all_of_them_with_class_labels_and_covariates(found, seed, tmp_path):
    _, Y, table = planted_table(seed)
    labels = np.where(Y[:, 0] > 0, "high", "low")
    path = tmp_path / "rows.parquet"
    pq.write_table(table.append_column("label", [labels]), path)
    asked = ("--cv", "3", "--stability", "10", "--permutations", "19")
    record, _ = found(path, "-c", "label", "-f", "x_*", "--covariates", "x_7", *asked)
    assert record["covariates"] == ["x_7"]
    assert {"frequency", "permutation_p_value"} <= set(record["picks"][0])
    assert "x_7" not in {p["name"] for p in record["picks"]}


def test_a_table_of_strings_dates_and_gaps_goes_to_table_csv_and_report(seed, command, tmp_path):
    frame = patients(seed)
    path, page, lines = (tmp_path / name for name in ("patients.csv", "out.html", "out.csv"))
    frame.to_csv(path, index=False)
    asked = ("--cv", "3", "--stability", "10", "--permutations", "19", "--missing", "mean")
    done = command("select", path, "-t", "y_*", *asked, "--report", page, "--csv", lines)
    assert done.returncode == 0, done.stderr
    whole = gathered(page.read_text())
    names = [p["name"] for p in whole["picks"]]
    assert names == picks(done)
    assert set(names) <= set(frame.columns) - set(TARGETS)
    assert whole["cv"]["n_features"] == len(names)
    assert whole["cv"]["n_splits"] == 3
    assert whole["stability"]["n_resamples"] == 10
    assert any(check["title"] == "Shuffled outputs" for check in whole["checks"])
    assert any(p["stand_ins"] for p in whole["picks"])
    assert all(p["n_columns"] >= 1 for p in whole["picks"])
    header = lines.read_text().splitlines()[0]
    assert header.endswith("frequency,permutation_p_value")


@pytest.mark.parametrize("missing", ["refuse", "mean"])
def test_folds_of_a_table_see_levels_that_others_lack(seed, found, tmp_path, missing):
    frame = patients(seed, gaps=missing == "mean")
    folder = tmp_path / "days"
    folder.mkdir()
    for i, rows in enumerate(np.array_split(np.arange(len(frame)), 3)):
        frame.iloc[rows].to_csv(folder / f"{i}.csv", index=False)
    assert "Ålesund" not in set(frame.iloc[: len(frame) // 3].city)
    record, _ = found(folder, "-t", "y_*", "--cv", "3", "--missing", missing, *FIXED)
    assert record["cv"]["folds_of"] == "files"
    features = frame[[name for name in frame if name not in TARGETS]]
    cv = ProjSeCV(ProjSe(alpha=0.1, missing=missing), param_grid=None, cv=KFold(3))
    cv.fit(features, frame[TARGETS])
    means = [point["mean_test_score"] for point in record["cv"]["curve"]]
    np.testing.assert_allclose(means, cv.cv_results_["mean_test_score"], rtol=1e-6)
    assert [p["name"] for p in record["picks"]] == cv.selected_names_.tolist()


def test_with_a_state_blocks_are_files_and_the_next_run_reads_nothing(found, folder, tmp_path):
    asked = (folder, "-t", "y_*", "--cv", "2", "--stability", "10", *FIXED)
    state = ("--state", tmp_path / "state")
    first, _ = found(*asked, *state)
    again, done = found(*asked, *state)
    assert first["n_rows_read"] == 240
    assert again["n_rows_read"] == 0
    assert again["n_files_kept"] == 4
    assert [first[key] for key in ("cv", "stability", "picks")] == [
        again[key] for key in ("cv", "stability", "picks")
    ]
    assert "folds of whole files" in done.stdout
    parts = file_moments(folder)
    halves = [parts[0] + parts[1], parts[2] + parts[3]]
    cv = ProjSeCV(ProjSe(alpha=0.1), param_grid=None).fit_moments(halves)
    assert again["cv"]["score"] == pytest.approx(cv.best_score_)


def test_what_makes_no_sense_is_refused_in_words(command, failure, folder, tmp_path, monkeypatch):
    for arguments, words in (
        (("--one-view", "--cv"), "--cv needs targets"),
        (("-t", "y_*", "--cv", "-k", "auto"), "--cv chooses how many"),
        (("-t", "y_*", "--fdr", "0.1", "--stability"), "leave out --stability"),
        (("-t", "y_*", "--cv", "1"), "--cv"),
    ):
        done = command("select", folder, *arguments)
        assert done.returncode == 2
        assert words in " ".join(done.stderr.split()), done.stderr
    base = ("select", folder, "-t", "y_*", "-k", "2")
    assert "leave out --weight" in failure(*base, "-w", "x_0", "--permutations", "9")
    monkeypatch.setattr("projse.cli.rows.MOST_BYTES", 1000)
    assert "in memory" in failure(*base, "--permutations", "9")
    monkeypatch.setattr("projse.moments.stream_blocks.FOLDS_BYTES", 1000)
    assert "products of 8 candidates in 3 folds" in failure(*base, "--cv", "3")
    alone = folder / "day-00.parquet"
    state = ("--state", tmp_path / "state")
    assert "there is one" in failure("select", alone, "-t", "y_*", "--cv", *state)
    sums = tmp_path / "sums.moments"
    command("moments", "build", folder, "-t", "y_*", "-o", sums)
    assert "moments do not keep" in failure("select", sums, "-k", "2", "--permutations", "9")


@pytest.mark.parametrize(
    "interrupted",
    [
        ("--cv", "projse.estimators.cross_validation.choose"),
        *slow(
            ("--stability", "projse.estimators.stability.nogueira_stability"),
            ("--permutations", "projse.estimators.permutation.null_scores"),
        ),
    ],
)
def test_interrupted_after_reading_it_says_what_is_kept(
    command, folder, tmp_path, monkeypatch, interrupted
):
    def interrupt(*args, **options):
        raise KeyboardInterrupt

    option, where = interrupted
    monkeypatch.setattr(where, interrupt)
    base = ("select", folder, "-t", "y_*", "-k", "3", option, "9")
    done = command(*base)
    assert (done.returncode, done.stdout) == (130, "")
    assert "nothing is kept; --state DIR" in done.stderr
    done = command(*base, "--state", tmp_path / "state", "--json", tmp_path / "out.json")
    assert (done.returncode, done.stdout) == (130, "")
    assert "4 of 4 files done, kept in" in done.stderr
    assert "run the same command again to go on" in done.stderr
    assert not (tmp_path / "out.json").exists()


def test_labels_and_gaps_among_covariates_are_taken_out_of_shuffles_too(found, seed, tmp_path):
    frame = patients(seed)
    path = tmp_path / "patients.csv"
    frame.to_csv(path, index=False)
    arguments = (path, "-t", ",".join(TARGETS), "--covariates", "city,bmi", "--missing", "mean")
    record, _ = found(*arguments, "-k", "2", "--permutations", "19")
    features = frame.drop(columns=[*TARGETS, "city", "bmi"])
    want = permutation_test(
        ProjSe(2, missing="mean"),
        features,
        frame[TARGETS],
        covariates=frame[["city", "bmi"]],
        n_permutations=19,
        random_state=0,
    )
    assert {p["name"] for p in record["picks"]} == set(want.feature_names)
    assert record["picks"][0]["permutation_p_value"] == want.pvalues[0]
