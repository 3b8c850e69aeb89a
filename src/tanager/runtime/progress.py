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
    from rich.progress import Progress, TaskID

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
    """A remark for a person at a terminal; nothing where stderr goes elsewhere."""
    if _on_terminal():
        print(message, file=sys.stderr)


class Notice:
    """A line on stderr, on a terminal, while work of one kind goes on, once all of it has taken LONG seconds.

    Work may be nested, but is that of one thread at a time. While there is a bar, the line is one of the bar's.
    """

    def __init__(self, message: str) -> None:
        self._message = message
        self._seconds = 0.0
        self._depth = 0
        self._started = 0.0
        self._timer: threading.Timer | None = None
        self._shown: tuple[Progress, TaskID] | bool = False

    def begin(self) -> None:
        """The work begins, or a part of it."""
        self._depth += 1
        if self._depth > 1 or not _on_terminal():
            return
        self._started = time.monotonic()
        self._timer = threading.Timer(max(0.0, LONG - self._seconds), self._show)
        self._timer.daemon = True
        self._timer.start()

    def end(self) -> None:
        """What was begun last is done."""
        self._depth -= 1
        if self._depth or self._timer is None:
            return
        self._seconds += time.monotonic() - self._started
        self._timer.cancel()
        self._timer.join()
        self._timer = None
        self._clear()

    def _show(self) -> None:
        if _bars:
            bar = _bars[-1]
            self._shown = bar, bar.add_task(self._message, total=None, left="")
        else:
            self._shown = True
            print(f"\r{self._message}", end="", file=sys.stderr, flush=True)

    def _clear(self) -> None:
        if isinstance(self._shown, tuple):
            bar, task = self._shown
            bar.remove_task(task)
        elif self._shown:
            print(f"\r{' ' * len(self._message)}\r", end="", file=sys.stderr, flush=True)
        self._shown = False


def _on_terminal() -> bool:
    return sys.stderr is not None and sys.stderr.isatty()


def _ignore(message: str, done: float = 0, total: float | None = None) -> None:
    pass


_current: ContextVar[Update] = ContextVar("progress", default=_ignore)
