"""Settings of every test."""

from __future__ import annotations

import math
import os

import pytest
from hypothesis import settings

# scikit-learn skips its array-API check unless this is set before SciPy is imported; we skip nothing.
os.environ.setdefault("SCIPY_ARRAY_API", "1")

SHARE_OF_EXAMPLES = float(os.environ.get("TANAGER_EXAMPLES", "0.5"))
"""Of the examples that a law asks for so many are tried, new ones in every run; `TANAGER_EXAMPLES=1` tries all."""
SETTINGS = "_hypothesis_internal_use_settings"


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Try fewer examples of every law; hypothesis itself can change only those that say no number."""
    laws = {item.obj for item in items if hasattr(getattr(item, "obj", None), SETTINGS)}
    for law in laws:
        asked: settings = getattr(law, SETTINGS)
        setattr(law, SETTINGS, settings(asked, max_examples=math.ceil(SHARE_OF_EXAMPLES * asked.max_examples)))
