"""Every public estimator comes back from `cloudpickle.dumps` bit by bit."""
# /// script
# dependencies = ["cloudpickle", "pandas"]
# ///

import cloudpickle

from clients.estimators import ESTIMATORS, check_same, fitted

for name in ESTIMATORS:
    expected = fitted(name)
    check_same(cloudpickle.loads(cloudpickle.dumps(expected)), expected)
print(f"{len(ESTIMATORS)} estimators")
