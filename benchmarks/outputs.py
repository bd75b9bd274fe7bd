"""What many outputs must show: time in proportion to their number, and no matrix of all of them.

Every case has a process of its own. Candidates of the labels lie in a file of float32 (4 GB, made
in a temporary folder and deleted afterwards) and are read a batch at a time; the labels are a
sparse matrix in memory.
"""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp
from measure import GIB, MIB, exponent, isolated, peak_extra_memory, timed
from rows import Case, Row, not_run

N_TOPICS = 60
LABELS_A_ROW = 20
BATCH = 50_000


def draw_labels(m: int, n_y: int, seed: int = 0) -> tuple[sp.csr_array, np.ndarray]:
    """Label sets whose frequencies follow a power law, half of them by the topic of the row."""
    rng = np.random.default_rng(seed)
    topics = rng.integers(N_TOPICS, size=m)
    ranks = (n_y ** rng.random((m, LABELS_A_ROW), dtype=np.float32)).astype(np.int64) - 1
    own = ranks * (N_TOPICS - 1) // N_TOPICS // N_TOPICS * N_TOPICS + topics[:, None]
    labels = np.where(rng.random((m, LABELS_A_ROW), dtype=np.float32) < 0.5, own, ranks)
    labels = np.minimum(labels, n_y - 1).astype(np.int32)
    ends = np.arange(0, m * LABELS_A_ROW + 1, LABELS_A_ROW, dtype=np.int32)
    Y = sp.csr_array((np.ones(m * LABELS_A_ROW, np.float32), labels.ravel(), ends), shape=(m, n_y))
    Y.sum_duplicates()
    Y.data[:] = 1.0
    return Y, topics


def write_candidates(path: Path, topics: np.ndarray, n_x: int) -> None:
    """Write float32 rows of which the first candidates tell the topic."""
    with path.open("wb") as file:
        for start in range(0, len(topics), BATCH):
            some = topics[start : start + BATCH]
            X = np.random.default_rng([1, start]).standard_normal((len(some), n_x), np.float32)
            n = min(N_TOPICS, n_x)
            X[:, :n] += some[:, None] == np.arange(n)
            X.tofile(file)


class Batches:
    """Rows from a file and labels from memory, which can be read again."""

    def __init__(self, path: Path, Y: sp.csr_array, n_x: int) -> None:
        self.path, self.Y, self.n_x = path, Y, n_x

    def __iter__(self) -> Iterator[tuple[Any, Any]]:
        for start in range(0, self.Y.shape[0], BATCH):
            n = min(BATCH, self.Y.shape[0] - start)
            offset = 4 * start * self.n_x
            X = np.fromfile(self.path, np.float32, n * self.n_x, offset=offset)
            yield X.reshape(n, self.n_x), self.Y[start : start + n]


def labels(quick: bool) -> list[Row]:
    sizes = (4_000, 50, 3_000, 20, 10) if quick else (1_000_000, 1000, 100_000, 100, 50)
    m, n_x, n_y, rank, picks = sizes
    work = (
        f"{m // 1000}k × {n_x} candidates × {n_y:,} sparse labels, {LABELS_A_ROW} a row, "
        f"rank={rank}, {picks} picks"
    )
    folder = Path(tempfile.mkdtemp(prefix="projse-outputs-"))
    try:
        if shutil.disk_usage(folder).free < 4 * m * n_x + 2 * GIB:
            return [not_run("labels", work, "time and memory", "no room on disk")]
        path = folder / "candidates.f32"
        write_candidates(path, draw_labels(m, n_y)[1], n_x)
        product = isolated(_product_of_labels, m, n_y, n_x)
        seconds, peak, chosen = isolated(_select_for_labels, str(path), sizes)
    finally:
        shutil.rmtree(folder)
    found = len({*chosen} & {*range(min(N_TOPICS, n_x))})
    memory = Row(
        "labels", work, "peak memory of the whole process", peak / MIB, unit="MiB", at_most=4096
    )
    memory.n_runs, memory.note = 1, f"{found} of {len(chosen)} picks tell a topic"
    ratio = Row("labels", work, "fit ÷ labels times a dense matrix", seconds / product)
    ratio.at_most, ratio.n_runs = 4.0, 1
    ratio.seconds = {"fit": seconds, f"product with {n_x} columns": product}
    return [memory, ratio]


def _product_of_labels(m: int, n_y: int, n_x: int) -> float:
    """Seconds of ``Y @ W`` with W dense (n_y × n_x), both float32, some rows at a time."""
    Y, _ = draw_labels(m, n_y)
    W = np.random.default_rng(2).standard_normal((n_y, n_x), np.float32)

    def product() -> float:
        return sum(float((Y[i : i + BATCH] @ W)[0, 0]) for i in range(0, m, BATCH))

    return timed(product)[0]


def _select_for_labels(path: str, sizes: tuple[int, ...]) -> tuple[float, int, list[int]]:
    from projse import ProjSe

    m, n_x, n_y, rank, picks = sizes
    Y, _ = draw_labels(m, n_y)
    source = Batches(Path(path), Y, n_x)
    # As if there were many, also at the sizes that only show that it runs.
    selector = ProjSe(picks, rank=rank, solver="sketch")
    usage = peak_extra_memory(lambda: selector.fit_source(source).selected_)
    return usage.seconds, usage.total or 0, usage.result.tolist()


def draw_outputs(m: int, n_x: int, n_y: int, n_factors: int) -> tuple[np.ndarray, np.ndarray]:
    """Draw outputs whose spectrum decays: factors of falling strength, and a little noise."""
    rng = np.random.default_rng(3)
    factors = rng.standard_normal((m, n_factors), np.float32)
    mix = rng.standard_normal((n_factors, n_y), np.float32)
    mix *= (0.97 ** np.arange(n_factors, dtype=np.float32))[:, None]
    Y = factors @ mix
    for start in range(0, m, 2048):
        part = Y[start : start + 2048]
        part += np.float32(0.1) * rng.standard_normal(part.shape, np.float32)
    X = rng.standard_normal((m, n_x), np.float32)
    X += factors @ rng.standard_normal((n_factors, n_x), np.float32) / np.sqrt(n_factors)
    return X, Y


def dense(quick: bool) -> list[Row]:
    sizes = (2_000, 40, 3_000, 30, 10) if quick else (50_000, 500, 20_000, 200, 50)
    return isolated(_dense, *sizes)


def _dense(m: int, n_x: int, n_y: int, rank: int, picks: int) -> list[Row]:
    from projse import ProjSe

    X, Y = draw_outputs(m, n_x, n_y, rank + rank // 2)
    omega = np.random.default_rng(4).standard_normal((n_y, rank + 10), np.float32)
    form: dict[str, Any] = {"rank": rank, "solver": "sketch"}
    work = f"{m // 1000}k × {n_x} candidates × {n_y:,} dense outputs (float32), rank={rank}"
    products = timed(lambda: [float((Y @ omega)[0, 0]) for _ in range(2)])[0]
    usage = peak_extra_memory(lambda: ProjSe(picks, **form).fit(X, Y))
    fitted = usage.result
    ratio = Row("dense", work, "fit ÷ two products of Y with Ω", usage.seconds / products)
    ratio.at_most, ratio.n_runs = 3.0, 1
    ratio.seconds = {"fit": usage.seconds, "two products": products}
    ratio.memory_mib = {"fit": usage.extra / MIB}
    return [ratio, _overlap(work, fitted, ProjSe(picks, **form, iterated_power=6).fit(X, Y))]


def _overlap(work: str, fitted: Any, exact: Any) -> Row:
    shared = len({*fitted.selected_} & {*exact.selected_}) / len(exact.selected_)
    row = Row("dense", work, "picks shared with six power iterations", shared, unit="ratio")
    row.at_least, row.n_runs = 0.95, 1
    row.note = f"largest difference of a score {np.abs(fitted.scores_ - exact.scores_).max():.1e}"
    return row


def exact(quick: bool) -> list[Row]:
    sizes = (1_000, 40, 300, 30, 10) if quick else (20_000, 500, 4_000, 200, 50)
    return isolated(_exact, *sizes)


def _exact(m: int, n_x: int, n_y: int, rank: int, picks: int) -> list[Row]:
    """Compare with the eigenvectors of ``K_YY`` itself, where that can be factored.

    Always with those in float64: of thousands of float32 outputs, the exact fit takes short
    directions for rounding, and keeps fewer than the sketch does.
    """
    from projse import ProjSe

    data = draw_outputs(m, n_x, n_y, rank + rank // 2)
    rows = []
    for dtype in (np.float64, np.float32):
        X, Y = (A.astype(dtype) for A in data)
        by_sketch, by_gram = (
            timed(partial(ProjSe(picks, rank=rank, solver=s).fit, X, Y)) for s in ("sketch", "gram")
        )
        if dtype == np.float64:
            truth = by_gram[1]
        name = np.dtype(dtype).name
        work = f"{m // 1000}k × {n_x} candidates × {n_y:,} dense outputs ({name}), rank={rank}"
        row = _overlap(work, by_sketch[1], truth)
        row.case, row.measure = "exact", "picks shared with the exact leading directions"
        row.seconds = {"sketch": by_sketch[0], "exact": by_gram[0]}
        of_exact = len({*by_gram[1].selected_} & {*truth.selected_}) / picks
        row.note += (
            f"; {name} keeps {by_sketch[1].reference_rank_} directions by sketch and "
            f"{by_gram[1].reference_rank_} by K_YY, which shares {of_exact:.2f}"
        )
        rows.append(row)
    return rows


def growth(quick: bool) -> list[Row]:
    sizes = [1_000, 3_000] if quick else [1_000, 3_162, 10_000, 31_623, 100_000]
    return [
        isolated(_growth, kind, m // 20 if quick else m, sizes)
        for kind, m in (("dense", 5_000), ("sparse", 100_000))
    ]


def _growth(kind: str, m: int, sizes: list[int]) -> Row:
    from projse import ProjSe

    rank = 20 if m < 3_000 or (kind == "sparse" and m < 100_000) else 100
    seconds = []
    for n_y in sizes:
        if kind == "dense":
            X, Y = draw_outputs(m, 100, n_y, 150)
        else:
            Y, topics = draw_labels(m, n_y)
            X = np.random.default_rng(5).standard_normal((m, 100), np.float32)
            X[:, :N_TOPICS] += topics[:, None] == np.arange(N_TOPICS)
        ProjSe(2, rank=rank).fit(X[:100], Y[:100])  # imports and first calls
        fit = partial(ProjSe(20, rank=rank).fit, X, Y)
        seconds.append(min(timed(fit)[0] for _ in range(2)))
        del X, Y, fit
    span = f"{sizes[0]:,} to {sizes[-1]:,}"
    work = f"{m // 1000}k × 100 candidates, {span} {kind} outputs, rank={rank}"
    measure = "exponent of time in the number of outputs"
    row = Row("growth", work, measure, exponent(sizes, seconds))
    row.unit, row.at_most, row.n_runs = "exponent", 1.1, 2
    row.seconds = {f"{n:,}": s for n, s in zip(sizes, seconds, strict=True)}
    return row


CASES: dict[str, Case] = {"labels": labels, "dense": dense, "exact": exact, "growth": growth}
