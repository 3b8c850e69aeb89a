"""
A table with missing values
===========================

The wine table of scikit-learn gets a text column and a boolean column, and one cell in five is removed. The model needs
no preparation of the table. Missing is a state of its own in every column: the model learns whether a missing cell is
informative. A query leaves cells unknown instead, and averages over their possible values.
"""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from sklearn.datasets import load_wine
from sklearn.model_selection import train_test_split

from tanager import AdditiveClassifier
from tanager.plots import effects

wine = load_wine(as_frame=True)
X, y = wine.data, wine.target.map(dict(enumerate(wine.target_names))).rename("cultivar")
X["strength"] = pd.cut(X.pop("alcohol"), [0, 12.5, 13.3, 20], labels=["light", "medium", "strong"])
X["pale"] = X.pop("color_intensity") < 4
X = X.mask(np.random.default_rng(0).random(X.shape) < 0.2)
print(X[["strength", "pale", "proline"]].head())

# %%
# Fit the table without preparation.

X_train, X_test, y_train, y_test = train_test_split(X, y, random_state=0, stratify=y)
clf = AdditiveClassifier().fit(X_train, y_train)
print(f"{X.isna().to_numpy().mean():.0%} of the cells are missing; accuracy {clf.score(X_test, y_test):.3f}")

# %%
# A query without evidence gives the frequencies of the classes in training.

print({label: round(p, 3) for label, p in clf.query({}).items()})

# %%
# More and more cells of one row as evidence.

whole = X_test.iloc[[int(X_test.notna().sum(axis=1).argmax())]]
for n_known in (1, 3, 6, X.shape[1]):
    evidence = whole.iloc[0, :n_known].dropna().to_dict()
    label, p = max(clf.query(evidence).items(), key=lambda item: item[1])
    print(f"{n_known:2d} columns known: {label} with P {p:.3f}")

# %%
# The strongest effects: curves for numbers, bars for words.

effects(clf.model_)
plt.show()
