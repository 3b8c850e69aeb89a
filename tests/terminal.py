"""A terminal for a script."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest


def on_a_terminal(script: str) -> tuple[str, str]:
    """stdout, and what a terminal got on stderr."""
    pty = pytest.importorskip("pty")
    ours, theirs = pty.openpty()
    with subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE, stderr=theirs, text=True) as process:
        os.close(theirs)
        out = process.communicate()[0]
    shown = b""
    try:
        while part := os.read(ours, 4096):
            shown += part
    except OSError:  # how Linux says that the other end is closed
        pass
    os.close(ours)
    return out, shown.decode()
