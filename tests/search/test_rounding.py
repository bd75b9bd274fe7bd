"""No picks from rounding, and none lost to it, against projections in extended precision.

Whole numbers times powers of two: references are combinations of candidates without any rounding,
so that what is left of them, once those candidates are picked, is exactly nothing.
"""

from __future__ import annotations

import numpy as np
import pytest
from agreement import ROUTES, fit
from marks import arbitrary_picks
from paper import paper_form
from variants import slow

from projse import ProjSe
from projse.exceptions import RankExhaustedWarning
from projse.search.significance import selection_pvalue

pytestmark = arbitrary_picks  # degenerate data are what these tests are about

extended = pytest.mark.skipif(
    np.finfo(np.longdouble).eps > 1e-18, reason="long double is no wider than double here"
)

# Problems

EPS = np.finfo(float).eps


def whole(rng, *shape, bits=6):
    return rng.integers(-(1 << bits), 1 << bits, shape).astype(float)


def random(rng, m, p, small):
    return whole(rng, m, p)


def near_copies(rng, m, p, small):
    return whole(rng, m, 1) + small * whole(rng, m, p)


def near_copies_of_two(rng, m, p, small):
    return whole(rng, m, 2)[:, rng.integers(0, 2, p)] + small * whole(rng, m, p)


def chain(rng, m, p, small):
    return np.cumsum(np.hstack([whole(rng, m, 1), small * whole(rng, m, p - 1, bits=4)]), axis=1)


def near_pairs_and_their_differences(rng, m, p, small):
    X, third = whole(rng, m, p), p // 3
    X[:, third : 2 * third] = X[:, :third] + small * X[:, third : 2 * third]
    X[:, 2 * third : 3 * third] = X[:, third : 2 * third] - X[:, :third]
    return X


def of_low_rank(rng, m, p, small):
    return whole(rng, m, 4, bits=3) @ whole(rng, 4, p, bits=2)


FAMILIES = [random, near_copies, near_copies_of_two, chain, near_pairs_and_their_differences]
FAMILIES += [of_low_rank]


def problem(rng, family, small):
    """References of one to three candidates, exactly."""
    while True:
        m, p, q = int(rng.choice([40, 120, 300])), int(rng.integers(8, 30)), rng.integers(1, 6)
        X = family(rng, m, p, small) + 64.0 * rng.integers(0, 4)
        behind = rng.permutation(p)[: rng.integers(1, 4)]
        Y = X[:, behind] @ whole(rng, len(behind), q, bits=2)
        if (X.std(axis=0) > 0).all() and (Y.std(axis=0) > 0).all():
            return X, Y


# Extended precision


class Exact:
    """What is left of variables once picks are taken out, in extended precision."""

    def __init__(self, X, Y, center):
        X, Y = X.astype(np.longdouble), Y.astype(np.longdouble)
        if center:
            X, Y = X - X.mean(axis=0), Y - Y.mean(axis=0)
        self.X, self.Y = (A / np.sqrt((A * A).sum(axis=0)) for A in (X, Y))
        self.taken = []

    def left(self, A):
        for _ in range(2):
            for q in self.taken:
                A = A - np.outer(q, q @ A)
        return A

    def take_out(self, picks):
        for j in picks:
            x = self.left(self.X[:, [j]])[:, 0]
            norm = np.sqrt(x @ x)
            if norm > 1e-13:
                self.taken.append(x / norm)

    def stretch(self):
        """κ of docs/numbers.md: the longest direction of the references over the shortest left."""
        values = np.linalg.svd(self.left(self.Y).astype(float), compute_uv=False)
        longest = np.linalg.svd(self.Y.astype(float), compute_uv=False)[0]
        return longest / values[values > 1e-15].min(initial=longest)

    def coordinates(self):
        """Of the candidates, normalised, in the space that is left of the references."""
        X, Y = self.left(self.X), self.left(self.Y)
        norms = (X * X).sum(axis=0)
        X = np.where(norms > 1e-24, X / np.sqrt(np.maximum(norms, 1e-24)), 0)
        basis = []
        for _ in range(Y.shape[1]):
            squares = (Y * Y).sum(axis=0)
            q = Y[:, int(np.argmax(squares))]
            if squares.max() <= 1e-30:
                break
            for p in (*basis, *basis):
                q = q - p * (p @ q)
            basis.append(q / np.sqrt(q @ q))
            Y = Y - np.outer(basis[-1], basis[-1] @ Y)
        return np.array(basis).reshape(len(basis), len(X)) @ X


def true_scores(selector, X, Y, center):
    """Scores of the picks made, in order, and the best one that is left after them."""
    exact, scores = Exact(X, Y, center), []
    for number in np.unique(selector.rounds_):
        R, picks = exact.coordinates(), selector.selected_[selector.rounds_ == number]
        for j in picks:
            scores.append(float(R[:, j] @ R[:, j]))
            if scores[-1] > 0:
                q = R[:, j] / np.sqrt(R[:, j] @ R[:, j])
                R = R - np.outer(q, q @ R)
        exact.take_out(picks)
    R, share = exact.coordinates(), (exact.left(exact.Y) ** 2).sum(axis=0).max()
    return np.array(scores), float((R * R).sum(axis=0).max(initial=0.0)), float(share)


@extended
@pytest.mark.parametrize("small", [2.0**-10, *slow(2.0**-3, 2.0**-7, 2.0**-14)])
@pytest.mark.parametrize("family", FAMILIES)
def test_scores_are_those_of_extended_precision(seed, family, small):
    """A pick from rounding has nothing there; and where much is left, the search has not ended."""
    rng = np.random.default_rng([seed, 1])
    for trial in range(12):
        X, Y = problem(rng, family, small)
        solver, round_size = ("auto", "gram", "qr")[trial % 3], (None, 1)[trial % 2]
        center = trial < 8
        wanted = min(12, X.shape[1])
        got = fit(paper_form(wanted, solver=solver, round_size=round_size, center=center), X, Y)
        scores, best_left, share_left = true_scores(got, X, Y, center)
        np.testing.assert_allclose(got.scores_, scores, rtol=0.05)
        if len(got.selected_) < wanted and small >= 2.0**-10:
            assert best_left < 1e-6 or share_left < 1e-10


def bounds(selector, X, Y, solver):
    """How far scores may be off, as docs/numbers.md states it."""
    exact, off = Exact(X, Y, True), []
    by_rows = solver == "qr" or (solver == "auto" and exact.stretch() > 1e5)
    norms = (exact.X**2).sum(axis=0)
    for number in np.unique(selector.rounds_):
        picks = selector.selected_[selector.rounds_ == number]
        left = (exact.left(exact.X)[:, picks] ** 2).sum(axis=0) / norms[picks]
        kappa = exact.stretch() ** (1 if by_rows else 2)
        kappa = kappa if kappa < 1e12 else np.inf  # beyond, nothing is promised
        off += (4 * EPS * kappa / np.maximum(left, 1e-30)).tolist()
        exact.take_out(picks)
    return np.maximum.accumulate(off)


@extended
@pytest.mark.parametrize("share", [1e-2, 1e-4, 1e-5])
@pytest.mark.parametrize("family", [random, near_pairs_and_their_differences, of_low_rank])
def test_small_effects_are_found(seed, family, share):
    """One output is one of the candidates, to a small part: a score of the square of that part."""
    rng, wrong = np.random.default_rng([seed, 2]), []
    for solver in ("auto", "gram", "qr") * 3:
        X, Y = problem(rng, family, 2.0**-7)
        Y[:, 0] += 2.0 ** round(np.log2(share)) * X[:, int(rng.integers(X.shape[1]))]
        got = fit(paper_form(min(12, X.shape[1]), solver=solver), X, Y)
        scores, best_left, share_left = true_scores(got, X, Y, True)
        off, bound = np.abs(got.scores_ - scores), bounds(got, X, Y, solver)
        assert (off <= 0.05 * scores + bound).all()
        wrong += (off > 0.05 * scores).tolist()
        if np.isfinite(bound).all():
            assert best_left < 1e-6 or share_left < 4e-12  # of a length of two millionths
    assert np.mean(wrong) < 0.3, "few are off at all"


# As found


@pytest.mark.parametrize("mean", [0.0, 1e3, 1e5, 1e7])
@pytest.mark.parametrize("spread", [1e-3, 1.0])
@pytest.mark.parametrize("solver", ["auto", "gram", "qr"])
def test_near_copies_give_no_more_picks_than_their_rank(seed, solver, spread, mean):
    rng = np.random.default_rng([seed, 3])
    for _ in range(10):
        X = (0 if spread == 1 else rng.normal(size=(300, 1))) + mean
        X = X + spread * rng.normal(size=(300, 30))
        Y = X[:, :3] @ rng.normal(size=(3, 4))
        assert len(fit(paper_form(12, solver=solver), X, Y).selected_) <= 3


@pytest.mark.parametrize("route", ["auto", "moments"])
@pytest.mark.parametrize("mean", [0.0, 5.0, 50.0])
def test_feature_space_centring_gives_no_more_picks_than_the_rank(seed, mean, route):
    rng = np.random.default_rng([seed, 4])
    for _ in range(5):
        X = rng.normal(size=(20, 300)) + mean
        selector = paper_form(200, exhausted="stop", center=False, center_kernel=True)
        assert len(ROUTES[route](selector, X, None).selected_) == 20


@pytest.mark.parametrize("views", [1, 2])
@pytest.mark.parametrize("mean", [0.0, 5.0, 50.0])
@pytest.mark.parametrize("center_kernel", [False, True])
@pytest.mark.parametrize("scale", [False, True])
def test_rbf_tells_copies_whatever_their_norm(seed, scale, center_kernel, mean, views):
    rng = np.random.default_rng([seed, 5])
    for _ in range(5):
        X = np.tile(rng.normal(size=(20, 12)) + mean, 3)
        parameters = {"scale": scale, "center": False, "center_kernel": center_kernel}
        selector = paper_form(30, kernel="rbf", exhausted="stop", **parameters)
        got = fit(selector, X, None if views == 1 else X[:, :5])
        assert len(set(got.selected_ % 12)) == len(got.selected_)


@pytest.mark.parametrize("grouped", [False, True])
@pytest.mark.parametrize("round_size", [1, *slow(2, None)])
@pytest.mark.parametrize("center", [True, *slow(False)])
def test_picks_that_fill_the_rows_leave_ties_not_rounding(center, round_size, grouped, seed):
    """What is left of the references is all that is left: every score is 1, the index decides."""
    rng = np.random.default_rng(seed)
    for _ in range(10):
        m, p, q = int(rng.integers(6, 14)), int(rng.integers(14, 30)), int(rng.integers(1, 5))
        X, Y, order = rng.normal(size=(m, p)), rng.normal(size=(m, q)), rng.permutation(m)
        groups = (np.arange(p) // 2).tolist() if grouped else None
        k = m + 3 if not grouped else p // 2
        one, other = (
            fit(
                paper_form(
                    min(k, p),
                    exhausted="residual",
                    round_size=round_size,
                    center=center,
                    groups=groups,
                ),
                X[rows],
                Y[rows],
            )
            for rows in (slice(None), order)
        )
        assert one.selected_.tolist() == other.selected_.tolist()


@pytest.mark.parametrize("grouped", [False, True])
def test_with_a_ridge_what_fills_the_rows_leaves_ties_too(grouped, seed):
    """One dimension is left: all candidates are the same in it, and the index decides."""
    rng = np.random.default_rng(seed)
    for _ in range(10):
        X, Y = rng.normal(size=(5, 80)), rng.normal(size=(5, 2))
        X[:, 40:] = X[:, [5, 7, 9]] @ rng.normal(size=(3, 40)) + 1e-4 * X[:, 40:]
        groups = [None] * 78 + ["pair", "pair"] if grouped else None
        selector = ProjSe(4, alpha=1.0, include=[5, 7, 9], groups=groups)
        assert fit(selector, X, Y).selected_[3] == 0
        if not grouped:
            *before, last = fit(ProjSe(4, alpha=1.0, redundancy=0.0), X, Y).selected_.tolist()
            assert last == min(set(range(80)) - set(before))


@pytest.mark.parametrize("grouped", [False, True])
def test_outputs_that_fill_the_rows_leave_ties_after_the_first_pick_already(grouped, seed):
    rng = np.random.default_rng([seed, 54])
    for _ in range(5):
        X, Y = rng.normal(size=(6, 1)) + 1e-4 * rng.normal(size=(6, 40)), rng.normal(size=(6, 5))
        groups = [*range(38), 38, 38] if grouped else None
        got = fit(paper_form(3, round_size=1, groups=groups), X, Y)
        assert got.selected_.tolist() == [0, 1, 2]


def test_feature_space_centring_picks_nothing_that_is_alike_to_all_references(seed):
    """Powers of small products are known well, but not once means of large ones are taken out."""
    rng = np.random.default_rng([seed, 7])
    A = rng.normal(size=(40, 12))
    Q, _ = np.linalg.qr(A - A.mean(axis=0))
    Y, one = Q[:, :4], Q[:, :4] @ [0.5, 0.5, -0.5, -0.5]
    alike = 0.6 * Y.sum(axis=1, keepdims=True) + Q[:, 4:] @ rng.normal(size=(8, 6))
    X = np.column_stack([one, -one, alike])
    selector = paper_form(8, kernel="poly", center_kernel=True, exhausted="stop")
    assert fit(selector, X, Y).selected_.tolist() == [0]


@pytest.mark.parametrize("n_references", [5, 60])
@pytest.mark.parametrize("small", [1e-6, 1e-10])
def test_candidates_at_right_angles_to_all_references_are_not_picked(seed, small, n_references):
    """However many directions the references have, and however short some of them are."""
    rng = np.random.default_rng([seed, 8])
    A = rng.normal(size=(200, n_references + 20))
    Q, _ = np.linalg.qr(A - A.mean(axis=0))
    lengths = np.geomspace(1.0, small, n_references)
    mixing, _ = np.linalg.qr(rng.normal(size=(n_references, n_references)))
    Y = (Q[:, :n_references] * lengths) @ mixing
    X = Q[:, n_references:] @ rng.normal(size=(20, 15))
    got = fit(paper_form(5, solver="qr", exhausted="stop"), X, Y)
    assert got.reference_rank_ == n_references
    assert not got.selected_.size


def test_candidates_at_right_angles_are_not_picked_with_a_kernel_of_ones_own(seed):
    rng = np.random.default_rng([seed, 56])
    A = rng.normal(size=(60, 12))
    Q, _ = np.linalg.qr(A - A.mean(axis=0))
    X = Q[:, 4:] @ rng.normal(size=(8, 10))
    selector = paper_form(5, kernel=lambda A, B: A.T @ B, exhausted="stop")
    assert not fit(selector, X, Q[:, :4]).selected_.size


def short_directions(rng):
    """Candidates, references, and references of the same span of which one is hardly there."""
    X = rng.normal(size=(40, 8))
    Y = X[:, :2] @ rng.normal(size=(2, 3)) + rng.normal(size=(40, 3))
    hidden = Y.copy()
    hidden[:, 1] = Y[:, 0] + 1e-8 * Y[:, 1]
    return X, Y, hidden


@pytest.mark.parametrize("redundancy", [0.0, 0.5, *slow(1.0)])
def test_conditioning_keeps_directions_that_only_the_rows_have(seed, redundancy):
    """Without a ridge on the references, mixing them changes nothing, given candidates as well."""
    X, Y, hidden = short_directions(np.random.default_rng([seed, 51]))
    parameters = {"alpha": 0.0, "redundancy": redundancy, "include": [5, 3]}
    expected, got = (fit(ProjSe(6, **parameters), X, Z) for Z in (Y, hidden))
    assert got.selected_.tolist() == expected.selected_.tolist()
    np.testing.assert_allclose(got.scores_, expected.scores_, atol=1e-5)
    np.testing.assert_allclose(got.pvalues_, expected.pvalues_, atol=1e-4)


@pytest.mark.parametrize(
    "parameters",
    [
        {"redundancy": 0.0},
        {"include": [5, 3]},
        *slow({"alpha": 0.01, "redundancy": 0.0, "include": [5, 3]}),
    ],
)
def test_pvalues_given_picks_count_directions_that_only_the_rows_have(seed, parameters):
    """A ridge keeps them out of scores; p-values go by all directions, of the same span."""
    X, Y, hidden = short_directions(np.random.default_rng([seed, 52]))
    got = fit(ProjSe(6, **{"alpha": 1.0, **parameters}), X, hidden)
    assert got.reference_rank_ == 3
    A, B = (M - M.mean(axis=0) for M in (X, Y))
    for t in range(len(parameters.get("include", [])), 6):
        S = np.linalg.qr(A[:, got.selected_[:t]])[0]
        x, Q = A[:, got.selected_[t]], np.linalg.qr(B - S @ (S.T @ B))[0]
        x = x - S @ (S.T @ x)
        want = selection_pvalue(np.linalg.norm(Q.T @ x) ** 2 / (x @ x), 3, 0, 8 - t, 39 - t)
        assert got.pvalues_[t] == pytest.approx(want, rel=1e-3, abs=1e-4)


def test_with_a_ridge_short_references_add_no_rounding_where_they_fill_the_rows(seed):
    """What is left of three references fills what is left of five rows."""
    rng = np.random.default_rng([seed, 53])
    for _ in range(10):
        X, Y = rng.normal(size=(5, 8)), rng.normal(size=(5, 3))
        Y[:, 1:] = Y[:, :1] + 1e-4 * Y[:, 1:]
        by_gram, by_rows = (
            fit(ProjSe(3, alpha=1.0, redundancy=0.0, solver=solver), X, Y)
            for solver in ("gram", "qr")
        )
        np.testing.assert_allclose(by_gram.scores_[:2], by_rows.scores_[:2], atol=1e-12)


@pytest.mark.parametrize("grouped", [False, True])
@pytest.mark.parametrize("alpha", [0.0, 0.1, "auto"])
@pytest.mark.parametrize("gap", [2.0**-7, 2.0**-10, 2.0**-13])
def test_the_rounding_of_a_pick_is_not_picked_after_it(seed, gap, alpha, grouped):
    """Next to nothing is left of a near copy, so that the direction that goes with it is rough."""
    rng = np.random.default_rng([seed, 47])
    a, b, *others = whole(rng, 4, 50)
    Y = whole(rng, 50, 3) + b[:, None]
    X = np.column_stack([a, a + gap * b, b, b - a, *others])
    parameters = {"groups": [0, 1, 2, 3, 4, 4], "exclude": [4]} if grouped else {"exclude": [4, 5]}
    model = ProjSe(4, include=[0], alpha=alpha, redundancy=0.0, round_size=None, **parameters)
    with pytest.warns(RankExhaustedWarning):
        model.fit(X, Y)
    # Given the first, all others are one variable; rounding may tell which.
    assert len(model.selected_) == 2


@pytest.mark.parametrize("grouped", [False, True])
@pytest.mark.parametrize("gap", [2.0**-7, 2.0**-10, 2.0**-13])
@pytest.mark.parametrize("alpha", [0.0, 1e-12, 1e-8, 1e-4, 0.1, "auto"])
def test_once_an_output_is_explained_rounding_is_not_picked(seed, alpha, gap, grouped):
    """It is weighed with up to 1/alpha, and divided by what is left of near copies of the pick."""
    rng = np.random.default_rng([seed, 48])
    X = whole(rng, 50, 8)
    X[:, 4:] = X[:, [0]] + gap * X[:, 4:]
    groups = [0, 1, 2, 2, 3, 3, 4, 5] if grouped else None
    for Y in (3 * X[:, [0]], X[:, [0, 0]] * [1, -2]):
        with pytest.warns(RankExhaustedWarning):
            model = ProjSe(6, alpha=alpha, groups=groups).fit(X, Y)
        assert model.selected_.tolist() == [0]


@pytest.mark.parametrize("grouped", [False, True])
@pytest.mark.parametrize("small", [1e-6, 1e-8])
@pytest.mark.parametrize("alpha", [1e-10, 1e-6, 1e-3, 1.0])
def test_what_is_small_but_known_is_picked_with_a_ridge(seed, alpha, small, grouped):
    rng = np.random.default_rng([seed, 49])
    X = rng.normal(size=(200, 7))
    Y = X[:, [2]] + small * X[:, [4]]
    model = ProjSe(2, alpha=alpha, groups=[0, 1, 2, 3, 4, 5, 5] if grouped else None).fit(X, Y)
    assert model.selected_.tolist() == [2, 4]


@pytest.mark.parametrize("grouped", [False, True])
@pytest.mark.parametrize("gap", [2.0**-13, 2.0**-15])
@pytest.mark.parametrize("alpha", [1e-4, 0.1])
def test_what_tells_near_copies_of_an_included_variable_apart_is_known_less_well(
    seed, alpha, gap, grouped
):
    """Once an output is explained, rounding is not picked, of near copies that are enlarged too."""
    rng = np.random.default_rng([seed, 55])
    A = whole(rng, 50, 8)
    X = A[:, [7]] + gap * A
    X[:, 7] = A[:, 7]
    groups = [0, 1, 2, 2, 3, 3, 4, 5] if grouped else None
    for Y in (3 * A[:, [0]], A[:, [0, 0]] * [1, -2] + A[:, [7]]):
        model = fit(ProjSe(6, alpha=alpha, groups=groups, include=[5 if grouped else 7]), X, Y)
        assert model.selected_.tolist() == [5 if grouped else 7, 0]
