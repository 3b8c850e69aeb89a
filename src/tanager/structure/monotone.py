"""The option `monotonic_cst`, with the names and meaning it has in scikit-learn's HistGradientBoostingClassifier."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from tanager.errors import OptionError
from tanager.structure.constraints import Node, node_index
from tanager.structure.protocol import StructureTask

MonotonicConstraints = Mapping[Any, int] | ArrayLike
DIRECTIONS = (-1, 0, 1)


def read_directions(constraints: MonotonicConstraints | None, task: StructureTask) -> tuple[int, ...]:
    """Of each attribute 1, -1 or 0 for the log odds of the second class; none where nothing is constrained."""
    if constraints is None:
        return ()
    directions = [0] * task.counts.n_attributes
    for node, value in _items(constraints, len(directions)):
        index = node_index("monotonic_cst", node, task.names, task.columns)
        name = task.names[index]
        if index == len(directions):
            raise OptionError(f"monotonic_cst names {name!r}, which is the class.", hint="name attributes.")
        if isinstance(value, bool | np.bool_) or value not in DIRECTIONS:
            raise OptionError(
                f"monotonic_cst of {name!r} is {value!r}; expected 1 (rising), -1 (falling) or 0 (either)."
            )
        directions[index] = int(value)
        if directions[index] and not task.schema[index].has_order:
            raise OptionError(
                f"monotonic_cst constrains {name!r}, whose categories have no order.",
                hint="give it numbers, or categories with an order: pandas.Categorical(..., ordered=True).",
            )
    if not any(directions):
        return ()
    n_classes = task.counts.n_states[-1]
    if n_classes != 2:
        raise OptionError(
            f"monotonic_cst is about the log odds of two classes, and {task.names[-1]!r} has {n_classes}.",
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
