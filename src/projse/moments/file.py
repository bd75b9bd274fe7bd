r"""The file of moments: documented, versioned, checked, and never unpickled.

Layout, versions 1 and 2::

    b"projse-moments\n"          15 bytes: what this is
    uint32 little-endian          version of the layout
    uint64 little-endian          length of the header
    header                        JSON: scalars, names, and the list of arrays
    arrays                        one after the other, each in NumPy's .npy format
    sha256                        32 bytes, of everything before

Version 2 has in its header also what an encoded table's columns are (``x_variables``,
``y_variables``, ``z_variables``: names, and a variable, a kind and a key a column), the plan of it
(``encoding``), and how many columns are covariates, which a reader that does not know them must not
take for references. Moments without any of this are written as version 1, which older readers know.

A header of either version may tell the roundoff that references were stored with (``y_roundoff``,
where it is more than float64's) and whether all weights were whole numbers (``whole_weights``;
files without it do not know). Readers that do not know these may leave them.

An array is read with ``allow_pickle=False``; one that the list lacks is None, and one that a reader
does not know is left. A sparse ``yx`` is kept as its three CSC arrays. What
was read must fit together, and be possible as moments of some rows, before it is handed out
(:mod:`projse.moments.check`: one read of the arrays, and for up to 512 variables a Cholesky
factorisation).
A reader sees the old file or the new one, never a part (:mod:`projse.atomic`).
"""

from __future__ import annotations

import hashlib
import io
import json
import struct
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

import numpy as np
import scipy.sparse as sp

from projse.atomic import Draft
from projse.exceptions import MomentsFileError
from projse.moments.check import check_moments
from projse.moments.extremes import BOUNDED, EXTREMES
from projse.sources.variables import Column, Variables

if TYPE_CHECKING:
    from projse.moments.sums import Moments

MAGIC = b"projse-moments\n"
PLAIN_VERSION = 1
VERSION = 2
DIGEST_SIZE = hashlib.sha256().digest_size
PREFIX = struct.Struct("<IQ")
ARRAYS = (
    *("x_mean", "y_mean", "yy", "yx", "xx_diag", "xx", "x_peak", "y_peak"),
    *EXTREMES,
    *BOUNDED,
)
HEADER = {
    "n_samples",
    "sum_weights",
    "eps",
    "feature_names",
    "target_names",
    "shape",
    "arrays",
}
COVARIATES = ("n_covariates", "n_partialled")
EPS = float(np.finfo(np.float64).eps)
CSC_PARTS = ("data", "indices", "indptr")


def write_moments(moments: Moments, path: str | PathLike[str]) -> None:
    """Write ``moments`` to ``path``, atomically."""
    path = Path(path)
    with Draft(path.parent) as draft:
        write_moments_to(draft.file, moments)
        draft.publish(path)


def moments_to_bytes(moments: Moments) -> bytes:
    """Return what a file of these moments would hold."""
    buffer = io.BytesIO()
    write_moments_to(buffer, moments)
    return buffer.getvalue()


def write_moments_to(raw: BinaryIO, moments: Moments) -> bytes:
    """Write ``moments`` to an open file; return their checksum, the last bytes of it."""
    arrays: list[tuple[str, Any]] = []
    for name in ARRAYS:
        value = getattr(moments, name)
        if value is None:
            continue
        if sp.issparse(value):
            arrays += [(f"{name}.{part}", getattr(value, part)) for part in CSC_PARTS]
        else:
            arrays.append((name, value))
    if moments.classes is not None:
        arrays.append(("classes", moments.classes))
    header = {
        "n_samples": int(moments.n_samples),
        "sum_weights": float(moments.sum_weights),
        "eps": float(moments.eps),
        "feature_names": moments.feature_names,
        "target_names": moments.target_names,
        "shape": [moments.n_y, moments.n_x],
        "arrays": [name for name, _ in arrays],
    }
    more: dict[str, Any] = {
        "x_variables": _plain(moments.x_variables),
        "y_variables": _plain(moments.y_variables),
        "z_variables": _plain(moments.z_variables),
        "encoding": moments.encoding,
        **{name: int(getattr(moments, name)) or None for name in COVARIATES},
    }
    more = {name: value for name, value in more.items() if value is not None}
    version = VERSION if more else PLAIN_VERSION
    if moments.y_roundoff > EPS:
        more["y_roundoff"] = float(moments.y_roundoff)
    if moments.whole_weights is not None:
        more["whole_weights"] = bool(moments.whole_weights)
    text = json.dumps(header | more).encode()
    file = _HashingWriter(raw)
    file.write(MAGIC + PREFIX.pack(version, len(text)) + text)
    for _, value in arrays:
        np.lib.format.write_array(file, np.ascontiguousarray(value), allow_pickle=False)
    digest = file.digest()
    raw.write(digest)
    return digest


def read_moments(path: str | PathLike[str]) -> Moments:
    """Read moments from ``path``; raise MomentsFileError where that is not possible."""
    return moments_from_bytes(Path(path).read_bytes(), path)


def moments_from_bytes(content: bytes, path: str | PathLike[str] = "this") -> Moments:
    """Read moments from what a file holds; messages call it ``path``."""
    from projse.moments.sums import Moments

    if not content.startswith(MAGIC):
        raise MomentsFileError(f"{path} is not a moments file: it was not written by Moments.save.")
    start = len(MAGIC) + PREFIX.size
    if len(content) < start + DIGEST_SIZE:
        raise MomentsFileError(f"{path} is damaged: it ends after {len(content)} bytes.")
    version, length = PREFIX.unpack(content[len(MAGIC) : start])
    if not PLAIN_VERSION <= version <= VERSION:
        raise MomentsFileError(
            f"{path} has layout version {version}; this version of projse reads {PLAIN_VERSION} "
            f"to {VERSION}. Upgrade projse."
        )
    end = len(content) - DIGEST_SIZE
    if hashlib.sha256(memoryview(content)[:end]).digest() != content[end:]:
        raise MomentsFileError(f"{path} is damaged: its checksum does not match. Build it again.")
    try:
        header = _header(content[start : start + length])
        file = io.BytesIO(content)
        file.seek(start + length)
        parts: dict[str, Any] = {
            name: np.lib.format.read_array(file, allow_pickle=False) for name in header["arrays"]
        }
        if file.tell() != end:
            raise ValueError(f"the arrays end at byte {file.tell()}, not {end}")
        if "yx.data" in parts:
            csc = tuple(parts.pop(f"yx.{part}") for part in CSC_PARTS)
            parts["yx"] = sp.csc_array(csc, shape=tuple(header["shape"]))
        moments = Moments(
            n_samples=header["n_samples"],
            sum_weights=header["sum_weights"],
            eps=header["eps"],
            feature_names=_as_tuple(header["feature_names"]),
            target_names=_as_tuple(header["target_names"]),
            classes=parts.get("classes"),
            x_variables=_variables(header.get("x_variables")),
            y_variables=_variables(header.get("y_variables")),
            z_variables=_variables(header.get("z_variables")),
            encoding=header.get("encoding"),
            y_roundoff=header.get("y_roundoff", EPS),
            whole_weights=header.get("whole_weights"),
            **{name: header.get(name, 0) for name in COVARIATES},
            **{name: parts.get(name) for name in ARRAYS},  # type: ignore[arg-type]
        )
        check_moments(moments)
        _check_plan(moments)
    # Whatever goes wrong in a file that someone crafted, it is the file that is wrong.
    except Exception as error:
        raise MomentsFileError(f"{path} cannot be read as moments: {error}") from error
    return moments


def _check_plan(moments: Moments) -> None:
    """Refuse a plan of encoding that is none, or is one of fewer columns."""
    if moments.encoding is None:
        return
    from projse.sources.table.encoding import TableEncoding

    n = len(TableEncoding.from_dict(moments.encoding).x.plans)
    if moments.x_variables is not None and n < moments.x_variables.n:
        raise ValueError(f"encoding has {n} plans for {moments.x_variables.n} variables")


def _header(text: bytes) -> dict[str, Any]:
    header = json.loads(text)
    missing = HEADER.difference(header if isinstance(header, dict) else ())
    if missing:
        raise ValueError(f"its header lacks {', '.join(sorted(missing))}")
    return dict(header)


def _plain(variables: Variables | None) -> dict[str, Any] | None:
    return None if variables is None else {"names": variables.names, "columns": variables.columns}


def _variables(plain: Any) -> Variables | None:
    """Undo :func:`_plain`; whether it makes sense is checked with the rest."""
    if plain is None:
        return None
    columns = tuple(Column(*column) for column in plain["columns"])
    return Variables(tuple(plain["names"]), columns)


def _as_tuple(names: list[str] | None) -> tuple[str, ...] | None:
    return None if names is None else tuple(names)


class _HashingWriter:
    """Passes bytes on to a file and keeps their checksum."""

    def __init__(self, file: Any) -> None:
        self._file = file
        self._hash = hashlib.sha256()

    def write(self, data: Any) -> int:
        self._hash.update(data)
        written: int = self._file.write(data)
        return written

    def digest(self) -> bytes:
        return self._hash.digest()
