"""
Explaining a prediction
=======================

Each attribute adds its part to the log odds of the predicted class against the runner-up. The base rate, the baseline
and the parts add up to the log odds exactly. The same numbers are on the report page, where the cells can be changed.
"""

import tempfile
from pathlib import Path

import matplotlib.pyplot as plt
from sklearn.datasets import load_breast_cancer
from sklearn.model_selection import train_test_split

from tanager import AdditiveClassifier, counterfactuals, explain, report
from tanager.plots import plot_waterfall

table = load_breast_cancer(as_frame=True)
X, y = table.data, table.target.map(dict(enumerate(table.target_names))).rename("diagnosis")
X_train, X_test, y_train, y_test = train_test_split(X, y, random_state=0, stratify=y)
clf = AdditiveClassifier().fit(X_train, y_train)

# %%
# The row with the least certain prediction.

unsure = X_test.iloc[[clf.predict_proba(X_test).max(axis=1).argmin()]]
row = explain(clf, unsure)[0]
print(row)

# %%
# Counterfactuals: the smallest changes of one cell that change the decision.

print(counterfactuals(clf, unsure, cells=1)[0])

# %%
# The strength of the attributes: the root mean square of what each adds to the log odds.

print("\n".join(str(explain(clf)).splitlines()[:8]))

# %%
# The report page, which opens in a browser. Here it is written to a temporary folder.

with tempfile.TemporaryDirectory() as folder:
    page = report(clf, X_test, y_test, Path(folder, "report.html"))
    print(f"{page.name}: {page.stat().st_size / 1024:.0f} KB")

# %%
# The parts of the prediction, the largest first.

plot_waterfall(row, max_attributes=10)
plt.show()
