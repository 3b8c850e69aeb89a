"""
The additive model beside EBM and LightGBM
==========================================

One real table, three models: `AdditiveClassifier`, interpret's Explainable Boosting Machine (EBM) and LightGBM. The
notebook compares their quality, then reads the additive model: curves, one explanation, a what-if and a decision. The
documentation offers this page as a notebook to download. EBM and LightGBM are optional:
``pip install interpret-core lightgbm``.
"""

import matplotlib.pyplot as plt
from sklearn.datasets import load_breast_cancer
from sklearn.metrics import accuracy_score, log_loss
from sklearn.model_selection import train_test_split

from tanager import AdditiveClassifier, FixedDecisionClassifier, counterfactuals, cross_validate_model, explain
from tanager.plots import effects

data = load_breast_cancer(as_frame=True)
X = data.data[["mean texture", "mean area", "mean concave points", "worst texture", "worst area", "worst concavity"]]
y = data.target.map(dict(enumerate(data.target_names))).rename("diagnosis")
X_train, X_test, y_train, y_test = train_test_split(X, y, test_size=0.3, random_state=0, stratify=y)

# %%
# Fit
# ---
# All three models use their defaults, but EBM averages 4 fits instead of 14, to save time. A library that is not
# installed is named and left out.

models = {"Tanager": AdditiveClassifier()}
try:
    from interpret.glassbox import ExplainableBoostingClassifier

    models["EBM"] = ExplainableBoostingClassifier(outer_bags=4, n_jobs=1, random_state=0)
except ImportError:
    print("interpret is not installed: the rows of EBM are left out (pip install interpret-core).")
try:
    from lightgbm import LGBMClassifier

    models["LightGBM"] = LGBMClassifier(n_jobs=1, random_state=0, verbose=-1)
except ImportError:
    print("lightgbm is not installed: the rows of LightGBM are left out (pip install lightgbm).")

for name, model in models.items():
    model.fit(X_train, y_train)
    p = model.predict_proba(X_test)
    error = 1 - accuracy_score(y_test, model.predict(X_test))
    print(f"{name:10} log-loss {log_loss(y_test, p):.3f}   error {error:.1%}   {len(X_test)} test rows")

# %%
# On 171 rows the order of three models is mostly chance. The README compares models over many tables.

# %%
# Quality
# -------
# Cross-validated quality on the training rows, with intervals. *Base rate alone* is a model without attributes.

clf = models["Tanager"]
cross_validate_model(clf, X_train, y_train)

# %%
# Curves
# ------
# The first line of the model's description says how much of it you can read. The largest effects follow.

print(clf)
effects(clf.model_, max_effects=6)
plt.show()

# %%
# One explanation
# ---------------
# The terms add up to the log odds of the row.

p = clf.predict_proba(X_test)
uncertain = X_test.iloc[[int(p.max(axis=1).argmin())]]
explain(clf, uncertain)[0]

# %%
# A what-if
# ---------
# The smallest change of one or two cells that changes the decision. It describes the model, not the patient.

counterfactuals(clf, uncertain, most=2)[0]

# %%
# A decision
# ----------
# A missed malignant tumour costs 20 times as much as an unnecessary second look. The probabilities stay the same.

decider = FixedDecisionClassifier(AdditiveClassifier(), costs={("malignant", "benign"): 20}).fit(X_train, y_train)
for name, model in {"most probable class": clf, "least expected cost": decider}.items():
    decided = model.predict(X_test)
    missed = int(((y_test == "malignant") & (decided == "benign")).sum())
    needless = int(((y_test == "benign") & (decided == "malignant")).sum())
    print(f"{name}: {missed} malignant missed, {needless} benign called back, cost {20 * missed + needless}")

# %%
# The second rule has the lower expected cost. On 171 rows a few tumours decide which rule costs less.
