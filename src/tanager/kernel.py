"""`kernel`: how every compiled function of the library is compiled. Importing this module imports numba."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar, cast

from numba import njit

F = TypeVar("F", bound=Callable[..., object])


def kernel(function: F) -> F:
    """Compile for the user's own CPU on first call and keep the result on disk.

    `nogil` lets our own threads run kernels side by side (`tanager.threads`); numba's `parallel=True` is slow to
    compile and its default threading layer aborts the process when two threads call it.
    """
    return cast(F, njit(nogil=True, cache=True)(function))


def summing_kernel(function: F) -> F:
    """A kernel whose sums may be taken in another order, several terms at a time.

    The order is fixed when it is compiled: the same rows give the same sums, whatever the number of threads.
    """
    return cast(F, njit(nogil=True, cache=True, fastmath={"reassoc", "nsz", "contract"})(function))


def kernel_part(function: F) -> F:
    """A piece of a kernel, compiled within the kernel that calls it and never for itself.

    Numba compiles a function again in every function above it: a tower of kernels takes several times as long.
    """
    return cast(F, njit(nogil=True, cache=True, inline="always")(function))
