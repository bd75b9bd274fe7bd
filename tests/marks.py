"""Marks that several tests carry."""

from __future__ import annotations

import pytest

arbitrary_picks = pytest.mark.filterwarnings("ignore::projse.exceptions.UnreliableSelectionWarning")
"""The data are such that picks do not rest on them, and the test is about something else."""
