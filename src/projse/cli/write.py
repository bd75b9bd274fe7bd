"""Writing for the command line: where results may go, and how they get there whole."""

import os
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from projse.atomic import write_whole
from projse.sources.files import identity

STDOUT = "-"
CLOSED = "Standard output is closed; name a file to write."


@dataclass(frozen=True)
class Destinations:
    """Where the results of a selection go, as the user gave it; None: nowhere."""

    json: str | None = None
    csv: str | None = None
    report: str | None = None

    @property
    def given(self) -> dict[str, str]:
        """Return the places by their options."""
        return {f"--{name}": where for name, where in vars(self).items() if where is not None}

    @property
    def to_stdout(self) -> list[str]:
        """Return the options that ask for standard output."""
        return [option for option, where in self.given.items() if where == STDOUT]


def place_to_write(
    path: str | Path,
    inputs: Iterable[str],
    state: str | Path | None = None,
    *,
    regular: bool = False,
) -> Path:
    """Return the place behind links to write to; refuse it before anything is read for it.

    Parameters
    ----------
    path : path-like
        As the user gave it.
    inputs : iterable of str
        Files that are read, none of which may be written to by any of its names.
    state : path-like, default=None
        The state folder, which is nobody else's to write in.
    regular : bool, default=False
        Refuse devices and pipes: for results that are renamed into place.
    """
    if not os.fspath(path):
        raise ValueError("The file to write has an empty name; name one, or - where that is told.")
    who = identity(path)
    for name in inputs:
        if identity(name) == who:
            raise ValueError(f"{path} would overwrite {name}, which is read. Name another file.")
    if Path(path).is_dir():
        raise IsADirectoryError(f"{path} is a folder; name a file to write.")
    if is_special(path):
        if regular:
            raise ValueError(f"{path} is a device or a pipe; name a file to write.")
        return Path(path)
    place = Path(os.path.realpath(path))
    if state and place.is_relative_to(os.path.realpath(state)):
        raise ValueError(f"{path} lies in the state folder {state}; write to another folder.")
    folder = place.parent
    if not folder.is_dir():
        raise FileNotFoundError(f"There is no folder {folder} to write {path} in.")
    if not os.access(folder, os.W_OK):
        raise PermissionError(f"{path} cannot be written: no permission in {folder}.")
    return place


def is_special(path: str | Path) -> bool:
    """Tell whether a path is there and is a device, a pipe or a socket."""
    return os.path.exists(path) and not os.path.isfile(path) and not os.path.isdir(path)


def is_terminal(where: str | Path) -> bool:
    """Tell whether what is written there is shown to someone."""
    if where == STDOUT:
        if sys.stdout is None:
            raise OSError(CLOSED)
        return sys.stdout.isatty()
    if not Path(where).is_char_device():
        return False
    with open(where, "wb", buffering=0) as device:
        return device.isatty()


def write_text(where: str | Path, text: str) -> None:
    """Write to standard output, to a device, or to a file, of which nobody sees a part."""
    if where == STDOUT:
        _to_stdout(text)
        return
    place = Path(where)
    with room_for(place):
        if is_special(place):
            place.write_bytes(text.encode())
        else:
            write_whole(place, text.encode())


@contextmanager
def room_for(place: Path) -> Iterator[None]:
    """Name the file that cannot be written; the system tells only why."""
    try:
        yield
    except BrokenPipeError:
        raise
    except OSError as error:
        raise OSError(
            f"{place} cannot be written: {error.strerror or error}. Free some space, or write "
            "elsewhere."
        ) from error


def _to_stdout(text: str) -> None:
    """Write to standard output: as UTF-8, like files, where it cannot hold the text."""
    if sys.stdout is None:
        raise OSError(CLOSED)
    try:
        text.encode(sys.stdout.encoding or "utf-8")
    except UnicodeEncodeError:
        sys.stdout.flush()
        sys.stdout.buffer.write(text.encode())
    else:
        sys.stdout.write(text)
    sys.stdout.flush()
