"""A report of skore gives the same log-loss and area under the curve as scikit-learn's metrics."""
# /// script
# dependencies = ["skore", "pandas"]
# ///

import skore
from sklearn.metrics import log_loss, roc_auc_score

from clients.estimators import frame
from tanager import AdditiveClassifier

X, y = frame()
report = skore.EstimatorReport(
    AdditiveClassifier(trees=False), X_train=X[:200], y_train=y[:200], X_test=X[200:], y_test=y[200:], pos_label="ill"
)
shares = AdditiveClassifier(trees=False).fit(X[:200], y[:200]).predict_proba(X[200:])
assert abs(report.metrics.log_loss() - log_loss(y[200:], shares)) < 1e-12
assert abs(report.metrics.roc_auc() - roc_auc_score(y[200:] == "ill", shares[:, 0])) < 1e-12
