"""`ThresholdOptimizer` makes the share of predicted classes equal between groups; `MetricFrame` shows that it did."""
# /// script
# dependencies = ["fairlearn", "pandas"]
# ///

from fairlearn.metrics import MetricFrame, demographic_parity_difference, selection_rate
from fairlearn.postprocessing import ThresholdOptimizer

from clients.estimators import frame
from tanager import AdditiveClassifier

X, y = frame()
ill, group = (y == "ill").astype(int), X["kind"]
clf = AdditiveClassifier(trees=False).fit(X, ill)
fair = ThresholdOptimizer(estimator=clf, constraints="demographic_parity", prefit=True, predict_method="predict_proba")
fair.fit(X, ill, sensitive_features=group)
before = demographic_parity_difference(ill, clf.predict(X), sensitive_features=group)
after = demographic_parity_difference(
    ill, fair.predict(X, sensitive_features=group, random_state=0), sensitive_features=group
)
rates = MetricFrame(metrics=selection_rate, y_true=ill, y_pred=clf.predict(X), sensitive_features=group).by_group
assert abs(abs(rates["big"] - rates["small"]) - before) < 1e-12
assert after < before / 2
print(f"difference of shares {before:.2f}, then {after:.2f}")
