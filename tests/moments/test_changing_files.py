"""Files that vanish or change while they are summed: refused by name, or counted once and whole."""

from __future__ import annotations

import os

import pyarrow.parquet as pq
import pytest
from day_files import OPTIONS, days, many_candidates, run, same_bits, small_chunks, table

from projse import ProjSe, moments_from
from projse.exceptions import SourceError

pytestmark = pytest.mark.fault

N_FILES = 4


@pytest.fixture
def place(seed, tmp_path, monkeypatch):
    small_chunks(monkeypatch)
    return days(seed, tmp_path / "days", n_files=N_FILES), tmp_path / "state"


def vanish(path, seed):
    path.unlink()


def empty(path, seed):
    path.write_bytes(b"")


def cut_short(path, seed):
    path.write_bytes(path.read_bytes()[:-100])


def overwrite(path, seed):
    path.write_bytes(b"\0" * path.stat().st_size)


def become_a_folder(path, seed):
    path.unlink()
    path.mkdir()


def dangle(path, seed):
    path.unlink()
    path.symlink_to(path.with_name("nowhere.parquet"))


BROKEN = (vanish, empty, cut_short, overwrite, become_a_folder, dangle)


def longer(path, seed):
    pq.write_table(table(seed + 1, 100), path)


def as_long(path, seed):
    other = table(seed + 1, 240 // N_FILES)
    pq.write_table(other, path)


class Change:
    """Changes a file once a pass has got so far."""

    def __init__(self, how, path, seed, after, in_pass=1):
        self.how, self.path, self.seed, self.after, self.in_pass = how, path, seed, after, in_pass
        self.done = False

    def __call__(self, now):
        if not self.done and now.n_passes == self.in_pass and now.n_parts >= self.after:
            self.done = True
            self.how(self.path, self.seed)


def restored(path, content):
    if path.is_dir():
        path.rmdir()
    path.unlink(missing_ok=True)
    path.write_bytes(content)


@pytest.mark.parametrize("after", [1, 2])
@pytest.mark.parametrize("with_state", [True, False])
@pytest.mark.parametrize("how", BROKEN)
def test_a_file_that_breaks_before_it_is_its_turn_is_named(seed, place, how, with_state, after):
    folder, state = place
    path = folder / "day-03.parquet"
    content = path.read_bytes()
    want = moments_from(folder, **OPTIONS)
    change = Change(how, path, seed, after)
    options = {"state": state} if with_state else {}
    with pytest.raises(SourceError, match=r"day-03\.parquet"):
        moments_from(folder, progress=change, **OPTIONS, **options)
    assert change.done
    restored(path, content)
    if with_state:
        moments, n_read = run(folder, state)
        assert n_read == 1, "the others are kept"
        same_bits(moments, want)


@pytest.mark.parametrize("after", [1, 2])
@pytest.mark.parametrize("how", [longer, as_long])
def test_a_file_that_changes_before_it_is_its_turn_counts_once(seed, place, how, after):
    folder, state = place
    change = Change(how, folder / "day-03.parquet", seed, after)
    moments_from(folder, state=state, progress=change, **OPTIONS)
    assert change.done
    # Whichever of its contents was read, the state is that of the files as they are in the end.
    same_bits(run(folder, state)[0], moments_from(folder, **OPTIONS))


@pytest.mark.parametrize("after", [1, 2, 3])
@pytest.mark.parametrize("how", [longer, as_long, vanish])
def test_a_file_that_changes_after_its_turn_is_noticed_by_the_next_run(seed, place, how, after):
    folder, state = place
    change = Change(how, folder / "day-00.parquet", seed, after)
    moments_from(folder, state=state, progress=change, **OPTIONS)
    assert change.done
    same_bits(run(folder, state)[0], moments_from(folder, **OPTIONS))


def touched(path, seed):
    """Change a value in place: the same size, another time."""
    t = pq.read_table(path)
    t = t.set_column(0, t.column_names[0], t.column(1))
    pq.write_table(t, path)
    os.utime(path, ns=(1, 1))


@pytest.mark.parametrize("how", [*BROKEN, touched])
def test_a_file_that_changes_between_two_passes_is_refused(seed, tmp_path, how):
    """Products of the picks come from a second pass, which must see the rows of the first."""
    folder = many_candidates(seed, tmp_path / "wide")
    path = folder / "1.parquet"
    content, times = path.read_bytes(), path.stat()
    change = Change(how, path, seed, 2)
    with pytest.raises(SourceError, match=r"1\.parquet"):
        ProjSe(6).fit_source(folder, progress=change, targets="y_*")
    assert change.done
    restored(path, content)
    os.utime(path, ns=(times.st_atime_ns, times.st_mtime_ns))
    assert ProjSe(6).fit_source(folder, targets="y_*").moments_.n_samples == 200
