"""A look-up is an index, whatever the blocks; codes that count up are a difference."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tanager.table import columns as module
from tanager.table.columns import look_up, occurring, shift


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


@settings(max_examples=60, deadline=None)
@given(
    st.sampled_from([np.int8, np.uint8, np.int16, np.uint32, np.int64]),
    st.sampled_from([np.uint8, np.uint16]),
    st.integers(-128, 120),
    st.lists(st.integers(0, 7), max_size=25),
    st.integers(1, 9),
)
def test_a_shift_is_the_difference_to_the_lowest_cell_in_every_width(dtype, code, lowest, places, block):
    lowest = max(lowest, np.iinfo(dtype).min)
    cells = np.array([lowest + place for place in places], dtype=dtype)
    out = np.empty(len(cells), dtype=code)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "BLOCK_ROWS", block)
        shift(cells, lowest, out)
    assert out.tolist() == places


@settings(max_examples=60, deadline=None)
@given(
    st.sampled_from([np.int8, np.uint8, np.int32, np.int64]),
    st.integers(1, 90),
    st.lists(st.integers(-1, 4), max_size=25),
    st.integers(1, 9),
)
def test_what_occurs_is_what_a_set_of_the_cells_holds_and_missing_is_not_among_it(dtype, lowest, places, block):
    cells = np.array([lowest + place for place in places], dtype=dtype)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "BLOCK_ROWS", block)
        found = occurring(cells, lowest, 5)
    assert np.flatnonzero(found).tolist() == sorted(set(places) - {-1})
