"""Run the command line as ``python -m projse``."""

from projse.cli import main

if __name__ == "__main__":
    main()
