"""``Moments.load``: files whose header and arrays were changed, with the right checksum or not."""

from __future__ import annotations

import hashlib
import struct
from typing import Any

import numpy as np

SEPARATOR = b"\n\xfe\xfe\n"


def load() -> None:
    """Import what is fuzzed."""
    import projse
    import projse.moments.file
    import projse.moments.sums
    import projse.search.task  # noqa: F401


def seeds() -> list[bytes]:
    """Return files of all kinds of moments: raw, and as header and arrays."""
    from projse.moments.file import DIGEST_SIZE, MAGIC, PREFIX, moments_to_bytes

    found = []
    for moments in examples():
        content = moments_to_bytes(moments)
        start = len(MAGIC) + PREFIX.size
        version, length = PREFIX.unpack(content[len(MAGIC) : start])
        header, arrays = content[start : start + length], content[start + length : -DIGEST_SIZE]
        found.append(b"\0" + content)
        found.append(bytes([1 + version]) + header + SEPARATOR + arrays)
    return found


def examples() -> list[Any]:
    """Return small moments: plain, weighted, one view, classes, sparse, covariates, a table."""
    import pandas as pd
    import scipy.sparse as sp

    from projse import Moments, ProjSe

    rng = np.random.default_rng(0)
    X, Y = rng.normal(size=(12, 3)), rng.normal(size=(12, 2))
    names = pd.DataFrame(X, columns=["a", "b", "c"])
    table = names.assign(d=list("uvwuvwuvwuvw"), e=pd.date_range("2020-01-01", periods=12))
    return [
        Moments.from_arrays(X, Y),
        Moments.from_arrays(names, Y, sample_weight=np.arange(12.0), with_xx=False),
        Moments.from_arrays(X),
        Moments.from_arrays(X, np.array(list("xyz") * 4)),
        Moments.from_arrays(sp.csr_array(X), Y),
        Moments.from_arrays(X, Y, covariates=X[:, :1] + Y[:, :1]),
        Moments.from_arrays(X, Y) - Moments.from_arrays(X[:4], Y[:4]),
        ProjSe(2, missing="indicator", basis="spline").fit(table, Y).moments_,
    ]


def attempt(data: bytes) -> None:
    """Read a file of moments, and use what was read."""
    from projse.moments.file import moments_from_bytes

    use(moments_from_bytes(content(data)))


def content(data: bytes) -> bytes:
    """Make a file: as it is, or of a header and arrays, with the checksum that they have."""
    from projse.moments.file import MAGIC

    if data[:1] in (b"", b"\0"):
        return data[1:]
    header, _, arrays = data[1:].partition(SEPARATOR)
    body = MAGIC + struct.pack("<IQ", data[0] - 1, len(header)) + header + arrays
    return body + hashlib.sha256(body).digest()


def use(moments: Any) -> None:
    """Do with moments that were accepted what users do."""
    from fuzz.judge import WrongAnswerError
    from projse import ProjSe
    from projse.moments.file import moments_from_bytes, moments_to_bytes

    repr(moments)
    if moments_to_bytes(moments_from_bytes(moments_to_bytes(moments))) != moments_to_bytes(moments):
        raise WrongAnswerError("moments that were read are not written as they are")
    if max(moments.n_x, moments.n_y) > 200:
        return
    both = moments + moments
    if both.n_samples != 2 * moments.n_samples:
        raise WrongAnswerError(f"{both.n_samples} rows of twice {moments.n_samples}")
    model = ProjSe(2).fit_moments(moments)
    if not np.all((model.scores_ >= 0) & (model.scores_ <= 1)):
        raise WrongAnswerError(f"scores {model.scores_}")
