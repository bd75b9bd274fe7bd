"""The examples of the loaders run, where the data are at hand."""

from __future__ import annotations

import doctest

import pytest

from projse import datasets
from projse.exceptions import DatasetMissingError

LARGE = {"load_cifar100", "load_crop", "load_mediamill", "load_mnist", "load_mnist_halves"}
LOADERS = [name for name in datasets.__all__ if name.startswith("load_")]


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=[pytest.mark.slow] * (name in LARGE)) for name in LOADERS]
)
def test_the_example_of_a_loader_runs(name):
    load = getattr(datasets, name)
    try:
        load(download_if_missing=False)
    except DatasetMissingError:
        pytest.skip("the data are not at hand")
    (example,) = doctest.DocTestFinder().find(load, name, module=False, globs={})
    assert len(example.examples) == 3
    assert doctest.DocTestRunner().run(example).failed == 0
