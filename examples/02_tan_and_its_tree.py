"""Tree-augmented naive Bayes (TAN): the tree it learns, what each edge gains, and what the tree is worth.

Every attribute has the class and at most one other attribute as parents. With `forest=True` only the edges that raise
the score are kept.
"""

from sklearn.datasets import load_breast_cancer
from sklearn.model_selection import cross_validate

from tanager import NaiveBayesClassifier, TANClassifier

X, y = load_breast_cancer(return_X_y=True, as_frame=True)

clf = TANClassifier(score="bic", forest=True).fit(X, y)
for step in clf.trace_.structure[:5]:
    print(f"{step.action}: gains {step.gain:.1f}, score {step.score:.1f}")


def show(parent: str, depth: int = 0) -> None:
    """Print an attribute and, indented, the attributes below it."""
    print("   " * depth + parent)
    for child, parents in clf.network_.parents.items():
        if parent in parents:
            show(child, depth + 1)


print("\nThe trees, without the class:")
for attribute, parents in clf.network_.parents.items():
    if parents == (clf.network_.target,):
        show(attribute)

print("\n5 folds:           accuracy   log loss")
for name, model in {"naive Bayes": NaiveBayesClassifier(), "TAN": TANClassifier(), "TAN, forest": clf}.items():
    result = cross_validate(model, X, y, cv=5, scoring=["accuracy", "neg_log_loss"])
    print(f"{name:16s} {result['test_accuracy'].mean():10.3f} {-result['test_neg_log_loss'].mean():10.3f}")
