"""`kernel`: how every compiled function of the library is compiled. Decorating a function imports numba."""

from __future__ import annotations

import os
from collections.abc import Callable
from functools import lru_cache
from typing import Any, TypeVar, cast

from tanager.runtime.progress import say

F = TypeVar("F", bound=Callable[..., object])

_dispatchers: list[Any] = []
"""What numba made of each kernel."""


def kernel(function: F) -> F:
    """Compile for the user's own CPU on first call and keep the result on disk, where numba can write.

    `nogil` lets our own threads run kernels side by side (`runtime.resources`); numba's `parallel=True` is slow to
    compile and its default threading layer aborts the process when two threads call it.
    """
    return _decorate(function)


def kernel_part(function: F) -> F:
    """A piece of a kernel, compiled within the kernel that calls it and never for itself.

    Numba compiles a function again in every function above it: a tower of kernels takes several times as long.
    """
    return _decorate(function, inline="always")


def _decorate(function: F, **options: Any) -> F:
    from numba import njit

    _announce_compilation()
    try:
        dispatcher = njit(nogil=True, cache=_may_cache(function.__code__.co_filename), **options)(function)
    except RuntimeError:  # numba finds no directory to write to
        dispatcher = njit(nogil=True, **options)(function)
    _dispatchers.append(dispatcher)
    return cast(F, dispatcher)


def _may_cache(file: str) -> bool:
    """Not where a user without a home runs an installed file: numba would make a folder called ~ where it works."""
    has_home = os.path.isabs(os.path.expanduser("~")) or "NUMBA_CACHE_DIR" in os.environ
    return has_home or os.access(os.path.dirname(file), os.W_OK)


@lru_cache(maxsize=1)
def _announce_compilation() -> None:
    """Let a terminal know when numba compiles a kernel of this library; it does not where it loads them from disk."""
    from numba.core import event

    class Compilation(event.Listener):
        def on_start(self, event: Any) -> None:
            if any(event.data["dispatcher"] is one for one in _dispatchers):
                _say_compiling()

        def on_end(self, event: Any) -> None:
            pass

    event.register("numba:compile", Compilation())  # type: ignore[no-untyped-call]


@lru_cache(maxsize=1)
def _say_compiling() -> None:
    say("tanager: compiling kernels (first use on this machine) ...")
