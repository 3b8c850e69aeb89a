"""A PostgreSQL server for the session, where there is one; its engine beside the others."""

from __future__ import annotations

import shutil
import tempfile
from functools import partial
from pathlib import Path

import pytest

from export.engines import ENGINES, Server, by_postgresql


@pytest.fixture(scope="session")
def server():
    if any(shutil.which(command) is None for command in ("initdb", "pg_ctl", "psql")):
        pytest.skip("no PostgreSQL here; `make test-exports` installs it")
    # Not pytest's folder, which the server's user may not enter; and a socket's path is short.
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        running = Server(Path(folder))
        yield running
        running.stop()


@pytest.fixture(params=[*ENGINES, "postgresql"])
def engine(request):
    """Every engine in turn."""
    if request.param == "postgresql":
        return partial(by_postgresql, server=request.getfixturevalue("server"))
    return ENGINES[request.param]
