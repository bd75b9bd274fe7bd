"""``python tools/fuzz run --seconds 600``; ``python tools/fuzz again moments FILE``."""

import sys
from pathlib import Path

sys.path[0] = str(Path(__file__).parents[1])

from fuzz.cli import main  # noqa: E402

raise SystemExit(main())
