"""Leading directions of many outputs by a range finder: against those of the whole ``K_YY``."""

from __future__ import annotations

import dask.array
import dask.dataframe as dd
import numpy as np
import pandas as pd
import pytest
import scipy.linalg
import scipy.sparse as sp
from agreement import Agreement, check, quietly
from numpy.testing import assert_allclose
from paper import paper_form
from spectra import SPECTRA, draw_outputs, sparse_labels
from variants import slow

from projse import PAPER, Moments, ProjSe, StabilityProjSe, permutation_test
from projse.kernels.linear_gram import gram_of
from projse.kernels.many_outputs import MANY_OUTPUTS, settled_rank, sketched_directions
from projse.kernels.range_finder import find_range, leading_directions
from projse.moments.through import moments_through, pass_over
from projse.sources.rows import make_rows

FORMS = [{}, dict(PAPER), {"alpha": 0.3, "redundancy": 0.0}]


def kernel_matrix(Y, weight=None, covariates=None):
    """``K_YY`` by its definition."""
    w = np.ones(len(Y)) if weight is None else weight
    Z = np.ones((len(Y), 1)) if covariates is None else np.c_[np.ones(len(Y)), covariates]
    root = np.sqrt(w)[:, None]
    Q = scipy.linalg.orth(root * Z)
    R = root * Y
    R = R - Q @ (Q.T @ R)
    norms = np.linalg.norm(R, axis=0)
    live = norms > 1e-9 * np.linalg.norm(root * Y, axis=0)
    U = np.divide(R, norms, out=np.zeros_like(R), where=live)
    return U.T @ U


def sketched_values(X, Y, size, n_iter=0, weight=None):
    rows = make_rows(X, Y, weight)
    sketch = find_range(pass_over(rows), size, center=True, n_iter=n_iter)
    leading = leading_directions(moments_through(rows, sketch.through), center=True)
    return sketch, leading.spectrum**2


def pair(rank, form=None, **more):
    """Selectors that go by all directions of K_YY, and by a sketch of the leading ones."""
    form = {} if form is None else form
    return [
        ProjSe(10, **{**form, "rank": rank, "solver": solver, **more})
        for solver in ("gram", "sketch")
    ]


@pytest.mark.parametrize("spectrum", [*SPECTRA, "flat"])
@pytest.mark.parametrize("n_iter", [0, 2])
def test_eigenvalues_are_below_the_true_ones_and_close_where_they_decay(seed, spectrum, n_iter):
    X, Y = draw_outputs(np.random.default_rng([seed, 1]), spectrum)
    true = np.linalg.eigvalsh(kernel_matrix(Y))[::-1]
    _, values = sketched_values(X, Y, 22, n_iter)
    true = true[: len(values)]
    assert np.all(values <= true * (1 + 1e-9))
    # All 18 factors are within the 22 directions; what is left is noise.
    assert np.all(values[:18] >= true[:18] * (1 - (1e-3 if n_iter else 0.05)))


def test_one_output_on_a_single_row_is_enough_to_be_told(seed):
    rng = np.random.default_rng([seed, 2])
    X, Y = rng.normal(size=(200, 4)), rng.normal(size=(200, 30))
    assert not find_range(pass_over(make_rows(X, Y)), 5, center=True).rare
    Y[7, 11] = 1e6
    assert find_range(pass_over(make_rows(X, Y)), 5, center=True).rare


@pytest.mark.parametrize("spectrum", SPECTRA)
@pytest.mark.parametrize("center", [True, False])
def test_leading_directions_are_orthonormal(seed, spectrum, center):
    X, Y = draw_outputs(np.random.default_rng([seed, 3]), spectrum)
    rows = make_rows(X, Y)
    sketch = find_range(pass_over(rows), 6, center=center)
    leading = leading_directions(moments_through(rows, sketch.through), center)
    products = gram_of(leading.moments, center).yy
    assert_allclose(products, np.eye(len(products)), atol=1e-9)


@pytest.mark.parametrize("n_iter", [0, 1, 3])
def test_the_error_of_a_direction_falls_with_the_ratio_of_eigenvalues(seed, n_iter):
    """A direction is found but for (λ_next / λ)^(2 + 2 n_iter), up to a factor that is no rate."""
    rng = np.random.default_rng([seed, 2])
    m, q, size = 400, 100, 20
    strength = 0.75 ** np.arange(40)
    factors = np.linalg.qr(rng.normal(size=(m, 40)))[0]
    Y = (factors * strength) @ np.linalg.qr(rng.normal(size=(q, 40)))[0].T
    true, vectors = np.linalg.eigh(kernel_matrix(Y))
    true, vectors = true[::-1], vectors[:, ::-1]
    sketch, _ = sketched_values(np.eye(m)[:, :2], Y, size, n_iter)
    norms = np.linalg.norm(Y - Y.mean(axis=0), axis=0)
    V = scipy.linalg.orth(sketch.through.T * norms[:, None])
    missed = 1 - np.sum((V.T @ vectors[:, :10]) ** 2, axis=0)
    bound = 100 * size * (true[size] / true[:10]) ** (2 + 2 * n_iter)
    assert np.all(missed <= np.maximum(bound, 1e-10))


@pytest.mark.parametrize("form", FORMS, ids=["default", "paper", "hard"])
@pytest.mark.parametrize("center", [True, False])
def test_all_directions_of_deficient_outputs_give_the_exact_answer(seed, form, center):
    """With as many directions as the outputs have, a sketch leaves nothing out."""
    X, Y = draw_outputs(np.random.default_rng([seed, 3]), "deficient")
    Y = Y + 0.5
    exact, sketch = (quietly(s.fit, X, Y) for s in pair(18, form, center=center))
    assert sketch.reference_rank_ == exact.reference_rank_ == 18
    check(sketch, exact, near=1e-6, rtol=1e-6, atol=1e-7)
    np.testing.assert_allclose(sketch.pvalues_, exact.pvalues_, rtol=1e-4, atol=1e-12)
    np.testing.assert_allclose(sketch.alpha_, exact.alpha_)


@pytest.mark.parametrize("spectrum", SPECTRA)
@pytest.mark.parametrize("form", [FORMS[0], *slow(*FORMS[1:])], ids=["default", "paper", "hard"])
def test_power_iterations_lead_to_the_exact_leading_directions(seed, spectrum, form):
    rng = np.random.default_rng([seed, 4])
    agreement = Agreement(near=1e-2, rtol=1e-2, atol=1e-3)
    for _ in range(3):
        X, Y = draw_outputs(rng, spectrum)
        exact, sketch = pair(12, form, iterated_power=4)
        agreement.check(quietly(sketch.fit, X, Y), quietly(exact.fit, X, Y), spectrum)
    agreement.assert_mostly_full(0.6)


def test_one_pass_picks_what_the_exact_directions_pick_where_the_spectrum_decays(seed):
    rng = np.random.default_rng([seed, 5])
    shared = total = 0
    for _ in range(10):
        X, Y = draw_outputs(rng, "decaying")
        exact, sketch = (s.fit(X, Y) for s in pair(15))
        shared += len({*exact.selected_} & {*sketch.selected_})
        total += len(exact.selected_)
    assert shared >= 0.9 * total


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("make", [np.asarray, sp.csr_array], ids=["dense", "sparse"])
def test_weights_and_covariates_count_as_in_the_whole_matrix(seed, weighted, make):
    rng = np.random.default_rng([seed, 6])
    X, Y = draw_outputs(rng, "deficient")
    Z = Y[:, [3]] + rng.normal(size=(len(Y), 2))
    Z[:, 1] = X[:, 0] + rng.normal(size=len(Y))
    w = rng.integers(0, 3, len(Y)).astype(float) if weighted else None
    exact, sketch = (s.fit(X, make(Y), w, Z) for s in pair(20))
    check(sketch, exact, near=1e-6, rtol=1e-6, atol=1e-7)
    np.testing.assert_allclose(sketch.pvalues_, exact.pvalues_, rtol=1e-4, atol=1e-12)


def test_rows_of_weight_zero_may_hold_anything(seed):
    rng = np.random.default_rng([seed, 7])
    X, Y = draw_outputs(rng, "decaying")
    w = np.ones(len(Y))
    w[:7], Y[:7], X[3] = 0.0, np.nan, np.inf
    sketch = ProjSe(8, rank=12, solver="sketch").fit(X, Y, w)
    check(sketch, ProjSe(8, rank=12, solver="sketch").fit(X[7:], Y[7:]))


@pytest.mark.parametrize("shift", [0.0, 1e5])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_means_far_from_zero_and_float32(seed, shift, dtype):
    rng = np.random.default_rng([seed, 8])
    X, Y = draw_outputs(rng, "steps")
    Y = (Y / Y.std(axis=0) + shift).astype(dtype)  # of float32, rounded to 1/128
    plain, sketch = pair(12, iterated_power=2)
    agreement = Agreement(near=0.05, rtol=0.05, atol=0.01)
    agreement.check(sketch.fit(X.astype(dtype), Y), plain.fit(X, Y.astype(np.float64)))


@pytest.mark.parametrize("length", [1.0, 1e-3, 1e3])
@pytest.mark.parametrize("share", [1e-6, 1e-5])
def test_combinations_shorter_than_the_rounding_of_the_longest_are_no_directions(
    seed, share, length
):
    """Combinations of float32 outputs are made in float32; known is what is 16 times its eps."""
    rng = np.random.default_rng([seed, 14])
    A = rng.normal(size=(80, 4))
    basis = scipy.linalg.orth(A - A.mean(axis=0))
    V = length * basis * [1.0, 0.5, share, share]
    moments = Moments.from_arrays(np.eye(80)[:, :2], V)
    moments.y_roundoff = float(np.finfo(np.float32).eps)
    found = leading_directions(moments, center=True, off=np.zeros((4, 4))).spectrum
    known = [1.0, 0.5] if share == 1e-6 else [1.0, 0.5, share, share]
    np.testing.assert_allclose(found, length * np.array(known), rtol=1e-2)


@pytest.mark.parametrize("weighted", [False, True])
def test_a_combination_is_off_by_what_storing_its_outputs_left_off(seed, weighted):
    """Each output is known to its eps of what was stored, of which a large mean is the most."""
    rng = np.random.default_rng([seed, 15])
    X, Y = rng.normal(size=(50, 2)), rng.normal(size=(50, 12)) + rng.uniform(-1e3, 1e3, size=12)
    w = rng.uniform(0.5, 2.0, size=50) if weighted else np.ones(50)
    assert find_range(pass_over(make_rows(X, Y, w)), 4, center=True).off is None
    Y = Y.astype(np.float32)
    sketch = find_range(pass_over(make_rows(X, Y, w)), 4, center=True)
    stored = np.sqrt(w @ Y.astype(float) ** 2)
    norms = np.sqrt(w @ (Y - np.average(Y.astype(float), axis=0, weights=w)) ** 2)
    V = sketch.through.T * norms[:, None]
    np.testing.assert_allclose(V.T @ V, np.eye(4), atol=1e-5)
    rounding = np.finfo(np.float32).eps * stored / norms
    np.testing.assert_allclose(sketch.off, (V.T * rounding**2) @ V, rtol=1e-3, atol=1e-14)


@pytest.mark.parametrize("tol", [1e-3, 0.05])
def test_tol_cuts_directions_of_a_sketch_as_those_of_the_whole_matrix(seed, tol):
    X, Y = draw_outputs(np.random.default_rng([seed, 13]), "decaying")
    true = np.linalg.eigvalsh(kernel_matrix(Y))[::-1]
    _, sketch = pair(16, tol=tol, iterated_power=3)
    rank = quietly(sketch.fit, X, Y).reference_rank_
    # But for a direction right at the cut.
    low, high = ((true > tol * (1 + s) * true[0]).sum() for s in (0.01, -0.01))
    assert min(low, 16) <= rank <= min(high, 16)


def test_sparse_labels_are_sketched_as_dense_ones(seed):
    X, Y = sparse_labels(np.random.default_rng([seed, 9]))
    _, sketch = pair(20)
    dense, sparse = sketch.fit(X, Y), ProjSe(**sketch.get_params()).fit(X, sp.csc_array(Y))
    check(sparse, dense)
    assert {*dense.selected_[:5]} <= {*range(6)}


def test_the_same_fit_twice_is_the_same_to_the_last_bit():
    X, Y = draw_outputs(np.random.default_rng(0), "flat")
    one, two = (ProjSe(8, rank=10, solver="sketch", n_jobs=n).fit(X, Y) for n in (1, 2))
    assert one.selected_.tolist() == two.selected_.tolist()
    assert one.scores_.tolist() == two.scores_.tolist()


def test_outputs_of_other_scales_give_the_same_sketch(seed):
    rng = np.random.default_rng([seed, 10])
    X, Y = draw_outputs(rng, "decaying")
    _, sketch = pair(12)
    want = sketch.fit(X, Y)
    scaled = Y * 10.0 ** rng.uniform(-3, 3, Y.shape[1])
    check(ProjSe(**sketch.get_params()).fit(X, scaled), want)


@pytest.mark.slow
def test_p_values_of_candidates_unrelated_to_many_outputs_are_uniform(seed):
    """The directions depend on the outputs alone, so that candidates know nothing of them."""
    rng = np.random.default_rng([seed, 11])
    below = 0
    for _ in range(200):
        Y = rng.normal(size=(60, 8)) @ rng.normal(size=(8, 40)) + rng.normal(size=(60, 40))
        X = rng.normal(size=(60, 5))
        below += ProjSe(1, rank=4, solver="sketch").fit(X, Y).pvalues_[0] < 0.2
    assert 20 <= below <= 62  # 40 expected, 5.7 standard deviation


def test_groups_stand_ins_table_and_auto_work_with_a_sketch():
    rng = np.random.default_rng(3)
    X, Y = draw_outputs(rng, "decaying")
    groups = np.arange(X.shape[1]) // 2
    exact, sketch = (s.fit(X, Y) for s in pair(18, groups=groups, iterated_power=3))
    agreement = Agreement(near=1e-2, rtol=1e-2, atol=1e-3)
    agreement.check(sketch, exact)
    wide = np.hstack([X, rng.normal(size=(len(X), 30))])
    sketch = ProjSe("auto", rank=12, solver="sketch").fit(wide, Y)
    assert 0 < len(sketch.selected_) < wide.shape[1]
    assert len(sketch.table(stand_ins=2)) == len(sketch.selected_)
    assert not hasattr(sketch, "moments_")
    with pytest.raises(AttributeError, match="leading directions of 120 outputs"):
        sketch.explained_  # noqa: B018
    with pytest.raises(ValueError, match="solver='sketch' goes over rows"):
        sketch.partial_fit(wide, Y)
    with pytest.raises(ValueError, match="kept no moments"):
        sketch.set_params(solver="auto").partial_fit(wide, Y)


def test_resamples_and_permutations_of_a_sketch():
    rng = np.random.default_rng(4)
    X, Y = draw_outputs(rng, "decaying", m=120)
    selector = ProjSe(5, rank=8, solver="sketch")
    stable = StabilityProjSe(selector, n_resamples=10, random_state=0).fit(X, Y)
    assert stable.selection_frequencies_.sum() == pytest.approx(5)
    test = permutation_test(selector, X, Y, n_permutations=49, random_state=0)
    assert test.pvalues[0] == pytest.approx(0.02)
    Z = rng.normal(size=(len(X), 2))
    given = permutation_test(selector, X, Y, n_permutations=19, random_state=0, covariates=Z)
    assert given.pvalues[0] == pytest.approx(0.05)


def test_which_fits_are_sketched():
    many = MANY_OUTPUTS + 1
    plain = {"linear": True}
    assert sketched_directions(100, many, **plain) == 110
    assert sketched_directions(100, MANY_OUTPUTS, **plain) is None
    assert sketched_directions("auto", many, **plain) == 266
    assert sketched_directions(None, 10 * many, **plain) is None
    assert sketched_directions(0.9, 10 * many, **plain) is None
    assert sketched_directions(1000, many, **plain) is None  # half of all directions
    assert sketched_directions(100, many, linear=False) is None
    assert sketched_directions(100, many, linear=True, solver="gram") is None
    assert sketched_directions(100, many, linear=True, dimension=50) is None
    assert sketched_directions("auto", 100, linear=True, solver="sketch") == 100
    assert sketched_directions("auto", many, linear=True, solver="sketch") == 266
    assert settled_rank("auto", MANY_OUTPUTS) is None
    assert settled_rank("auto", many) == 256
    assert settled_rank(7, many) == 7


@pytest.mark.parametrize(
    ("parameters", "match"),
    [
        ({"rank": None}, "a number of directions; rank=None"),
        ({"rank": 0.5}, "a number of directions; rank=0.5"),
        ({"rank": 3, "kernel": "rbf"}, "the linear kernel"),
    ],
)
def test_a_sketch_that_cannot_be_is_refused_in_words(parameters, match):
    X, Y = draw_outputs(np.random.default_rng(5), "decaying")
    with pytest.raises(ValueError, match=match):
        ProjSe(3, solver="sketch", **parameters).fit(X, Y)
    with pytest.raises(ValueError, match="no class labels"):
        ProjSe(3, rank=2, solver="sketch").fit(X, np.arange(len(X)) % 3)


def test_auto_takes_all_directions_of_few_outputs_and_the_leading_ones_of_many():
    rng = np.random.default_rng(6)
    X, Y = draw_outputs(rng, "decaying")
    check(paper_form(5, rank="auto").fit(X, Y), paper_form(5).fit(X, Y))
    check(ProjSe(5, rank="auto").fit(X, Y), ProjSe(5).fit(X, Y))
    one_view = ProjSe(5, rank="auto").fit(X)
    check(one_view, ProjSe(5).fit(X))


@pytest.mark.slow
@pytest.mark.parametrize("rank", ["auto", 100])
def test_many_outputs_are_sketched_and_agree_with_the_exact_fit(rank):
    rng = np.random.default_rng(7)
    X, Y = draw_outputs(rng, "decaying", m=2500, q=2100)
    sketch = ProjSe(15, rank=rank).fit(X, Y)
    assert not hasattr(sketch, "moments_")
    exact = ProjSe(15, rank=256 if rank == "auto" else rank, solver="gram").fit(X, Y)
    assert len({*sketch.selected_} & {*exact.selected_}) >= 14


@pytest.mark.slow
def test_more_outputs_than_any_matrix_holds(seed):
    """40 000 labels: without rank the refusal says what to do; with it they are selected from."""
    rng = np.random.default_rng([seed, 12])
    m, q = 300, 40_000
    topics = rng.integers(4, size=m)
    columns = (rng.integers(q // 4, size=(m, 6)) % 40) * 4 + topics[:, None]
    Y = sp.csr_array((np.ones(m * 6), columns.ravel(), np.arange(0, 6 * m + 1, 6)), shape=(m, q))
    X = rng.normal(size=(m, 12))
    X[:, :4] += 3 * (topics[:, None] == np.arange(4))
    with pytest.raises(ValueError, match=r"y has 40000 columns.*13 GB.*rank='auto'"):
        ProjSe(3).fit(X, Y)
    for rank in (10, "auto"):
        found = ProjSe(3, rank=rank).fit(X, Y)
        assert {*found.selected_} < {*range(4)}
    with pytest.raises(ValueError, match="y has 40000 columns"):
        ProjSe(3, rank=0.5).fit(X, Y)


def test_more_directions_than_outputs_are_refused():
    X, Y = draw_outputs(np.random.default_rng(6), "decaying")
    with pytest.raises(ValueError, match=f"y has 5 columns, and {6} directions"):
        find_range(pass_over(make_rows(X, Y[:, :5], None)), 6, center=True)


def test_rows_that_change_between_passes_are_refused():
    X, Y = draw_outputs(np.random.default_rng(7), "decaying")
    passes = iter([pass_over(make_rows(X, Y, None)), pass_over(make_rows(X[1:], Y[1:], None))])
    with pytest.raises(ValueError, match="The rows changed between two passes"):
        find_range(lambda through: next(passes)(through), 5, center=True)


def test_a_gap_in_many_outputs_is_named_as_one_of_y():
    X, Y = draw_outputs(np.random.default_rng(8), "decaying")
    Y[5, 17] = np.nan
    with pytest.raises(ValueError, match="Input y contains NaN or infinity, in column 17"):
        ProjSe(3, rank=5, solver="sketch").fit(X, Y)


def test_outputs_that_are_all_constant_are_refused():
    X, Y = draw_outputs(np.random.default_rng(9), "decaying")
    with pytest.raises(ValueError, match="All columns of y are constant"):
        ProjSe(3, rank=5, solver="sketch").fit(X, np.ones_like(Y))


FEW = {"solver": "sketch", "rank": 10}


def as_file(tmp_path, X, Y, Z=None):
    frame = pd.DataFrame(X).add_prefix("x").join(pd.DataFrame(Y).add_prefix("y"))
    if Z is not None:
        frame = frame.join(pd.DataFrame(Z).add_prefix("z"))
    frame.to_parquet(tmp_path / "rows.parquet")
    return str(tmp_path / "rows.parquet")


def test_outputs_that_covariates_explain_are_refused_in_words(seed, tmp_path):
    rng = np.random.default_rng([seed, 30])
    X, Z = rng.normal(size=(90, 6)), rng.normal(size=(90, 3))
    Y = Z @ rng.normal(size=(3, 40))
    source = as_file(tmp_path, X, Y, Z)
    for fit in (
        lambda: ProjSe(2, **FEW).fit(X, Y, covariates=Z),
        lambda: ProjSe(2, **FEW).fit_source(source, targets="y*", covariates=["z0", "z1", "z2"]),
        lambda: permutation_test(ProjSe(2, **FEW), X, Y, n_permutations=5, covariates=Z),
    ):
        with pytest.raises(ValueError, match="explained wholly by the covariates"):
            fit()
    with pytest.raises(ValueError, match="No resample selected anything"):
        StabilityProjSe(ProjSe(2, **FEW), n_resamples=4).fit(X, Y, covariates=Z)


@pytest.mark.parametrize("n_outputs", [3, 40, 290])
def test_the_number_of_directions_is_the_same_everywhere(seed, tmp_path, n_outputs):
    rng = np.random.default_rng([seed, 31])
    X, Y = rng.normal(size=(300, 6)), rng.normal(size=(300, n_outputs))
    model = ProjSe(3, solver="sketch", rank="auto")
    parts = [dask.array.from_array(A, chunks=(100, A.shape[1])) for A in (X, Y)]
    fits = [
        model.fit(X, Y).reference_rank_,
        model.fit_source(as_file(tmp_path, X, Y), targets="y*").reference_rank_,
        model.fit(*parts).reference_rank_,
        ProjSe(3, solver="sketch", rank=min(n_outputs, 256)).fit(X, Y).reference_rank_,
    ]
    assert fits == [min(n_outputs, 256)] * 4


@pytest.mark.parametrize("sparse", [False, True])
def test_outputs_that_are_too_large_are_called_y(seed, tmp_path, sparse):
    rng = np.random.default_rng([seed, 32])
    X, Y = rng.normal(size=(60, 4)), rng.normal(size=(60, 30))
    Y[:, 3] *= 1e200
    with pytest.raises(ValueError, match=r"^Column 3 of y holds values so large"):
        ProjSe(2, **FEW).fit(X, sp.csr_array(Y) if sparse else Y)
    with pytest.raises(ValueError, match=r"Column 'y3' of y holds values so large"):
        ProjSe(2, **FEW).fit_source(as_file(tmp_path, X, Y), targets="y*")


@pytest.mark.parametrize(
    ("size", "where"),
    [(1e200, "memory"), (1e200, "file"), (1e200, "Dask"), (1e-200, "file"), (1e-200, "Dask")],
)
def test_an_output_is_called_by_its_name_whatever_that_holds(seed, tmp_path, size, where):
    rng = np.random.default_rng([seed, 34])
    Y = pd.DataFrame(rng.normal(size=(60, 30)), columns=[f"dose of X in {j}" for j in range(30)])
    X = pd.DataFrame(rng.normal(size=(60, 4)), columns=list("abcd"))
    name = "dose of X in 3"
    Y[name] *= size
    fit = {
        "memory": lambda: ProjSe(2, **FEW).fit(X, Y),
        "file": lambda: ProjSe(2, **FEW).fit_source(tmp_path / "t.parquet", targets="dose*"),
        "Dask": lambda: ProjSe(2, **FEW).fit(*(dd.from_pandas(f, npartitions=2) for f in (X, Y))),
    }[where]
    X.join(Y).to_parquet(tmp_path / "t.parquet")
    with pytest.raises(ValueError, match=f"Column '{name}' of y (holds values so|is not const)"):
        fit()


def test_an_output_that_is_too_large_in_all_rows_only_is_called_y(seed):
    rng = np.random.default_rng([seed, 35])
    X, Y = rng.normal(size=(60, 4)), rng.normal(size=(60, 30))
    Y[:, 3] = np.where(np.arange(60) % 2, 2e153, -2e153)  # squares of a half are below 1e308
    parts = [dask.array.from_array(A, (30, A.shape[1])) for A in (X, Y)]
    with pytest.raises(ValueError, match=r"Column 3 of y holds values so large"):
        ProjSe(2, **FEW).fit(*parts)


def test_outputs_that_are_too_small_are_called_y(seed, tmp_path):
    rng = np.random.default_rng([seed, 33])
    X, Y = rng.normal(size=(60, 4)), rng.normal(size=(60, 30))
    Y[:, 3] *= 1e-200
    with pytest.raises(ValueError, match=r"Column 'y3' of y is not constant, but"):
        ProjSe(2, **FEW).fit_source(as_file(tmp_path, X, Y), targets="y*")
