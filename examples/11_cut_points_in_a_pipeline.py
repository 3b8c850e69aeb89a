"""
Cut points in any pipeline
==========================

``MDLPDiscretizer`` cuts a numeric column where the cut separates the classes. It is a scikit-learn transformer, so any
model can follow it in a pipeline.
"""

import matplotlib.pyplot as plt
from sklearn.datasets import load_wine
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder

from tanager.table import MDLPDiscretizer

X, y = load_wine(return_X_y=True, as_frame=True)
discretizer = MDLPDiscretizer().fit(X, y)
for name, cuts in list(zip(X.columns, discretizer.cuts_, strict=True))[:5]:
    print(f"{name:20s} cut at {[round(float(cut), 3) for cut in cuts]}")

# %%
# In a pipeline the cuts are learnt from the training rows of each fold alone.

model = make_pipeline(MDLPDiscretizer(), OneHotEncoder(handle_unknown="ignore"), LogisticRegression())
print(f"logistic regression on the bins: accuracy {cross_val_score(model, X, y, cv=5).mean():.3f}")

# %%
# Where a column was cut, over the classes.

column = "flavanoids"
fig, ax = plt.subplots(figsize=(6.5, 3.2), layout="constrained")
ax.hist([X.loc[y == label, column] for label in sorted(set(y))], bins=30, stacked=True, label=["0", "1", "2"])
for cut in discretizer.cuts_[list(X.columns).index(column)]:
    ax.axvline(cut, color="black", linestyle="--")
ax.set(xlabel=column, ylabel="rows")
ax.legend(title="class")
plt.show()
