"""``python benchmarks/soak run``."""

import sys
from pathlib import Path

sys.path[0] = str(Path(__file__).parents[1])  # as for the other benchmarks

from soak.cli import main  # noqa: E402

raise SystemExit(main())
