"""What only NumPy has: masked cells, structured arrays, and dates in units that Arrow lacks."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from tanager.errors import DataError, DataTypeError

COARSE_UNITS = ("Y", "M", "W", "D", "h", "m")
"""Of dates and durations; Arrow has seconds and finer units, and days of dates."""


def without_mask(values: Any) -> Any:
    """Masked arrays, and lists of them, as arrays whose masked cells are missing; anything else as it is.

    Whoever takes a masked array for an array (`numpy.asarray`, scikit-learn) sees the numbers below its mask.
    """
    if isinstance(values, list | tuple) and any(isinstance(row, np.ma.MaskedArray) for row in values):
        try:
            values = np.ma.array(values)
        except ValueError:
            return values  # rows of several lengths, which the caller refuses
    if not isinstance(values, np.ma.MaskedArray):
        return values
    if not np.ma.is_masked(values):
        return values.data
    if values.dtype.kind in "fc":
        return values.filled(np.nan)
    if values.dtype.kind in "mM":
        return values.filled(np.datetime64("NaT") if values.dtype.kind == "M" else np.timedelta64("NaT"))
    objects = values.data.astype(object)  # where an integer may stand beside nothing
    objects[np.ma.getmaskarray(values)] = None
    return objects


def check_unstructured(X: object) -> None:
    """Refuse an array whose cells are records."""
    names = getattr(getattr(X, "dtype", None), "names", None)
    if isinstance(X, np.ndarray) and names:
        raise DataTypeError(
            f"the table is a structured array with the fields {', '.join(map(repr, names[:5]))}; "
            "expected a data frame, an array or rows.",
            hint="pandas.DataFrame(table) makes one.",
        )


def arrow_moments(name: str, values: NDArray[Any]) -> NDArray[Any]:
    """Dates and durations in a unit that Arrow has; other cells as they are."""
    if values.dtype.kind not in "mM":
        return values
    unit = np.datetime_data(values.dtype)[0]
    if unit == "generic":
        raise DataTypeError(f"column {name!r} holds {values.dtype} cells, which have no unit.", hint="give them one.")
    if unit in ("s", "ms", "us", "ns") or values.dtype == "M8[D]":
        return values
    found = values.astype(f"{values.dtype.kind}8[us]")
    if unit in COARSE_UNITS and ((found.astype(values.dtype) != values) & ~np.isnat(values)).any():
        raise too_far(name)
    return found


def too_far(name: str) -> DataError:
    """The error for a moment that 64 bits of microseconds do not hold."""
    return DataError(
        f"column {name!r} holds a date or duration of more than 292,000 years.",
        hint="replace it by a missing cell if it stands for one.",
    )
