"""Time series of the UCR archive: .tsv, .txt, .ts and .arff, one series and one label a row."""

from __future__ import annotations

from pathlib import PurePath

from projse.datasets.arff import read_arff
from projse.datasets.content import damaged, read_text
from projse.datasets.table import Floats, Integers, read_table, whole_numbers

# The header may leave these out; where it has them, they say what is supported here.
HEADER = {"timestamps": "false", "missing": "false", "univariate": "true", "equallength": "true"}


def read_ucr(content: bytes, name: object) -> tuple[Floats, Integers]:
    """Read series (rows) and their labels, in the format that the ending of ``name`` says."""
    name = PurePath(str(name))
    ending = name.with_suffix("").suffix if name.suffix in (".gz", ".bz2") else name.suffix
    if ending in (".tsv", ".txt"):
        return read_label_first(content, name)
    if ending == ".ts":
        return read_ts(content, name)
    if ending == ".arff":
        table = read_arff(content, name).values
        return _split(table, table[:, -1], slice(None, -1), name)
    raise damaged(name, "a UCR file ends in .tsv, .txt, .ts or .arff")


def read_label_first(content: bytes, name: object) -> tuple[Floats, Integers]:
    """Read .tsv and .txt: the label, then the series, between tabs, spaces or commas."""
    lines = read_text(content, name)
    delimiter = "," if lines and "," in lines[0] else None
    table = read_table(lines, delimiter, name)
    return _split(table, table[:, 0], slice(1, None), name)


def read_ts(content: bytes, name: object) -> tuple[Floats, Integers]:
    """Read .ts: a header, then rows ``value,value,...:label``."""
    lines = [line for line in read_text(content, name) if line[0] not in "#%"]
    header: dict[str, list[str]] = {}
    for position, line in enumerate(lines):
        if not line.startswith("@"):
            raise damaged(name, f"its header has the line {line[:60]!r}")
        keyword, *values = line[1:].lower().split() or [""]
        if keyword == "data":
            rows = lines[position + 1 :]
            break
        header[keyword] = values
    else:
        raise damaged(name, "it ends before @data")
    for keyword, supported in HEADER.items():
        if header.get(keyword, [supported]) != [supported]:
            raise damaged(name, f"it says @{keyword} {' '.join(header[keyword])}, not {supported}")
    for number, row in enumerate(rows):
        if row.count(":") != 1:
            raise damaged(name, f"row {number} is not of the form value,value,...:label")
    table = read_table([row.replace(":", ",") for row in rows], ",", name)
    X, labels = _split(table, table[:, -1], slice(None, -1), name)
    length = header.get("serieslength", [str(X.shape[1])])
    if length != [str(X.shape[1])]:
        raise damaged(name, f"series of {X.shape[1]} values, where it says {' '.join(length)}")
    declared = header.get("classlabel", ["true"])[1:]
    if declared and not {str(label) for label in labels.tolist()} <= set(declared):
        raise damaged(name, "a row has a label that @classLabel does not name")
    return X, labels


def _split(table: Floats, labels: Floats, series: slice, name: object) -> tuple[Floats, Integers]:
    X = table[:, series].copy()
    if X.shape[1] == 0:
        raise damaged(name, "its rows hold a label and no series")
    return X, whole_numbers(labels, name)
