"""
Deciding by costs
=================

A missed malignant tumour costs as much as twenty unnecessary second looks. The probabilities do not change. The
decision is the class with the least expected cost.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_breast_cancer
from sklearn.model_selection import train_test_split

from tanager import AdditiveClassifier, FixedDecisionClassifier

table = load_breast_cancer(as_frame=True)
X, y = table.data.iloc[:, :10], table.target.map(dict(enumerate(table.target_names))).rename("diagnosis")
X_train, X_test, y_train, y_test = train_test_split(X, y, random_state=0, stratify=y)
clf = AdditiveClassifier().fit(X_train, y_train)
decider = FixedDecisionClassifier(clf, costs={("malignant", "benign"): 20}).fit(X_train, y_train)

# %%
# The costs of both rules on held-out rows.

for name, decided in {"most probable": clf.predict(X_test), "least cost": decider.predict(X_test)}.items():
    missed = int(((y_test == "malignant") & (decided == "benign")).sum())
    needless = int(((y_test == "benign") & (decided == "malignant")).sum())
    print(f"{name:14s} missed {missed}, needless {needless}, cost {20 * missed + needless}")

# %%
# The cost of every threshold. The least expected cost is at 1 / 21.

p = clf.predict_proba(X_test)[:, list(clf.classes_).index("malignant")]
thresholds = np.linspace(0.005, 0.8, 160)
ill = (y_test == "malignant").to_numpy()
costs = [20 * (ill & (p < t)).sum() + (~ill & (p >= t)).sum() for t in thresholds]
fig, ax = plt.subplots(figsize=(6, 3.2), layout="constrained")
ax.plot(thresholds, costs)
ax.axvline(1 / 21, color="grey", linestyle="--", label="least expected cost")
ax.set(xlabel="called malignant from this probability on", ylabel=f"cost on {len(ill)} rows")
ax.legend()
plt.show()
