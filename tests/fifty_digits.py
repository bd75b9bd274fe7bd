"""Selection by its definition, in 50 digits: a second opinion that shares nothing with the package.

Written from the paper and the pages of the guide. All that is known of the variables is the matrix
K of their kernel values, references first; conditioning on a variable is a Schur complement of K,
with a ridge where it is soft. Nothing is downdated, whitened or factored in a clever order, no
eigenvalue is taken but for the scores of groups, and numbers are balls of python-flint, whose radii
bound the rounding of all of it.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from flint import acb_mat, arb, arb_mat, ctx
from scipy.stats import chi2

ctx.dps = 100  # so that 50 are right; nothing else in the tests uses python-flint

TIE = arb("1e-10")
NOTHING = arb("1e-28")
"""What is left of a variable, as a share, where 50 digits of a Gram matrix say that nothing is."""
VANISHED = np.finfo(np.float64).eps ** (2 / 3)
"""A candidate of which picks leave no more than this share depends on them, and scores 0."""


def numbers(A):
    """Stored values as they are, without any rounding."""
    return arb_mat([[arb(float(a)) for a in row] for row in np.asarray(A)])


def centred(A):
    m, n = A.nrows(), A.ncols()
    means = [sum((A[i, j] for i in range(m)), arb(0)) / m for j in range(n)]
    return arb_mat([[A[i, j] - means[j] for j in range(n)] for i in range(m)])


@dataclass
class Kernel:
    """What stands between two variables, given their inner product; all have norm 1."""

    name: str = "linear"
    degree: int = 3
    coef0: float = 0.0
    gamma: float | str = "mean_distance"

    def of(self, G, n_references):
        """Kernel matrix of variables with the inner products G, normalised to a diagonal of 1."""
        n = G.nrows()
        if self.name == "linear":
            return G
        if self.name == "poly":
            c = arb(self.coef0)
            return _each(G, lambda g: ((g + c) / (1 + c)) ** self.degree)
        gamma = self.gamma
        if gamma == "mean_distance":
            q = n_references
            pairs = [(i, j) for i in range(q) for j in range(q) if i != j]
            pairs = pairs or [(0, j) for j in range(1, n)]
            distances = [(2 - 2 * G[i, j]).sqrt() for i, j in pairs]
            sigma = sum(distances, arb(0)) / len(distances)
            gamma = 1 / (2 * sigma**2)
        return _each(G, lambda g: (-arb(gamma) * (2 - 2 * g)).exp())


def _each(G, function):
    n = G.nrows()
    return arb_mat([[function(G[i, j]) if i != j else arb(1) for j in range(n)] for i in range(n)])


def kernel_matrix(X, Y, kernel=None, center=True):
    """K of the columns of Y and X, in this order, each of norm 1."""
    A = numbers(np.hstack([Y, X]))
    if center:
        A = centred(A)
    G = A.transpose() * A
    n = G.nrows()
    norms = [G[j, j].sqrt() for j in range(n)]
    G = arb_mat([[G[i, j] / (norms[i] * norms[j]) for j in range(n)] for i in range(n)])
    return (kernel or Kernel()).of(G, Y.shape[1])


def part(K, rows, columns):
    return arb_mat([[K[i, j] for j in columns] for i in rows])


def independent(K, indices, whole):
    """Some of these variables that span the space of all, by pivoted Cholesky.

    `whole`: squared norms of what they once were; what is far shorter is nothing.
    """
    left = {i: [K[i, j] for j in indices] for i in indices}
    place = {i: k for k, i in enumerate(indices)}
    chosen = []
    while True:
        rest = [i for i in indices if i not in chosen]
        sizes = {i: left[i][place[i]].mid() / whole[i] for i in rest}
        if not rest or max(sizes.values()) <= NOTHING:
            return sorted(chosen)
        best = max(rest, key=lambda i: float(sizes[i]))
        chosen.append(best)
        pivot, row = left[best][place[best]], list(left[best])
        for i in rest:
            share = left[i][place[best]] / pivot
            left[i] = [a - share * b for a, b in zip(left[i], row, strict=True)]


def eigenvalues(K):
    """Of a symmetric matrix."""
    if K.nrows() == 1:
        return [K[0, 0].mid()]
    return [value.real.mid() for value in acb_mat(K).eig(multiple=True)]


@dataclass
class Problem:
    """Variables of one or more columns each, and references, by their kernel matrix."""

    K: arb_mat
    q: int
    n_rows: int
    groups: list[list[int]] | None = None
    center: bool = True
    alpha: float = 0.0
    ridges: dict[int, arb] = field(default_factory=dict)

    def __post_init__(self):
        n = self.K.nrows()
        self.n_x = n - self.q
        whole = [arb(1)] * n
        if self.groups is None:
            self.groups = [[j] for j in range(self.n_x)]
        columns = [[self.q + j for j in group] for group in self.groups]
        self.columns = [independent(self.K, of_one, whole) for of_one in columns]
        self.first = self.K
        self.taken = []

    # What is left once picks are taken out

    def condition(self, v, ridge=0):
        """Take a variable out of all others, with a ridge on its orthonormal columns."""
        S = self.columns[v]
        block = part(self.K, S, S) + arb(ridge) * part(self.first, S, S)
        if isinstance(ridge, int):
            S = independent(self.K, S, [arb(1)] * self.K.nrows())
            block = part(self.K, S, S)
        self.taken.append((self.columns[v], ridge))
        if S:
            every = range(self.K.nrows())
            across = part(self.K, S, every)
            self.K = self.K - across.transpose() * block.solve(across)

    def references(self):
        """References that span what is left of them, and K_YY + αI of those that count."""
        everything = range(self.q)
        if self.alpha > 0:
            block = part(self.K, everything, everything)
            return list(everything), block + arb(self.alpha) * _identity(self.q)
        kept = independent(self.K, list(everything), [arb(1)] * self.q)
        return kept, part(self.K, kept, kept)

    def condition_number(self):
        """κ: the longest direction of the references over the shortest of what is left of them."""
        kept, block = self.references()
        whole = eigenvalues(part(self.first, range(self.q), range(self.q)))
        left = eigenvalues(block) if kept else whole
        return float(np.sqrt(max(map(float, whole)) / min(map(float, left))))

    def shadows(self):
        """K_XY (K_YY + αI)⁺ K_YX of all columns of candidates."""
        kept, block = self.references()
        across = part(self.K, kept, range(self.q, self.K.nrows()))
        if not kept:
            return arb_mat(self.n_x, self.n_x), 0
        return across.transpose() * block.solve(across), len(kept)

    def live_columns(self, v):
        """Columns of a variable of which something is left."""
        S = self.columns[v]
        if len(S) == 1:
            return S if self.K[S[0], S[0]].mid() > VANISHED else []
        return independent(self.K, S, [arb(1)] * self.K.nrows())

    def share_left(self, v):
        """The least that is left of a column, given the picks and the others of its variable."""
        S = self.live_columns(v)
        if not S:
            return 1.0
        inverse = part(self.K, S, S).inv()
        return min(float(1 / inverse[k, k].mid()) for k in range(len(S)))

    def total(self, M, v):
        """T and d of a variable: the trace of what the references have of its space."""
        S = self.live_columns(v)
        if not S:
            return arb(0), 0
        inside = [j - self.q for j in S]
        return _trace(part(self.K, S, S).solve(part(M, inside, inside))), len(S)

    # Scores

    def dimension(self):
        """Dimension of the space of the variables that conditioning leaves."""
        left = arb(self.n_rows - int(self.center))
        if not self.taken:
            return left
        S = [j for columns, _ in self.taken for j in columns]
        if all(ridge == 0 for _, ridge in self.taken):
            return left - len(independent(self.first, S, [arb(1)] * self.K.nrows()))
        penalty = arb_mat(len(S), len(S))
        start = 0
        for columns, ridge in self.taken:
            for a, i in enumerate(columns):
                for b, j in enumerate(columns):
                    penalty[start + a, start + b] = arb(ridge) * self.first[i, j]
            start += len(columns)
        K_SS = part(self.first, S, S)
        return left - _trace((K_SS + penalty).solve(K_SS))

    def spectrum(self, n_deflated):
        """Eigenvalues of H in what is left of the reference space, the largest first."""
        kept, _ = self.references()
        if self.alpha == 0:
            return [arb(1)] * (len(kept) - n_deflated)
        assert not n_deflated, "with a ridge, conditioning comes after every pick"
        mu = eigenvalues(part(self.K, kept, kept))
        mu = [max(value, arb(0)) for value in mu]
        return sorted((value / (value + arb(self.alpha)) for value in mu), reverse=True, key=float)

    def scores(self, M, left, n_deflated=0):
        """Scores of the variables that are left."""
        totals = {v: self.total(M, v) for v in left}
        if all(d <= 1 for _, d in totals.values()):
            return {v: total for v, (total, d) in totals.items()}
        h, m = self.spectrum(n_deflated), self.dimension()
        return {v: _adjusted(T, d, h, m, len(left)) for v, (T, d) in totals.items()}


def _adjusted(T, d, h, m, n):
    """The column that stands to its mean, best of chance and most as T stands to those of d."""
    if d <= 1 or not h:
        return T
    log = arb(n).log()
    m = m if m > 1 else arb(1)
    total, squares = sum(h, arb(0)), sum((value**2 for value in h), arb(0))

    def chance(k):
        return (k * total + 2 * (k * squares * log).sqrt() + 2 * h[0] * log) / m

    mean = total / m
    corners = [arb(0), d * mean, chance(d), sum(h[:d], arb(0))]
    heights = [arb(0), _least(mean, h[0]), _least(chance(1), h[0]), h[0]]
    score = arb(0)
    for low, high, start, end in zip(corners, corners[1:], heights, heights[1:], strict=False):
        if high > low:
            score += (end - start) * _least((T - low) / (high - low), arb(1)) if low < T else 0
    return score


def _least(a, b):
    return a if a < b else b


def _identity(n):
    return arb_mat([[arb(int(i == j)) for j in range(n)] for i in range(n)])


def _trace(A):
    return sum((A[i, i] for i in range(A.nrows())), arb(0))


def best(scores):
    """The lowest index among scores within 1e-10 of the best; how far others are behind."""
    top = max((score.mid() for score in scores.values()), key=float)
    tied = [v for v, score in scores.items() if score.mid() >= top * (1 - TIE)]
    return min(tied), top


@dataclass
class Selected:
    """Picks, their scores, and at each pick the scores of all that were left."""

    picks: list[int] = field(default_factory=list)
    scores: list[float] = field(default_factory=list)
    boards: list[dict[int, float]] = field(default_factory=list)
    left: list[float] = field(default_factory=list)
    """What conditioning left of the variables that were there to be picked: the least share."""
    conditions: list[float] = field(default_factory=list)
    """In rounds: the largest κ so far."""
    shortest: list[float] = field(default_factory=list)
    """In rounds: squared length of the shortest direction that a pick takes out of the space."""

    def add(self, problem, v, scores):
        assert all(float(score.rad()) < 1e-50 for score in scores.values()), "50 digits are few"
        self.picks.append(v)
        self.scores.append(float(scores[v].mid()))
        self.boards.append({u: float(score.mid()) for u, score in scores.items()})
        self.left.append(min(problem.share_left(u) for u in scores))


def in_rounds(problem, k, exhausted="residual", round_size=None):
    """The paper's rounds: search the reference space, then what `exhausted` says."""
    out, left = Selected(), list(range(len(problem.groups)))
    pending, kappa = [], 1.0
    while len(out.picks) < k and left:
        M, rank = problem.shadows()
        if problem.alpha == 0:
            kappa = max(kappa, problem.condition_number())
        limit = min(rank, k - len(out.picks), round_size or rank)
        taken = deflated = 0
        while taken < limit and left:
            scores = problem.scores(M, left, deflated)
            live = {v: score for v, score in scores.items() if score.mid() > NOTHING}
            if not live:
                break
            v, _ = best(live)
            out.add(problem, v, live)
            out.conditions.append(kappa)
            left.remove(v)
            pending.append(v)
            taken += 1
            S = [j - problem.q for j in problem.live_columns(v)]
            S = independent(M, S, [arb(1)] * M.nrows())
            deflated += len(S)
            inside = [problem.q + j for j in S]
            lengths = eigenvalues(part(problem.K, inside, inside).solve(part(M, S, S)))
            out.shortest.append(min(float(length) for length in lengths))
            across = part(M, S, range(M.nrows()))
            M = M - across.transpose() * part(M, S, S).solve(across)
        used_up = round_size is None or taken < round_size
        if not taken or (used_up and exhausted == "stop"):
            break
        if exhausted == "residual" or not used_up:
            for v in pending:
                problem.condition(v)
            pending = []
    return out


def softly(problem, k, redundancy=None):
    """Soft conditioning after every pick; None: the ridge is each pick's own."""
    out, left = Selected(), list(range(len(problem.groups)))
    n, Y = len(left), range(problem.q)
    trace = _trace(part(problem.first, Y, Y))
    K_YY = part(problem.first, Y, Y)
    q_outputs = trace**2 / _trace(K_YY * K_YY)
    while len(out.picks) < k and left:
        M, _ = problem.shadows()
        scores = problem.scores(M, left)
        v, _ = best(scores)
        out.add(problem, v, scores)
        left.remove(v)
        if redundancy is None:
            ridge = _own_ridge(problem, v, trace, q_outputs, arb(n) / len(out.picks))
        else:
            share = arb(redundancy)
            ridge = share / (1 - share) if redundancy < 1 else None
        if ridge is not None:
            problem.condition(v, ridge)
    return out


def _own_ridge(problem, v, trace, q_outputs, candidates_a_pick):
    """Noise over signal in what a pick adds; None: it is not conditioned on."""
    Y = range(problem.q)
    S = problem.live_columns(v)
    across = part(problem.K, S, Y)
    gain = _trace(part(problem.K, S, S).solve(across * across.transpose())) / trace
    left = _trace(part(problem.K, Y, Y)) / trace
    gain, d = _least(gain, left), len(S)
    chance = d * (left - gain) / problem.n_rows
    signal = gain - chance * _best_of_chance(q_outputs * d, candidates_a_pick)
    if not signal > 0:
        return None
    return chance / signal * _trace(part(problem.first, S, S).solve(part(problem.K, S, S))) / d


def _best_of_chance(squares, n):
    """The median of the best of n means of squares of normals, at least 1: by Newton's method."""
    n = n if n > 1 else arb(1)
    level = 1 - (-arb(2).log() / n).exp()
    half, x = squares / 2, arb(float(chi2(float(squares)).isf(float(level)))) / 2
    for _ in range(4):
        slope = x ** (half - 1) * (-x).exp() / half.gamma()
        x = (x + (x.gamma_upper(half, regularized=1) - level) / slope).mid()
    return _most(x / half, arb(1))


def _most(a, b):
    return a if a > b else b
