"""Thresholds tuned, and the costs of decisions measured, on rows that the model has not learnt from.

`probabilities` (n_rows, n_classes), `class_codes` (n_rows,) the column of the true class, `positive` the column of the
class that a threshold is for, `weights` (n_rows,) or None for all ones.
"""

from __future__ import annotations

import warnings
from dataclasses import asdict, dataclass

import numpy as np
from numpy.typing import NDArray
from sklearn.metrics import roc_curve

from tanager.arrays import Array, ClassCodes
from tanager.decide.decision import ASK, Decision, best_other
from tanager.errors import DataError, DataWarning, OptionError
from tanager.metrics import Probabilities

PERCENTILES = (2.5, 97.5)
MAX_DRAWS, MIN_DRAWS = 1000, 200
CELLS_IN_ALL_DRAWS = 20_000_000


def tune_for_sensitivity(
    probabilities: Probabilities, class_codes: ClassCodes, positive: int, wanted: float, weights: Array | None = None
) -> float:
    """The highest threshold that at least the wanted share of the rows of the class reaches."""
    values, caught, _ = _shares(probabilities, class_codes, positive, weights)
    check_share("sensitivity", wanted)
    return _between(values, int(np.argmax(caught >= wanted - 1e-12)))


def tune_for_specificity(
    probabilities: Probabilities, class_codes: ClassCodes, positive: int, wanted: float, weights: Array | None = None
) -> float:
    """The lowest threshold below which at least the wanted share of the rows of other classes is."""
    values, _, alarmed = _shares(probabilities, class_codes, positive, weights)
    check_share("specificity", wanted)
    allowed = alarmed <= 1.0 - wanted + 1e-12
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
    """Distinct probabilities, highest first; shares of the rows of the class, and of others, in the first 0, 1, ..."""
    inside = class_codes == positive
    if not inside.any() or inside.all():
        raise DataError("a threshold needs rows of the class and of others to be tuned on.")
    p = probabilities[:, positive]
    alarmed, caught, values = roc_curve(inside, p, sample_weight=weights, drop_intermediate=False)
    return values[1:], caught, alarmed


def _between(values: Array, n_reached: int) -> float:
    """A threshold that the first so many of the descending values reach, and no other: halfway to the next."""
    above = values[n_reached - 1] if n_reached else max(1.0, float(np.nextafter(values[0], 2.0)))
    below = values[n_reached] if n_reached < len(values) else 0.0
    halfway = float(above + below) / 2
    return halfway if halfway > below or n_reached == len(values) else float(above)


def check_share(name: str, wanted: float) -> None:
    """Refuse a number that is no share; `name` is the option."""
    if not 0.0 < wanted <= 1.0:
        raise OptionError(f"{name}={wanted:g} is not valid; expected a share above 0 and at most 1.")


@dataclass(frozen=True)
class RuleCost:
    """What a rule costs per row.

    rule         in words
    cost         the mean over the rows
    low, high    the ends of its 95 % interval, by a bootstrap over rows
    net_benefit  what is saved per row against treating no one, in units of a class that is found (Vickers and Elkin
                 2006): with threshold t it is TP / n - t / (1 - t) FP / n; None where there is no one such class
    """

    rule: str
    cost: float
    low: float
    high: float
    net_benefit: float | None

    def to_dict(self) -> dict[str, object]:
        """As JSON has it."""
        return asdict(self)


@dataclass(frozen=True)
class DecisionQuality:
    """What a decision costs, beside the most probable class, and beside deciding the same about everyone.

    rules   the decision's first
    n_rows  how many rows were decided about
    asked   the share of them about which a person is asked
    """

    decision: Decision
    rules: tuple[RuleCost, ...]
    n_rows: int
    asked: float

    def to_dict(self) -> dict[str, object]:
        """As JSON has it."""
        rules = [rule.to_dict() for rule in self.rules]
        return {"decision": str(self.decision), "rows": self.n_rows, "asked": self.asked, "rules": rules}

    def __str__(self) -> str:
        width = max(len(rule.rule) for rule in self.rules)
        lines = [f"Decision: {self.decision}. Cost per row, on {self.n_rows:,} rows new to the model:"]
        for each in self.rules:
            benefit = "" if each.net_benefit is None else f"   net benefit {each.net_benefit:.4f}"
            lines.append(f"  {each.rule:{width}}  {each.cost:.4f} [{each.low:.4f}, {each.high:.4f}]{benefit}")
        if self.decision.price is not None:
            lines.append(f"  {ASK}: {self.asked:.1%} of rows")
        return "\n".join(lines)


def measure_decision(
    decision: Decision,
    probabilities: Probabilities,
    class_codes: NDArray[np.integer],
    weights: Array | None = None,
) -> DecisionQuality:
    """Costs of a decision and of simpler rules; `probabilities` are of rows that the model has not learnt from.

    >>> from tanager.decide import CostDecision
    >>> rule = CostDecision(("healthy", "ill"), ((0.0, 1.0), (10.0, 0.0)))
    >>> found = measure_decision(rule, np.array([[0.95, 0.05], [0.8, 0.2], [0.7, 0.3]]), np.array([0, 0, 1]))
    >>> {each.rule: round(each.cost, 4) for each in found.rules}
    {'this decision': 0.3333, 'most probable class': 3.3333, 'everyone ill': 0.6667, 'no one ill': 3.3333}
    """
    weight = np.ones(len(class_codes)) if weights is None else weights
    chosen = decision.choose(probabilities)
    rules = {"this decision": chosen, "most probable class": probabilities.argmax(axis=1)}
    positive = decision.positive_code
    if positive is not None and (chosen != positive).all():
        warnings.warn(
            f"none of {len(chosen):,} rows is decided to be {decision.word(positive)}: nobody reaches the threshold.",
            DataWarning,
            stacklevel=2,
        )
    if positive is None:
        rules |= {f"everyone {decision.word(k)}": np.full_like(chosen, k) for k in range(len(decision.classes))}
    else:
        rules[f"everyone {decision.word(positive)}"] = np.full_like(chosen, positive)
        rules[f"no one {decision.word(positive)}"] = best_other(probabilities, positive)
    table = np.array(decision.cost_table)
    priced = np.column_stack([table, np.full(len(table), decision.price or 0.0)])
    costs = np.column_stack([priced[class_codes, codes] for codes in rules.values()])
    means = weight @ costs / weight.sum()
    low, high = _intervals(costs, weight)
    benefits = _net_benefits(table, means, positive)
    lines = zip(rules, means.tolist(), low.tolist(), high.tolist(), benefits, strict=True)
    asked = float(weight @ (chosen == len(table)) / weight.sum())
    return DecisionQuality(decision, tuple(RuleCost(*line) for line in lines), len(class_codes), asked)


def _net_benefits(table: Array, means: Array, positive: int | None) -> list[float | None]:
    """What each rule saves against the last, which treats no one, in units of what it saves to find the class."""
    if positive is None:
        return [None] * len(means)
    saved_by_one = float(np.delete(table[positive], positive).max() - table[positive, positive])
    return [float(means[-1] - mean) / saved_by_one if saved_by_one > 0 else None for mean in means]


def _intervals(costs: Array, weights: Array) -> tuple[Array, Array]:
    """The ends of a 95 % interval of the mean of each column, by the percentiles of a bootstrap over rows."""
    n_rows = len(costs)
    generator = np.random.default_rng(0)
    draws = np.empty((int(np.clip(CELLS_IN_ALL_DRAWS // costs.size, MIN_DRAWS, MAX_DRAWS)), costs.shape[1]))
    for draw in draws:
        times = weights * np.bincount(generator.integers(n_rows, size=n_rows), minlength=n_rows)
        draw[:] = times @ costs / max(times.sum(), np.finfo(float).tiny)
    low, high = np.percentile(draws, PERCENTILES, axis=0)
    return low, high
