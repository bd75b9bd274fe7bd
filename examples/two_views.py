"""
Two views: what do both halves of a picture share?
==================================================

The upper and the lower half of a digit are two views of the same thing. ``TwoViewProjSe`` picks
pixels of each half that explain the other, and tells on new pictures how much the picks share.
"""

from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

from projse import TwoViewProjSe
from projse.plots import CanonicalCorrelationDisplay

pictures = load_digits().data
train, test = train_test_split(pictures, random_state=0)
views = TwoViewProjSe(10).fit(train[:, :32], train[:, 32:])
print("upper half:", views.x_selected_)
print("lower half:", views.y_selected_)

# %%
# The first canonical correlation of the first k pixels a side. On the pictures of the fit it
# can only rise; on new ones it rises while pixels carry something.

path = views.canonical_correlation_path(test[:, :32], test[:, 32:])
print(path.round(3))

# %%

CanonicalCorrelationDisplay.from_estimator(views, test[:, :32], test[:, 32:])
