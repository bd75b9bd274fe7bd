"""Ways to run a selection that must agree, and what agreeing means.

Two correct implementations agree in scores to rounding, and in picks up to the first near tie:
there each may take its own, and nothing after it can be compared. `Agreement` also counts, so
that a batch of comparisons cannot pass by hardly comparing anything.
"""

from __future__ import annotations

import warnings
from itertools import pairwise

import numpy as np
import scipy.sparse as sp

from projse import Moments
from projse.exceptions import RankExhaustedWarning


class Agreement:
    """Check pairs of selections, and count those compared to the end.

    `near`: a relative gap to the runner-up below this lets two implementations part. `rtol`:
    allowed relative difference of scores, and `atol` relative to the largest score. Picks that
    score less than `noise` times the largest may be missing on one side.
    """

    def __init__(self, near=1e-8, rtol=1e-8, atol=1e-10, noise=1e-10):
        self.near, self.rtol, self.atol, self.noise = near, rtol, atol, noise
        self.total = self.full = 0

    def check(self, selector, want, label=""):
        """Compare a fitted selector with `want`: a fitted selector, or (indices, scores)."""
        if hasattr(want, "selected_"):
            want = want.selected_, want.scores_
        got, scores, margins = selector.selected_, selector.scores_, selector.margins_
        indices, expected = (np.asarray(part) for part in want)
        self.total += 1
        common = min(len(got), len(indices))
        size = max(scores.max(initial=0.0), expected.max(initial=0.0))
        parted = np.flatnonzero(got[:common] != indices[:common])
        n = int(parted[0]) if parted.size else common
        context = f"{label}: got {got} {scores}, want {indices} {expected}, margins {margins}"
        if n < common:
            tied = margins[n] < self.near or scores[n] <= self.noise * size
            assert tied, f"different picks without a tie at {n}; {context}"
        np.testing.assert_allclose(
            scores[: n + 1][:common],
            expected[: n + 1][:common],
            rtol=max(self.rtol, self.near) if n < common else self.rtol,
            atol=self.atol * size,
            err_msg=context,
        )
        if n == common:
            rest = np.concatenate([scores[common:], expected[common:]])
            assert np.all(rest <= self.noise * size), f"lengths differ; {context}"
            self.full += 1

    def assert_mostly_full(self, share=0.9):
        assert self.total, "nothing was compared"
        assert self.full >= share * self.total, f"only {self.full} of {self.total} in full"


def check(selector, want, label="", **tolerances):
    """Compare one pair whose picks the data decide: it must agree to the end."""
    agreement = Agreement(**tolerances)
    agreement.check(selector, want, label)
    agreement.assert_mostly_full()


def quietly(call, *args, **kwargs):
    """Call where running out of reference space is no news."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RankExhaustedWarning)
        return call(*args, **kwargs)


def fit(selector, *args, **kwargs):
    return quietly(selector.fit, *args, **kwargs)


def as_is(A):
    return A


def _whole(make_x, make_y, **parameters):
    def route(selector, X, Y):
        return fit(selector.set_params(**parameters), make_x(X), None if Y is None else make_y(Y))

    return route


def _in_batches(make):
    def route(selector, X, Y):
        cuts = [0, 1, len(X) // 3, len(X)]  # one row has no spread
        for start, stop in pairwise(cuts):
            part = slice(start, stop)
            selector.partial_fit(make(X[part]), None if Y is None else make(Y[part]))
        return selector

    return route


ROUTES = {
    "auto": _whole(as_is, as_is),
    "gram": _whole(as_is, as_is, solver="gram"),
    "qr": _whole(as_is, as_is, solver="qr"),
    "order F": _whole(np.asfortranarray, np.asfortranarray),
    "csr X": _whole(sp.csr_array, as_is),
    "csr Y": _whole(as_is, sp.csr_matrix),
    "csc": _whole(sp.csc_matrix, sp.csc_array),
    "moments": lambda s, X, Y: quietly(s.fit_moments, Moments.from_arrays(X, Y, with_xx=True)),
    "batches": _in_batches(as_is),
    "csr batches": _in_batches(sp.csr_array),
}
"""How to fit a selector: ``route(selector, X, Y)`` with dense X and Y."""

ONE_VIEW = ["auto", "order F", "csc", "moments", "batches", "csr batches"]
"""Routes for Y = None."""
