"""``projse moments`` on real files: build, merge, subtract, info."""

from __future__ import annotations

import json

import numpy as np
from day_files import NAMES
from planted import planted
from processes import picks

from projse import Moments, ProjSe


def test_a_month_is_the_sum_of_its_days(command, seed, folder, tmp_path):
    names = []
    for path in sorted(folder.iterdir()):
        names.append(str(tmp_path / f"{path.stem}.moments"))
        done = command("moments", "build", str(path), "-t", "y_*", "-o", names[-1])
        assert done.returncode == 0, done.stderr
        assert "moments of 60 rows, 8 candidates, 3 references" in done.stdout
    want = [f"x_{j}" for j in ProjSe(5).fit(*planted(seed, 240)).selected_]
    month, rest = str(tmp_path / "month.moments"), str(tmp_path / "rest.moments")
    done = command("moments", "merge", *names, "-o", month)
    assert "moments of 240 rows" in done.stdout
    assert picks(command("select", month, "-k", "5")) == want
    assert picks(command("select", *names, "-k", "5")) == want
    done = command("moments", "subtract", month, *names[1:], "-o", rest)
    assert "moments of 60 rows" in done.stdout
    left, first = Moments.load(rest), Moments.load(names[0])
    np.testing.assert_allclose(left.yx, first.yx, rtol=1e-8, atol=1e-8 * np.abs(first.yx).max())
    done = command("select", month, "-k", "3", "--exclude", "x_[05]")
    assert {"x_0", "x_5"}.isdisjoint(picks(done))


def test_a_day_without_itself_has_no_rows_and_no_day_is_taken_out_twice(command, folder, tmp_path):
    day, none = str(tmp_path / "day.moments"), str(tmp_path / "none.moments")
    path = str(min(folder.iterdir()))
    assert command("moments", "build", path, "-t", "y_*", "-o", day).returncode == 0
    done = command("moments", "subtract", day, day, "-o", none)
    assert "moments of 0 rows" in done.stdout
    done = command("moments", "subtract", day, none, none, "-o", str(tmp_path / "a.moments"))
    assert done.returncode == 1
    assert "are the same file" in done.stderr


def test_info_shows_what_moments_hold(command, folder, tmp_path):
    name = str(tmp_path / "a.moments")
    build = ("moments", "build", str(folder), "-t", "y_*", "-o", name)
    assert command(*build, "--without-xx", "--state", str(tmp_path / "state")).returncode == 0
    done = command("moments", "info", name)
    for word in ("240", "8: x_0, x_1, x_2, x_3, …", "3: y_0, y_1, y_2", "float64", "not kept"):
        assert word in done.stdout
    (found,) = json.loads(command("moments", "info", name, "--json").stdout)
    assert found["features"] == NAMES
    assert (found["n_rows"], found["with_xx"]) == (240, False)


def test_moments_and_rows_do_not_mix(command, folder, tmp_path, failure):
    name = tmp_path / "a.moments"
    assert command("moments", "build", str(folder), "-t", "y_*", "-o", str(name)).returncode == 0
    assert "holds moments" in failure("select", name, folder / "day-00.parquet", "-t", "y_*")
    assert "settled" in failure("select", name, "-t", "y_*")
    assert "matches 'z*'" in failure("select", name, "--exclude", "z*")
