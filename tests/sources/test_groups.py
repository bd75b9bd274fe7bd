"""Groups as a user names them: resolved to variables, or refused with what is wrong."""

from __future__ import annotations

import numpy as np
import pytest

from projse.sources.groups import resolve_groups

NAMES = ("age", "city_a", "city_b", "height", "city_c")


def of(groups, n=5, names=NAMES):
    variables = resolve_groups(groups, n, names)
    return variables.names, variables.of_column.tolist()


def test_without_groups_every_column_is_a_variable():
    assert of(None) == (NAMES, [0, 1, 2, 3, 4])
    assert of(None, 2, None) == (("x0", "x1"), [0, 1])


@pytest.mark.parametrize("members", ["city_*", ["city_*"], ["city_c", "city_a", 2], range(1, 5, 1)])
def test_names_indices_and_patterns_make_a_group(members):
    names, of_column = of({"city": members})
    assert names[:2] == ("age", "city")
    assert {of_column[j] for j in (1, 2, 4)} == {1}


def test_variables_stand_in_the_order_of_their_first_columns():
    assert of({"late": [4, 2], "early": [3, 0]}) == (("early", "city_a", "late"), [0, 1, 2, 0, 2])


@pytest.mark.parametrize("labels", [["a", "b", "b", "c", "b"], np.array([7, 3, 3, 5, 3])])
def test_a_label_a_column(labels):
    names, of_column = of(labels)
    assert of_column == [0, 1, 1, 2, 1]
    assert names == tuple(str(label) for label in (labels[0], labels[1], labels[3]))


def test_a_column_whose_label_is_none_stands_alone():
    assert of([None, "city", "city", None, "city"])[0] == ("age", "city", "height")


def test_a_name_that_looks_like_a_pattern_is_a_name():
    assert of({"g": ["a[1]"]}, 3, ("a[1]", "a1", "b")) == (("g", "a1", "b"), [0, 1, 2])


def test_columns_of_the_same_name_stay_apart():
    assert of({"g": [2, 3]}, 4, ("a", "a", "b", "c"))[1] == [0, 1, 2, 2]


@pytest.mark.parametrize(
    ("groups", "names", "words"),
    [
        ({"a": [0, 1], "b": [1]}, NAMES, ["overlap", "'city_a'", "'a'", "'b'"]),
        ({"a": [0, 1], "b": [1]}, None, ["overlap", "column 1", "'a'", "'b'"]),
        ({"a": "town_*"}, NAMES, ["groups['a']", "'town_*'", "'age'"]),
        ({"a": ["weight"]}, NAMES, ["groups['a']", "'weight'", "'age'"]),
        ({"a": ["age"]}, None, ["groups['a']", "'age'", "no column names"]),
        ({"a": [5]}, NAMES, ["groups['a']", "index 5", "0 to 4"]),
        ({"a": [-1]}, NAMES, ["groups['a']", "index -1"]),
        ({"a": []}, NAMES, ["groups['a']", "empty"]),
        ({"a": 1.5}, NAMES, ["groups['a']", "1.5"]),
        ({"a": [None]}, NAMES, ["groups['a']", "None"]),
        ({1: [0], "1": [1]}, NAMES, ["'1'", "twice"]),
        ({"height": "city_*"}, NAMES, ["'height'", "rename"]),
        (["a", "b"], NAMES, ["2 labels", "5 columns"]),
        (["1", 1, "a", "b", "c"], NAMES, ["'1'", "same name"]),
        ([0.5, 1, 1, 1, 1], NAMES, ["groups[0]", "0.5"]),
        ("city", NAMES, ["'city'", "label"]),
        (3, NAMES, ["3", "label"]),
    ],
)
def test_what_makes_no_sense_is_refused_by_name(groups, names, words):
    with pytest.raises((ValueError, TypeError)) as caught:
        resolve_groups(groups, 5, names)
    message = str(caught.value)
    assert all(word in message for word in words), message
    assert "\n" not in message
