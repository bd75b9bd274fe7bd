"""``python -m projse_paper`` is the command ``projse-paper``."""

from projse_paper.cli import main

if __name__ == "__main__":
    main()
