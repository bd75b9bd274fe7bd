"""The parameters of the paper's form."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

PAPER: Mapping[str, Any] = MappingProxyType(
    {
        "center_kernel": False,
        "alpha": 0.0,
        "redundancy": 0.0,
        "rank": None,
        "tol": None,
        "exhausted": "residual",
        "round_size": None,
    }
)
"""``ProjSe(10, **PAPER)`` selects as the paper does, whatever the defaults are: no ridges, and
conditioning on the picks only once the reference space is used up. Change a part of it with
``ProjSe(10, **{**PAPER, "exhausted": "stop"})``.

>>> from projse import PAPER, ProjSe
>>> ProjSe(10, **PAPER).get_params()["alpha"]
0.0

"""
