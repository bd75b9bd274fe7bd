"""Text that is safe to show: names of columns and files are data, and a terminal obeys bytes."""

import json
import re
from typing import Any


def shown(text: str) -> str:
    r"""Write what is not printable as an escape such as ``\x1b``, on one line.

    That is everything but letters, marks, numbers, punctuation, symbols and the space: control
    characters of both ranges, newlines, marks that change the direction of the text, and the
    bytes of a file name that are not UTF-8.
    """
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() else _escaped(c) for c in text)


def shown_lines(text: str) -> str:
    """Make text of several lines safe, line by line."""
    return "\n".join(shown(line) for line in text.split("\n"))


def json_text(plain: Any) -> str:
    r"""Write JSON that is safe to show and reads back as it was.

    Inside strings, JSON has an escape for every character; outside, it has none to escape but
    newlines.
    """
    text = json.dumps(plain, indent=2, ensure_ascii=False)
    lines = text.split("\n")
    return "\n".join(re.sub(r"[^ -~]", _json_escaped, line) for line in lines) + "\n"


def _escaped(character: str) -> str:
    return character.encode("unicode_escape").decode("ascii")


def _json_escaped(match: re.Match[str]) -> str:
    character = match.group()
    return character if character.isprintable() else json.dumps(character)[1:-1]
