"""How many rows a batch has."""

from __future__ import annotations

from projse.sources.batch_size import BATCH_BYTES, batch_rows


def test_batch_holds_its_bytes_within_limits():
    assert BATCH_BYTES - 1600 < batch_rows(200, 8) * 200 * 8 <= BATCH_BYTES
    assert batch_rows(10**6, 8) == 128
    assert batch_rows(0, 8) == 8192
    assert batch_rows(0, 4) == 2048
