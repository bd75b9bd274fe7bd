"""``python -m benchmarks.quality run | tables | charts | planted``."""

from benchmarks.quality.cli import main

raise SystemExit(main())
