"""``python benchmarks/calibration run | tables | page | list``."""

import sys
from pathlib import Path

sys.path[0] = str(Path(__file__).parents[1])  # as for the other benchmarks

from calibration.cli import main  # noqa: E402

raise SystemExit(main())
