"""Every public estimator comes back from `joblib.dump` and `joblib.load` bit by bit."""
# /// script
# dependencies = ["joblib", "pandas"]
# ///

import io

import joblib

from clients.estimators import ESTIMATORS, check_same, fitted

for name in ESTIMATORS:
    expected, stream = fitted(name), io.BytesIO()
    joblib.dump(expected, stream)
    stream.seek(0)
    check_same(joblib.load(stream), expected)
print(f"{len(ESTIMATORS)} estimators")
