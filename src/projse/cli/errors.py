"""What a user sees of a failure: one line on stderr and an exit code, safe to show."""

import errno
import os
import sys
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, NoReturn

import typer
from typer.core import TyperCommand, TyperGroup

from projse.cli.options import with_numbers
from projse.cli.text import shown, shown_lines

FAILED = 1
"""The command makes sense, but not with these data; 2 is for options and values that never do."""

INTERRUPTED = 130
"""What shells report for a command that Ctrl-C ended."""

PIPE_CLOSED = 141
"""What shells report for a command whose reader has gone (SIGPIPE), as 'head' does."""


class SafeGroup(TyperGroup):
    """Commands whose usage errors are safe to show: they repeat what was typed or globbed."""

    def make_context(self, *args: Any, **options: Any) -> Any:
        """Read the arguments."""
        with _safe_usage():
            return super().make_context(*args, **options)

    def invoke(self, *args: Any, **options: Any) -> Any:
        """Run a command."""
        with _safe_usage():
            return super().invoke(*args, **options)


class NumbersCommand(TyperCommand):
    """A command with options whose number may be left out."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Read the arguments."""
        return super().parse_args(ctx, with_numbers(args))


@contextmanager
def _safe_usage() -> Iterator[None]:
    try:
        yield
    except BrokenPipeError:
        leave_pipe()
    except OSError as error:
        _fail(_of_no_file(error) or str(error))
    except Exception as error:
        if isinstance(getattr(error, "message", None), str):
            error.message = shown_lines(error.message)  # type: ignore[attr-defined]
        raise


@contextmanager
def plain_errors(*, show_traceback: bool) -> Iterator[None]:
    """Turn a failure into one line on stderr and exit code 1, unless a traceback is wanted."""
    try:
        yield
        if sys.stdout is not None:  # it is closed in some scheduled jobs
            sys.stdout.flush()  # while a reader that has gone can still be noticed
    except BrokenPipeError:
        leave_pipe()
    except SystemExit as leaving:
        if isinstance(leaving.__context__, BrokenPipeError):  # rich has noticed, and says 1
            leave_pipe()
        raise
    except typer.BadParameter:
        raise  # Typer knows what to do
    except KeyboardInterrupt as error:
        if show_traceback:
            raise
        what_is_kept = f": {error}" if str(error) else "."
        print(f"projse: interrupted{what_is_kept}", file=sys.stderr)
        sys.exit(INTERRUPTED)
    except MemoryError as error:
        if show_traceback:
            raise
        what = f" ({error})" if str(error) else ""
        _fail(
            f"There is not enough memory{what}. Select among fewer columns (--features), or run "
            "where there is more; what a state (--state) holds is kept."
        )
    except Exception as error:
        if show_traceback:
            print(shown_lines(traceback.format_exc()), file=sys.stderr, end="")
            sys.exit(FAILED)
        said = (isinstance(error, OSError) and _of_no_file(error)) or error or type(error).__name__
        _fail(f"{said} (--debug shows where)")


def _of_no_file(error: OSError) -> str | None:
    """Say what is wrong where the system names no file: with the working directory, or output."""
    if error.filename is not None:
        return None
    try:
        os.getcwd()
    except OSError:
        return "The working directory is gone; change to another (cd), or name all files in full."
    if error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG):
        drop_output()
        return f"Output cannot be written: {error.strerror}. Free some space, or write elsewhere."
    return None


def leave_pipe() -> NoReturn:
    """End without a word once the reader of standard output has gone."""
    drop_output()
    sys.exit(PIPE_CLOSED)


def drop_output() -> None:
    """Let what is still in the buffer go: written at the end, it would fail with a traceback."""
    if sys.stdout is not None:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _fail(message: str) -> NoReturn:
    print(f"projse: error: {shown(message)}", file=sys.stderr)
    sys.exit(FAILED)
