"""
In a Pipeline, tuned by GridSearchCV
====================================

``ProjSe`` is a scikit-learn selector: it goes into a pipeline, is cloned, and its parameters are
tuned with those of the model behind it. The selection is then made inside the folds, as it must
be.
"""

from sklearn.datasets import make_regression
from sklearn.linear_model import Ridge
from sklearn.model_selection import GridSearchCV, train_test_split
from sklearn.pipeline import make_pipeline

from projse import ProjSe, ProjSeCV
from projse.plots import ValidationCurveDisplay

X, Y = make_regression(
    n_samples=400, n_features=60, n_informative=12, n_targets=5, noise=40.0, random_state=0
)
X_train, X_test, Y_train, Y_test = train_test_split(X, Y, random_state=0)

model = make_pipeline(ProjSe(), Ridge())
search = GridSearchCV(
    model,
    {
        "projse__n_features_to_select": [6, 12, 24],
        "projse__redundancy": ["auto", 0.0],
        "ridge__alpha": [1.0, 10.0],
    },
    cv=3,
).fit(X_train, Y_train)
print(search.best_params_)
print(f"R² of new rows: {search.score(X_test, Y_test):.3f}")

# %%
# The same question for a linear model, from one pass over the rows: ``ProjSeCV`` tries every
# number of variables, because the moments of the folds add up.

cv = ProjSeCV().fit(X_train, Y_train)
print(cv.n_features_, "variables")
ValidationCurveDisplay.from_estimator(cv)

# %%
# It is a selector as well.

final = make_pipeline(ProjSeCV(param_grid=None), Ridge()).fit(X_train, Y_train)
print(f"R² of new rows: {final.score(X_test, Y_test):.3f}")
