"""A state folder that is someone else's, damaged or tampered with: nothing outside is touched."""

from __future__ import annotations

import json
import os
import shutil
import signal

import pytest
from day_files import OPTIONS, days, run, same_bits, small_chunks

from projse import StateError, moments_from

pytestmark = pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="the system has no pipes")


@pytest.fixture(autouse=True)
def bounded():
    """Fail instead of waiting at a pipe."""

    def expired(*_):
        raise TimeoutError("the test waits for something")

    before = signal.signal(signal.SIGALRM, expired)
    signal.alarm(60)
    yield
    signal.alarm(0)
    signal.signal(signal.SIGALRM, before)


@pytest.fixture
def place(seed, tmp_path, monkeypatch):
    small_chunks(monkeypatch)
    return days(seed, tmp_path / "days"), tmp_path / "state"


@pytest.fixture
def treasure(tmp_path):
    """A file outside of the state folder that nothing may happen to."""
    path = tmp_path / "treasure"
    path.write_text("keep me")
    yield path
    assert path.read_text() == "keep me"
    assert not path.is_symlink()


def write(folder, contents):
    for name, text in contents.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)


def snapshot(folder):
    return {
        str(path.relative_to(folder)): path.read_bytes() if path.is_file() else None
        for path in folder.rglob("*")
    }


def entry_files(state):
    return sorted((state / "files").glob("*.json"))


def refused(folder, state, **more):
    """Sum with a state that is refused; return the message, which is one line."""
    with pytest.raises(StateError) as caught:
        run(folder, state, **more)
    message = str(caught.value)
    assert str(state) in message
    assert "\n" not in message
    assert len(message) < 500
    return message


# Folders of someone else


FOREIGN = {
    "notes": {"notes.txt": "mine"},
    "hidden": {".profile": "mine"},
    "files": {"files/a.json": '{"mine": 1}', "files/b.moments": "mine"},
    "files deeper": {"files/a/b.txt": "mine"},
    "part": {".projse-mine.part": "mine"},
    "state.json": {"state.json": '{"version": 4}', "files/a.json": "{}"},
    "state.json with a layout": {"state.json": '{"layout": 1}', "files/a.moments": "mine"},
    "state.json of text": {"state.json": "mine", "files/a.json": "mine"},
}


@pytest.mark.parametrize("kind", FOREIGN)
def test_a_folder_of_other_files_is_refused_and_left_as_it_was(place, kind):
    folder, state = place
    write(state, FOREIGN[kind])
    before = snapshot(state)
    message = refused(folder, state)
    assert "folder" in message
    assert "delete" not in message
    assert snapshot(state) == before


def test_a_folder_with_nothing_but_another_lock_is_left_as_it_was(place):
    folder, state = place
    write(state, {"lock": "password"})
    refused(folder, state)
    assert snapshot(state) == {"lock": b"password"}


def test_files_that_someone_put_into_a_state_are_left_alone(place):
    folder, state = place
    want, _ = run(folder, state)
    mine = {
        "notes.txt": "mine",
        ".projse-mine.part": "mine",
        "files/notes.json": '{"mine": 1}',
        "files/my.moments": "mine",
        "files/0123-4567.moments": "mine",
        "files/.projse-0123.part": "mine",
        f"files/{'A' * 24}.json": "mine",
        f"files/{'a' * 24}.json.bak": "mine",
        "files/deeper/a.json": "mine",
    }
    write(state, mine)
    moments, n_read = run(folder, state)
    assert n_read == 0
    same_bits(moments, want)
    assert {name: (state / name).read_text() for name in mine} == mine


def test_links_and_pipes_with_names_of_our_own_are_not_swept_up(place, treasure):
    folder, state = place
    want, _ = run(folder, state)
    names = [f"files/{'a' * 24}-{'b' * 24}.moments", f"files/.projse-{'0' * 16}.part"]
    names.append(f".projse-{'1' * 16}.part")
    for name in names:
        (state / name).symlink_to(treasure)
    os.mkfifo(state / "files" / f".projse-{'2' * 16}.part")
    moments, n_read = run(folder, state)
    assert n_read == 0
    same_bits(moments, want)
    assert all((state / name).is_symlink() for name in names)
    assert (state / "files" / f".projse-{'2' * 16}.part").is_fifo()


def test_an_empty_name_is_no_state_folder(place, monkeypatch, tmp_path, command):
    folder, _ = place
    monkeypatch.chdir(tmp_path)
    before = snapshot(tmp_path)
    with pytest.raises(StateError, match="empty name"):
        run(folder, "")
    done = command("select", folder, "-t", "y_*", "--state", "")
    assert done.returncode == 1
    assert done.stderr.startswith("projse: error: The state folder has an empty name")
    assert snapshot(tmp_path) == before
    assert "is not empty" in refused(folder, ".")


def test_an_empty_folder_and_one_of_a_run_that_never_began_are_used(place):
    folder, state = place
    for contents in ({}, {"lock": "123"}, {"lock": "", f".projse-{'0' * 16}.part": "{"}):
        state.mkdir()
        write(state, contents)
        if contents:
            (state / "files").mkdir()
        assert run(folder, state)[1] == 4
        shutil.rmtree(state)


def test_a_state_of_the_layout_before_is_named_and_left_as_it_was(place):
    folder, state = place
    old = {"layout": 1, "columns": {}, "request": {}, "missing": "refuse", "with_xx": "auto"}
    write(state, {"state.json": json.dumps(old), "files/a.json": "{}", "files/b.moments": ""})
    before = snapshot(state)
    message = refused(folder, state)
    assert "another version of projse (layout 1, not 3)" in message
    assert "delete this one" in message
    assert snapshot(state) == before


def test_a_state_of_a_layout_to_come_is_named_and_left_as_it_was(place):
    folder, state = place
    run(folder, state)
    plan = json.loads((state / "state.json").read_text())
    (state / "state.json").write_text(json.dumps({**plan, "layout": 4, "more": 1}))
    before = snapshot(state)
    message = refused(folder, state)
    assert "another version of projse (layout 4, not 3)" in message
    assert "use another state folder" in message
    assert snapshot(state) == before


# Locks, folders and states that are something else


def soft_link(path, target):
    path.symlink_to(target)


def hard_link(path, target):
    path.hardlink_to(target)


def dangling_link(path, target):
    path.symlink_to(target.with_name("nowhere"))


def pipe(path, target):
    os.mkfifo(path)


def a_folder(path, target):
    path.mkdir()


def copy(path, target):
    shutil.copy(target, path)


INSTEAD = [soft_link, hard_link, dangling_link, pipe, a_folder, copy]


@pytest.mark.parametrize("instead", INSTEAD)
def test_a_lock_that_is_something_else_is_refused(place, treasure, instead):
    folder, state = place
    run(folder, state)
    (state / "lock").unlink()
    instead(state / "lock", treasure)
    assert "lock" in refused(folder, state)
    assert not treasure.with_name("nowhere").exists()


def test_a_lock_that_links_to_a_number_is_refused(place, tmp_path):
    folder, state = place
    run(folder, state)
    number = tmp_path / "number"
    number.write_text("42")
    for link in (soft_link, hard_link):
        (state / "lock").unlink()
        link(state / "lock", number)
        refused(folder, state)
        assert number.read_text() == "42"


@pytest.mark.parametrize("instead", INSTEAD)
def test_a_state_json_that_is_something_else_is_refused(place, treasure, instead):
    folder, state = place
    run(folder, state)
    (state / "state.json").unlink()
    instead(state / "state.json", treasure)
    assert "state.json" in refused(folder, state)


def test_files_that_lie_elsewhere_are_refused(place, tmp_path):
    folder, state = place
    run(folder, state)
    shutil.move(state / "files", tmp_path / "elsewhere")
    (tmp_path / "elsewhere" / f"{'a' * 24}-{'b' * 24}.moments").write_text("mine")
    (state / "files").symlink_to(tmp_path / "elsewhere")
    before = snapshot(tmp_path / "elsewhere")
    assert "link" in refused(folder, state)
    assert snapshot(tmp_path / "elsewhere") == before


DEEP = "[" * 200_000 + "]" * 200_000
HUGE = "9" * 5000


def changed(**values):
    return lambda plan: {**plan, **values}


def columns(**values):
    return lambda plan: {**plan, "columns": {**plan["columns"], **values}}


def requested(**values):
    return lambda plan: {**plan, "request": {**plan["request"], **values}}


def lacking(name):
    return lambda plan: {key: value for key, value in plan.items() if key != name}


PLANS = [
    *(lacking(name) for name in ("kind", "layout", "columns", "request")),
    *(changed(columns=value) for value in (None, 5, [], {}, "a")),
    *(changed(request=value) for value in (None, 5, [], {}, "a")),
    *(changed(layout=value) for value in (None, "2", [2], 10**400, -1, 2.5)),
    *(columns(features=value) for value in (None, 5, "x_0", [5], [None], ["x_0"] * 8, {})),
    *(columns(weight=value) for value in (5, ["x_0"], {})),
    columns(more=1),
    requested(missing="perhaps"),
    requested(missing=[]),
]


@pytest.mark.parametrize("tamper", PLANS)
def test_a_tampered_state_json_is_named(place, tamper):
    folder, state = place
    run(folder, state)
    file = state / "state.json"
    file.write_text(json.dumps(tamper(json.loads(file.read_text()))))
    message = refused(folder, state, targets=["y_0", "y_1", "y_2"])
    assert "state.json" in message
    assert "another state folder" in message


@pytest.mark.parametrize("text", [DEEP, HUGE, f'{{"layout": {HUGE}}}', "", "null", "NaN", "\0"])
def test_a_state_json_that_is_no_state_is_named(place, text):
    folder, state = place
    run(folder, state)
    (state / "state.json").write_text(text)
    assert "state.json is damaged" in refused(folder, state)


# Entries


def of_entry(**values):
    return lambda plain: json.dumps({**plain, **values})


ENTRIES = [
    *(of_entry(moments=m) for m in ("../../treasure", 5, [], {}, "", "A" * 64, "0" * 64, True)),
    *(of_entry(path=p) for p in (None, 5, [], {}, "", "\ud800", "\0", "../../treasure")),
    *(of_entry(fingerprint=f) for f in (None, 5, [], {}, "a", {"size": 10**400})),
    *(of_entry(request=r) for r in (None, 5, [], "a", "0" * 64)),
    of_entry(more=1),
    lambda plain: json.dumps({"moments": "../../treasure", "n_rows": 1, **plain}),
    lambda plain: json.dumps({"path": plain["path"]}),
    lambda plain: json.dumps([plain]),
    lambda plain: DEEP,
    lambda plain: f'{{"path": {HUGE}}}',
    lambda plain: f'{{"fingerprint": {DEEP}}}',
    lambda plain: json.dumps(plain) + " " * (2 << 20),
    lambda plain: "NaN",
    lambda plain: "\0",
    lambda plain: "",
]


@pytest.mark.parametrize("tamper", ENTRIES)
def test_a_tampered_entry_costs_its_file_and_nothing_else(place, treasure, tamper):
    folder, state = place
    want, _ = run(folder, state)
    file = entry_files(state)[0]
    file.write_text(tamper(json.loads(file.read_text())))
    for n_read in (1, 0):
        moments, n = run(folder, state)
        assert n == n_read
        same_bits(moments, want)


def test_an_entry_that_names_a_file_elsewhere_reaches_nothing(place, treasure):
    folder, state = place
    want, _ = run(folder, state)
    other = treasure.with_name("other.moments")
    moments_from(folder / "day-00.parquet", **OPTIONS).save(other)
    content = other.read_bytes()
    for moments in (str(other), "../../other.moments", str(treasure)):
        file = entry_files(state)[0]
        plain = json.loads(file.read_text())
        file.write_text(json.dumps({**plain, "moments": moments}))
        os.utime(plain["path"], ns=(1, len(moments)))
        found, n_read = run(folder, state)
        assert n_read == 1
        same_bits(found, want)
    assert other.read_bytes() == content


@pytest.mark.parametrize("suffix", ["json", "moments"])
@pytest.mark.parametrize("instead", [soft_link, hard_link, dangling_link, pipe])
def test_an_entry_or_moments_that_are_something_else_cost_one_file(
    place, treasure, instead, suffix
):
    folder, state = place
    want, _ = run(folder, state)
    file = sorted((state / "files").glob(f"*.{suffix}"))[0]
    file.unlink()
    instead(file, treasure)
    for n_read in (1, 0):
        moments, n = run(folder, state)
        assert n == n_read
        same_bits(moments, want)


@pytest.mark.parametrize("suffix", ["json", "moments"])
def test_right_contents_behind_a_link_do_not_count(place, tmp_path, suffix):
    folder, state = place
    want, _ = run(folder, state)
    file = sorted((state / "files").glob(f"*.{suffix}"))[0]
    shutil.move(file, tmp_path / "elsewhere")
    content = (tmp_path / "elsewhere").read_bytes()
    file.symlink_to(tmp_path / "elsewhere")
    moments, n_read = run(folder, state)
    assert n_read == 1
    same_bits(moments, want)
    assert (tmp_path / "elsewhere").read_bytes() == content


@pytest.mark.parametrize("suffix", ["json", "moments"])
def test_a_folder_in_place_of_a_file_is_named_and_kept(place, suffix):
    folder, state = place
    run(folder, state)
    file = sorted((state / "files").glob(f"*.{suffix}"))[0]
    file.unlink()
    write(file, {"notes.txt": "mine"})
    assert refused(folder, state).startswith(
        f"{file} is a folder, where the state keeps a file. Move"
    )
    assert (file / "notes.txt").read_text() == "mine"


# What an entry is bound to


@pytest.mark.parametrize("other", [{"features": ["x_1", "x_2"]}, {"missing": "drop"}])
def test_without_state_json_another_request_reads_anew_and_the_same_goes_on(place, other):
    folder, state = place
    want, _ = run(folder, state)
    (state / "state.json").unlink()
    moments, n_read = run(folder, state)
    assert n_read == 0
    same_bits(moments, want)
    (state / "state.json").unlink()
    moments, n_read = run(folder, state, **other)
    assert n_read == 4
    same_bits(moments, moments_from(folder, **{**OPTIONS, **other}))


def test_moments_that_were_exchanged_are_noticed(place):
    folder, state = place
    want, _ = run(folder, state)
    one, other = sorted((state / "files").glob("*.moments"))[:2]
    content = one.read_bytes()
    one.write_bytes(other.read_bytes())
    other.write_bytes(content)
    moments, n_read = run(folder, state)
    assert n_read == 2
    same_bits(moments, want)


def test_entries_of_another_request_are_noticed(place):
    folder, state = place
    want, _ = run(folder, state)
    strange = state.with_name("strange")
    run(folder, strange, targets="y_0", exclude="y_*", target_type="continuous")
    shutil.rmtree(state / "files")
    shutil.copytree(strange / "files", state / "files")
    moments, n_read = run(folder, state)
    assert n_read == 4
    same_bits(moments, want)


def test_an_entry_under_the_name_of_another_is_noticed(place):
    folder, state = place
    want, _ = run(folder, state)
    one, other = entry_files(state)[:2]
    shutil.copy(one, other)
    moments, n_read = run(folder, state)
    assert n_read == 1
    same_bits(moments, want)
