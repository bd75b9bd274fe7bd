"""The state folder: nothing is read twice, nothing is lost, whatever happens in between."""

from __future__ import annotations

import errno
import json
import os
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from day_files import (
    DAMAGE,
    NAMES,
    OPTIONS,
    TARGETS,
    Watch,
    days,
    many_candidates,
    run,
    same_bits,
    small_chunks,
    table,
)
from paper import paper_form
from planted import planted
from variants import slow

import projse.moments.state
from projse import Moments, ProjSe, SourceError, StateError, moments_from


@pytest.fixture
def place(seed, tmp_path, monkeypatch):
    small_chunks(monkeypatch)
    return days(seed, tmp_path / "days"), tmp_path / "state"


# Resume and increment


@pytest.mark.parametrize("stop_after", [1, 2, 3])
def test_an_interrupted_run_goes_on_where_it_was(place, stop_after):
    folder, state = place
    with pytest.raises(KeyboardInterrupt):
        moments_from(folder, state=state, progress=Watch(stop_after), **OPTIONS)
    moments, n_read = run(folder, state)
    assert n_read == 4 - stop_after
    same_bits(moments, moments_from(folder, **OPTIONS))
    again, n_read = run(folder, state)
    assert n_read == 0
    same_bits(moments, again)


def test_a_new_file_costs_only_itself(seed, place):
    folder, state = place
    run(folder, state)
    pq.write_table(table(seed + 1).slice(0, 50), folder / "day-01b.parquet")  # in the middle
    moments, n_read = run(folder, state)
    assert n_read == 1
    assert moments.n_samples == 290
    same_bits(moments, moments_from(folder, **OPTIONS))


def test_a_changed_file_is_noticed_and_read_again(seed, place):
    folder, state = place
    run(folder, state)
    pq.write_table(table(seed + 1).slice(0, 70), folder / "day-02.parquet")
    moments, n_read = run(folder, state)
    assert n_read == 1
    assert moments.n_samples == 250
    same_bits(moments, moments_from(folder, **OPTIONS))
    assert len(list((state / "files").glob("*.moments"))) == 4, "the old moments are gone"


def test_a_removed_file_no_longer_counts(place):
    folder, state = place
    run(folder, state)
    (folder / "day-01.parquet").unlink()
    moments, n_read = run(folder, state)
    assert n_read == 0
    assert moments.n_samples == 180
    same_bits(moments, moments_from(folder, **OPTIONS))
    assert len(list((state / "files").glob("*.moments"))) == 3


def test_a_touched_file_is_read_again_unless_told_by_content(place):
    folder, state = place
    path = folder / "day-00.parquet"
    first, _ = run(folder, state)
    os.utime(path, ns=(1, 1))
    second, n_read = run(folder, state)
    assert n_read == 1
    same_bits(first, second)
    by_content = state.with_name("other")
    run(folder, by_content, state_by="content")
    os.utime(path, ns=(2, 2))
    third, n_read = run(folder, by_content, state_by="content")
    assert n_read == 0
    same_bits(first, third)


def test_two_sources_may_share_a_state(place):
    folder, state = place
    run(folder, state)
    some, n_read = run([folder / "day-01.parquet", folder / "day-02.parquet"], state)
    assert (n_read, some.n_samples) == (0, 120)
    assert run(folder, state)[1] == 0, "files that were not asked for are kept"


def test_fit_source_selects_from_the_state(seed, place):
    folder, state = place
    X, Y = planted(seed, 240)
    want = ProjSe(5).fit(X, Y)
    for _ in range(2):
        selector = ProjSe(5).fit_source(folder, state=state, **OPTIONS)
        assert selector.selected_.tolist() == want.selected_.tolist()
        np.testing.assert_allclose(selector.scores_, want.scores_, rtol=1e-10)
    fewer = ProjSe(2).fit_source(folder, state=state, **OPTIONS)
    assert fewer.selected_.tolist() == want.selected_[:2].tolist()


def test_files_without_rows_and_npy_files_are_kept_too(seed, place):
    folder, state = place
    pq.write_table(table(seed).slice(0, 0), folder / "day-00a.parquet")
    assert run(folder, state)[1] == 5
    assert run(folder, state)[1] == 0
    np.save(folder / "a.npy", np.hstack(planted(seed)))
    arrays = {"targets": ["8", "9", "10"], "state": state.with_name("npy")}
    for _ in range(2):
        assert moments_from(folder / "a.npy", **arrays).n_samples == 200


def test_labels_and_weights_go_through_the_state(seed, place):
    folder, state = place
    for i, path in enumerate(sorted(folder.iterdir())):
        t = pq.read_table(path)
        t = t.append_column("label", pa.array([f"c{i}", f"d{i % 2}"] * (t.num_rows // 2)))
        pq.write_table(t.append_column("w", pa.array(np.arange(t.num_rows) % 3)), path)
    options = {"class_target": "label", "features": NAMES, "weight": "w"}
    want = moments_from(folder, **options)
    for n in (2, 4, None):
        paths = sorted(folder.iterdir())[:n]
        got = moments_from(paths, state=state, **options)
    same_bits(got, want)
    assert got.classes.tolist() == want.classes.tolist()


# What does not fit


def test_another_request_is_refused_and_the_same_in_other_words_is_not(place):
    folder, state = place
    run(folder, state)
    assert run(folder, state, targets=TARGETS, features=NAMES)[1] == 0
    for other in (
        {"targets": ["y_0"]},
        {"exclude": "x_1"},
        {"features": list(reversed(NAMES))},
        {"weight": "x_1"},
        {"missing": "drop"},
    ):
        with pytest.raises(StateError) as caught:
            run(folder, state, **other)
        assert "another request" in str(caught.value)
        assert str(state) in str(caught.value)
        assert next(iter(other)).removesuffix("s")[:6] in str(caught.value) or "features" in str(
            caught.value
        )
    assert run(folder, state)[1] == 0


def wide(state, columns):
    """Write a table of these columns and y_0, in a folder of its own."""
    path = state.parent / "-".join(columns)[:40]
    path.mkdir()
    t = pa.table({name: np.arange(20.0) % (3 + j) for j, name in enumerate(columns)})
    pq.write_table(t.append_column("y_0", pa.array(np.arange(20.0))), path / "a.parquet")
    return path


def test_another_request_is_told_by_what_differs(place):
    _, state = place
    names = [f"a_long_name_{j}" for j in range(20)]
    folder = wide(state, names)
    run(folder, state)
    swapped = [*names[:17], names[18], names[17], names[19]]
    for features, said in (
        (names[:-1], "features: now without 'a_long_name_19')"),
        ([*names[1:], "y_0"], "features: now without 'a_long_name_0' and also 'y_0'"),
        (names[:10], "'a_long_name_10', 'a_long_name_11', 'a_long_name_12' and 7 more"),
        (swapped, "another order: number 18 was 'a_long_name_17' and is 'a_long_name_18'"),
    ):
        targets = None if "y_0" in features else "y_0"
        with pytest.raises(StateError) as caught:
            run(folder, state, targets=targets, features=features)
        assert said in str(caught.value)
    with pytest.raises(StateError, match="weight: None before, 'a_long_name_3' now"):
        run(folder, state, targets="y_0", weight="a_long_name_3")
    with pytest.raises(StateError, match="missing: 'refuse' before, 'drop' now"):
        run(folder, state, missing="drop")


def test_two_runs_at_once_are_refused_with_a_clear_message(place):
    folder, state = place
    with projse.moments.state.StateFolder(state), pytest.raises(StateError) as caught:
        run(folder, state)
    assert "Another run" in str(caught.value)
    assert str(os.getpid()) in str(caught.value)
    assert str(state) in str(caught.value)
    assert run(folder, state)[1] == 4, "the lock is given back"


@pytest.mark.slow
def test_the_lock_of_a_run_that_was_killed_is_free(place):
    folder, state = place
    code = (
        "import os, sys; from projse.moments.state import StateFolder\n"
        "with StateFolder(sys.argv[1]): os.kill(os.getpid(), 9)"
    )
    done = subprocess.run([sys.executable, "-c", code, str(state)], timeout=120, check=False)
    assert done.returncode == -9
    assert run(folder, state)[1] == 4


def test_a_damaged_state_is_mended_or_named(place):
    folder, state = place
    want, _ = run(folder, state)
    files = sorted((state / "files").glob("*.moments"))
    files[0].write_bytes(files[0].read_bytes()[:100])
    files[1].unlink()
    sorted((state / "files").glob("*.json"))[2].write_text("{")
    moments, n_read = run(folder, state)
    assert n_read == 3
    same_bits(moments, want)
    assert run(folder, state)[1] == 0
    for text in ("{", "[]", json.dumps({"layout": 99})):
        (state / "state.json").write_text(text)
        with pytest.raises(StateError, match=r"state\.json.*another state folder"):
            run(folder, state)


def test_what_a_killed_run_left_behind_is_swept_up(place):
    folder, state = place
    run(folder, state)
    n_files = len(list((state / "files").iterdir()))
    part, moments = f".projse-{'01' * 8}.part", f"{'ab' * 12}-{'cd' * 12}.moments"
    for name in (f"files/{part}", part, f"files/{moments}"):
        (state / name).write_bytes(b"half of it")
    run(folder, state)
    assert len(list((state / "files").iterdir())) == n_files
    assert not list(state.glob(".projse*"))


def test_a_file_that_changes_while_it_is_read_is_refused(place, monkeypatch):
    folder, state = place
    path = folder / "day-01.parquet"
    real = projse.moments.stream_run.moments_of

    times = iter(range(1, 100))

    def moments_of(rows, **options):
        os.utime(path, ns=(1, next(times)))
        return real(rows, **options)

    monkeypatch.setattr(projse.moments.stream_run, "moments_of", moments_of)
    with pytest.raises(SourceError, match=r"day-0\d\.parquet changed while it was read"):
        run(folder, state)
    monkeypatch.undo()
    moments, n_read = run(folder, state)
    assert n_read >= 3
    assert moments.n_samples == 240


@pytest.mark.parametrize("damage", DAMAGE)
def test_a_damaged_file_costs_none_of_those_before_it(seed, place, damage):
    folder, state = place
    path = folder / "day-02.parquet"
    good = path.read_bytes()
    DAMAGE[damage](path, table(seed).slice(120, 60))
    with pytest.raises(SourceError, match=r"day-02\.parquet"):
        run(folder, state, targets=TARGETS)
    path.write_bytes(good)
    moments, n_read = run(folder, state, targets=TARGETS)
    assert n_read == 2
    same_bits(moments, moments_from(folder, **OPTIONS))


# Folders that cannot be written


@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EDQUOT, errno.EIO])
@pytest.mark.parametrize("at", ["moments", "entry"])
def test_a_full_disk_is_named_and_what_is_done_is_kept(place, monkeypatch, number, at):
    folder, state = place
    real, calls = os.fsync, []
    per_file = 2  # one for the moments, one for the entry

    def fsync(descriptor):
        calls.append(descriptor)
        before = 1 + per_file * 2 + (0 if at == "moments" else 1)
        if len(calls) > before:
            raise OSError(number, os.strerror(number))
        real(descriptor)

    monkeypatch.setattr(os, "fsync", fsync)
    with pytest.raises(StateError) as caught:
        run(folder, state)
    assert str(state) in str(caught.value)
    assert os.strerror(number) in str(caught.value)
    if number != errno.EIO:
        assert "Free some space and run again" in str(caught.value)
    monkeypatch.undo()
    assert not list(state.rglob("*.part")), "nothing half-written is left"
    small_chunks(monkeypatch)
    moments, n_read = run(folder, state)
    assert n_read == 2
    same_bits(moments, moments_from(folder, **OPTIONS))


LIMITED = """
import resource, signal, sys
import projse.sources.batches
from projse import moments_from
projse.sources.batches.CHUNK_ROWS = (32, 32)
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
folder, state, limit = sys.argv[1], sys.argv[2], int(sys.argv[3])
resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))
try:
    moments_from(folder, targets="y_*", state=state)
except Exception as error:
    sys.exit(f"{type(error).__name__}: {error}")
"""


@pytest.mark.skipif(not hasattr(resource, "RLIMIT_FSIZE"), reason="the system has no such limit")
@pytest.mark.slow
def test_a_file_that_can_grow_no_further_is_named(place):
    folder, state = place
    run(sorted(folder.iterdir())[:2], state)
    largest = max(file.stat().st_size for file in (state / "files").iterdir())
    command = [sys.executable, "-c", LIMITED, str(folder), str(state), str(largest // 2)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 1
    assert done.stderr.startswith("StateError: There is no room for the state")
    assert str(state) in done.stderr
    assert run(folder, state)[1] == 2


AS_NOBODY = """
import os, sys
import numpy as np
from projse import ProjSe, moments_from
import pyarrow.parquet, pyarrow.compute
folder, state = sys.argv[1:]
moments_from(folder, targets="y_*")  # whatever is imported late is imported now
if os.getuid() == 0:
    os.setgid(65534), os.setuid(65534)
try:
    moments_from(folder, targets="y_*", state=state)
except Exception as error:
    sys.exit(f"{type(error).__name__}: {error}")
"""


@pytest.mark.parametrize("exists", slow(True, False))
def test_a_state_folder_without_permission_is_named(seed, exists):
    if not hasattr(os, "getuid"):
        pytest.skip("permissions are of another kind here")
    root = Path(tempfile.mkdtemp())
    try:
        folder, state = days(seed, root / "days"), root / "closed" / "state"
        state.mkdir(parents=True)
        if exists:
            moments_from(folder, state=state, **OPTIONS)
        else:
            state.rmdir()
        for path in [root, *root.rglob("*")]:
            path.chmod(0o555 if path.is_dir() else 0o444)
        command = [sys.executable, "-c", AS_NOBODY, str(folder), str(state)]
        done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
        assert done.returncode == 1
        assert done.stderr.startswith(f"StateError: The state folder {state} cannot be written")
        assert "permission" in done.stderr
        if exists:
            state.chmod(0o755)
            (state / "files").chmod(0o755)
            (state / "lock").chmod(0o644)
            assert run(folder, state)[1] == 0, "nothing is lost"
    finally:
        for path in [root, *root.rglob("*")]:
            path.chmod(0o755)
        shutil.rmtree(root)


def test_a_state_that_is_a_file_is_named(place, tmp_path):
    folder, _ = place
    (tmp_path / "file").touch()
    for state in (tmp_path / "file", tmp_path / "file" / "state"):
        with pytest.raises(StateError, match="is a file; the state needs a folder"):
            run(folder, state)


# With and without the products of the candidates


@pytest.mark.parametrize("before", [True, False])
def test_sums_with_products_serve_both_and_those_without_are_made_anew(place, before):
    folder, state = place
    for with_xx, n_read in ((before, 4), (False, 0), (True, 0 if before else 4), (False, 0)):
        moments, n = run(folder, state, with_xx=with_xx)
        assert n == n_read
        want = moments_from(folder, with_xx=with_xx, **OPTIONS)
        assert (moments.xx is None) == (not with_xx)
        np.testing.assert_allclose(moments.xx_diag, want.xx_diag, rtol=1e-13)
        if with_xx:
            same_bits(moments, want)
    assert len(list((state / "files").iterdir())) == 8, "the sums without products are gone"


def test_making_sums_anew_goes_on_where_it_was_interrupted(place):
    folder, state = place
    run(folder, state, with_xx=False)
    with pytest.raises(KeyboardInterrupt):
        moments_from(folder, state=state, progress=Watch(2), with_xx=True, **OPTIONS)
    moments, n_read = run(folder, state, with_xx=True)
    assert n_read == 2
    same_bits(moments, moments_from(folder, with_xx=True, **OPTIONS))


@pytest.mark.parametrize("first", [2, 6])
def test_a_state_of_many_candidates_leads_to_all_picks(seed, tmp_path, first):
    folder, state = many_candidates(seed, tmp_path / "many"), tmp_path / "state"
    watch = Watch()
    for n in (first, 6):
        selector = paper_form(n).fit_source(folder, state=state, progress=watch, **OPTIONS)
        want = paper_form(n).fit_source(folder, **OPTIONS)
        assert selector.selected_.tolist() == want.selected_.tolist()
        assert len(selector.selected_) == n
    assert watch.n_read == (2 if first == 2 else 0)
    with_products = selector.moments_
    fewer = paper_form(2).fit_source(folder, state=state, progress=watch, **OPTIONS)
    assert watch.n_read == 0
    assert fewer.selected_.tolist() == selector.selected_[:2].tolist()
    same_bits(moments_from(folder, state=state, with_xx=True, **OPTIONS), with_products)


def test_an_empty_file_before_kept_ones_leaves_the_question_open(seed, tmp_path):
    folder, state = many_candidates(seed, tmp_path / "many"), tmp_path / "state"
    paper_form(2).fit_source(folder, state=state, **OPTIONS)
    pq.write_table(pq.read_table(folder / "0.parquet").slice(0, 0), folder / "00.parquet")
    watch = Watch()
    selector = paper_form(6).fit_source(folder, state=state, progress=watch, **OPTIONS)
    assert (len(selector.selected_), watch.n_read) == (6, 3)


# Killed


KILLED = """
import sys
import pyarrow.dataset, pyarrow.parquet  # which take longer to load than some files to sum
import projse.sources.batches
from projse import moments_from
projse.sources.batches.CHUNK_ROWS = (512, 512)
folder, state, output = sys.argv[1:]
print("go", flush=True)
moments_from(folder, targets="y_*", state=state, n_jobs=2).save(output)
"""


@pytest.mark.slow
def test_killed_at_random_moments_the_answer_is_the_same_to_the_last_bit(seed, tmp_path):
    rng = np.random.default_rng(seed)
    folder = days(seed, tmp_path / "days", n_files=60, n_samples=60 * 4000)
    state, output = tmp_path / "state", tmp_path / "out.moments"
    command = [sys.executable, "-c", KILLED, str(folder), str(state), str(output)]
    started = time.monotonic()
    with subprocess.Popen(command, stdout=subprocess.PIPE) as process:
        process.stdout.readline()
        started = time.monotonic()
        assert process.wait(timeout=300) == 0
    whole = time.monotonic() - started
    want = Moments.load(output)
    shutil.rmtree(state)
    output.unlink()
    n_kills, n_ends, n_parts = 0, 0, set()
    while n_kills < 30 or not n_ends:
        assert n_kills < 300, "no run gets any further"
        with subprocess.Popen(command, stdout=subprocess.PIPE) as process:
            process.stdout.readline()
            try:
                process.wait(timeout=rng.uniform(0, whole / 2))
            except subprocess.TimeoutExpired:
                process.kill()
        if process.returncode == -9:
            n_kills += 1
            n_parts.add(len(list((state / "files").glob("*.json"))))
            continue
        assert process.returncode == 0
        same_bits(Moments.load(output), want)
        n_ends += 1
        shutil.rmtree(state)
        output.unlink()
    assert len(n_parts) > 3, "the runs were killed at different files"
