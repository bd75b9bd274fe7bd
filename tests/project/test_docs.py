"""The site and the README: every public name has a page, and every block of Python runs."""

from __future__ import annotations

import importlib.util
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from test_public_api import PUBLIC_MODULES

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
PYTHON = re.compile(r"^```python\n(.*?)^```", flags=re.DOTALL | re.MULTILINE)
PAGES = {path.name: path for path in [ROOT / "README.md", *sorted(DOCS.glob("*.md"))]}
RUN = [name for name, path in PAGES.items() if PYTHON.search(path.read_text())]
LONG = {"clusters.md", "covariates.md", "how-many.md", "trust.md"}


def test_the_readme_is_short_and_shows_a_picture():
    text = PAGES["README.md"].read_text()
    assert len(text.splitlines()) <= 150
    (picture,) = re.findall(r"^!\[.+\]\((.+)\)$", text, flags=re.MULTILINE)
    assert 1000 < (ROOT / picture).stat().st_size < 200_000


@pytest.mark.parametrize("module", PUBLIC_MODULES, ids=lambda module: module.__name__)
def test_every_public_name_has_its_page(module):
    text = (DOCS / "api" / f"{module.__name__}.rst").read_text()
    assert f".. currentmodule:: {module.__name__}\n" in text
    listed = re.findall(r"^   ([A-Za-z]\w*)$", text, flags=re.MULTILINE)
    listed += re.findall(r"^\.\. py:data:: (\w+)$", text, flags=re.MULTILINE)
    assert sorted(listed) == sorted(module.__all__)
    assert f"   {module.__name__}\n" in (DOCS / "api" / "index.rst").read_text()


def test_figures_of_the_comparison_stand_in_the_tables_that_commands_make():
    """Each is one of a table's numbers, rounded as it is written."""
    text = PAGES["comparison.md"].read_text()
    measured = text.split("## Speed")[1].split("## The authors")[0]
    tables = PAGES["benchmarks.md"].read_text() + PAGES["settings.md"].read_text()
    known = {float(n) for n in re.findall(r"(?<![\w.])\d+(?:\.\d+)?", tables)}
    measured = re.sub(r"\(\d[\d ]* × \d+ × \d+\)", "", measured)  # shapes
    figures = re.findall(r"(?<![\w.#])\d+(?:\.\d+)?(?![\w.]*\.md)", measured)
    assert len(figures) > 20
    for figure in figures:
        places = len(figure.partition(".")[2])
        assert float(figure) in {round(n, places) for n in known}, figure


def test_every_page_of_the_guide_can_be_reached():
    listed = set()
    for page in DOCS.glob("*.md"):
        for tree in re.findall(r"```\{toctree\}\n(.*?)```", page.read_text(), flags=re.DOTALL):
            entries = tree.split("\n\n", 1)[1].strip().splitlines()
            listed |= {re.sub(r".*<(.+)>", r"\1", entry) for entry in entries}
    assert {page.stem for page in DOCS.glob("*.md")} - listed == {"index"}
    assert listed - {"api/index", "recipes/index"} == {p.stem for p in DOCS.glob("*.md")} - {
        "index"
    }


@pytest.mark.parametrize("name", PAGES)
def test_links_between_pages_lead_somewhere(name):
    page = PAGES[name]
    text = re.sub(r"^```.*?^```", "", page.read_text(), flags=re.DOTALL | re.MULTILINE)
    for target, anchor in re.findall(r"\]\(([^)#\s:]+)(?:#([^)\s]+))?\)", text):
        if target.startswith("recipes/"):  # made from the example of that name
            assert (ROOT / "examples" / f"{Path(target).stem}.py").exists(), target
            continue
        assert (page.parent / target).exists(), target
        if anchor:
            headings = re.findall(r"^#+ (.+)$", (page.parent / target).read_text(), re.MULTILINE)
            assert anchor in {slug(heading) for heading in headings}, f"{target}#{anchor}"


def slug(heading):
    return re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-")


def test_most_pages_of_the_guide_show_code_that_runs():
    assert {"README.md", "start.md", "streams.md", "tables.md", "kernels.md", *LONG} <= set(RUN)


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=[pytest.mark.slow] * (name in LONG)) for name in RUN]
)
def test_python_of_a_page_runs(name, tmp_path, monkeypatch, capsys):
    plt = pytest.importorskip("matplotlib.pyplot")
    plt.switch_backend("Agg")
    code = "\n".join(PYTHON.findall(PAGES[name].read_text()))
    if "dask" in code:
        pytest.importorskip("dask")
    if "SparkSession" in code:  # has a process of its own, and ends with it
        run_with_spark(code, tmp_path)
        return
    monkeypatch.chdir(tmp_path)
    exec(compile(code, name, "exec"), {"__name__": "__main__"})
    plt.close("all")
    assert capsys.readouterr().out == ""


def run_with_spark(code, folder):
    pytest.importorskip("pyspark")
    if not (shutil.which("java") or os.environ.get("JAVA_HOME")):
        pytest.skip("Spark needs Java, and there is none")
    settings = ("spark.driver.bindAddress=127.0.0.1", "spark.sql.shuffle.partitions=4")
    settings += ("spark.ui.enabled=false", "spark.driver.host=127.0.0.1")
    spark = {
        "PYSPARK_PYTHON": sys.executable,
        "PYSPARK_SUBMIT_ARGS": " ".join(f"--conf {text}" for text in settings) + " pyspark-shell",
        "SPARK_LOCAL_IP": "127.0.0.1",
    }
    done = subprocess.run(
        [sys.executable, "-c", code],
        cwd=folder,
        env={**os.environ, **spark},
        capture_output=True,
        encoding="utf-8",
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stderr


@pytest.mark.slow
@pytest.mark.parametrize("path", sorted((ROOT / "examples").glob("*.py")), ids=lambda p: p.stem)
def test_recipe_runs_without_a_warning(path, tmp_path):
    done = subprocess.run(
        [sys.executable, "-W", "error", path],
        cwd=tmp_path,
        env={**os.environ, "MPLBACKEND": "Agg"},
        capture_output=True,
        encoding="utf-8",
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert list(tmp_path.iterdir()) == [], "nothing is left behind"


@pytest.mark.slow
@pytest.mark.skipif(importlib.util.find_spec("sphinx_gallery") is None, reason="needs .[docs]")
def test_the_site_builds_without_a_warning(tmp_path):
    for left_over in (DOCS / "api" / "generated", DOCS / "recipes"):  # pages of names that are gone
        shutil.rmtree(left_over, ignore_errors=True)
    build = (sys.executable, "-m", "sphinx", "-W", "--keep-going", "-q", "-b", "html")
    done = subprocess.run(
        [*build, f"-d{tmp_path / 'doctrees'}", DOCS, tmp_path / "html"],
        capture_output=True,
        encoding="utf-8",
        timeout=600,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    made = {page.stem for page in (tmp_path / "html" / "api" / "generated").glob("*.html")}
    names = {f"{m.__name__}.{name}" for m in PUBLIC_MODULES for name in m.__all__}
    assert names - {"projse.__version__"} <= made
