"""How sure the model is, as the page says it: intervals of P(class | row), and how far each part may be off."""

from __future__ import annotations

from copy import copy

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tanager.arrays import Codes
from tanager.classifiers.base import TableClassifier
from tanager.report.json_page import Json, pack
from tanager.report.judged_rows import is_training_table
from tanager.report.posteriors import describe_posterior
from tanager.runtime.progress import working
from tanager.uncertainty.interval import reach
from tanager.uncertainty.posterior import AnyPosterior

LEVEL = 0.9
MAX_BYTES = 1_000_000
"""Characters that the intervals of the rows may take, where the posterior does not fit."""


def describe_intervals(clf: TableClassifier, codes: Codes | None, room: int) -> dict[str, Json] | None:
    """What `prepare_intervals` found, None where it was not called.

    codes      of the rows on the page
    room       characters that the posterior may take
    reach      how many standard deviations an interval reaches to either side
    mains      (states, classes) of each attribute: standard deviations of what it adds to the log odds of a class
               against the others; zero where they are not known
    pairs      (coarse states, coarse states, classes) of each pair of the network
    posterior  which answers for any evidence; None for one that is too large
    ends       then: (rows, classes, 2) the ends of the intervals of the rows, in steps of 1 / 65535
    """
    posterior, network = clf.posterior_, clf.model_
    if posterior is None:
        return None
    pairs = network.pairs if network.kind == "effects" else ()
    described = describe_posterior(posterior, LEVEL, room)
    return {
        "level": LEVEL,
        "reach": reach(LEVEL),
        "method": posterior.kind,
        "mains": _deviations(clf, posterior, [(node,) for node in range(len(network.nodes) - 1)]),
        "pairs": _deviations(clf, posterior, list(pairs)),
        "posterior": described,
        "ends": None if described is not None or codes is None else _ends(clf, posterior, codes),
    }


def with_bands(
    clf: TableClassifier, X: object, y: ArrayLike, codes: Codes, class_codes: NDArray[np.intp]
) -> TableClassifier:
    """A model that has no bands, prepared from its training rows where these are the rows given; else as it is.

    A fit on many rows has no folds, and trees have no spread between folds.
    """
    network = clf.model_
    if clf.posterior_ is not None or clf.edits_ or network.kind != "effects":
        return clf
    if (network.spreads and network.forest is None) or not is_training_table(clf, codes, class_codes):
        return clf
    with working("Preparing intervals"):
        return copy(clf).prepare_intervals(X, y)


def _deviations(clf: TableClassifier, posterior: AnyPosterior, terms: list[tuple[int, ...]]) -> str:
    """Of the terms one after the other, without those of missing cells."""
    network, n_classes = clf.model_, len(clf.classes_)
    found = [np.empty(0)]
    for term in terms:
        columns = [network.columns[node] for node in term]
        sizes = [column.n_states if len(term) == 1 else column.coarse.n_states for column in columns]
        known = posterior.effect_deviations(network, term)
        own = np.zeros((*sizes, n_classes))
        if known is not None and len(known) == np.prod([size + 1 for size in sizes]):
            places = tuple(slice(size) for size in sizes)
            own = np.nan_to_num(known.reshape(*(size + 1 for size in sizes), n_classes)[places])
        found.append(own.ravel())
    return pack(np.concatenate(found).astype(np.float32))


def _ends(clf: TableClassifier, posterior: AnyPosterior, codes: Codes) -> str | None:
    found = posterior.interval(codes, clf.gaps_.log_posterior(codes), LEVEL, clf.gaps_)
    ends = np.round(np.stack([found.lower, found.upper], axis=2) * 65_535).astype(np.uint16)
    packed = pack(ends)
    return packed if len(packed) <= MAX_BYTES else None
