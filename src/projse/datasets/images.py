"""Loaders of images: one image a row, one pixel (and colour) a column."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from projse.datasets.bunch import Loaded
from projse.datasets.checks import check_labels, check_shape, stack
from projse.datasets.cifar import read_cifar_archive, read_cifar_npz
from projse.datasets.content import damaged, read_content
from projse.datasets.idx import read_idx
from projse.datasets.loader import Find, loader_of_subsets
from projse.datasets.registry import CIFAR100, MNIST

SIDE = 28
PIXELS = np.array([[f"pixel_{row}_{column}" for column in range(SIDE)] for row in range(SIDE)])
COLOURS = [
    f"{colour}_{row}_{column}"
    for colour in ("red", "green", "blue")
    for row in range(32)
    for column in range(32)
]


@loader_of_subsets(
    (60000, 784),
    """
    ``data`` (uint8, 28 × 28 pixels row by row), ``target`` (the digit), ``feature_names``
    (``pixel_row_column``), ``target_names``, ``frame``, ``DESCR``, ``filenames``.
    """,
)
def load_mnist(parts: list[str], find: Find) -> Loaded:
    """Load MNIST: handwritten digits, 60000 + 10000 × 784, 10 classes."""
    images, target, target_names, paths = _mnist(parts, find)
    return Loaded(
        MNIST,
        data=images.reshape(len(images), -1),
        target=target,
        feature_names=PIXELS.ravel().tolist(),
        target_names=target_names,
        paths=paths,
    )


@loader_of_subsets(
    (60000, 392),
    """
    ``data`` (uint8, the left 28 × 14 pixels row by row), ``target`` (the right ones),
    ``feature_names`` and ``target_names`` (``pixel_row_column``, as in the whole image),
    ``labels`` (the digits), ``frame``, ``DESCR``, ``filenames``.
    """,
)
def load_mnist_halves(parts: list[str], find: Find) -> Loaded:
    """Load MNIST as two views: the left and the right half of each image, 392 pixels each."""
    images, labels, _, paths = _mnist(parts, find)
    left, right = np.split(images, 2, axis=2)
    left_names, right_names = np.split(PIXELS, 2, axis=1)
    return Loaded(
        MNIST,
        data=left.reshape(len(images), -1),
        target=right.reshape(len(images), -1),
        feature_names=left_names.ravel().tolist(),
        target_names=right_names.ravel().tolist(),
        paths=paths,
        more={"labels": labels},
    )


@loader_of_subsets(
    (50000, 3072),
    """
    ``data`` (uint8: red, green, blue, each 32 × 32 pixels row by row), ``target`` (the fine
    class), ``feature_names`` (``colour_row_column``), ``target_names`` (names of the
    classes), ``frame``, ``DESCR``, ``filenames``.
    """,
)
def load_cifar100(parts: list[str], find: Find) -> Loaded:
    """Load CIFAR-100: colour images, 50000 + 10000 × 3072, 100 classes.

    The official archive is read with an unpickler that builds arrays and nothing else. Training
    rows may also come from ``cifar100_train.npz``: the same images, in the order of the classes.
    """
    paths = find(CIFAR100, parts)
    data, target, target_names = [], [], None
    for part, path in paths.items():
        npz = path.suffix == ".npz"
        limit = CIFAR100.max_bytes
        X, labels, names = (
            read_cifar_npz(path, limit) if npz else read_cifar_archive(path, part, limit)
        )
        check_shape(X, CIFAR100, part, path)
        codes, found = check_labels(labels, CIFAR100, part, path)
        if len(names) != CIFAR100.n_targets or found != [str(c) for c in range(len(names))]:
            raise damaged(path, "its labels and the names of its classes do not fit together")
        if target_names not in (None, names):
            raise damaged(path, "its classes are not those of the training part")
        data.append(X)
        target.append(codes)
        target_names = names
    return Loaded(
        CIFAR100,
        data=stack(data),
        target=stack(target),
        feature_names=list(COLOURS),
        target_names=target_names or [],
        paths=paths.values(),
    )


def _mnist(
    parts: list[str], find: Find
) -> tuple[NDArray[np.uint8], NDArray[np.int64], list[str], list[Any]]:
    """Read images (n × 28 × 28), digits, their names, and the paths they came from."""
    files = [f"{part} {kind}" for part in parts for kind in ("images", "labels")]
    paths = find(MNIST, files)
    data, target = [], []
    names: list[str] = []
    for part in parts:
        path = paths[f"{part} images"]
        images = read_idx(read_content(path, MNIST.max_bytes), path)
        if images.shape[1:] != (SIDE, SIDE) or images.dtype != np.uint8:
            raise damaged(path, f"{images.shape[1:]} of {images.dtype} is no image of MNIST")
        check_shape(images.reshape(len(images), -1), MNIST, part, path)
        path = paths[f"{part} labels"]
        labels = read_idx(read_content(path, MNIST.max_bytes), path)
        codes, names = check_labels(labels, MNIST, part, path)
        data.append(images)
        target.append(codes)
    return stack(data), stack(target), names, list(paths.values())
