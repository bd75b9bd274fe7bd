"""Selection of variables of several columns by its definition: dense projectors, solved anew.

Everything is an m × m or m × d matrix over the rows; nothing is kept from one pick to the next but
the picks and their ridges.
"""

from __future__ import annotations

import numpy as np
from scipy.stats import beta, chi2


def orth(A, tol=1e-7):
    """Orthonormal basis of the columns, whatever their units."""
    norms = np.linalg.norm(A, axis=0)
    U, s, _ = np.linalg.svd(A / np.where(norms > 1e-9, norms, np.inf), full_matrices=False)
    return U[:, s > tol * max(s.max(initial=0), tol)]


def _chance(d, spectrum, dimension, n):
    """What the best of n unrelated variables of d columns has, by Laurent and Massart."""
    h, L = np.sort(spectrum)[::-1], np.log(n)
    return (d * h.sum() + 2 * np.sqrt(d * (h @ h) * L) + 2 * h[0] * L) / dimension


def _corners(d, spectrum, dimension, n):
    """T and score at nothing, the mean, the best of chance and the most."""
    h = np.sort(spectrum)[::-1]
    mean = h.sum() / dimension
    one = min(_chance(1, spectrum, dimension, n), h[0])
    T = [0, d * mean, _chance(d, spectrum, dimension, n), h[:d].sum()]
    return T, [0, min(mean, h[0]), one, h[0]]


def adjusted(T, d, spectrum, dimension, n):
    """The score of a variable of d columns, by the formula."""
    if d == 1:
        return T
    corners, scores = _corners(d, spectrum, dimension, n)
    if corners[3] <= corners[2]:
        corners, scores = corners[:3], scores[:3]
    return np.interp(T, corners, scores)


def of_same_score(V, d, r, m, s, n):
    """The trace of a variable of s columns that has the score of V in one of d columns."""
    score = adjusted(V, d, np.ones(r), m, n)
    if s == 1:
        return score
    corners, scores = _corners(s, np.ones(r), m, n)
    if corners[3] <= corners[2]:
        corners, scores = corners[:3], scores[:3]
    return np.interp(score, scores, corners, right=np.inf)


def pillai(V, d, r, m):
    """Tail of the trace of a random subspace: Beta with the exact mean and variance."""
    low, high = max(0, r + d - m), min(r, d)
    mean = (r * d / m - low) / (high - low)
    var = 2 * r * d * (m - r) * (m - d) / (m**2 * (m - 1) * (m + 2)) / (high - low) ** 2
    nu = mean * (1 - mean) / var - 1
    return beta.sf((V - low) / (high - low), mean * nu, (1 - mean) * nu)


def pvalue(V, d, r, m, sizes):
    if not 0 < r < m:
        return np.nan
    tails = [pillai(of_same_score(V, d, r, m, s, len(sizes)), s, r, m) for s in sizes]
    return 1 - np.prod([1 - t for t in tails])


class Honest:
    """A problem with what is conditioned on wholly taken out: covariates, then ``include``."""

    def __init__(self, X, Y, groups, alpha=1.0, include=(), covariates=None, center=True):
        self.m = len(X)
        centred = (lambda A: A - A.mean(axis=0)) if center else (lambda A: A)
        self.room = self.m - int(center)
        self.X, Y = centred(X), centred(Y)
        self.groups, self.alpha = groups, alpha
        hard = np.empty((self.m, 0))
        if covariates is not None:
            hard = orth(centred(covariates))
        Y = Y - hard @ (hard.T @ Y)
        self.Y = Y / np.linalg.norm(Y, axis=0)
        self.hard = hard
        if len(include):
            before = np.sum(self.Y**2)
            self.add([c for v in include for c in groups[v]])
            self.alpha = alpha * np.sum(self.Y**2) / before

    def add(self, columns):
        """Take columns out of everything."""
        self.hard = orth(np.hstack([self.hard, self.X[:, columns] / np.abs(self.X).max()]))
        self.Y = self.Y - self.hard @ (self.hard.T @ self.Y)

    def basis(self, v, out=None):
        """Orthonormal basis of what is left of a variable."""
        out = self.hard if out is None else out
        A = self.X[:, self.groups[v]]
        left = A - out @ (out.T @ A)
        return orth(left[:, np.linalg.norm(left, axis=0) > 1e-7 * np.linalg.norm(A, axis=0)])

    def given(self, v, picks, chosen_from):
        """P-value of a variable given picks, taken out wholly of all that it is chosen from."""
        columns = [c for u in picks for c in self.groups[u]]
        out = orth(np.hstack([self.hard, self.X[:, columns]]))
        y = orth(self.Y - out @ (out.T @ self.Y))
        x = self.basis(v, out)
        m = self.room - out.shape[1]
        sizes = [max(self.basis(u, out).shape[1], 1) for u in chosen_from]
        if not x.shape[1]:
            return 1.0
        return pvalue(np.sum((y.T @ x) ** 2), x.shape[1], y.shape[1], m, sizes)


def softly(problem, k, redundancy=None, largest=np.inf, barred=()):
    """Picks, scores, p-values and ridges with soft conditioning; None: each pick's own."""
    p, Y = problem, problem.Y
    Q = {v: p.basis(v) for v in range(len(p.groups)) if v not in barred}
    Q = {v: q for v, q in Q.items() if q.shape[1]}
    sizes = {v: q.shape[1] for v, q in Q.items()}
    n, K = len(Q), Y.T @ Y
    q_outputs = np.trace(K) ** 2 / np.sum(K**2)
    picks, scores, pvalues, ridges, shares = [], [], [], [], []
    while len(picks) < k and len(picks) < n:
        S = [(Q[v], r) for v, r in zip(picks, ridges, strict=True) if np.isfinite(r)]
        taken = np.hstack([q for q, _ in S]) if S else np.empty((p.m, 0))
        lam = np.concatenate([np.full(q.shape[1], r) for q, r in S]) if S else np.empty(0)
        C = taken @ np.linalg.solve(taken.T @ taken + np.diag(lam), taken.T)
        M = np.eye(p.m) - C
        yy = Y.T @ M @ Y
        inverse = np.linalg.inv(yy + p.alpha * np.eye(len(yy))) if p.alpha else np.linalg.pinv(yy)
        mu = np.linalg.eigvalsh(yy)
        mu = mu[mu > 1e-10]
        spectrum = mu / (mu + p.alpha)
        dimension = p.room - p.hard.shape[1] - np.trace(C)

        left = [v for v in Q if v not in picks]
        chances = (spectrum, dimension, len(left))

        def score(v, M=M, inverse=inverse, chance=chances):
            q = Q[v]
            yx = Y.T @ M @ q
            T = np.trace(np.linalg.solve(q.T @ M @ q, yx.T @ inverse @ yx))
            return adjusted(T, q.shape[1], *chance)

        found = {v: score(v) for v in left}
        top = max(found.values())
        v = min(u for u in left if found[u] >= top - 1e-10 * abs(top))
        q, d = Q[v], sizes[v]
        yx = Y.T @ M @ q
        unexplained = np.trace(yy) / np.trace(K)
        gain = np.trace(np.linalg.solve(q.T @ M @ q, yx.T @ yx)) / np.trace(K)
        gain = min(gain, unexplained)
        chance = d * (unexplained - gain) / p.m
        squares = q_outputs * d
        best = chi2(squares).isf(1 - 0.5 ** min((len(picks) + 1) / n, 1)) / squares
        signal = gain - chance * max(best, 1.0)
        ridge = min(chance / signal, largest) if signal > 0 else largest
        shares.append(1.0 if np.isinf(ridge) else ridge / (1 + ridge))
        ridge *= np.trace(q.T @ M @ q) / d
        if redundancy is not None:
            ridge = redundancy / (1 - redundancy) if redundancy < 1 else np.inf
            shares[-1] = redundancy
        pvalues.append(p.given(v, picks, left))
        picks.append(v)
        scores.append(float(np.clip(found[v], 0, 1)))
        ridges.append(ridge)
    return picks, scores, pvalues, shares


def in_rounds(problem, k, round_size=None, exhausted="residual"):
    """Picks, scores and p-values of the paper's rounds; whole variables are taken out."""
    p = problem
    picks, scores, pvalues, pending = [], [], [], []
    while len(picks) < k:
        values, U = np.linalg.eigh(p.Y.T @ p.Y)
        known = values > 1e-10
        values, U = values[known], U[:, known]
        r = len(values)
        F = (U / np.sqrt(values + p.alpha)).T
        E = np.diag(np.sqrt(values / (values + p.alpha)))
        Q = {v: p.basis(v) for v in range(len(p.groups)) if v not in picks}
        Q = {v: q for v, q in Q.items() if q.shape[1]}
        R = {v: F @ p.Y.T @ q for v, q in Q.items()}
        dimension = p.room - p.hard.shape[1]
        out, plain, taken = np.empty((r, 0)), np.empty((r, 0)), 0
        limit = min(r, k - len(picks), round_size or r)
        while taken < limit and Q:
            P = np.eye(r) - out @ out.T
            spectrum = np.linalg.eigvalsh(E @ P @ E)
            T = {v: np.sum((P @ R[v]) ** 2) for v in Q}
            live = [v for v in Q if T[v] > 1e-12]
            if not live:
                break
            chance = (spectrum, dimension, len(Q))
            found = {v: adjusted(T[v], Q[v].shape[1], *chance) for v in live}
            top = max(found.values())
            v = min(u for u in live if found[u] >= top - 1e-10 * abs(top))
            bare = np.linalg.inv(E) @ R[v]
            V = np.sum((bare - plain @ (plain.T @ bare)) ** 2)
            sizes = [q.shape[1] for q in Q.values()]
            pvalues.append(pvalue(V, Q[v].shape[1], r - plain.shape[1], dimension, sizes))
            out, plain = orth(np.hstack([out, P @ R[v]])), orth(np.hstack([plain, bare]))
            picks.append(v)
            scores.append(float(np.clip(found[v], 0, 1)))
            pending.append(v)
            taken += 1
            del Q[v]
        used_up = round_size is None or taken < round_size
        if not taken or (used_up and exhausted == "stop"):
            break
        if exhausted == "residual" or not used_up:
            p.add([c for v in pending for c in p.groups[v]])
            pending = []
    return picks, scores, pvalues


def draw(rng, m=None, q=None):
    """A small problem: variables of 1 to 5 columns, in mixed order, some of them dependent."""
    m = m or int(rng.integers(30, 70))
    sizes = rng.integers(1, 6, size=rng.integers(4, 9))
    p = int(sizes.sum())
    labels = rng.permutation(np.repeat(np.arange(len(sizes)), sizes))
    X = rng.normal(size=(m, p)) * rng.uniform(0.1, 10, p) + rng.normal(size=p)
    X += rng.normal(size=(m, 1)) * rng.uniform(0, 1)
    q = q or int(rng.integers(1, 6))
    Y = X[:, rng.permutation(p)[:3]] @ rng.normal(size=(3, q)) + rng.normal(size=(m, q)) * 3
    names, order = np.unique(labels, return_index=True)
    names = names[np.argsort(order)]  # variables stand in the order of their first columns
    groups = [np.flatnonzero(labels == name) for name in names]
    wide = [g for g in groups if len(g) > 2]
    if wide and rng.random() < 0.3:
        g = wide[0]
        X[:, g[-1]] = X[:, g[0]] - 2 * X[:, g[1]]  # a column that adds nothing to its group
    return X, Y, labels, groups
