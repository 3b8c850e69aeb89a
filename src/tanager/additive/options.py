"""The options of an additive model as users give them, checked against the columns of a table."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, SupportsIndex

import numpy as np
from numpy.typing import ArrayLike

from tanager.additive.fit import AdditiveOptions
from tanager.errors import OptionError
from tanager.registry import check_option
from tanager.structure.constraints import Edges, Node, edge_indices, node_index, refuse_class_edges
from tanager.table.schema import ColumnSchema

Pairs = str | int | Edges
"""The option `pairs`: "auto", a number, or pairs of attributes by name or number."""
MonotonicConstraints = Mapping[Any, int] | ArrayLike
"""The option `monotonic_cst`, with the names and meaning it has in scikit-learn's HistGradientBoostingClassifier."""
MISSING = ("auto", "average")
HANDLE_UNKNOWN = ("average", "error")
DIRECTIONS = (-1, 0, 1)


def check_options(pairs: object, trees: object, missing: object, handle_unknown: object) -> None:
    """Refuse what is wrong whatever the table is."""
    check_option("missing", missing, MISSING)
    check_option("handle_unknown", handle_unknown, HANDLE_UNKNOWN)
    if not isinstance(trees, bool | np.bool_):
        raise OptionError(f"trees={trees!r} is not valid; expected True or False.")
    number = isinstance(pairs, SupportsIndex) and not isinstance(pairs, bool)
    listed = isinstance(pairs, Iterable) and not isinstance(pairs, str | Mapping)
    if not (pairs == "auto" if isinstance(pairs, str) else listed or (number and int(pairs) >= 0)):  # type: ignore[call-overload]
        raise OptionError(f"pairs={pairs!r} is not valid; expected 'auto', a number from 0, or a list of pairs.")


def read_options(
    pairs: Pairs,
    forbidden_pairs: Edges | None,
    trees: bool,
    monotonic_cst: MonotonicConstraints | None,
    columns: Sequence[ColumnSchema],
    order: Sequence[int] = (),
) -> AdditiveOptions:
    """The options by attribute number.

    columns  the attributes in the order in which they are learnt, then the class
    order    the place there of each column of the table, the class last; none where they have the same numbers

    Trees may join any attributes: where pairs are given or forbidden, or attributes constrained, there are none.
    """
    names = [column.name for column in columns]
    forbidden = () if forbidden_pairs is None else _read_pairs("forbidden_pairs", forbidden_pairs, names, order)
    monotone = _read_directions(monotonic_cst, columns, order)
    taken: str | int | tuple[tuple[int, int], ...]
    if isinstance(pairs, str):
        taken = pairs
    elif isinstance(pairs, SupportsIndex):
        taken = pairs.__index__()
    else:
        taken = _read_pairs("pairs", pairs, names, order)
        for pair in taken:
            if pair in forbidden:
                i, j = (names[node] for node in pair)
                raise OptionError(f"the pair {i!r}, {j!r} is in pairs and in forbidden_pairs.")
        for pair in taken:
            constrained = [names[node] for node in pair if monotone and monotone[node]]
            if constrained:
                raise OptionError(
                    f"monotonic_cst constrains {constrained[0]!r}, which is also in the pairs given.",
                    hint="leave the pair out: an attribute with a constraint has an effect of its own only.",
                )
    given = isinstance(taken, tuple) or bool(forbidden) or bool(monotone)
    return AdditiveOptions(taken, forbidden, bool(trees) and not given, monotone)


def _read_pairs(option: str, pairs: Edges, names: Sequence[str], order: Sequence[int]) -> tuple[tuple[int, int], ...]:
    """Pairs of attributes, each once, the lower number first."""
    found = edge_indices(option, pairs, names, order)
    refuse_class_edges(option, found, names, "leave the class out.")
    return tuple(sorted({(min(pair), max(pair)) for pair in found}))


def _read_directions(
    constraints: MonotonicConstraints | None, columns: Sequence[ColumnSchema], order: Sequence[int]
) -> tuple[int, ...]:
    """Of each attribute 1, -1 or 0 for the log odds of the second class; none where nothing is constrained."""
    if constraints is None:
        return ()
    names, n_classes = [column.name for column in columns], columns[-1].n_states
    directions = [0] * (len(columns) - 1)
    for node, value in _items(constraints, len(directions)):
        index = node_index("monotonic_cst", node, names, order)
        name = names[index]
        if index == len(directions):
            raise OptionError(f"monotonic_cst names {name!r}, which is the class.", hint="name attributes.")
        if isinstance(value, bool | np.bool_) or value not in DIRECTIONS:
            raise OptionError(
                f"monotonic_cst of {name!r} is {value!r}; expected 1 (rising), -1 (falling) or 0 (either)."
            )
        directions[index] = int(value)
        if directions[index] and not columns[index].has_order:
            raise OptionError(
                f"monotonic_cst constrains {name!r}, whose categories have no order.",
                hint="give it numbers, or categories with an order: pandas.Categorical(..., ordered=True).",
            )
    if not any(directions):
        return ()
    if n_classes != 2:
        raise OptionError(
            f"monotonic_cst is about the log odds of two classes, and {names[-1]!r} has {n_classes}.",
            hint="leave it out, or learn a model of one class against the others.",
        )
    return tuple(directions)


def _items(constraints: MonotonicConstraints, n_attributes: int) -> Sequence[tuple[Node, Any]]:
    """The constraint of each column that is named; an array has one for each, in the order of the table."""
    if isinstance(constraints, Mapping):
        return list(constraints.items())
    values = np.asarray(constraints)
    if isinstance(constraints, str) or values.shape != (n_attributes,):
        given = repr(constraints) if values.ndim != 1 else f"{len(values)} numbers"
        raise OptionError(
            f"monotonic_cst is {given}; expected a dict of names, or a number for each of {n_attributes} attributes."
        )
    return list(enumerate(values.tolist()))
