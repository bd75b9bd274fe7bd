"""Problems of many kinds, and the selection by its definition, every kernel written out."""

from __future__ import annotations

import numpy as np
from agreement import ROUTES
from paper import paper_form


def draw(rng, family):
    """Candidates and references: correlated, with means, in half of the cases mostly zero."""
    fat = family.startswith("fat")
    m, p, q = rng.integers(8, 13) if fat else rng.integers(30, 80), rng.integers(5, 16), 4
    if fat:
        p, q = rng.integers(15, 30), rng.integers(14, 20)
    X = rng.normal(size=(m, p)) * rng.uniform(0.1, 10, p) + rng.normal(size=p)
    if rng.random() < 0.5:
        X *= rng.random(X.shape) < 0.4
        X[:2] += rng.normal(size=(2, p))
    mix = rng.normal(size=(p, q)) * (rng.random((p, q)) < 0.5)
    Y = X @ mix + rng.normal(size=(m, q)) * rng.uniform(0.5, 5, q) + rng.normal(size=q)
    if family.endswith("deficient"):
        Y = Y[:, :3] @ rng.normal(size=(3, q + 2))
    elif family == "duplicates":
        X = np.concatenate([X, X[:, rng.permutation(p)[:4]]], axis=1)
        Y = np.concatenate([Y, -2 * Y[:, :1], Y[:, 1:2]], axis=1)
    elif family == "one output":
        Y = Y[:, :1]
    elif family == "same":
        Y = X.copy()
    elif family == "constants":
        X[:, rng.permutation(p)[:2]] = 0.1, 0.0
        Y[:, 1:3] = 1e6 / 3, 0.0
    return X, Y


FAMILIES = ["tall", "fat", "deficient", "fat deficient", "duplicates", "one output"]
FAMILIES += ["same", "constants"]


def by_fit(X, Y, route="auto", **parameters):
    return ROUTES[route](paper_form(X.shape[1], exhausted="stop", **parameters), X, Y)


def columns(A, center, scale):
    """Columns as the kernel sees them; a column that is constant is left out by its index."""
    A = A - A.mean(axis=0) if center else A.copy()
    norms = np.linalg.norm(A, axis=0)
    live = np.flatnonzero(norms > 1e-9)
    return (A[:, live] / norms[live] if scale else A[:, live]), live


def distances(A, B):
    return np.sqrt(((A[:, :, None] - B[:, None, :]) ** 2).sum(axis=0))


def kernel_function(X, Y, kernel="linear", degree=3, coef0=0.0, gamma="mean_distance"):
    if callable(kernel):
        return kernel
    if kernel == "linear":
        return lambda A, B: A.T @ B
    if kernel == "poly":
        return lambda A, B: (A.T @ B + coef0) ** degree
    if gamma == "mean_distance":
        q = Y.shape[1]
        sigma = distances(Y, Y).sum() / (q * (q - 1)) if q > 1 else distances(Y, X).mean()
        gamma = 1 / (2 * sigma**2)
    return lambda A, B: np.exp(-gamma * distances(A, B) ** 2)


def literal(
    X, Y, *, center=True, scale=True, center_kernel=False, alpha=0.0, rank=None, tol=None, **kernel
):
    """Select by the definition: kernels from rows, a basis of Y's span, P_t written out in full."""
    (X, x_live), (Y, _) = columns(X, center, scale), columns(Y, center, scale)
    kappa = kernel_function(X, Y, **kernel)
    K_yy, K_yx, K_xx = kappa(Y, Y), kappa(Y, X), kappa(X, X)
    K_yx = K_yx / np.sqrt(np.outer(np.diag(K_yy), np.diag(K_xx)))
    K_yy, K_xx = (K / np.sqrt(np.outer(np.diag(K), np.diag(K))) for K in (K_yy, K_xx))
    if center_kernel:
        H_y, H_x = (np.eye(len(K)) - 1 / len(K) for K in (K_yy, K_xx))
        K_yy, K_yx, K_xx = H_y @ K_yy @ H_y, H_y @ K_yx @ H_x, H_x @ K_xx @ H_x
        dy, dx = np.sqrt(np.diag(K_yy)), np.sqrt(np.diag(K_xx))
        K_yy, K_yx = K_yy / np.outer(dy, dy), K_yx / np.outer(dy, dx)
    V, s, _ = np.linalg.svd(K_yy, hermitian=True)
    kept = s > s[0] * (1e-12 if tol is None else tol)
    if isinstance(rank, float):
        kept &= np.cumsum(s) - s < rank * s.sum()
    elif rank is not None:
        kept[rank:] = False
    R = (V[:, kept] / np.sqrt(s[kept] + alpha)).T @ K_yx
    if not alpha and rank is None and tol is None:
        inverse = np.linalg.pinv(K_yy, rcond=1e-12, hermitian=True)
        np.testing.assert_allclose((R**2).sum(axis=0), np.diag(K_yx.T @ inverse @ K_yx), atol=1e-9)
    P = np.eye(len(R))
    picks, scores, left = [], [], np.ones(R.shape[1], dtype=bool)
    while len(picks) < len(R) and left.any():
        score = np.where(left, ((P @ R) ** 2).sum(axis=0), -1.0)
        j = int(np.flatnonzero(score >= score.max() * (1 - 1e-10))[0])
        if score[j] < 1e-20:
            break
        picks.append(x_live[j])
        scores.append(score[j])
        left[j] = False
        shadow = P @ R[:, j]
        P = P - np.outer(shadow, shadow) / (R[:, j] @ shadow)
    return np.array(picks), np.array(scores)


def exponential(A, B):
    return np.exp(A.T @ B)


KERNELS = [{"kernel": "linear"}, {"kernel": exponential}]
KERNELS += [{"kernel": "poly", "degree": d, "coef0": c} for d in (1, 2, 3, 5) for c in (0.0, 1.0)]
KERNELS += [{"kernel": "rbf", "gamma": 0.7}, {"kernel": "rbf"}]
KERNEL_ROUTES = ["auto", "moments", "batches"]
VARIANTS = [{}, {"center_kernel": True}, {"scale": False}, {"center": False}, {"alpha": 0.3}]
VARIANTS += [
    {"center_kernel": True, "scale": False},
    {"rank": 2},
    {"rank": 0.7},
    {"tol": 0.4},
    {"alpha": 0.1, "rank": 3},
]


def kernel_problem(rng, m=25):
    X, Y = rng.normal(size=(m, 12)) * 0.4, rng.normal(size=(m, 5)) * 0.4
    Y += X[:, :5] * rng.uniform(0.5, 2, 5) + 0.2
    X[:, 10] = 3.0  # constant
    X[:, 11] = X[:, 1]
    return X + 0.1, Y


def name(parameters):
    kernel = parameters.get("kernel", "")
    rest = [f"{k}={v}" for k, v in parameters.items() if k != "kernel"]
    return " ".join([getattr(kernel, "__name__", kernel), *rest]).strip() or "plain"
