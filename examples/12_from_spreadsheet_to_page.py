"""
From a spreadsheet to a page
============================

A spreadsheet of biopsies has a column of patient numbers, and a word in place of missing measurements. The table is
checked and fixed. A model is fitted, and measured on patients that it has not seen. Then the model is written as a page
and a file, and one prediction is explained.
"""

import tempfile
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_breast_cancer

from tanager import (
    AdditiveClassifier,
    check,
    cross_validate_model,
    explain,
    load_model,
    report,
    save_model,
)
from tanager.plots import plot_waterfall

data = load_breast_cancer(as_frame=True)
y = data.target.map(dict(enumerate(data.target_names))).rename("diagnosis")
table = data.data[["mean texture", "mean concave points", "worst texture", "worst area", "worst concavity"]].round(4)
table["worst concavity"] = table["worst concavity"].astype(str).where(np.arange(len(table)) % 13 != 0, "not measured")
table.insert(0, "patient", [f"P{5000 + 7 * k}" for k in range(len(table))])

# %%
# Check: the issues found, and a recipe that fixes them.

found = check(table, y)
for finding in found.findings:
    print(finding.severity, finding.line)
X = found.recipe.apply(table).to_pandas()

# %%
# Fit, and measure by cross-validation.

clf = AdditiveClassifier().fit(X, y)
quality = cross_validate_model(clf, X, y)
print(quality)

# %%
# Hand it over: a file that stores recipe and quality, and a page that opens without a network connection.

with tempfile.TemporaryDirectory() as folder:
    save_model(clf, Path(folder, "model.json"), quality=quality, recipe=found.recipe)
    page = report(load_model(Path(folder, "model.json")), X, y, Path(folder, "report.html"))
    print(f"{page.name}: {page.stat().st_size / 1024:.0f} KB")

# %%
# The patient whose prediction is most uncertain.

unsure = X.iloc[[int(quality.predictions.probabilities.max(axis=1).argmin())]]
row = explain(clf, unsure)[0]
print(row)
plot_waterfall(row)
plt.show()
