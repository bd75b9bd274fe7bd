"""What the engine must show: its cases by name, in the order of the table of targets."""

from __future__ import annotations

import small
import tall
import wide
from rows import Case

CASES: dict[str, Case] = {
    "tall": tall.tall,
    "tall-float32": tall.tall_float32,
    "few-outputs": tall.few_outputs,
    "fastcan": tall.fastcan,
    "glioma": wide.glioma,
    "eleven-tumors": wide.eleven_tumors,
    "search": wide.search_alone,
    "cifar": tall.cifar,
    "sparse": wide.sparse,
    "growth-in-rows": tall.growth_in_rows,
    "tall-variants": tall.tall_variants,
    "memory": tall.memory,
    "small-fits": small.small_fits,
    "include": wide.include,
}
