"""The ``projse`` command.

Comes in: words of a shell. Goes out: tables, files and one-line errors, with an exit code.
Must not know: how anything is computed; it reads options, asks an estimator, and shows.

Typer and rich come with the optional extra ``cli`` and are imported only when the command runs,
so that ``import projse.cli`` works without them.
"""

import io
import sys

__all__ = ["main"]


def main() -> None:
    """Run the command line: 0 done, 1 failed, 2 bad usage, 130 interrupted, 141 reader gone."""
    # A table is readable with some characters as escapes; without, it would be lost.
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="backslashreplace")
    try:
        from projse.cli.app import app
    except KeyboardInterrupt:
        print("projse: interrupted.", file=sys.stderr)
        sys.exit(130)
    except ImportError as error:
        if error.name is not None and error.name.split(".")[0] == "projse":
            raise
        print(
            'projse: this command needs the extra: pip install "projse-select[cli]"',
            file=sys.stderr,
        )
        sys.exit(1)
    app(prog_name="projse")
