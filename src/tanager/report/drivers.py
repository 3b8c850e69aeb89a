"""What drives a model: its terms, ranked by how far they move the log odds of a row."""

from __future__ import annotations

from itertools import repeat

import numpy as np
from numpy.typing import NDArray

from tanager.additive.importance import term_strength
from tanager.arrays import Codes
from tanager.classifiers.base import TableClassifier
from tanager.report.json_page import Json, number

MAX_ROWS_AVERAGED = 2_000
"""Rows, evenly spaced, that the accuracy without a term is found on."""
FEWEST_ROWS = 30


def describe_drivers(
    clf: TableClassifier, codes: Codes | None, class_codes: NDArray[np.intp] | None
) -> dict[str, Json]:
    """Terms that say something, the strongest first, as `explain` ranks them.

    unit  of `change`: "log odds", the root mean square of what the term adds to the log odds of a class against the
          others; or "bits", what attribute and class tell of each other in a network of tables (`term_strength`)
    lost  share of the rows given that are classified rightly with the term, less that without it; None without classes
    """
    network = clf.model_
    effects = network.kind == "effects"
    changes = term_strength(network) / (1.0 if effects else np.log(2))
    lost, n_rows = accuracy_lost(clf, codes, class_codes)
    nodes = network.terms
    names = [network.term_name(term) for term in nodes]
    ranked = sorted(range(len(names)), key=lambda term: (-changes[term], names[term]))
    return {
        "unit": "log odds" if effects else "bits",
        "n_rows": n_rows,
        "terms": [
            {"name": names[term], "nodes": list(nodes[term]), "change": number(changes[term]), "lost": lost[term]}
            for term in ranked
            if changes[term] > 0
        ],
    }


def accuracy_lost(
    clf: TableClassifier, codes: Codes | None, class_codes: NDArray[np.intp] | None
) -> tuple[list[float | None], int]:
    """For each effect, and how many rows, evenly spaced, were looked at; of tables, and of few rows, None.

    A missing cell counts with its expected effect: to average over what it may hold takes minutes for all effects.
    """
    network = clf.model_
    if network.kind != "effects" or codes is None or class_codes is None or len(codes) < FEWEST_ROWS:
        return list(repeat(None, len(network.terms))), 0
    every = -(-len(codes) // MAX_ROWS_AVERAGED)
    rows, truth = codes[::every], class_codes[::every]
    logs = network.log_joint(rows)
    right = float((logs.argmax(axis=1) == truth).mean())
    without = (float(((logs - effect).argmax(axis=1) == truth).mean()) for effect in network.effects(rows))
    return [right - each for each in without], len(rows)
