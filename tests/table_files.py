"""One table in files of every kind: each function writes it and returns what a user would pass."""

from __future__ import annotations

import os

import numpy as np
import pyarrow as pa
import pyarrow.csv as pacsv
import pyarrow.dataset as ds
import pyarrow.feather as feather
import pyarrow.parquet as pq
from day_files import NAMES, TARGETS


def write_parquet(t, folder):
    pq.write_table(t, folder / "a.parquet", row_group_size=50)
    return folder / "a.parquet"


def write_many(t, folder):
    (folder / "deep" / "er").mkdir(parents=True)
    cuts = [0, 1, 100, 170, t.num_rows]
    places = ["b.parquet", "deep/a.parquet", "deep/er/z.pq", "c.parquet"]
    for place, start, stop in zip(places, cuts, cuts[1:], strict=False):
        pq.write_table(t.slice(start, stop - start), folder / place)
    return folder


def write_glob(t, folder):
    return os.path.join(write_many(t, folder), "**", "*")


def write_list(t, folder):
    write_many(t, folder)
    return [folder / "c.parquet", str(folder / "deep"), folder / "b.parquet", folder / "b.parquet"]


def write_feather(t, folder):
    feather.write_feather(t, folder / "a.feather", chunksize=37)
    return folder / "a.feather"


def write_arrow_stream(t, folder):
    with pa.OSFile(str(folder / "a.arrows"), "wb") as sink, pa.ipc.new_stream(sink, t.schema) as w:
        w.write_table(t, max_chunksize=31)
    return folder / "a.arrows"


def write_csv(t, folder):
    pacsv.write_csv(t, folder / "a.csv")
    return folder / "a.csv"


def write_csv_gz(t, folder):
    t.to_pandas().to_csv(folder / "a.csv.gz", index=False)
    return folder / "a.csv.gz"


def write_tsv(t, folder):
    t.to_pandas().to_csv(folder / "a.tsv", index=False, sep="\t")
    return folder / "a.tsv"


def write_mixed(t, folder):
    write_parquet(t.slice(0, 90), folder)
    write_csv(t.slice(90, 80), folder)
    write_feather(t.slice(170), folder)
    return folder


def hive(t, folder):
    days = pa.array(["2026-11-01", "2026-11-02"] * (t.num_rows // 2))
    pq.write_to_dataset(t.append_column("day", days), folder, partition_cols=["day"])
    return folder


def dataset(t, folder):
    return ds.dataset(write_many(t, folder), format="parquet")


def hive_dataset(t, folder):
    return ds.dataset(hive(t, folder), format="parquet", partitioning="hive")


def npy(X, Y, folder):
    np.save(folder / "a.npy", np.hstack([X, Y]))
    return {"source": folder / "a.npy", "targets": [len(NAMES) + j for j in range(len(TARGETS))]}
