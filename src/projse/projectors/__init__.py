"""Orthogonal projectors, projectors onto intersections, and selection written with them.

Everything here works with explicit bases and m x m matrices, so it suits medium data: some
thousand rows. Its purpose is to be read beside the mathematics and to check the fast paths.
Comes in: arrays. Goes out: projectors, picks. Must not know: any of the other rooms.
"""

from projse.projectors.intersections import (
    intersect_with_complement,
    intersection,
    intersection_anderson_duffin,
    intersection_ben_israel,
    intersection_halperin,
    intersection_von_neumann,
)
from projse.projectors.projector import Projector
from projse.projectors.selection import select_by_projectors

__all__ = [
    "Projector",
    "intersect_with_complement",
    "intersection",
    "intersection_anderson_duffin",
    "intersection_ben_israel",
    "intersection_halperin",
    "intersection_von_neumann",
    "select_by_projectors",
]
