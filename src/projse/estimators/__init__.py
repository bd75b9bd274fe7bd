"""Estimators: the scikit-learn face of the selection.

Comes in: what a user passes, and parameters. Goes out: fitted attributes, masks, transformed rows.
Must not know: how sums, kernels or searches are computed; it checks, asks a task, and stores.
"""

from projse.estimators.cross_validation import ProjSeCV
from projse.estimators.knockoffs import KnockoffProjSe
from projse.estimators.permutation import PermutationTest, permutation_test
from projse.estimators.projse import ProjSe
from projse.estimators.stability import StabilityProjSe
from projse.estimators.subspace import subspace_correlation
from projse.estimators.two_view import TwoViewProjSe

__all__ = [
    "KnockoffProjSe",
    "PermutationTest",
    "ProjSe",
    "ProjSeCV",
    "StabilityProjSe",
    "TwoViewProjSe",
    "permutation_test",
    "subspace_correlation",
]
