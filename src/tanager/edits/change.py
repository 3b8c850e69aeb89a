"""Edits applied to an additive model."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from dataclasses import replace
from itertools import compress

import numpy as np
from numpy.typing import NDArray
from sklearn.isotonic import isotonic_regression

from tanager.additive.importance import class_odds, tree_mains
from tanager.additive.model import AdditiveModel
from tanager.arrays import Array
from tanager.edits.edit import DIRECTIONS, Bound, Edit
from tanager.edits.trees import without_trees_of
from tanager.errors import OptionError
from tanager.registry import check_option, nearest_first
from tanager.table.schema import Category, ColumnSchema

Places = NDArray[np.intp]

LEAST_SHARE = 1e-12
"""What a state that no training row is in weighs in a mean."""


def edit_network(network: AdditiveModel, edit: Edit) -> AdditiveModel:
    """The network after one edit."""
    attributes = [_attribute(network, name) for name in edit.attributes]
    change: Callable[[AdditiveModel, list[int], Edit], AdditiveModel] = {
        "flatten": _flatten,
        "monotone": _make_monotone,
        "remove": _remove,
    }[edit.what]
    return change(network, attributes, edit)


def _flatten(network: AdditiveModel, attributes: list[int], edit: Edit) -> AdditiveModel:
    """m[s] = sum_s w_s m[s] / sum_s w_s for the states s of the stretch; w are the shares of the training rows.

    m is the curve: the main effect and what trees say of the attribute alone. The main effect makes up for both.
    """
    attribute = attributes[0]
    states = stretch(network.columns[attribute], edit)
    main, trees = network.mains[attribute].copy(), tree_mains(network)[attribute][states]
    curve = main[states] + trees
    main[states] = np.average(curve, axis=0, weights=_weights(network, attribute, states)) - trees
    return _with_main(network, attribute, main)


def _make_monotone(network: AdditiveModel, attributes: list[int], edit: Edit) -> AdditiveModel:
    """The isotonic regression of the log odds o_c of a class (`class_odds`), weighted by the training rows.

    They are those of the curve, as in `_flatten`. What it adds, d, is shared so that odds between other classes stay:
    (K - 1)/K d to the class, -d/K to each other.
    """
    attribute = attributes[0]
    column = network.columns[attribute]
    if not column.has_order:
        raise OptionError(
            f"{edit.where!r}: the categories of {column.name!r} have no order, so no curve to be monotone.",
            hint="flatten some of its states, or remove it.",
        )
    rising = check_option("direction", edit.direction, DIRECTIONS) == "increasing"
    states = stretch(column, edit)
    label = _class(network, edit)
    main, n_classes = network.mains[attribute].copy(), len(network.intercept)
    odds = class_odds(main[states] + tree_mains(network)[attribute][states])[:, label]
    weights = _weights(network, attribute, states)
    added = isotonic_regression(odds, sample_weight=weights, increasing=rising) - odds
    main[states] -= added[:, np.newaxis] / n_classes
    main[states, label] += added
    return _with_main(network, attribute, main)


def _remove(network: AdditiveModel, attributes: list[int], edit: Edit) -> AdditiveModel:
    """No effect of a pair; or none of an attribute, its pairs and the trees that ask for it."""
    if len(attributes) == 2:
        keep = [set(pair) != set(attributes) for pair in network.pairs]
        if all(keep):
            raise OptionError(f"{edit.where!r}: the model has no such pair.", hint="`clf.model_.edges` lists them.")
    else:
        keep = [attributes[0] not in pair for pair in network.pairs]
        network = _with_main(network, attributes[0], np.zeros_like(network.mains[attributes[0]]))
        if network.forest is not None:
            forest = without_trees_of(network.forest, attributes[0])
            network = replace(network, forest=forest, tree_share=0.0 if forest is None else network.tree_share)
    return replace(
        network,
        pairs=tuple(compress(network.pairs, keep)),
        tables=tuple(compress(network.tables, keep)),
        pair_densities=tuple(compress(network.pair_densities, keep)),
    )


def _with_main(network: AdditiveModel, attribute: int, main: Array) -> AdditiveModel:
    """With another main effect. What was drawn by hand has no spread between fits."""
    mains, spreads = list(network.mains), list(network.spreads)
    if spreads:
        changed = (main != mains[attribute]).any(axis=1)[:-1]
        spreads[attribute] = np.where(changed[:, np.newaxis], 0.0, spreads[attribute])
    mains[attribute] = main
    return replace(network, mains=tuple(mains), spreads=tuple(spreads))


def _weights(network: AdditiveModel, attribute: int, states: Places) -> Array:
    return np.maximum(network.densities[attribute][states], LEAST_SHARE)


def stretch(column: ColumnSchema, edit: Edit) -> Places:
    """The states of an edit: those it names, else the bins with a number in start <= x < end; at least two."""
    if edit.states:
        return np.array([_find(column.states, state, f"{column.name!r} has no state") for state in edit.states])
    n_values = column.n_states - column.gap_state
    if column.kind != "numeric":
        if (edit.start, edit.end) != (None, None):
            raise OptionError(
                f"{edit.where!r}: {column.name!r} holds categories, not numbers.", hint="name its states: states=[...]."
            )
        return np.arange(n_values)
    start, end = (read_bound(bound, column) for bound in (edit.start, edit.end))
    low = -np.inf if start is None else start
    high = np.inf if end is None else end
    if not low < high:
        raise OptionError(f"{edit.where!r}: the stretch ends at {edit.end} and begins at {edit.start}.")
    # Bin k is [cuts[k - 1], cuts[k]): the bin of the start, to the last that begins before the end.
    first = int(np.searchsorted(column.cuts, low, side="right"))
    last = int(np.searchsorted(column.cuts, high, side="left"))
    if first == last:
        raise OptionError(
            f"{edit.where!r}: the stretch lies in one bin, {column.states[first]}, where the curve is flat already.",
            hint=f"the curve of {column.name!r} has steps from {column.states[0]} to {column.states[n_values - 1]}."
            if column.cuts
            else f"{column.name!r} was not cut, so it has no curve.",
        )
    return np.arange(first, last + 1)


def read_bound(bound: Bound, column: ColumnSchema) -> float | None:
    """An end of a stretch as a number of the column; a date as the microseconds since 1970 that the column holds."""
    if bound is None or (isinstance(bound, int | float) and np.isfinite(bound)):
        return bound
    if isinstance(bound, str) and column.unit in ("date", "datetime"):
        with contextlib.suppress(ValueError, OverflowError):
            given = np.datetime64(bound)
            moment = given.astype("M8[us]")
            if moment.astype(given.dtype) == given:  # not where it is no time, or too far for 64 bits
                return float(moment.astype(np.int64))
    expected = "a number" if column.unit in ("number", "duration") else "a date such as 2024-02-29"
    raise OptionError(f"{bound!r} is no end for a stretch of {column.name!r}; expected {expected}.")


def _class(network: AdditiveModel, edit: Edit) -> int:
    classes = network.columns[-1].states
    if edit.of is not None:
        return _find(classes, edit.of, f"{edit.where!r}: there is no class")
    if len(classes) > 2:
        raise OptionError(f"{edit.where!r}: of which class?", hint=f"of= one of {', '.join(map(repr, classes))}.")
    return len(classes) - 1


def _find(states: tuple[Category, ...], wanted: Category, problem: str) -> int:
    """The place of a state, given as itself or in words."""
    for place, state in enumerate(states):
        if type(state) is type(wanted) and state == wanted:
            return place
    words = list(map(str, states))
    if str(wanted) in words:
        return words.index(str(wanted))
    nearest = ", ".join(map(repr, nearest_first(str(wanted), words)[:5]))
    raise OptionError(f"{problem} {wanted!r}; the nearest are {nearest}.")


def _attribute(network: AdditiveModel, name: str) -> int:
    node = network.number(name)
    if node == len(network.columns) - 1:
        raise OptionError(f"{name!r} is the class: only attributes and pairs of them can be edited.")
    return node
