"""The tables of all triples are those of each triple counted by rows; they add up, and are refused if too large."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from oracle import count_rows, random_batch, take_rows
from tanager.counts import triples
from tanager.counts.count_store import CountStore
from tanager.counts.engine import CountEngine
from tanager.counts.numpy_engine import NumpyEngine
from tanager.counts.triples import count_triples, triple_cells
from tanager.errors import MemoryLimitError

N_STATES = (2, 3, 4, 1, 2, 3)  # five attributes and the class, node 5


@pytest.fixture(params=["engine", "compiled"], autouse=True)
def way(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(triples, "SETS_WORTH_COMPILING", 0 if request.param == "compiled" else np.inf)


@pytest.mark.parametrize("gaps", [0.0, 0.3])
@pytest.mark.parametrize("weighted", [False, True])
def test_every_triple_equals_a_count_by_rows(engine: CountEngine, gaps: float, weighted: bool) -> None:
    batch = random_batch(3, 2_500, N_STATES, gaps, weighted=weighted)
    found = CountStore(batch, engine, list("abcdef")).triples()
    for i, j, k in combinations(range(5), 3):
        table = found.table(i, j, k)
        np.testing.assert_allclose(table.reshape(-1), count_rows(batch, (i, j, k, 5)).reshape(-1), rtol=1e-12)
    assert np.issubdtype(found.counts.dtype, np.floating) == weighted


@settings(max_examples=10, deadline=None)
@given(st.integers(0, 60))
def test_counts_of_batches_add_up(cut: int) -> None:
    batch = random_batch(4, 60, N_STATES, 0.2)
    whole = count_triples(batch, NumpyEngine()).counts
    parts = [take_rows(batch, rows) for rows in (np.arange(cut), np.arange(cut, 60))]
    total = count_triples(parts[0], NumpyEngine())
    total += count_triples(parts[1], NumpyEngine())
    np.testing.assert_array_equal(total.counts, whole)


@given(st.lists(st.integers(0, 4), min_size=4, max_size=7))
def test_the_number_of_cells_is_the_sum_over_triples(n_states: list[int]) -> None:
    *attributes, n_classes = n_states
    assert triple_cells(n_states) == n_classes * sum(map(np.prod, combinations(attributes, 3)))


def test_what_would_not_fit_is_refused_before_it_is_counted() -> None:
    """The counts and three tables of probabilities made of each: 32 bytes a cell."""
    needed = 32 * triple_cells(N_STATES)
    batch, names = random_batch(5, 40, N_STATES), ["age", "colour", "city", "land", "sex", "class"]
    CountStore(batch, NumpyEngine(), names, memory_limit=needed).triples()
    with pytest.raises(MemoryLimitError, match=r"all triples of 5 attributes(.|\n)*'city' alone has 4 states"):
        CountStore(batch, NumpyEngine(), names, memory_limit=needed - 1).triples()
