"""What scikit-learn is told of estimators that leave the rows to a selector."""

from __future__ import annotations

from typing import Any

from sklearn.utils import Tags

from projse.estimators.projse import ProjSe


class TagsOfSelectorMixin:
    """Takes the gaps, categories and sparse rows that the parameter ``selector`` takes."""

    selector: Any

    def __sklearn_tags__(self) -> Tags:
        tags: Tags = super().__sklearn_tags__()  # type: ignore[misc]
        selector = ProjSe() if self.selector is None else self.selector
        if isinstance(selector, ProjSe):
            own, theirs = tags.input_tags, selector.__sklearn_tags__().input_tags
            own.allow_nan, own.sparse = theirs.allow_nan, theirs.sparse
            own.categorical, own.string = theirs.categorical, theirs.string
        return tags
