"""The page holds what was gathered, and nothing in it can run or be fetched."""

from __future__ import annotations

import base64
import hashlib
import json
import re
from html.parser import HTMLParser

import pytest
from strange_names import NASTY

from projse.reports.page import SCRIPTS, as_json_block, asset, page


class Elements(HTMLParser):
    """The elements of a page, with the text of scripts."""

    def __init__(self, html):
        super().__init__(convert_charrefs=True)
        self.elements, self.scripts, self._inside = [], [], None
        self.feed(html)

    def handle_starttag(self, tag, attributes):
        self.elements.append((tag, dict(attributes)))
        self._inside = None
        if tag == "script":
            self._inside = [dict(attributes), ""]
            self.scripts.append(self._inside)

    def handle_data(self, data):
        if self._inside:
            self._inside[1] += data

    def handle_endtag(self, tag):
        self._inside = None


def block(parsed, id):
    return next(text for attributes, text in parsed.scripts if attributes.get("id") == id)


@pytest.mark.parametrize("name", NASTY.values(), ids=NASTY)
def test_what_was_gathered_comes_back_whole_whatever_it_says(name):
    gathered = {"name": name, name: [1.5, None, True]}
    parsed = Elements(page(gathered))
    assert json.loads(block(parsed, "data")) == gathered
    assert parsed.elements == Elements(page({})).elements, "a name has made an element"


@pytest.mark.parametrize("name", NASTY.values(), ids=NASTY)
def test_a_block_has_no_character_that_html_knows(name):
    assert re.fullmatch(r"[ -~]+", as_json_block([name]))
    assert not re.search("[<>&]", as_json_block([name]))


def test_a_block_refuses_what_is_no_json():
    with pytest.raises(ValueError, match="JSON"):
        as_json_block(float("nan"))


def test_only_the_scripts_that_the_policy_names_may_run_and_nothing_is_fetched():
    parsed = Elements(page({}))
    (policy,) = (a["content"] for tag, a in parsed.elements if "http-equiv" in a)
    rules = dict(rule.strip().split(" ", 1) for rule in policy.split(";"))
    assert rules["default-src"] == "'none'"
    assert rules["base-uri"] == rules["form-action"] == "'none'"
    run = [text for attributes, text in parsed.scripts if "type" not in attributes]
    digests = [base64.b64encode(hashlib.sha256(text.encode()).digest()).decode() for text in run]
    assert rules["script-src"].split() == [f"'sha256-{digest}'" for digest in digests]
    assert len(run) == 2
    assert not {"img-src", "connect-src", "font-src", "frame-src"} & set(rules)


def test_the_page_refers_to_no_other_file_and_has_no_handlers():
    elements = Elements(page({})).elements
    for tag, attributes in elements:
        assert tag not in {"link", "img", "iframe", "object", "embed", "base"}
        assert "src" not in attributes
        assert not [key for key in attributes if key.startswith("on") or key == "style"]
        assert attributes.get("href", "#").startswith("#")


@pytest.mark.parametrize("name", ["plot.min.js", *SCRIPTS])
def test_scripts_make_neither_code_nor_markup_of_text(name):
    text = asset(name)
    assert not re.search(r"\beval\(|\bFunction\(|</script|<!--", text)
    if name in SCRIPTS:
        assert not re.search(r"innerHTML|outerHTML|insertAdjacent|document\.write", text)
        assert not re.search(r"https?:|fetch\(|XMLHttpRequest|import\(", text)


def test_the_charts_are_those_whose_licences_are_kept():
    licences = asset("plot.LICENSES.md")
    noted = re.search(r"sha256: ([0-9a-f]{64})", licences).group(1)
    assert hashlib.sha256(asset("plot.min.js").encode()).hexdigest() == noted
    assert "## @observablehq/plot 0.6.17 (ISC)" in licences
    for part in re.split(r"^## ", licences, flags=re.MULTILINE)[1:]:
        assert "Copyright" in part
        assert "Permission to use, copy, modify" in part
    assert block(Elements(page({})), "licences").strip() == licences.strip()
