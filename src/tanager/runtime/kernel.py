"""`kernel`: how every compiled function of the library is compiled. Decorating a function imports numba."""

from __future__ import annotations

import os
import stat
import tempfile
import threading
from collections.abc import Callable
from functools import lru_cache
from typing import Any, TypeVar, cast

from tanager.runtime.progress import say

F = TypeVar("F", bound=Callable[..., object])

_dispatchers: list[Any] = []
"""What numba made of each kernel."""
_cache_setting = threading.Lock()


def kernel(function: F) -> F:
    """Compile for the user's own CPU on first call and keep the result on disk.

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
    options = {"nogil": True, **options}
    try:
        if not _has_home() and not os.access(os.path.dirname(function.__code__.co_filename), os.W_OK):
            raise RuntimeError("numba would make a folder called ~ in the working directory")
        dispatcher = njit(cache=True, **options)(function)
    except RuntimeError:  # numba finds no directory to write to
        dispatcher = _decorate_without_home(function, options)
    _dispatchers.append(dispatcher)
    return cast(F, dispatcher)


def _decorate_without_home(function: Callable[..., object], options: dict[str, Any]) -> Any:
    """Keep the result in a directory of temporary files, or nowhere if there is none."""
    from numba import config as settings
    from numba import njit

    config: Any = settings
    directory = _temporary_cache()
    if directory is None:
        return njit(**options)(function)
    with _cache_setting:
        # Numba asks for the directory when it decorates. Kernels of other libraries keep theirs.
        before, config.CACHE_DIR = config.CACHE_DIR, directory
        try:
            return njit(cache=True, **options)(function)
        except RuntimeError:
            return njit(**options)(function)
        finally:
            config.CACHE_DIR = before


def _has_home() -> bool:
    return os.path.isabs(os.path.expanduser("~")) or "NUMBA_CACHE_DIR" in os.environ


@lru_cache(maxsize=1)
def _temporary_cache() -> str | None:
    """A directory for this user's kernels among the temporary files; None if there is none that others cannot write to.

    Numba runs what it finds in its cache, so a directory that somebody else made under this name is not used.
    """
    user = os.getuid() if hasattr(os, "getuid") else None
    try:
        path = os.path.join(tempfile.gettempdir(), "tanager-kernels" if user is None else f"tanager-kernels-{user}")
        if not os.path.lexists(path):
            os.mkdir(path, mode=0o700)
        status = os.lstat(path)
    except OSError:
        return None
    if not stat.S_ISDIR(status.st_mode):
        return None
    if user is not None and (status.st_uid != user or status.st_mode & (stat.S_IRWXG | stat.S_IRWXO)):
        return None
    return path


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
