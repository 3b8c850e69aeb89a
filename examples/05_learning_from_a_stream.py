"""Learn batch by batch: `partial_fit` ends with the very model that one `fit` on all rows gives.

Rows come in batches and are forgotten; what stays is how often each class has each value of each column. Categories
and cut points may change with every batch.
"""

import numpy as np
from sklearn.datasets import load_digits

from tanager import NaiveBayesClassifier

X, y = load_digits(return_X_y=True)
X_stream, y_stream, X_test, y_test = X[:1200], y[:1200], X[1200:], y[1200:]

clf = NaiveBayesClassifier()
for batch in np.array_split(np.arange(len(X_stream)), 6):
    clf.partial_fit(X_stream[batch], y_stream[batch], classes=np.arange(10))
    bins = sum(column.n_states for column in clf.encoder_.schema.attributes)
    print(f"after row {batch[-1] + 1:4d}: {bins:3d} bins, accuracy {clf.score(X_test, y_test):.3f}")

at_once = NaiveBayesClassifier().fit(X_stream, y_stream)
difference = np.abs(clf.predict_proba(X_test) - at_once.predict_proba(X_test)).max()
print(f"largest difference from one fit on all {len(X_stream)} rows: {difference:.1g}")
assert difference < 1e-12
