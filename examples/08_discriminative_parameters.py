"""
Discriminative parameters
=========================

Frequencies describe the whole table. Where attributes repeat each other, their evidence is counted several times, and
the probabilities are too near 0 and 1. The parameters ``acll``, in closed form, and ``conditional``, by optimisation,
aim at P(class | attributes) instead. The structure is the same here; only the tables differ.
"""

import matplotlib.pyplot as plt
from sklearn.calibration import CalibrationDisplay
from sklearn.datasets import load_breast_cancer
from sklearn.model_selection import train_test_split

from tanager import BayesianNetworkClassifier, calibration

X, y = load_breast_cancer(return_X_y=True, as_frame=True)
X_train, X_test, y_train, y_test = train_test_split(X, y, test_size=0.5, random_state=0, stratify=y)

_, ax = plt.subplots()
for parameters in ("frequency", "acll", "conditional"):
    clf = BayesianNetworkClassifier("naive-bayes", parameters=parameters).fit(X_train, y_train)
    measured = calibration(clf, X_test, y_test, n_bins=5, strategy="quantile")
    CalibrationDisplay.from_estimator(clf, X_test, y_test, n_bins=5, strategy="quantile", name=parameters, ax=ax)
    print(
        f"{parameters:12s} accuracy {clf.score(X_test, y_test):.3f}"
        f"  log loss {measured.log_loss:.3f}"
        f"  calibration error {measured.expected_error:.3f}"
    )

# %%
# On this table ``acll`` is no better than the frequencies; ``conditional`` is.
#
# Of the rows with predicted probability p, a proportion p should have the class: the closer to the diagonal the better.

ax.set(xlabel="predicted probability of class 1", ylabel="share of class 1")
plt.show()
