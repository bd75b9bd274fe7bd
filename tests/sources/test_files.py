"""Files behind a path: what is none is refused in words, and nothing waits for a pipe."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from projse import ProjSe
from projse.exceptions import SourceError
from projse.sources import open_source


@pytest.mark.parametrize("name", ["2.csv", "2.parquet", "2.npy", "2.arrow"])
def test_what_is_no_file_is_refused_without_waiting_for_it(tmp_path: Path, name: str) -> None:
    (tmp_path / "1.csv").write_text("a,y\n1,2\n3,5\n")
    os.mkfifo(tmp_path / name)
    for source in (tmp_path, tmp_path / name, str(tmp_path / "*")):
        with pytest.raises(SourceError, match=f"{name} is a pipe or a device"):
            open_source(source)
    (tmp_path / name).unlink()
    (tmp_path / name).symlink_to(tmp_path / "gone")
    for source in (tmp_path, tmp_path / name, str(tmp_path / "*")):
        with pytest.raises(SourceError, match=f"{name} is a link to a file that is not there"):
            open_source(source)


def test_an_array_of_objects_is_refused_in_our_words(tmp_path: Path) -> None:
    np.save(tmp_path / "t.npy", np.array([{}]), allow_pickle=True)
    with pytest.raises(SourceError, match="holds no array of numbers") as caught:
        ProjSe(1).fit_source(tmp_path / "t.npy", targets="0")
    assert "pickle" not in str(caught.value)


@pytest.mark.parametrize("targets", ["", [], ()])
def test_empty_targets_are_not_one_view(tmp_path: Path, targets: Any) -> None:
    (tmp_path / "1.csv").write_text("a,y\n1,2\n3,5\n")
    if targets == "":
        with pytest.raises(SourceError, match="no column ''"):
            ProjSe(1).fit_source(tmp_path, targets=targets)
    else:
        with pytest.raises(ValueError, match=r"targets is empty; .*leave it out for one view"):
            ProjSe(1).fit_source(tmp_path, targets=targets)
