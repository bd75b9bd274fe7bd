"""The same rows give the same picks, however they come: a matrix of ways that is generated."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from importlib.util import find_spec
from itertools import product
from pathlib import Path

import dask.array as da
import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.csv as pacsv
import pyarrow.parquet as pq
import pytest
import scipy.sparse as sp
from agreement import quietly
from same_rows import (
    BEYOND,
    CELLS,
    NAMES,
    PLAIN,
    SCORES,
    SINGLE,
    SUBJECTS,
    WIDE,
    M,
    P,
    rows,
    same,
    selector,
)
from threadpoolctl import threadpool_limits
from variants import slow

from projse import Moments

pytestmark = pytest.mark.determinism

# Ways: (selector, X, Y, folder) -> fitted


def _memory(x=np.asarray, y=np.asarray, **parameters):
    return lambda s, X, Y, folder: quietly(s.set_params(**parameters).fit, x(X), y(Y))


def _partial(step):
    def way(s, X, Y, folder):
        for start in range(0, M, step):
            quietly(s.partial_fit, X[start : start + step], Y[start : start + step])
        return s

    return way


def _added(s, X, Y, folder):
    parts = [Moments.from_arrays(X[i::3], Y[i::3], with_xx=True) for i in (2, 0, 1)]
    return quietly(s.fit_moments, parts[0] + parts[1] + parts[2])


def _table(X, Y):
    return pa.table(dict(zip(NAMES, [*X.T.copy(), *Y.T.copy()], strict=True)))


def _file(write, name, **parameters):
    def way(s, X, Y, folder):
        write(_table(X, Y), folder / name)
        return quietly(s.set_params(**parameters).fit_source, folder / name, targets="y*")

    return way


def _files(s, X, Y, folder):
    table, place = _table(X, Y), folder / "parts"
    place.mkdir(exist_ok=True)
    for i in range(0, M, 60):
        pq.write_table(table.slice(i, 60), place / f"{i}.parquet")
    return quietly(s.fit_source, place, targets="y*")


def _frames(make):
    def way(s, X, Y, folder):
        return quietly(s.fit, make(X, NAMES[:P]), make(Y, NAMES[P:]))

    return way


def _polars(A, names):
    import polars as pl

    return pl.DataFrame(A, schema=names)


def _dask(chunk):
    def way(s, X, Y, folder):
        import dask

        with dask.config.set(scheduler="synchronous"):
            parts = (da.from_array(A, chunks=(chunk, A.shape[1])) for A in (X, Y))
            return quietly(s.fit, *parts)

    return way


WAYS = {
    f"memory {order}, {jobs} threads, batches of {size}": _memory(
        make, make, n_jobs=jobs, batch_size=size
    )
    for (order, make), jobs, size in product(
        {"C": np.ascontiguousarray, "F": np.asfortranarray}.items(), (1, 2), (None, 7, 64)
    )
}
WAYS |= {
    f"{kind} X, {'sparse' if both else 'dense'} Y": _memory(make, make if both else np.asarray)
    for (kind, make), both in product(
        {"csr": sp.csr_array, "csc": sp.csc_matrix}.items(), (True, False)
    )
}
WAYS |= {f"partial_fit of {step}": _partial(step) for step in (1, 50)}
WAYS |= {"moments added up": _added, "one solver": _memory(solver="gram")}
WAYS |= {f"Dask, {chunk} rows a block": _dask(chunk) for chunk in (40, M)}
WAYS |= {
    "pandas": _frames(lambda A, names: pd.DataFrame(A, columns=names)),
    "Parquet": _file(lambda t, path: pq.write_table(t, path, row_group_size=33), "a.parquet"),
    "Parquet, small batches": _file(pq.write_table, "b.parquet", batch_size=10),
    "Parquet, a folder": _files,
    "CSV": _file(pacsv.write_csv, "a.csv"),
}
if find_spec("polars"):  # which has no wheels for the free-threaded build of Python
    WAYS["polars"] = _frames(_polars)


OPPOSITE = [CELLS[0], CELLS[-1]]


def _cell_of(way):
    """Return the cell that the plain run has of a way: one of the two, in turn."""
    return OPPOSITE[list(WAYS).index(way) % 2]


EVERY_WAY = [
    pytest.param(
        way,
        *cell,
        marks=() if cell == _cell_of(way) and way != "partial_fit of 1" else pytest.mark.slow,
    )
    for way, cell in product(WAYS, CELLS)
]


@pytest.mark.parametrize(("way", "form", "grouped"), EVERY_WAY)
def test_every_way_gives_the_same(way, form, grouped, seed, tmp_path):
    X, Y = rows(seed)
    reference = selector(form, grouped).fit(X, Y)
    assert reference.margins_.min() > 1e-8, "a tie: not a question for this test"
    same(WAYS[way](selector(form, grouped), X, Y, tmp_path), reference, SCORES)


SPREAD = {
    f"{jobs} threads, batches of {size}": {"n_jobs": jobs, "batch_size": size}
    for jobs, size in product((1, 2, 4), (None, 7, 64))
}
ONE = "2 threads, batches of 7"


@pytest.mark.parametrize("spread", [ONE, *slow(*(name for name in SPREAD if name != ONE))])
@pytest.mark.parametrize("subject", BEYOND)
def test_threads_and_batches(subject, spread, seed):
    draw, new = BEYOND[subject]
    X, Y = draw(seed)
    reference = new().fit(X, Y)
    if X.shape[1] == WIDE:
        assert reference.moments_.xx is None, "all products were made: not what this is about"
    assert reference.margins_.min() > 1e-8, "a tie: not a question for this test"
    same(new(**SPREAD[spread]).fit(X, Y), reference, SCORES)


SOME_SUBJECTS = ["default, columns", "paper, groups", *BEYOND]
OTHER_SUBJECTS = [name for name in PLAIN if name not in SOME_SUBJECTS]


@pytest.mark.parametrize("subject", [*SOME_SUBJECTS, *slow(*OTHER_SUBJECTS)])
@pytest.mark.parametrize("threads", [2, *slow(1, 4)])
def test_threads_of_blas(threads, subject, seed):
    draw, new = SUBJECTS[subject]
    X, Y = draw(seed)
    reference = new().fit(X, Y)
    with threadpool_limits(threads):
        same(new().fit(X, Y), reference, SCORES)


@pytest.mark.slow
@pytest.mark.parametrize(("form", "grouped"), CELLS)
@pytest.mark.parametrize("way", [way for way in WAYS if "CSV" not in way])
def test_float32_to_its_bound(way, form, grouped, seed, tmp_path):
    X, Y = rows(seed)
    reference = selector(form, grouped).fit(X, Y)
    known = int(np.argmax([*(reference.margins_ < 10 * SINGLE), True]))  # up to a near tie
    X, Y = rows(seed, np.float32)
    fitted = WAYS[way](selector(form, grouped), X, Y, tmp_path)
    assert fitted.selected_[:known].tolist() == reference.selected_[:known].tolist()
    np.testing.assert_allclose(fitted.scores_[:known], reference.scores_[:known], atol=SINGLE)


PROGRAM = """
import json, sys
from same_rows import SUBJECTS
out = {}
for name, (draw, new) in SUBJECTS.items():
    s = new().fit(*draw(int(sys.argv[1])))
    out[name] = [s.selected_.tolist(), s.scores_.tolist()]
from threadpoolctl import threadpool_info
print(json.dumps([[i.get("architecture") for i in threadpool_info()], out]))
"""


@pytest.mark.slow
@pytest.mark.parametrize("core", ["Haswell", "Zen", "SkylakeX", "Sandybridge"])
def test_kinds_of_processor(core, seed):
    flags = Path("/proc/cpuinfo").read_text() if Path("/proc/cpuinfo").exists() else ""
    needs = {"SkylakeX": "avx512f", "Sandybridge": "avx"}.get(core, "avx2")
    if needs not in flags:
        pytest.skip(f"this processor has no {needs}, which the kernels of {core} are made of")
    path = os.pathsep.join([str(Path(__file__).parents[1]), os.environ.get("PYTHONPATH", "")])
    environment = {**os.environ, "OPENBLAS_CORETYPE": core, "PYTHONPATH": path}
    command = [sys.executable, "-c", PROGRAM, str(seed)]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    kinds, found = json.loads(done.stdout)
    assert core in kinds or core == "Zen", kinds  # Zen has the kernels of Haswell
    assert found.keys() == SUBJECTS.keys()
    for name, (draw, new) in SUBJECTS.items():
        reference = new().fit(*draw(seed))
        picks, scores = found[name]
        assert picks == reference.selected_.tolist(), name
        np.testing.assert_allclose(scores, reference.scores_, rtol=0, atol=SCORES, err_msg=name)
