"""
A tree-augmented naive Bayes and its tree
=========================================

In a TAN every attribute has the class and at most one other attribute as parents. With ``forest=True`` only the edges
that raise the score are kept.
"""

import matplotlib.pyplot as plt
from sklearn.datasets import load_breast_cancer
from sklearn.model_selection import cross_validate

from tanager import AdditiveClassifier, NaiveBayesClassifier, TANClassifier
from tanager.plots import plot_network

table = load_breast_cancer(as_frame=True)
X, y = table.data, table.target.map(dict(enumerate(table.target_names))).rename("diagnosis")

clf = TANClassifier(criterion="bic", parameters="frequency", forest=True).fit(X, y)
for step in clf.trace_.structure[:5]:
    print(f"{step.action}: gains {step.gain:.1f}, score {step.score:.1f}")

# %%
# The quality of the tree on held-out rows, beside naive Bayes and the additive model.

models = {
    "naive Bayes": NaiveBayesClassifier(parameters="frequency"),
    "TAN": TANClassifier(criterion="bic", parameters="frequency"),
    "TAN, forest": clf,
    "the default": AdditiveClassifier(),
}
print("5 folds:           accuracy   log loss")
for name, model in models.items():
    result = cross_validate(model, X, y, cv=5, scoring=["accuracy", "neg_log_loss"])
    print(f"{name:16s} {result['test_accuracy'].mean():10.3f} {-result['test_neg_log_loss'].mean():10.3f}")

# %%
# The network. The width of an edge is the information between its ends.

plot_network(clf.model_)
plt.show()
