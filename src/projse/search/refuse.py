"""What no selection can be made of, in words."""

from __future__ import annotations

from projse.exceptions import ProductsMissingError
from projse.kernels.feature_gram import FeatureGram
from projse.kernels.routes import KernelSpec
from projse.moments.sums import Moments
from projse.search.rounds import Plan, Selection


def refuse_lack(moments: Moments, plan: Plan, spec: KernelSpec, *, grouped: bool) -> None:
    """Refuse moments without products of the candidates where nothing goes without them."""
    if moments.one_view:
        what = "One view"
    elif plan.include.size:
        what = "include"
    elif spec.center_kernel:
        what = "center_kernel"
    elif grouped:
        what = "groups"
    else:
        return
    raise ProductsMissingError(
        f"{what} needs the products of the candidates with each other, which these moments do "
        "not hold; build them with Moments.from_arrays(..., with_xx=True)."
    )


def refuse_silence(selection: Selection, plan: Plan) -> None:
    """Refuse an "auto" that cannot say anything about any candidate."""
    if selection.stopped == "no p-values" and len(selection.indices) == plan.include.size:
        raise ValueError(
            "n_features_to_select='auto' goes by p-values, which need more rows than the "
            "references have dimensions; use a number, rank= to keep fewer dimensions, or more "
            "rows."
        )


def what_is_constant(gram: FeatureGram, plan: Plan, spec: KernelSpec) -> str | None:
    """Say that all candidates or all references are constant; None if they are not."""
    kind = "constant" if spec.center else "zero"
    if spec.center_kernel:
        kind += ", or no two differ, and center_kernel=True takes out what they share"
    if gram.n_conditioned:
        kind += ", or explained wholly by the covariates"
    if not gram.alive.any():
        return f"All columns of X are {kind}: there is nothing to select from."
    if not plan.one_view and gram.n_y == 0:
        return (
            f"All columns of y are {kind} (of labels: only one class); there is nothing to explain."
        )
    return None
