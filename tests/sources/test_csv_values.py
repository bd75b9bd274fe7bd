"""Values of CSV files: marks of gaps, codes, and what is not of the type of its column."""

from __future__ import annotations

import codecs
import gzip
import re
import shlex
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from processes import run_python

from projse import ProjSe, moments_from
from projse.cli.values import split
from projse.exceptions import SourceError, StateError
from projse.sources import csv, files, open_source

N_ROWS = 400


@pytest.fixture
def small_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let types be those of the first kilobyte."""
    monkeypatch.setattr(csv, "TYPE_BYTES", 1 << 10)
    monkeypatch.setattr(csv, "BLOCK_BYTES", (1 << 10, 1 << 10))


def numbers(seed: int) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame(rng.normal(size=(N_ROWS, 3)).round(3), columns=["a", "b, cm", "y"])
    frame.insert(0, "code", rng.integers(0, 4, N_ROWS))
    frame["y"] += frame["code"].map({0: 0.0, 1: 3.0, 2: -1.0, 3: 1.0}) + frame["a"]
    return frame


def written(frame: pd.DataFrame, path: Path, **options: Any) -> Path:
    frame.to_csv(path, index=False, **options)
    return path


def with_value(frame: pd.DataFrame, column: str, value: str, row: int) -> pd.DataFrame:
    frame = frame.astype({column: object})
    frame.loc[row, column] = value
    return frame


@pytest.mark.usefixtures("small_blocks")
@pytest.mark.parametrize("mark", ['"', "n,a", 'so "far", no', "?"])
def test_the_remedy_can_be_typed_as_it_is_told(seed: int, tmp_path: Path, mark: str) -> None:
    path = written(with_value(numbers(seed), "a", mark, 333), tmp_path / "t.csv")
    with pytest.raises(SourceError) as error:
        moments_from(path, targets="y")
    typed = shlex.split(str(error.value).partition("--na ")[2].partition("); ")[0])
    assert split(typed) == [mark]
    moments_from(path, targets="y", na_values=split(typed), missing="drop")


@pytest.mark.usefixtures("small_blocks")
@pytest.mark.parametrize("column", ["a", "y"])
def test_a_remedy_that_would_be_cut_off_is_not_told(seed: int, tmp_path: Path, column: str) -> None:
    frame = numbers(seed)
    for n, proposed in ((60, True), (61, False)):
        path = written(with_value(frame, column, "n" * n, 333), tmp_path / "t.csv")
        with pytest.raises(SourceError) as error:
            moments_from(path, targets="y")
        told = str(error.value)
        assert ("na_values" in told) == ("--na" in told) == proposed
        assert ("'…" in told) == (not proposed)
        assert re.search(r"row 1\)\. [A-Z]", told)
        assert told.lower().endswith("repair the line.")


@pytest.mark.usefixtures("small_blocks")
@pytest.mark.parametrize(
    ("column", "remedies"),
    [
        ("a", ["-x a", "--categorical a", "--na '?'", "na_values='?'"]),
        ("b, cm", ["-x '\"b, cm\"'", "--na '?'"]),
        ("y", ["--na '?'"]),
    ],
)
def test_a_value_of_another_type_is_told_with_its_column_and_row(
    seed: int, tmp_path: Path, column: str, remedies: list[str]
) -> None:
    path = written(with_value(numbers(seed), column, "?", 333), tmp_path / "t.csv")
    with pytest.raises(SourceError) as error:
        moments_from(path, targets="y")
    told = str(error.value)
    assert f"{path}: column {column!r} holds numbers, but '?' in row 335" in told
    assert all(remedy in told for remedy in remedies)
    assert ("-x" in told) == (column != "y")
    assert "#" not in told


@pytest.mark.usefixtures("small_blocks")
def test_the_column_is_the_right_one_whatever_is_read(seed: int, tmp_path: Path) -> None:
    path = written(with_value(numbers(seed), "b, cm", "x\ny", 333), tmp_path / "t.csv")
    with pytest.raises(SourceError, match=r"'b, cm' holds numbers, but 'x\\ny' in row 335"):
        moments_from(path, targets="y", features=["b, cm"])


@pytest.mark.usefixtures("small_blocks")
def test_dates_and_labels_that_are_none_are_told_too(seed: int, tmp_path: Path) -> None:
    frame = numbers(seed).assign(day="2024-01-31")
    path = written(with_value(frame, "day", "31.1.2024", 300), tmp_path / "t.csv")
    with pytest.raises(SourceError, match=r"'day' holds dates, but '31\.1\.2024' in row 302"):
        moments_from(path, targets="y")
    path = written(with_value(frame, "code", "none", 300), tmp_path / "t.csv")
    with pytest.raises(SourceError, match="'code' holds numbers, but 'none' in row 302"):
        moments_from(path, class_target="code")


def test_strings_in_a_later_file_are_told_with_their_row(seed: int, tmp_path: Path) -> None:
    frame = numbers(seed)
    written(frame, tmp_path / "1.csv")
    written(with_value(frame, "a", "n.d.", 7), tmp_path / "2.csv")
    with pytest.raises(SourceError, match=r"2\.csv: column 'a' holds numbers, but 'n.d.' in row 9"):
        moments_from(tmp_path, targets="y")


@pytest.mark.parametrize("between", [",", ", "])
@pytest.mark.parametrize("mark", ["?", "-", ".", "None", "missing", "-999"])
def test_marks_of_gaps_are_gaps(seed: int, tmp_path: Path, mark: str, between: str) -> None:
    rng = np.random.default_rng(seed)
    frame = numbers(seed).rename(columns={"b, cm": "b"})
    frame["city"] = rng.choice(["Oslo", "Rome"], N_ROWS)
    text = frame.astype(object).mask(rng.random(frame.shape) < 0.1)
    text["y"] = frame["y"]
    text.to_csv(path := tmp_path / "t.csv", index=False, na_rep=mark)
    lines = path.read_text().splitlines()
    path.write_text("\n".join([lines[0], *(line.replace(",", between) for line in lines[1:])]))
    selector = ProjSe(3, missing="indicator")
    found = selector.fit_source(path, targets="y", na_values=mark)
    gaps = text.drop(columns="y").astype({"a": float, "b": float, "code": float})
    want = ProjSe(3, missing="indicator").fit(gaps, text["y"].astype(float))
    assert found.selected_.tolist() == want.selected_.tolist()
    np.testing.assert_allclose(found.scores_, want.scores_, rtol=1e-9)


def test_a_state_reads_the_files_of_tomorrow_with_the_same_marks(seed: int, tmp_path: Path) -> None:
    frame = numbers(seed)
    days = tmp_path / "days"
    days.mkdir()
    written(with_value(frame, "a", "?", 7), days / "1.csv")
    options = {"targets": "y", "missing": "drop", "state": tmp_path / "state"}
    assert moments_from(days, na_values=["?", "-"], **options).n_samples == N_ROWS - 1
    written(with_value(frame, "a", "-", 7), days / "2.csv")
    assert moments_from(days, na_values=("-", "?", "-"), **options).n_samples == 2 * N_ROWS - 2
    with pytest.raises(StateError, match=r"na_values: now without '-'"):
        moments_from(days, na_values="?", **options)
    with pytest.raises(StateError, match=r"na_values: now without '-', '\?'"):
        moments_from(days, **options)


def test_a_state_without_marks_is_written_as_before(seed: int, tmp_path: Path) -> None:
    path = written(numbers(seed), tmp_path / "t.csv")
    moments_from(path, targets="y", state=tmp_path / "state")
    assert "na_values" not in (tmp_path / "state" / "state.json").read_text()


@pytest.mark.parametrize("given", [-999, -999.0, np.int64(-999), "-999", "-999.0", [-999, "?"]])
@pytest.mark.parametrize("written_as", ["-999", "-999.0", "-999.00", " -999", "-999 "])
def test_a_number_is_a_mark_however_it_is_written(
    seed: int, tmp_path: Path, given: Any, written_as: str
) -> None:
    path = written(with_value(numbers(seed), "a", written_as, 7), tmp_path / "t.csv")
    moments = moments_from(path, targets="y", na_values=given, missing="drop")
    assert moments.n_samples == N_ROWS - 1


@pytest.mark.parametrize("mark", ["?", "? ", " ? "])
def test_blanks_around_a_mark_do_not_count(seed: int, tmp_path: Path, mark: str) -> None:
    path = written(with_value(numbers(seed), "a", mark, 7), tmp_path / "t.csv")
    moments = moments_from(path, targets="y", na_values="?", missing="drop")
    assert moments.n_samples == N_ROWS - 1


@pytest.mark.parametrize("given", [{"a": "?"}, object(), ["?", None], b"?", [True]])
def test_marks_that_are_none_are_refused_by_name(seed: int, tmp_path: Path, given: Any) -> None:
    path = written(numbers(seed), tmp_path / "t.csv")
    with pytest.raises(TypeError, match=r"na_values=.* must be what stands for a gap"):
        moments_from(path, targets="y", na_values=given)


def test_files_that_are_open_have_the_marks_they_were_opened_with(
    seed: int, tmp_path: Path
) -> None:
    path = written(with_value(numbers(seed), "a", "-999", 7), tmp_path / "t.csv")
    options: dict[str, Any] = {"targets": "y", "missing": "drop"}
    opened = open_source(path, na_values="-999")
    assert moments_from(opened, **options).n_samples == N_ROWS - 1
    assert moments_from(opened, na_values="-999", **options).n_samples == N_ROWS - 1
    for other in (open_source(path), open_source(path, na_values="?")):
        with pytest.raises(ValueError, match=r"opened with na_values=.* not with \['-999'\]"):
            moments_from(other, na_values="-999", **options)
    options["state"] = tmp_path / "state"
    moments_from(opened, **options)
    with pytest.raises(StateError, match="na_values: now without '-999'"):
        moments_from(path, **options)


def test_arrays_in_files_take_no_marks(seed: int, tmp_path: Path) -> None:
    frame = numbers(seed)
    paths = (tmp_path / "X.npy", tmp_path / "Y.npy")
    np.save(paths[0], frame[["code", "a"]].to_numpy())
    np.save(paths[1], frame[["y"]].to_numpy())
    with pytest.raises(ValueError, match="is for CSV files, and the source has none"):
        moments_from(paths, na_values="?")


def test_marks_are_for_csv_files(seed: int, tmp_path: Path) -> None:
    frame = numbers(seed)
    frame.to_parquet(tmp_path / "t.parquet")
    for source in (tmp_path / "t.parquet", frame):
        with pytest.raises(ValueError, match=r"na_values=\['\?'\] is for CSV files"):
            moments_from(source, targets="y", na_values="?")
    with pytest.raises(TypeError, match="na_values=True"):
        moments_from(tmp_path / "t.parquet", targets="y", na_values=True)


@pytest.mark.usefixtures("small_blocks")
@pytest.mark.parametrize("declared", [["code"], ["c*"], [0], [True, False, False]])
@pytest.mark.parametrize("late", ["?", "0x1F", "1.5"])
def test_declared_codes_are_text_from_the_first_row_on(
    seed: int, tmp_path: Path, late: str, declared: Any
) -> None:
    frame = numbers(seed)
    frame["code"] = frame["code"].map("{:03d}".format)
    frame.loc[N_ROWS - 30 :, "code"] = late
    path = written(frame, tmp_path / "t.csv")
    found = ProjSe(2, categorical_features=declared).fit_source(path, targets="y")
    want = ProjSe(2).fit(frame[["code", "a", "b, cm"]], frame["y"])
    assert found.selected_.tolist() == want.selected_.tolist()
    np.testing.assert_allclose(found.scores_, want.scores_, rtol=1e-9)
    columns = found.moments_.feature_names
    assert columns is not None
    assert [name for name in columns if "code" in name] == sorted(
        name for name in want.moments_.feature_names or () if "code" in name
    )


@pytest.mark.usefixtures("small_blocks")
@pytest.mark.parametrize("missing", ["refuse", "drop", "indicator"])
def test_whole_codes_have_the_same_levels_in_memory_and_in_files(
    seed: int, tmp_path: Path, missing: str
) -> None:
    frame = numbers(seed)
    path = written(frame, tmp_path / "t.csv")
    parameters: Any = {"categorical_features": ["code"], "missing": missing}
    found = ProjSe(3, **parameters).fit_source(path, targets="y")
    want = ProjSe(3, **parameters).fit(frame.drop(columns="y"), frame["y"])
    assert found.moments_.feature_names == want.moments_.feature_names
    np.testing.assert_allclose(found.scores_, want.scores_, rtol=1e-9)


@pytest.mark.usefixtures("small_blocks")
def test_codes_of_a_covariate_are_text_too(seed: int, tmp_path: Path) -> None:
    frame = with_value(numbers(seed).astype({"code": str}), "code", "none", N_ROWS - 1)
    path = written(frame, tmp_path / "t.csv")
    selector = ProjSe(2, categorical_features=["code"])
    found = selector.fit_source(path, targets="y", covariates="code")
    want = ProjSe(2).fit(frame[["a", "b, cm"]], frame["y"], covariates=frame[["code"]])
    np.testing.assert_allclose(found.scores_, want.scores_, rtol=1e-9)


def test_columns_in_the_path_are_no_text_of_the_file(seed: int, tmp_path: Path) -> None:
    (tmp_path / "site=7").mkdir()
    written(numbers(seed), tmp_path / "site=7" / "t.csv")
    (part,) = open_source(tmp_path)
    fields = {field.name: field for field in part.fields() or ()}
    assert fields["code"].from_text
    assert not fields["site"].from_text


@pytest.mark.parametrize(
    ("before", "line", "told"),
    [
        ("", "1,2,3", "row 402 (the header is row 1) has 3 fields instead of 4: '1,2,3'. Repair"),
        ("", "1,2,3,4,5", "row 402 (the header is row 1) has 5 fields instead of 4"),
        ("Numbers of 2024\n", "", "row 2 (the header is row 1) has 4 fields instead of 1"),
        ("# made today\n", "", "remove what stands before the header"),
    ],
)
def test_a_line_of_another_length_is_told_with_its_row(
    seed: int, tmp_path: Path, before: str, line: str, told: str
) -> None:
    path = tmp_path / "t.csv"
    text = numbers(seed).rename(columns={"b, cm": "b"}).to_csv(index=False)
    path.write_text(before + text + line)
    with pytest.raises(SourceError) as error:
        moments_from(path, targets="y")
    assert told in str(error.value)


def test_what_pandas_shows_for_a_gap_is_one(seed: int, tmp_path: Path) -> None:
    frame = numbers(seed).assign(day="2024-01-31")
    frame = with_value(with_value(frame, "a", "<NA>", 7), "day", "NaT", 9)
    path = written(frame, tmp_path / "t.csv")
    assert moments_from(path, targets="y", missing="drop").n_samples == N_ROWS - 2


def test_a_process_ends_while_a_file_is_read_ahead(tmp_path: Path) -> None:
    """Arrow's threads may not need Python once it shuts down: a slow file of its own shows it."""
    path = tmp_path / "t.csv"
    path.write_text("a,b\n" + "1,2\n" * 200_000)
    done = run_python(
        "import io, sys, time\n"
        "from projse.sources import csv, open_source\n"
        "class Slow(io.FileIO):\n"
        "    def read(self, size=-1):\n"
        "        time.sleep(0.5)\n"
        "        return super().read(size)\n"
        "csv.open = Slow  # where the module opens files by Python\n"
        "csv.TYPE_BYTES = 1 << 10\n"
        f"part, = open_source({str(path)!r})\n"
        "assert len(part.fields()) == 2\n"
        "sys.exit(7)\n"
    )
    assert done == (7, "", "")


@pytest.mark.parametrize("packed", [False, True])
@pytest.mark.parametrize("header", ["a,y", "sep=;\na;y", '"a",y', "\ufeffa,y"])
def test_a_header_without_an_end_of_line_has_no_rows(
    tmp_path: Path, header: str, packed: bool
) -> None:
    end = ".csv.gz" if packed else ".csv"
    pack = gzip.compress if packed else bytes
    (tmp_path / f"1{end}").write_bytes(pack(header.encode()))
    with pytest.raises(SourceError, match="there are no rows"):
        moments_from(tmp_path, targets="y")
    for name in "02":  # an empty day among others, first and last but one
        (tmp_path / f"{name}{end}").write_bytes(pack(b"a,y\n1,2\n3,4\n"))
    assert moments_from(tmp_path, targets="y").n_samples == 4


def test_the_rows_of_all_members_of_an_archive_count(tmp_path: Path) -> None:
    members = [b"a,y", b"\n1,2\n", b"3,4\n", b"5,7"]
    (tmp_path / "t.csv.gz").write_bytes(b"".join(map(gzip.compress, members)))
    assert moments_from(tmp_path, targets="y").n_samples == 3


@pytest.mark.parametrize(
    ("name", "content", "said"),
    [
        ("t.csv", b"", "is empty: not even a header. Write it again"),
        ("t.csv", b"\n \r\n\n", "is empty: not even a header"),
        ("t.csv", codecs.BOM_UTF8, "is empty: not even a header"),
        ("t.csv.gz", gzip.compress(b"", mtime=0), "is empty: not even a header"),
        ("t.csv", b"PAR1....PAR1", "no CSV file but parquet; .*--format parquet"),
        ("t.csv", b"PK\x03\x04\x14\0", "zip archive, such as an Excel workbook"),
        ("t.xlsx", b"PK\x03\x04\x14\0", "zip archive, such as an Excel workbook"),
        ("t.npz", b"PK\x03\x04\x14\0", "zip archive, such as .*npz"),
        ("t.csv", gzip.compress(b"a,y\n1,2\n", mtime=0), "is compressed; let its name end"),
        ("t.csv", "a,y\n1,2\n".encode("utf-16-le"), "zero bytes, as UTF-16 does"),
        ("t.csv", "a,y\n1,2\n".encode("utf-32"), "iconv -f utf-32"),
        ("t.csv", b"\0\0\xfe\xff" + "a,y\n1,2\n".encode("utf-32-be"), "iconv -f utf-32"),
        ("t.csv.gz", b"a,y\n1,2\n", "or not be compressed as its name says"),
        ("t.csv.gz", gzip.compress(b"a,y\n1,2\n", mtime=0)[:-4], "may be cut short"),
    ],
)
def test_what_is_no_text_of_a_table_is_told_apart(
    tmp_path: Path, name: str, content: bytes, said: str
) -> None:
    path = tmp_path / name
    path.write_bytes(content)
    with pytest.raises(SourceError, match=said) as caught:
        moments_from(path, targets="y")
    assert str(path) in str(caught.value)
    assert "Repair the line" not in str(caught.value)


@pytest.mark.parametrize(("end", "codec"), csv.CODECS.items())
def test_a_file_may_be_packed_in_every_way_that_is_told(
    tmp_path: Path, end: str, codec: str
) -> None:
    path = tmp_path / f"t.csv{end}"
    with pa.CompressedOutputStream(str(path), codec) as file:
        file.write(b"a,y\n1,2\n3,5\n")
    assert moments_from(path, targets="y").n_samples == 2
    assert set(csv.CODECS) == set(files.COMPRESSED)


@pytest.mark.parametrize(("n_columns", "mega"), [(3, 4), (4000, 6), (60_000, 16)])
def test_blocks_are_small_but_for_wide_files(tmp_path, n_columns, mega):
    """Arrow reads 32 blocks ahead; a column of a block has a price, which lines have to share."""
    path = tmp_path / "t.csv"
    path.write_text(",".join(f"c{j:05}" for j in range(n_columns)) + "\n" + "1," * n_columns + "\n")
    (part,) = open_source(path)
    assert part._block_size >> 20 == mega
    path.write_text("sep=,\n" + path.read_text())
    (marked,) = open_source(path)
    assert marked._block_size == pytest.approx(part._block_size, rel=1e-3), "its header is below"
