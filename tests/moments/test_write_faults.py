"""Whatever step of whatever write fails, nothing saved is lost, and the message says what to do."""

from __future__ import annotations

import errno
import os
import signal
import subprocess
import sys

import pytest
from day_files import OPTIONS, days, run, same_bits, small_chunks, table
from variants import slow

import projse.atomic
from projse import Moments, StateError, moments_from
from projse.atomic import TEMPORARY

pytestmark = pytest.mark.fault

N_FILES = 3
STEPS = ("open", "write", "flush", "fsync", "replace")
N_DRAFTS = 1 + 2 * N_FILES
"""The request, then the moments and the entry of each file."""

REMEDIES = {
    errno.ENOSPC: "Free some space and run again: what is done is kept",
    errno.EDQUOT: "Free some space and run again: what is done is kept",
    errno.EROFS: "Give yourself permission, or use another folder",
    errno.EACCES: "Give yourself permission, or use another folder",
    errno.EIO: "cannot be used",
}


class Drafts:
    """Drafts of which one breaks at one of its steps."""

    def __init__(self, monkeypatch, number, step, breaks):
        self.n, self.number, self.step, self.breaks = 0, number, step, breaks
        real = projse.atomic.Draft
        drafts = self

        class Breaking(real):
            def __init__(self, folder):
                drafts.n += 1
                drafts.at("open")
                super().__init__(folder)
                self.file = File(self.file)

            def publish(self, path):
                with pytest.MonkeyPatch.context() as patch:
                    for name in ("fsync", "replace"):
                        patch.setattr(
                            projse.atomic.os, name, drafts.before(name, getattr(os, name))
                        )
                    super().publish(path)

        class File:
            def __init__(self, file):
                self._file = file

            def write(self, data):
                half = memoryview(data).cast("B")[: len(data) // 2]
                if drafts.step == "write" and drafts.n == drafts.number:
                    self._file.write(half)  # a part of it still had room
                drafts.at("write")
                return self._file.write(data)

            def flush(self):
                drafts.at("flush")
                self._file.flush()

            def __getattr__(self, name):
                return getattr(self._file, name)

        monkeypatch.setattr(projse.atomic, "Draft", Breaking)
        for module in ("projse.moments.state", "projse.moments.file"):
            monkeypatch.setattr(f"{module}.Draft", Breaking)

    def at(self, step):
        if step == self.step and self.n == self.number:
            self.breaks()

    def before(self, step, function):
        def called(*arguments):
            self.at(step)
            return function(*arguments)

        return called


@pytest.fixture
def place(seed, tmp_path, monkeypatch):
    small_chunks(monkeypatch)
    return days(seed, tmp_path / "days", n_files=N_FILES), tmp_path / "state"


def raises(error):
    def breaks():
        raise error

    return breaks


def n_done(number):
    """Files whose entry was written before this draft."""
    return max(0, number - 2) // 2


def goes_on(folder, state, number):
    """Assert that another run reads what was not done, and has the same sums."""
    moments, n_read = run(folder, state)
    assert n_read == N_FILES - n_done(number)
    same_bits(moments, moments_from(folder, **OPTIONS))
    assert not [path for path in state.rglob("*") if TEMPORARY.fullmatch(path.name)]
    assert len(list(state.rglob("*.moments"))) == N_FILES


def test_a_run_writes_as_many_files_as_these_tests_take(place, monkeypatch):
    drafts = Drafts(monkeypatch, None, None, None)
    run(*place)
    assert drafts.n == N_DRAFTS


@pytest.mark.parametrize("number", range(1, N_DRAFTS + 1))
@pytest.mark.parametrize("step", STEPS)
@pytest.mark.parametrize("code", [errno.ENOSPC, *slow(*list(REMEDIES)[1:])])
def test_a_disk_that_fails_at_any_step(place, number, step, code):
    folder, state = place
    with pytest.MonkeyPatch.context() as patch:
        Drafts(patch, number, step, raises(OSError(code, os.strerror(code))))
        with pytest.raises(StateError, match=REMEDIES[code]) as caught:
            run(folder, state)
    assert str(state) in str(caught.value)
    assert not [path for path in state.rglob("*") if TEMPORARY.fullmatch(path.name)]
    goes_on(folder, state, number)


@pytest.mark.parametrize("number", range(1, N_DRAFTS + 1))
@pytest.mark.parametrize("step", ["write", *slow("open", "flush", "fsync", "replace")])
def test_a_signal_at_any_step(place, number, step):
    folder, state = place
    before = signal.signal(signal.SIGINT, signal.default_int_handler)  # ignored in the background
    try:
        with pytest.MonkeyPatch.context() as patch:
            Drafts(patch, number, step, lambda: signal.raise_signal(signal.SIGINT))
            with pytest.raises(KeyboardInterrupt):
                run(folder, state)
    finally:
        signal.signal(signal.SIGINT, before)
    goes_on(folder, state, number)


KILLED = """
import os, signal, sys
import pytest
sys.path[:0] = [{tests!r}, {here!r}]
from day_files import run, small_chunks
from test_write_faults import Drafts
patch = pytest.MonkeyPatch()
small_chunks(patch)
Drafts(patch, {number}, {step!r}, lambda: os.kill(os.getpid(), signal.SIGKILL))
run({folder!r}, {state!r})
"""


@pytest.mark.slow
@pytest.mark.skipif(os.name != "posix", reason="signals of POSIX")
@pytest.mark.parametrize("number", range(1, N_DRAFTS + 1))
@pytest.mark.parametrize("step", ["write", "replace"])
def test_a_kill_at_any_step(place, number, step):
    folder, state = place
    here = os.path.dirname(os.path.abspath(__file__))
    code = KILLED.format(
        tests=os.path.dirname(here),
        here=here,
        number=number,
        step=step,
        folder=str(folder),
        state=str(state),
    )
    done = subprocess.run([sys.executable, "-c", code], timeout=300, check=False)
    assert done.returncode == -signal.SIGKILL
    goes_on(folder, state, number)


@pytest.mark.parametrize("step", STEPS)
@pytest.mark.parametrize("code", REMEDIES)
def test_moments_that_cannot_be_saved_leave_those_before(seed, tmp_path, step, code):
    path = tmp_path / "rows.moments"
    before = Moments.from_arrays(table(seed).select(["x_0", "x_1"]).to_pandas())
    before.save(path)
    with pytest.MonkeyPatch.context() as patch:
        Drafts(patch, 1, step, raises(OSError(code, os.strerror(code))))
        with pytest.raises(OSError, match=os.strerror(code)):
            (before + before).save(path)
    assert Moments.load(path).n_samples == before.n_samples
    assert [file.name for file in tmp_path.iterdir()] == ["rows.moments"]
