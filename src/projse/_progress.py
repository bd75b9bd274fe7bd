"""Progress of a fit through scikit-learn's callback protocol, where it is there (1.9)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

try:
    from sklearn.callback import CallbackSupportMixin, with_callbacks
except ImportError:  # scikit-learn < 1.9

    class CallbackSupportMixin:  # type: ignore[no-redef]
        """Stands in for scikit-learn's mixin before version 1.9: no callbacks."""

    def with_callbacks(method: Any) -> Any:
        """Leave the method as it is."""
        return method


__all__ = ["CallbackSupportMixin", "FitProgress", "with_callbacks"]


class FitProgress:
    """Reports the two phases of a fit, rows and picks, to the callbacks of an estimator.

    Costs nothing when no callback is set.
    """

    def __init__(self, estimator: Any, X: Any = None, y: Any = None) -> None:
        self._estimator = estimator
        self._context = None
        if getattr(estimator, "_skl_callbacks", None):
            self._context = estimator._init_callback_context(max_subtasks=2)
            self._context.call_on_fit_task_begin(estimator=estimator, X=X, y=y)

    def phase(self, name: str) -> Callable[[int, int], None] | None:
        """Return a function ``(done, total)`` that reports the steps of a phase."""
        if self._context is None:
            return None
        root, estimator = self._context, self._estimator
        state: dict[str, Any] = {}

        def report(done: int, total: int) -> None:
            if not state:
                state["context"] = root.subcontext(task_name=name, max_subtasks=total)
                state["context"].call_on_fit_task_begin(estimator=estimator)
            step = state["context"].subcontext(task_name=f"{name}-step")
            step.call_on_fit_task_begin(estimator=estimator)
            step.call_on_fit_task_end(estimator=estimator)
            if done == total:
                state["context"].call_on_fit_task_end(estimator=estimator)

        return report

    def end(self) -> None:
        """Report that the fit is done."""
        if self._context is not None:
            self._context.call_on_fit_task_end(estimator=self._estimator)
