"""The public names and their signatures are those of the committed list."""

from __future__ import annotations

import difflib
import inspect
import runpy
from pathlib import Path

ROOT = Path(__file__).parents[2]
TOOL = runpy.run_path(str(ROOT / "tools" / "api.py"))
LIST = Path(__file__).with_name("public_api.txt")


def test_names_and_signatures_are_those_of_the_list():
    kept, now = LIST.read_text(encoding="utf-8").splitlines(), list(TOOL["lines"]())
    changes = "\n".join(difflib.unified_diff(kept, now, "list", "package", lineterm="", n=0))
    assert not changes, (
        f"{changes}\nIf that is meant: changelog, then "
        "python tools/api.py > tests/project/public_api.txt"
    )


def test_a_new_parameter_a_default_and_a_new_method_would_be_seen():
    def of(thing):
        return "\n".join(TOOL["_describe"]("projse.Thing", thing))

    class Thing:
        def __init__(self, a, *, b=1):
            pass

        def fit(self, X):
            pass

        @property
        def n(self):
            return 1

    class Other:
        def __init__(self, a, *, b=2):
            pass

    Thing.__module__ = Other.__module__ = "projse.made_up"
    text = of(Thing)
    assert "(a, *, b=1)" in text
    assert ".fit(X)" in text
    assert ".n: property" in text
    assert of(Other) != text
    assert TOOL["_signature"](lambda x, *y, z=None, **w: 0) == "(x, *y, z=None, **w)"


def test_the_list_has_every_public_module():
    import projse

    text = LIST.read_text(encoding="utf-8")
    for module in TOOL["MODULES"]:
        assert f"{module}." in text
    assert inspect.signature(projse.ProjSe.fit).parameters.keys() >= {"X", "y", "sample_weight"}
    assert "projse.ProjSe.fit(X, y=None, sample_weight=None" in text
