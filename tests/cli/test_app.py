"""The command as installed, in a process of its own; most of what it says, in this process."""

from __future__ import annotations

import os
import re
import sys

import pytest
from marks import arbitrary_picks
from processes import COMMAND, Command, Done, run, run_python
from variants import slow

import projse


def table_rows(output: str) -> list[str]:
    return re.findall(r"^ *\d+ .*\brow \d, col \d.*$", output, flags=re.MULTILINE)


def picture(output: str) -> list[list[str]]:
    rows = [line.split() for line in output.splitlines() if re.search(r"\|(  \+){4}$", line)]
    return [[cell for cell in row if cell != "|"] for row in rows]


@pytest.fixture(scope="module")
def demo() -> Done:
    return run(COMMAND, "demo")


def test_demo_succeeds_and_stderr_has_notes_at_most(demo: Done) -> None:
    assert demo.returncode == 0, demo.stderr
    assert all(line.startswith("projse: note:") for line in demo.stderr.splitlines())


def test_demo_first_line_names_rows_candidates_references_and_seconds(demo: Done) -> None:
    first = demo.stdout.splitlines()[0]
    for part in ("1797 rows", "32 candidates", "32 references", "seconds"):
        assert part in first


def test_demo_table_has_a_row_for_each_pick(demo: Done) -> None:
    rows = table_rows(demo.stdout)
    assert [int(row.split()[0]) for row in rows] == list(range(1, 11))
    assert len({re.search(r"row \d, col \d", row).group() for row in rows}) == 10  # type: ignore[union-attr]


def test_demo_correlation_is_the_root_of_the_score(demo: Done) -> None:
    for row in table_rows(demo.stdout):
        score, correlation = (float(number) for number in re.findall(r" ([01]\.\d{4})\b", row))
        assert 0 < score <= 1
        assert correlation**2 == pytest.approx(score, abs=2e-4)


def test_demo_linear_has_scientific_pvalues(demo: Done) -> None:
    assert "p-value" in demo.stdout
    assert all(re.search(r"\de-\d+|<1e-300", row) for row in table_rows(demo.stdout))


def test_demo_bars_are_no_longer_for_lower_scores(demo: Done) -> None:
    lengths = [row.count("█") for row in table_rows(demo.stdout)]
    assert lengths[0] > 0
    assert lengths == sorted(lengths, reverse=True)


def test_demo_picture_shows_each_pick_where_the_table_says(demo: Done) -> None:
    cells = picture(demo.stdout)
    assert len(cells) == 8
    assert all(len(row) == 8 for row in cells)
    for line in table_rows(demo.stdout):
        place, row, column = re.match(r" *(\d+) +row (\d), col (\d)", line).groups()  # type: ignore[union-attr]
        assert cells[int(row) - 1][int(column) - 1] == place


def test_demo_says_what_to_try_next(demo: Done) -> None:
    hints = demo.stdout.split("What to try next")[1]
    assert "ProjSe(20).fit(X, Y)" in hints
    assert "projse demo --kernel rbf" in hints
    assert "README" in hints


def test_demo_in_a_pipe_has_no_escape_sequences(demo: Done) -> None:
    assert "\x1b" not in demo.stdout


@arbitrary_picks
def test_demo_agrees_with_the_estimator(demo: Done) -> None:
    from sklearn.datasets import load_digits

    images = load_digits().images
    left, right = images[:, :, :4].reshape(1797, 32), images[:, :, 4:].reshape(1797, 32)
    selected = projse.ProjSe(10).fit(left, right).selected_
    expected = [f"row {i // 4 + 1}, col {i % 4 + 1}" for i in selected]
    assert re.findall(r"row \d, col \d", demo.stdout) == expected


@pytest.mark.parametrize("kernel", ["poly", "rbf"])
def test_demo_with_a_nonlinear_kernel_leaves_pvalues_out(command: Command, kernel: str) -> None:
    done = command("demo", "-k", "3", "--kernel", kernel)
    assert done.returncode == 0, done.stderr
    assert len(table_rows(done.stdout)) == 3
    assert "p-value" not in done.stdout
    assert f"{kernel} kernel" in done.stdout


@pytest.mark.parametrize("option", ["-k", "--n-features"])
def test_demo_picks_as_many_as_asked(command: Command, option: str) -> None:
    done = command("demo", option, "4")
    assert done.returncode == 0, done.stderr
    assert len(table_rows(done.stdout)) == 4


def test_demo_asked_for_every_pixel_succeeds(command: Command) -> None:
    done = command("demo", "-k", "32")
    assert done.returncode == 0, done.stderr
    assert "Traceback" not in done.stderr
    assert "Warning" not in done.stderr


@pytest.mark.parametrize("columns", [28, 40, 60])
def test_demo_fits_a_narrow_terminal(command: Command, columns: int) -> None:
    done = command("demo", "-k", "12", COLUMNS=str(columns))
    assert done.returncode == 0, done.stderr
    rows = table_rows(done.stdout)
    assert len(rows) == 12
    assert all(len(row) <= columns for row in rows)
    assert "…" not in done.stdout


@pytest.mark.slow
def test_demo_without_unicode_output_falls_back_to_ascii() -> None:
    done = run(COMMAND, "demo", PYTHONIOENCODING="ascii")
    assert done.returncode == 0, done.stderr
    assert done.stdout.isascii()
    assert "#" in done.stdout


def test_version() -> None:
    done = run(COMMAND, "--version")
    assert done.returncode == 0
    assert done.stdout == f"projse {projse.__version__}\n"


@pytest.mark.slow
def test_python_m_projse_is_the_same_command() -> None:
    done = run(sys.executable, "-m", "projse", "--version")
    assert done.returncode == 0
    assert done.stdout == f"projse {projse.__version__}\n"


def test_help_lists_the_commands(command: Command) -> None:
    done = command("--help")
    assert done.returncode == 0
    assert "demo" in done.stdout


@pytest.mark.parametrize(
    "arguments",
    [
        ["nonsense"],
        ["demo", "--nonsense"],
        ["demo", "--kernel", "nonsense"],
        ["demo", "-k", "0"],
        ["demo", "-k", "33"],
        ["demo", "-k", "ten"],
        ["demo", "surplus"],
    ],
)
def test_bad_usage_exits_with_2(command: Command, arguments: list[str]) -> None:
    done = command(*arguments)
    assert done.returncode == 2
    assert done.stdout == ""
    assert "Error" in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize("missing", ["typer", *slow("rich")])
def test_missing_extra_is_named(missing: str) -> None:
    done = run_python(
        f"import sys; sys.modules[{missing!r}] = None; from projse.cli import main; main()"
    )
    assert done.returncode == 1
    assert done.stdout == ""
    assert done.stderr.count("\n") == 1
    assert 'pip install "projse-select[cli]"' in done.stderr


@pytest.fixture
def failing(command: Command, monkeypatch: pytest.MonkeyPatch) -> Command:
    """Run the command where every fit fails."""

    def fit(*args: object) -> None:
        raise ValueError("no luck")

    monkeypatch.setattr(projse.ProjSe, "fit", fit)
    return command


def test_failure_exits_with_1_and_one_line(failing: Command) -> None:
    done = failing("demo")
    assert done.returncode == 1
    assert done.stderr.startswith("projse: error: no luck")
    assert done.stderr.count("\n") == 1


@pytest.mark.parametrize("arguments", [["demo", "--debug"], ["--debug", "demo"]])
def test_debug_shows_the_traceback(failing: Command, arguments: list[str]) -> None:
    done = failing(*arguments)
    assert done.returncode == 1
    assert "Traceback" in done.stderr
    assert "ValueError: no luck" in done.stderr


@pytest.mark.parametrize(
    "arguments",
    [
        ("--version",),
        ("--help",),
        *slow(("select", "--help"), ("moments", "build", "--help")),
    ],
)
def test_help_and_version_wait_for_nothing_that_computes(arguments: tuple[str, ...]) -> None:
    done = run_python(
        "import resource, sys, projse.cli\n"
        f"sys.argv = {['projse', *arguments]!r}\n"
        "try: projse.cli.main()\n"
        "except SystemExit: pass\n"
        "heavy = {'numpy', 'scipy', 'sklearn', 'pyarrow', 'pandas', 'joblib', 'narwhals'}\n"
        "used = resource.getrusage(resource.RUSAGE_SELF)\n"
        "print(sorted(heavy & set(sys.modules)), used.ru_utime + used.ru_stime < 1, sep='|')"
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[-1] == "[]|True"
    assert len(done.stdout.splitlines()) > 1, "it said nothing"


def test_no_command_waits_for_a_pipe(command, tmp_path):
    os.mkfifo(tmp_path / "t.csv")
    for place in (tmp_path, tmp_path / "t.csv"):
        done = command("select", place, "-t", "y")
        assert (done.returncode, done.stdout) == (1, "")
        assert "t.csv is a pipe or a device" in done.stderr


@pytest.mark.parametrize("names", ["", " ", ",", ", ,"])
def test_targets_that_name_nothing_are_not_one_view(command, tmp_path, names):
    path = tmp_path / "t.csv"
    path.write_text("a,b,y\n1,2,3\n2,1,5\n3,5,2\n")
    done = command("select", path, "-t", names)
    assert (done.returncode, done.stdout) == (1, "")
    assert "targets is empty" in done.stderr
    assert "--one-view" in done.stderr


def test_an_empty_name_to_write_to_is_refused(command, tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("a,b,y\n1,2,3\n2,1,5\n3,5,2\n")
    done = command("select", path, "-t", "y", "--json", "")
    assert (done.returncode, done.stdout) == (1, "")
    assert "has an empty name" in done.stderr
