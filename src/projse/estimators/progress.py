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
    """Reports the phases of a fit, rows and then picks, to the callbacks of an estimator.

    Passes that make products of the picks are phases between them, of unknown number
    (``max_phases=None``). A phase ends when the next one begins, however many of its steps were
    taken: a selection may stop early, and a route may have no steps to report. Costs nothing when
    no callback is set.
    """

    def __init__(
        self, estimator: Any, X: Any = None, y: Any = None, max_phases: int | None = 2
    ) -> None:
        self._estimator = estimator
        self._context = None
        self._phase: _Phase | None = None
        if getattr(estimator, "_skl_callbacks", None):
            self._context = estimator._init_callback_context(max_subtasks=max_phases)
            self._context.call_on_fit_task_begin(estimator=estimator, X=X, y=y)

    def phase(self, name: str) -> Callable[[int, int], None] | None:
        """Begin a phase; return a function ``(done, total)`` that reports its steps."""
        if self._context is None:
            return None
        self._end_phase()
        self._phase = _Phase(self._estimator, self._context, name)
        return self._phase.report

    @property
    def is_followed(self) -> bool:
        """Whether there is a callback to report to."""
        return self._context is not None

    def step(self, done: int, total: int) -> None:
        """Report a step of the phase at hand."""
        if self._phase is not None:
            self._phase.report(done, total)

    def around(self, cross: Callable[[Any], Any]) -> Callable[[Any], Any]:
        """Let each pass that makes products be a phase."""

        def reported(indices: Any) -> Any:
            self.phase("products")
            products = cross(indices)
            self.phase("picks")
            return products

        return reported

    def end(self) -> None:
        """Report that the fit is done."""
        if self._context is not None:
            self._end_phase()
            self._context.call_on_fit_task_end(estimator=self._estimator)

    def _end_phase(self) -> None:
        if self._phase is not None:
            self._phase.end()
            self._phase = None


class _Phase:
    """A part of a fit, whose number of steps is known once the first one is reported."""

    def __init__(self, estimator: Any, parent: Any, name: str) -> None:
        self._estimator = estimator
        self._parent = parent
        self._name = name
        self._context: Any = None
        self._steps_left = 0

    def report(self, done: int, total: int) -> None:
        if self._context is None:
            self._begin(total)
        # A pass that is made again in a wider dtype reports its steps again.
        if self._steps_left:
            self._steps_left -= 1
            step = self._context.subcontext(task_name=f"{self._name}-step")
            step.call_on_fit_task_begin(estimator=self._estimator)
            step.call_on_fit_task_end(estimator=self._estimator)

    def end(self) -> None:
        if self._context is None:
            self._begin(0)
        self._context.call_on_fit_task_end(estimator=self._estimator)

    def _begin(self, total: int) -> None:
        self._steps_left = total
        self._context = self._parent.subcontext(task_name=self._name, max_subtasks=total)
        self._context.call_on_fit_task_begin(estimator=self._estimator)
