"""What is handed out: the archive of the sources, and what the index shows of the project."""

import re
import subprocess
import sys
import tomllib
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))


def test_the_source_archive_has_every_page_of_the_top_folder():
    included = PROJECT["tool"]["hatch"]["build"]["targets"]["sdist"]["include"]
    pages = {path.name for path in ROOT.glob("*.md")}
    assert "SECURITY.md" in pages
    assert pages <= set(included)
    assert all((ROOT / name).exists() for name in included)


@pytest.mark.slow
def test_the_wheel_has_every_file_of_the_package_and_the_licences(tmp_path):
    pip = (sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps")
    subprocess.run([*pip, "--wheel-dir", tmp_path, ROOT], check=True, timeout=300)
    (wheel,) = tmp_path.glob("*.whl")
    with zipfile.ZipFile(wheel) as archive:
        names = set(archive.namelist())
    source = ROOT / "src"
    files = {
        path.relative_to(source).as_posix()
        for path in (source / "projse").rglob("*")
        if path.is_file() and path.suffix != ".pyc"
    }
    assert "projse/reports/assets/plot.min.js" in files
    assert files <= names
    assert any(name.endswith("plot.LICENSES.md") and ".dist-info/" in name for name in names)


def test_the_addresses_of_the_project_are_those_of_the_readme():
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    assert PROJECT["project"]["urls"]
    assert all(address in readme for address in PROJECT["project"]["urls"].values())


def test_every_install_line_names_our_distribution():
    name = PROJECT["project"]["name"]
    assert name != "projse", "that is the authors' package"
    texts = [ROOT / "README.md", ROOT / "pyproject.toml", ROOT / "experiments" / "pyproject.toml"]
    texts += [*(ROOT / "docs").glob("*.md"), *(ROOT / "src").rglob("*.py")]
    extras = set()
    for path in texts:
        found = re.findall(r"([\w-]*projse[\w-]*)\[([a-z,]+)\]", path.read_text(encoding="utf-8"))
        assert {distribution for distribution, _ in found} <= {name}, path
        extras |= {extra for _, listed in found for extra in listed.split(",")}
    assert {"cli", "plot", "spark"} <= extras <= set(PROJECT["project"]["optional-dependencies"])
