"""
Would other rows give the same list?
====================================

With few rows, some of the picks are luck. ``StabilityProjSe`` selects again from a
hundred halves of the rows. Their moments add up, so that where rows are many it takes about as long
as two fits.
"""

import numpy as np

from projse import ProjSe, StabilityProjSe
from projse.plots import RedundancyDisplay, StabilityDisplay

rng = np.random.default_rng(0)
X = rng.normal(size=(150, 60))
X[:, 1] = X[:, 0] + 0.1 * rng.normal(size=150)  # nearly a copy
Y = X[:, [0, 2, 3, 4]] @ rng.normal(size=(4, 5)) + 2 * rng.normal(size=(150, 5))

stable = StabilityProjSe(ProjSe(6), random_state=0).fit(X, Y)
low, high = stable.stability_interval_
print(f"stability {stable.stability_:.2f} ({low:.2f} to {high:.2f})")

# %%
# Columns 2, 3 and 4 come back in nearly every half. Column 0 and its near-copy 1 are picked one for
# the other: less certain as names, certain as information.

StabilityDisplay.from_estimator(stable, max_variables=12)

# %%
# What could stand in for what: the copy is listed beside the pick.

selector = ProjSe(6).fit(X, Y)
RedundancyDisplay.from_estimator(selector)
