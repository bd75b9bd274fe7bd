"""The real data sets, and the one table that says in which half each of them is.

The halves are split by *source*: no rows of the half on which rules are chosen are in the half on
which they are reported, not even for another task. The table was fixed before any result.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Any

import numpy as np
from data import _at_hand, home
from sklearn import datasets as sklearn_sets
from sklearn.preprocessing import PolynomialFeatures

from projse import datasets as projse_sets
from quality.families import FAMILIES
from quality.problem import Array, Dataset, Kind, Problem, subsample

ROWS = 1000


@lru_cache(maxsize=1)
def _source(name: str) -> tuple[Array, Array]:
    """Return what a source holds, as floats and, for classes, integers."""
    X, Y = SOURCES[name]()
    X = np.asarray(X, dtype=np.float64)
    if Y.ndim == 1 and Y.dtype.kind != "f":
        return X, np.unique(Y, return_inverse=True)[1]
    return X, np.asarray(Y, dtype=np.float64).reshape(len(X), -1)


def _split(loader: Callable[..., Any]) -> Callable[[], tuple[Array, Array]]:
    def load() -> tuple[Array, Array]:
        parts = [_at_hand(loader, subset=subset) for subset in ("train", "test")]
        X, Y = (np.concatenate([np.asarray(p[i], dtype=float) for p in parts]) for i in (0, 1))
        return (X, Y.astype(int)) if Y.ndim == 1 else (X, Y)

    return load


def _small(name: str) -> Callable[[], tuple[Array, Array]]:
    def load() -> tuple[Array, Array]:
        path = home() / "quality" / f"{name}.npz"
        if not path.exists():
            raise FileNotFoundError(f"data not at hand: quality/{name}.npz in the data home")
        with np.load(path) as arrays:
            return arrays["X"], arrays["Y"]

    return load


def _mnist() -> tuple[Array, Array]:
    """Read 2000 test digits; both halves of an image side by side."""
    left, right = _at_hand(projse_sets.load_mnist_halves, subset="test")
    # The loader of the halves gives no labels, and the order of rows is that of the files.
    import gzip

    with gzip.open(home() / "mnist" / "t10k-labels-idx1-ubyte.gz") as file:
        labels = np.frombuffer(file.read(), np.uint8, offset=8)
    images, digits = subsample(np.hstack([left, right]), 2 * ROWS, labels.astype(int))
    return images, digits


def _cifar() -> tuple[Array, Array]:
    """Read 1500 images of 20 classes, 16 × 16 pixels in three channels."""
    X, y = _at_hand(projse_sets.load_cifar100)
    rows = np.flatnonzero(y < 20)
    rows = rows[np.random.default_rng(0).permutation(len(rows))[:1500]]
    images = X[rows].reshape(-1, 3, 16, 2, 16, 2).astype(float).mean(axis=(3, 5))
    return images.reshape(len(rows), -1), y[rows].astype(int)


def _patches(name: str) -> Callable[[], tuple[Array, Array]]:
    """Cut patches of 16 × 16 grey pixels: the middle 4 × 4 are to be told from the others."""

    def load() -> tuple[Array, Array]:
        image = sklearn_sets.load_sample_image(name).mean(axis=2)
        rng = np.random.default_rng(0)
        corners = rng.integers(0, np.array(image.shape) - 16, (ROWS, 2))
        patches = np.array([image[i : i + 16, j : j + 16] for i, j in corners])
        middle = np.zeros((16, 16), bool)
        middle[6:10, 6:10] = True
        return patches[:, ~middle], patches[:, middle]

    return load


def _toy(name: str) -> Callable[[], tuple[Array, Array]]:
    def load() -> tuple[Array, Array]:
        return getattr(sklearn_sets, f"load_{name}")(return_X_y=True)

    return load


def _from_r(file: str) -> Problem:
    """Read a table that ``r_sets.R`` wrote; its first letter is the kind."""
    folder = home() / "r"
    if not (folder / f"{file}.X.csv").exists():
        raise FileNotFoundError(f"{file}: not at hand; r_sets.R writes it to {folder.name}/")
    X, Y = (np.loadtxt(folder / f"{file}.{part}.csv", delimiter=",", ndmin=2) for part in "XY")
    X, Y = subsample(X, ROWS, Y)
    X, Y = X[:, X.std(axis=0) > 1e-9], Y[:, Y.std(axis=0) > 0]
    if file[0] == "o":
        return Problem(X)
    return Problem(X, np.unique(Y[:, 0], return_inverse=True)[1] if file[0] == "c" else Y)


def _from_package(file: str) -> Problem:
    """Read arrays that ``package_sets.py`` wrote; the first letter of the file is the kind."""
    path = home() / "packages" / f"{file}.npz"
    if not path.exists():
        raise FileNotFoundError(f"{file}: not at hand; package_sets.py writes it to packages/")
    with np.load(path) as arrays:
        X, Y = arrays["X"], arrays["Y"]
    X = X[:, X.std(axis=0) > 1e-9]
    return Problem(X) if file[0] == "o" else Problem(X, Y)


SOURCES: dict[str, Callable[[], tuple[Array, Array]]] = {
    "mnist": _mnist,
    "cifar100": _cifar,
    "glioma": lambda: _at_hand(projse_sets.load_glioma),
    "eleven_tumors": lambda: _at_hand(projse_sets.load_eleven_tumors),
    "crop": _split(projse_sets.load_crop),
    "shapesall": _split(projse_sets.load_shapesall),
    "mediamill": _split(projse_sets.load_mediamill_subset),
    **{name: _small(name) for name in ("nutrimouse", "yeast", "warpPIE", "lung_small")},
    **{n: _toy(n) for n in ("digits", "diabetes", "wine", "breast_cancer", "iris", "linnerud")},
    "china": _patches("china.jpg"),
    "flower": _patches("flower.jpg"),
}


def _all(name: str, rows: int = ROWS) -> Problem:
    """Return the problem as it comes: candidates against outputs or classes."""
    return Problem(*subsample(_source(name)[0], rows, _source(name)[1]))


def _polynomial(name: str, degree: int) -> Problem:
    X, Y = _source(name)
    X = (X - X.mean(axis=0)) / X.std(axis=0)
    return Problem(PolynomialFeatures(degree, include_bias=False).fit_transform(X), Y)


def _logarithm(name: str) -> Problem:
    """Return intensities on a log scale, from the noise floor up."""
    X, y = _source(name)
    return Problem(np.log2(np.maximum(X, 16)), y)


def _one_view(name: str, columns: int = 600, rows: int = 600) -> Problem:
    X = _logarithm(name).X if name == "eleven_tumors" else _source(name)[0]
    (X,) = subsample(X, rows)
    (kept,) = subsample(X.T, columns)
    return Problem(kept.T)


def _genes(name: str, n_x: int, n_y: int) -> Problem:
    """Tell some genes from others."""
    X = _one_view(name, n_x + n_y).X
    return Problem(X[:, :n_x], X[:, n_x:])


def _later(name: str, first: int, step: int = 1) -> Problem:
    """Tell the later columns (points in time, pixels) from the first ones."""
    (X,) = subsample(_source(name)[0], ROWS)
    return Problem(X[:, :first], X[:, first::step])


def _reverse(name: str) -> Problem:
    X, Y = _source(name)
    return Problem(Y, X)


def _real(
    name: str, kind: Any, half: Any, load: Callable[..., Problem], source: str, *sizes: int
) -> Dataset:
    return Dataset(name, kind, half, lambda: load(source, *sizes), source)


REAL = (
    # Sources of the tuning half: crop, eleven_tumors, warpPIE, yeast, nutrimouse, digits, diabetes,
    # wine, china.
    _real("crop", "classes", "tune", _all, "crop"),
    _real("eleven_tumors", "classes", "tune", _logarithm, "eleven_tumors"),
    _real("warpPIE", "classes", "tune", _all, "warpPIE"),
    _real("digits", "classes", "tune", _all, "digits"),
    _real("wine", "classes", "tune", _all, "wine"),
    _real("yeast", "labels", "tune", _all, "yeast"),
    _real("nutrimouse", "numbers", "tune", _all, "nutrimouse"),
    _real("nutrimouse genes", "numbers", "tune", _reverse, "nutrimouse"),
    _real("diabetes squares", "numbers", "tune", _polynomial, "diabetes", 2),
    _real("crop later", "numbers", "tune", _later, "crop", 36),
    _real("digits lower", "numbers", "tune", _later, "digits", 32),
    _real("tumor genes", "numbers", "tune", _genes, "eleven_tumors", 500, 100),
    _real("china patches", "numbers", "tune", _all, "china"),
    _real("nutrimouse views", "two views", "tune", _all, "nutrimouse"),
    _real("digits views", "two views", "tune", _later, "digits", 32),
    _real("crop views", "two views", "tune", _later, "crop", 23),
    _real("crop columns", "one view", "tune", _one_view, "crop"),
    _real("digits columns", "one view", "tune", _one_view, "digits"),
    _real("nutrimouse columns", "one view", "tune", _one_view, "nutrimouse"),
    _real("tumor columns", "one view", "tune", _one_view, "eleven_tumors"),
    _real("warpPIE columns", "one view", "tune", _one_view, "warpPIE"),
    _real("yeast columns", "one view", "tune", _one_view, "yeast"),
    # Sources of the reporting half: mnist, glioma, shapesall, lung_small, cifar100, breast_cancer,
    # iris, mediamill, linnerud, flower.
    _real("mnist", "classes", "report", _all, "mnist"),
    _real("glioma", "classes", "report", _all, "glioma"),
    _real("shapesall", "classes", "report", _all, "shapesall"),
    _real("lung_small", "classes", "report", _all, "lung_small"),
    _real("cifar100", "classes", "report", _all, "cifar100"),
    _real("breast_cancer", "classes", "report", _all, "breast_cancer"),
    _real("iris cubes", "classes", "report", _polynomial, "iris", 3),
    _real("mediamill", "labels", "report", _all, "mediamill"),
    _real("linnerud cubes", "numbers", "report", _polynomial, "linnerud", 3),
    _real("glioma genes", "numbers", "report", _genes, "glioma", 500, 100),
    _real("shapes later", "numbers", "report", _later, "shapesall", 256, 8),
    _real("cancer worst", "numbers", "report", _later, "breast_cancer", 20),
    _real("mnist right", "numbers", "report", _later, "mnist", 392, 4),
    _real("lung genes", "numbers", "report", _genes, "lung_small", 265, 60),
    _real("flower patches", "numbers", "report", _all, "flower"),
    _real("mnist views", "two views", "report", _later, "mnist", 392),
    _real("mediamill views", "two views", "report", _all, "mediamill"),
    _real("lung views", "two views", "report", _genes, "lung_small", 165, 160),
    _real("mnist columns", "one view", "report", _one_view, "mnist"),
    _real("glioma columns", "one view", "report", _one_view, "glioma"),
    _real("shapes columns", "one view", "report", _one_view, "shapesall"),
    _real("lung columns", "one view", "report", _one_view, "lung_small"),
    _real("cifar columns", "one view", "report", _one_view, "cifar100"),
    _real("mediamill columns", "one view", "report", _one_view, "mediamill"),
)

KINDS: dict[str, Kind] = {
    "n": "numbers",
    "c": "classes",
    "v": "two views",
    "o": "one view",
}
# Sources of the tuning half that R packages carry.
FILES = {
    "n": "tecator bbb cox2 yarn gasoline vare vare_rev mite doubs mafragh ALLgenes chicago "
    "chicago5 pd concrete2 ames boston2 tricho jv73",
    "c": "dhfr mdrr ad sonar satellite vehicle2 ionosphere scat",
    "v": "vare doubs mafragh pd sonar tricho",
    "o": "bci rpjdl aviurba ALL cells chicago pd sonar rhone",
}
FROM_R = tuple(
    _real(f"R {name} {KINDS[kind]}", KINDS[kind], "tune", _from_r, f"{kind}_{name}")
    for kind, names in FILES.items()
    for name in names.split()
)

# Sources that Python packages carry; no rule was chosen or changed after they were looked at.
CARRIED = {
    "n": "Adiac ECG200 ChlorineConcentration DistalPhalanxTW fermentation faces leukaemia brain",
    "c": "Adiac Beef Car Coffee ECG5000 FaceFour Fungi DodgerLoopDay coffee_spectra faces "
    "leukaemia",
    "v": "ECG5000 coffee_spectra faces leukaemia brain",
    "o": "Fish ECG5000 Beef coffee_spectra faces leukaemia brain",
}
FROM_PACKAGES = tuple(
    _real(f"P {name} {KINDS[kind]}", KINDS[kind], "fresh", _from_package, f"{kind}_{name}")
    for kind, names in CARRIED.items()
    for name in names.split()
)

DATASETS = {dataset.name: dataset for dataset in (*REAL, *FROM_R, *FROM_PACKAGES, *FAMILIES)}
