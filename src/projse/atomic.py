"""Files of which nobody sees a part: written under a temporary name, flushed, then renamed."""

from __future__ import annotations

import contextlib
import os
import re
import secrets
from pathlib import Path
from types import TracebackType
from typing import BinaryIO, Self

TEMPORARY = re.compile(r"\.projse-[0-9a-f]{16}\.part")
"""Names that files have while they are written; a killed run may leave one behind."""


class Draft:
    """A new file in a folder, to be published under a name in the same folder, or not at all.

    Parameters
    ----------
    folder : Path

    Attributes
    ----------
    file : file object
        To write to, in binary mode.
    """

    def __init__(self, folder: Path) -> None:
        self._path = folder / f".projse-{secrets.token_hex(8)}.part"
        # Unlike tempfile's, this file has the permissions that the user's umask gives.
        self.file: BinaryIO = self._path.open("xb")

    def __enter__(self) -> Self:
        return self

    def publish(self, path: Path) -> None:
        """Put what was written in the place of ``path``, once it is on the disk."""
        self.file.flush()
        os.fsync(self.file.fileno())
        self.file.close()
        os.replace(self._path, path)

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        # What went wrong before is what the caller has to know.
        with contextlib.suppress(OSError):
            self.file.close()
        with contextlib.suppress(OSError):
            self._path.unlink(missing_ok=True)


def write_whole(path: Path, content: bytes) -> None:
    """Write a file: a reader sees the old one or the new one, never a part."""
    with Draft(path.parent) as draft:
        draft.file.write(content)
        draft.publish(path)
