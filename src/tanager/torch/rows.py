"""The device a torch engine works on, what happens when its memory is full, and the rows of a batch on it."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise
from typing import TypeVar

import numpy as np
import torch
from numpy.typing import NDArray

from tanager.errors import MemoryLimitError, OptionError
from tanager.table.rows import EncodedBatch

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


@dataclass(frozen=True)
class DeviceRows:
    """The rows of a batch on one device, grouped by class.

    codes    (n_nodes, n_rows) codes of every node, the class last; a column of the table is one run of memory
    edges    (n_classes + 1,): the rows of class c are edges[c] .. edges[c + 1]
    weights  (n_rows,) float64, or None for all ones
    """

    codes: torch.Tensor
    edges: tuple[int, ...]
    weights: torch.Tensor | None
    n_states: tuple[int, ...]

    @classmethod
    def of(cls, batch: EncodedBatch, device: torch.device) -> DeviceRows:
        def copy(n_bytes: int) -> DeviceRows:
            codes, class_codes = to_device(batch.codes.T, device), to_device(batch.class_codes, device)
            classes, order = torch.sort(class_codes, stable=True)
            dtype = torch.promote_types(codes.dtype, classes.dtype)
            grouped = torch.empty((len(batch.n_states), len(order)), dtype=dtype, device=device)
            grouped[:-1] = codes[:, order]
            grouped[-1] = classes
            sizes = torch.bincount(classes.to(torch.int64), minlength=batch.n_classes).tolist()
            weights = None if batch.weights is None else to_device(batch.weights, device)[order]
            return cls(grouped, (0, *np.cumsum(sizes).tolist()), weights, batch.n_states)

        return with_less_memory(copy, device, f"copying {batch.n_rows:,} rows to it")

    @property
    def device(self) -> torch.device:
        return self.codes.device

    @property
    def n_rows(self) -> int:
        return int(self.codes.shape[1])

    def chunks(self, length: int) -> list[list[tuple[int, int]]]:
        """For each class the (first, last) row of its parts of at most `length` rows."""
        return [
            [(start, min(start + length, last)) for start in range(first, last, length)]
            for first, last in pairwise(self.edges)
        ]
