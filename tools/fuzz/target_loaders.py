"""The readers of data sets: text, idx, MATLAB, archives and restricted pickles."""

from __future__ import annotations

import atexit
import bz2
import gzip
import io
import pickle  # nosec B403
import shutil
import tarfile
import tempfile
import zipfile
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

LIMIT = 1 << 22
"""Bytes that an input may unpack to."""


def load() -> None:
    """Import what is fuzzed."""
    import projse
    import projse.datasets
    import projse.datasets.arff
    import projse.datasets.cifar
    import projse.datasets.content
    import projse.datasets.idx
    import projse.datasets.libsvm
    import projse.datasets.matlab
    import projse.datasets.ucr  # noqa: F401


@cache
def readers() -> list[Callable[[bytes], Any]]:
    """Return what is tried, in the order of the seeds."""
    from projse.datasets import arff, cifar, content, idx, libsvm, matlab, ucr

    return [
        lambda data: idx.read_idx(data, "file"),
        lambda data: arff.read_arff(data, "file"),
        lambda data: arff.read_multilabel_arff(data, "file", 2),
        lambda data: libsvm.read_libsvm(data, "file", 5, 3),
        lambda data: ucr.read_ucr(data, "file"),
        lambda data: ucr.read_label_first(data, "file"),
        lambda data: ucr.read_ts(data, "file"),
        lambda data: matlab.read_matlab(data, "file", ["X", "Y"], LIMIT),
        lambda data: cifar.restricted_loads(data, "file"),
        lambda data: cifar.read_cifar_npz(_file("f.npz", data), LIMIT),
        lambda data: cifar.read_cifar_archive(
            _file("f.tar.gz", gzip.compress(data, 1)), "train", LIMIT
        ),
        lambda data: content.read_member(_file("f.zip", data), ["a.ts"], LIMIT),
        lambda data: content.read_content(_file("f.gz", data), LIMIT),
        lambda data: content.read_content(_file("f.bz2", data), LIMIT),
    ]


def seeds() -> list[bytes]:
    """Return a real file or several for every reader."""
    import scipy.io

    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(4, 5)).round(2), np.arange(4) % 2
    dense = b"@relation r\n" + b"".join(b"@attribute a%d numeric\n" % j for j in range(3))
    dense += b"@attribute 'l 0' {0,1}\n@attribute l1 {0,1}\n@data\n"
    table = b"".join(b",".join(b"%g" % v for v in row) + b"\n" for row in X)
    series = b"@problemName p\n@classLabel true 1 2\n@data\n1,2,3:1\n4,5,6:2\n"
    batch = {b"data": np.arange(12, dtype=np.uint8).reshape(2, 6), b"fine_labels": [0, 1]}
    meta = {b"fine_label_names": [b"cat", b"dog"]}

    def mat(compressed: bool) -> bytes:
        file = io.BytesIO()
        scipy.io.savemat(file, {"X": X, "Y": y[:, None]}, do_compression=compressed)
        return file.getvalue()

    npz, zipped, tar = io.BytesIO(), io.BytesIO(), io.BytesIO()
    np.savez(
        npz, data=batch[b"data"], fine_labels=np.array([0, 1]), label_names=np.array(["c", "d"])
    )
    with zipfile.ZipFile(zipped, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("folder/a.ts", series)
    with tarfile.open(fileobj=tar, mode="w") as packed:
        for name, value in (("train", batch), ("meta", meta)):
            content = pickle.dumps(value, protocol=2)
            info = tarfile.TarInfo(f"cifar-100-python/{name}")
            info.size = len(content)
            packed.addfile(info, io.BytesIO(content))
    return [
        b"\x00" + b"\0\0\x08\x02\0\0\0\x02\0\0\0\x03abcdef",
        b"\x00" + b"\0\0\x0d\x01\0\0\0\x01\0\0\x80\x3f",
        b"\x01" + dense + b"1,2,3,0,1\n4,5,6,1,0\n",
        b"\x01" + dense + b"{0 1.5, 3 1}\n{}\n",
        b"\x02" + dense + b"1,2,3,0,1\n4,5,6,1,0\n",
        b"\x03" + b"2 5 3\n0,2 0:0.5 4:1\n1 3:2\n",
        b"\x03" + b"0,2 1:0.5 5:1\n1 3:2\n",
        b"\x04" + b"1\t0.5\t0.25\n2\t1\t2\n",
        b"\x04" + series,
        b"\x05" + table,
        b"\x06" + series,
        b"\x07" + mat(False),
        b"\x07" + mat(True),
        b"\x08" + pickle.dumps(batch, protocol=2),
        b"\x08" + pickle.dumps(meta, protocol=4),
        b"\x09" + npz.getvalue(),
        b"\x0a" + tar.getvalue(),
        b"\x0b" + zipped.getvalue(),
        b"\x0c" + gzip.compress(series),
        b"\x0d" + bz2.compress(series),
    ]


def attempt(data: bytes) -> None:
    """Read."""
    known = readers()
    known[data[0] % len(known) if data else 0](data[1:])


@cache
def _folder() -> Path:
    made = Path(tempfile.mkdtemp(prefix="projse-fuzz-"))
    atexit.register(shutil.rmtree, made, ignore_errors=True)
    return made


def _file(name: str, data: bytes) -> Path:
    path = _folder() / name
    path.write_bytes(data)
    return path
