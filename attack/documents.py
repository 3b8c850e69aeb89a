"""Documents of models changed in one value.

Laws: it is refused by one error of ours; or it is read as it stands, so that writing it again gives the same document,
and the model predicts what an oracle computes from the document by products and sums over everything.
"""

from __future__ import annotations

import copy
import json
import math
import warnings
from itertools import product
from typing import Any

import numpy as np
import pyarrow as pa

from attack.models import MODELS, ROWS, document
from attack.tables import check_shares
from tanager.errors import TanagerError
from tanager.files.model_file import from_document, to_document
from tanager.network.document import DocumentError

Place = tuple[str | int, ...]
Cells = list[Any]


def leaves(node: object, place: Place = ()) -> list[Place]:
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
            return [value / 2, 1 - value, -value, 1.7e308, 0, "1"]
        case str():
            return [value + "z", "", "a", 0, None]
        case _:
            return [1, "a", [], {}]


def at(found: Any, place: Place) -> Any:
    for step in place:
        found = found[step]
    return found


def check_change(name: str, place: Place, value: object) -> bool:
    """Whether a document with another value at a place is read; if so, that it is what the model then is."""
    changed = copy.deepcopy(document(name))
    at(changed, place[:-1])[place[-1]] = value
    return check_document(changed, f"{name} {place}: {value!r:.40}")


def check_document(changed: dict[str, Any], what: str) -> bool:
    """Whether a document is read; if so, that it is what the model then is."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        try:
            clf = from_document(changed)
            schema = clf.encoder_.schema
            rows = (
                ROWS.select(range(min(3, len(schema.attributes)))) if len(schema.attributes) > 1 else ROWS.select([1])
            )
            rows = rows.rename_columns([column.name for column in schema.attributes][: rows.num_columns])
            found = clf.predict_proba(rows)
        except (DocumentError, TanagerError):
            return False
        again = json.loads(json.dumps(to_document(clf, recipe=clf.recipe_)))
        assert without_versions(again) == without_versions(changed), what
        assert clf.classes_.tolist() == changed["columns"][-1]["categories"] == sorted(clf.classes_.tolist()), what
        check_shares(found)
        assert set(clf.predict(rows)) <= {*clf.classes_.tolist(), None}, what
        if clf.posterior_ is not None:
            low, high = clf.predict_interval(rows)[1:3]
            assert (low <= high).all(), what
        gaps = rows.set_column(0, rows.column_names[0], pa.nulls(len(rows), rows.schema.types[0]))
        check_shares(clf.predict_proba(gaps))
        for row, cells in enumerate(rows.to_pylist()):
            expected = posterior(changed, list(cells.values()))
            if expected is not None:
                np.testing.assert_allclose(found[row], expected, atol=1e-9, err_msg=what)
        return True


def without_versions(found: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in found.items() if key != "versions"}


FELL: dict[str, tuple[str, Place, object]] = {
    "hidden nodes of a sum of effects": ("effects", ("hidden",), 1),
    "hidden nodes of a mean of networks": ("mixture", ("hidden",), 1),
    "a score of a structure that is none": ("effects", ("structure_score",), 1),
    "no share of the rows in a state": ("effects", ("effects", "densities", 2, 0), 0),
    "a correction that leaves no probability": ("effects", ("imputation", "nothing", 0), 1.7e308),
    "an effect too large to be squared": ("reference", ("effects", "intercept", 0), 1.7e308),
    "a line of a factor without a step": ("reference", ("posterior", "steps", 0, 85), 0),
    "a step backwards": ("reference", ("posterior", "steps", 0, 85), -0.5),
    "a step beyond every number": ("reference", ("posterior", "steps", 0, 85), 1.7e308),
    "half a step": ("reference", ("posterior", "factor", 0, 85, 85), 0.5),
    "a line of fewer steps": ("reference", ("posterior", "factor", 0, 85, 85), 999),
}
"""What ever fell: the model, the place in its document, the value."""


def attack_document(number: int, seed: int) -> bool:
    """Case `number` of this seed: any value of any document, as probably as its kind of place is rare."""
    rng = np.random.default_rng([seed, number, 2])
    names = [*MODELS] * 8
    name = names[number % (len(names) - 7)]  # the last is long: seldom
    places = by_kind(name)
    kind = sorted(places)[rng.integers(len(places))]
    place = places[kind][rng.integers(len(places[kind]))]
    values = others(at(document(name), place))
    return check_change(name, place, values[rng.integers(len(values))])


def by_kind(name: str) -> dict[str, list[Place]]:
    """The places of a document by the names on the way to them."""
    found: dict[str, list[Place]] = {}
    for place in leaves(document(name)):
        found.setdefault(".".join(step for step in place if isinstance(step, str)), []).append(place)
    return found


def posterior(found: dict[str, Any], cells: Cells) -> list[float] | None:
    """P(class | row) by the document; None where a cell has no state there, or a node is hidden."""
    columns = found["columns"]
    states = [state(column, cell) for column, cell in zip(columns, cells, strict=False)]
    if None in states or found["hidden"] or len(states) < len(columns) - 1:
        return None
    sizes = [n_states(column) for column in columns]
    if "effects" in found:
        logs = [effect_sum(found["effects"], columns, states, label) for label in range(sizes[-1])]
        return normalized([math.exp(log - max(logs)) for log in logs])
    if "members" in found:
        return normalized(mixed(found, sizes, states))
    if "trees" in found:
        return normalized([all_forests(found["trees"], sizes, [*states, label]) for label in range(sizes[-1])])
    return normalized([joint(found, sizes, [*states, label]) for label in range(sizes[-1])])


def normalized(shares: list[float]) -> list[float] | None:
    total = math.fsum(shares)
    return [share / total for share in shares] if total else None


def joint(network: dict[str, Any], sizes: list[int], codes: Cells) -> float:
    """The product of the entries of the tables."""
    entries = (entry(network, sizes, codes, node) for node in range(len(codes)))
    return math.prod(entries)


def entry(network: dict[str, Any], sizes: list[int], codes: Cells, node: int) -> float:
    configuration = 0
    for parent in network["parents"][node]:
        configuration = configuration * sizes[parent] + codes[parent]
    return float(network["tables"][node][configuration][codes[node]])


def mixed(found: dict[str, Any], sizes: list[int], states: Cells) -> list[float]:
    """The weighted sum over members."""
    return [
        math.fsum(each["weight"] * joint(each, sizes, [*states, label]) for each in found["members"])
        for label in range(sizes[-1])
    ]


def all_forests(found: dict[str, Any], sizes: list[int], codes: Cells) -> float:
    """The sum over the forests of a few attributes."""
    n, total = len(codes) - 1, 0.0
    members, alone, edges = found["members"], found["alone"], found["edges"]
    largest = n * max(0.0, *alone, *(weight for row in edges for weight in row))
    for parents in product(range(-1, n), repeat=n):
        if has_cycle(parents):
            continue
        weight = sum(alone[c] if p < 0 else edges[p][c] for c, p in enumerate(parents))
        cells = (entry(members[c if p < 0 else p], sizes, codes, c) for c, p in enumerate(parents))
        total += math.exp(weight - largest) * math.prod(cells)
    return total * entry(members[0], sizes, codes, n)


def has_cycle(parents: tuple[int, ...]) -> bool:
    def ends(node: int, steps: int) -> bool:
        return node < 0 or (steps > 0 and ends(parents[node], steps - 1))

    return not all(ends(node, len(parents)) for node in range(len(parents)))


def effect_sum(found: dict[str, Any], columns: list[dict[str, Any]], states: Cells, label: int) -> float:
    """Intercept, curves, pairs and trees of a class."""
    coarse = [
        column["groups"][code] if column.get("groups") else code for column, code in zip(columns, states, strict=False)
    ]
    terms = [found["intercept"][label]]
    terms += [main[code][label] for main, code in zip(found["mains"], states, strict=True)]
    terms += [table[coarse[i]][coarse[j]][label] for (i, j), table in zip(found["pairs"], found["tables"], strict=True)]
    trees = found["trees"] or {"roots": [], "classes": []}
    for end, of_class in zip(trees["roots"], trees["classes"], strict=True):
        if of_class == label:
            while end >= 0:
                turns = sum(turn <= states[trees["attributes"][end]] for turn in trees["sides"][end])
                end = trees["ends"][2 * end + (turns % 2 == 0)]
            terms.append(trees["values"][~end])
    return math.fsum(terms)


def state(column: dict[str, Any], cell: object) -> int | None:
    if column["kind"] == "numeric":
        return sum(cut <= cell for cut in column["cuts"])
    # true and 1 are one category, in a file and in a table
    return column["categories"].index(cell) if cell in column["categories"] else None


def n_states(column: dict[str, Any]) -> int:
    return len(column["cuts"]) + 1 if column["kind"] == "numeric" else len(column["categories"])
