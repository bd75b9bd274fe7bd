"""What the package promises to others: its names, their docs, its types, its README."""

from __future__ import annotations

import doctest
import importlib
import inspect
import pkgutil
import re
import subprocess
import sys
from pathlib import Path

import pytest
from processes import without

import projse
import projse.datasets
import projse.exceptions
import projse.metrics
import projse.plots
import projse.projectors
import projse.sources
import projse.spark

ROOT = Path(__file__).parents[2]
PACKAGED = {m.name: m.ispkg for m in pkgutil.walk_packages(projse.__path__, "projse.")}
MODULES = sorted(PACKAGED)
PUBLIC_MODULES = [
    projse,
    projse.datasets,
    projse.exceptions,
    projse.metrics,
    projse.plots,
    projse.projectors,
    projse.sources,
    projse.spark,
]
OBJECTS = {
    f"{module.__name__}.{name}": getattr(module, name)
    for module in PUBLIC_MODULES
    for name in module.__all__
    if name != "__version__" and not name.isupper()
}
LOADERS = {
    thing.__module__ for path, thing in OBJECTS.items() if path.startswith("projse.datasets.load_")
}
METHODS = {
    f"{path}.{name}": member
    for path, thing in OBJECTS.items()
    if inspect.isclass(thing) and thing.__module__.startswith("projse")
    for name, member in vars(thing).items()
    if not name.startswith("_") and (callable(member) or isinstance(member, classmethod | property))
}


def run_python(code, cwd):
    return subprocess.run(
        [sys.executable, "-W", "error", "-c", code],
        cwd=cwd,
        capture_output=True,
        encoding="utf-8",
        timeout=120,
        check=False,
    )


# Names


def test_the_public_names_are_these():
    assert projse.__all__ == [
        "PAPER",
        "KnockoffProjSe",
        "Moments",
        "MomentsFileError",
        "PermutationTest",
        "ProjSe",
        "ProjSeCV",
        "RankExhaustedWarning",
        "SourceError",
        "StabilityProjSe",
        "StateError",
        "TwoViewProjSe",
        "__version__",
        "block_moments",
        "moments_from",
        "permutation_test",
        "report",
        "subspace_correlation",
    ]


@pytest.mark.parametrize("module", PUBLIC_MODULES, ids=lambda module: module.__name__)
def test_all_is_sorted_and_is_the_whole_public_surface(module):
    assert module.__all__ == sorted(module.__all__, key=lambda name: (not name.isupper(), name))
    public = {
        name
        for name, value in vars(module).items()
        if not name.startswith("_")
        and not inspect.ismodule(value)
        and getattr(value, "__module__", "").startswith("projse")
    }
    own = {name for name in public if getattr(module, name).__module__ == module.__name__}
    constants = {name for name in module.__all__ if name.isupper()}
    named = set(module.__all__) - {"__version__"} - constants
    assert named == (own if module is projse.spark else public)


def test_what_is_public_is_named_by_rooms_and_by_modules_listed_here():
    top = [name for name in MODULES if name.count(".") == 1]
    named = {name for name in top if "__all__" in vars(importlib.import_module(name))}
    assert {
        f"projse.{room}" for room in ("cli", "datasets", "metrics", "projectors", "sources")
    } <= named
    modules = {name for name in named if not PACKAGED[name]}
    assert modules == {f"projse.{name}" for name in ("exceptions", "spark")}
    for name in named:
        handed_out = importlib.import_module(name).__all__
        assert handed_out == sorted(handed_out)


# Docs


@pytest.mark.parametrize("path", OBJECTS)
def test_public_names_say_what_they_are(path):
    thing = OBJECTS[path]
    docs = inspect.getdoc(thing) or ""
    assert len(docs.splitlines()[0]) > 20
    assert docs.splitlines()[0].endswith(".")
    if inspect.isclass(thing):
        if not issubclass(thing, Exception):
            assert "Attributes\n------" in docs or "Parameters\n------" in docs
    elif path.startswith("projse.projectors"):  # formulas: the summary line is the result
        assert ">>>" in docs
    else:
        assert "Returns\n------" in docs
        parameters(thing, docs)
        if path.startswith("projse.metrics"):
            assert "References\n------" in docs
            assert ">>>" in docs


def parameters(function, docs):
    """Every parameter is in the docs."""
    section = docs.split("Parameters\n------")[1]
    for name in inspect.signature(function).parameters:
        assert name in ("self", "cls") or re.search(rf"\b{name}\b", section), name


@pytest.mark.parametrize("path", METHODS)
def test_public_methods_say_what_they_do(path):
    member = METHODS[path]
    function = getattr(member, "__func__", member)
    docs = inspect.getdoc(function) or ""
    assert docs, path
    if "Parameters\n------" in docs:
        parameters(function, docs)


def test_every_parameter_and_attribute_of_the_estimator_is_documented():
    docs = inspect.getdoc(projse.ProjSe)
    for name in inspect.signature(projse.ProjSe).parameters:
        assert re.search(rf"^{name} : ", docs, flags=re.MULTILINE), name
    import numpy as np

    rng = np.random.default_rng(0)
    fitted = projse.ProjSe(2).fit(rng.normal(size=(30, 4)), rng.normal(size=(30, 2)))
    for name in vars(fitted):
        if name.endswith("_"):
            assert re.search(rf"^{name} : ", docs, flags=re.MULTILINE), name


@pytest.mark.parametrize("name", ["projse", *MODULES])
def test_examples_in_the_docs_run(name):
    if name == "projse.__main__":
        return
    module = importlib.import_module(name)
    # A session of Spark, and data: the tests of Spark and of the loaders run those.
    if name != "projse.spark" and name not in LOADERS:
        assert doctest.testmod(module).failed == 0
    assert (module.__doc__ or "").strip(), "a module says what it is for"


def test_the_example_of_a_constant_runs():
    """Its text stands below it, where ``doctest.testmod`` does not look."""
    path = importlib.import_module("projse.estimators.paper").__file__
    found = doctest.testfile(path, module_relative=False, encoding="utf-8")
    assert found.attempted > 0
    assert found.failed == 0


def test_every_function_and_class_has_an_example():
    """But for errors and warnings, which say when they are raised."""
    without = [
        path
        for path, thing in OBJECTS.items()
        if not (inspect.isclass(thing) and issubclass(thing, Exception))
        and ">>> " not in (inspect.getdoc(thing) or "")
    ]
    assert without == []


def test_the_estimator_moments_and_functions_have_examples():
    functions = (projse.permutation_test, projse.subspace_correlation)
    for thing in (projse.ProjSe, projse.Moments, *functions):
        assert ">>>" in inspect.getdoc(thing)


# Shipping


def test_types_are_shipped():
    assert (Path(projse.__file__).parent / "py.typed").exists()


HEAVY = {
    "pandas",
    "polars",
    "pyarrow",
    "duckdb",
    "typer",
    "rich",
    "matplotlib",
    "dask",
    "distributed",
    "pyspark",
    "pooch",
}


def test_import_adds_nothing_heavy_to_what_scikit_learn_imports(tmp_path):
    done = run_python(
        "import sys, sklearn.feature_selection; before = set(sys.modules)\n"
        "import projse, projse.projectors, projse.metrics, projse.cli, projse.datasets\n"
        "import projse.sources, projse.plots\n"
        f"print(sorted((set(sys.modules) - before) & {HEAVY}))",
        tmp_path,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip() == "[]"


def test_optional_packages_are_optional(tmp_path):
    done = run_python(
        without(HEAVY) + "import numpy as np; from projse import ProjSe\n"
        "X = np.random.default_rng(0).normal(size=(30, 4))\n"
        "ProjSe(2).fit(X, X[:, :2] > 0, covariates=['a', 'b'] * 15)\n"
        "ProjSe(2).fit(X, ['a', 'b'] * 15)",
        tmp_path,
    )
    assert done.returncode == 0, done.stderr


def test_version_is_in_the_changelog():
    release = projse.__version__.split(".dev")[0]
    headings = re.findall(r"^## .*$", (ROOT / "CHANGELOG.md").read_text(), flags=re.MULTILINE)
    assert any(release in heading for heading in headings), headings


# README


def readme():
    return (ROOT / "README.md").read_text()


def test_python_in_the_readme_runs(tmp_path):
    blocks = re.findall(r"```python\n(.*?)```", readme(), flags=re.DOTALL)
    assert blocks
    done = run_python("\n".join(blocks) + "\nassert X_small.shape == (1000, 5)\n", tmp_path)
    assert done.returncode == 0, done.stderr
    assert done.stdout == done.stderr == ""


def test_links_of_the_readme_lead_somewhere():
    for text in (readme(), (ROOT / "CONTRIBUTING.md").read_text()):
        for target in re.findall(r"\]\(([^)#]+)\)", text):
            assert target.startswith("https://") or (ROOT / target).exists(), target


def test_names_in_the_readme_exist():
    known = {*projse.__all__, *dir(projse.ProjSe), *dir(projse.Moments)}
    known |= set(re.findall(r"^(\w+_) : ", inspect.getdoc(projse.ProjSe), flags=re.MULTILINE))
    for name in re.findall(r"`(\w+_)`", readme()):
        assert name in known, name
