"""Reports: a selection as one HTML file, to look at in a browser.

Comes in: a fitted selector, and what was found out about how many and how stable. Goes out: a file
that needs nothing else. Must not know: how anything is computed; it asks the estimators, and what
is drawn is decided in ``assets``, which hold the page and the charts (``tools/charts`` made those).
"""
