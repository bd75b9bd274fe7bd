"""Files whose format can tell that they are damaged are refused by name."""

from __future__ import annotations

import numpy as np
import pyarrow.parquet as pq
import pytest
from day_files import OPTIONS, same_bits, table

from projse import SourceError, moments_from

pytestmark = pytest.mark.fault


def pages(path):
    """Return where the last page of each column ends."""
    about = pq.read_metadata(path)
    chunks = [
        about.row_group(i).column(j)
        for i in range(about.num_row_groups)
        for j in range(about.num_columns)
    ]
    return [
        (c.dictionary_page_offset or c.data_page_offset) + c.total_compressed_size for c in chunks
    ]


@pytest.mark.parametrize("wide", [False, True])
@pytest.mark.parametrize("compression", ["none", "snappy"])
def test_a_page_of_parquet_that_fails_its_checksum_is_refused(
    seed, tmp_path, monkeypatch, compression, wide
):
    """Without the checksum, a changed byte of a number is another number."""
    if wide:  # row groups are read whole, some columns at a time
        monkeypatch.setattr("projse.sources.parquet.WIDE", 3)
    path = tmp_path / "day.parquet"
    options = {"compression": compression, "write_page_checksum": True, "use_dictionary": False}
    pq.write_table(table(seed), path, row_group_size=100, **options)
    good, want = path.read_bytes(), moments_from(path, **OPTIONS)
    rng = np.random.default_rng(seed)
    for end in pages(path):
        damaged = bytearray(good)
        damaged[end - int(rng.integers(1, 100))] ^= int(rng.integers(1, 256))
        path.write_bytes(damaged)
        with pytest.raises(SourceError, match=r"day\.parquet cannot be read: .*[Cc]hecksum"):
            moments_from(path, **OPTIONS)
    path.write_bytes(good)
    same_bits(moments_from(path, **OPTIONS), want)
