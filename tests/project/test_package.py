"""What is handed out: the archive of the sources, and what the index shows of the project."""

import tomllib
from pathlib import Path

ROOT = Path(__file__).parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))


def test_the_source_archive_has_every_page_of_the_top_folder():
    included = PROJECT["tool"]["hatch"]["build"]["targets"]["sdist"]["include"]
    pages = {path.name for path in ROOT.glob("*.md")}
    assert "SECURITY.md" in pages
    assert pages <= set(included)
    assert all((ROOT / name).exists() for name in included)


def test_the_addresses_of_the_project_are_those_of_the_readme():
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    assert PROJECT["project"]["urls"]
    assert all(address in readme for address in PROJECT["project"]["urls"].values())
