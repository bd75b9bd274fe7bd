"""The paper's algorithm as printed, borrowed from the benchmarks of this repository."""

from __future__ import annotations

import importlib.util

from projse_paper.provenance import ROOT

_spec = importlib.util.spec_from_file_location("textbook", ROOT / "benchmarks" / "textbook.py")
assert _spec is not None
assert _spec.loader is not None
_module = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(_module)

mean_distance = _module.mean_distance
reference_coordinates = _module.reference_coordinates
squared_distances = _module.squared_distances
textbook_search = _module.textbook_search
unit_variables = _module.unit_variables
