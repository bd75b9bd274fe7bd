"""Where every row has a gap, the column that has most of them is named."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from projse import ProjSe, moments_from
from projse.exceptions import SourceError
from projse.sources.parts import ArrowPart


def emptied(seed: int, column: str, **more: Any) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame(rng.normal(size=(50, 4)), columns=["a", "b", "z", "y"]).assign(**more)
    frame.loc[::7, "b"] = np.nan
    frame[column] = np.nan
    return frame


@pytest.mark.parametrize("form", ["csv", "parquet"])
@pytest.mark.parametrize("more", [{}, {"city": "Oslo"}], ids=["numbers", "mixed"])
@pytest.mark.parametrize("column", ["a", "z", "y"])
def test_the_empty_column_of_files_is_named(
    seed: int, tmp_path: Path, form: str, more: dict[str, str], column: str
) -> None:
    for day in range(2):
        frame = emptied(seed + day, column, **more)
        getattr(frame, f"to_{form}")(tmp_path / f"{day}.{form}", index=False)
    how = r" \(exclude, -x\)" if column == "a" else ""
    with pytest.raises(SourceError, match=f"Leave out '{column}', which has 100 of them{how}, or"):
        moments_from(
            tmp_path, targets="y", covariates="z", missing="drop", target_type="continuous"
        )


@pytest.mark.parametrize(("column", "label"), [("a", "X"), ("z", "covariates"), ("y", "y")])
def test_the_empty_column_of_frames_is_named(seed: int, column: str, label: str) -> None:
    frame = emptied(seed, column)
    with pytest.raises(ValueError, match=f"column '{column}' of {label} has 50"):
        ProjSe(1, missing="drop").fit(frame[["a", "b"]], frame[["y"]], covariates=frame[["z"]])
    with pytest.raises(ValueError, match="leaves none of 50 rows"):
        ProjSe(1, missing="drop").fit(frame[["a", "b"]], frame["y"], covariates=frame["z"])


def test_the_search_for_the_empty_column_holds_no_rows(
    seed: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    head, held = ArrowPart.head, []

    def counting(part: ArrowPart, reading: Any, n: int, take: Any) -> Any:
        def taken(batch: Any) -> Any:
            held.append(take(batch).get_total_buffer_size())
            return take(batch)

        return head(part, reading, n, taken)

    emptied(seed, "a").to_parquet(tmp_path / "t.parquet")
    monkeypatch.setattr(ArrowPart, "head", counting)
    with pytest.raises(SourceError, match="Leave out 'a'"):
        moments_from(tmp_path / "t.parquet", targets="y", missing="drop", features=["a", "b"])
    assert held[-1] == 0


def test_a_stream_that_is_gone_is_told_without_a_name(seed: int) -> None:
    import pyarrow as pa

    batches = (pa.RecordBatch.from_pandas(emptied(seed, "a")) for _ in range(2))
    with pytest.raises(SourceError, match="Leave out columns that are mostly gaps"):
        moments_from(batches, targets="y", missing="drop")


def test_weights_that_are_all_missing_are_told_as_such(seed: int) -> None:
    frame = emptied(seed, "z")
    with pytest.raises(ValueError, match="a gap, in sample_weight or a sparse y"):
        ProjSe(1, missing="drop").fit(frame[["a"]], frame["y"], sample_weight=frame["z"])
