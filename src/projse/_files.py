"""Files behind a path: one file, a folder, a glob, hive partitions; and what makes a file new."""

from __future__ import annotations

import glob
import hashlib
import os
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import unquote

from projse.exceptions import SourceError

SUFFIXES = {
    ".parquet": "parquet",
    ".pq": "parquet",
    ".feather": "arrow",
    ".arrow": "arrow",
    ".ipc": "arrow",
    ".arrows": "arrow",
    ".csv": "csv",
    ".tsv": "csv",
    ".npy": "npy",
}
MAGIC = {b"PAR1": "parquet", b"ARROW1": "arrow", b"\x93NUMPY": "npy"}
FORMATS = ("parquet", "arrow", "csv", "npy")
COMPRESSED = (".gz", ".bz2", ".zst", ".lz4", ".br")
NULL_PARTITION = "__HIVE_DEFAULT_PARTITION__"


@dataclass(frozen=True)
class File:
    """A file of rows, its format, and the columns that its path stands for."""

    path: str
    format: str
    constants: dict[str, int | str | None] = field(default_factory=dict)

    @property
    def size(self) -> int:
        """Bytes on disk; 0 for a file that has gone, which reading it will tell."""
        try:
            return os.stat(self.path).st_size
        except OSError:
            return 0


def find_files(where: Any, file_format: str | None = None) -> list[File]:
    """List the files behind paths, folders and globs: each once, sorted by path."""
    if file_format == "feather":
        file_format = "arrow"
    if file_format is not None and file_format not in FORMATS:
        raise ValueError(f"format={file_format!r} is not one of {', '.join(FORMATS)}, feather.")
    if isinstance(where, str | os.PathLike):
        where = [where]
    found: dict[str, dict[str, str]] = {}
    for item in where:
        for path, root in _expand(os.fspath(item), file_format):
            found.setdefault(os.path.abspath(path), _partition(os.path.relpath(path, root)))
    names = {name for values in found.values() for name in values}
    whole = {
        name
        for name in names
        if all(
            _is_whole(v[name]) for v in found.values() if v.get(name) not in (None, NULL_PARTITION)
        )
    }
    return [
        File(
            path,
            file_format or _format_of(path),
            {name: _typed(text, name in whole) for name, text in found[path].items()},
        )
        for path in sorted(found)
    ]


def fingerprint(path: str, content: bool) -> dict[str, Any]:
    """Return what changes when a file changes: size and time, or size and content."""
    try:
        about = os.stat(path)
        if not content:
            return {"size": about.st_size, "mtime_ns": about.st_mtime_ns}
        with open(path, "rb") as file:
            digest = hashlib.file_digest(file, "sha256").hexdigest()
        return {"size": about.st_size, "sha256": digest}
    except OSError as error:
        raise SourceError(f"{path} cannot be read: {error.strerror}.") from error


def _expand(item: str, file_format: str | None) -> Iterable[tuple[str, str]]:
    """Yield files with the folder that their partitions are counted from."""
    item = os.path.expanduser(item)
    if "://" in item:
        raise SourceError(
            f"{item} is no local path; open it with pyarrow.dataset.dataset and pass the dataset."
        )
    if os.path.isfile(item):
        return [(item, os.path.dirname(item) or ".")]
    if os.path.isdir(item):
        files = [(path, item) for path in _walk(item, file_format)]
        if not files:
            raise SourceError(
                f"{item} holds no file to read ({', '.join(SUFFIXES)}); name the files, or pass "
                "their format."
            )
        return files
    if glob.has_magic(item):
        fixed = Path(item)
        while glob.has_magic(str(fixed)):
            fixed = fixed.parent
        files = []
        for hit in sorted(glob.glob(item, recursive=True)):
            if os.path.isdir(hit):
                files += [(path, str(fixed)) for path in _walk(hit, file_format)]
            else:
                files.append((hit, str(fixed)))
        if not files:
            raise SourceError(f"No file matches {item}.")
        return files
    raise SourceError(f"There is no file or folder {item}.")


def _walk(folder: str, file_format: str | None) -> list[str]:
    """Files below a folder that can be read; names that begin with . or _ are not data."""

    def refuse(error: OSError) -> None:
        raise SourceError(f"{error.filename} cannot be listed: {error.strerror}.") from error

    paths = []
    for place, folders, names in os.walk(folder, onerror=refuse, followlinks=True):
        folders[:] = sorted(name for name in folders if name[0] not in "._")
        for name in names:
            known = file_format is not None or _suffix_format(name) is not None
            if name[0] not in "._" and known:
                paths.append(os.path.join(place, name))
    return paths


def _suffix_format(name: str) -> str | None:
    stem, suffix = os.path.splitext(name.lower())
    if suffix in COMPRESSED:
        inner = SUFFIXES.get(os.path.splitext(stem)[1])
        return inner if inner == "csv" else None
    return SUFFIXES.get(suffix)


def _format_of(path: str) -> str:
    known = _suffix_format(path)
    if known is not None:
        return known
    try:
        with open(path, "rb") as file:
            head = file.read(8)
    except OSError as error:
        raise SourceError(f"{path} cannot be read: {error.strerror}.") from error
    for magic, name in MAGIC.items():
        if head.startswith(magic):
            return name
    raise SourceError(
        f"{path}: what kind of file is this? Pass its format: {', '.join(FORMATS)} "
        "(--format on the command line)."
    )


def _partition(relative: str) -> dict[str, str]:
    """Read ``name=value`` folders of a path."""
    folders = Path(relative).parts[:-1]
    pairs = (folder.split("=", 1) for folder in folders if "=" in folder[1:])
    return {unquote(name): unquote(value) for name, value in pairs}


def _is_whole(text: str) -> bool:
    digits = text.removeprefix("-")
    return digits.isascii() and digits.isdigit() and (digits == "0" or digits[0] != "0")


def _typed(text: str, whole: bool) -> int | str | None:
    if text == NULL_PARTITION:
        return None
    return int(text) if whole else text
