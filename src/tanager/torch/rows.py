"""The device a torch engine works on, what happens when its memory is full, and the rows of a batch on it."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import TypeVar

import numpy as np
import torch
from numpy.typing import NDArray

from tanager.arrays import Codes
from tanager.errors import DataError, MemoryLimitError, OptionError
from tanager.table.columns import code_dtype
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
    order    (n_rows,) the place of each of these rows in the batch
    weights  (n_rows,) float64, or None for all ones
    """

    codes: torch.Tensor
    edges: tuple[int, ...]
    order: torch.Tensor
    weights: torch.Tensor | None
    n_states: tuple[int, ...]

    @classmethod
    def of(cls, batch: EncodedBatch, device: torch.device) -> DeviceRows:
        if isinstance(batch, DeviceBatch) and batch.rows.device == device:
            return batch.rows

        def copy(n_bytes: int) -> DeviceRows:
            weights = None if batch.weights is None else to_device(batch.weights, device)
            codes = to_device(batch.codes.T, device)
            return cls.group(codes, to_device(batch.class_codes, device), batch.n_states, weights)

        return with_less_memory(copy, device, f"copying {batch.n_rows:,} rows to it")

    @classmethod
    def group(
        cls,
        codes: torch.Tensor,
        class_codes: torch.Tensor,
        n_states: tuple[int, ...],
        weights: torch.Tensor | None = None,
    ) -> DeviceRows:
        """From codes (n_attributes, n_rows) in any order of the rows."""
        classes, order = torch.sort(class_codes, stable=True)
        dtype = torch.promote_types(codes.dtype, classes.dtype)
        grouped = torch.empty((len(n_states), len(order)), dtype=dtype, device=codes.device)
        grouped[:-1] = codes[:, order]
        grouped[-1] = classes
        sizes = torch.bincount(classes.to(torch.int64), minlength=n_states[-1]).tolist()
        edges = (0, *np.cumsum(sizes).tolist())
        return cls(grouped, edges, order, None if weights is None else weights[order], n_states)

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


class DeviceBatch(EncodedBatch):
    """A batch whose rows are on a device; `codes` and `class_codes` are copied to the host when first asked for."""

    rows: DeviceRows

    def __init__(self, codes: torch.Tensor, class_codes: torch.Tensor, n_states: tuple[int, ...]) -> None:
        """Codes (n_rows, n_attributes) of whole numbers 0 .. n_states - 1, none missing, and (n_rows,) classes."""
        if codes.ndim != 2 or class_codes.shape != codes.shape[:1] or len(n_states) != codes.shape[1] + 1:
            raise DataError(
                f"codes {tuple(codes.shape)}, class codes {tuple(class_codes.shape)} and the states of "
                f"{len(n_states)} nodes do not fit together; expected (n, m), (n,) and m + 1."
            )
        columns = codes.T.contiguous()
        for what, checked, limits in (("codes", columns, n_states[:-1]), ("class codes", class_codes, n_states[-1:])):
            _check_codes(what, checked.reshape(len(limits), -1), limits)
        rows = DeviceRows.group(columns, class_codes.to(columns.device), n_states)
        known = {
            "rows": rows,
            "n_states": n_states,
            "incomplete": np.zeros(len(n_states) - 1, dtype=bool),
            "weights": None,
            "n_rows": rows.n_rows,
            "n_attributes": len(n_states) - 1,
            "n_classes": n_states[-1],
        }
        for name, value in known.items():  # all but the codes, which are on the device
            object.__setattr__(self, name, value)

    @cached_property
    def codes(self) -> Codes:
        table = self._host(self.rows.codes[:-1]).astype(code_dtype(max(self.n_states)), copy=False)
        return table.T

    @cached_property
    def class_codes(self) -> Codes:
        return self._host(self.rows.codes[-1:])[0].astype(code_dtype(self.n_states[-1]), copy=False)

    def _host(self, grouped: torch.Tensor) -> Codes:
        """In the order in which the rows were given."""
        in_order = torch.empty_like(grouped)
        in_order[:, self.rows.order] = grouped
        result: Codes = in_order.cpu().numpy()
        return result


def _check_codes(what: str, codes: torch.Tensor, limits: tuple[int, ...]) -> None:
    if codes.dtype.is_floating_point or codes.dtype.is_complex or codes.dtype == torch.bool:
        raise DataError(f"{what} on a device must be whole numbers; got {codes.dtype}.")
    if not codes.numel():
        return
    lowest, highest = torch.stack([codes.amin(dim=1), codes.amax(dim=1)]).cpu().tolist()
    for column, (low, high, limit) in enumerate(zip(lowest, highest, limits, strict=True)):
        if low < 0 or high >= limit:
            raise DataError(
                f"{what} of column {column} run from {low} to {high}; expected 0 to {limit - 1}.",
                hint="give the table to fit as a frame or an array, which is encoded for you.",
            )
