"""Which errors are our own: of our types, or raised by a statement of ours in words of ours."""

from __future__ import annotations

import dis
import traceback
from pathlib import Path
from types import TracebackType

import projse
import projse.exceptions

PACKAGE = str(Path(projse.__file__).parent)
CHECKS = "sklearn/utils/validation.py"
"""Arrays are checked by scikit-learn, whose words its users know."""

TYPES = tuple(
    kind
    for kind in vars(projse.exceptions).values()
    if isinstance(kind, type) and issubclass(kind, Exception) and not issubclass(kind, Warning)
)


class WrongAnswerError(AssertionError):
    """An attempt succeeded, with something that cannot be right."""


def is_own(error: BaseException) -> bool:
    """Tell whether an error is one that users are meant to see."""
    if isinstance(error, TYPES):
        return True
    if not isinstance(error, ValueError | TypeError | OSError) or not str(error):
        return False
    # UnicodeError and the like are ValueErrors that nobody here words.
    if type(error).__module__ != "builtins" or isinstance(error, UnicodeError):
        return False
    trace = innermost(error.__traceback__)
    if trace is None or not _is_raise(trace):
        return False
    file = trace.tb_frame.f_code.co_filename
    return file.startswith(PACKAGE) or file.endswith(CHECKS)


def innermost(trace: TracebackType | None) -> TracebackType | None:
    """Return the frame that raised."""
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    return trace


def _is_raise(trace: TracebackType) -> bool:
    """Tell whether a ``raise`` stands there, and not a call of compiled code that failed."""
    return trace.tb_frame.f_code.co_code[trace.tb_lasti] == dis.opmap["RAISE_VARARGS"]


def signature(error: BaseException) -> str:
    """Return what tells one defect from another: type, and the lines that led to it."""
    frames = traceback.extract_tb(error.__traceback__)
    ours = [f for f in frames if f.filename.startswith(PACKAGE)][-1:]
    places = [f"{Path(f.filename).name}:{f.lineno}" for f in (*ours, *frames[-1:])]
    return " ".join([type(error).__name__, *dict.fromkeys(places)])
