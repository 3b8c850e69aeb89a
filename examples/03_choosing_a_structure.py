"""
Choosing a structure
====================

Score a few structures by hand, search for better ones, and compare them by cross-validation. A score rates a structure
on the training rows, in nats; larger is better. Values of one score on one table can be compared, values of different
scores cannot.
"""

import matplotlib.pyplot as plt
from sklearn.datasets import load_breast_cancer
from sklearn.model_selection import GridSearchCV, cross_val_score

from tanager import AdditiveClassifier, BayesianNetworkClassifier, structure_score
from tanager.structure import BFSConsistent, HillClimb, Tree

X, y = load_breast_cancer(return_X_y=True, as_frame=True)

# %%
# A structure is written as the attribute parents of each attribute; the class is a parent of all of them.

by_hand = {
    "naive Bayes": {},
    "one edge": {"mean area": ["mean radius"]},
    "two edges": {"mean area": ["mean radius"], "mean texture": ["mean radius"]},
}
for name, parents in by_hand.items():
    scores = {score: structure_score(X, y, parents, criterion=score) for score in ("ll", "bic", "fcll")}
    print(f"{name:12s}", "  ".join(f"{score} {value:9.2f}" for score, value in scores.items()))

# %%
# The best structures by BIC.

learners = {
    "best forest": Tree(forest=True),
    "k-graph": BFSConsistent(max_parents=2),
    "hill climbing": HillClimb(max_parents=2),
}
for name, learner in learners.items():
    clf = BayesianNetworkClassifier(learner, criterion="bic", parameters="frequency").fit(X, y)
    edges = [edge for edge in clf.model_.edges if clf.model_.target not in edge]
    print(f"{name:13s} {clf.structure_score_:9.2f}  {len(edges)} edges between attributes")

# %%
# Parts and their options are parameters of the classifier, so a grid search can choose among them.

grid = {"structure": list(learners.values()), "parameters": ["frequency", "acll"]}
search = GridSearchCV(BayesianNetworkClassifier(criterion="bic"), grid, scoring="neg_log_loss", cv=3).fit(X, y)
print(f"Best by cross-validation: {search.best_params_}, log loss {-search.best_score_:.3f}")

# %%
# The additive model needs no such search: `fit` chooses on folds.

default = -cross_val_score(AdditiveClassifier(), X, y, scoring="neg_log_loss", cv=3).mean()
print(f"The default: log loss {default:.3f}")

fig, ax = plt.subplots(figsize=(6.5, 3), layout="constrained")
for parameters, offset in (("frequency", -0.18), ("acll", 0.18)):
    shown = [k for k, given in enumerate(search.cv_results_["params"]) if given["parameters"] == parameters]
    ax.barh([line + offset for line in range(len(learners))], -search.cv_results_["mean_test_score"][shown], 0.34)
ax.set_yticks(range(len(learners)), list(learners))
ax.invert_yaxis()
ax.axvline(default, color="grey", linestyle="--")
ax.set_xlabel("log loss on held-out rows (smaller is better)")
ax.legend(["the default", "frequency", "acll"])
plt.show()
