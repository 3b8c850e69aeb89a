"""The `engine` fixture: one test body runs over every engine."""

from __future__ import annotations

import pytest

from tanager.counts.engine import ENGINES, CountEngine, choose_engine


@pytest.fixture(scope="session", params=list(ENGINES))
def engine(request: pytest.FixtureRequest) -> CountEngine:
    if request.param == "torch":
        pytest.importorskip("torch")
    return choose_engine(request.param)
