"""CIFAR-100: the official archive of pickles, read without trusting them, and an .npz of it.

A pickle can name any function to be called. Here only those names resolve that the official files
need to rebuild arrays, to stand-ins: what NumPy makes of a crafted state can end the process.
Every other name stops the reading before anything is called.
"""

from __future__ import annotations

import io
import pickle  # nosec B403
import pickletools  # nosec B403
import re
import tarfile
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from projse.datasets.content import LIMIT, damaged, read_content, read_member

FOLDER = "cifar-100-python"
Images = tuple[NDArray[np.uint8], NDArray[np.int64], list[str]]


def read_cifar_archive(path: Path, part: str, limit: int = LIMIT) -> Images:
    """Read images, fine labels and class names of ``part`` ("train" or "test")."""
    # tarfile would stop before the end, where gzip keeps its checksum.
    unpacked = io.BytesIO(read_content(path, limit))
    try:
        with tarfile.open(fileobj=unpacked, mode="r:") as archive:
            pickles = {n: _member(archive, f"{FOLDER}/{n}", limit) for n in (part, "meta")}
    except (OSError, EOFError, KeyError, tarfile.TarError) as error:
        raise damaged(path, error) from error
    batch, meta = (restricted_loads(pickles[name], f"{path}, {name}") for name in (part, "meta"))
    try:
        data = batch[b"data"]
        labels = np.array(batch[b"fine_labels"])
        names = [name.decode() for name in meta[b"fine_label_names"]]
    # Whatever was in there instead, it is the file that is wrong.
    except Exception as error:
        raise damaged(path, f"it does not hold what CIFAR-100 does: {error!r}") from error
    return _checked(data, labels, names, path)


def read_cifar_npz(path: Path, limit: int = LIMIT) -> Images:
    """Read images, fine labels and class names from an .npz, without unpickling."""
    data, labels, names = (
        _npy(path, name, limit) for name in ("data", "fine_labels", "label_names")
    )
    return _checked(data, labels, [str(name) for name in names.ravel()], path)


def _npy(path: Path, name: str, limit: int) -> NDArray[Any]:
    """Read an array of an .npz; what its header says must fit what is there."""
    content = read_member(path, [f"{name}.npy"], limit)[1]
    try:
        array: NDArray[Any] = np.load(io.BytesIO(content), allow_pickle=False)
    except Exception as error:  # headers are Python's text to numpy: its parser raises anything
        raise damaged(path, error) from error
    return array


def restricted_loads(content: bytes, name: object) -> Any:
    """Unpickle numbers, text, bytes, lists, and a dict that may hold arrays; refuse all else."""
    try:
        _refuse_bombs(content)
        loaded = _Unpickler(io.BytesIO(content), encoding="bytes").load()
        if not isinstance(loaded, dict):
            return loaded
        return {key: v.values if isinstance(v, _Array) else v for key, v in loaded.items()}
    # A damaged pickle may raise anything, from within the machine that runs it.
    except Exception as error:
        raise damaged(name, f"it cannot be unpickled safely: {error}") from error


def _refuse_bombs(content: bytes) -> None:
    """Refuse instructions that announce more than is there, before memory is set aside for it.

    A memo of a few bytes can ask for a table of four billion places: real pickles number theirs
    one after the other. Lengths beyond the end are noticed by ``genops`` itself.
    """
    for count, (opcode, argument, _) in enumerate(pickletools.genops(content)):
        if opcode.name in ("PUT", "BINPUT", "LONG_BINPUT") and int(argument or 0) > count:
            raise pickle.UnpicklingError(f"memo {argument} after {count} instructions")


class _Unpickler(pickle.Unpickler):
    """Resolves the few names that arrays and bytes need."""

    def find_class(self, module: str, name: str) -> Any:
        if (module, name) == ("_codecs", "encode"):
            return _latin1
        if (module, name) in ALLOWED:
            return ALLOWED[module, name]
        raise pickle.UnpicklingError(f"the pickle asks for {module}.{name}, which is not allowed")


def _latin1(text: str, encoding: str | bytes) -> bytes:
    """Stand in for ``_codecs.encode``, with which protocol 2 writes bytes, and nothing more."""
    if encoding not in ("latin1", b"latin1"):
        raise pickle.UnpicklingError(f"the pickle asks for the encoding {encoding!r}")
    return text.encode("latin1")


class _Dtype:
    """Stands in for ``numpy.dtype``: of plain numbers."""

    def __init__(self, code: str | bytes, *_: object) -> None:
        text = code.decode("latin1") if isinstance(code, bytes) else str(code)
        if not re.fullmatch("[buif][1248]", text):
            raise pickle.UnpicklingError(f"the pickle asks for an array of {text!r}")
        self.dtype = np.dtype(text)

    def __setstate__(self, state: Any) -> None:
        if state[1] in (">", b">"):
            self.dtype = self.dtype.newbyteorder(">")


class _Array:
    """Stands in for ``numpy.ndarray`` and what rebuilds it."""

    values: NDArray[Any] | None = None

    def __init__(self, *_: object) -> None:
        pass

    def __setstate__(self, state: Any) -> None:
        _, shape, kind, by_column, content = state
        flat = np.frombuffer(content, dtype=kind.dtype)
        self.values = flat.reshape(shape, order="F" if by_column else "C").copy(order="K")


ALLOWED: dict[tuple[str, str], Any] = {
    ("numpy.core.multiarray", "_reconstruct"): _Array,
    ("numpy._core.multiarray", "_reconstruct"): _Array,  # as NumPy 2 calls it
    ("numpy", "ndarray"): _Array,
    ("numpy", "dtype"): _Dtype,
}


def _member(archive: tarfile.TarFile, name: str, limit: int) -> bytes:
    # A sparse member is as large as it says, however little of it there is.
    if archive.getmember(name).size > limit:
        raise tarfile.TarError(f"{name} unpacks to more than {limit} bytes")
    file = archive.extractfile(name)
    if file is None:
        raise KeyError(f"{name} is not a file")
    return file.read()


def _checked(data: Any, labels: Any, names: list[str], path: Path) -> Images:
    if type(data) is not np.ndarray or data.dtype != np.uint8 or data.ndim != 2:
        raise damaged(path, "its images are not a matrix of bytes")
    if labels.ndim != 1 or labels.dtype.kind not in "iu":
        raise damaged(path, "its labels are not whole numbers")
    return data, labels.astype(np.int64), names
