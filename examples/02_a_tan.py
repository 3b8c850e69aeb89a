"""
A TAN: its tree, its answers and its tables
===========================================

In a TAN (tree-augmented naive Bayes) every attribute has the class and at most one other attribute as parents. With
``forest=True`` only the edges that raise the score are kept. The network answers queries about any of its nodes, draws
rows, and has tables that can be read.
"""

import matplotlib.pyplot as plt
import pandas as pd
from sklearn.datasets import load_breast_cancer
from sklearn.model_selection import cross_validate

from tanager import AdditiveClassifier, NaiveBayesClassifier, TANClassifier
from tanager.plots import plot_network, plot_table

data = load_breast_cancer(as_frame=True)
X, y = data.data, data.target.map(dict(enumerate(data.target_names))).rename("diagnosis")

clf = TANClassifier(criterion="bic", parameters="frequency", forest=True).fit(X, y)
for step in clf.trace_.structure[:5]:
    print(f"{step.action}: gains {step.gain:.1f}, score {step.score:.1f}")

# %%
# The quality of the tree on held-out rows, beside naive Bayes and the additive model.

models = {
    "naive Bayes": NaiveBayesClassifier(parameters="frequency"),
    "TAN": TANClassifier(criterion="bic", parameters="frequency"),
    "TAN, forest": clf,
    "additive model": AdditiveClassifier(),
}
print("5 folds:           accuracy   log loss")
for name, model in models.items():
    result = cross_validate(model, X, y, cv=5, scoring=["accuracy", "neg_log_loss"])
    print(f"{name:16s} {result['test_accuracy'].mean():10.3f} {-result['test_neg_log_loss'].mean():10.3f}")

# %%
# The width of an edge is the information between its ends.

network = clf.network_
plot_network(network)
plt.show()

# %%
# A query gives P(any nodes | any others). A number is put into its bin.

print("P(diagnosis | worst area 700, worst texture 30)")
answer = network.query("diagnosis", {"worst area": 700.0, "worst texture": 30.0})
print("  ", {state: round(p, 3) for state, p in answer.items()})
print("P(worst texture | malignant)")
print("  ", {state: round(p, 3) for state, p in network.query("worst texture", {"diagnosis": "malignant"}).items()})

# %%
# The log probability of the observed cells of a row. A low value marks an unusual row.

rows = pd.DataFrame({"worst area": [700.0, 700.0], "worst perimeter": [98.0, 160.0]})
print(f"log P of a usual and an unusual tumour: {network.log_likelihood(rows).round(2)}")

# %%
# Rows drawn from the network, as states.

print(pd.DataFrame(network.sample(3, random_state=0))[["diagnosis", "worst area", "worst texture"]])

# %%
# The table of a node has a row for each configuration of its parents and a column for each of its states.

plot_table(network.table("worst area"))
plt.show()
