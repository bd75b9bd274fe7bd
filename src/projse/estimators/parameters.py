"""Parameters of the selectors: those that make no sense are refused before anything is read."""

from __future__ import annotations

from typing import Any

from projse.parameters import (
    at_least,
    check_pass_options,
    is_number,
    is_whole,
    number,
    one_of,
    whole,
    yes_or_no,
)
from projse.sources.encode_targets import TARGET_TYPES
from projse.sources.table.encoder import BASES
from projse.sources.table.kinds import MISSING


def check_parameters(p: Any) -> None:
    """Refuse parameters of ``ProjSe`` that make no sense."""
    _check_n_features(p)
    one_of("kernel", p.kernel, ("linear", "poly", "rbf"), or_callable=True)
    one_of("exhausted", p.exhausted, ("residual", "restart", "stop"))
    one_of("target_type", p.target_type, TARGET_TYPES)
    one_of("solver", p.solver, ("auto", "gram", "qr", "sketch"))
    whole("iterated_power", p.iterated_power, 0)
    one_of("missing", p.missing, MISSING)
    one_of("basis", p.basis, BASES)
    whole("min_frequency", p.min_frequency, 1)
    if isinstance(p.categorical_features, str) and p.categorical_features != "from_dtype":
        raise ValueError(
            f"categorical_features={p.categorical_features!r}; the only word is 'from_dtype'. Name "
            "columns in a list."
        )
    whole("degree", p.degree, 1)
    number("coef0", p.coef0)
    if p.alpha != "auto":
        number("alpha", p.alpha)
    number("significance", p.significance, open_at_zero=True, below=1)
    if isinstance(p.gamma, str):
        if p.gamma != "mean_distance":
            raise ValueError(f"gamma={p.gamma!r} must be a number above 0 or 'mean_distance'.")
    else:
        number("gamma", p.gamma, open_at_zero=True)
    for name in ("center", "scale", "center_kernel"):
        yes_or_no(name, getattr(p, name))
    if p.tol is not None:
        number("tol", p.tol, below=1)
    if p.rank is not None and p.rank != "auto":
        if is_whole(p.rank):
            whole("rank", p.rank, 1)
        elif not is_number(p.rank) or not 0 < p.rank <= 1:
            raise ValueError(
                f"rank={p.rank!r} must be a whole number, a share of the trace in (0, 1], 'auto', "
                "or None."
            )
    share = is_number(p.redundancy) and 0 <= p.redundancy <= 1
    if p.redundancy != "auto" and not share:
        raise ValueError(f"redundancy={p.redundancy!r} must be a share in [0, 1], or 'auto'.")
    if p.round_size not in (None, "auto"):
        whole("round_size", p.round_size, 1)
    _check_redundancy(p)
    check_pass_options(p.n_jobs, p.batch_size)


def _check_redundancy(p: Any) -> None:
    """Refuse a redundancy that would do nothing."""
    if p.redundancy == "auto" or not p.redundancy:
        return
    if p.round_size not in (1, "auto"):
        given = f"round_size={p.round_size!r}"
    elif p.round_size == "auto" and p.exhausted == "restart":
        given = "exhausted='restart'"
    else:
        return
    raise ValueError(
        f"redundancy={p.redundancy!r} is for picks that are conditioned on one by one, which "
        f"{given} does not do; use round_size=1, or redundancy=0."
    )


def _check_n_features(p: Any) -> None:
    wanted = p.n_features_to_select
    if isinstance(wanted, str):
        if wanted != "auto":
            raise ValueError(f"n_features_to_select={wanted!r}; the only word is 'auto'.")
        if p.kernel != "linear" or p.center_kernel:
            raise ValueError(
                "n_features_to_select='auto' goes by p-values, which only the linear kernel "
                f"has; kernel={p.kernel!r}. Use a number."
            )
        if not p.center:
            raise ValueError(
                "n_features_to_select='auto' goes by p-values, which center=False does not have: "
                "means that are not 0 look like relations. Use center=True, which leaves centred "
                "variables as they are, or a number."
            )
    elif wanted is not None and not is_number(wanted):
        raise TypeError(
            f"n_features_to_select={wanted!r} must be a number, 'auto' or None, not "
            f"{type(wanted).__name__}."
        )
    elif is_whole(wanted):
        at_least("n_features_to_select", wanted, 1)
    elif wanted is not None and not 0 < wanted < 1:
        raise ValueError(
            f"n_features_to_select={wanted!r}: a share must lie between 0 and 1, a number must "
            "be an int."
        )
