"""Joint multi-output variable selection with projection operators.

The data path: source → moments → kernel → coordinates → search → estimator.
"""

from projse._blocks import block_moments
from projse._cv import ProjSeCV
from projse._estimator import ProjSe
from projse._moments import Moments
from projse._permutation import PermutationTest, permutation_test
from projse._stability import StabilityProjSe
from projse._stream import moments_from
from projse._subspace import subspace_correlation
from projse._two_view import TwoViewProjSe
from projse.exceptions import MomentsFileError, RankExhaustedWarning, SourceError, StateError

__version__ = "0.1.0.dev0"

__all__ = [
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
    "subspace_correlation",
]
