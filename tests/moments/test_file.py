"""The file of moments: exact, checked, never unpickled, written whole or not at all."""

from __future__ import annotations

import hashlib
import io
import json
import os
import pickle
import stat

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from paper import paper_form
from planted import planted

import projse.moments.in_memory
from projse import Moments, MomentsFileError
from projse.moments.file import MAGIC, PREFIX, VERSION

ARRAYS = ("x_mean", "y_mean", "yy", "yx", "xx_diag", "xx")


def examples(seed):
    X, Y = planted(seed, 40)
    names = ["α", 'naïve "quoted"', "日本", "line\nbreak", "", "\U0001f600", "\t", "x0"]
    return {
        "dense": Moments.from_arrays(X, Y, np.arange(40) / 7),
        "without xx": Moments.from_arrays(X, Y, with_xx=False),
        "one view": Moments.from_arrays(X),
        "float32": Moments.from_arrays(X.astype("f4"), Y.astype("f4")),
        "sparse yx": Moments.from_arrays(sp.csr_array(X), sp.csr_array(Y)),
        "names": Moments.from_arrays(pd.DataFrame(X, columns=names), pd.Series(Y[:, 0], name="ÿ")),
        "int": Moments.from_arrays(X, np.arange(40) % 3 - 2**40),
        "str": Moments.from_arrays(X, ["ä", "\U0001f600 b"] * 20),
        "bytes": Moments.from_arrays(X, np.array([b"a", b"\xff"] * 20)),
        "bool": Moments.from_arrays(X, np.arange(40) % 3 == 0),
        "float": Moments.from_arrays(X, np.arange(40) % 3 * 2.0, target_type="class"),
        "empty": Moments.from_arrays(X, Y) - Moments.from_arrays(X, Y),
    }


@pytest.fixture
def sparse_yx(monkeypatch):
    monkeypatch.setattr(projse.moments.in_memory, "SPARSE_YX_ELEMENTS", 0)


@pytest.mark.parametrize("kind", examples(0))
def test_round_trip_is_exact(seed, tmp_path, sparse_yx, kind):
    moments = examples(seed)[kind]
    assert sp.issparse(moments.yx) == (kind == "sparse yx")
    moments.save(tmp_path / "file")
    again = Moments.load(str(tmp_path / "file"))
    for name in ARRAYS:
        value, expected = getattr(again, name), getattr(moments, name)
        assert type(value) is type(expected), name
        for part in ("data", "indices", "indptr") if sp.issparse(value) else ():
            np.testing.assert_array_equal(getattr(value, part), getattr(expected, part))
        if isinstance(value, np.ndarray):
            assert value.tobytes() == expected.tobytes()
    for name in ("n_samples", "sum_weights", "eps", "feature_names", "target_names"):
        assert getattr(again, name) == getattr(moments, name), name
    assert (again.classes is None) == (moments.classes is None)
    if moments.classes is not None:
        assert again.classes.dtype == moments.classes.dtype
        np.testing.assert_array_equal(again.classes, moments.classes)
    if moments.n_samples:
        results = [paper_form(2).fit_moments(m).scores_.tobytes() for m in (again, moments)]
        assert results[0] == results[1]
        assert (again + moments).n_samples == 2 * moments.n_samples


# Damaged and foreign files


@pytest.fixture
def small(tmp_path):
    """A small file, and a function that reads other content in its place."""
    X, Y = planted(0, 10)
    path = tmp_path / "small"
    Moments.from_arrays(pd.DataFrame(X[:, :2], columns=["a", "b"]), Y[:, :1]).save(path)

    def load(content):
        path.write_bytes(content)
        return Moments.load(path)

    return path.read_bytes(), load


def test_every_truncation_is_noticed(small):
    content, load = small
    for length in range(len(content)):
        with pytest.raises(MomentsFileError, match="small"):
            load(content[:length])
    with pytest.raises(MomentsFileError):
        load(content + b"\0")


@pytest.mark.parametrize("flip", [0x01, pytest.param(0xFF, marks=pytest.mark.slow)])
def test_every_flipped_byte_is_noticed(small, flip):
    content, load = small
    for place in range(len(content)):
        damaged = bytearray(content)
        damaged[place] ^= flip
        with pytest.raises(MomentsFileError, match="small"):
            load(bytes(damaged))


def npz():
    file = io.BytesIO()
    np.savez(file, x_mean=np.zeros(3))
    return file.getvalue()


@pytest.mark.parametrize("content", [b"", b"\0", b"text\n", MAGIC, npz(), pickle.dumps([1, 2])])
def test_foreign_files_are_refused(small, content):
    with pytest.raises(MomentsFileError, match=r"not a moments file|damaged"):
        small[1](content)


def test_a_missing_file_is_a_missing_file(tmp_path):
    with pytest.raises(FileNotFoundError):
        Moments.load(tmp_path / "nowhere")


def test_a_newer_version_says_so(small):
    content, load = small
    rest = content[len(MAGIC) + 4 :]
    with pytest.raises(MomentsFileError, match=rf"version {VERSION + 1}.*Upgrade"):
        load(MAGIC + (VERSION + 1).to_bytes(4, "little") + rest)


def crafted(header, *arrays):
    """A file with a valid checksum, whatever its content."""
    body = io.BytesIO()
    for array in arrays:
        np.lib.format.write_array(body, array, allow_pickle=True)
    text = header if isinstance(header, bytes) else json.dumps(header).encode()
    content = MAGIC + PREFIX.pack(VERSION, len(text)) + text + body.getvalue()
    return content + hashlib.sha256(content).digest()


class Trap:
    """Runs code when unpickled."""

    def __reduce__(self):
        return exec, ("raise SystemExit('unpickled')",)


HEADER = {
    "n_samples": 3,
    "sum_weights": 3.0,
    "eps": 2e-16,
    "feature_names": None,
    "target_names": None,
    "shape": [2, 2],
    "arrays": ["x_mean", "xx_diag", "xx"],
}
PARTS = np.zeros(2), np.ones(2), np.eye(2)
SPARSE = ["x_mean", "y_mean", "yy", "yx.data", "yx.indices", "yx.indptr", "xx_diag"]


def sparse_parts(indices):
    yx = np.ones(2), np.array(indices, dtype=np.int32), np.array([0, 1, 2], dtype=np.int32)
    return np.zeros(2), np.zeros(2), np.eye(2), *yx, np.ones(2)


CRAFTED = {
    "object array": (HEADER, np.array([Trap(), Trap()], dtype=object), *PARTS[1:]),
    "object classes": (
        HEADER | {"arrays": [*HEADER["arrays"], "classes"]},
        *PARTS,
        np.array([Trap(), Trap()], dtype=object),
    ),
    "missing array": (HEADER | {"arrays": ["xx_diag", "xx"]}, *PARTS[1:]),
    "missing key": ({"arrays": []},),
    "fewer arrays": (HEADER, *PARTS[:2]),
    "more arrays": (HEADER, *PARTS, np.ones(2)),
    "shape": (HEADER, np.zeros(2), np.ones(3), np.eye(2)),
    "dtype": (HEADER, np.zeros(2, dtype=complex), *PARTS[1:]),
    "names": (HEADER | {"feature_names": ["a"]}, *PARTS),
    "names of another type": (HEADER | {"feature_names": [1, 2]}, *PARTS),
    "n_samples": (HEADER | {"n_samples": "many"}, *PARTS),
    "weights": (HEADER | {"sum_weights": None}, *PARTS),
    "indices out of range": (HEADER | {"arrays": SPARSE}, *sparse_parts([0, 9])),
    "negative indices": (HEADER | {"arrays": SPARSE}, *sparse_parts([0, -1])),
    "not JSON": (b"{", *PARTS),
    "not a mapping": (b"[]", *PARTS),
    "deep JSON": (b"[" * 100_000,),
    "not UTF-8": (b"\xff", *PARTS),
}


def two_views(**changed):
    parts = {"x_mean": np.zeros(2), "y_mean": np.zeros(2), "yy": np.eye(2)}
    parts |= {"yx": np.full((2, 2), 0.5), "xx_diag": np.ones(2)} | changed
    return HEADER | {"arrays": list(parts)}, *parts.values()


NAN = float("nan")
BETWEEN_THREE = np.array([[1.0, 0.9, 0.9], [0.9, 1.0, -0.9], [0.9, -0.9, 1.0]])
NONSENSE = {
    "negative n_samples": ((HEADER | {"n_samples": -5}, *PARTS), "n_samples=-5"),
    "huge n_samples": ((HEADER | {"n_samples": 10**400}, *PARTS), "n_samples=1000"),
    "fractional n_samples": ((HEADER | {"n_samples": 2.5}, *PARTS), "n_samples=2.5"),
    "weight 0": ((HEADER | {"sum_weights": 0.0}, *PARTS), "sum_weights=0.0"),
    "weight without rows": ((HEADER | {"n_samples": 0}, *PARTS), "sum_weights=3.0"),
    "infinite weight": ((HEADER | {"sum_weights": np.inf}, *PARTS), "sum_weights=inf"),
    "NaN weight": ((HEADER | {"sum_weights": NAN}, *PARTS), "sum_weights=nan"),
    "huge weight": ((HEADER | {"sum_weights": 10**400}, *PARTS), "sum_weights=1000"),
    "eps 0": ((HEADER | {"eps": 0.0}, *PARTS), "eps=0.0"),
    "eps 1": ((HEADER | {"eps": 1.0}, *PARTS), "eps=1.0"),
    "eps NaN": ((HEADER | {"eps": NAN}, *PARTS), "eps=nan"),
    "names twice": ((HEADER | {"feature_names": ["a", "a"]}, *PARTS), "'a' more than once"),
    "NaN mean": ((HEADER, np.array([0.0, NAN]), *PARTS[1:]), "x_mean holds NaN.*candidate 1"),
    "infinite square": ((HEADER, np.zeros(2), np.array([1.0, np.inf]), np.eye(2)), "xx_diag holds"),
    "NaN product": ((HEADER, *PARTS[:2], np.array([[1, NAN], [0, 1.0]])), "xx holds NaN"),
    "negative square": ((HEADER, np.zeros(2), -np.ones(2), -np.eye(2)), "sum of squares of -1"),
    "diagonals differ": ((HEADER, *PARTS[:2], 2 * np.eye(2)), "xx_diag is 1.*xx is 2"),
    "asymmetric": ((HEADER, *PARTS[:2], np.array([[1, 0.5], [0, 1.0]])), "not symmetric"),
    "beyond Cauchy-Schwarz": ((HEADER, *PARTS[:2], np.array([[1, 2.0], [2, 1]])), "xx is 2 for"),
    "indefinite": (
        (HEADER | {"shape": [3, 3]}, np.zeros(3), np.ones(3), BETWEEN_THREE),
        "not positive semi-definite",
    ),
    "no candidates": (
        (HEADER | {"shape": [0, 0]}, np.zeros(0), np.zeros(0), np.eye(0)),
        "0 candidates",
    ),
    "one row with a spread": (
        (HEADER | {"n_samples": 1, "sum_weights": 1.0}, *PARTS),
        "1 row.*sum of squares of 1",
    ),
    "NaN in yx": (two_views(yx=np.array([[0, NAN], [0, 0]])), "yx holds NaN.*candidate 1"),
    "NaN in yy": (two_views(yy=np.array([[1, NAN], [0, 1]])), "yy holds NaN.*reference 1"),
    "yx too large": (two_views(yx=np.full((2, 2), 1.5)), "yx is 1.5 for reference 0 and candid"),
    "yy negative": (two_views(yy=-np.eye(2)), "reference 0 has a sum of squares of -1"),
    "yy asymmetric": (two_views(yy=np.array([[1, 0.5], [0, 1]])), "yy is not symmetric"),
    "negative peak": (two_views(x_peak=-np.ones(2)), "x_peak is -1"),
    "peak of another shape": (two_views(y_peak=np.ones(3)), "y_peak has shape"),
    "classes unsorted": (two_views(classes=np.array(["b", "a"])), "classes are not in ascending"),
    "classes of no characters": (
        two_views(classes=np.array([[97, 0x110000], [98, 0]], dtype="u4").view("U2")[:, 0]),
        "characters that do not exist",
    ),
    "classes twice": (two_views(classes=np.array([1, 1])), "classes are not in ascending"),
    "classes NaN": (two_views(classes=np.array([1.0, NAN])), "classes are not in ascending"),
    "yy alone": (
        (HEADER | {"arrays": ["x_mean", "xx_diag", "xx", "yy"]}, *PARTS, np.eye(2)),
        "yy is there",
    ),
    "sparse yx too large": (
        (
            HEADER | {"arrays": SPARSE},
            *sparse_parts([0, 1])[:3],
            np.full(2, 9.0),
            *sparse_parts([0, 1])[4:],
        ),
        "yx is 9 for",
    ),
}


@pytest.mark.parametrize("kind", NONSENSE)
def test_moments_that_no_rows_have_are_refused(small, kind):
    content, message = NONSENSE[kind]
    with pytest.raises(MomentsFileError, match=f"cannot be read as moments: .*{message}") as caught:
        small[1](crafted(*content))
    assert "\n" not in str(caught.value)


def test_moments_of_any_rows_are_read_back(tmp_path, seed):
    X, Y = planted(seed, 60)
    X[:, 0], X[:, 1], X[:, 3] = 1e9 / 3, 1e12 + X[:, 1], X[:, 2] + X[:, 4]
    X[:, 6] *= 1e140
    X[:, 7] *= 1e-170
    for dtype in ("f8", "f4"):
        A = np.where(np.abs(X) > 1e30, 1e10 * X / 1e140, X).astype(dtype)
        weight = np.random.default_rng(seed).uniform(0, 9, 60)
        parts = [
            Moments.from_arrays(A[rows], Y[rows].astype(dtype), weight[rows])
            for rows in np.split(np.arange(60), [1, 20, 33])
        ]
        for moments in (*parts, sum(parts), sum(parts) - parts[1], sum(parts) - parts[3]):
            moments.save(tmp_path / "file")
            assert Moments.load(tmp_path / "file").n_samples == moments.n_samples


@pytest.mark.parametrize("kind", CRAFTED)
def test_a_crafted_file_is_refused_and_never_unpickled(small, kind):
    with pytest.raises(MomentsFileError, match="cannot be read as moments"):
        small[1](crafted(*CRAFTED[kind]))


def test_a_huge_array_in_a_small_file_is_refused(small):
    array = io.BytesIO()
    np.lib.format.write_array(array, np.zeros(2))
    header = json.dumps(HEADER).encode()
    huge = array.getvalue().replace(b"(2,), }" + 12 * b" ", b"(2000000000000000,)")
    content = MAGIC + PREFIX.pack(VERSION, len(header)) + header + huge
    with pytest.raises(MomentsFileError, match="cannot be read"):
        small[1](content + hashlib.sha256(content).digest())


def test_a_crafted_file_that_is_sound_is_read(small):
    moments = small[1](crafted(HEADER, *PARTS))
    assert (moments.n_samples, moments.n_x, moments.one_view) == (3, 2, True)
    sparse = small[1](crafted(HEADER | {"arrays": SPARSE}, *sparse_parts([0, 1])))
    assert sp.issparse(sparse.yx)


# Writing


@pytest.mark.parametrize("step", ["replace", "fsync"])
def test_a_failed_write_leaves_the_old_file_and_nothing_else(tmp_path, monkeypatch, step):
    X, Y = planted(0, 20)
    path = tmp_path / "total.moments"
    Moments.from_arrays(X, Y).save(path)
    before = path.read_bytes()

    def fail(*args):
        raise OSError("disk full")

    with monkeypatch.context() as patch:
        patch.setattr(os, step, fail)
        with pytest.raises(OSError, match="disk full"):
            Moments.from_arrays(X[:9], Y[:9]).save(path)
    assert path.read_bytes() == before
    assert os.listdir(tmp_path) == ["total.moments"]
    Moments.from_arrays(X[:9], Y[:9]).save(path)
    assert Moments.load(path).n_samples == 9
    assert os.listdir(tmp_path) == ["total.moments"]


@pytest.mark.skipif(os.name != "posix", reason="permissions of POSIX")
def test_folders_that_cannot_be_written_to(tmp_path):
    moments = Moments.from_arrays(*planted(0, 20))
    with pytest.raises(FileNotFoundError):
        moments.save(tmp_path / "nowhere" / "file")
    (tmp_path / "folder").mkdir()
    with pytest.raises(OSError, match="folder"):
        moments.save(tmp_path / "folder")
    assert os.listdir(tmp_path) == ["folder"]
    if os.geteuid() != 0:
        (tmp_path / "folder").chmod(0o500)
        with pytest.raises(PermissionError):
            moments.save(tmp_path / "folder" / "file")


@pytest.mark.skipif(os.name != "posix", reason="permissions of POSIX")
@pytest.mark.parametrize("mask", [0o022, 0o027, 0o077])
def test_permissions_are_those_of_any_new_file(tmp_path, mask):
    before = os.umask(mask)
    try:
        (tmp_path / "plain").write_bytes(b"")
        Moments.from_arrays(*planted(0, 20)).save(tmp_path / "moments")
    finally:
        os.umask(before)
    modes = [stat.S_IMODE((tmp_path / name).stat().st_mode) for name in ("plain", "moments")]
    assert modes[0] == modes[1]


def test_names_as_long_as_the_file_system_takes(tmp_path):
    path = tmp_path / ("m" * 250)
    Moments.from_arrays(*planted(0, 20)).save(path)
    assert Moments.load(path).n_samples == 20
