"""What people see while work goes on: on a terminal, and only if it takes long."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

LONG = 1.0
"""Seconds after which work is long."""


@contextmanager
def working(message: str) -> Iterator[Callable[[str], None]]:
    """Show a message on stderr while the block runs; the function given changes it."""
    if not sys.stderr.isatty():
        yield lambda text: None
        return
    from rich.console import Console

    status = Console(stderr=True).status(message)
    timer = threading.Timer(LONG, status.start)
    timer.daemon = True
    timer.start()
    try:
        yield lambda text: status.update(text)
    finally:
        timer.cancel()
        timer.join()
        status.stop()


def say(message: str) -> None:
    """A remark for a person at a terminal; nothing where stderr goes elsewhere."""
    if sys.stderr.isatty():
        print(message, file=sys.stderr)
