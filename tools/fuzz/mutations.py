"""Random changes of inputs, for machines without atheris: blind, where that is led by coverage."""

from __future__ import annotations

import random
from collections.abc import Sequence

ODD = [
    b"\0",
    b"\xff",
    b"-1",
    b"0",
    b"1e999",
    b"nan",
    b"null",
    b"\xff\xff\xff\x7f",
    b'"',
    b"\n",
    b"{",
]


def mutated(inputs: Sequence[bytes], rng: random.Random) -> bytes:
    """Return one of the inputs with one to five changes."""
    data = bytearray(rng.choice(inputs))
    for _ in range(rng.randint(1, 5)):
        at, n = rng.randint(0, len(data)), rng.randint(1, 16)
        kind = rng.randrange(6)
        if kind == 0 and at < len(data):
            data[at] ^= 1 << rng.randrange(8)
        elif kind == 1 and at < len(data):
            data[at] = rng.randrange(256)
        elif kind == 2:
            del data[at : at + n]
        elif kind == 3:
            data[at:at] = data[at : at + n]
        elif kind == 4:
            data[at : at + rng.randint(0, 4)] = rng.choice(ODD)
        else:
            other = rng.choice(inputs)
            start = rng.randint(0, len(other))
            data[at : at + n] = other[start : start + n]
    return bytes(data)
