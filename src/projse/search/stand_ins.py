"""Stand-ins: for each pick, the variables left out that are closest to it given the other picks."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import scipy.linalg
from numpy.typing import NDArray

from projse.kernels.feature_gram import FeatureGram
from projse.kernels.some_columns import SomeColumns
from projse.search.rounds import Plan, ReferenceSpace

Array = NDArray[Any]


def partial_correlations(rows: Array, picks: Array, vanishing: float) -> Array:
    """Squared partial correlations of the picks with all candidates, given the other picks.

    Parameters
    ----------
    rows : ndarray of shape (k, n)
        ``K_SX``, of candidates of unit norm.
    picks : ndarray of int of shape (k,)
        S.
    vanishing : float
        What is left of a variable counts as nothing at or below this.

    Returns
    -------
    ndarray of shape (k, n)
        0 where nothing is left of the pick, or of the candidate.

    Notes
    -----
    With ``P = K_SS⁻¹``, the pick s has the norm ``1/P_ss`` given the others, and the product
    ``(P K_Sx)_s / P_ss`` with x: ``k² n`` flops for all picks. Where picks depend on each other, P
    does not exist and each is conditioned on the others by itself: ``k³ n``.
    """
    out = np.zeros(rows.shape)
    own = rows[:, picks]
    L = _factor(own, vanishing)
    if L is None:
        for s in range(len(picks)):
            others = np.delete(np.arange(len(picks)), s)
            out[s] = _given(rows, own, s, others, vanishing)
        return out
    A = scipy.linalg.solve_triangular(L, rows, lower=True, check_finite=False)
    left = np.maximum(1.0 - np.einsum("ij,ij->j", A, A), 0.0)
    inverse = scipy.linalg.solve_triangular(L, np.eye(len(picks)), lower=True, check_finite=False)
    norms = (inverse**2).sum(axis=0)
    for s, place in enumerate(inverse.T):
        shared = (place @ A) ** 2 / norms[s]
        _share(shared, left + shared, vanishing, out[s])
    return out


def nearest(closeness: Array, allowed: NDArray[np.bool_], n: int) -> Array:
    """Return the n closest of the allowed candidates a pick, closest first; −1 for none."""
    n_found = min(n, int(allowed.sum()))
    found = np.full((len(closeness), n), -1, dtype=np.intp)
    candidates = np.flatnonzero(allowed)
    for row, values in zip(found, closeness[:, candidates], strict=True):
        if not n_found:
            continue
        least = np.partition(values, len(values) - n_found)[len(values) - n_found]
        likely = np.flatnonzero(values >= least)
        row[:n_found] = candidates[likely[np.argsort(-values[likely], kind="stable")][:n_found]]
    return found


def shares_kept(gram: FeatureGram, plan: Plan, picks: Array, candidates: Array) -> Array:
    """Tell which share of a pick's score candidates would keep in its place.

    Both scores are given the other picks, as a selection has them that includes these.

    Parameters
    ----------
    gram : FeatureGram
        With the rows of ``K_XX`` of the picks.
    plan : Plan
        Of the selection.
    picks : ndarray of int of shape (k,)
    candidates : ndarray of int of shape (k, n)
        For each pick; −1 for none.

    Returns
    -------
    ndarray of shape (k, n)
        NaN where there is no candidate, and where the pick itself adds nothing to the others.

    Notes
    -----
    A factorisation of the references a pick. All picks but one are taken out for each: halves of
    the picks share what is taken out of both, so that is ``k log k`` steps instead of ``k²``, over
    the columns of picks and candidates alone.
    """
    kept = np.full(candidates.shape, np.nan)
    columns, places = np.unique(np.concatenate([picks, candidates.ravel()]), return_inverse=True)
    places = places - np.count_nonzero(columns < 0)
    gram = SomeColumns(gram, columns[columns >= 0])
    own, others = places[: len(picks)], places[len(picks) :].reshape(candidates.shape)
    plan = replace(plan, n_features=len(picks), keeps_rows=False)
    space = ReferenceSpace(gram, plan, gram.alive.copy())
    if space.largest is None and len(picks) > 1:
        space.open()
    for s, given_others in all_but_one(space, list(own[:, None]), np.arange(len(picks))):
        deflation, _ = given_others.open()
        scores = deflation.opening_scores()
        if scores[own[s]] > 0:
            there = candidates[s] >= 0
            kept[s, there] = scores[others[s, there]] / scores[own[s]]
    return kept


def all_but_one(
    space: ReferenceSpace, picks: Sequence[Array], left: Array
) -> Iterator[tuple[int, ReferenceSpace]]:
    """Yield each pick of those left, with the space once all others are taken out of it.

    ``picks`` are the columns of each.
    """
    if len(left) == 1:
        yield int(left[0]), space
        return
    half = len(left) // 2
    for part, rest in ((left[:half], left[half:]), (left[half:], left[:half])):
        if part.size:
            branch = space.copy()
            branch.condition_from_the_start(np.concatenate([picks[i] for i in rest]))
            yield from all_but_one(branch, picks, part)


def _factor(own: Array, vanishing: float) -> Array | None:
    """Return the Cholesky factor of picks that do not depend on each other; else None."""
    try:
        L: Array = scipy.linalg.cholesky(own, lower=True, check_finite=False)
    except np.linalg.LinAlgError:
        return None
    return L if (np.diag(L) ** 2 > vanishing).all() else None


def _given(rows: Array, own: Array, s: int, others: Array, vanishing: float) -> Array:
    """Squared correlations of pick s with all candidates, given some others that may depend."""
    values, vectors = np.linalg.eigh(own[np.ix_(others, others)])
    known = values > vanishing
    W = vectors[:, known] / np.sqrt(values[known])
    a, A = W.T @ own[others, s], W.T @ rows[others]
    norm = float(own[s, s] - a @ a)
    out = np.zeros(rows.shape[1])
    if norm > vanishing:
        shared = (rows[s] - a @ A) ** 2 / norm
        _share(shared, 1.0 - np.einsum("ij,ij->j", A, A), vanishing, out)
    return out


def _share(part: Array, whole: Array, vanishing: float, out: Array) -> None:
    np.divide(part, whole, out=out, where=whole > vanishing)
    np.minimum(out, 1.0, out=out)
