"""How rows are cut: by what is known about the BLAS."""

from __future__ import annotations

import pytest

import projse.sources.batch_size as batch_size
from projse.sources.batch_size import AVX512, PLAIN, cut


@pytest.fixture
def loaded(monkeypatch):
    def load(*architectures):
        monkeypatch.setattr(batch_size, "blas_architectures", lambda: frozenset(architectures))
        cut.cache_clear()

    yield load
    cut.cache_clear()


@pytest.mark.parametrize("architecture", ["SkylakeX", "Cooperlake", "SapphireRapids"])
def test_kernels_with_a_path_for_small_products_get_slices(loaded, architecture):
    loaded(architecture)
    assert cut() is AVX512
    assert cut().small_depth(100, 100) == 96


@pytest.mark.parametrize("architectures", [(), ("",), ("Haswell",), ("Zen", "Haswell"), ("armv8",)])
def test_every_other_blas_gets_plain_batches(loaded, architectures):
    loaded(*architectures)
    assert cut() is PLAIN
    assert cut().small_depth(100, 100) == 0


def test_batch_holds_its_bytes_within_limits():
    assert PLAIN.batch_rows(200, 8) * 200 * 8 <= PLAIN.batch_bytes
    assert PLAIN.batch_rows(10**6, 8) == 128
    assert PLAIN.batch_rows(0, 8) == PLAIN.batch_rows(1, 1) == 8192
