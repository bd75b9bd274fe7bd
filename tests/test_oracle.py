"""ProjSe against literal evaluations: explicit projectors, pivoted QR, kernels on rows."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.linalg
import scipy.sparse as sp
from agreement import ONE_VIEW, ROUTES, Agreement, fit

import projse.kernels.feature_gram
import projse.kernels.gram
import projse.moments.accumulate
import projse.moments.in_memory
import projse.search.coordinates
import projse.search.deflation
import projse.search.greedy
from projse import ProjSe, subspace_correlation
from projse.projectors import Projector, select_by_projectors

# Problems


def draw(rng, family):
    """Candidates and references: correlated, with means, in half of the cases mostly zero."""
    fat = family.startswith("fat")
    m, p, q = rng.integers(8, 13) if fat else rng.integers(30, 80), rng.integers(5, 16), 4
    if fat:
        p, q = rng.integers(15, 30), rng.integers(14, 20)
    X = rng.normal(size=(m, p)) * rng.uniform(0.1, 10, p) + rng.normal(size=p)
    if rng.random() < 0.5:
        X *= rng.random(X.shape) < 0.4
        X[:2] += rng.normal(size=(2, p))
    mix = rng.normal(size=(p, q)) * (rng.random((p, q)) < 0.5)
    Y = X @ mix + rng.normal(size=(m, q)) * rng.uniform(0.5, 5, q) + rng.normal(size=q)
    if family.endswith("deficient"):
        Y = Y[:, :3] @ rng.normal(size=(3, q + 2))
    elif family == "duplicates":
        X = np.concatenate([X, X[:, rng.permutation(p)[:4]]], axis=1)
        Y = np.concatenate([Y, -2 * Y[:, :1], Y[:, 1:2]], axis=1)
    elif family == "one output":
        Y = Y[:, :1]
    elif family == "same":
        Y = X.copy()
    elif family == "constants":
        X[:, rng.permutation(p)[:2]] = 0.1, 0.0
        Y[:, 1:3] = 1e6 / 3, 0.0
    return X, Y


FAMILIES = ["tall", "fat", "deficient", "fat deficient", "duplicates", "one output"]
FAMILIES += ["same", "constants"]


def by_all_routes(X, Y, family, center):
    """Fit by every route, and by those for one view where Y is X."""
    views = [(ROUTES, Y)] + ([(ONE_VIEW, None)] if family == "same" else [])
    for names, reference in views:
        for name in names:
            selector = ProjSe(X.shape[1], center=center, exhausted="stop")
            yield f"{name}, {family}", ROUTES[name](selector, X, reference)


def by_fit(X, Y, route="auto", **parameters):
    return ROUTES[route](ProjSe(X.shape[1], exhausted="stop", **parameters), X, Y)


def pivoted_qr(X, Y, center):
    """Picks and scores by LAPACK's pivoted QR of the coordinates."""
    if center:
        X, Y = X - X.mean(axis=0), Y - Y.mean(axis=0)
    U, s, _ = np.linalg.svd(Y / np.linalg.norm(Y, axis=0), full_matrices=False)
    R = U[:, s > 1e-10 * s[0]].T @ (X / np.linalg.norm(X, axis=0))
    _, triangle, pivots = scipy.linalg.qr(R, mode="economic", pivoting=True)
    scores = np.diag(triangle) ** 2
    return pivots[: len(scores)], scores


# Linear


@pytest.mark.parametrize("center", [True, False])
@pytest.mark.parametrize("family", FAMILIES)
def test_every_route_equals_explicit_projectors(seed, family, center):
    rng = np.random.default_rng(seed)
    agreement = Agreement()
    for _ in range(10):
        X, Y = draw(rng, family)
        want = select_by_projectors(X, Y, X.shape[1], center=center)
        for route, got in by_all_routes(X, Y, family, center):
            agreement.check(got, want, route)
    agreement.assert_mostly_full(0.98)


@pytest.mark.parametrize("center", [True, False])
@pytest.mark.parametrize("family", ["tall", "deficient", "fat deficient", "one output"])
def test_selection_is_pivoted_qr_of_the_coordinates(seed, family, center):
    rng = np.random.default_rng([seed, 1])
    agreement = Agreement(near=1e-6)  # LAPACK downdates norms to 1e-8 before it recomputes them
    for _ in range(40):
        X, Y = draw(rng, family)
        X += 1e-3 * rng.normal(size=X.shape)
        agreement.check(by_fit(X, Y, center=center), pivoted_qr(X, Y, center), family)
    agreement.assert_mostly_full(0.95)


def narrow_tiles(monkeypatch):
    """Cut everything into a few columns at a time."""
    monkeypatch.setattr(projse.moments.accumulate, "TILE_COLUMNS", 3)
    monkeypatch.setattr(projse.kernels.feature_gram, "TILE", 3)
    if isinstance((projse.kernels.feature_gram.tiles.__defaults__ or (None,))[-1], int):
        monkeypatch.setattr(projse.kernels.feature_gram.tiles, "__defaults__", (3,))


def lazy_search(monkeypatch):
    """Keep exact scores for the best few candidates only."""
    monkeypatch.setattr(projse.search.deflation, "LAZY_CANDIDATES", 4)
    monkeypatch.setattr(projse.search.deflation, "LAZY_CHOLESKY", 4)
    monkeypatch.setattr(projse.search.greedy, "ACTIVE_SHARE", 4)


PATHS = {
    "lazy search": lazy_search,
    "implicit": lambda mp: mp.setattr(projse.search.coordinates, "DENSE_ELEMENTS", 0),
    "sparse moments": lambda mp: mp.setattr(projse.moments.in_memory, "SPARSE_YX_ELEMENTS", 0),
    "tiles": narrow_tiles,
    "small batches": lambda mp: mp.setattr(projse.moments.accumulate, "BATCH_BYTES", 64),
    "passes for K_XX": lambda mp: mp.setattr(projse.kernels.gram, "COPY_ELEMENTS", 0),
}
PATHS["all"] = lambda mp: [PATHS[name](mp) for name in list(PATHS)[:-1]]


@pytest.mark.parametrize("path", PATHS)
def test_other_paths_equal_explicit_projectors(seed, path, monkeypatch):
    rng = np.random.default_rng([seed, 2])
    PATHS[path](monkeypatch)
    agreement = Agreement()
    for family in FAMILIES:
        for center in (True, False):
            X, Y = draw(rng, family)
            want = select_by_projectors(X, Y, X.shape[1], center=center)
            for route, got in by_all_routes(X, Y, family, center):
                agreement.check(got, want, route)
    agreement.assert_mostly_full(0.98)


@pytest.mark.parametrize("small", [1e-5, 1e-9, 1e-11])
def test_references_that_a_gram_matrix_loses(seed, small):
    """Y holds a direction of relative size `small`; a Gram matrix keeps its square."""
    rng = np.random.default_rng([seed, 3])
    agreement = Agreement(near=1e-3, rtol=1e-3, atol=1e-4)
    for _ in range(10):
        X = rng.normal(size=(60, 10))
        Y = X[:, [2, 5, 7]] * [1, 0.8, 0.6] + rng.normal(size=(60, 3)) * [0.3, 0.5, 0.7]
        Y[:, 2] = Y[:, 0] + Y[:, 1] + small * Y[:, 2]
        want = select_by_projectors(X, Y, 10)
        assert len(want[0]) == 3
        for solver in ("auto", "qr"):
            agreement.check(by_fit(X, Y, solver=solver), want, solver)
    agreement.assert_mostly_full(0.8)


# Kernels


def columns(A, center, scale):
    """Columns as the kernel sees them; a column that is constant is left out by its index."""
    A = A - A.mean(axis=0) if center else A.copy()
    norms = np.linalg.norm(A, axis=0)
    live = np.flatnonzero(norms > 1e-9)
    return (A[:, live] / norms[live] if scale else A[:, live]), live


def distances(A, B):
    return np.sqrt(((A[:, :, None] - B[:, None, :]) ** 2).sum(axis=0))


def kernel_function(X, Y, kernel="linear", degree=3, coef0=0.0, gamma="mean_distance"):
    if callable(kernel):
        return kernel
    if kernel == "linear":
        return lambda A, B: A.T @ B
    if kernel == "poly":
        return lambda A, B: (A.T @ B + coef0) ** degree
    if gamma == "mean_distance":
        q = Y.shape[1]
        sigma = distances(Y, Y).sum() / (q * (q - 1)) if q > 1 else distances(Y, X).mean()
        gamma = 1 / (2 * sigma**2)
    return lambda A, B: np.exp(-gamma * distances(A, B) ** 2)


def literal(
    X, Y, *, center=True, scale=True, center_kernel=False, alpha=0.0, rank=None, tol=None, **kernel
):
    """Select by the definition: kernels from rows, a basis of Y's span, P_t written out in full."""
    (X, x_live), (Y, _) = columns(X, center, scale), columns(Y, center, scale)
    kappa = kernel_function(X, Y, **kernel)
    K_yy, K_yx, K_xx = kappa(Y, Y), kappa(Y, X), kappa(X, X)
    K_yx = K_yx / np.sqrt(np.outer(np.diag(K_yy), np.diag(K_xx)))
    K_yy, K_xx = (K / np.sqrt(np.outer(np.diag(K), np.diag(K))) for K in (K_yy, K_xx))
    if center_kernel:
        H_y, H_x = (np.eye(len(K)) - 1 / len(K) for K in (K_yy, K_xx))
        K_yy, K_yx, K_xx = H_y @ K_yy @ H_y, H_y @ K_yx @ H_x, H_x @ K_xx @ H_x
        dy, dx = np.sqrt(np.diag(K_yy)), np.sqrt(np.diag(K_xx))
        K_yy, K_yx = K_yy / np.outer(dy, dy), K_yx / np.outer(dy, dx)
    V, s, _ = np.linalg.svd(K_yy, hermitian=True)
    kept = s > s[0] * (1e-12 if tol is None else tol)
    if isinstance(rank, float):
        kept &= np.cumsum(s) - s < rank * s.sum()
    elif rank is not None:
        kept[rank:] = False
    R = (V[:, kept] / np.sqrt(s[kept] + alpha)).T @ K_yx
    if not alpha and rank is None and tol is None:
        inverse = np.linalg.pinv(K_yy, rcond=1e-12, hermitian=True)
        np.testing.assert_allclose((R**2).sum(axis=0), np.diag(K_yx.T @ inverse @ K_yx), atol=1e-9)
    P = np.eye(len(R))
    picks, scores, left = [], [], np.ones(R.shape[1], dtype=bool)
    while len(picks) < len(R) and left.any():
        score = np.where(left, ((P @ R) ** 2).sum(axis=0), -1.0)
        j = int(np.flatnonzero(score >= score.max() * (1 - 1e-10))[0])
        if score[j] < 1e-20:
            break
        picks.append(x_live[j])
        scores.append(score[j])
        left[j] = False
        shadow = P @ R[:, j]
        P = P - np.outer(shadow, shadow) / (R[:, j] @ shadow)
    return np.array(picks), np.array(scores)


def exponential(A, B):
    return np.exp(A.T @ B)


KERNELS = [{"kernel": "linear"}, {"kernel": exponential}]
KERNELS += [{"kernel": "poly", "degree": d, "coef0": c} for d in (1, 2, 3, 5) for c in (0.0, 1.0)]
KERNELS += [{"kernel": "rbf", "gamma": 0.7}, {"kernel": "rbf"}]
KERNEL_ROUTES = ["auto", "moments", "batches"]
VARIANTS = [{}, {"center_kernel": True}, {"scale": False}, {"center": False}, {"alpha": 0.3}]
VARIANTS += [{"rank": 2}, {"rank": 0.7}, {"tol": 0.4}, {"alpha": 0.1, "rank": 3}]


def kernel_problem(rng, m=25):
    X, Y = rng.normal(size=(m, 12)) * 0.4, rng.normal(size=(m, 5)) * 0.4
    Y += X[:, :5] * rng.uniform(0.5, 2, 5) + 0.2
    X[:, 10] = 3.0  # constant
    X[:, 11] = X[:, 1]
    return X + 0.1, Y


def name(parameters):
    kernel = parameters.get("kernel", "")
    rest = [f"{k}={v}" for k, v in parameters.items() if k != "kernel"]
    return " ".join([getattr(kernel, "__name__", kernel), *rest]).strip() or "plain"


@pytest.mark.parametrize("kernel", KERNELS, ids=name)
def test_kernels_equal_their_definition(seed, kernel):
    rng = np.random.default_rng([seed, 4])
    agreement = Agreement()
    for variant in VARIANTS:
        for Y_columns in (5, 5, 1):
            if variant.get("center_kernel") and Y_columns == 1:
                continue  # one variable, centred over variables, is nothing
            X, Y = kernel_problem(rng)
            parameters = {**kernel, **variant}
            want = literal(X, Y[:, :Y_columns], **parameters)
            for route in ["auto"] if callable(kernel["kernel"]) else KERNEL_ROUTES:
                got = by_fit(X, Y[:, :Y_columns], route, **parameters)
                agreement.check(got, want, f"{route}, {name(parameters)}")
    agreement.assert_mostly_full(0.95)


@pytest.mark.parametrize("variant", VARIANTS, ids=name)
@pytest.mark.parametrize("kernel", KERNELS, ids=name)
def test_one_view_kernels_equal_their_definition(seed, kernel, variant):
    rng = np.random.default_rng([seed, 5])
    agreement = Agreement(noise=1e-9)
    parameters = {**kernel, **variant}
    for m in (40, 9):
        X, _ = kernel_problem(rng, m)
        want = literal(X, X, **parameters)
        for route in ["auto"] if callable(kernel["kernel"]) else KERNEL_ROUTES:
            got = by_fit(X, None, route, **parameters)
            agreement.check(got, want, f"{route}, {name(parameters)}")
    agreement.assert_mostly_full(0.5)


@pytest.mark.parametrize("solver", ["gram", "qr"])
@pytest.mark.parametrize("variant", [{"alpha": 0.3}, {"rank": 3}, {"rank": 0.6}, {"tol": 0.1}])
def test_ridge_and_rank_are_the_same_by_gram_and_by_rows(seed, variant, solver):
    rng = np.random.default_rng([seed, 6])
    agreement = Agreement()
    for family in ("tall", "fat", "deficient", "duplicates"):
        X, Y = draw(rng, family)
        want = literal(X, Y, **variant)
        got = by_fit(X, Y, solver=solver, **variant)
        agreement.check(got, want, family)
    agreement.assert_mostly_full(0.7)


# Weights


@pytest.mark.parametrize("kernel", KERNELS, ids=name)
def test_weights_are_repetitions(seed, kernel):
    rng = np.random.default_rng([seed, 7])
    agreement = Agreement()
    is_linear, is_callable = kernel["kernel"] == "linear", callable(kernel["kernel"])
    for variant in VARIANTS:
        routes = [(np.asarray, "auto")] + [(sp.csr_array, "auto")] * (not is_callable)
        routes += [(np.asarray, "qr")] * (is_linear and "center_kernel" not in variant)
        for make, solver in routes:
            X, Y = kernel_problem(rng)
            weight = rng.integers(0, 4, len(X))
            selector = ProjSe(8, exhausted="stop", solver=solver, **kernel, **variant)
            got = fit(selector, make(X), make(Y), sample_weight=weight)
            repeated = np.repeat(X, weight, axis=0), np.repeat(Y, weight, axis=0)
            want = by_fit(*repeated, **kernel, **variant)
            n = len(got.selected_)
            agreement.check(got, (want.selected_[:n], want.scores_[:n]), name(variant))
            np.testing.assert_allclose(got.pvalues_, want.pvalues_[:n], rtol=1e-6, atol=1e-12)
    agreement.assert_mostly_full(0.95)


# Correlation with a subspace


@pytest.mark.parametrize("center", [True, False])
@pytest.mark.parametrize("family", FAMILIES)
def test_subspace_correlation_equals_the_explicit_projector(seed, family, center):
    rng = np.random.default_rng([seed, 8])
    for _ in range(5):
        X, Y = draw(rng, family)
        (A, live), (B, _) = columns(X, center, True), columns(Y, center, True)
        want = np.zeros(X.shape[1])
        want[live] = np.sqrt(Projector.onto(B, tol=1e-10).squared_norm(A))
        for make in (np.asarray, sp.csr_array):
            got = subspace_correlation(make(X), make(Y), center=center)
            np.testing.assert_allclose(got, want, atol=1e-7)
        if family == "one output" and center:
            np.testing.assert_allclose(got, np.abs(np.corrcoef(X.T, Y.T)[-1, :-1]), atol=1e-9)
