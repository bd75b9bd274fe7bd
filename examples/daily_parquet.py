"""
A file a day, with a state folder
=================================

Rows arrive as a Parquet file a day, and are more than fits in memory. The picks of *all* days are
wanted each morning, and only the new file should be read.
"""

import tempfile
from pathlib import Path

import numpy as np
import pandas as pd

from projse import ProjSe
from projse.plots import SelectionDisplay

folder = Path(tempfile.mkdtemp())
days, state = folder / "days", folder / "state"
days.mkdir()

rng = np.random.default_rng(0)
mixing = rng.normal(size=(4, 3))


def write_day(date):
    sensors = rng.normal(size=(20_000, 40))
    faults = sensors[:, :4] @ mixing + 2 * rng.normal(size=(20_000, 3))
    names = [f"sensor_{j}" for j in range(40)] + [f"fault_{j}" for j in range(3)]
    frame = pd.DataFrame(np.hstack([sensors, faults]), columns=names)
    frame.to_parquet(days / f"{date}.parquet")


# %%
# The first two days. With ``state``, what each file came down to is kept as it is done: a run
# that is killed goes on where it was.

write_day("2026-11-01")
write_day("2026-11-02")
options = {"targets": "fault_*", "state": state}
selector = ProjSe("auto").fit_source(days, **options)
print(*selector.selected_names_, f"from {selector.moments_.n_samples:,} rows")

# %%
# The third morning: one file is read, two are added from the state. The picks are those of a
# fit to all rows at once.

write_day("2026-11-03")

selector = ProjSe("auto").fit_source(days, **options)
print(*selector.selected_names_, f"from {selector.moments_.n_samples:,} rows")
everything = pd.concat([pd.read_parquet(path) for path in sorted(days.iterdir())])
in_memory = ProjSe("auto").fit(everything.filter(like="sensor"), everything.filter(like="fault"))
print(np.array_equal(in_memory.selected_, selector.selected_))

# %%

SelectionDisplay.from_estimator(selector)

# %%
# A day that was wrong is deleted, and no longer counts.

(days / "2026-11-01.parquet").unlink()
print(f"{ProjSe('auto').fit_source(days, **options).moments_.n_samples:,} rows")

# %%
# As a nightly job: ``projse select days -t 'fault_*' -k auto --state state --csv picks.csv``.
