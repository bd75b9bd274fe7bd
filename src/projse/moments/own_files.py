"""Files of a folder that may be shared, damaged or tampered with.

Only regular files are opened or removed, links are not followed, and nothing waits for a pipe.
"""

from __future__ import annotations

import contextlib
import errno
import json
import os
import re
import stat
from pathlib import Path
from typing import Any

from projse.atomic import write_whole
from projse.exceptions import StateError

HOLDER = re.compile(rb"[0-9]{0,20}\n?")

OWN_FLAGS = (
    getattr(os, "O_NOFOLLOW", 0)
    | getattr(os, "O_NONBLOCK", 0)  # opening a pipe must not wait for its other end
    | getattr(os, "O_CLOEXEC", 0)
    | getattr(os, "O_BINARY", 0)
)


def locked(path: Path, folder: Path) -> Any:
    """Open a file and lock it until it is closed, or its process ends in whatever way."""
    descriptor = open_own(path, os.O_RDWR | os.O_CREAT)
    if descriptor is None:
        raise StateError(f"{path} is no regular file, and so no lock of a state; remove it.")
    file = os.fdopen(descriptor, "r+b", buffering=0)
    try:
        try:
            import fcntl
        except ImportError:  # Windows
            import msvcrt

            file.seek(1 << 30)  # a byte far from the text, which can then be read by others
            msvcrt.locking(file.fileno(), msvcrt.LK_NBLCK, 1)  # type: ignore[attr-defined]
        else:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        holder = _holder(file)
        file.close()
        if error.errno not in (errno.EACCES, errno.EAGAIN, errno.EDEADLK):
            raise
        who = f" (process {holder})" if holder else ""
        raise StateError(
            f"Another run{who} is using the state folder {folder}. Wait until it ends, or use "
            "another folder."
        ) from error
    if _holder(file) is None or os.fstat(file.fileno()).st_nlink > 1:
        file.close()
        raise StateError(
            f"{path} was not written by a run that used the folder; move it elsewhere, or use "
            "another folder."
        )
    file.seek(0)
    file.truncate()
    file.write(str(os.getpid()).encode())
    return file


def _holder(file: Any) -> str | None:
    """Return the process that a lock names, "" where it names none, None where it is no lock."""
    file.seek(0)
    text = file.read(32)
    return text.decode().strip() if HOLDER.fullmatch(text) else None


def open_own(path: Path, flags: int) -> int | None:
    """Open a regular file of the folder; None where the name is something else."""
    with contextlib.suppress(FileNotFoundError):
        # Asked before opening too, since opening a device may do something.
        if not stat.S_ISREG(os.lstat(path).st_mode):
            return None
    descriptor = os.open(path, flags | OWN_FLAGS, 0o666)
    if stat.S_ISREG(os.fstat(descriptor).st_mode):
        return descriptor
    os.close(descriptor)
    return None


def read_own(path: Path, most: int | None = None) -> bytes | None:
    """Read a regular file of the folder; None where it is none, or longer than ``most``."""
    descriptor = open_own(path, os.O_RDONLY)
    if descriptor is None:
        return None
    with os.fdopen(descriptor, "rb") as file:
        if most is not None and os.fstat(descriptor).st_size > most:
            return None
        return file.read()


def remove(path: Path) -> None:
    """Remove a regular file whose name is ours; whatever else has the name stays."""
    with contextlib.suppress(FileNotFoundError):
        if stat.S_ISREG(os.lstat(path).st_mode):
            path.unlink()


def write_json(path: Path, plain: dict[str, Any]) -> None:
    """Write an object to a file, whole or not at all."""
    write_whole(path, json.dumps(plain).encode())


def read_json(path: Path, most: int) -> dict[str, Any] | None:
    """Return the object that a file holds; None where it holds none."""
    try:
        content = read_own(path, most)
        plain = None if content is None else json.loads(content)
    except (ValueError, RecursionError):
        return None
    return plain if isinstance(plain, dict) else None
