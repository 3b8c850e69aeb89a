"""The device a torch engine works on: which one, how numbers get there, and what happens when its memory is full."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import TypeVar

import numpy as np
import torch
from numpy.typing import NDArray

from tanager.errors import MemoryLimitError, OptionError

Result = TypeVar("Result")

# Bytes that temporary arrays may take at a time: on a GPU to fill it with work, on a CPU to stay near its cache.
WORKING_BYTES = {"cuda": 1 << 32, "cpu": 1 << 26}
SMALLEST_WORKING_BYTES = 1 << 20


def choose_device(name: str | None) -> torch.device:
    """The device of that name; None is torch's current CUDA device if there is one, else the CPU."""
    if name is None:
        name = "cuda" if torch.cuda.is_available() else "cpu"
    try:
        device = torch.device(name)
    except (RuntimeError, TypeError):
        device = None
    if device is None or device.type not in WORKING_BYTES:
        raise OptionError(f"device={name!r} is not known; expected 'cuda', 'cuda:0', ..., 'cpu' or None.")
    n_devices = torch.cuda.device_count() if torch.cuda.is_available() else 0
    if device.type == "cuda" and (device.index or 0) >= n_devices:
        raise OptionError(
            f"device={name!r} asks for a CUDA device that is not there: torch {torch.__version__} sees {n_devices}.",
            hint="use device='cpu', or install a build of torch for CUDA and a driver that fits it.",
        )
    if device.type == "cuda" and device.index is None:
        # Tensors know their number, and "cuda" without one is not equal to it.
        return torch.device("cuda", torch.cuda.current_device())
    return device


def to_device(array: NDArray[np.generic], device: torch.device) -> torch.Tensor:
    """A copy on the device; unsigned integers, which torch can hardly compute with, become signed ones from 16 bits."""
    if array.dtype.kind == "u" and array.dtype.itemsize > 1:
        array = array.astype(np.int32 if array.dtype.itemsize == 2 else np.int64)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # a read-only array: it is copied
        shared = torch.from_numpy(np.ascontiguousarray(array))
    return shared.to(device, copy=True)


def with_less_memory(work: Callable[[int], Result], device: torch.device, what: str) -> Result:
    """`work(bytes it may use at a time)`, tried again with half as many whenever the device's memory is full."""
    n_bytes = WORKING_BYTES[device.type]
    while n_bytes >= SMALLEST_WORKING_BYTES:
        try:
            return work(n_bytes)
        except torch.OutOfMemoryError:
            n_bytes //= 2
        # Only here, when the error and what it refers to are gone, is there something to give back.
        if device.type == "cuda":
            torch.cuda.empty_cache()
    raise MemoryLimitError(
        f"the memory of device {str(device)!r} is full: {what} failed even in blocks of "
        f"{SMALLEST_WORKING_BYTES >> 20} MiB.",
        hint="free what else is on the device, use fewer rows, or engine='auto'.",
    )
