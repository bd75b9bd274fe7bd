"""Bytes of a file, unpacked: plain, .gz, .bz2, or a member of a .zip archive."""

from __future__ import annotations

import bz2
import gzip
import zipfile
import zlib
from collections.abc import Sequence
from pathlib import Path

from projse.exceptions import DatasetError


def damaged(name: object, why: object) -> DatasetError:
    """Make the error for a file that cannot be what its name says."""
    reason = str(why).rstrip(".")
    return DatasetError(
        f"{name} is damaged, or not what its name says: {reason}. Remove it and get it again."
    )


def read_content(path: Path) -> bytes:
    """Return what ``path`` holds, unpacked if its name ends in .gz or .bz2."""
    packed = path.read_bytes()
    if not packed:
        raise damaged(path, "it is empty")
    try:
        if path.suffix == ".gz":
            return gzip.decompress(packed)
        if path.suffix == ".bz2":
            return bz2.decompress(packed)
    except (OSError, EOFError, ValueError, zlib.error) as error:
        raise damaged(path, error) from error
    return packed


def read_member(path: Path, names: Sequence[str]) -> tuple[str, bytes]:
    """Return name and content of the first of ``names`` in a .zip archive, in whatever folder."""
    try:
        with zipfile.ZipFile(path) as archive:
            members = {Path(member).name: member for member in archive.namelist()}
            for name in names:
                if name in members:
                    return name, archive.read(members[name])
    # zipfile also raises NotImplementedError and RuntimeError, for what it cannot unpack.
    except (
        OSError,
        EOFError,
        ValueError,
        RuntimeError,
        zipfile.BadZipFile,
        zlib.error,
    ) as error:
        raise damaged(path, error) from error
    present = ", ".join(sorted(members)) or "nothing"
    raise damaged(path, f"it holds {present}, but none of {', '.join(names)}")


def read_text(content: bytes, name: object) -> list[str]:
    """Return the lines of a text file that are not blank, without spaces around them."""
    try:
        text = content.decode("utf-8")
    except UnicodeDecodeError as error:
        raise damaged(name, error) from error
    return [line for line in map(str.strip, text.split("\n")) if line]
