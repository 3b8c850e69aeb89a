"""Fixtures of streamed fits."""

from __future__ import annotations

import pytest

from tanager.table.stream import spool as stream_spool


@pytest.fixture
def small_chunks(monkeypatch):
    monkeypatch.setattr(stream_spool, "CHUNK_ROWS", 64)
