"""The paper's form of a selector, for tests that mean it whatever the defaults are."""

from __future__ import annotations

from sklearn.base import clone

from projse import PAPER, ProjSe

FORMS = {"default": {}, "paper": {name: PAPER[name] for name in PAPER if name != "exhausted"}}
"""Parameters of both forms, for tests of what holds in either."""


def paper_form(n=None, **parameters):
    """A ProjSe as the paper has it, but for the parameters given."""
    return ProjSe(n, **{**PAPER, **parameters})


def in_form(selector, form):
    """A copy of a selector in one of the forms, but for what was set by hand."""
    given = selector.get_params()
    settled = {k: v for k, v in FORMS[form].items() if isinstance(given[k], str)}
    return clone(selector).set_params(**settled)
