"""Files given to the command: CSV, Parquet, Arrow, npy, packed and not, under many options."""

from __future__ import annotations

import atexit
import contextlib
import gzip
import io
import shutil
import sys
import tempfile
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

SUFFIXES = ("csv", "tsv", "parquet", "arrow", "npy", "csv.gz", "moments")
OPTIONS: tuple[tuple[str, ...], ...] = (
    ("select", "--targets", "y_*", "-k", "2"),
    ("select", "--targets", "y_*", "-k", "auto", "--missing", "indicator", "--basis", "spline"),
    ("select", "--class-target", "d", "-k", "2", "--missing", "drop"),
    ("select", "--one-view", "-k", "2", "--missing", "mean"),
    ("select", "--targets", "y_*", "-k", "2", "--covariates", "c", "--output", "OUT.csv"),
    ("select", "--targets", "y_*", "-k", "2", "--weight", "b", "--output", "OUT.json"),
    ("select", "--targets", "y_*", "-k", "2", "--report", "OUT.html", "--missing", "indicator"),
    ("select", "--targets", "y_*", "-k", "2", "--cv", "2"),
    ("select", "--targets", "0,1", "-k", "1", "--kernel", "rbf"),
    ("moments", "build", "--targets", "y_*", "--output", "OUT.moments"),
)


def load() -> None:
    """Import what is fuzzed."""
    import projse
    import projse.cli.app
    import projse.cli.select
    import projse.moments.stream
    import projse.reports.write  # noqa: F401


def seeds() -> list[bytes]:
    """Return real files, each with several options."""
    import pyarrow as pa
    import pyarrow.csv
    import pyarrow.feather
    import pyarrow.parquet

    from projse import Moments

    rng = np.random.default_rng(0)
    numbers = {n: rng.normal(size=14) for n in ("a", "b", "c", "y_0", "y_1")}
    mixed: dict[str, Any] = {**numbers, "d": list("uv" * 7), "b": np.arange(14)}
    mixed["a"] = pa.array([None, *mixed["a"][1:]])
    mixed["e"] = pa.array(np.datetime64("2020-01-01") + np.arange(14))
    mixed["g"] = pa.array([True, False] * 7)
    found = []
    for columns in (numbers, mixed):
        table = pa.table(columns)
        text, parquet, arrow, npy = (io.BytesIO() for _ in range(4))
        pyarrow.csv.write_csv(table, text)
        pyarrow.parquet.write_table(table, parquet)
        pyarrow.feather.write_feather(table, arrow)
        np.save(npy, np.column_stack(list(numbers.values())))
        moments = Moments.from_arrays(
            np.column_stack([numbers[n] for n in "abc"]), numbers["y_0"][:, None]
        )
        from projse.moments.file import moments_to_bytes

        contents = [
            text.getvalue(),
            text.getvalue().replace(b",", b"\t"),
            parquet.getvalue(),
            arrow.getvalue(),
            npy.getvalue(),
            text.getvalue(),
            moments_to_bytes(moments),
        ]
        found += [
            bytes([suffix, option]) + content
            for suffix, content in enumerate(contents)
            for option in ((suffix * 3) % len(OPTIONS), (suffix * 3 + 1) % len(OPTIONS))
        ]
    found += [bytes([0, option]) + text.getvalue() for option in range(len(OPTIONS))]
    return found


@cache
def folder() -> Path:
    """Return a folder to write to."""
    made = Path(tempfile.mkdtemp(prefix="projse-fuzz-"))
    atexit.register(shutil.rmtree, made, ignore_errors=True)
    return made


def attempt(data: bytes) -> None:
    """Run the command on a file; raise what it would show."""
    suffix = SUFFIXES[data[0] % len(SUFFIXES) if data else 0]
    options = OPTIONS[data[1] % len(OPTIONS) if len(data) > 1 else 0]
    content = data[2:]
    if suffix == "csv.gz" and not content.startswith(b"\x1f\x8b"):
        content = gzip.compress(content, 1)
    file = folder() / f"data.{suffix}"
    for old in folder().iterdir():
        old.unlink()
    file.write_bytes(content)
    arguments = [o.replace("OUT", str(folder() / "out")) for o in options]
    at = 2 if arguments[0] == "moments" else 1
    run([*arguments[:at], str(file), *arguments[at:]])


def run(arguments: list[str]) -> None:
    """Run the command in this process; raise the error that it would print a line of."""
    import projse.cli.errors as errors
    from fuzz.judge import WrongAnswerError
    from projse.cli import main

    raised: list[BaseException] = []

    def fail(message: str) -> Any:
        raised.append(sys.exception())  # type: ignore[arg-type]
        sys.exit(1)

    before, errors._fail = errors._fail, fail  # type: ignore[assignment]
    argv, sys.argv = sys.argv, ["projse", *arguments]
    printed, told = io.StringIO(), io.StringIO()
    code: Any = 0
    try:
        with contextlib.redirect_stdout(printed), contextlib.redirect_stderr(told):
            main()
    except SystemExit as ended:
        code = ended.code or 0
    finally:
        errors._fail, sys.argv = before, argv
    if raised:
        raise raised[0]
    if code not in (0, 1, 2) or "Traceback" in told.getvalue():
        raise WrongAnswerError(f"ended with {code}: {told.getvalue()[-500:]}")
