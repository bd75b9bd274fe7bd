"""Tables of mixed columns: numbers, categories and dates become columns of numbers.

Comes in: pandas and polars frames, Arrow tables and record batches, arrays (of objects too).
Goes out: rows of raw columns, and the :class:`~projse.sources.variables.Variables` they make up.
Must not know: what the subspace of a variable finally is; that is decided from moments.
"""

from projse.sources.table.encoder import LOOK_ROWS, MAX_LEVELS, TableEncoder
from projse.sources.table.frame import Frame
from projse.sources.table.kinds import MISSING

__all__ = ["LOOK_ROWS", "MAX_LEVELS", "MISSING", "Frame", "TableEncoder"]
