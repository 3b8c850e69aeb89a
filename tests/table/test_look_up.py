"""A look-up is an index, whatever the blocks."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tanager.table import look_up as module
from tanager.table.look_up import look_up


@settings(max_examples=60, deadline=None)
@given(
    st.sampled_from([np.int8, np.uint8, np.int32, np.int64]),
    st.integers(-20, 90),
    st.lists(st.integers(0, 9), max_size=25),
    st.integers(1, 9),
)
def test_each_cell_gets_the_code_at_its_place(dtype, lowest, places, block):
    lowest = max(lowest, np.iinfo(dtype).min + 1)
    codes = np.arange(100, 111, dtype=np.uint16)  # the eleventh is that of a missing cell
    cells = np.array([lowest - 1 if place == 0 else lowest + place - 1 for place in places], dtype=dtype)
    out = np.empty(len(cells), dtype=np.uint16)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "BLOCK_ROWS", block)
        look_up(codes, cells, lowest, out)
    assert out.tolist() == [110 if place == 0 else 100 + place - 1 for place in places]
