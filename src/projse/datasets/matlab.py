"""Matrices of numbers from MATLAB files of version 5, plain or compressed.

``scipy.io.loadmat`` reads far more, but it trusts what it reads: one wrong byte in a type code or a
flag of an uncompressed file crashes the interpreter. Here every length and every code is checked.

A file is a header of 128 bytes and a row of elements, each with a tag (type, size) and its data. A
matrix is an element made of elements: flags, dimensions, name, values.
"""

from __future__ import annotations

import math
import struct
import zlib
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from projse.datasets.content import LIMIT, damaged

HEADER = 128
INT8, INT32, UINT32, MATRIX, COMPRESSED = 1, 5, 6, 14, 15
COMPLEX = 0x0800
# Numbers may be stored in a smaller type than that of their matrix.
STORED = {
    1: "i1",
    2: "u1",
    3: "i2",
    4: "u2",
    5: "i4",
    6: "u4",
    7: "f4",
    9: "f8",
    12: "i8",
    13: "u8",
}
CLASSES = dict(enumerate(("f8", "f4", "i1", "u1", "i2", "u2", "i4", "u4", "i8", "u8"), start=6))
Element = tuple[int, memoryview]


def read_matlab(
    content: bytes, name: object, keys: Sequence[str], limit: int = LIMIT
) -> list[NDArray[Any]]:
    """Read the matrices of these names, in this order; ``limit`` bytes unpacked, all together."""
    signature = content[HEADER - 4 : HEADER]
    if signature not in (b"\0\1IM", b"\1\0MI"):
        raise damaged(name, "it is no MATLAB file of version 5")
    order = "<" if signature.endswith(b"IM") else ">"
    found: dict[str, NDArray[Any]] = {}
    try:
        for kind, data in _elements(memoryview(content)[HEADER:], order):
            if kind == COMPRESSED:
                unpacked = _unpack(data, limit)
                limit -= len(unpacked)
                kind, data = _only(_elements(memoryview(unpacked), order))
            if kind != MATRIX:
                raise ValueError(f"type {kind} where a matrix should be")
            parts = _elements(data, order)
            flags = next(parts)
            shape = next(parts)
            title = bytes(next(parts)[1]).decode("ascii")
            if title in keys:
                found[title] = _matrix(flags, shape, _only(parts), order)
    except (ValueError, zlib.error, struct.error, StopIteration) as error:
        raise damaged(name, f"it is no MATLAB file of version 5 with numbers: {error}") from error
    for key in keys:
        if key not in found:
            raise damaged(name, f"it has no matrix {key}")
    return [found[key] for key in keys]


def _elements(data: memoryview, order: str) -> Iterator[Element]:
    """Yield type and data of each element; each must end within ``data``."""
    position = 0
    while position < len(data):
        kind, size = struct.unpack_from(f"{order}II", data, position)
        start = position + 8
        if kind >> 16:  # up to four bytes of data share the eight of the tag
            kind, size, start = kind & 0xFFFF, kind >> 16, position + 4
            if size > 4:
                raise ValueError(f"{size} bytes in a tag")
        if start + size > len(data):
            raise ValueError(f"{size} bytes announced, {len(data) - start} there")
        yield kind, data[start : start + size]
        # All but compressed elements are filled up to a multiple of eight bytes.
        position = start + size if kind == COMPRESSED else start + size + -(start + size) % 8


def _unpack(data: memoryview, limit: int) -> bytes:
    stream = zlib.decompressobj()
    # One byte more than allowed: 0 would mean without a limit.
    unpacked = stream.decompress(data, limit + 1)
    if len(unpacked) > limit:
        raise ValueError(f"it unpacks to more than {limit} bytes")
    if not stream.eof:
        raise ValueError("a compressed element is cut short")
    return unpacked


def _only(elements: Iterator[Element]) -> Element:
    (element,) = elements
    return element


def _matrix(flags: Element, shape: Element, values: Element, order: str) -> NDArray[Any]:
    if (flags[0], len(flags[1])) != (UINT32, 8) or (shape[0], len(shape[1])) != (INT32, 8):
        raise ValueError("no matrix of two dimensions")
    (bits,) = struct.unpack_from(f"{order}I", flags[1])
    rows, columns = struct.unpack(f"{order}ii", shape[1])
    if bits & 0xFF not in CLASSES or bits & COMPLEX or values[0] not in STORED:
        raise ValueError("not a matrix of real numbers")
    stored = np.frombuffer(values[1], f"{order}{STORED[values[0]]}")
    if min(rows, columns) < 0 or stored.size != math.prod((rows, columns)):
        raise ValueError(f"{stored.size} values for {rows} × {columns}")
    return stored.reshape((rows, columns), order="F").astype(CLASSES[bits & 0xFF])
