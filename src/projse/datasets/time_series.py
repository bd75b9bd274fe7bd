"""Loaders of time series from the UCR archive: one series a row, one point in time a column."""

from __future__ import annotations

from pathlib import Path

from projse.datasets.bunch import Loaded
from projse.datasets.checks import check_labels, check_shape, stack
from projse.datasets.content import damaged, read_content, read_member
from projse.datasets.dataset import DataSet
from projse.datasets.loader import Find, loader_of_subsets
from projse.datasets.registry import CROP, SHAPESALL, THORAX
from projse.datasets.table import Floats, Integers
from projse.datasets.ucr import read_ucr


@loader_of_subsets((7200, 46))
def load_crop(parts: list[str], find: Find) -> Loaded:
    """Load Crop: time series of satellite images, 7200 + 16800 × 46, 24 classes."""
    return _load(CROP, parts, find)


@loader_of_subsets((1800, 750))
def load_thorax(parts: list[str], find: Find) -> Loaded:
    """Load NonInvasiveFetalECGThorax1: electrocardiograms, 1800 + 1965 × 750, 42 classes."""
    return _load(THORAX, parts, find)


@loader_of_subsets((600, 512))
def load_shapesall(parts: list[str], find: Find) -> Loaded:
    """Load ShapesAll: outlines of shapes, 600 + 600 × 512, 60 classes."""
    return _load(SHAPESALL, parts, find)


def _load(dataset: DataSet, parts: list[str], find: Find) -> Loaded:
    paths = find(dataset, parts)
    data, target, target_names = [], [], None
    for part, path in paths.items():
        X, labels = _read(path, f"{dataset.name}_{part.upper()}", dataset.max_bytes)
        check_shape(X, dataset, part, path)
        codes, names = check_labels(labels, dataset, part, path)
        if target_names not in (None, names):
            raise damaged(path, "its labels are not those of the training part")
        data.append(X)
        target.append(codes)
        target_names = names
    return Loaded(
        dataset,
        data=stack(data),
        target=stack(target),
        feature_names=[f"t{column}" for column in range(dataset.n_features)],
        target_names=target_names or [],
        paths=paths.values(),
    )


def _read(path: Path, stem: str, limit: int) -> tuple[Floats, Integers]:
    if path.suffix == ".zip":
        member, content = read_member(
            path, [f"{stem}.{end}" for end in ("ts", "tsv", "txt", "arff")], limit
        )
        return read_ucr(content, path / member)
    return read_ucr(read_content(path, limit), path)
