"""What the paper and the design promise, on the real data, where they are at hand."""

from __future__ import annotations

import os

import numpy as np
import pytest
from paper import paper_form

from projse import PAPER, StabilityProjSe, TwoViewProjSe, block_moments
from projse.datasets import load_mnist_halves
from projse.exceptions import UnreliableSelectionWarning

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(
        "PROJSE_DATA" not in os.environ, reason="PROJSE_DATA names no folder with the data sets"
    ),
]


@pytest.fixture(scope="module")
def halves():
    parts = [
        load_mnist_halves(subset=subset, return_X_y=True, download_if_missing=False)
        for subset in ("train", "test")
    ]
    return [half.astype(np.float64) for both in parts for half in both]


def test_mnist_halves_correlate_as_in_the_paper(halves):
    X, Y, X_test, Y_test = halves
    with pytest.warns(UnreliableSelectionWarning, match="a single row"):
        views = TwoViewProjSe(100, **PAPER).fit(X, Y)
    path = views.canonical_correlation_path(X_test, Y_test)
    assert np.isfinite(path).all(), "pixels that are on in one image give no NaN"
    assert path[[9, 19, 49, 99]] == pytest.approx([0.874, 0.890, 0.922, 0.938], abs=0.002)


def test_mnist_halves_need_no_pixels_of_one_image(halves):
    """Pixels at the border are on in one image each: with each other they correlate by 1, there."""
    X, Y, X_test, Y_test = halves
    form = {"alpha": "auto", "redundancy": "auto", "round_size": "auto"}
    views = TwoViewProjSe(20, **form).fit(X, Y)
    path = views.canonical_correlation_path(X_test, Y_test)
    assert (path > 0.8).all()
    assert path[-1] == pytest.approx(0.9081, abs=0.002)
    assert path[-1] == pytest.approx(views.canonical_correlations_[0], abs=0.02)


def test_stability_grid_of_the_paper_from_one_pass(halves):
    X, Y, *_ = halves
    blocks = block_moments(X, Y, 100, random_state=0, with_xx=False)
    grid = np.array(
        [
            StabilityProjSe(paper_form(5), 10, share, random_state=0)
            .fit_moments(blocks)
            .stability_path_
            for share in (0.1, 0.2, 0.3, 0.4, 0.5)
        ]
    )
    assert grid.shape == (5, 5)
    assert np.isfinite(grid).all()
    assert grid[-1].mean() > grid[0].mean() > 0.3, "more rows, steadier picks"
