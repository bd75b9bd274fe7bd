"""Problems on which 64 bits are hard put: what is compared with 50 digits."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.csv as pacsv
import pyarrow.parquet as pq
from agreement import ROUTES, quietly
from fifty_digits import Kernel, Problem, in_rounds, kernel_matrix, softly

from projse import PAPER, ProjSe

EPS = float(np.finfo(np.float64).eps)

# Data


def plain(rng, m=None):
    """Candidates that correlate, references behind which a few of them stand."""
    m, p, q = m or int(rng.integers(25, 60)), int(rng.integers(8, 16)), int(rng.integers(1, 6))
    X = rng.normal(size=(m, p)) + rng.normal(size=(m, 1)) * rng.uniform(0, 1)
    Y = X[:, rng.permutation(p)[:3]] @ rng.normal(size=(3, q)) + 2 * rng.normal(size=(m, q))
    return X, Y


def ill_conditioned(condition):
    def draw(rng):
        X, Y = plain(rng)
        m, q = len(Y), max(Y.shape[1], 2)
        U = np.linalg.qr(rng.normal(size=(m, q)) + X[:, :1])[0]
        V = np.linalg.qr(rng.normal(size=(q, q)))[0]
        return X, (U * np.geomspace(1, 1 / condition, q)) @ V

    return draw


def far_means(rng):
    """Means a thousand million times the spread: what is stored has seven digits of it left."""
    X, Y = plain(rng)
    return X + 1e9 * rng.normal(size=X.shape[1]), Y + 1e9 * rng.normal(size=Y.shape[1])


def far_scales(rng):
    X, Y = plain(rng)
    p, q = X.shape[1], Y.shape[1]
    return X * 10.0 ** rng.choice([-150, 0, 150], p), Y * 10.0 ** rng.choice([-150, 0, 150], q)


def near_copies(rng):
    """Candidates that differ from another by a thousandth."""
    X, Y = plain(rng)
    p = X.shape[1]
    X[:, p // 2 :] = X[:, : p - p // 2] + 1e-3 * rng.normal(size=(len(X), p - p // 2))
    return X, Y


def few_rows(rng):
    """More references than rows."""
    X, Y = plain(rng, m=int(rng.integers(12, 18)))
    return X, np.hstack([Y, rng.normal(size=(len(Y), 20))])


FAMILIES = {"plain": plain, "far means": far_means, "far scales": far_scales}
FAMILIES |= {"near copies": near_copies, "few rows": few_rows}
CONDITIONED = {f"condition {c:.0e}": ill_conditioned(c) for c in (1e2, 1e4, 1e6, 1e8, 1e10, 1e12)}


# Forms: a selector, and the same in 50 digits


@dataclass(frozen=True)
class Form:
    """Parameters of a selector; the definition is read off them."""

    parameters: dict
    grouped: bool = False

    def selector(self, k, labels):
        return ProjSe(k, groups=labels if self.grouped else None, **self.parameters)

    def definition(self, X, Y, k, labels):
        p = {"alpha": 1.0, "redundancy": None, "round_size": 1, **self.parameters}
        kernel = Kernel(p.get("kernel", "linear"), p.get("degree", 3), p.get("coef0", 0.0))
        kernel.gamma = p.get("gamma", "mean_distance")
        groups = None
        if self.grouped:
            groups = [
                np.flatnonzero(np.asarray(labels) == g).tolist() for g in dict.fromkeys(labels)
            ]
        K = kernel_matrix(X, Y, kernel)
        problem = Problem(K, Y.shape[1], len(X), groups, alpha=p["alpha"])
        if p["redundancy"] == 0:
            return in_rounds(problem, k, p.get("exhausted", "residual"), p["round_size"])
        return softly(problem, k, p["redundancy"])


HARD = {**PAPER, "exhausted": "residual"}
FORMS = {
    "paper, stop": Form({**HARD, "exhausted": "stop"}),
    "paper, restart": Form({**HARD, "exhausted": "restart"}),
    "paper, residual": Form(HARD),
    "one by one": Form({**HARD, "round_size": 1}),
    "rounds of two": Form({**HARD, "round_size": 2, "alpha": 0.3}),
    "soft": Form({"alpha": 0.1, "redundancy": 0.5}),
    "soft, no ridge": Form({"alpha": 0.0, "redundancy": 0.2}),
    "ranking": Form({"alpha": 0.1, "redundancy": 1.0}),
    "default": Form({}),
    "groups, paper": Form(HARD, grouped=True),
    "groups, one by one": Form({**HARD, "round_size": 1, "alpha": 0.3}, grouped=True),
    "groups, soft": Form({"alpha": 0.1, "redundancy": 0.5}, grouped=True),
    "groups, default": Form({}, grouped=True),
}
KERNELS = {
    "poly": {"kernel": "poly"},
    "poly 2 + 1": {"kernel": "poly", "degree": 2, "coef0": 1.0},
    "rbf": {"kernel": "rbf"},
    "rbf 0.7": {"kernel": "rbf", "gamma": 0.7},
}
KERNEL_FORMS = {
    f"{kernel}, {form}": Form({**FORMS[form].parameters, **KERNELS[kernel]})
    for kernel in KERNELS
    for form in (
        "paper, stop",
        "paper, restart",
        "paper, residual",
        "one by one",
        "soft",
        "default",
    )
}


# Routes: from the rows to the moments


def _file(write, name):
    def route(selector, X, Y, folder):
        A = np.hstack([X, Y])
        names = [f"x{j}" for j in range(X.shape[1])] + [f"y{j}" for j in range(Y.shape[1])]
        write(pa.table(dict(zip(names, A.T.copy(), strict=True))), folder / name)
        return quietly(selector.fit_source, folder / name, targets="y*")

    return route


def _in_memory(name):
    return lambda selector, X, Y, folder: ROUTES[name](selector, X, Y)


GRAM = {n: _in_memory(n) for n in ("gram", "moments", "batches", "csr batches")}
GRAM |= {"parquet": _file(lambda t, path: pq.write_table(t, path, row_group_size=17), "a.parquet")}
GRAM |= {"csv": _file(pacsv.write_csv, "a.csv")}
QR = {name: _in_memory(name) for name in ("auto", "qr")}


def labels_of(rng, p):
    """Groups of one to three columns, in mixed order."""
    return rng.permutation(np.repeat(np.arange(p), rng.integers(1, 4, p))[:p]).tolist()


def condition_number(Y):
    Y = Y - Y.mean(axis=0)
    s = np.linalg.svd(Y / np.linalg.norm(Y, axis=0), compute_uv=False)
    return float(s[0] / s[s > 64 * EPS * s[0]][-1])


# Near ties


def near_tie(rng, form, gap, after):
    """A problem whose pick number `after` has a runner-up that is behind by this share.

    Candidates 2 and 5 are the two, the better one behind the other; candidate 7 comes first if
    `after` is 1. Their scores are made alike by mixing one of them with the references.
    """
    first = [7, 5] if after else [5]
    while True:
        m, p, q = int(rng.integers(40, 60)), 10, int(rng.integers(2, 5))
        X, Y = rng.normal(size=(m, p)), rng.normal(size=(m, q))
        X[:, 5] += Y @ rng.normal(size=q)
        if after:
            X[:, 7] += 3 * Y @ rng.normal(size=q)
        if form.definition(X, Y, after + 1, range(p)).picks == first:
            break
    noise, shadow = X[:, 2].copy(), Y @ rng.normal(size=q)

    def behind(share):
        """How far candidate 2 is behind candidate 5, less what is wanted."""
        X[:, 2] = noise + share * shadow
        board = form.definition(X, Y, after + 1, range(p)).boards[after]
        return 1 - board.get(2, np.inf) / board.get(5, 1.0) - gap  # infinite: it came first

    low, high = 0.0, 1.0
    while behind(high) > 0 and high < 100:
        low, high = high, 2 * high
    for _ in range(60):  # as many as there are digits in what is stored
        middle = (low + high) / 2
        low, high = (middle, high) if behind(middle) > 0 else (low, middle)
    # Where the two cannot be alike, or not at that pick, other data must do.
    if abs(behind(low)) > gap / 100:
        return near_tie(rng, form, gap, after)
    return X, Y
