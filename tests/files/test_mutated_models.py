"""A model file changed in one value is refused, or predicts what its own tables say."""

from __future__ import annotations

import copy
import json
import math

import numpy as np
import pyarrow as pa
import pytest

from tanager import TANClassifier
from tanager.errors import TanagerError
from tanager.files.parse_model import from_document
from tanager.files.write_model import to_document
from tanager.network.json_values import DocumentError

ROWS = pa.table(
    {
        "colour": ["red", "blue", "red", "green"] * 6,
        "flag": [True, False, False, True] * 6,
        "size": [0.5, 1.5, 2.5, 3.5, 4.5, 5.5] * 4,
    }
)
CLASSES = ["yes", "no", "maybe"] * 8


@pytest.fixture(scope="module")
def document() -> dict:
    clf = TANClassifier(discretizer="quantile", parameters="frequency").fit(ROWS, CLASSES)
    return json.loads(json.dumps(to_document(clf)))


def leaves(node: object, place: tuple = ()) -> list[tuple]:
    """The place of every value that holds no other."""
    if isinstance(node, dict | list):
        below = node.items() if isinstance(node, dict) else enumerate(node)
        return [found for key, child in below for found in leaves(child, (*place, key))]
    return [place]


def others(value: object) -> list[object]:
    """Values in the place of this one, of its type and of another."""
    match value:
        case bool():
            return [not value, None]
        case int():
            return [value + 1, -value - 1, value + 0.5, 10**30, "1"]
        case float():
            return [value / 2, 1 - value, -value, 1e300, 0, "1"]
        case str():
            return [value + "z", "", "a", 0, None]
        case _:
            return [1, "a", []]


def swaps(document: dict) -> list[tuple[tuple, object]]:
    """Every list of categories in reverse."""
    places = [
        ("columns", node, "categories") for node, column in enumerate(document["columns"]) if "cuts" not in column
    ]
    return [(place, document["columns"][place[1]]["categories"][::-1]) for place in places]


@pytest.mark.filterwarnings("ignore:X has feature names")
def test_a_model_file_changed_in_one_value_is_refused_or_predicts_what_its_tables_say(document):
    changes = [(place, value) for place in leaves(document) for value in others(at(document, place))]
    kept = 0
    for place, value in [*changes, *swaps(document)]:
        changed = copy.deepcopy(document)
        at(changed, place[:-1])[place[-1]] = value
        try:
            clf = from_document(changed)
            names = [column.name for column in clf.encoder_.schema.attributes]
            found = clf.predict_proba(ROWS.select(range(len(names))).rename_columns(names))
        except (DocumentError, TanagerError):
            continue
        kept += 1
        assert clf.classes_.tolist() == changed["columns"][-1]["categories"], place
        assert clf.classes_.tolist() == sorted(clf.classes_.tolist()), place
        for row, cells in enumerate(ROWS.to_pylist()):
            expected = posterior(changed, list(cells.values()))
            if expected is not None:
                np.testing.assert_allclose(found[row], expected, atol=1e-9, err_msg=f"{place}: {value!r}")
    assert 50 < kept < len(changes)


def at(document: object, place: tuple) -> object:
    for step in place:
        document = document[step]
    return document


def posterior(document: dict, cells: list) -> list[float] | None:
    """P(class | row) by the tables of the document; None where a cell has no state there, or is hidden."""
    columns, target = document["columns"], len(document["columns"]) - 1
    states = [state(column, cell) for column, cell in zip(columns, cells, strict=False)]
    if None in states or document["hidden"]:
        return None
    sizes = [len(column["categories"]) if "categories" in column else len(column["cuts"]) + 1 for column in columns]
    joint = []
    for label in range(sizes[target]):
        codes, product = [*states, label], 1.0
        for node, parents in enumerate(document["parents"]):
            configuration = 0
            for parent in parents:
                configuration = configuration * sizes[parent] + codes[parent]
            product *= document["tables"][node][configuration][codes[node]]
        joint.append(product)
    return [each / math.fsum(joint) for each in joint] if math.fsum(joint) else None


def state(column: dict, cell: object) -> int | None:
    if column["kind"] == "numeric":
        return sum(cut <= cell for cut in column["cuts"])
    # true and 1 are one category, in a file and in a table
    return column["categories"].index(cell) if cell in column["categories"] else None
