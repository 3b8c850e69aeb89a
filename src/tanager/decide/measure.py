"""What decisions cost on rows that the model has not learnt from, beside simpler rules."""

from __future__ import annotations

import warnings
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tanager.arrays import Array
from tanager.decide.decision import ASK, Decision, best_other
from tanager.errors import DataWarning
from tanager.metrics import Probabilities

PERCENTILES = (2.5, 97.5)
MAX_DRAWS, MIN_DRAWS = 1000, 200
CELLS_IN_ALL_DRAWS = 20_000_000


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
        return {
            "rule": self.rule,
            "cost": self.cost,
            "low": self.low,
            "high": self.high,
            "net_benefit": self.net_benefit,
        }


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
    seed: int = 0,
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
    low, high = _intervals(costs, weight, seed)
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


def _intervals(costs: Array, weights: Array, seed: int) -> tuple[Array, Array]:
    """The ends of a 95 % interval of the mean of each column, by the percentiles of a bootstrap over rows."""
    n_rows = len(costs)
    generator = np.random.default_rng(seed)
    draws = np.empty((int(np.clip(CELLS_IN_ALL_DRAWS // costs.size, MIN_DRAWS, MAX_DRAWS)), costs.shape[1]))
    for draw in draws:
        times = weights * np.bincount(generator.integers(n_rows, size=n_rows), minlength=n_rows)
        draw[:] = times @ costs / max(times.sum(), np.finfo(float).tiny)
    low, high = np.percentile(draws, PERCENTILES, axis=0)
    return low, high
