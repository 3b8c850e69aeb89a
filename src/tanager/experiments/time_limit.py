"""A limit on the time of one fit, so that one slow pair does not hold up a night's work."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType


class OutOfTime(BaseException):
    """A block of `time_limit` was stopped. No `Exception`, lest a classifier catch it and go on."""


@contextmanager
def time_limit(seconds: float | None) -> Iterator[None]:
    """Stop the block by `OutOfTime` after so many seconds, as soon as it is back in Python.

    No limit where there are no alarms: on Windows, and outside the main thread.
    """
    alarms = hasattr(signal, "setitimer") and threading.current_thread() is threading.main_thread()
    if seconds is None or not alarms:
        yield
        return
    before = signal.signal(signal.SIGALRM, _stop)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0.0)
        signal.signal(signal.SIGALRM, before)


def _stop(number: int, frame: FrameType | None) -> None:
    raise OutOfTime
