"""What people see while work goes on: a bar on stderr, on a terminal, and only if it takes long."""

from __future__ import annotations

import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from rich.progress import Progress

LONG = 1.0
"""Seconds after which work is long."""
A_DAY = 86_400.0
"""The time left is estimated from all steps of this many seconds."""

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
    from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

    columns = TextColumn("{task.description}"), BarColumn(), TimeElapsedColumn(), TimeRemainingColumn()
    bar = Progress(*columns, console=Console(stderr=True), transient=True, speed_estimate_period=A_DAY)
    task = bar.add_task(escape(message), total=None)
    timer = threading.Timer(LONG, bar.start)
    timer.daemon = True
    timer.start()

    def update(message: str, done: float = 0, total: float | None = None) -> None:
        bar.update(task, description=escape(message), completed=done, total=total)

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
