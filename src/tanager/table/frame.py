"""Columns -> a data frame of the library the user has."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from importlib.util import find_spec
from typing import Any, Literal, cast

import narwhals as nw

from tanager.errors import OptionError
from tanager.registry import check_option

Library = Literal["pandas", "polars", "pyarrow"]
LIBRARIES = ("pandas", "polars", "pyarrow")


def make_frame(columns: Mapping[str, Sequence[object]], library: str) -> Any:
    """A frame of "pandas", "polars" or "pyarrow" with these columns."""
    chosen = cast(Library, check_option("library", library, LIBRARIES))
    try:
        return nw.from_dict(columns, backend=chosen).to_native()
    except ModuleNotFoundError:
        raise OptionError(
            f"{library} is not installed, so no frame of it can be made.",
            hint="library='pyarrow' always works; or use to_dict().",
        ) from None


def any_frame(columns: Mapping[str, Sequence[object]]) -> Any:
    """A frame of pandas, or else of polars; where neither is installed the columns themselves, as a dict."""
    for library in LIBRARIES[:2]:
        if find_spec(library) is not None:
            return make_frame(columns, library)
    return dict(columns)
