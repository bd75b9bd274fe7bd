"""From what was gathered to one HTML file, in which nothing that was gathered can run.

Names are data from strangers. They travel as JSON in a block that browsers do not run, in which
every character that could end the block is escaped, and the page writes them as text. Should
anything slip through all the same, the page's policy lets only our own scripts run, told by their
hashes, and nothing be fetched.
"""

from __future__ import annotations

import base64
import hashlib
import json
from importlib.resources import files
from string import Template
from typing import Any

SCRIPTS = ("text.js", "charts.js", "sections.js", "table.js", "main.js")
"""Our own, in the order that they build on each other."""

POLICY = (
    "default-src 'none'; script-src {scripts}; style-src 'unsafe-inline'; "
    "base-uri 'none'; form-action 'none'"
)
"""Styles are free, because Plot writes some of its own; without a network they can do no harm."""


def page(gathered: dict[str, Any]) -> str:
    """Return the whole file.

    Parameters
    ----------
    gathered : dict
        From :func:`projse.reports.gather.gather`.

    Returns
    -------
    str
        HTML of ASCII data, our own text, and scripts.
    """
    scripts = [asset("plot.min.js"), "".join(asset(name) for name in SCRIPTS)]
    return Template(asset("page.html")).substitute(
        policy=POLICY.format(scripts=" ".join(f"'{_hash(text)}'" for text in scripts)),
        style=asset("style.css"),
        licences=asset("plot.LICENSES.md"),
        data=as_json_block(gathered),
        plot=scripts[0],
        script=scripts[1],
    )


def asset(name: str) -> str:
    """Return a file of the page; its lines end as HTML parsers see them, or hashes would differ."""
    text = files("projse.reports").joinpath("assets", name).read_bytes().decode()
    return text.replace("\r\n", "\n")


def as_json_block(plain: Any) -> str:
    r"""Return JSON that may stand in a script element: ASCII, without ``<``, ``>`` and ``&``.

    All that is not ASCII is escaped, and so are U+2028 and U+2029 and halves of surrogate pairs.
    """
    text = json.dumps(plain, ensure_ascii=True, allow_nan=False, separators=(",", ":"))
    for character in "<>&":  # which JSON has in strings only
        text = text.replace(character, f"\\u{ord(character):04x}")
    return text


def _hash(script: str) -> str:
    """Return what a content security policy tells a script by."""
    return "sha256-" + base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
