"""Joint multi-output variable selection with projection operators.

The data path: source → moments → kernel → coordinates → search → estimator.
"""

from projse._estimator import ProjSe
from projse._moments import Moments
from projse._permutation import PermutationTest, permutation_test
from projse._subspace import subspace_correlation
from projse.exceptions import MomentsFileError, RankExhaustedWarning

__version__ = "0.1.0.dev0"

__all__ = [
    "Moments",
    "MomentsFileError",
    "PermutationTest",
    "ProjSe",
    "RankExhaustedWarning",
    "__version__",
    "permutation_test",
    "subspace_correlation",
]
