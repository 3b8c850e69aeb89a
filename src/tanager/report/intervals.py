"""Uncertainty on the page: intervals of P(class | row), and standard deviations of each part of the log odds."""

from __future__ import annotations

import numpy as np

from tanager.arrays import Codes
from tanager.classifiers.base import TableClassifier
from tanager.report.json_page import Json, pack
from tanager.uncertainty.interval import reach
from tanager.uncertainty.posterior import AnyPosterior

LEVEL = 0.9
MAX_BYTES = 1_000_000
"""Characters that the intervals of the rows may take."""


def describe_intervals(clf: TableClassifier, codes: Codes | None) -> dict[str, Json] | None:
    """The intervals of `prepare_intervals`, None where it was not called.

    codes      of the rows on the page
    reach      how many standard deviations an interval reaches to either side
    mains      (states, classes) of each attribute: standard deviations of what it adds to the log odds of a class
               against the others; zero where they are not known
    pairs      (coarse states, coarse states, classes) of each pair of the network
    ends       (rows, classes, 2) the ends of the intervals of the rows, in steps of 1 / 65535; None of many rows
    """
    posterior, network = clf.posterior_, clf.model_
    if posterior is None:
        return None
    pairs = network.pairs if network.kind == "effects" else ()
    return {
        "level": LEVEL,
        "reach": reach(LEVEL),
        "mains": _deviations(clf, posterior, [(node,) for node in range(len(network.nodes) - 1)]),
        "pairs": _deviations(clf, posterior, list(pairs)),
        "ends": None if codes is None else _ends(clf, posterior, codes),
    }


def _deviations(clf: TableClassifier, posterior: AnyPosterior, terms: list[tuple[int, ...]]) -> str:
    """Of the terms one after the other, without those of missing cells."""
    network, n_classes = clf.model_, len(clf.classes_)
    parts = [np.empty(0)]
    for term in terms:
        columns = [network.columns[node] for node in term]
        sizes = [column.n_states if len(term) == 1 else column.coarse.n_states for column in columns]
        deviations = np.zeros((*sizes, n_classes))
        known = posterior.effect_deviations(network, term)
        if known is not None and len(known) == np.prod([size + 1 for size in sizes]):
            places = tuple(slice(size) for size in sizes)
            deviations = np.nan_to_num(known.reshape(*(size + 1 for size in sizes), n_classes)[places])
        parts.append(deviations.ravel())
    return pack(np.concatenate(parts).astype(np.float32))


def _ends(clf: TableClassifier, posterior: AnyPosterior, codes: Codes) -> str | None:
    rule, n_training = clf.missing_rule_, float(clf.class_count_.sum())
    interval = posterior.interval(codes, rule.log_posterior(codes), LEVEL, rule, n_training)
    packed = pack(np.round(np.stack([interval.lower, interval.upper], axis=2) * 65_535).astype(np.uint16))
    return packed if len(packed) <= MAX_BYTES else None
