"""Joint multi-output variable selection with projection operators.

The data path: source → moments → kernel → coordinates → search → estimator.
"""

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
