"""The idx format of MNIST: a magic number, the size of each axis, the values, all big-endian."""

from __future__ import annotations

import math
import struct
from typing import Any

import numpy as np
from numpy.typing import NDArray

from projse.datasets.content import damaged

DTYPES = {0x08: ">u1", 0x09: ">i1", 0x0B: ">i2", 0x0C: ">i4", 0x0D: ">f4", 0x0E: ">f8"}


def read_idx(content: bytes, name: object) -> NDArray[Any]:
    """Read an array; there must be neither fewer nor more bytes than its header says."""
    if len(content) < 4 or content[:2] != b"\0\0" or content[2] not in DTYPES:
        raise damaged(name, f"an idx file does not begin with the bytes {content[:4].hex(' ')!r}")
    dtype, n_axes = np.dtype(DTYPES[content[2]]), content[3]
    start = 4 + 4 * n_axes
    if len(content) < start:
        raise damaged(name, f"it ends within its header, after {len(content)} bytes")
    shape = struct.unpack(f">{n_axes}I", content[4:start])
    expected = start + math.prod(shape) * dtype.itemsize
    if len(content) != expected:
        raise damaged(
            name, f"it has {len(content)} bytes; for the shape {shape} it needs {expected}"
        )
    try:
        values = np.frombuffer(content, dtype, offset=start).reshape(shape)
    except ValueError as error:  # NumPy has fewer axes than the format
        raise damaged(name, f"it has {n_axes} axes: {error}") from error
    return values.astype(dtype.newbyteorder("="))
