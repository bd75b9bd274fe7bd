"""Finds the files of a data set: at hand and checked, or downloaded once with pooch."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from os import PathLike
from pathlib import Path

from projse.datasets.content import COMPRESSED, content_checksum
from projse.datasets.dataset import DataFile, DataSet
from projse.datasets.home import ENVIRONMENT, get_data_home, import_pooch
from projse.exceptions import DatasetError, DatasetMissingError

TIMEOUT = 30  # seconds without an answer
CHUNK = 1 << 16


def locate(
    dataset: DataSet,
    parts: Sequence[str],
    data_home: str | PathLike[str] | None,
    download_if_missing: bool,
) -> dict[str, Path]:
    """Return the path of a file for each of ``parts``.

    A file at hand is used, after its checksum was compared with those that are known; what is
    missing is downloaded into the data home.
    """
    home = get_data_home(data_home)
    found: dict[str, Path] = {}
    for part in parts:
        path = _at_hand(dataset, part, home, found)
        if path is None:
            if not download_if_missing:
                reason = "Downloading is off (download_if_missing=False)."
                raise DatasetMissingError(_how_to_get(dataset, parts, home, reason))
            try:
                path = _download(dataset.parts[part], home)
            except (OSError, ImportError) as failure:
                reason = f"The download failed: {failure}"
                raise DatasetMissingError(_how_to_get(dataset, parts, home, reason)) from failure
        found[part] = path
    return found


def _at_hand(dataset: DataSet, part: str, home: Path, found: dict[str, Path]) -> Path | None:
    for file in dataset.parts[part]:
        path = home / file.path
        if path in found.values():  # one archive for several parts: it was checked before
            return path
        if path.is_file():
            _check(file, path, dataset.max_bytes)
            return path
    return None


def _check(file: DataFile, path: Path, limit: int) -> None:
    """Refuse a file whose checksum is none of those known; without any, leave it to its shape."""
    if not file.accepted:
        return
    with path.open("rb") as opened:
        checksum = hashlib.file_digest(opened, "sha256").hexdigest()
    if checksum in file.accepted:
        return
    # The same content, packed by another program or with other settings, is as good.
    if path.suffix in COMPRESSED and content_checksum(path, limit) in file.accepted:
        return
    origin = f", or put the file from {file.addresses[0].url} there" if file.addresses else ""
    raise DatasetError(
        f"{path} is damaged or another version: its sha256 is {checksum}, but one of "
        f"{', '.join(sorted(file.accepted))} is expected. Remove it to have the data downloaded "
        f"again{origin}."
    )


def _download(files: Sequence[DataFile], home: Path) -> Path:
    """Download the first file that can be had; OSError with every reason where none can."""
    pooch = import_pooch()
    reasons: list[str] = []
    for file in files:
        target = home / file.path
        for address in file.addresses:
            try:
                pooch.retrieve(
                    url=address.url,
                    known_hash=address.sha256 and f"sha256:{address.sha256}",
                    fname=target.name,
                    path=target.parent,
                    downloader=pooch.HTTPDownloader(timeout=TIMEOUT, chunk_size=CHUNK),
                )
            # requests' errors are OSErrors; pooch raises ValueError for a wrong checksum.
            except (OSError, ValueError) as error:
                reasons.append(f"{address.url}: {error}")
            else:
                return target
    raise OSError("; ".join(reasons))


def _how_to_get(dataset: DataSet, parts: Sequence[str], home: Path, reason: str) -> str:
    """Say what to download for the parts that are missing, from where, and where to put it."""
    lines: list[str] = []
    for part in parts:
        files = dataset.parts[part]
        if any((home / file.path).is_file() for file in files):
            continue
        for file in files:
            for address in file.addresses:
                line = f"  {address.url}\n    -> {home / file.path}"
                if line not in lines:
                    lines.append(line)
        others = [Path(file.path).name for file in files if not file.addresses]
        if others:
            lines.append(f"  or, for {part}, in the same folder: {', '.join(others)}")
    return (
        f"{dataset.name} is not at hand in the data home {home}. {reason}\n"
        "Download by hand, and put the file where the arrow points (several addresses for the "
        "same place: any one of them):\n"
        + "\n".join(lines)
        + f"\nAnother data home: the argument data_home, or the environment variable {ENVIRONMENT}."
    )
