"""
Learning from a stream
======================

Rows arrive in batches and are not stored; the model keeps the counts of each value of each column in each class.
Categories and cut points may change with every batch. ``partial_fit`` gives the same model as one ``fit`` on all rows.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits

from tanager import NaiveBayesClassifier

X, y = load_digits(return_X_y=True)
X_stream, y_stream, X_test, y_test = X[:1200], y[:1200], X[1200:], y[1200:]

clf = NaiveBayesClassifier()
rows, accuracy = [], []
for batch in np.array_split(np.arange(len(X_stream)), 12):
    clf.partial_fit(X_stream[batch], y_stream[batch], classes=np.arange(10))
    rows.append(int(batch[-1]) + 1)
    accuracy.append(clf.score(X_test, y_test))
    bins = sum(column.n_states for column in clf.encoder_.schema.attributes)
    print(f"after row {rows[-1]:4d}: {bins:3d} bins, accuracy {accuracy[-1]:.3f}")

# %%
# The model equals the model of one fit on all rows.

at_once = NaiveBayesClassifier().fit(X_stream, y_stream)
difference = np.abs(clf.predict_proba(X_test) - at_once.predict_proba(X_test)).max()
print(f"largest difference from one fit on all {len(X_stream)} rows: {difference:.1g}")
assert difference < 1e-12

fig, ax = plt.subplots(figsize=(6, 3.2), layout="constrained")
ax.plot(rows, accuracy, marker="o")
ax.axhline(at_once.score(X_test, y_test), color="grey", linestyle="--", label="one fit on all rows")
ax.set(xlabel="rows seen", ylabel="accuracy on 597 other rows")
ax.legend()
plt.show()
