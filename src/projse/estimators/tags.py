"""What scikit-learn is told of estimators that leave the rows to a selector."""

from __future__ import annotations

from typing import Any

from sklearn.utils import Tags

from projse.estimators.projse import ProjSe


class TagsOfSelectorMixin:
    """Takes the gaps and sparse rows that the parameter ``selector`` takes.

    Its categories too, which is told only with ``_tells_categories``: scikit-learn then checks
    with rounded numbers, and the classes that these make of y may be too few rows each.
    """

    selector: Any
    _tells_categories = False

    def __sklearn_tags__(self) -> Tags:
        tags: Tags = super().__sklearn_tags__()  # type: ignore[misc]
        selector = ProjSe() if self.selector is None else self.selector
        if isinstance(selector, ProjSe):
            own, theirs = tags.input_tags, selector.__sklearn_tags__().input_tags
            own.allow_nan, own.sparse = theirs.allow_nan, theirs.sparse
            if self._tells_categories:
                own.categorical, own.string = theirs.categorical, theirs.string
        return tags
