"""Bytes of a file, unpacked: plain, .gz, .bz2, or a member of a .zip archive.

A few packed megabytes may unpack to any size: nothing is unpacked beyond a limit.
"""

from __future__ import annotations

import bz2
import gzip
import hashlib
import zipfile
import zlib
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import IO

from projse.exceptions import DatasetError

LIMIT = 1 << 30
"""Bytes a file may unpack to, where its data set does not say."""

CHUNK = 1 << 20
COMPRESSED = (".gz", ".bz2")


def damaged(name: object, why: object) -> DatasetError:
    """Make the error for a file that cannot be what its name says."""
    reason = str(why).rstrip(".")
    return DatasetError(
        f"{name} is damaged, or not what its name says: {reason}. Remove it and get it again."
    )


def too_large(name: object, limit: int) -> DatasetError:
    """Make the error for a file that unpacks to more than its data set can hold."""
    return damaged(name, f"it unpacks to more than {limit} bytes")


def read_content(path: Path, limit: int = LIMIT) -> bytes:
    """Return what ``path`` holds, unpacked if its name ends in .gz or .bz2."""
    return b"".join(_chunks(path, limit))


def content_checksum(path: Path, limit: int = LIMIT) -> str:
    """Return the sha256 of what ``path`` holds, unpacked, without holding it."""
    checksum = hashlib.sha256()
    for chunk in _chunks(path, limit):
        checksum.update(chunk)
    return checksum.hexdigest()


def _chunks(path: Path, limit: int) -> Iterator[bytes]:
    """Yield what a file holds, piece by piece, up to its end or the limit."""
    if not path.stat().st_size:
        raise damaged(path, "it is empty")
    size = 0
    try:
        with _unpacked(path) as file:
            while chunk := file.read(CHUNK):
                size += len(chunk)
                if size > limit:
                    raise too_large(path, limit)
                yield chunk
    except DatasetError:
        raise
    except (OSError, EOFError, ValueError, zlib.error) as error:
        raise damaged(path, error) from error


def _unpacked(path: Path) -> gzip.GzipFile | IO[bytes]:
    if path.suffix == ".gz":
        return gzip.open(path)
    return bz2.open(path) if path.suffix == ".bz2" else path.open("rb")


def read_member(path: Path, names: Sequence[str], limit: int = LIMIT) -> tuple[str, bytes]:
    """Return name and content of the first of ``names`` in a .zip archive, in whatever folder."""
    try:
        with zipfile.ZipFile(path) as archive:
            members = {Path(member).name: member for member in archive.namelist()}
            for name in names:
                if name in members:
                    # zipfile reads no more than the archive announces.
                    if archive.getinfo(members[name]).file_size > limit:
                        raise too_large(path / name, limit)
                    return name, archive.read(members[name])
    except DatasetError:
        raise
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
