"""
Sensors: a few columns that stand for all
=========================================

A picture of a digit is 64 numbers, one a pixel. If you could afford only twelve sensors, where
would you put them? Without ``y``, columns are chosen that explain *each other*: one view.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits
from sklearn.linear_model import LinearRegression
from sklearn.model_selection import train_test_split

from projse import ProjSe

pictures = load_digits().data
train, test = train_test_split(pictures, random_state=0)
selector = ProjSe(12).fit(train)
print(selector.selected_)

# %%
# How much of all pixels do they explain, in pictures that were not used? Beside them, twelve
# pixels drawn at random, thirty times, and the twelve that vary most.


def explained(columns):
    model = LinearRegression().fit(train[:, columns], train)
    return (
        1
        - ((model.predict(test[:, columns]) - test) ** 2).sum()
        / ((test - train.mean(0)) ** 2).sum()
    )


rng = np.random.default_rng(0)
drawn = [explained(rng.choice(64, 12, replace=False)) for _ in range(30)]
print(f"picked {explained(selector.selected_):.3f}")
print(f"random {np.mean(drawn):.3f}, the best of thirty {np.max(drawn):.3f}")
print(f"highest variance {explained(np.argsort(train.var(0))[-12:]):.3f}")

# %%
# Where they are: the numbers are the order of selection.

figure, axes = plt.subplots(figsize=(4, 4))
axes.imshow(train.std(0).reshape(8, 8), cmap="Greys")
for rank, pixel in enumerate(selector.selected_, start=1):
    row, column = divmod(pixel, 8)
    axes.text(
        column,
        row,
        rank,
        ha="center",
        va="center",
        color="white",
        bbox={"boxstyle": "circle", "color": "#0072B2"},
    )
axes.set(xticks=[], yticks=[], title="grey: standard deviation of the pixel")
