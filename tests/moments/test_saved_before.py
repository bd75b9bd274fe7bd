"""Files that were saved by the package as it was can be read by the package as it is.

The files in ``saved`` are kept as they were written: ``first.moments`` by the first version that
wrote such files, the others once tables and covariates were in them. A change of the layout that
would not read them needs a new version of the layout, and a way to read the one before.
"""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

import numpy as np
from day_files import Watch

from projse import Moments, ProjSe, moments_from

SAVED = Path(__file__).with_name("saved")


def test_moments_of_numbers_are_read():
    moments = Moments.load(SAVED / "first.moments")
    assert (moments.n_samples, moments.sum_weights) == (5, 5.0)
    assert moments.feature_names == ("a", "b", "ü")
    assert moments.target_names == ("y", "z")
    np.testing.assert_array_equal(moments.x_mean, [2, 2, 2])
    np.testing.assert_array_equal(moments.yy, [[22, 11], [11, 10]])
    np.testing.assert_array_equal(moments.yx, [[11, 31, -4], [10, 14, -2]])
    np.testing.assert_array_equal(moments.xx, [[10, 14, -2], [14, 46, -2], [-2, -2, 8]])
    X = np.array([[0, 1, 2], [1, 0, 4], [2, 1, 0], [3, 0, 2], [4, 8, 2.0]])
    Y = np.array([[1, 0], [0, 1], [2, 2], [1, 3], [6, 4.0]])
    scores = [s.scores_ for s in (ProjSe(2).fit_moments(moments), ProjSe(2).fit(X, Y))]
    np.testing.assert_allclose(*scores, rtol=1e-10)


def test_moments_of_a_table_are_read_and_go_on():
    moments = Moments.load(SAVED / "table.moments")
    assert moments.feature_names == ("dose", "clinic=a", "clinic=b")
    assert moments.n_covariates == 1
    np.testing.assert_array_equal(moments.yx, [[17, 0, 0], [22.5, 2.5, -2.5]])
    assert moments.x_variables.names == ("dose", "clinic")
    selector = ProjSe(2).fit_moments(moments + moments)
    assert sorted(selector.selected_names_) == ["clinic", "dose"]


def test_a_state_goes_on_where_it_was(tmp_path):
    day, state = tmp_path / "day.csv", tmp_path / "state"
    rows = "".join(f"{i},{'ab'[i % 2]},{i * i % 7}\n" for i in range(12))
    day.write_text(f"dose,clinic,y_0\n{rows}")
    (state / "files").mkdir(parents=True)
    (state / "state.json").write_bytes((SAVED / "state.json").read_bytes())
    # Entries name the file that they are of, which lies elsewhere here.
    entry = json.loads((SAVED / "entry.json").read_text())
    about = {"size": day.stat().st_size, "mtime_ns": day.stat().st_mtime_ns}
    place = hashlib.sha256(str(day).encode()).hexdigest()[:24]
    (state / "files" / f"{place}.json").write_text(
        json.dumps({**entry, "path": str(day), "fingerprint": about})
    )
    name = f"{place}-{entry['moments'][:24]}.moments"
    (state / "files" / name).write_bytes((SAVED / "day.moments").read_bytes())
    options, watch = {"targets": "y_*", "missing": "indicator"}, Watch()
    moments = moments_from(day, state=state, progress=watch, **options)
    assert watch.n_read == 0
    want = moments_from(day, **options)
    assert moments.n_samples == 12
    assert moments.x_variables == want.x_variables
    for part in ("x_mean", "yx", "xx"):
        np.testing.assert_allclose(getattr(moments, part), getattr(want, part), rtol=1e-12)
