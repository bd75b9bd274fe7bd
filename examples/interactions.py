"""
Interactions: products as groups
================================

Two drugs that do nothing by themselves may do much together. Products of variables make that
visible; groups decide what is picked as one.
"""

import numpy as np
import pandas as pd
from sklearn.preprocessing import PolynomialFeatures

from projse import ProjSe
from projse.plots import SelectionDisplay

rng = np.random.default_rng(0)
names = [f"drug_{letter}" for letter in "abcdefgh"]
doses = pd.DataFrame(rng.normal(size=(600, 8)), columns=names)
effects = pd.DataFrame(
    {
        "pressure": doses["drug_a"] * doses["drug_b"] + 0.7 * rng.normal(size=600),
        "pulse": doses["drug_a"] * doses["drug_b"] - doses["drug_c"] + rng.normal(size=600),
    }
)

# %%
# The doses alone: c shows. So may a or b, a little: they change the *spread* of the effects,
# for which p-values make no allowance.

alone = ProjSe(3).fit(doses, effects)
alone.table()[["rank", "name", "score", "pvalue"]]

# %%
# With all products of two: the pair that matters is found among 28.

products = PolynomialFeatures(2, interaction_only=True, include_bias=False)
table = products.set_output(transform="pandas").fit_transform(doses)
selector = ProjSe("auto").fit(table, effects)
selector.table()[["rank", "name", "score", "pvalue"]]

# %%
# The runner-up (orange) shows how far the pair is ahead of everything else.

SelectionDisplay.from_estimator(selector)

# %%
# To ask for *pairs of drugs* with all they do, alone and together, make each pair and its
# product a group: it is picked or left as a whole, and three columns are no advantage over one.

pairs = [(a, b) for i, a in enumerate(names) for b in names[i + 1 :]]
by_pair = []
for a, b in pairs:
    columns = table[[a, b, f"{a} {b}"]]
    by_pair.append(columns.set_axis([f"{a}+{b}: {name}" for name in columns], axis=1))
groups = {f"{a}+{b}": f"{a}+{b}: *" for a, b in pairs}
together = ProjSe(3, groups=groups).fit(pd.concat(by_pair, axis=1), effects)
together.table()[["rank", "name", "score", "margin", "pvalue"]]

# %%
# First a and b. Then c, with any partner: the margin of the second pick is near 0, which says that
# another pair would have done as well. The third pick may be chance.
