"""
Binding sites
=============

A protein that switches genes binds to the genome at sites that look alike, position by position. LexA is one. The table
has a row for every 16-letter stretch of DNA: sites that were found in experiments, and background from around them.
Letters of a site may depend on each other, which a tree can express and naive Bayes cannot. Cross-validation shows
whether this improves the result on so few sites.

The table is not part of the package: it is read from the folder of benchmark sets that the environment variable
``TANAGER_DATA`` names. Without it this example says so and stops.
"""

import os
from itertools import product
from pathlib import Path

import matplotlib.pyplot as plt
import pandas as pd
from sklearn.model_selection import cross_validate

from tanager import AdditiveClassifier, BayesianNetworkClassifier
from tanager.classifiers import information

path = Path(os.environ.get("TANAGER_DATA", "no-such-folder"), "tfbs-collectf-lexa-16.csv.gz")
sites = pd.read_csv(path) if path.exists() else None
if sites is None:
    print(f"The benchmark set {path.name} is not here: set TANAGER_DATA to the folder that holds it.")
else:
    print(sites["class"].value_counts().to_string())

# %%
# Naive Bayes and a tree, with frequencies and with conditional tables; then the additive model.

if sites is not None:
    X, y = sites.drop(columns="class"), sites["class"]
    print("10 folds:                   accuracy   log loss")
    parts = product(("naive-bayes", "tan"), ("frequency", "conditional"))
    models = {part: BayesianNetworkClassifier(part[0], parameters=part[1]) for part in parts}
    for (structure, parameters), clf in [*models.items(), (("additive", "model"), AdditiveClassifier())]:
        result = cross_validate(clf, X, y, cv=10, scoring=["accuracy", "neg_log_loss"])
        accuracy, loss = result["test_accuracy"].mean(), -result["test_neg_log_loss"].mean()
        print(f"{structure:12s} {parameters:12s} {accuracy:10.3f} {loss:10.3f}")

# %%
# The information of each position about the class. The pattern is nearly symmetric.

if sites is not None:
    found = information(X, y)
    fig, ax = plt.subplots(figsize=(7, 3), layout="constrained")
    ax.bar(found.names, found.target)
    ax.set(xlabel="position", ylabel="information on the class, nats")
    plt.show()
