"""Joint multi-output variable selection with projection operators.

The data path: source → moments → kernel → coordinates → search → estimator.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from projse.estimators.cross_validation import ProjSeCV
    from projse.estimators.knockoffs import KnockoffProjSe
    from projse.estimators.paper import PAPER
    from projse.estimators.permutation import PermutationTest, permutation_test
    from projse.estimators.projse import ProjSe
    from projse.estimators.stability import StabilityProjSe
    from projse.estimators.subspace import subspace_correlation
    from projse.estimators.two_view import TwoViewProjSe
    from projse.exceptions import MomentsFileError, RankExhaustedWarning, SourceError, StateError
    from projse.moments.blocks import block_moments
    from projse.moments.stream import moments_from
    from projse.moments.sums import Moments
    from projse.reports.write import report

__version__ = "0.1.0.dev0"

__all__ = [
    "PAPER",
    "KnockoffProjSe",
    "Moments",
    "MomentsFileError",
    "PermutationTest",
    "ProjSe",
    "ProjSeCV",
    "RankExhaustedWarning",
    "SourceError",
    "StabilityProjSe",
    "StateError",
    "TwoViewProjSe",
    "__version__",
    "block_moments",
    "moments_from",
    "permutation_test",
    "report",
    "subspace_correlation",
]

_HOMES = {
    "KnockoffProjSe": "projse.estimators.knockoffs",
    "Moments": "projse.moments.sums",
    "MomentsFileError": "projse.exceptions",
    "PAPER": "projse.estimators.paper",
    "PermutationTest": "projse.estimators.permutation",
    "ProjSe": "projse.estimators.projse",
    "ProjSeCV": "projse.estimators.cross_validation",
    "RankExhaustedWarning": "projse.exceptions",
    "SourceError": "projse.exceptions",
    "StabilityProjSe": "projse.estimators.stability",
    "StateError": "projse.exceptions",
    "TwoViewProjSe": "projse.estimators.two_view",
    "block_moments": "projse.moments.blocks",
    "moments_from": "projse.moments.stream",
    "permutation_test": "projse.estimators.permutation",
    "report": "projse.reports.write",
    "subspace_correlation": "projse.estimators.subspace",
}
"""Where the public names live: each is imported when it is first asked for, so that
``projse --help`` need not wait for scikit-learn."""

_ROOMS = ("estimators", "exceptions", "metrics", "moments", "reports", "sources")


def __getattr__(name: str) -> Any:
    if name in _ROOMS:
        return import_module(f"projse.{name}")
    if name not in _HOMES:
        raise AttributeError(f"module 'projse' has no attribute {name!r}")
    value = getattr(import_module(_HOMES[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
