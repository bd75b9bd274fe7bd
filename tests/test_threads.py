"""One limit of BLAS for the whole process: it is there while it is needed, and gone afterwards."""

from __future__ import annotations

import multiprocessing
import os
import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager

import numpy as np
import pytest
from planted import planted
from threadpoolctl import threadpool_info, threadpool_limits

from projse import ProjSe
from projse.moments.accumulate import accumulate_dense
from projse.threads import (
    LEAST_FOR_BLAS,
    WORTH_WAKING,
    one_blas_thread,
    ordered_map,
    threads_worth,
)


def blas_threads():
    return [pool["num_threads"] for pool in threadpool_info() if pool["user_api"] == "blas"]


@pytest.fixture(params=[2, 3], autouse=True)
def before(request):
    """Limits that a user has set outside; they must be there again in the end."""
    with threadpool_limits(limits=request.param, user_api="blas"):
        yield blas_threads()


@contextmanager
def held_by_a_thread():
    """Hold the limit in a thread of its own, until the block is left."""
    inside, leave = threading.Event(), threading.Event()

    def hold():
        with one_blas_thread():
            inside.set()
            leave.wait(10)

    thread = threading.Thread(target=hold)
    thread.start()
    assert inside.wait(10)
    try:
        yield
    finally:
        leave.set()
        thread.join()


def test_the_first_out_does_not_lift_the_limit_of_the_others(before):
    with held_by_a_thread():
        with one_blas_thread():
            assert set(blas_threads()) == {1}
        assert set(blas_threads()) == {1}
    assert blas_threads() == before


def test_the_last_out_restores_what_the_first_found(before):
    # Whoever comes second finds one thread, and must not restore that.
    first = held_by_a_thread()
    first.__enter__()
    with one_blas_thread():
        first.__exit__(None, None, None)
        assert set(blas_threads()) == {1}
    assert blas_threads() == before


def test_limits_nest_and_end_with_an_exception(before):
    def fail():
        with one_blas_thread():
            with one_blas_thread():
                pass
            assert set(blas_threads()) == {1}
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        fail()
    assert blas_threads() == before


def test_a_limit_that_the_user_changes_between_passes_is_found_anew(before):
    for n in (4, 2):
        with threadpool_limits(limits=n, user_api="blas"):
            with one_blas_thread():
                assert set(blas_threads()) == {1}
            assert set(blas_threads()) == {n}
    assert blas_threads() == before


def test_a_limit_that_the_user_lifts_during_a_pass_stays_lifted(before):
    with threadpool_limits(limits=4, user_api="blas"):
        held = held_by_a_thread()
        held.__enter__()
    held.__exit__(None, None, None)
    assert blas_threads() == before


def test_fits_in_many_threads_leave_blas_as_it_was(seed, before):
    X, Y = planted(seed, n_samples=20_000)

    def fit(_):
        return ProjSe(3, n_jobs=2).fit(X, Y).selected_.tolist()

    with ThreadPoolExecutor(4) as pool:
        picks = list(pool.map(fit, range(40)))
    assert blas_threads() == before
    assert all(p == picks[0] for p in picks)


@pytest.mark.parametrize("n_x", [40, 3000])
@pytest.mark.parametrize("n_jobs", [1, 2])
def test_a_pass_that_is_broken_off_keeps_no_limit(seed, before, n_x, n_jobs):
    rng = np.random.default_rng(seed)
    X, Y = rng.normal(size=(2000, n_x)), rng.normal(size=(2000, 100))

    def stop(done, total):
        assert done < total, "the pass must be broken off in the middle"
        raise KeyboardInterrupt

    # The traceback keeps every local of the pass alive, as a debugger or a notebook would.
    with pytest.raises(KeyboardInterrupt) as kept:
        accumulate_dense(X, Y, None, n_jobs=n_jobs, batch_size=100, progress=stop)
    assert blas_threads() == before, kept


def test_a_task_that_fails_keeps_no_limit(before):
    def fail(i):
        raise ZeroDivisionError

    for n_threads in (1, 2):
        with pytest.raises(ZeroDivisionError) as kept:
            list(ordered_map(fail, range(4), n_threads))
        assert blas_threads() == before, kept


def in_child(queue):
    with one_blas_thread():
        pass
    queue.put(blas_threads())


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")
def test_a_forked_process_does_not_inherit_the_limit_of_a_thread_that_it_has_not(before):
    context = multiprocessing.get_context("fork")
    queue = context.Queue()
    with held_by_a_thread():
        child = context.Process(target=in_child, args=(queue,))
        child.start()
        found = queue.get(timeout=20)
        child.join()
    assert found == before


@pytest.mark.parametrize("work", [0, LEAST_FOR_BLAS, LEAST_FOR_BLAS + 1, WORTH_WAKING])
def test_only_work_between_the_limits_is_kept_to_one_thread(before, work):
    with threads_worth(work):
        kept = LEAST_FOR_BLAS < work < WORTH_WAKING
        assert blas_threads() == ([1] * len(before) if kept else before)
    assert blas_threads() == before
