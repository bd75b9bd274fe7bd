"""What a data set is made of: files, public addresses, checksums, shapes, a description."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

HEADROOM = 1 << 24
"""Bytes for headers, labels and names, whatever the format."""


@dataclass(frozen=True)
class Address:
    """Where a file can be downloaded, and the sha256 of what comes from there, if known."""

    url: str
    sha256: str | None = None


@dataclass(frozen=True)
class DataFile:
    """A file below the data home.

    Attributes
    ----------
    path : str
        Path below the data home, with forward slashes.
    addresses : tuple of Address
        Where to download it, the best first. Empty: it is used where it is, but never downloaded.
    sha256 : tuple of str
        Other accepted checksums, of the file as it is or of what it holds when it is compressed.
    """

    path: str
    addresses: tuple[Address, ...] = ()
    sha256: tuple[str, ...] = ()

    @property
    def accepted(self) -> frozenset[str]:
        """Every accepted checksum; empty where none is known."""
        known = (address.sha256 for address in self.addresses)
        return frozenset([*self.sha256, *(checksum for checksum in known if checksum)])


@dataclass(frozen=True)
class DataSet:
    """A data set.

    Attributes
    ----------
    name : str
        Name in messages.
    parts : mapping
        The parts it is read from; each can be had from any of several files, the best first.
    n_samples : mapping
        Number of rows of each subset.
    n_features, n_targets : int
        Number of columns, and of classes or labels.
    about : str
        Source, reference, licence and notes.
    bytes_per_value : int
        What a value takes in its files, unpacked, at most.
    """

    name: str
    parts: Mapping[str, tuple[DataFile, ...]]
    n_samples: Mapping[str, int]
    n_features: int
    n_targets: int
    about: str = field(repr=False)
    bytes_per_value: int = 32  # a number with all its digits, as text

    @property
    def max_bytes(self) -> int:
        """Bytes that one of its files may unpack to: all values, and a good deal besides."""
        values = sum(self.n_samples.values()) * (self.n_features + self.n_targets)
        return self.bytes_per_value * values + HEADROOM

    @property
    def description(self) -> str:
        """Text for ``DESCR``."""
        rows = " + ".join(f"{n} ({subset})" for subset, n in self.n_samples.items())
        size = f"Rows: {rows}. Columns: {self.n_features}. Classes or labels: {self.n_targets}."
        return f"{self.name}\n{'-' * len(self.name)}\n{size}\n\n{self.about}\n"
