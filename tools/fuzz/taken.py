"""Choices, numbers and text from bytes, for targets that take something else than bytes."""

from __future__ import annotations

import struct
from collections.abc import Sequence
from typing import TypeVar

T = TypeVar("T")


class Taken:
    """Takes from the front; where bytes have run out there are zeros."""

    def __init__(self, data: bytes) -> None:
        self._data, self._at = data, 0

    def bytes(self, n: int) -> bytes:
        """Take so many bytes."""
        taken = self._data[self._at : self._at + n]
        self._at += n
        return taken.ljust(n, b"\0")

    def below(self, n: int) -> int:
        """Take a number from 0 to n − 1, n up to 256."""
        return self.bytes(1)[0] % n

    def one_of(self, choices: Sequence[T]) -> T:
        """Take one of several."""
        return choices[self.below(len(choices))]

    def number(self) -> float:
        """Take any float at all."""
        value: float = struct.unpack("<d", self.bytes(8))[0]
        return value

    def integer(self) -> int:
        """Take a whole number of 64 bits."""
        value: int = struct.unpack("<q", self.bytes(8))[0]
        return value

    def text(self) -> str:
        """Take up to seven characters."""
        return self.bytes(self.below(8)).decode("latin-1")
