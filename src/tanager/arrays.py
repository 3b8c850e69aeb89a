"""Types of arrays: what they hold, declared once for the whole package."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
Ints = NDArray[np.int64]
Places = NDArray[np.intp]
"""Indices: of rows, columns, nodes or classes."""
Flags = NDArray[np.bool_]
Words = NDArray[np.uint64]
"""64 bits each: bit masks, or hashes."""
Codes = NDArray[np.unsignedinteger]
"""Coded cells: (n_rows, n_attributes) or (n_rows,); the code of a missing cell is the number of states."""
ClassCodes = NDArray[np.integer]
"""(n_rows,) the class of each row, as its place among the classes."""
RowNumbers = NDArray[np.integer]
