"""For numeric columns the values and base of `shap.Explainer` sum to `predict_proba` within 1e-9."""
# /// script
# dependencies = ["shap", "pandas"]
# ///

import numpy as np
import shap

from clients.estimators import frame
from tanager import AdditiveClassifier

X, y = frame()
numbers = X[["size", "weight"]].dropna().to_numpy()
clf = AdditiveClassifier(trees=False).fit(numbers, y[X["weight"].notna()])
values = shap.Explainer(clf.predict_proba, numbers[:50])(numbers[:20])
np.testing.assert_allclose(values.values.sum(axis=1) + values.base_values, clf.predict_proba(numbers[:20]), atol=1e-9)
mixed = X.dropna()
with_text = AdditiveClassifier(trees=False).fit(mixed, y[mixed.index])
try:
    shap.Explainer(with_text.predict_proba, mixed[:50])(mixed[:5])
except (TypeError, ValueError) as refused:
    print(f"text columns: {type(refused).__name__}; use tanager.explain")
