"""Every public estimator comes back from `skops.io` bit by bit, and holds no type beside `TRUSTED_TYPES`."""
# /// script
# dependencies = ["skops", "pandas"]
# ///

import skops.io

from clients.estimators import ESTIMATORS, check_same, fitted
from tanager.files import TRUSTED_TYPES

for name in ESTIMATORS:
    expected = fitted(name)
    check_same(skops.io.loads(skops.io.dumps(expected), trusted=TRUSTED_TYPES), expected)
print(f"{len(ESTIMATORS)} estimators")
