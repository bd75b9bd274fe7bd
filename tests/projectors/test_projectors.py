import doctest
import pickle

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy.linalg import null_space, qr

from projse import projectors
from projse.projectors import (
    Projector,
    intersect_with_complement,
    intersection,
    intersection_anderson_duffin,
    intersection_ben_israel,
    intersection_halperin,
    intersection_von_neumann,
    select_by_projectors,
)

SEEDS = range(6)
seeds = pytest.mark.parametrize("seed", SEEDS)
quick = settings(max_examples=60, deadline=None, derandomize=True, database=None)

PAIRWISE = {
    "von_neumann": intersection_von_neumann,
    "halperin": lambda P, Q: intersection_halperin([P, Q]),
    "anderson_duffin": intersection_anderson_duffin,
    "ben_israel": lambda P, Q: intersection_ben_israel([P, Q]),
    "ben_israel_weighted": lambda P, Q: intersection_ben_israel([P, Q], weights=[0.2, 5.0]),
    "default": intersection,
}
pairwise = pytest.mark.parametrize("intersect", PAIRWISE.values(), ids=PAIRWISE)


def random_low_rank(rng, m, n, rank):
    return rng.standard_normal((m, rank)) @ rng.standard_normal((rank, n))


def sharing_subspaces(rng, m, common, *extras):
    """Columns of generic subspaces whose intersection is exactly the first matrix's span."""
    C = rng.standard_normal((m, common))
    spans = [np.hstack([C, rng.standard_normal((m, extra))]) for extra in extras]
    return C, [A @ rng.standard_normal((A.shape[1], A.shape[1])) for A in spans]


def common_part(*spans):
    """Intersection as the null space of all the equations that define the subspaces."""
    equations = np.vstack([null_space(A.T).T for A in spans])
    return Projector.onto(null_space(equations, rcond=1e-8))


def two_planes(angle):
    """Planes of R^4 that share one line and otherwise meet at `angle`."""
    tilted = [0.0, np.cos(angle), np.sin(angle), 0.0]
    return Projector.onto(np.eye(4)[:, :2]), Projector.onto(np.c_[np.eye(4)[:, 0], tilted])


def centred_unit(A):
    A = A - A.mean(axis=0)
    return A / np.linalg.norm(A, axis=0)


def pivots(X, Y):
    """Selection by pivoted QR of the coordinates: the same greedy rule, none of the same code."""
    U, s, _ = np.linalg.svd(centred_unit(Y), full_matrices=False)
    U = U[:, s > 1e-10 * s[0]]
    _, R, order = qr(U.T @ centred_unit(X), mode="economic", pivoting=True)
    return order[: U.shape[1]], np.diag(R) ** 2


# Construction


@quick
@given(st.integers(1, 9), st.integers(0, 9), st.integers(0, 9), st.integers(0, 2**32 - 1))
def test_onto_gives_a_symmetric_idempotent_matrix_whose_trace_is_the_rank(m, n, rank, seed):
    rank = min(m, n, rank)
    A = random_low_rank(np.random.default_rng(seed), m, n, rank)
    P = Projector.onto(A, tol=1e-10)
    M = P.matrix
    assert P.shape == M.shape == (m, m)
    assert P.rank == rank
    assert_allclose(P.trace, rank, atol=1e-12)
    assert_allclose(np.trace(M), rank, atol=1e-12)
    assert_allclose(M, M.T, atol=1e-14)
    assert_allclose(M @ M, M, atol=1e-13)
    assert_allclose(M, A @ np.linalg.pinv(A, rcond=1e-10), atol=1e-9)


@seeds
def test_default_rank_rule_sees_through_dependent_columns_of_any_scale(seed):
    rng = np.random.default_rng(seed)
    A = random_low_rank(rng, 30, 12, 4)
    for scale in (1e-200, 1.0, 1e200):
        P = Projector.onto(scale * A)
        assert P.rank == 4
        assert_allclose(P @ (A / np.abs(A).max()), A / np.abs(A).max(), atol=1e-13)


def test_rank_rule_is_relative_and_follows_tol():
    A = np.diag([1.0, 1e-6, 1e-17])
    assert Projector.onto(A).rank == 2
    assert Projector.onto(1e-30 * A).rank == 2
    assert Projector.onto(A, tol=1e-5).rank == 1


@pytest.mark.parametrize("A", [np.zeros((4, 0)), np.zeros((4, 3))], ids=["no columns", "zeros"])
def test_an_empty_span_gives_the_zero_projector(A):
    P = Projector.onto(A)
    assert P.rank == 0
    assert P.allclose(Projector.zero(4))
    assert_array_equal(P.matrix, np.zeros((4, 4)))
    assert_array_equal(P @ np.ones(4), np.zeros(4))
    assert P.complement().allclose(Projector.identity(4))


@seeds
def test_invertible_mixing_of_the_columns_changes_nothing(seed):
    rng = np.random.default_rng(seed)
    A = random_low_rank(rng, 15, 6, 4)
    mixed = A @ rng.standard_normal((6, 6))
    assert Projector.onto(A).allclose(Projector.onto(mixed), tol=1e-10)
    assert_allclose(Projector.onto(A).matrix, Projector.onto(mixed).matrix, atol=1e-10)


@seeds
def test_from_matrix_and_from_basis_round_trip(seed):
    P = Projector.onto(np.random.default_rng(seed).standard_normal((9, 4)))
    assert_allclose(Projector.from_matrix(P.matrix).matrix, P.matrix, atol=1e-13)
    assert Projector.from_matrix(P.matrix).rank == 4
    assert_array_equal(Projector.from_basis(P.basis).basis, P.basis)


def test_from_matrix_keeps_the_extreme_ranks():
    assert Projector.from_matrix(np.zeros((3, 3))).rank == 0
    assert Projector.from_matrix(np.eye(3)).rank == 3


def test_the_basis_is_a_read_only_copy():
    B = np.eye(3)[:, :1]
    P = Projector.from_basis(B)
    B[0] = 7.0
    assert_array_equal(P.basis, np.eye(3)[:, :1])
    with pytest.raises(ValueError, match="read-only"):
        P.basis[0] = 7.0
    assert pickle.loads(pickle.dumps(P)).allclose(P)


# Application


@seeds
def test_apply_matmul_and_call_agree_with_the_matrix_on_vectors_and_columns(seed):
    rng = np.random.default_rng(seed)
    P = Projector.onto(rng.standard_normal((8, 3)))
    for x in (rng.standard_normal(8), rng.standard_normal((8, 5)), np.zeros((8, 0))):
        expected = P.matrix @ x
        for got in (P.apply(x), P @ x, P(x), P @ x.tolist() if x.size else P @ x):
            assert got.shape == x.shape
            assert_allclose(got, expected, atol=1e-13)
        assert_allclose(P.squared_norm(x), np.sum(expected**2, axis=0), atol=1e-12)
        assert P.squared_norm(x).shape == x.shape[1:]


@seeds
def test_projection_is_the_nearest_point_and_never_longer(seed):
    rng = np.random.default_rng(seed)
    A, x = rng.standard_normal((10, 4)), rng.standard_normal(10)
    P = Projector.onto(A)
    w = np.linalg.lstsq(A, x, rcond=None)[0]
    assert_allclose(P @ x, A @ w, atol=1e-12)
    assert P.squared_norm(x) < x @ x
    assert_allclose(P.squared_norm(x) + P.complement().squared_norm(x), x @ x)


# Relations and algebra


@seeds
def test_complement_is_identity_minus_projector_and_undoes_itself(seed):
    P = Projector.onto(random_low_rank(np.random.default_rng(seed), 9, 5, 3))
    Q = P.complement()
    assert_allclose(Q.matrix, np.eye(9) - P.matrix, atol=1e-13)
    assert Q.rank == 6
    assert Q.is_orthogonal_to(P)
    assert Q.complement().allclose(P, tol=1e-13)
    assert (P + Q).allclose(Projector.identity(9))
    assert Projector.identity(9).complement().rank == 0


@seeds
def test_order_is_reflexive_antisymmetric_and_follows_inclusion(seed):
    rng = np.random.default_rng(seed)
    A = rng.standard_normal((12, 6))
    small, middle, large = (Projector.onto(A[:, :k]) for k in (2, 4, 6))
    other = Projector.onto(rng.standard_normal((12, 2)))
    assert small <= small
    assert small <= middle <= large
    assert small <= large
    assert large >= small
    assert not large <= small
    assert not small <= other
    assert not other <= large
    assert Projector.zero(12) <= small <= Projector.identity(12)
    assert large.complement() <= small.complement()
    X = rng.standard_normal((12, 50))
    assert (small.squared_norm(X) <= large.squared_norm(X)).all()
    # the same order as of matrices: large - small is positive semidefinite
    assert np.linalg.eigvalsh(large.matrix - small.matrix).min() > -1e-13
    assert np.linalg.eigvalsh(large.matrix - other.matrix).min() < -1e-3


@seeds
def test_difference_is_the_complement_inside_the_larger_space(seed):
    A = np.random.default_rng(seed).standard_normal((10, 5))
    P, Q = Projector.onto(A), Projector.onto(A[:, 1:3])
    D = P - Q
    assert_allclose(D.matrix, P.matrix - Q.matrix, atol=1e-12)
    assert D.rank == 3
    assert (D + Q).allclose(P)
    assert (P - P).rank == 0
    assert (P - Projector.zero(10)).allclose(P)


@seeds
def test_sum_of_orthogonal_projectors_is_the_projector_onto_both(seed):
    Q = np.linalg.qr(np.random.default_rng(seed).standard_normal((10, 5)))[0]
    P1, P2 = Projector.from_basis(Q[:, :2]), Projector.from_basis(Q[:, 2:])
    assert P1.is_orthogonal_to(P2)
    assert_allclose((P1 + P2).matrix, P1.matrix + P2.matrix, atol=1e-13)
    assert (P1 + P2).rank == 5
    assert (P1 + Projector.zero(10)).allclose(P1)


@seeds
def test_product_of_commuting_projectors_projects_onto_the_intersection(seed):
    Q = np.linalg.qr(np.random.default_rng(seed).standard_normal((9, 6)))[0]
    P1, P2 = Projector.from_basis(Q[:, :4]), Projector.from_basis(Q[:, 2:])
    assert P1.commutes_with(P2)
    assert P1.is_geometrically_orthogonal_to(P2)
    assert not P1.is_orthogonal_to(P2)
    for product in (P1 * P2, P1 @ P2, P2 * P1, intersection(P1, P2)):
        assert_allclose(product.matrix, P1.matrix @ P2.matrix, atol=1e-13)
        assert product.rank == 2
    assert (P1 * Projector.zero(9)).rank == 0
    assert (P1 * P1.complement()).rank == 0
    assert (P1 * Projector.identity(9)).allclose(P1)


@seeds
def test_commutes_with_measures_the_spectral_norm_of_the_commutator(seed):
    rng = np.random.default_rng(seed)
    P, Q = (Projector.onto(rng.standard_normal((8, k))) for k in (3, 4))
    norm = np.linalg.norm(P.matrix @ Q.matrix - Q.matrix @ P.matrix, 2)
    assert norm > 0.01
    assert P.commutes_with(Q, tol=norm * (1 + 1e-9))
    assert not P.commutes_with(Q, tol=norm * (1 - 1e-9))
    assert not Q.commutes_with(P, tol=norm * (1 - 1e-9))
    assert not P.is_geometrically_orthogonal_to(Q)


def test_relations_measure_angles():
    P, Q = two_planes(1e-3)
    assert not P.is_subspace_of(Q)
    assert P.is_subspace_of(Q, tol=1.001e-3)
    assert not P.allclose(Q, tol=0.999e-3)
    assert P.allclose(Q, tol=1.001e-3)
    line = Projector.onto([[0.0], [0.0], [1.0], [0.0]])
    assert not line.is_orthogonal_to(Q, tol=0.999e-3)
    assert line.is_orthogonal_to(Q, tol=1.001e-3)
    assert not P.allclose(Projector.identity(4))


@seeds
def test_orthogonal_implies_commuting_but_not_the_other_way(seed):
    P = Projector.onto(np.random.default_rng(seed).standard_normal((7, 3)))
    assert P.is_orthogonal_to(P.complement())
    assert P.commutes_with(P.complement())
    assert P.commutes_with(P)
    assert not P.is_orthogonal_to(P)


# Intersections


@pairwise
@seeds
def test_pairwise_formulas_find_the_known_common_part(intersect, seed):
    rng = np.random.default_rng(seed)
    common = seed % 4
    C, spans = sharing_subspaces(rng, 14, common, 3, 4)
    P, Q = map(Projector.onto, spans)
    found = intersect(P, Q)
    assert found.rank == common
    assert found.allclose(Projector.onto(C), tol=1e-9)
    assert found.allclose(common_part(*spans), tol=1e-9)
    assert_allclose(found.matrix, intersect(Q, P).matrix, atol=1e-9)
    assert found <= P
    assert found <= Q


@pairwise
def test_pairwise_formulas_at_the_extremes(intersect):
    P = Projector.onto(np.random.default_rng(0).standard_normal((6, 3)))
    one, zero = Projector.identity(6), Projector.zero(6)
    assert intersect(P, P).allclose(P, tol=1e-12)
    assert intersect(P, one).allclose(P, tol=1e-12)
    assert intersect(one, one).rank == 6
    assert intersect(P, P.complement()).rank == 0
    assert intersect(P, zero).rank == 0


@seeds
def test_formulas_for_several_subspaces_agree_with_the_null_space(seed):
    rng = np.random.default_rng(seed)
    C, spans = sharing_subspaces(rng, 12, 2, 3, 4, 5)
    Ps = [Projector.onto(A) for A in spans]
    expected = common_part(*spans)
    assert expected.allclose(Projector.onto(C), tol=1e-10)
    weights = rng.uniform(0.1, 3.0, 3)
    for found in (
        intersection_halperin(Ps),
        intersection_halperin(Ps[::-1]),
        intersection_ben_israel(Ps),
        intersection_ben_israel(Ps, weights=weights),
        intersection(*Ps),
        intersection(intersection(*Ps[:2]), Ps[2]),
        intersection_anderson_duffin(intersection_von_neumann(*Ps[:2]), Ps[2]),
    ):
        assert found.rank == 2
        assert found.allclose(expected, tol=1e-8)


@seeds
def test_the_dual_is_the_formula_with_the_pseudo_inverse(seed):
    rng = np.random.default_rng(seed)
    _, spans = sharing_subspaces(rng, 10, 2, 3, 2)
    P, Q = map(Projector.onto, spans)
    weights = rng.uniform(0.5, 2.0, 2)
    M = weights[0] * (np.eye(10) - P.matrix) + weights[1] * (np.eye(10) - Q.matrix)
    expected = np.eye(10) - np.linalg.pinv(M, rcond=1e-12, hermitian=True) @ M
    assert_allclose(intersection_ben_israel([P, Q], weights).matrix, expected, atol=1e-10)


def test_a_single_projector_is_its_own_intersection():
    P = Projector.onto(np.random.default_rng(0).standard_normal((5, 2)))
    assert intersection(P).allclose(P)
    assert intersection_halperin([P]).allclose(P)


@pytest.mark.parametrize("angle", [1e-1, 1e-2, 2e-3])
def test_power_limits_converge_down_to_the_documented_angle(angle):
    P, Q = two_planes(angle)
    line = Projector.onto(np.eye(4)[:, :1])
    assert intersection_von_neumann(P, Q).allclose(line)
    assert intersection_anderson_duffin(P, Q).allclose(line)


@pytest.mark.parametrize("angle", [1e-4, 1e-5, 1e-6])
def test_power_limits_refuse_smaller_angles_that_the_dual_still_resolves(angle):
    P, Q = two_planes(angle)
    with pytest.raises(np.linalg.LinAlgError, match=r"max_iter=24.*use intersection_ben_israel"):
        intersection_von_neumann(P, Q)
    assert intersection(P, Q).allclose(Projector.onto(np.eye(4)[:, :1]))


@pairwise
def test_angles_at_rounding_level_count_as_shared(intersect):
    assert intersect(*two_planes(1e-9)).rank == 2


def test_too_few_squarings_are_reported():
    P, Q = two_planes(0.05)
    with pytest.raises(np.linalg.LinAlgError, match="max_iter=3 squarings"):
        intersection_von_neumann(P, Q, max_iter=3)
    assert intersection_von_neumann(P, Q, max_iter=16).rank == 1


def test_angle_tolerance_decides_what_is_shared():
    P, Q = two_planes(1e-3)
    for intersect in (
        intersection_anderson_duffin,
        lambda P, Q, tol: intersection_ben_israel([P, Q], tol=tol),
    ):
        assert intersect(P, Q, tol=4e-4).rank == 1
        assert intersect(P, Q, tol=6e-4).rank == 2


# The closed form for the complement of one vector


@seeds
def test_closed_form_is_the_intersection_with_the_complement_of_x(seed):
    rng = np.random.default_rng(seed)
    P, x = Projector.onto(rng.standard_normal((9, 4))), rng.standard_normal(9)
    Px = P.matrix @ x
    found = intersect_with_complement(P, x)
    assert_allclose(found.matrix, P.matrix - np.outer(Px, Px) / (x @ Px), atol=1e-13)
    beyond_x = Projector.onto(x[:, None]).complement()
    assert found.rank == 3
    assert found.allclose(intersection(P, beyond_x), tol=1e-12)
    assert found.allclose(intersection_von_neumann(P, beyond_x), tol=1e-10)
    assert found <= P
    assert_allclose(found @ x, 0.0, atol=1e-14)
    for scale in (-1e-200, 1e200):
        assert found.allclose(intersect_with_complement(P, scale * x), tol=1e-13)


@seeds
def test_projecting_x_first_makes_the_subspaces_geometrically_orthogonal(seed):
    rng = np.random.default_rng(seed)
    P, x = Projector.onto(rng.standard_normal((9, 4))), rng.standard_normal(9)
    beyond_x = Projector.onto(x[:, None]).complement()
    beyond_Px = Projector.onto((P @ x)[:, None]).complement()
    assert not P.is_geometrically_orthogonal_to(beyond_x)
    assert P.is_geometrically_orthogonal_to(beyond_Px)
    assert (P * beyond_Px).allclose(intersect_with_complement(P, x), tol=1e-12)


@seeds
def test_a_vector_orthogonal_to_the_subspace_changes_nothing(seed):
    rng = np.random.default_rng(seed)
    P = Projector.onto(rng.standard_normal((9, 4)))
    x = P.complement() @ rng.standard_normal(9)
    assert intersect_with_complement(P, x) is P
    assert intersect_with_complement(P, 1e6 * x) is P
    assert intersect_with_complement(P, np.zeros(9)) is P
    nearly = x / np.linalg.norm(x) + 1e-6 * P.basis[:, 0]
    assert intersect_with_complement(P, nearly).rank == 3
    assert_allclose(intersect_with_complement(P, nearly) @ P.basis[:, 0], 0.0, atol=1e-8)


def test_closed_form_compares_the_length_of_the_projection_with_that_of_x():
    P = Projector.onto(np.eye(100)[:, :1])
    x = 7.0 * np.ones(100)  # the projection has a tenth of its length
    assert intersect_with_complement(P, x, tol=0.0999).rank == 0
    assert intersect_with_complement(P, x, tol=0.1001) is P


def test_taking_out_a_basis_one_vector_at_a_time_leaves_nothing():
    rng = np.random.default_rng(0)
    A = rng.standard_normal((8, 3))
    P = Projector.onto(A)
    for k in range(3):
        P = intersect_with_complement(P, A[:, k])
        assert P.rank == 2 - k
    assert intersect_with_complement(P, A[:, 0]).rank == 0


# Selection


@pytest.mark.parametrize("seed", range(20))
def test_selection_agrees_with_pivoted_qr(seed):
    rng = np.random.default_rng(seed)
    m, n_x, n_y = 40, 30, 2 + seed % 7
    Y = rng.standard_normal((m, n_y))
    X = Y @ rng.standard_normal((n_y, n_x)) + rng.standard_normal((m, n_x))
    indices, scores = select_by_projectors(X, Y, n_y)
    expected, expected_scores = pivots(X, Y)
    assert_array_equal(indices, expected)
    assert_allclose(scores, expected_scores, rtol=1e-10)


@seeds
def test_every_pick_is_best_in_the_intersection_built_from_null_spaces(seed):
    rng = np.random.default_rng(seed)
    X, Y = rng.standard_normal((15, 8)) + 3.0, rng.standard_normal((15, 5)) - 2.0
    indices, scores = select_by_projectors(X, Y, 5)
    Z, Yc = centred_unit(X), Y - Y.mean(axis=0)
    for t, (k, score) in enumerate(zip(indices, scores, strict=True)):
        inside = null_space(np.vstack([null_space(Yc.T).T, Z[:, indices[:t]].T]))
        reference = np.sum((inside.T @ Z) ** 2, axis=0)
        assert inside.shape[1] == 5 - t
        assert k == np.argmax(reference)
        assert_allclose(score, reference[k], rtol=1e-10)


@seeds
def test_selection_ignores_mixing_of_references_and_scale_and_sign_of_candidates(seed):
    rng = np.random.default_rng(seed)
    X, Y = rng.standard_normal((30, 12)), rng.standard_normal((30, 4))
    indices, scores = select_by_projectors(X, Y, 4)
    mixed = Y @ rng.standard_normal((4, 6)) + rng.standard_normal(6)
    scaled = X * rng.choice([-1.0, 1.0], 12) * 10.0 ** rng.uniform(-300, 300, 12)
    for other in (select_by_projectors(X, mixed, 6), select_by_projectors(scaled, Y, 4)):
        assert_array_equal(other[0], indices)
        assert_allclose(other[1], scores, rtol=1e-9)


def test_a_tiny_reference_column_still_counts():
    rng = np.random.default_rng(0)
    Y = rng.standard_normal((20, 3))
    X = rng.standard_normal((20, 6))
    expected = select_by_projectors(X, Y, 3)
    found = select_by_projectors(X, Y * [1e-30, 1.0, 1e30], 3)
    assert_array_equal(found[0], expected[0])
    assert_allclose(found[1], expected[1], rtol=1e-10)


def test_centring_is_optional():
    rng = np.random.default_rng(1)
    X, Y = rng.standard_normal((20, 5)) + 5.0, rng.standard_normal((20, 2)) + 5.0
    indices, scores = select_by_projectors(X, Y, 2, center=False)
    Z = X / np.linalg.norm(X, axis=0)
    first = Projector.onto(Y).squared_norm(Z)
    assert indices[0] == np.argmax(first)
    assert_allclose(scores[0], first.max())
    assert scores[0] > 0.9
    assert_allclose(
        select_by_projectors(X - X.mean(0), Y - Y.mean(0), 2, center=False)[1],
        select_by_projectors(X, Y, 2)[1],
    )


@seeds
def test_a_duplicate_waits_until_its_original_is_taken_out_and_is_then_worthless(seed):
    rng = np.random.default_rng(seed)
    Y = rng.standard_normal((25, 3))
    distinct = Y @ rng.standard_normal((3, 3)) + 0.3 * rng.standard_normal((25, 3))
    X = np.hstack([distinct, -2.0 * distinct + 7.0, distinct])
    indices, _ = select_by_projectors(X, Y, 9)
    assert sorted(indices) == [0, 1, 2]  # the tie rule takes the first copy


def test_copies_and_combinations_of_the_picks_end_the_selection():
    rng = np.random.default_rng(0)
    Y = rng.standard_normal((20, 5))
    A = rng.standard_normal((20, 2))
    X = np.hstack([A, A @ rng.standard_normal((2, 4)), A])
    assert len(select_by_projectors(X, Y, 8)[0]) == 2


@seeds
def test_selection_stops_at_the_rank_of_the_references(seed):
    rng = np.random.default_rng(seed)
    X, Y = rng.standard_normal((20, 15)), random_low_rank(rng, 20, 6, 3)
    indices, scores = select_by_projectors(X, Y, 15)
    assert len(indices) == len(scores) == 3
    assert len(set(indices)) == 3


def test_one_hot_references_lose_one_rank_to_centring():
    rng = np.random.default_rng(0)
    Y = np.eye(4)[np.arange(40) % 4]
    X = rng.standard_normal((40, 10))
    assert len(select_by_projectors(X, Y, 10)[0]) == 3
    assert len(select_by_projectors(X, Y, 10, center=False)[0]) == 4


def test_selection_stops_when_nothing_left_touches_the_references():
    Q = np.linalg.qr(np.random.default_rng(0).standard_normal((12, 7)))[0]
    X, Y = np.c_[Q[:, :1] + Q[:, 5:6], Q[:, 5:]], Q[:, :4]
    indices, scores = select_by_projectors(X, Y, 3, center=False)
    assert_array_equal(indices, [0])
    assert_allclose(scores, [0.5])
    assert len(select_by_projectors(X[:, 1:], Y, 2, center=False)[0]) == 0


def test_weak_candidates_are_still_picked_in_order_and_only_once():
    Q = np.linalg.qr(np.random.default_rng(0).standard_normal((12, 8)))[0]
    strength = np.array([1e-7, 1e-3, 1e-5])
    X = np.hstack([Q[:, 5:8] + strength * Q[:, :3]] * 2)
    indices, scores = select_by_projectors(X, Q[:, :5], 6, center=False)
    assert_array_equal(indices, [1, 2, 0])
    assert_allclose(np.sqrt(scores), strength[indices], rtol=1e-5)


@seeds
def test_with_references_equal_to_candidates_the_first_pick_is_index_zero(seed):
    X = np.random.default_rng(seed).standard_normal((30, 10))
    indices, scores = select_by_projectors(X, X, 10)
    assert indices[0] == 0
    assert_allclose(scores[0], 1.0)
    assert sorted(indices) == list(range(10))
    assert_array_equal(select_by_projectors(X[:, ::-1], X, 1)[0], [0])


def test_ties_go_to_the_lowest_index_within_the_relative_margin():
    Y = np.eye(4)[:, :1]

    def column(cosine):
        return [cosine, np.sqrt(1 - cosine**2), 0.0, 0.0]

    within = np.transpose([column(0.3), column(0.5 * (1 - 1e-12)), column(0.5)])
    beyond = np.transpose([column(0.3), column(0.5 * (1 - 1e-8)), column(0.5)])
    assert_array_equal(select_by_projectors(within, Y, 1, center=False)[0], [1])
    assert_array_equal(select_by_projectors(beyond, Y, 1, center=False)[0], [2])


@quick
@given(
    st.floats(-1e12, 1e12, allow_subnormal=False),
    st.integers(3, 200),
    st.integers(0, 2**32 - 1),
)
def test_constant_columns_are_never_picked_nor_referred_to(value, m, seed):
    rng = np.random.default_rng(seed)
    noisy = value * (1 + np.finfo(float).eps * rng.integers(-1, 2, m))
    X = np.c_[np.full(m, value), noisy, rng.standard_normal(m)]
    indices, scores = select_by_projectors(X, X[:, ::-1], 3)
    assert_array_equal(indices, [2])
    assert_allclose(scores, [1.0])
    assert len(select_by_projectors(X, X[:, :2], 3)[0]) == 0


def test_a_small_variation_on_a_large_mean_is_not_constant():
    z = np.random.default_rng(0).standard_normal(50)
    indices, scores = select_by_projectors(np.c_[np.ones(50), 1e12 + z], z[:, None], 2)
    assert_array_equal(indices, [1])
    assert_allclose(scores, [1.0], rtol=1e-6)


def test_a_long_constant_column_is_seen_whatever_the_order_of_summation():
    X = np.full((1500, 3), 0.1)
    assert len(select_by_projectors(X, X, 3)[0]) == 0


@quick
@given(st.integers(1, 10), st.integers(1, 8), st.integers(0, 5), st.integers(0, 2**32 - 1))
def test_scores_stay_in_bounds_and_fall_and_picks_are_independent(m, n_x, n_y, seed):
    rng = np.random.default_rng(seed)
    X = rng.integers(-2, 3, (m, n_x))  # many ties, copies and constant columns
    Y = rng.integers(-2, 3, (m, n_y))
    indices, scores = select_by_projectors(X, Y, n_x)
    assert indices.dtype.kind == "i"
    assert len(set(indices)) == len(indices) <= min(m - 1, n_x, n_y)
    assert ((scores > 1e-20) & (scores <= 1.0)).all()
    assert (np.diff(scores) <= 1e-9).all()
    assert all(np.ptp(X[:, k]) > 0 for k in indices)
    assert np.linalg.matrix_rank((X - X.mean(axis=0))[:, indices], tol=1e-6) == len(indices)


def test_long_selections_match_pivoted_qr_to_the_last_pick():
    rng = np.random.default_rng(0)
    X, Y = rng.standard_normal((150, 200)), rng.standard_normal((150, 100))
    indices, scores = select_by_projectors(X, Y, 200)
    expected, expected_scores = pivots(X, Y)
    assert_array_equal(indices, expected)
    assert_allclose(scores, expected_scores, rtol=1e-9)


# Errors


@pytest.mark.parametrize(
    ("A", "message"),
    [
        (np.ones(3), r"A must be 2-D, got 1-D with shape \(3,\); reshape it"),
        (np.ones((2, 2, 2)), r"A must be 2-D, got 3-D"),
        (np.ones((0, 2)), r"A has no rows \(shape \(0, 2\)\)"),
        ([[1.0, np.nan]], "A has NaN or infinite values, first in column 1; drop or impute"),
        ([[np.inf, 1.0]], "A has NaN or infinite values, first in column 0"),
        ([[1j, 1.0]], "A is complex; pass real numbers"),
    ],
)
def test_onto_names_what_is_wrong_with_the_array(A, message):
    with pytest.raises(ValueError, match=message):
        Projector.onto(A)


@pytest.mark.parametrize("tol", [-1e-3, 1.0, np.nan])
def test_tolerances_out_of_range_are_refused(tol):
    P = Projector.identity(2)
    for call in (
        lambda: Projector.onto(np.eye(2), tol=tol),
        lambda: intersection_anderson_duffin(P, P, tol=tol),
        lambda: intersection_ben_israel([P, P], tol=tol),
    ):
        with pytest.raises(ValueError, match=r"tol must be in \[0, 1\), got"):
            call()


def test_constructors_say_what_failed_and_by_how_much():
    with pytest.raises(ValueError, match=r"not orthonormal: max \|B'B - I\| = 3 .*Projector.onto"):
        Projector.from_basis(2.0 * np.eye(2))
    with pytest.raises(ValueError, match=r"P is not symmetric: max \|P - P'\| = 1 > tol"):
        Projector.from_matrix([[1.0, 1.0], [0.0, 0.0]])
    with pytest.raises(ValueError, match=r"P is not idempotent: max \|PP - P\| = 0.25 > tol"):
        Projector.from_matrix(0.5 * np.eye(2))
    with pytest.raises(ValueError, match=r"P must be square, got shape \(2, 3\)"):
        Projector.from_matrix(np.ones((2, 3)))
    for make in (Projector.identity, Projector.zero):
        for m in (0, -1, 1.5):
            with pytest.raises(ValueError, match=f"m must be an integer from 1 .*got {m}"):
                make(m)


def test_operators_say_why_the_result_is_no_projector():
    P = Projector.onto([[1.0], [0.0]])
    Q = Projector.onto([[0.6], [0.8]])
    with pytest.raises(ValueError, match=r"\|\|PQ - QP\|\| = 0.48; use intersection"):
        P * Q
    with pytest.raises(ValueError, match=r"\|\|PQ - QP\|\| = 0.48"):
        P @ Q
    with pytest.raises(ValueError, match=r"not orthogonal, their largest cosine is 0.6; use"):
        P + Q
    with pytest.raises(ValueError, match=r"a unit vector of Q's subspace is 0.8 away"):
        P - Q


def test_projectors_of_different_spaces_do_not_mix():
    P, Q = Projector.identity(3), Projector.identity(4)
    for call in (
        lambda: P + Q,
        lambda: P - Q,
        lambda: P * Q,
        lambda: P @ Q,
        lambda: P <= Q,
        lambda: P.allclose(Q),
        lambda: P.commutes_with(Q),
        lambda: P.is_orthogonal_to(Q),
        lambda: intersection(P, P, Q),
        lambda: intersection_von_neumann(P, Q),
        lambda: intersection_halperin([P, Q]),
        lambda: intersection_anderson_duffin(P, Q),
    ):
        with pytest.raises(ValueError, match=r"different spaces, R\^3 and R\^4; build them from"):
            call()


def test_applying_to_the_wrong_number_of_rows_or_dimensions_is_refused():
    P = Projector.identity(3)
    for call in (P, P.squared_norm, lambda x: P @ x, lambda x: intersect_with_complement(P, x)):
        with pytest.raises(ValueError, match=r"x has 4 rows, the projector acts on R\^3; pass 3"):
            call(np.ones(4))
    with pytest.raises(ValueError, match="x must be 1-D or 2-D, got 3-D"):
        P(np.ones((3, 1, 1)))
    with pytest.raises(ValueError, match="x must be 1-D, got 2-D"):
        intersect_with_complement(P, np.ones((3, 1)))
    with pytest.raises(TypeError):
        np.ones(3) @ P


def test_operators_refuse_what_is_no_projector():
    P = Projector.identity(3)
    for call in (
        lambda: P + 1,
        lambda: P * 2.0,
        lambda: P <= "Q",
        lambda: intersection(P, 1),
    ):
        with pytest.raises(TypeError, match=r"expected a Projector, got .*; build one with"):
            call()


def test_intersections_refuse_bad_arguments():
    P = Projector.identity(3)
    for call in (intersection, lambda: intersection_halperin([])):
        with pytest.raises(ValueError, match="projectors is empty; pass at least one"):
            call()
    for max_iter in (0, 41, 2.0):
        with pytest.raises(ValueError, match=f"max_iter .*from 1 to 40, got {max_iter}"):
            intersection_von_neumann(P, P, max_iter=max_iter)
    for weights in ([1.0], [1.0, 0.0], [1.0, -2.0], [1.0, 1e-30]):
        with pytest.raises(ValueError, match=r"weights must be 2 positive numbers.*got \[1.0"):
            intersection_ben_israel([P, P], weights=weights)


@pytest.mark.parametrize(
    ("X", "Y", "n", "message"),
    [
        (np.ones((3, 2)), np.ones((4, 2)), 1, "X has 3 rows and Y has 4; pass the same samples"),
        (np.ones(3), np.ones((3, 1)), 1, "X must be 2-D, got 1-D"),
        (np.ones((3, 1)), np.ones(3), 1, r"Y must be 2-D, got 1-D.*Y\[:, None\]"),
        (np.ones((3, 1)), [[1.0], [np.nan], [2.0]], 1, "Y has NaN or infinite values"),
        (np.ones((3, 2)), np.ones((3, 1)), 3, "n must be an integer from 1 to 2, got 3"),
        (np.ones((3, 2)), np.ones((3, 1)), 0, "n must be an integer from 1 to 2, got 0"),
        (np.ones((3, 2)), np.ones((3, 1)), 0.5, "n must be an integer from 1 to 2, got 0.5"),
    ],
)
def test_selection_names_the_argument_that_is_wrong(X, Y, n, message):
    with pytest.raises(ValueError, match=message):
        select_by_projectors(X, Y, n)


# The module


def test_examples_run():
    modules = (projectors.projector, projectors.intersections, projectors.selection)
    results = [doctest.testmod(module) for module in modules]
    assert sum(result.attempted for result in results) > 10
    assert not any(result.failed for result in results)


def test_public_names_are_sorted_exist_and_carry_examples():
    assert projectors.__all__ == sorted(projectors.__all__)
    for name in projectors.__all__:
        assert ">>>" in getattr(projectors, name).__doc__
