"""CIFAR-100: its archive of pickles is read without trusting it."""

from __future__ import annotations

import io
import os
import pickle
import re
import subprocess
import tarfile
import tracemalloc
from dataclasses import replace

import numpy as np
import pytest
from dataset_files import sha256

from projse import datasets
from projse.datasets import images, registry
from projse.datasets.cifar import read_cifar_archive, read_cifar_npz, restricted_loads
from projse.datasets.dataset import DataFile
from projse.exceptions import DatasetError

PYTHON_2 = (  # the opcodes of the official files, which Python 2 wrote
    b"\x80\x02}q\x01(U\x04dataq\x02cnumpy.core.multiarray\n_reconstruct\nq\x03cnumpy\nndarray\n"
    b"q\x04K\x00\x85q\x05U\x01bq\x06\x87q\x07Rq\x08(K\x01K\x02K\x03\x86q\tcnumpy\ndtype\nq\nU\x02u1"
    b"q\x0bK\x00K\x01\x87q\x0cRq\r(K\x03U\x01|q\x0eNNNJ\xff\xff\xff\xffJ\xff\xff\xff\xffK\x00tq\x0f"
    b"b\x89U\x06\x00\x01\x02\xfd\xfe\xffq\x10tq\x11bU\x0bfine_labelsq\x12]q\x13(K\x07K\x05eu."
)


class Evil:
    def __init__(self, *call):
        self.call = call

    def __reduce__(self):
        function, *arguments = self.call
        return function, tuple(arguments)


def test_a_pickle_of_python_2_gives_arrays_and_bytes():
    read = restricted_loads(PYTHON_2, "train")
    assert read[b"data"].tolist() == [[0, 1, 2], [253, 254, 255]]
    assert read[b"data"].dtype == np.uint8
    assert read[b"fine_labels"] == [7, 5]


@pytest.mark.parametrize("protocol", [0, 2, 4])
def test_a_pickle_of_python_3_gives_arrays_and_bytes(protocol):
    batch = {b"data": np.arange(6, dtype=np.uint8).reshape(2, 3), b"names": [b"a\xe9", "b"]}
    read = restricted_loads(pickle.dumps(batch, protocol), "train")
    assert np.array_equal(read[b"data"], batch[b"data"])
    assert read[b"names"][0] == b"a\xe9"


@pytest.mark.parametrize("protocol", [0, 2, 4])
def test_a_pickle_that_calls_something_is_refused_before_it_is_called(tmp_path, protocol):
    trace = tmp_path / "trace"
    calls = [
        (os.system, f"touch {trace}"),
        (subprocess.check_call, ["touch", str(trace)]),
        (eval, f"open({str(trace)!r}, 'w')"),
        (open, str(trace), "w"),
        (np.save, str(trace), 1),
        (getattr, 1, "real"),
    ]
    for call in calls:
        for content in (Evil(*call), {b"data": [Evil(*call)]}):
            with pytest.raises(DatasetError, match=r"train .*not allowed"):
                restricted_loads(pickle.dumps(content, protocol), "train")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    "content",
    [
        b"\x80\x04\x8c\x05numpy\x8c\x0endarray.tofile\x93.",  # a name below an allowed one
        b"\x80\x02cnumpy\nload\n.",
        b"\x80\x02c_codecs\ndecode\n.",
        b"\x80\x02c_codecs\nencode\nX\x01\x00\x00\x00aX\x05\x00\x00\x00rot13\x86R.",
        b"\x80\x02cnumpy.core.multiarray\nscalar\n.",
        b"cos\nsystem\n(S'true'\ntR.",
        b"\x80\x02Pabc\n.",  # an object that only an application could supply
        b"",
        b"no pickle",
        b"\x80\x02}",
    ],
)
def test_pickles_that_reach_further_or_are_broken_are_refused(content):
    with pytest.raises(DatasetError, match=r"train is damaged.*unpickled safely"):
        restricted_loads(content, "train")


def test_a_crafted_state_never_reaches_numpy():
    """A dtype whose fields are a number ends a process in which NumPy takes it."""
    crafted = PYTHON_2.replace(b"q\x0eNNNJ", b"q\x0eMNNJ")
    assert crafted != PYTHON_2
    assert restricted_loads(crafted, "train")[b"data"].tolist() == [[0, 1, 2], [253, 254, 255]]
    for before, after, why in [
        (b"U\x02u1", b"U\x02O8", "array of 'O8'"),
        (b"K\x02K\x03\x86", b"K\x02K\x09\x86", "reshape"),
    ]:
        with pytest.raises(DatasetError, match=f"unpickled safely.*{why}"):
            restricted_loads(PYTHON_2.replace(before, after), "train")


@pytest.mark.parametrize("order", "CF")
@pytest.mark.parametrize("code", ["u1", "<i4", ">i4", ">f8", "?"])
def test_arrays_of_plain_numbers_are_read_as_they_were_written(code, order):
    array = np.asarray([[0, 1, 0], [1, 1, 0]], dtype=code, order=order)
    read = restricted_loads(pickle.dumps({b"data": array}, 2), "train")[b"data"]
    np.testing.assert_array_equal(read, array)
    assert read.dtype == array.dtype
    assert read.flags.writeable


def test_a_pickle_cut_anywhere_is_refused():
    for n in range(len(PYTHON_2)):
        with pytest.raises(DatasetError, match="train"):
            restricted_loads(PYTHON_2[:n], "train")


def small_cifar(n_classes=100, **changes):
    """Build an archive like the official one, with fewer rows."""
    rng = np.random.default_rng(0)
    members = {"meta": {b"fine_label_names": [b"class_%02d" % i for i in range(n_classes)]}}
    for part, n in (("train", 300), ("test", 100)):
        members[part] = {
            b"data": rng.integers(256, size=(n, 3072), dtype=np.uint8),
            b"fine_labels": [int(i) % n_classes for i in rng.permutation(n)],
            b"coarse_labels": [0] * n,
            b"filenames": [b"a.png"] * n,
        }
    members.update(changes)
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w:gz") as archive:
        for name, content in members.items():
            if content is None:
                continue
            pickled = content if isinstance(content, bytes) else pickle.dumps(content, 2)
            entry = tarfile.TarInfo(f"cifar-100-python/{name}")
            entry.size = len(pickled)
            archive.addfile(entry, io.BytesIO(pickled))
    return packed.getvalue(), members


def use_cifar(monkeypatch, tmp_path, content):
    """Register an archive in place of the official one, and put it into the data home."""
    archive = replace(registry.CIFAR100_ARCHIVE, addresses=(), sha256=(sha256(content),))
    npz = DataFile("cifar100/cifar100_train.npz")
    small = replace(
        registry.CIFAR100,
        parts={"train": (archive, npz), "test": (archive,)},
        n_samples={"train": 300, "test": 100},
    )
    monkeypatch.setattr(images, "CIFAR100", small)
    path = tmp_path / archive.path
    path.parent.mkdir(exist_ok=True)
    path.write_bytes(content)
    return path


def test_cifar_archive_is_loaded_by_subset(monkeypatch, tmp_path):
    content, members = small_cifar()
    path = use_cifar(monkeypatch, tmp_path, content)
    for subset, parts in (("train", ["train"]), ("test", ["test"]), ("all", ["train", "test"])):
        bunch = datasets.load_cifar100(subset=subset, data_home=tmp_path)
        data = np.concatenate([members[part][b"data"] for part in parts])
        assert np.array_equal(bunch.data, data)
        labels = [label for part in parts for label in members[part][b"fine_labels"]]
        assert bunch.target.tolist() == labels
        assert bunch.target_names[:2] == ["class_00", "class_01"]
        assert bunch.filenames == [str(path)]
    assert bunch.feature_names[1024 + 33] == "green_1_1"


def test_cifar_archive_with_a_malicious_pickle_is_refused(monkeypatch, tmp_path):
    trace = tmp_path / "trace"
    content, _ = small_cifar(train={b"data": Evil(os.system, f"touch {trace}")})
    use_cifar(monkeypatch, tmp_path, content)
    with pytest.raises(DatasetError, match=r"tar\.gz, train .*system, which is not allowed"):
        datasets.load_cifar100(data_home=tmp_path)
    assert not trace.exists()


@pytest.mark.parametrize(
    ("changes", "why"),
    [
        ({"train": None}, "train"),
        ({"meta": None}, "meta"),
        ({"train": {b"data": np.zeros((300, 3072), np.uint8)}}, "fine_labels"),
        ({"train": {b"data": [1], b"fine_labels": [1]}}, "matrix of bytes"),
        ({"train": {b"data": np.zeros((3, 3072)), b"fine_labels": [1]}}, "matrix of bytes"),
        ({"train": {b"data": np.zeros((3, 3072), np.uint8), b"fine_labels": [b"a"]}}, "labels"),
        ({"train": [1, 2]}, "does not hold what CIFAR-100 does"),
        ({"meta": {b"fine_label_names": 3}}, "does not hold what CIFAR-100 does"),
        ({"meta": {b"fine_label_names": [b"one"]}}, "names of its classes"),
        ({"train": {b"data": np.zeros((3, 3072), np.uint8), b"fine_labels": [1]}}, "its shape"),
        (
            {"train": {b"data": np.zeros((300, 9), np.uint8), b"fine_labels": [1]}},
            "its shape",
        ),
        ({"n_classes": 99}, "has 99 classes"),
    ],
)
def test_cifar_archive_that_is_not_cifar_is_refused(monkeypatch, tmp_path, changes, why):
    content, _ = small_cifar(**changes)
    path = use_cifar(monkeypatch, tmp_path, content)
    with pytest.raises(DatasetError, match=f"{re.escape(str(path))}.*{why}"):
        datasets.load_cifar100(data_home=tmp_path)


def test_cifar_archive_cut_or_changed_is_refused(tmp_path):
    content, _ = small_cifar()
    path = tmp_path / "a.tar.gz"
    changed = bytearray(content)
    changed[len(content) // 2] ^= 0xFF
    cuts = [content[:n] for n in (0, 10, 1000, len(content) // 2, len(content) - 9)]
    for broken in (*cuts, bytes(changed), b"no archive"):
        path.write_bytes(broken)
        with pytest.raises(DatasetError, match=re.escape(str(path))):
            read_cifar_archive(path, "test")


def test_cifar_npz_is_read_without_unpickling(tmp_path):
    path = tmp_path / "a.npz"
    parts = {
        "data": np.zeros((4, 3072), np.uint8),
        "fine_labels": np.arange(4, dtype=np.uint8),
        "label_names": np.array(["a", "b"]),
    }
    np.savez_compressed(path, **parts)
    data, labels, names = read_cifar_npz(path)
    assert data.shape == (4, 3072)
    assert labels.dtype == np.int64
    assert names == ["a", "b"]
    whole = path.read_bytes()
    for broken in (b"", whole[:50], whole[:-30], b"no archive"):
        path.write_bytes(broken)
        with pytest.raises(DatasetError, match=re.escape(str(path))):
            read_cifar_npz(path)
    for name, value in (("data", np.array([Evil(print, 1)], object)), ("data", np.zeros(4))):
        np.savez_compressed(path, **{**parts, name: value})
        with pytest.raises(DatasetError, match=re.escape(str(path))):
            read_cifar_npz(path)
    del parts["fine_labels"]
    np.savez_compressed(path, **parts)
    with pytest.raises(DatasetError, match="fine_labels"):
        read_cifar_npz(path)


def test_cifar_files_are_unpacked_up_to_a_limit(tmp_path):
    limit = 1 << 20
    path = tmp_path / "a.npz"
    np.savez_compressed(
        path, data=np.zeros((1000, 3072), np.uint8), fine_labels=[0], label_names=""
    )
    with pytest.raises(DatasetError, match=rf"{re.escape(str(path))}.*{limit} bytes"):
        read_cifar_npz(path, limit)
    path = tmp_path / "a.tar.gz"
    path.write_bytes(small_cifar()[0])
    with pytest.raises(DatasetError, match=rf"{re.escape(str(path))}.*1000 bytes"):
        read_cifar_archive(path, "test", 1000)


def test_sparse_member_of_a_cifar_archive_is_not_filled_up(tmp_path):
    """A header that says 1 GiB, of which nothing is there."""
    path, member = tmp_path / "a.tar.gz", tarfile.TarInfo("cifar-100-python/test")
    member.pax_headers = {
        "GNU.sparse.major": "0",
        "GNU.sparse.minor": "1",
        "GNU.sparse.map": f"{1 << 30},0",
        "GNU.sparse.size": str(1 << 30),
    }
    with tarfile.open(path, "w:gz", format=tarfile.PAX_FORMAT) as archive:
        archive.addfile(member)
    with pytest.raises(DatasetError, match=rf"{re.escape(str(path))}.*{1 << 20} bytes"):
        read_cifar_archive(path, "test", 1 << 20)


BOMBS = {
    "a far place of the memo": b"\x80\x02}r\xff\xff\xff\x7f.",
    "one that there may be room for": b"\x80\x02}r\x00\x00\x00\x01.",
    "as text": b"}p2147483647\n.",
    "a long array of bytes": b"\x80\x05\x96" + (1 << 36).to_bytes(8, "little") + b".",
}


@pytest.mark.parametrize("kind", BOMBS)
def test_a_few_bytes_that_ask_for_much_memory_are_refused(kind):
    tracemalloc.start()
    try:
        with pytest.raises(DatasetError, match="cannot be unpickled safely"):
            restricted_loads(BOMBS[kind], "file")
        assert tracemalloc.get_traced_memory()[1] < 1 << 20
    finally:
        tracemalloc.stop()
