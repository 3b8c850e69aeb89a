"""Thresholds tuned on probabilities of rows that the model has not learnt from.

`probabilities` (n_rows, n_classes), `class_codes` (n_rows,) the column of the true class, `positive` the column of the
class that a threshold is for, `weights` (n_rows,) or None for all ones.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from tanager.arrays import Array
from tanager.decide.costs import CostTable
from tanager.decide.decision import best_other
from tanager.errors import DataError, OptionError
from tanager.metrics import Probabilities

ClassCodes = NDArray[np.integer]


def tune_for_costs(
    probabilities: Probabilities,
    class_codes: ClassCodes,
    positive: int,
    costs: CostTable,
    weights: Array | None = None,
) -> float:
    """The threshold whose decisions cost least on these rows, of all thresholds; the highest of equally good ones."""
    table = np.array(costs)
    weight = np.ones(len(class_codes)) if weights is None else weights
    saved = table[class_codes, best_other(probabilities, positive)] - table[class_codes, positive]
    values, totals = _by_value(probabilities[:, positive], (weight * saved)[:, np.newaxis])
    return _between(values, int(np.concatenate([[0.0], np.cumsum(totals[:, 0])]).argmax()))


def tune_for_sensitivity(
    probabilities: Probabilities, class_codes: ClassCodes, positive: int, wanted: float, weights: Array | None = None
) -> float:
    """The highest threshold that at least the wanted share of the rows of the class reaches."""
    values, caught, _ = _shares(probabilities, class_codes, positive, weights)
    check_share("sensitivity", wanted)
    return _between(values, int(np.argmax(np.concatenate([[0.0], caught]) >= wanted - 1e-12)))


def tune_for_specificity(
    probabilities: Probabilities, class_codes: ClassCodes, positive: int, wanted: float, weights: Array | None = None
) -> float:
    """The lowest threshold below which at least the wanted share of the rows of other classes is."""
    values, _, alarmed = _shares(probabilities, class_codes, positive, weights)
    check_share("specificity", wanted)
    allowed = np.concatenate([[0.0], alarmed]) <= 1.0 - wanted + 1e-12
    n_reached = len(allowed) - 1 - int(np.argmax(allowed[::-1]))
    if n_reached == 0:
        raise DataError(
            f"no row reaches a threshold with a specificity of {wanted:g}: the class would never be decided for.",
            hint="ask for a lower specificity.",
        )
    return _between(values, n_reached)


def _shares(
    probabilities: Probabilities, class_codes: ClassCodes, positive: int, weights: Array | None
) -> tuple[Array, Array, Array]:
    """Distinct probabilities, the highest first; the shares of rows of the class, and of others, that reach each."""
    weight = np.ones(len(class_codes)) if weights is None else weights
    inside = class_codes == positive
    if not inside.any() or inside.all():
        raise DataError("a threshold needs rows of the class and of others to be tuned on.")
    values, totals = _by_value(probabilities[:, positive], weight[:, np.newaxis] * np.column_stack([inside, ~inside]))
    reached = np.cumsum(totals, axis=0) / totals.sum(axis=0)
    return values, reached[:, 0], reached[:, 1]


def _by_value(p: Array, amounts: Array) -> tuple[Array, Array]:
    """The distinct probabilities, the highest first, and the sums over their rows."""
    values, place = np.unique(-p, return_inverse=True)
    totals = np.zeros((len(values), amounts.shape[1]))
    np.add.at(totals, place, amounts)
    return -values, totals


def _between(values: Array, n_reached: int) -> float:
    """A threshold that the first so many of the descending values reach, and no other: halfway to the next."""
    above = values[n_reached - 1] if n_reached else max(1.0, float(np.nextafter(values[0], 2.0)))
    below = values[n_reached] if n_reached < len(values) else 0.0
    halfway = float(above + below) / 2
    return halfway if halfway > below or n_reached == len(values) else float(above)


def check_share(name: str, wanted: float) -> None:
    """Refuse what is no share; `name` says where it was given."""
    if not 0.0 < wanted <= 1.0:
        raise OptionError(f"{name}={wanted:g} is not valid; expected a share above 0 and at most 1.")
