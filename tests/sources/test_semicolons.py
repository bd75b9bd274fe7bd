"""CSV files whose columns are separated by semicolons."""

from __future__ import annotations

import gzip
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from projse import ProjSe
from projse.exceptions import SourceError
from projse.sources.csv import HEAD_BYTES, dialect_of


@pytest.mark.parametrize("packed", [False, True])
def test_semicolons_are_seen_in_the_header(seed: int, tmp_path: Path, packed: bool) -> None:
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame(rng.normal(size=(50, 3)), columns=["a", "b", "y"])
    frame["c"] = rng.choice(["u, with a comma", "v"], 50)
    text = frame.to_csv(sep=";", index=False)
    path = tmp_path / ("t.csv.gz" if packed else "t.csv")
    path.write_bytes(gzip.compress(text.encode()) if packed else text.encode())
    found = ProjSe(2).fit_source(path, targets="y")
    want = ProjSe(2).fit(frame[["a", "b", "c"]], frame["y"])
    np.testing.assert_allclose(found.scores_, want.scores_, rtol=1e-9)


@pytest.mark.parametrize("separator", [";", "\t", ","])
def test_decimal_commas_are_seen_in_the_first_rows(
    seed: int, tmp_path: Path, separator: str
) -> None:
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame(rng.normal(size=(50, 3)), columns=["a, in cm", "b", "y"])
    path = tmp_path / "t.csv"
    frame.to_csv(path, sep=separator, decimal=",", index=False)
    found = ProjSe(2).fit_source(path, targets="y")
    want = ProjSe(2).fit(frame[["a, in cm", "b"]], frame["y"])
    assert found.feature_names_in_.tolist() == ["a, in cm", "b"]
    np.testing.assert_allclose(found.scores_, want.scores_, rtol=1e-9)


@pytest.mark.parametrize(
    ("text", "dialect"),
    [
        ("a,b\n1.5,2\n", (",", ".")),
        ("a;b\n1,5;2\n", (";", ",")),
        ("a, cm;b;c\n1,5;2;3\n", (";", ",")),
        ("a;b\n1.5;2\n", (";", ".")),
        ("a\tb\n1,5\t2\n", ("\t", ",")),
        ("a|b\n1.5|2\n", ("|", ".")),
        ("a,b\nx|y,1.0\n", (",", ".")),
        ('a,b\n"1,234",2\n', (",", ".")),
        ('a,b\n"1,5",2\n', (",", ",")),
        ("a,b\nx;y,1.0\n", (",", ".")),
        ("a\n1.5\n", (",", ".")),
        ('a;b\n"x\ny;z";1,5\n', (";", ",")),
        ("", (",", ".")),
    ],
)
def test_the_first_lines_tell_the_dialect(text: str, dialect: tuple[str, str]) -> None:
    assert dialect_of(text.encode(), ",")[:2] == dialect


def test_a_long_file_is_judged_by_whole_lines() -> None:
    head = ("a;b\n" + "1,25;2,5\n" * HEAD_BYTES).encode()[:HEAD_BYTES]
    assert dialect_of(head, ",") == (";", ",", 0)


@pytest.mark.parametrize("first", ["sep=;", '"sep=;"', "\ufeffsep=;"])
@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_a_first_line_for_excel_is_no_header(
    seed: int, tmp_path: Path, first: str, end: str
) -> None:
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame(rng.normal(size=(50, 3)), columns=["a", "b", "y"])
    path = tmp_path / "t.csv"
    text = frame.to_csv(sep=";", decimal=",", index=False, lineterminator=end)
    path.write_bytes((first + end + text).encode())
    found = ProjSe(2).fit_source(path, targets="y")
    want = ProjSe(2).fit(frame[["a", "b"]], frame["y"])
    assert found.feature_names_in_.tolist() == ["a", "b"]
    np.testing.assert_allclose(found.scores_, want.scores_, rtol=1e-9)
    path.write_bytes((first + end + text + "1;2" + end).encode())
    with pytest.raises(SourceError, match=r"row 52 \(the header is row 1\) has 2 fields"):
        ProjSe(2).fit_source(path, targets="y")
