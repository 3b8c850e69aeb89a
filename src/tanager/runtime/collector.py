"""`no_collection`: many small objects at once, without Python's collector looking at every object in between."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def no_collection() -> Iterator[None]:
    """Pause the collector of reference cycles, for code that makes tens of thousands of objects and no cycle.

    A collection is due every few hundred new objects, and now and then a full one, which visits all objects of the
    process: with torch imported, longer than it takes to fill 10,000 tables.
    """
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()
