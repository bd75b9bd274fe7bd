"""The bench of quality: the prototype is as defined, folds do not leak, counts are right."""

from pathlib import Path

import numpy as np
import pytest

BENCHMARKS = Path(__file__).resolve().parents[2] / "benchmarks"


@pytest.fixture(autouse=True)
def benchmarks_on_path(monkeypatch):
    monkeypatch.syspath_prepend(str(BENCHMARKS))


def _data(seed, m=60, n_x=12, n_y=4):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((m, n_x))
    return X, X[:, :3] @ rng.standard_normal((3, n_y)) + rng.standard_normal((m, n_y))


@pytest.mark.parametrize("refactor", [True, False])
def test_prototype_picks_what_the_definition_says(seed, refactor):
    from quality.prototype import soft_select, unit_columns

    X, Y = _data(seed)
    alpha, rho = 0.3, 0.2
    ridge = rho / (1 - rho)
    A, B = unit_columns(X), unit_columns(Y)
    K_xx, K_yx, K_yy = A.T @ A, B.T @ A, B.T @ B
    S: list[int] = []
    for _ in range(6):
        inner = np.linalg.inv(K_xx[np.ix_(S, S)] + ridge * np.eye(len(S)))
        xx = np.diag(K_xx - K_xx[:, S] @ inner @ K_xx[S])
        yx = K_yx - K_yx[:, S] @ inner @ K_xx[S]
        yy = K_yy - K_yx[:, S] @ inner @ K_yx[:, S].T if refactor else K_yy
        scores = np.einsum("yx,yx->x", yx, np.linalg.solve(yy + alpha * np.eye(4), yx)) / xx
        scores[S] = -1
        S.append(int(scores.argmax()))
    assert soft_select(X, Y, 6, alpha, rho, refactor=refactor).tolist() == S


def test_redundancy_one_ranks_and_zero_leaves_out_a_copy(seed):
    from quality.contestants import correlation_ranking
    from quality.prototype import soft_select

    X, Y = _data(seed)
    ranked = soft_select(X, Y, 8, np.inf, 1.0)
    assert ranked.tolist() == correlation_ranking(X, Y, 8).tolist()
    best = int(ranked[0])
    copied = np.column_stack([X, X[:, best]])
    picks = soft_select(copied, Y, 12, np.inf, 0.0).tolist()
    assert not {best, X.shape[1]} <= set(picks)


def test_noise_stays_below_its_bound(seed):
    from quality.prototype import Situation, best_of_noise, unit_columns

    rng = np.random.default_rng(seed)
    Y = unit_columns(rng.standard_normal((80, 6)) @ rng.standard_normal((6, 6)))
    X = unit_columns(rng.standard_normal((80, 500)))
    U, s, _ = np.linalg.svd(Y, full_matrices=False)
    weights = s**2 / (s**2 + 1)
    best = (weights[:, None] * (U.T @ X) ** 2).sum(axis=0).max()
    bound = best_of_noise(np.diag(weights), Situation(79, 500, 6, s**2, np.nan, 1, False), 0)
    assert 0.3 * bound < best < 1.3 * bound


def test_training_rows_alone_set_the_scale_of_candidates(seed):
    from quality.folds import folds
    from quality.problem import Problem

    X, Y = _data(seed, m=400)
    for fold in folds(Problem(X, Y), "numbers"):
        np.testing.assert_allclose(fold.X.mean(axis=0), 0, atol=1e-12)
        np.testing.assert_allclose(fold.X.std(axis=0), 1)
        assert np.abs(fold.X_test.mean(axis=0)).max() > 1e-6


def test_halves_share_no_source_and_have_every_kind():
    from quality.datasets import DATASETS, REAL, SOURCES

    kinds = {
        half: {d.kind for d in DATASETS.values() if d.half == half} for half in ("tune", "report")
    }
    assert kinds["tune"] == kinds["report"]
    sources = {half: {d.source for d in REAL if d.half == half} for half in ("tune", "report")}
    assert not sources["tune"] & sources["report"]
    assert sources["tune"] | sources["report"] == set(SOURCES)


def test_verdicts_count_the_paired_difference_to_the_better_peer():
    from quality import tables

    noise = np.array([0.0, 0.1, -0.1, 0.05, -0.05])
    by_name = {
        "projse": 0.5 + noise,
        "fastcan": 0.4 + noise,
        "correlation ranking": 0.45 + noise + np.array([0.01, -0.01, 0, 0.01, -0.01]),
    }
    (cell,) = tables.cells({("a", 5): by_name}, "projse")
    assert cell.peer == "correlation ranking"
    assert cell.verdict == "ahead"
    assert cell.difference == pytest.approx(0.05)


def test_a_run_is_resumed_and_its_tables_name_the_subject(tmp_path, capsys):
    from quality.cli import main

    run = ["run", "--quick", "--data", "40 rows a", "--output", str(tmp_path), "--only"]
    main([*run, "correlation ranking", "fastcan"])
    first = {path: path.stat().st_mtime_ns for path in tmp_path.iterdir()}
    main([*run, "correlation ranking", "fastcan", "random"])
    assert {p: p.stat().st_mtime_ns for p in first} == first
    assert len(list(tmp_path.iterdir())) == 3
    capsys.readouterr()
    main(["tables", "--subject", "random", "--output", str(tmp_path)])
    assert "random against the better of" in capsys.readouterr().out


def test_the_page_of_settings_is_made_from_the_results():
    from quality import settings_page, store

    text = settings_page.PAGE.read_text()
    assert settings_page.page(text, store.load(store.RESULTS)) == text
    assert "| all cells |" in text
