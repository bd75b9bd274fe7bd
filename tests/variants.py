"""Variants of a test that the plain run leaves out."""

from __future__ import annotations

import pytest


def slow(*values):
    return [pytest.param(value, marks=pytest.mark.slow) for value in values]
