"""The folders say what is where: rooms with a few lines each, and tests that mirror them."""

from __future__ import annotations

import ast
import re
from collections import Counter
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PACKAGE = ROOT / "src" / "projse"


def folders(path):
    return sorted(p.name for p in path.iterdir() if p.is_dir() and p.name != "__pycache__")


ROOMS = folders(PACKAGE)


def picture():
    """The picture of the rooms, as CONTRIBUTING draws it."""
    text = (ROOT / "CONTRIBUTING.md").read_text()
    return re.search(r"```text\n(.*?)```", text, flags=re.DOTALL).group(1)


def test_there_are_rooms():
    assert {"sources", "moments", "kernels", "search", "estimators", "cli"} <= set(ROOMS)


@pytest.mark.parametrize("room", ROOMS)
def test_a_room_says_what_comes_in_what_goes_out_and_what_it_must_not_know(room):
    docs = ast.get_docstring(ast.parse((PACKAGE / room / "__init__.py").read_text()))
    words = re.findall(r"\b(Comes in|Goes out|Must not know): \w", docs)
    assert words == ["Comes in", "Goes out", "Must not know"]
    assert len(docs.splitlines()) <= 10


@pytest.mark.parametrize("room", ROOMS)
def test_modules_of_a_room_have_plain_names(room):
    modules = {path.stem for path in (PACKAGE / room).glob("*.py")} - {"__init__"}
    assert modules, "a room is not empty"
    assert not [name for name in modules if name.startswith("_")]
    inside = {path.parent.name for path in (PACKAGE / room).rglob("*.py")} - {room}
    assert inside <= {"table"}, "a room has no rooms of its own, but for one"


def test_the_picture_shows_every_room_and_the_few_modules_beside_them():
    assert sorted(re.findall(r"(\w+)/", picture())) == ROOMS
    modules = {path.name for path in PACKAGE.glob("*.py")} - {"__init__.py"}
    assert set(re.findall(r"\w+\.py", picture())) == modules
    assert len(modules) <= len(ROOMS), "modules live in rooms"


def test_tests_mirror_the_rooms():
    assert folders(ROOT / "tests") == sorted([*ROOMS, "project"])
    files = [path.stem for path in (ROOT / "tests").rglob("test_*.py")]
    assert [name for name, n in Counter(files).items() if n > 1] == [], "pytest needs unique names"
    assert all(list((ROOT / "tests" / room).glob("test_*.py")) for room in ROOMS)
