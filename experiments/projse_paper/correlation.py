"""First canonical correlation on rows that were not used to find it, three ways."""

from __future__ import annotations

import importlib.util
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.kernel_approximation import RBFSampler

from projse import Moments
from projse_paper.store import NotRun
from projse_paper.svm import mean_distance_gamma

Array = NDArray[Any]
Views = tuple[Array, Array, Array, Array]

CUT = 1e-10
"""Directions of a view with less than this share of its largest eigenvalue are dropped."""

DCCA_SETTINGS = {
    "hidden": 256,
    "components": 10,
    "epochs": 10,
    "batch": 2000,
    "learning_rate": 1e-3,
    "reg_covar": 1e-4,
    "seed": 0,
}


def first_correlation(
    X: Array, Y: Array, X_test: Array, Y_test: Array, *, ridges: Sequence[float] = (0.0,)
) -> tuple[list[float], list[float]]:
    """Return the first canonical correlation on the training rows, and on the test rows.

    One value a ridge, which is a share of the mean eigenvalue of a view.
    """
    A, B = X - X.mean(axis=0), Y - Y.mean(axis=0)
    products = A.T @ A, B.T @ B, A.T @ B
    train, test = [], []
    for ridge in ridges:
        a, b, rho = _directions(*products, ridge)
        train.append(rho)
        test.append(_correlation(X_test @ a, Y_test @ b))
    return train, test


def first_correlation_of(
    views: Views, x_picks: Array, y_picks: Array, moments: Moments
) -> tuple[float, float]:
    """Do the same for some columns, with the products taken from the moments of the rows."""
    assert moments.xx is not None
    assert moments.yy is not None
    xy = moments.yx[np.ix_(y_picks, x_picks)].T
    xx, yy = moments.xx[np.ix_(x_picks, x_picks)], moments.yy[np.ix_(y_picks, y_picks)]
    a, b, rho = _directions(xx, yy, xy, 0.0)
    return rho, _correlation(views[2][:, x_picks] @ a, views[3][:, y_picks] @ b)


def random_features(
    x: tuple[Array, Array], y: tuple[Array, Array], n: int, seed: int
) -> list[tuple[Array, Array]]:
    """Map training and test rows of both views to random Fourier features (Lopez-Paz et al. 2014).

    n features a view, for an RBF kernel with σ the mean distance between training rows.
    """
    mapped = []
    for side, (A, A_test) in enumerate((x, y)):
        sampler = RBFSampler(
            gamma=mean_distance_gamma(A), n_components=n, random_state=10 * seed + side
        )
        mapped.append((sampler.fit_transform(A), sampler.transform(A_test)))
    return mapped


def deep_correlation(X: Array, Y: Array, X_test: Array, Y_test: Array) -> tuple[float, float]:
    """DCCA of cca-zoo: one hidden layer a view, then linear CCA of the two encodings."""
    for module in ("torch", "lightning", "cca_zoo"):
        if importlib.util.find_spec(module) is None:
            raise NotRun(f"{module} is not installed (pip install 'experiments[cca]')")
    import torch
    from cca_zoo.deep import DCCA, MultiviewDataset
    from lightning.pytorch import Trainer, seed_everything
    from torch.utils.data import DataLoader

    settings = DCCA_SETTINGS
    seed_everything(settings["seed"], verbose=False)
    scale = [max(float(np.abs(A).max()), 1.0) for A in (X, Y)]
    train, test = (
        [(A / s).astype(np.float32) for A, s in zip(pair, scale, strict=True)]
        for pair in ((X, Y), (X_test, Y_test))
    )

    def encoder(n: int) -> Any:
        hidden = int(settings["hidden"])
        return torch.nn.Sequential(
            torch.nn.Linear(n, hidden),
            torch.nn.ReLU(),
            torch.nn.Linear(hidden, int(settings["components"])),
        )

    model = DCCA(
        n_components=int(settings["components"]),
        encoders=[encoder(X.shape[1]), encoder(Y.shape[1])],
        learning_rate=settings["learning_rate"],
        reg_covar=settings["reg_covar"],
    )
    loader = DataLoader(
        MultiviewDataset(train), batch_size=int(settings["batch"]), shuffle=True, drop_last=True
    )
    Trainer(
        max_epochs=int(settings["epochs"]),
        accelerator="cpu",
        logger=False,
        enable_progress_bar=False,
        enable_checkpointing=False,
        enable_model_summary=False,
    ).fit(model, loader)
    model.eval()
    with torch.no_grad():
        codes = [
            code.numpy().astype(np.float64)
            for pair in (train, test)
            for code in model([torch.from_numpy(A) for A in pair])
        ]
    train_rho, test_rho = first_correlation(codes[0], codes[1], codes[2], codes[3])
    return train_rho[0], test_rho[0]


def _directions(xx: Array, yy: Array, xy: Array, ridge: float) -> tuple[Array, Array, float]:
    x_whitening, y_whitening = _whitening(xx, ridge), _whitening(yy, ridge)
    U, s, Vt = np.linalg.svd(x_whitening.T @ xy @ y_whitening, full_matrices=False)
    return x_whitening @ U[:, 0], y_whitening @ Vt[0], float(min(s[0], 1.0))


def _whitening(C: Array, ridge: float) -> Array:
    values, V = np.linalg.eigh(C)
    values = values + ridge * values.mean()
    kept = values > CUT * values[-1]
    return V[:, kept] / np.sqrt(values[kept])


def _correlation(a: Array, b: Array) -> float:
    if np.ptp(a) == 0 or np.ptp(b) == 0:
        return 0.0
    return float(np.corrcoef(a, b)[0, 1])
