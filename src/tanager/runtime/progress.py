"""What people see while work goes on: a bar on stderr, on a terminal, and only if it takes long."""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from rich.progress import Progress

LONG = 1.0
"""Seconds after which work is long."""

_bars: list[Progress] = []
"""Those that are shown, or will be."""


class Update(Protocol):
    """Say how far the work is: what is under way, and how many of how many steps are done."""

    def __call__(self, message: str, done: float = 0, total: float | None = None) -> None: ...


@contextmanager
def working(message: str, shown: bool = True) -> Iterator[Update]:
    """Show a bar on stderr while the block runs; without a number of steps it only moves.

    Inside of another such block that has one, its bar is used.
    """
    outer = _current.get()
    if not shown or outer is not _ignore or not _on_terminal():
        yield outer
        return
    from rich.console import Console
    from rich.markup import escape
    from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

    columns = TextColumn("{task.description}"), BarColumn(), TimeElapsedColumn(), TextColumn("{task.fields[left]}")
    bar = Progress(*columns, console=Console(stderr=True), transient=True)
    task = bar.add_task(escape(message), total=None, left="")
    started = time.monotonic()
    timer = threading.Timer(LONG, bar.start)
    timer.daemon = True
    timer.start()

    def update(message: str, done: float = 0, total: float | None = None) -> None:
        left = "" if total is None else time_left(time.monotonic() - started, done, total)
        bar.update(task, description=escape(message), completed=done, total=total, left=left)

    token = _current.set(update)
    _bars.append(bar)
    try:
        yield update
    finally:
        _bars.remove(bar)
        _current.reset(token)
        timer.cancel()
        timer.join()
        bar.stop()


def time_left(seconds: float, done: float, total: float) -> str:
    """How long the steps that are left may take, by what those done took; nothing before the first is done."""
    if done <= 0 or total <= done:
        return ""
    left = seconds * (total - done) / done
    return f"about {left:.0f} s left" if left < 90 else f"about {left / 60:.0f} min left"


def say(message: str) -> None:
    """A remark for a person at a terminal, above the bar if there is one; nothing where stderr goes elsewhere."""
    if _bars:
        _bars[-1].console.print(message, markup=False, highlight=False)
    elif _on_terminal():
        print(message, file=sys.stderr)


def _on_terminal() -> bool:
    return sys.stderr is not None and sys.stderr.isatty()


def _ignore(message: str, done: float = 0, total: float | None = None) -> None:
    pass


_current: ContextVar[Update] = ContextVar("progress", default=_ignore)
