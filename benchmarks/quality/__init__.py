"""Are the picks good on rows that nobody has seen? Quality of selections, measured in folds.

    datasets, families ──> folds ──> contestants ──> models ──> store ──> tables, charts

A data set is split into folds; each contestant sees the training rows only; one set of models
judges all picks on the held-out rows; one small file a data set and contestant keeps the figures.
"""
