"""Values as JSON that is safe inside an HTML page, arrays as text that a browser can unpack, and numbers as words."""

from __future__ import annotations

import base64
import json
import zlib

import numpy as np
from numpy.typing import NDArray

from tanager.metrics.basic import percent as percent_of

FRACTION_BITS = 44
NO_VALUE, MINUS = "\N{EN DASH}", "\N{MINUS SIGN}"

Json = dict[str, "Json"] | list["Json"] | str | int | float | bool | None


def to_page_json(value: Json) -> str:
    """JSON for a <script> element: no character of it can end the element or begin markup, whatever the names are."""
    text = json.dumps(value, ensure_ascii=True, allow_nan=False, separators=(",", ":"))
    return text.replace("<", r"\u003c").replace(">", r"\u003e").replace("&", r"\u0026")


def pack(values: NDArray[np.generic]) -> str:
    """The bytes of an array, little-endian, row by row, deflated and in base 64."""
    little = np.ascontiguousarray(values, dtype=values.dtype.newbyteorder("<"))
    return base64.b64encode(zlib.compress(little.tobytes(), 9)).decode("ascii")


def pack_rounded(values: NDArray[np.float64]) -> str:
    """As `pack`, in two thirds of the room: multiples of 2**-44, all first bytes before all second ones and so on.

    A sum of a thousand such numbers is off by 3e-11 at most.
    """
    little = rounded(values).astype("<f8")
    return pack(np.ascontiguousarray(little).view(np.uint8).reshape(-1, 8).T)


def rounded(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """To multiples of 2**-44."""
    return np.asarray(np.round(values * 2.0**FRACTION_BITS) / 2.0**FRACTION_BITS)


def number(value: float | None, digits: int | None = None) -> float | None:
    """A finite number, rounded to some significant digits; None for none and for one that JSON has no word for."""
    if value is None or not np.isfinite(value):
        return None
    return float(value) if digits is None else float(f"{float(value):.{digits}g}")


def percent(share: float | None) -> str:
    """As in `metrics`; a dash for no share."""
    return NO_VALUE if share is None else percent_of(share)


def brief(share: float) -> str:
    """As `percent`, without decimals."""
    if 0 < share < 0.005:
        return "< 1 %"
    return "> 99 %" if 0.995 < share < 1 else f"{100 * share:.0f} %"


def short(value: float | None, digits: int = 3) -> str:
    """So many significant digits, without exponents where numbers are of everyday size."""
    if value is None:
        return NO_VALUE
    large = value != 0 and not 1e-4 <= abs(value) < 1e7
    rounded = float(f"{value:.{digits}g}")
    return (f"{value:.2e}" if large else np.format_float_positional(rounded, trim="-")).replace("-", MINUS)


def signed(value: float, decimals: int = 2) -> str:
    text = f"{abs(value):.{decimals}f}"
    return text if float(text) == 0 else f"{MINUS if value < 0 else '+'}{text}"


def cut(text: str, letters: int) -> str:
    return text if len(text) <= letters else f"{text[: letters - 1]}…"


def plural(n: int, word: str) -> str:
    return f"{n:,} {word}{'' if n == 1 else 's'}"
