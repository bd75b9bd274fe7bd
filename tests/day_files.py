"""Files of days: small tables of planted rows, ways to damage them, passes over them."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.feather
import pyarrow.parquet as pq
from planted import planted

import projse.moments.stream_run
import projse.sources.batches
from projse import moments_from

NAMES = [f"x_{j}" for j in range(8)]
TARGETS = [f"y_{j}" for j in range(3)]
PARTS = ("x_mean", "y_mean", "yy", "yx", "xx_diag", "xx")


def planted_table(seed, n_samples=240):
    """Candidates, references, and both as one table."""
    X, Y = planted(seed, n_samples)
    return X, Y, pa.table(dict(zip([*NAMES, *TARGETS], [*X.T, *Y.T], strict=True)))


def table(seed, n_samples=240):
    return planted_table(seed, n_samples)[2]


def small_chunks(monkeypatch, rows=32):
    monkeypatch.setattr(projse.sources.batches, "CHUNK_ROWS", (rows, rows))


def days(seed, folder, n_files=4, n_samples=240, write=pq.write_table, suffix="parquet"):
    folder.mkdir(exist_ok=True)
    t = table(seed, n_samples)
    size = n_samples // n_files
    for i in range(n_files):
        write(t.slice(i * size, size), folder / f"day-{i:02}.{suffix}")
    return folder


def same_bits(a, b):
    for name in PARTS:
        one, other = getattr(a, name), getattr(b, name)
        assert (one is None) == (other is None), name
        if one is not None:
            assert one.tobytes() == other.tobytes(), name
    assert a.n_samples == b.n_samples
    assert a.sum_weights == b.sum_weights


DAMAGE = {
    "truncated": lambda path, t: path.write_bytes(path.read_bytes()[:-400]),
    "no Parquet": lambda path, t: path.write_bytes(b"This is a letter, not a table." * 9),
    "empty": lambda path, t: path.write_bytes(b""),
    "missing column": lambda path, t: pq.write_table(t.drop_columns(["x_3"]), path),
    "missing target": lambda path, t: pq.write_table(t.drop_columns(["y_1"]), path),
    "another column": lambda path, t: pq.write_table(t.append_column("x_99", t["x_1"]), path),
    "renamed columns": lambda path, t: pq.write_table(
        t.rename_columns([f"{n}?" for n in t.column_names]), path
    ),
    "text for numbers": lambda path, t: pq.write_table(
        t.set_column(3, "x_3", pa.array(["many"] * t.num_rows)), path
    ),
    "text for a target": lambda path, t: pq.write_table(
        t.set_column(9, "y_1", pa.array(["many"] * t.num_rows)), path
    ),
    "nulls": lambda path, t: pq.write_table(
        t.set_column(3, "x_3", pa.array([None] * t.num_rows, pa.float64())), path
    ),
    "NaN": lambda path, t: pq.write_table(
        t.set_column(3, "x_3", pa.array([np.nan] * t.num_rows)), path
    ),
}


def many_candidates(seed, folder, n_x=600):
    """Two files with more candidates than "auto" keeps the products of; two references."""
    folder.mkdir()
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(200, n_x))
    Y = X[:, :2] + X[:, 2:4] / 2 + rng.normal(size=(200, 2)) / 10
    names = [*(f"x_{j}" for j in range(n_x)), "y_0", "y_1"]
    t = pa.table(dict(zip(names, [*X.T, *Y.T], strict=True)))
    for i in range(2):
        pq.write_table(t.slice(100 * i, 100), folder / f"{i}.parquet")
    return folder


OPTIONS = {"targets": "y_*"}


class Watch:
    """Writes down what a pass reads."""

    def __init__(self, stop_after=None):
        self.stop_after, self.last = stop_after, None

    def __call__(self, now):
        self.last = now
        if now.n_parts == self.stop_after:
            raise KeyboardInterrupt

    @property
    def n_read(self):
        return self.last.n_parts - self.last.n_kept


def run(folder, state, **more):
    """Sum with a state; return the moments and the number of files that were read."""
    watch = Watch()
    moments = moments_from(folder, state=state, progress=watch, **{**OPTIONS, **more})
    return moments, watch.n_read
