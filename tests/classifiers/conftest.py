"""Fixtures of streamed fits."""

from __future__ import annotations

import pytest

from tanager.table.stream import rows as stream_rows


@pytest.fixture
def small_chunks(monkeypatch):
    monkeypatch.setattr(stream_rows, "CHUNK_ROWS", 64)
