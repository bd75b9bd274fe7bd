"""What a report refuses to show side by side."""

from __future__ import annotations

from typing import Any

from sklearn.utils.validation import check_is_fitted

from projse.estimators.cross_validation import ProjSeCV
from projse.estimators.permutation import PermutationTest
from projse.estimators.projse import ProjSe
from projse.estimators.stability import StabilityProjSe


def refuse_others(selector: Any, cv: Any, stability: Any) -> None:
    """Refuse what is no fitted selector of the kind, or is not about the same candidates."""
    kinds = (("selector", selector, ProjSe), ("cv", cv, ProjSeCV))
    for name, given, kind in (*kinds, ("stability", stability, StabilityProjSe)):
        if given is None and name != "selector":
            continue
        if not isinstance(given, kind):
            remedy = ""
            if hasattr(given, "x_selector_"):
                remedy = "; report its x_selector_ and its y_selector_ one by one"
            elif isinstance(given, StabilityProjSe):
                remedy = "; pass it as stability=, beside the selector fitted on all rows"
            what = type(given).__name__
            raise TypeError(f"{name} must be a fitted {kind.__name__}, not {what}{remedy}.")
        check_is_fitted(given)
        n, n_of_selector = len(given.variable_names_), len(selector.variable_names_)
        if n != n_of_selector:
            raise ValueError(
                f"{name} was fitted on {n} candidates, the selector on {n_of_selector}; fit both "
                "on the same data, with the same groups."
            )


def refuse_other_test(selector: Any, test: Any) -> None:
    """Refuse what is no permutation test, or one of more candidates."""
    if test is None:
        return
    if not isinstance(test, PermutationTest):
        what = type(test).__name__
        raise TypeError(f"permutations must be what permutation_test returns, not {what}.")
    if test.selected.max(initial=-1) >= len(selector.variable_names_):
        raise ValueError(
            "permutations picked from more candidates than the selector; test the same data."
        )
