"""Gates that the page of promises names stand where changes and releases pass, and none is ajar."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest

yaml = pytest.importorskip("yaml")

ROOT = Path(__file__).parents[2]
WORKFLOWS = ROOT / ".github" / "workflows"
TOOLS = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]

in_a_clone = pytest.mark.skipif(not WORKFLOWS.exists(), reason="the source archive has no workflow")


def workflow(name):
    """Return when a workflow runs, which YAML takes for a truth, and all of it."""
    plain = yaml.safe_load((WORKFLOWS / f"{name}.yml").read_text(encoding="utf-8"))
    return plain[True], plain


def commands(job):
    """Return what a job runs, in its order; none of it may fail unseen."""
    assert job.get("if") in (None, "github.event_name != 'schedule'")
    assert "continue-on-error" not in job
    assert not [step for step in job["steps"] if {"if", "continue-on-error"} & step.keys()]
    assert "|| " not in "".join(step.get("run", "") for step in job["steps"])
    return [step["run"].strip() for step in job["steps"] if "run" in step]


@in_a_clone
def test_a_release_is_checked_built_twice_and_tested_before_it_is_published():
    when, release = workflow("release")
    assert when == {"push": {"tags": ["v*"]}}
    assert release["jobs"].keys() == {"build", "publish"}
    run = commands(release["jobs"]["build"])
    assert run[1] == 'python tools/release.py check "$GITHUB_REF_NAME"'
    assert run[2] == "python tools/release.py build dist"
    assert run[3].splitlines()[-1] == "pytest"
    assert "dist/*.tar.gz" in run[3]
    assert len(run) == 4
    publish = release["jobs"]["publish"]
    assert publish["needs"] == "build"
    assert commands(publish) == []


@in_a_clone
def test_publishing_takes_the_word_of_the_workflow_and_no_token():
    _, release = workflow("release")
    assert release["permissions"] == {"contents": "read"}
    publish = release["jobs"]["publish"]
    assert publish["permissions"] == {"id-token": "write"}
    assert "permissions" not in release["jobs"]["build"]
    step = publish["steps"][-1]
    assert step["uses"].startswith("pypa/gh-action-pypi-publish@")
    assert "with" not in step
    assert "secrets" not in (WORKFLOWS / "release.yml").read_text(encoding="utf-8")


@in_a_clone
def test_bandit_and_pip_audit_look_at_every_change():
    when, ci = workflow("ci")
    assert when["push"] == {"branches": ["main"]}
    assert "pull_request" in when
    assert ci["permissions"] == {"contents": "read"}
    run = commands(ci["jobs"]["security"])
    assert "bandit -q -c pyproject.toml -r src tools" in run
    assert run[-2:] == ['pip install ".[all]"', "pip-audit --skip-editable"]
    assert set(TOOLS["bandit"]["skips"]) == {"B101", "B404", "B603"}
    assert TOOLS["bandit"].keys() == {"skips"}


@in_a_clone
def test_style_types_and_rooms_are_looked_at_with_every_change():
    _, ci = workflow("ci")
    assert "bash .ci/run" in [
        entry["run"] for entry in ci["jobs"]["test"]["strategy"]["matrix"]["include"]
    ]
    text = (ROOT / ".ci" / "run").read_text(encoding="utf-8")
    assert "\nset -euo pipefail\n" in text
    for gate in ("ruff check .", "ruff format --check .", "mypy", "lint-imports", "pytest -m slow"):
        assert f'\ninside test "{gate}"\n' in text
    assert commands(ci["jobs"]["coverage"])[-1] == "python tools/branches.py measure"


def test_warnings_are_errors_types_are_strict_and_branches_count():
    assert TOOLS["pytest"]["ini_options"]["filterwarnings"][0] == "error"
    assert TOOLS["mypy"]["strict"] is True
    assert "src" in TOOLS["mypy"]["files"]
    assert TOOLS["coverage"]["run"]["branch"] is True
