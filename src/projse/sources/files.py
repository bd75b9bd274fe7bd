"""Files behind a path: one file, a folder, a glob, hive partitions; and what makes a file new."""

from __future__ import annotations

import glob
import hashlib
import os
from collections import deque
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
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
OTHER_FORMATS = {
    b"PK\x03\x04": "a zip archive, such as an Excel workbook or .npz; store the table as CSV, "
    "Parquet or .npy",
    b"\xd0\xcf\x11\xe0": "an Excel workbook; store the table as CSV",
    b"\x1f\x8b": "compressed; let its name end in .csv.gz, if there is a CSV file in it",
}
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
    """List the files behind paths, folders and globs: each once, sorted by path.

    A file counts once however many names, links and hard links lead to it. It is called by the
    first of its names that leads through no link, and has the partitions of that name.
    """
    if file_format == "feather":
        file_format = "arrow"
    if file_format is not None and file_format not in FORMATS:
        raise ValueError(f"format={file_format!r} is not one of {', '.join(FORMATS)}, feather.")
    if isinstance(where, str | os.PathLike):
        where = [where]
    found = _once(
        (os.path.abspath(path), _partition(os.path.relpath(path, root)))
        for item in where
        for path, root in _expand(os.fspath(item), file_format)
    )
    for path in found:
        _refuse_irregular(path)
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


def _refuse_irregular(path: str) -> None:
    """Refuse what is no file, such as a pipe, that opening would wait for."""
    if os.path.islink(path) and not os.path.exists(path):
        raise SourceError(f"{path} is a link to a file that is not there; restore or remove it.")
    if os.path.exists(path) and not os.path.isfile(path):
        raise SourceError(
            f"{path} is a pipe or a device, and rows may be read more than once; store them in a "
            "file."
        )


def would_find(where: Iterable[Any], path: str | os.PathLike[str], file_format: str | None) -> bool:
    """Tell whether :func:`find_files` would list a file that is yet to be written.

    Of folders and globs; a file that is named itself is there already.
    """
    place = Path(os.path.realpath(path))
    for item in map(os.path.expanduser, map(os.fspath, where)):
        if os.path.isdir(item):
            tops = [item]
        elif glob.has_magic(item):
            folder, pattern = os.path.split(item)
            visible = place.name[0] != "." or pattern[:1] == "."
            matches = visible and fnmatchcase(place.name, pattern)
            if matches and place.parent in map(_real, _matched_folders(folder)):
                return True
            tops = [hit for hit in _matches(item) if os.path.isdir(hit)]
        else:
            continue
        if any(_would_walk(_real(top), place, file_format) for top in tops):
            return True
    return False


def _matched_folders(pattern: str) -> list[str]:
    """Return the folders that a glob stands for, of which ``**`` may be none."""
    found = _matches(pattern or os.curdir)
    above, last = os.path.split(pattern)
    return found + _matched_folders(above) if last == "**" else found


def _real(path: str) -> Path:
    return Path(os.path.realpath(path))


def _would_walk(top: Path, place: Path, file_format: str | None) -> bool:
    """Tell whether a file is one that :func:`_walk` lists below a folder."""
    if not place.is_relative_to(top):
        return False
    readable = file_format is not None or _suffix_format(place.name) is not None
    return readable and not any(part[0] in "._" for part in place.relative_to(top).parts)


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


def identity(path: str | os.PathLike[str]) -> tuple[Any, ...]:
    """Return what all names of one file or folder share; its real path where it is not there."""
    try:
        about = os.stat(path)
    except OSError:
        return (os.path.realpath(path),)
    # Some network file systems number nothing.
    return (about.st_dev, about.st_ino) if about.st_ino else (os.path.realpath(path),)


def _once(named: Iterable[tuple[str, dict[str, str]]]) -> dict[str, dict[str, str]]:
    """Keep one name of each file, and the partitions that go with it."""
    names: dict[tuple[Any, ...], list[tuple[str, dict[str, str]]]] = {}
    for path, partition in named:
        names.setdefault(identity(path), []).append((path, partition))

    def rank(pair: tuple[str, dict[str, str]]) -> tuple[bool, str, int]:
        path, partition = pair
        # Counted from a folder further up, the same path has more partitions.
        return os.path.realpath(path) != path, path, -len(partition)

    return dict(same[0] if len(same) == 1 else min(same, key=rank) for same in names.values())


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
        for hit in _matches(item):
            if os.path.isdir(hit):
                files += [(path, str(fixed)) for path in _walk(hit, file_format)]
            else:
                files.append((hit, str(fixed)))
        if not files:
            raise SourceError(f"No file matches {item}.")
        return files
    _refuse_irregular(item)
    if item == "-":
        raise SourceError("Standard input is not read; store the rows in a file, and name it.")
    raise SourceError(f"There is no file or folder {item or repr(item)}.")


def _matches(pattern: str) -> list[str]:
    """Return what a glob stands for; ``**`` enters each folder once, where Python's may not end."""
    parts = Path(pattern).parts
    if "**" not in parts:
        return glob.glob(pattern)
    place = parts.index("**")
    rest = parts[place + 1 :] or ("*",)
    starts = _matches(os.path.join(*parts[:place])) if place else [os.curdir]
    hits = []
    for start in filter(os.path.isdir, starts):
        for folder, _ in _folders(start, hidden="."):
            hits += _matches(os.path.join(glob.escape(folder), *rest))
    return hits


def _walk(folder: str, file_format: str | None) -> list[str]:
    """Files below a folder that can be read; names that begin with . or _ are not data."""
    return [
        os.path.join(place, name)
        for place, names in _folders(folder, hidden="._")
        for name in names
        if name[0] not in "._" and (file_format is not None or _suffix_format(name) is not None)
    ]


def _folders(top: str, hidden: str) -> Iterator[tuple[str, list[str]]]:
    """Yield the folders from ``top`` down with the files in them, each folder once.

    Links are followed after everything else, so that a folder goes by its own name where it has
    one here, and a link to a folder that was seen, such as one above, leads nowhere.
    """
    waiting = deque([top])
    seen = set()
    while waiting:
        place = waiting.popleft()
        if (who := identity(place)) in seen:
            continue
        seen.add(who)
        try:
            with os.scandir(place) as listing:
                entries = sorted(listing, key=lambda entry: entry.name)
        except OSError as error:
            raise SourceError(f"{error.filename} cannot be listed: {error.strerror}.") from error
        names = []
        for entry in entries:
            if not os.path.isdir(entry.path):
                names.append(entry.name)
            elif entry.name[0] in hidden:
                continue
            elif entry.is_symlink():
                waiting.append(entry.path)
            else:
                waiting.appendleft(entry.path)
        yield place, names


def delimiter(path: str) -> str:
    """Return what separates the columns of a CSV file: a tab where the file is called .tsv."""
    return "\t" if _suffix(path)[0] == ".tsv" else ","


def _suffix(name: str) -> tuple[str, bool]:
    """Return the suffix of a file that says what it holds, and whether that is compressed."""
    stem, suffix = os.path.splitext(name.lower())
    if suffix in COMPRESSED:
        return os.path.splitext(stem)[1], True
    return suffix, False


def _suffix_format(name: str) -> str | None:
    suffix, compressed = _suffix(name)
    known = SUFFIXES.get(suffix)
    return None if compressed and known != "csv" else known


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
    refuse_other_format(path, head)
    raise SourceError(
        f"{path}: what kind of file is this? Pass its format: {', '.join(FORMATS)} "
        "(--format on the command line)."
    )


def refuse_other_format(path: str, head: bytes, own: str | None = None) -> None:
    """Refuse a file whose first bytes tell that it is of another format than its own."""
    for magic, name in MAGIC.items():
        if own is not None and head.startswith(magic):
            raise SourceError(
                f"{path} is no {own} file but {name}; rename it, or pass its format "
                f"(--format {name} on the command line)."
            )
    for magic, what in OTHER_FORMATS.items():
        if head.startswith(magic):
            raise SourceError(f"{path} is {what}.")


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
