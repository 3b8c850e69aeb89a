"""A model file changed in one value is refused, or is the model that the changed document describes."""

from __future__ import annotations

import copy

import pytest

from attack.documents import FELL, at, by_kind, check_change, check_document, leaves, others
from attack.models import MODELS, document
from tanager.files.model_file import from_document
from tanager.network.document import DocumentError

QUICK = [name for name in MODELS if name != "reference"]


@pytest.mark.parametrize("name", MODELS)
def test_a_model_is_what_the_oracle_computes_from_its_document(name):
    assert check_document(copy.deepcopy(document(name)), name)


def test_tables_changed_in_any_single_value_are_refused_or_predicted_by():
    found = document("tables")
    changes = [(place, value) for place in leaves(found) for value in others(at(found, place))]
    kept = [check_change("tables", place, value) for place, value in changes]
    assert 50 < sum(kept) < len(kept)


@pytest.mark.parametrize("name", QUICK[1:])
def test_every_kind_of_value_of_a_model_is_refused_or_kept_when_it_is_changed(name):
    """One place of each kind that tables do not have; `make fuzz` tries all of them."""
    kinds = {kind: places for kind, places in by_kind(name).items() if kind not in by_kind("tables")}
    places = [
        entries[len(entries) // 2] for kind, entries in kinds.items() if not kind.startswith(("options", "trace"))
    ]
    changes = [(place, value) for place in places for value in others(at(document(name), place))]
    kept = [check_change(name, place, value) for place, value in changes]
    assert 0 < sum(kept) < len(kept)


@pytest.mark.parametrize(("name", "place", "value"), FELL.values(), ids=FELL)
def test_a_document_that_once_fell_stands(name, place, value):
    check_change(name, place, value)


@pytest.mark.parametrize("name", QUICK)
def test_categories_in_another_order_are_refused_or_predicted_by(name):
    for node, column in enumerate(document(name)["columns"]):
        if "categories" in column:
            is_class = node == len(document(name)["columns"]) - 1
            assert check_change(name, ("columns", node, "categories"), column["categories"][::-1]) is not is_class


ALIKE = {
    "whole numbers that one float stands for": [0.5, 2**53, 2**53 + 1],
    "numbers that no integer of 64 bits spans": [-1, 2**63 + 1, 2**63 + 2],
    "a time with and without its zone": [f"2020-01-01T00:00:00{zone}" for zone in ("", "+01:00", "+02:00")],
}


@pytest.mark.parametrize("categories", ALIKE.values(), ids=ALIKE)
def test_categories_that_cells_cannot_tell_apart_are_refused(categories):
    """Cells are compared with them as numbers, by a search that finds one of several equal ones."""
    given = [{"datetime": each} if isinstance(each, str) else each for each in categories]
    with pytest.raises(DocumentError, match="a category twice"):
        from_document({**document("tables"), "columns": with_column(0, categories=given)})


def test_cut_points_that_are_one_float_are_refused():
    cuts = [2**53 + k for k in range(5)]
    with pytest.raises(DocumentError, match="cuts must increase"):
        from_document({**document("tables"), "columns": with_column(2, cuts=cuts)})


def with_column(node: int, **changed) -> list:
    columns = copy.deepcopy(document("tables")["columns"])
    columns[node].update(changed)
    return columns


@pytest.mark.parametrize(
    "place",
    [
        ("posterior", "splits", 0, 0),
        ("posterior", "left", 0, 0, 0),
        ("posterior", "factor", 0, 0, 0),
        ("posterior", "attributes", 0),
    ],
    ids=lambda place: place[1],
)
def test_a_value_of_a_reference_posterior_that_stands_for_nothing_is_refused(place):
    assert not check_change("reference", place, 1.7e308)
