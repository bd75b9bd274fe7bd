"""Stand-ins for variables of several columns, against dense projectors over the rows."""

from __future__ import annotations

import honest_groups
import numpy as np
import pandas as pd
import pytest
from honest_groups import Honest, draw
from patients import TARGETS, patients

from projse import PAPER, Moments, ProjSe
from projse.exceptions import ProductsMissingError
from projse.plots import RedundancyDisplay


def scores_given(X, Y, groups, others, alpha):
    """Scores and bases of all variables but some, given those, by the definition."""
    problem = Honest(X, Y, groups, alpha=alpha, include=others)
    yy = problem.Y.T @ problem.Y
    ridge = problem.alpha * np.eye(len(yy))
    inverse = np.linalg.inv(yy + ridge) if problem.alpha else np.linalg.pinv(yy, rcond=1e-10)
    mu = np.linalg.eigvalsh(yy)
    mu = mu[mu > 1e-10]
    bases = {v: problem.basis(v) for v in range(len(groups)) if v not in others}
    bases = {v: Q for v, Q in bases.items() if Q.shape[1]}
    dimension = problem.room - problem.hard.shape[1]
    chance = mu / (mu + problem.alpha), dimension, len(bases)
    scores = {}
    for v, Q in bases.items():
        yx = problem.Y.T @ Q
        scores[v] = honest_groups.adjusted(np.trace(yx.T @ inverse @ yx), Q.shape[1], *chance)
    return scores, bases


@pytest.mark.parametrize(
    "parameters",
    [{}, {"alpha": 0.1, "round_size": 2, "redundancy": 0.0}, PAPER],
    ids=["default", "rounds", "paper"],
)
def test_stand_ins_are_those_of_dense_projectors(seed, parameters):
    rng = np.random.default_rng(seed)
    X, Y, labels, groups = draw(rng, q=4)
    selector = ProjSe(3, groups=labels.tolist(), **parameters).fit(X, Y)
    names = selector.variable_names_.tolist()
    left = set(range(len(groups))) - set(selector.selected_.tolist())
    found = selector.stand_ins(2)
    assert len(found) == len(selector.selected_) * min(2, len(left))
    for pick in selector.selected_.tolist():
        others = [v for v in selector.selected_.tolist() if v != pick]
        scores, bases = scores_given(X, Y, groups, others, selector.alpha_)
        own = bases[pick]
        closeness = {v: np.sum((own.T @ bases[v]) ** 2) / own.shape[1] for v in left & set(bases)}
        best = sorted(closeness.values(), reverse=True)[:2]
        mine = [one for one in found if one.pick == names[pick]]
        np.testing.assert_allclose([one.closeness for one in mine], best, atol=1e-7)
        for one in mine:
            v = names.index(one.name)
            assert one.closeness == pytest.approx(closeness[v], abs=1e-7)
            if scores[pick] > 1e-6:
                assert one.keeps == pytest.approx(scores[v] / scores[pick], rel=1e-5, abs=1e-7)


def test_variables_of_one_column_each_have_the_stand_ins_of_columns(seed):
    X, Y, _, _ = draw(np.random.default_rng(seed))
    plain = ProjSe(3).fit(X, Y)
    # A category beside them makes the search one of variables; it is never picked.
    frame = pd.DataFrame(X, columns=[f"x{j}" for j in range(X.shape[1])])
    frame["label"] = np.array(["a", "b", "c"])[np.arange(len(X)) % 3]
    mixed = ProjSe(3, exclude=["label"]).fit(frame, Y)
    assert mixed.selected_names_.tolist() == plain.selected_names_.tolist()
    for one, other in zip(mixed.stand_ins(2), plain.stand_ins(2), strict=True):
        assert one[:2] == other[:2]
        assert one[2:] == pytest.approx(other[2:], rel=1e-6)


def test_a_copy_of_a_category_in_other_words_stands_in_for_all_of_it(seed):
    frame = patients(seed)
    features = frame[["age", "bmi", "city"]].assign(town=frame["city"].map(lambda c: f"{c}!"))
    selector = ProjSe(2, include=["city"], missing="mean").fit(features, frame[TARGETS])
    first = selector.stand_ins(1)[0]
    assert first[:2] == ("city", "town")
    assert first[2:] == pytest.approx((1.0, 1.0), abs=1e-6)
    assert selector.table(stand_ins=1)["stand_ins"][0] == "town"
    shown = RedundancyDisplay.from_estimator(selector)
    assert shown.correlations.shape == (2, 2 + len(shown.stand_ins))
    assert shown.correlations[0, 2 + list(shown.stand_ins).index("town")] == pytest.approx(1.0)


def test_more_outputs_than_rows_say_how_to_get_them(seed):
    rng = np.random.default_rng(seed)
    X, Y, labels, _ = draw(rng, m=30, q=40)
    wide = ProjSe(2, groups=labels.tolist())
    with pytest.raises(ProductsMissingError, match="fit_moments"):
        wide.fit(X, Y).stand_ins()
    assert wide.fit_moments(Moments.from_arrays(X, Y, with_xx=True)).stand_ins()


def test_nothing_covers_a_pick_that_the_others_explain_wholly(seed):
    rng = np.random.default_rng([seed, 1])
    X = rng.normal(size=(50, 6))
    X[:, 2] = X[:, 0] - 2 * X[:, 1]
    Y = X[:, [0]] + rng.normal(size=(50, 2))
    selector = ProjSe(2, groups=["pair", "pair", "sum", "a", "b", "b"], include=["pair", "sum"])
    of_sum = [one for one in selector.fit(X, Y).stand_ins(2) if one.pick == "sum"]
    assert [one.closeness for one in of_sum] == [0.0, 0.0]
    assert all(np.isnan(one.keeps) for one in of_sum)


@pytest.mark.parametrize("parameters", [{}, {"redundancy": 0.0}], ids=["soft", "hard"])
def test_a_copy_of_another_pick_comes_last_as_a_stand_in_of_columns_and_of_groups(seed, parameters):
    """Nothing is left of it, so that it covers nothing of the pick, and keeps nothing."""
    rng = np.random.default_rng([seed, 2])
    X = rng.normal(size=(50, 7))
    X[:, 4] = 3 * X[:, 0]
    Y = X[:, :2] + 0.3 * rng.normal(size=(50, 2))
    plain = ProjSe(2, include=[0, 1], **parameters).fit(X[:, :5], Y)
    groups = [*(f"x{j}" for j in range(5)), "pair", "pair"]
    grouped = ProjSe(2, include=["x0", "x1"], exclude=["pair"], groups=groups, **parameters)
    of_columns, of_groups = plain.stand_ins(3), grouped.fit(X, Y).stand_ins(3)
    assert [one[:2] for one in of_groups] == [one[:2] for one in of_columns]
    for one, other in zip(of_groups, of_columns, strict=True):
        assert one[2:] == pytest.approx(other[2:], abs=1e-8)
    assert of_groups[-1][1:] == ("x4", 0.0, 0.0)
