"""The command and other programs in a process of their own, without a terminal."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import NamedTuple

COMMAND = Path(sys.executable).with_name("projse")


class Done(NamedTuple):
    """How a program ended, and what it printed."""

    returncode: int
    stdout: str
    stderr: str


Command = Callable[..., Done]


def without(names: Iterable[str]) -> str:
    """Return lines that let a program do without some packages, as where they are not installed."""
    return (
        "import sys\n"
        "class Absent:\n"
        "    def find_spec(self, name, *_):\n"
        f"        if name.split('.')[0] in {set(names)!r}:\n"
        "            raise ModuleNotFoundError(name)\n"
        "sys.meta_path.insert(0, Absent())\n"
    )


def run(*command: str | Path, **environment: str) -> Done:
    """Run a command, its output as UTF-8 text."""
    settings = {"COLUMNS": "80", "PYTHONIOENCODING": "utf-8", **environment}
    done = subprocess.run(
        command,
        env=os.environ | settings,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        encoding="utf-8",
        timeout=120,
        check=False,
    )
    return Done(done.returncode, done.stdout, done.stderr)


def run_python(code: str) -> Done:
    """Run lines of Python."""
    return run(sys.executable, "-c", code)


def picks(done: Done) -> list[str]:
    """Names in the table of a run, in order."""
    assert done.returncode == 0, done.stderr
    return re.findall(r"^ *\d+ +(\S+) .*$", done.stdout, flags=re.MULTILINE)
