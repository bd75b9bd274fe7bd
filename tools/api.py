"""Print the public names with their signatures; a change of any of them must be meant.

    python tools/api.py > tests/project/public_api.txt

One line a function, class, method, property and constant, as ``inspect`` sees it. The test compares
the committed file with this.
"""

from __future__ import annotations

import importlib
import inspect
from collections.abc import Iterator

MODULES = (
    "projse",
    "projse.datasets",
    "projse.exceptions",
    "projse.metrics",
    "projse.plots",
    "projse.projectors",
    "projse.sources",
    "projse.spark",
)


def lines() -> Iterator[str]:
    """Yield a line a public name, module by module."""
    for module in map(importlib.import_module, MODULES):
        for name in sorted(module.__all__):
            if name != "__version__":
                yield from _describe(f"{module.__name__}.{name}", getattr(module, name))


def _describe(path: str, thing: object) -> Iterator[str]:
    if inspect.isclass(thing):
        # What an error is caught by is public; of what an estimator is put together is not.
        caught = [base.__name__ for base in thing.__bases__] if issubclass(thing, Exception) else []
        yield f"class {path}({', '.join(caught)})"
        if "__init__" in vars(thing):
            yield f"  {path}{_signature(thing.__init__)}"
        for name in sorted({n for base in _ours(thing) for n in vars(base)}):
            if not name.startswith(("_", "set_")):  # those are scikit-learn's own
                yield from _member(f"  {path}.{name}", inspect.getattr_static(thing, name))
    elif callable(thing):
        yield f"{path}{_signature(thing)}"
    else:
        yield f"{path} = {thing}"


def _ours(thing: type) -> list[type]:
    """Classes of the package that a class is made of: what it inherits from them is its own."""
    return [base for base in thing.__mro__ if base.__module__.split(".")[0] == "projse"]


def _member(path: str, member: object) -> Iterator[str]:
    if isinstance(member, property):
        yield f"{path}: property"
    elif isinstance(member, classmethod | staticmethod):
        yield f"{path}{_signature(member.__func__)}: {type(member).__name__}"
    elif inspect.isfunction(member):
        yield f"{path}{_signature(member)}"
    elif callable(member) or hasattr(member, "__get__"):
        yield f"{path}: available where the fitted object has it"


def _signature(thing: object) -> str:
    """Names, kinds and defaults of the parameters; types are the business of mypy."""
    signature = inspect.signature(thing)  # type: ignore[arg-type]
    bare = [
        parameter.replace(annotation=inspect.Parameter.empty)
        for parameter in signature.parameters.values()
        if parameter.name not in ("self", "cls")
    ]
    text = signature.replace(parameters=bare, return_annotation=inspect.Signature.empty)
    return str(text)


if __name__ == "__main__":
    print("\n".join(lines()))
