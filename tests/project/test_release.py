"""A tag that is no release is refused; two builds give the same bytes."""

from __future__ import annotations

import importlib.util
import runpy
import tarfile
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
TOOL = runpy.run_path(str(ROOT / "tools" / "release.py"))


@pytest.fixture
def project(tmp_path):
    def make(version, heading):
        (tmp_path / "src" / "projse").mkdir(parents=True)
        (tmp_path / "src" / "projse" / "__init__.py").write_text(f'__version__ = "{version}"\n')
        (tmp_path / "CHANGELOG.md").write_text(f"# Changelog\n\n## {heading}\n")
        return tmp_path

    return make


@pytest.mark.parametrize("heading", ["1.2.0", "[1.2.0] - 2026-01-01", "1.2.0 (2026-01-01)"])
def test_tag_version_and_changelog_agree(project, heading):
    assert TOOL["faults"]("v1.2.0", project("1.2.0", heading)) == []


@pytest.mark.parametrize(
    ("tag", "version", "heading", "named"),
    [
        ("v1.2.1", "1.2.0", "1.2.0", "tag"),
        ("1.2.0", "1.2.0", "1.2.0", "tag"),
        ("v1.2.0.dev0", "1.2.0.dev0", "1.2.0.dev0", "no version to release"),
        ("v1.2.0", "1.2.0", "1.2.01", "CHANGELOG"),
        ("v1.2.0", "1.2.0", "[Unreleased]", "CHANGELOG"),
    ],
)
def test_what_does_not_agree_is_named(project, tag, version, heading, named):
    (said,) = TOOL["faults"](tag, project(version, heading))
    assert named in said


def test_the_version_is_that_of_the_package():
    import projse

    assert TOOL["version"]() == projse.__version__


def test_two_builds_that_differ_are_refused_and_nothing_is_handed_out(project, monkeypatch):
    root = project("1.2.0", "1.2.0")

    def run(command, **options):
        """Build what names its folder, as a careless build would."""
        out = Path(command[command.index("--outdir") + 1])
        out.mkdir()
        (out / "a.whl").write_text(str(out))

    build = TOOL["build"]
    monkeypatch.setattr(build.__globals__["subprocess"], "run", run)
    monkeypatch.setitem(build.__globals__, "_commit_time", lambda root: "0")
    with pytest.raises(RuntimeError, match="Two builds differ"):
        build(root / "dist", root)
    assert not (root / "dist").exists()


@pytest.mark.slow
@pytest.mark.skipif(importlib.util.find_spec("build") is None, reason="needs the package build")
def test_two_builds_are_the_same_and_hold_the_tests(tmp_path):
    digests = TOOL["build"](tmp_path)
    assert len(digests) == 2
    (wheel,) = tmp_path.glob("*.whl")
    (archive,) = tmp_path.glob("*.tar.gz")
    with zipfile.ZipFile(wheel) as packed:
        assert not [name for name in packed.namelist() if name.startswith(("tests", "tools"))]
    with tarfile.open(archive) as packed:
        names = {name.split("/", 1)[1] for name in packed.getnames() if "/" in name}
    assert {"tests/conftest.py", "tools/release.py", "pyproject.toml", "LICENSE"} <= names
