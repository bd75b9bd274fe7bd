"""File formats of data sets: what they hold is read, what is damaged is refused by name."""

from __future__ import annotations

import bz2
import gzip
import io
import re
import struct
import tracemalloc
import zipfile
from pathlib import Path

import numpy as np
import pytest
import scipy.io
import scipy.sparse as sp
from dataset_files import mat
from sklearn.datasets import dump_svmlight_file
from variants import slow

from projse.datasets.arff import read_arff, read_multilabel_arff
from projse.datasets.content import read_content, read_member
from projse.datasets.idx import read_idx
from projse.datasets.libsvm import read_libsvm
from projse.datasets.matlab import read_matlab
from projse.datasets.ucr import read_label_first, read_ts, read_ucr
from projse.exceptions import DatasetError

# Content


def test_content_is_unpacked_by_its_ending(tmp_path):
    for ending, pack in (("", bytes), (".gz", gzip.compress), (".bz2", bz2.compress)):
        path = tmp_path / f"file{ending}"
        path.write_bytes(pack(b"some text " * 50))
        assert read_content(path) == b"some text " * 50


@pytest.mark.parametrize("ending", [".gz", ".bz2"])
def test_packed_content_that_is_cut_or_changed_is_refused(tmp_path, ending):
    packed = {".gz": gzip.compress, ".bz2": bz2.compress}[ending](bytes(range(256)) * 4)
    path = tmp_path / f"file{ending}"
    for n in (0, 1, 5, len(packed) // 2, len(packed) - 1):
        path.write_bytes(packed[:n])
        with pytest.raises(DatasetError, match=re.escape(str(path))):
            read_content(path)
    changed = bytearray(packed)
    changed[len(packed) // 2] ^= 0xFF
    path.write_bytes(changed)
    with pytest.raises(DatasetError, match=re.escape(str(path))):
        read_content(path)


def zipped(**members):
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in members.items():
            archive.writestr(name.replace("__", "/").replace("_DOT_", "."), content)
    return packed.getvalue()


def test_member_of_a_zip_is_found_in_any_folder_and_in_order_of_preference(tmp_path):
    path = tmp_path / "a.zip"
    path.write_bytes(zipped(folder__A_DOT_txt="in txt", A_DOT_ts="in ts"))
    assert read_member(path, ["A.ts", "A.txt"]) == ("A.ts", b"in ts")
    assert read_member(path, ["A.tsv", "A.txt"]) == ("A.txt", b"in txt")
    with pytest.raises(DatasetError, match=r"a\.zip.*holds A\.ts, A\.txt, but none of B\.ts"):
        read_member(path, ["B.ts"])


def test_zip_that_is_cut_or_changed_is_refused(tmp_path):
    packed = zipped(A_DOT_ts="1,2,3:1\n" * 100)
    path = tmp_path / "a.zip"
    changed = bytearray(packed)
    changed[45] ^= 0xFF
    for content in (b"", packed[:10], packed[:-5], b"<html>not found</html>", bytes(changed)):
        path.write_bytes(content)
        with pytest.raises(DatasetError, match=re.escape(str(path))):
            read_member(path, ["A.ts"])


# Formats


def idx(array, code=0x08):
    header = bytes([0, 0, code, array.ndim]) + struct.pack(f">{array.ndim}I", *array.shape)
    return header + array.tobytes()


def as_text(rows, delimiter):
    return "\n".join(delimiter.join(map(str, row)) for row in rows).encode() + b"\n"


SERIES = [[1, 0.5, -2.0, 3e-3], [2, 1.5, 4.0, 0.25], [1, 0.0, 1.0, 2.0]]
TS = b"""# a comment
@problemName Small
@timeStamps false
@missing false
@univariate true
@equalLength true
@seriesLength 3
@classLabel true 1 2
@data
0.5,-2.0,3e-3:1
1.5,4.0,0.25:2
0.0,1.0,2.0:1
"""
UCR_ARFF = b"""% a comment
@relation Small
@attribute att0 numeric
@attribute 'att 1' REAL
@attribute att2 numeric
@attribute target {1,2}

@data
0.5,-2.0,3e-3,1
1.5,4.0,0.25,2
0.0,1.0,2.0,1
"""
DENSE = b"""@RELATION small

@ATTRIBUTE Att1 NUMERIC
@ATTRIBUTE Att2 integer
@ATTRIBUTE Class1 {0, 1}
@ATTRIBUTE Class2{0,1}
@DATA
0.5,3,0,1
0,0,1,1
1.5,0,0,0
"""
SPARSE = DENSE.split(b"0.5,3")[0] + b"{0 0.5, 1 3,3 1}\n{2 1, 3 1}\n{0 1.5}\n"
LIBSVM = b"0,2 1:0.5 3:1.5\n 2:1\n1 1:2 2:3 3:4\n"
FORMATS = {
    "idx": (idx(np.arange(24, dtype=np.uint8).reshape(4, 3, 2)), read_idx),
    "tsv": (as_text(SERIES, "\t"), read_ucr),
    "txt": (as_text(SERIES, "  "), read_ucr),
    "ts": (TS, read_ucr),
    "arff": (UCR_ARFF, read_ucr),
    "dense.arff": (DENSE, lambda c, n: read_multilabel_arff(c, n, 2)),
    "sparse.arff": (SPARSE, lambda c, n: read_multilabel_arff(c, n, 2)),
    "svm": (LIBSVM, lambda c, n: read_libsvm(c, n, 3, 3)),
    "mat": (mat(X=np.arange(6.0).reshape(2, 3)), lambda c, n: read_matlab(c, n, ["X"])),
    "packed.mat": (
        mat(do_compression=True, X=np.arange(6.0).reshape(2, 3)),
        lambda c, n: read_matlab(c, n, ["X"]),
    ),
}


def read_or_refused(read, content, name):
    """Tell whether a file is read or refused by its name; any other error is passed on."""
    try:
        read(content, name)
    except DatasetError as error:
        return name in str(error)
    return True


@pytest.mark.parametrize("ending", FORMATS)
def test_a_file_cut_anywhere_is_read_or_refused_by_name(ending):
    """No other error, whatever the place; the next test has the places that must be refused."""
    content, read = FORMATS[ending]
    name = f"cut.{ending}"
    read(content, name)
    with pytest.raises(DatasetError, match=re.escape(name)):
        read(b"", name)
    for n in range(1, len(content)):
        assert read_or_refused(read, content[:n], name)


@pytest.mark.parametrize("ending", FORMATS)
def test_a_file_with_one_changed_byte_is_read_or_refused_by_name(ending):
    content, read = FORMATS[ending]
    name = f"changed.{ending}"
    for place in range(len(content)):
        for change in (0xFF, 0x01, 0x10):
            changed = bytearray(content)
            changed[place] ^= change
            assert read_or_refused(read, bytes(changed), name)


def test_idx_is_read_with_its_shape_and_type():
    small = np.arange(24, dtype=np.uint8).reshape(4, 3, 2)
    assert np.array_equal(read_idx(idx(small), "a"), small)
    assert read_idx(idx(small), "a").dtype == np.uint8
    wide = np.array([[1, -2], [300, 4]], ">i4")
    assert read_idx(idx(wide, 0x0C), "a").tolist() == wide.tolist()
    assert read_idx(idx(wide, 0x0C), "a").dtype == np.int32


def test_idx_of_the_wrong_length_or_kind_is_refused():
    content = idx(np.zeros((4, 3), np.uint8))
    for n in range(len(content)):
        with pytest.raises(DatasetError, match=r"a\.idx is damaged"):
            read_idx(content[:n], "a.idx")
    with pytest.raises(DatasetError, match=r"it has 25 bytes; for the shape \(4, 3\) it needs 24"):
        read_idx(content + b"\0", "a.idx")
    for place, value in ((0, 1), (1, 1), (2, 7), (3, 200)):
        changed = bytearray(content)
        changed[place] = value
        with pytest.raises(DatasetError, match=r"a\.idx"):
            read_idx(bytes(changed), "a.idx")


@pytest.mark.parametrize("ending", ["tsv", "txt", "ts", "arff"])
def test_series_and_labels_are_the_same_in_every_ucr_format(ending):
    content, _ = FORMATS[ending]
    for text in (content, content.replace(b"\n", b"\r\n")):
        X, labels = read_ucr(text, Path(f"small.{ending}"))
        assert X.tolist() == [row[1:] for row in SERIES]
        assert X.dtype == np.float64
        assert X.flags.c_contiguous
        assert labels.tolist() == [1, 2, 1]
        assert labels.dtype == np.int64
    assert read_ucr(content, f"small.{ending}.gz")[1].tolist() == [1, 2, 1]


def test_label_first_takes_commas_and_labels_written_as_floats():
    X, labels = read_label_first(b"1.0000000e+00,2,3\n-1.0,4,5\n", "a.txt")
    assert X.tolist() == [[2, 3], [4, 5]]
    assert labels.tolist() == [1, -1]


@pytest.mark.parametrize(
    ("content", "why"),
    [
        (b"", "no rows"),
        (b"\n\n", "no rows"),
        (b"1\t2\t3\n1\t2\n", "number of columns"),
        (b"1\t2\t3\n1\t2\tx\n", "'x'"),
        (b"1\t2\tNaN\n1\t2\t3\n", "row 0 has missing"),
        (b"1\t2\t3\n1\t2\tinf\n", "row 1 has missing"),
        (b"1.5\t2\t3\n", "1.5 is not a class label"),
        (b"1\n2\n", "no series"),
        (b"1\t2\xff3\n", "decode"),
        (b"1\t2\t?\n", "'\\?'"),
    ],
)
def test_rows_of_text_that_are_no_series_are_refused(content, why):
    with pytest.raises(DatasetError, match=f"(?s)a.tsv .*{why}"):
        read_ucr(content, "a.tsv")


@pytest.mark.parametrize(
    ("old", "new", "why"),
    [
        (b"@data", b"", "header has the line '0.5"),
        (TS[TS.index(b"@data") :], b"", "ends before @data"),
        (b"0.5,-2.0,3e-3:1\n1.5,4.0,0.25:2\n0.0,1.0,2.0:1\n", b"", "no rows"),
        (b"2.0:1\n", b"2.0", "row 2 is not of the form"),
        (b"2.0:1\n", b"", "row 2 is not of the form"),
        (b"2.0:1\n", b"2.0:", "could not convert string ''"),
        (b"2.0:1\n", b"2.0:3\n", "label that @classLabel does not name"),
        (b"2.0:1\n", b":1\n", "could not convert string ''"),
        (b"1.0,2.0:1\n", b"1.0:1\n", "number of columns"),
        (b"2.0:1\n", b"2.0:a\n", "'a'"),
        (b"@seriesLength 3", b"@seriesLength 4", "series of 3 values, where it says 4"),
        (b"@univariate true", b"@univariate false", "it says @univariate false, not true"),
        (b"@missing false", b"@missing true", "@missing true"),
        (b"@timeStamps false", b"@timeStamps true", "@timestamps true"),
        (b"@equalLength true", b"@equalLength false", "@equallength false"),
        (b"0.25", b"?", "'\\?'"),
    ],
)
def test_ts_that_is_not_of_its_form_is_refused(old, new, why):
    assert old in TS
    with pytest.raises(DatasetError, match=f"a.ts .*{why}"):
        read_ts(TS.replace(old, new), "a.ts")


def test_ucr_file_of_another_ending_is_refused():
    with pytest.raises(DatasetError, match=r"a\.csv .*ends in \.tsv"):
        read_ucr(b"1,2,3\n", "a.csv")


@pytest.mark.parametrize("content", [DENSE, SPARSE], ids=["dense", "sparse"])
def test_arff_is_read_dense_and_sparse(content):
    arff = read_arff(content, "a.arff")
    assert [attribute.name for attribute in arff.attributes] == ["Att1", "Att2", "Class1", "Class2"]
    assert arff.values.tolist() == [[0.5, 3, 0, 1], [0, 0, 1, 1], [1.5, 0, 0, 0]]


@pytest.mark.parametrize("content", [DENSE, SPARSE], ids=["dense", "sparse"])
def test_arff_labels_are_chosen_by_count_or_by_name(content):
    X, Y, features, labels = read_multilabel_arff(content, "a.arff", 2)
    assert X.tolist() == [[0.5, 3], [0, 0], [1.5, 0]]
    assert Y.tolist() == [[0, 1], [1, 1], [0, 0]]
    assert Y.dtype == np.uint8
    assert (features, labels) == (["Att1", "Att2"], ["Class1", "Class2"])
    X, Y, features, labels = read_multilabel_arff(content, "a.arff", ["Class2"])
    assert Y.tolist() == [[1], [1], [0]]
    assert (features, labels) == (["Att1", "Att2", "Class1"], ["Class2"])


def test_sparse_arff_takes_the_first_nominal_value_for_what_a_row_does_not_name():
    content = b"@relation r\n@attribute a {3,4}\n@attribute b numeric\n@data\n{1 2}\n{}\n{0 4}\n"
    assert read_arff(content, "a.arff").values.tolist() == [[3, 2], [3, 0], [4, 0]]


@pytest.mark.parametrize(
    ("content", "why"),
    [
        (b"", "ends before @data"),
        (DENSE[: DENSE.index(b"@DATA")], "ends before @data"),
        (DENSE[: DENSE.index(b"0.5,3")], "no rows"),
        (DENSE.replace(b"1.5,0,0,0", b"1.5,0"), "number of columns"),
        (DENSE.replace(b"1.5,0,0,0", b"1.5,?,0,0"), "'\\?'"),
        (DENSE.replace(b"1.5,0,0,0", b"nan,0,0,0"), "row 2 has missing"),
        (DENSE.replace(b"1.5,0,0,0", b"1.5,0,0,2"), "Class2 has values other than"),
        (DENSE.replace(b"Att2 integer", b"Att2 string"), "attribute Att2 is of kind 'string'"),
        (DENSE.replace(b"{0,1}", b"{no,yes}"), "attribute Class2 has values that are no numbers"),
        (DENSE.replace(b"@ATTRIBUTE Att1 NUMERIC\n", b""), "rows of 4 values, but 3 attributes"),
        (DENSE.replace(b"@ATTRIBUTE Att1", b"@ATTRIBUT Att1"), "header has the line '@ATTRIBUT"),
        (DENSE.replace(b"@ATTRIBUTE Att1 NUMERIC", b"@ATTRIBUTE"), "header has the line"),
        (b"@relation r\n@data\n1,2\n", "names no attributes"),
        (SPARSE.replace(b"{0 1.5}", b"{0 1.5"), "row 2 is not of the form"),
        (SPARSE.replace(b"{0 1.5}", b"{0}"), "row 2 is not of the form"),
        (SPARSE.replace(b"{0 1.5}", b"{0 x}"), "row 2 is not of the form"),
        (SPARSE.replace(b"{0 1.5}", b"1.5,0,0,0"), "row 2 is not of the form"),
        (SPARSE.replace(b"{0 1.5}", b"{0 1.5, 0 2}"), "row 2 names a column twice"),
        (SPARSE.replace(b"{0 1.5}", b"{4 1.5}"), "or one that is not there"),
        (SPARSE.replace(b"{0 1.5}", b"{-1 1}"), "or one that is not there"),
        (SPARSE.replace(b"{0 1.5}", b"{0 nan}"), "row 2 has missing"),
    ],
)
def test_arff_that_is_not_of_its_form_is_refused(content, why):
    with pytest.raises(DatasetError, match=f"(?s)a.arff .*{why}"):
        read_arff(content, "a.arff")


def test_arff_without_the_labels_asked_for_is_refused():
    with pytest.raises(DatasetError, match="no columns Class9"):
        read_multilabel_arff(DENSE, "a.arff", ["Class1", "Class9"])
    for count in (0, 4, -1):
        with pytest.raises(DatasetError, match="cannot be the last of 4 columns"):
            read_multilabel_arff(DENSE, "a.arff", count)
    with pytest.raises(DatasetError, match="not all 0 or 1"):
        read_multilabel_arff(DENSE, "a.arff", 3)


def test_libsvm_has_features_from_1_and_labels_from_0_or_none():
    X, Y = read_libsvm(LIBSVM, "a.svm", 4, 3)
    assert X.tolist() == [[0.5, 0, 1.5, 0], [0, 1, 0, 0], [2, 3, 4, 0]]
    assert Y.tolist() == [[1, 0, 1], [0, 0, 0], [0, 1, 0]]
    assert Y.dtype == np.uint8


def test_libsvm_reads_what_scikit_learn_writes(seed):
    rng = np.random.default_rng(seed)
    X = np.round(rng.normal(size=(20, 6)), 1)
    X[:, 0] = 1  # a row without anything is an empty line
    Y = (rng.random((20, 5)) < 0.3).astype(np.uint8)
    file = io.BytesIO()
    dump_svmlight_file(X, Y, file, multilabel=True, zero_based=False)
    read, labels = read_libsvm(file.getvalue(), "a.svm", 6, 5)
    assert np.array_equal(read, X)
    assert np.array_equal(labels, Y)


@pytest.mark.parametrize(
    ("content", "why"),
    [
        (b"", "no rows"),
        (b"0,2 1:0.5 3\n", "a.svm"),
        (b"0,2 1:0.5 3:\n", "a.svm"),
        (b"0,2 1:0.5 x:1\n", "a.svm"),
        (b"0,2 0:0.5\n", "index 0"),
        (b"0,2 4:0.5\n", "a.svm"),
        (b"0,2 3:1 1:0.5\n", "a.svm"),
        (b"0,2 1:nan\n", "row 0 has missing"),
        (b"0 1:1\n0,3 1:0.5\n", "row 1 has the label 3 of 3 from 0"),
        (b"-1 1:0.5\n", "label -1"),
        (b"0.5 1:0.5\n", "label 0.5"),
        (b"a 1:0.5\n", "a.svm"),
    ],
)
def test_libsvm_that_is_not_of_its_form_is_refused(content, why):
    with pytest.raises(DatasetError, match=f"(?s)a.svm .*{why}|{why}"):
        read_libsvm(content, "a.svm", 3, 3)


NUMBERS = ["f8", "f4", "i1", "u1", "i2", "u2", "i4", "u4", "i8", "u8"]


@pytest.mark.parametrize("do_compression", [False, True])
def test_matlab_matrices_are_those_that_scipy_reads(do_compression):
    matrices = {f"M{dtype}": np.array([[1, 2, 3], [4, 5, 100]], dtype) for dtype in NUMBERS}
    matrices |= {"empty": np.zeros((0, 3)), "long_name_of_a_matrix": np.arange(5.0)[:, None]}
    others = {"text": "words", "cells": np.array([[1, "a"]], "O"), "structure": {"a": 1}}
    content = mat(do_compression, **others, **matrices, sparse=sp.csc_array(np.eye(3)))
    expected = scipy.io.loadmat(io.BytesIO(content), variable_names=list(matrices))
    for key, read in zip(matrices, read_matlab(content, "a.mat", list(matrices)), strict=True):
        assert read.dtype == matrices[key].dtype
        assert np.array_equal(read, expected[key])


def test_matlab_numbers_may_be_stored_small_and_big_endian():
    def element(kind, data):
        return struct.pack(">II", kind, len(data)) + data + bytes(-len(data) % 8)

    parts = [
        element(6, struct.pack(">II", 6, 0)),  # double
        element(5, struct.pack(">ii", 2, 2)),
        struct.pack(">HH", 1, 1) + b"X\0\0\0",
        struct.pack(">HH", 4, 2) + b"\1\2\3\4",  # stored as bytes
    ]
    content = b"MATLAB".ljust(124) + b"\1\0MI" + element(14, b"".join(parts))
    (X,) = read_matlab(content, "a.mat", ["X"])
    assert X.tolist() == [[1, 3], [2, 4]]
    assert X.dtype == np.float64


def test_matlab_file_that_is_cut_is_refused():
    for do_compression in (False, True):
        content = mat(do_compression, X=np.arange(60.0).reshape(6, 10))
        for n in range(len(content)):
            with pytest.raises(DatasetError, match=r"a\.mat is damaged"):
                read_matlab(content[:n], "a.mat", ["X"])


def test_matlab_file_without_such_a_matrix_is_refused():
    other = {"text": "words", "cells": np.array([[1, "a"]], "O"), "cube": np.zeros((2, 2, 2))}
    other |= {"complex": np.array([[1j]]), "sparse": sp.csc_array(np.eye(3))}
    content = mat(X=np.ones((2, 2)), **other)
    with pytest.raises(DatasetError, match=r"a\.mat .*no matrix Y"):
        read_matlab(content, "a.mat", ["X", "Y"])
    for name in other:
        with pytest.raises(DatasetError, match=r"a\.mat "):
            read_matlab(content, "a.mat", [name])
    with pytest.raises(DatasetError, match="no MATLAB file of version 5"):
        read_matlab(b"MATLAB 7.3 MAT-file".ljust(124) + b"\0\2IM" + b"\x89HDF", "a.mat", ["X"])


# Bombs: small files that unpack to a great deal


class Peak:
    """Memory that Python allocated at most while a block ran, in bytes."""

    def __enter__(self):
        tracemalloc.start()
        return self

    def __exit__(self, *error):
        self.bytes = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()


ZEROS = bytes(1 << 26)


def packed(ending):
    if ending == ".zip":
        return zipped(A_DOT_ts=ZEROS)
    return gzip.compress(ZEROS) if ending == ".gz" else bz2.compress(ZEROS)


@pytest.mark.parametrize("ending", [".zip", *slow(".gz", ".bz2")])
def test_nothing_is_unpacked_beyond_its_limit(tmp_path, ending):
    path = tmp_path / f"A{ending}"
    path.write_bytes(packed(ending))

    def read(limit):
        if ending == ".zip":
            return read_member(path, ["A.ts"], limit)[1]
        return read_content(path, limit)

    limit = 1 << 22
    with Peak() as peak, pytest.raises(DatasetError, match=rf"{re.escape(str(path))}.*{limit}"):
        read(limit)
    assert peak.bytes < 3 * limit
    assert read(len(ZEROS)) == ZEROS


def test_compressed_matrices_are_unpacked_up_to_a_limit_all_together():
    content = mat(do_compression=True, X=np.zeros((1000, 1000)), Y=np.zeros((1000, 1000)))
    limit = 12 << 20  # one of them, not both
    with Peak() as peak, pytest.raises(DatasetError, match=r"a\.mat.*more than \d+ bytes"):
        read_matlab(content, "a.mat", ["X", "Y"], limit)
    assert peak.bytes < 3 * limit
    assert len(read_matlab(content, "a.mat", ["X", "Y"], 2 * limit)) == 2


@pytest.mark.parametrize("n_axes", [65, 255])
def test_idx_with_more_axes_than_arrays_have_is_refused(n_axes):
    content = bytes([0, 0, 8, n_axes]) + struct.pack(">I", 1) * n_axes + b"\7"
    with pytest.raises(DatasetError, match=rf"a\.idx.*{n_axes} axes"):
        read_idx(content, "a.idx")
