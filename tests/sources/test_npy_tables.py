"""Matrices in .npy files are no tables: what needs tables says so."""

from __future__ import annotations

import numpy as np
import pytest

from projse import moments_from
from projse.exceptions import SourceError

NEED_TABLES = [
    {"basis": "spline"},
    {"missing": "indicator"},
    {"missing": "mean"},
    {"categorical_features": ["1"]},
]


@pytest.mark.parametrize("options", NEED_TABLES)
@pytest.mark.parametrize("targets", [["3", "4"], None])
def test_what_needs_a_table_is_refused_for_a_matrix(seed, tmp_path, options, targets):
    path = tmp_path / "rows.npy"
    np.save(path, np.random.default_rng(seed).normal(size=(30, 5)))
    with pytest.raises(SourceError, match=r"rows\.npy is a matrix of numbers.* need tables"):
        moments_from(path, targets=targets, **options)


def test_a_matrix_after_a_table_is_refused_as_well(seed, tmp_path):
    rows = np.random.default_rng(seed).normal(size=(30, 3))
    np.savetxt(tmp_path / "a.csv", rows, delimiter=",", header="0,1,2", comments="")
    np.save(tmp_path / "b.npy", rows)
    files = [tmp_path / "a.csv", tmp_path / "b.npy"]
    assert moments_from(files, targets=["2"]).n_samples == 60
    with pytest.raises(SourceError, match=r"b\.npy is a matrix of numbers"):
        moments_from(files, targets=["2"], basis="spline")


@pytest.mark.parametrize("header", [b"{'descr': (", b"{" * 90, b"'''", b"\xff", b"", b"{1: 2}"])
def test_headers_that_cannot_be_parsed_are_refused_in_words(tmp_path, header):
    content = b"\x93NUMPY\x01\x00" + len(header).to_bytes(2, "little") + header
    (tmp_path / "a.npy").write_bytes(content)
    np.save(tmp_path / "b.npy", np.ones((3, 1)))
    with pytest.raises(SourceError, match=r"a\.npy cannot be read: .*restore it"):
        moments_from(tmp_path / "a.npy", targets=[0])
    with pytest.raises(SourceError, match=r"a\.npy cannot be read: .*restore it"):
        moments_from((tmp_path / "b.npy", tmp_path / "a.npy"))
