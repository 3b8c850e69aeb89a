"""Settings of every test."""

import os

# scikit-learn skips its array-API check unless this is set before SciPy is imported; we skip nothing.
os.environ.setdefault("SCIPY_ARRAY_API", "1")
