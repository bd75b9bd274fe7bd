"""Picks and scores against literal evaluations: explicit projectors and pivoted QR."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.linalg
from agreement import ONE_VIEW, ROUTES, Agreement
from marks import arbitrary_picks
from oracle import (
    FAMILIES,
    by_fit,
    draw,
)
from paper import paper_form
from variants import slow

import projse.kernels.feature_gram
import projse.kernels.linear_gram
import projse.moments.accumulate
import projse.moments.in_memory
import projse.search.coordinates
import projse.search.deflation
import projse.search.greedy
from projse.projectors import select_by_projectors

pytestmark = arbitrary_picks  # degenerate data are part of what is drawn


def by_all_routes(X, Y, family, center):
    """Fit by every route, and by those for one view where Y is X."""
    views = [(ROUTES, Y)] + ([(ONE_VIEW, None)] if family == "same" else [])
    for names, reference in views:
        for name in names:
            selector = paper_form(X.shape[1], center=center, exhausted="stop")
            yield f"{name}, {family}", ROUTES[name](selector, X, reference)


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

PLAIN = ["tall", "fat deficient", "duplicates", "same"]


@pytest.mark.parametrize("center", [True, *slow(False)])
@pytest.mark.parametrize("family", [*PLAIN, *slow(*(f for f in FAMILIES if f not in PLAIN))])
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
    "small batches": lambda mp: mp.setattr(projse.moments.accumulate, "batch_rows", lambda *_: 7),
    "no thin references": lambda mp: mp.setattr(projse.moments.row_sums, "THIN_COLUMNS", 0),
    "passes for K_XX": lambda mp: mp.setattr(projse.kernels.linear_gram, "COPY_ELEMENTS", 0),
}
PATHS["all"] = lambda mp: [PATHS[name](mp) for name in list(PATHS)[:-1]]


@pytest.mark.parametrize("path", [*slow(*list(PATHS)[:-1]), "all"])
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
