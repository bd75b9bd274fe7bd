"""Joint multi-output variable selection with projection operators.

The data path: source → moments → kernel → coordinates → search → estimator.
"""

from projse._estimator import ProjSe
from projse._moments import Moments
from projse._stream import moments_from
from projse._subspace import subspace_correlation
from projse.exceptions import MomentsFileError, RankExhaustedWarning, SourceError, StateError

__version__ = "0.1.0.dev0"

__all__ = [
    "Moments",
    "MomentsFileError",
    "ProjSe",
    "RankExhaustedWarning",
    "SourceError",
    "StateError",
    "__version__",
    "moments_from",
    "subspace_correlation",
]
