"""
A table with gaps
=================

The wine table of scikit-learn gets a text column and a boolean column, and loses one cell in five. It is fitted as it
is. At prediction the default model averages over what a missing cell may hold, given the other cells of the row.
"""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from sklearn.datasets import load_wine
from sklearn.model_selection import train_test_split

from tanager import AdditiveClassifier
from tanager.plots import plot_effects

wine = load_wine(as_frame=True)
X, y = wine.data, wine.target.map(dict(enumerate(wine.target_names))).rename("cultivar")
X["strength"] = pd.cut(X.pop("alcohol"), [0, 12.5, 13.3, 20], labels=["light", "medium", "strong"])
X["pale"] = X.pop("color_intensity") < 4
X = X.mask(np.random.default_rng(0).random(X.shape) < 0.2)
print(X[["strength", "pale", "proline"]].head())

# %%
# Fit it as it is.

X_train, X_test, y_train, y_test = train_test_split(X, y, random_state=0, stratify=y)
clf = AdditiveClassifier().fit(X_train, y_train)
print(f"{X.isna().to_numpy().mean():.0%} of the cells are missing; accuracy {clf.score(X_test, y_test):.3f}")

# %%
# A row in which nothing is known gets the frequencies of the classes in training.

unknown = X_test.iloc[[0]].mask(np.ones((1, X.shape[1]), dtype=bool))
print(dict(zip(clf.classes_, clf.predict_proba(unknown)[0].round(3).tolist(), strict=True)))

# %%
# What a gap costs: the same row with more and more cells, the others not yet known.

whole = X_test.iloc[[int(X_test.notna().sum(axis=1).argmax())]]
for n_known in (1, 3, 6, X.shape[1]):
    p = clf.predict_proba(whole.mask(np.arange(X.shape[1])[np.newaxis] >= n_known))[0]
    print(f"{n_known:2d} columns known: {clf.classes_[p.argmax()]} with P {p.max():.3f}")

# %%
# The strongest effects: curves for numbers, bars for words.

plot_effects(clf.model_)
plt.show()
