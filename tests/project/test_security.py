"""What no line of the package does: unpickle strangers' files, run text, start shells."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

SOURCE = Path(__file__).parents[2] / "src" / "projse"
TREES = {path: ast.parse(path.read_text(encoding="utf-8")) for path in SOURCE.rglob("*.py")}

UNTRUSTED = {"pickle", "cPickle", "dill", "cloudpickle", "shelve", "marshal", "jsonpickle"}
"""Modules whose loading can run any code."""
RESTRICTED = {SOURCE / "datasets" / "cifar.py"}
"""Has an unpickler that knows four names; tests/datasets/test_cifar.py attacks it."""
RUN_TEXT = {"eval", "exec", "compile", "__import__"}
SHELLS = {"os.system", "os.popen", "subprocess.getoutput", "subprocess.getstatusoutput"}
UNSAFE = {"yaml.load", "yaml.unsafe_load", "joblib.load", "torch.load", "pickle.loads"}
UNSAFE |= {"pickle.load", "tempfile.mktemp", "pd.read_pickle", "pandas.read_pickle"}
EXTRACT = {"extractall", "extract", "unpack_archive"}
FRAMES = {"eval", "query"}
"""Methods of data frames, and functions of pandas, that run text."""


def dotted(node: ast.expr) -> str:
    """Name of what is called, ``a.b.c``; its last part where it begins with an expression."""
    if isinstance(node, ast.Name):
        return node.id
    if isinstance(node, ast.Attribute):
        return f"{dotted(node.value)}.{node.attr}".lstrip(".")
    return ""


def calls(tree: ast.AST) -> list[tuple[str, ast.Call]]:
    return [(dotted(node.func), node) for node in ast.walk(tree) if isinstance(node, ast.Call)]


def keywords(call: ast.Call) -> dict[str | None, ast.expr]:
    return {keyword.arg: keyword.value for keyword in call.keywords}


def imported(tree: ast.AST) -> set[str]:
    found = {alias.name for n in ast.walk(tree) if isinstance(n, ast.Import) for alias in n.names}
    found |= {n.module or "" for n in ast.walk(tree) if isinstance(n, ast.ImportFrom)}
    return {name.split(".")[0] for name in found}


def faults(tree: ast.AST, *, restricted: bool = False) -> list[str]:
    """What a module does that it must not, as text."""
    found = [] if restricted else [f"imports {name}" for name in imported(tree) & UNTRUSTED]
    for name, call in calls(tree):
        last, given = name.rsplit(".", 1)[-1], keywords(call)
        if name in RUN_TEXT | SHELLS | UNSAFE:
            found.append(f"calls {name} in line {call.lineno}")
        if last in FRAMES and last != name:
            found.append(f"calls {name} in line {call.lineno}")
        if last in EXTRACT:
            found.append(f"unpacks into a folder in line {call.lineno}: {name}")
        shell = given.get("shell")
        if shell is not None and not (isinstance(shell, ast.Constant) and shell.value is False):
            found.append(f"starts a shell in line {call.lineno}")
        numpy = name.startswith(("np.", "numpy."))
        if numpy and last in ("load", "read_array", "write_array"):
            allowed = given.get("allow_pickle")
            if not (isinstance(allowed, ast.Constant) and allowed.value is False):
                found.append(f"{name} without allow_pickle=False in line {call.lineno}")
    return found


def test_nothing_that_is_read_can_run():
    found = {p: faults(tree, restricted=p in RESTRICTED) for p, tree in TREES.items()}
    assert len(found) > 100
    assert {path: said for path, said in found.items() if said} == {}


@pytest.mark.parametrize(
    "line",
    [
        "import pickle",
        "from dill import loads",
        "eval(text)",
        "exec(text)",
        "pd.eval(text)",
        "frame.query(text)",
        "np.load(path)",
        "numpy.load(path, allow_pickle=True)",
        "np.lib.format.read_array(file, allow_pickle=flag)",
        "subprocess.run(text, shell=True)",
        "os.system(text)",
        "yaml.load(text)",
        "joblib.load(path)",
        "archive.extractall(folder)",
    ],
)
def test_the_look_finds_what_it_looks_for(line):
    assert faults(ast.parse(line))


def test_only_one_module_may_unpickle_and_only_its_own_names():
    from projse.datasets.cifar import ALLOWED

    assert all(path.exists() for path in RESTRICTED)
    assert {module.split(".")[0] for module, _ in ALLOWED} == {"numpy"}
    assert {name for _, name in ALLOWED} == {"_reconstruct", "ndarray", "dtype"}


def test_scripts_of_reports_make_no_markup_and_no_requests():
    ours = [p for p in (SOURCE / "reports" / "assets").glob("*.js") if p.name != "plot.min.js"]
    assert ours
    for path in ours:
        text = path.read_text(encoding="utf-8")
        for word in ("innerHTML", "outerHTML", "insertAdjacentHTML", "document.write", "eval("):
            assert word not in text, (path, word)
        for word in ("fetch(", "XMLHttpRequest", "WebSocket", "import(", "new Function"):
            assert word not in text, (path, word)
