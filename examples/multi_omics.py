"""
Multi-omics with covariates
===========================

Which genes stand behind a panel of metabolites, once age and batch are accounted for? Age and
batch move genes and metabolites alike; a gene that shares nothing with the panel but the age of
the patient must not be on the list.
"""

import tempfile
from pathlib import Path

import numpy as np
import pandas as pd

from projse import ProjSe, report
from projse.plots import ExplainedDisplay, SelectionDisplay

# %%
# Data: 300 patients, 400 genes, 8 metabolites. Six genes matter; fifty others only follow age.

rng = np.random.default_rng(0)
n = 300
patients = pd.DataFrame(
    {"age": rng.uniform(30, 80, n), "batch": rng.choice(["A", "B", "C"], n)},
)
age = (patients["age"].to_numpy() - 55) / 14
shift = patients["batch"].map({"A": -1.0, "B": 0.0, "C": 1.0}).to_numpy()

genes = pd.DataFrame(rng.normal(size=(n, 400)), columns=[f"gene_{j:03d}" for j in range(400)])
genes.iloc[:, 50:100] += 2 * age[:, None] + shift[:, None]
effects = rng.normal(size=(6, 8))
metabolites = pd.DataFrame(
    genes.iloc[:, :6].to_numpy() @ effects
    + 2.5 * np.outer(age, rng.normal(size=8))
    + np.outer(shift, rng.normal(size=8))
    + 1.5 * rng.normal(size=(n, 8)),
    columns=[f"metabolite_{j}" for j in range(8)],
)

# %%
# Without covariates, a gene that only follows age comes first.

plain = ProjSe(8).fit(genes, metabolites)
print([str(name) for name in plain.selected_names_])

# %%
# With them, everything is replaced by what age and batch leave of it (categories are
# understood), and the six genes come first. ``table()`` is a pandas data frame, in the order of
# selection.

selector = ProjSe(8).fit(genes, metabolites, covariates=patients)
selector.table()[["rank", "name", "score", "margin", "pvalue"]].round(4)

# %%
# From the seventh pick on, p-values say that nothing is left. ``ProjSe("auto")`` stops there by
# itself.

automatic = ProjSe("auto").fit(genes, metabolites, covariates=patients)
print(len(automatic.selected_), "genes")

# %%
# Scores with the runners-up; and how much of each metabolite each gene adds.

SelectionDisplay.from_estimator(selector)

# %%

ExplainedDisplay.from_estimator(automatic)

# %%
# To hand it on: one HTML file with the table, charts, stand-ins, warnings and all that is
# needed to repeat it. From the shell: ``projse select … --report genes.html``.

folder = Path(tempfile.mkdtemp())
print(report(automatic, folder / "genes.html").stat().st_size // 1024, "KiB")
