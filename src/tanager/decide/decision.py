"""Decisions: probabilities of classes, and costs of mistakes -> the class decided for, or that a person is asked.

Thresholds are tuned, and the costs of decisions measured, on rows that the model has not learnt from.

`probabilities` (n_rows, n_classes), `class_codes` (n_rows,) the column of the true class, `positive` the column of the
class that a threshold is for, `weights` (n_rows,) or None for all ones.
"""

from __future__ import annotations

import warnings
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from math import isfinite
from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.metrics import roc_curve

from tanager.arrays import Array, ClassCodes, Places
from tanager.errors import DataError, DataWarning, OptionError
from tanager.metrics import Probabilities
from tanager.metrics.basic import PERCENTILES, bootstrap
from tanager.registry import list_names, nearest_first
from tanager.table.schema import Category

Costs = ArrayLike | Mapping[Any, float] | None
CostTable = tuple[tuple[float, ...], ...]
"""costs[c][k] is what it costs to decide class k where class c is true."""

ASK = "ask a person"


@dataclass(frozen=True)
class RowDecision:
    """What is decided about a row, and how far that is from deciding otherwise.

    decided   the class in words, or "ask a person"
    other     what would be decided next
    distance  from the other decision: how much more that is expected to cost, or how far P is from the threshold
    words     all this in a line
    """

    decided: str
    other: str
    distance: float
    words: str

    def to_dict(self) -> dict[str, object]:
        """As JSON has it."""
        return {"decided": self.decided, "other": self.other, "distance": self.distance}


@dataclass(frozen=True)
class Decision(ABC):
    """A rule that decides by P(class | row), of shape (n_rows, n_classes).

    classes  the labels, in the order of the columns
    """

    classes: tuple[Category, ...]

    @property
    def price(self) -> float | None:
        """Of asking a person; None where nobody is ever asked."""
        return None

    @property
    def positive_code(self) -> int | None:
        """The column of the class that everyone or no one may be treated for, where there is one such class."""
        return None

    @abstractmethod
    def choose(self, probabilities: Probabilities) -> Places:
        """(n_rows,) the column of the class decided for; n_classes where a person is to be asked."""

    @abstractmethod
    def explain(self, probabilities: Probabilities) -> list[RowDecision]:
        """What is decided about each row, and how far that is from the other decision."""

    @property
    @abstractmethod
    def cost_table(self) -> CostTable:
        """costs[c][k] of deciding k where c is true."""

    @abstractmethod
    def to_dict(self) -> dict[str, object]:
        """Its numbers, as JSON has them; the classes are those of the model."""

    def labels(self, probabilities: Probabilities, classes: NDArray[np.generic]) -> NDArray[np.generic]:
        """(n_rows,) the classes decided for; objects, with None where a person is to be asked, if that may be."""
        chosen = self.choose(probabilities)
        if self.price is None:
            return classes[chosen]
        return np.array([*classes.tolist(), None], dtype=object)[chosen]

    def check(self, classes: NDArray[np.generic]) -> None:
        """Refuse to decide for a model of other classes."""
        if list(self.classes) != classes.tolist():
            raise OptionError(
                f"the decision is for the classes {list(self.classes)}; the model's are {classes.tolist()}."
            )

    def word(self, code: int) -> str:
        """What is decided, in words."""
        return ASK if code == len(self.classes) else str(self.classes[code])


@dataclass(frozen=True)
class CostDecision(Decision):
    r"""The decision that is expected to cost least: argmin_k sum_c P(c) cost(c, k), the first of equal ones.

    A person is asked where every class is expected to cost more than the price (Chow 1970): with mistakes that all cost
    1, where 1 - max P is above it.

    costs  costs[c][k] of deciding k where c is true
    ask    the price of asking a person; None for never

    >>> rule = CostDecision(("healthy", "ill"), ((0.0, 1.0), (10.0, 0.0)))
    >>> rule.choose(np.array([[0.95, 0.05], [0.8, 0.2]])).tolist()
    [0, 1]
    >>> print(rule.explain(np.array([[0.8, 0.2]]))[0].words)
    ill, expected to cost 0.8; healthy would cost 1.2 more
    """

    costs: CostTable
    ask: float | None = None

    @property
    def price(self) -> float | None:
        return self.ask

    @property
    def positive_code(self) -> int | None:
        """Of two classes the one that is worse to miss, the second of equal ones."""
        if len(self.classes) != 2:
            return None
        (right, false_alarm), (missed, right_too) = self.costs
        return 0 if false_alarm - right > missed - right_too else 1

    @property
    def cost_table(self) -> CostTable:
        return self.costs

    def expected(self, probabilities: Probabilities) -> Probabilities:
        """(n_rows, n_classes) what each decision is expected to cost; one column more where a person may be asked."""
        of_classes: Probabilities = probabilities @ np.array(self.costs)
        if self.ask is None:
            return of_classes
        return np.column_stack([of_classes, np.full(len(of_classes), self.ask)])

    def choose(self, probabilities: Probabilities) -> Places:
        return self.expected(probabilities).argmin(axis=1)

    def explain(self, probabilities: Probabilities) -> list[RowDecision]:
        costs = self.expected(probabilities)
        order = np.argsort(costs, axis=1, kind="stable")
        explained = []
        for row, (first, second) in zip(costs, order[:, :2].tolist(), strict=True):
            best, other, more = self.word(first), self.word(second), float(row[second] - row[first])
            words = f"{best}, expected to cost {row[first]:.4g}; {other} would cost {more:.4g} more"
            explained.append(RowDecision(best, other, more, words))
        return explained

    def to_dict(self) -> dict[str, object]:
        return {"costs": [list(row) for row in self.costs], "ask": self.ask}

    def __str__(self) -> str:
        unusual = np.argwhere(np.array(self.costs) != 1.0 - np.eye(len(self.classes))).tolist()
        pairs = [f"{self.classes[c]}:{self.classes[k]}={self.costs[c][k]:g}" for c, k in unusual]
        listed = f" with {', '.join(pairs)} (true:decided)" if pairs else ""
        return f"least expected cost{listed}" + ("" if self.ask is None else f", {ASK} for {self.ask:g}")


@dataclass(frozen=True)
class ThresholdDecision(Decision):
    """Decide for a class where its probability is at least the threshold, else for the most probable other class.

    positive   the class
    threshold  from 0 on; no row reaches one above 1

    >>> rule = ThresholdDecision(("healthy", "ill"), "ill", 0.1)
    >>> rule.choose(np.array([[0.95, 0.05], [0.8, 0.2]])).tolist()
    [0, 1]
    >>> print(rule.explain(np.array([[0.8, 0.2]]))[0].words)
    ill: P(ill) 0.2 is 0.1 above the threshold 0.1
    """

    positive: Category
    threshold: float

    @property
    def code(self) -> int:
        """The column of the class."""
        return class_code(self.positive, self.classes, "threshold")

    @property
    def positive_code(self) -> int | None:
        return self.code

    @property
    def cost_table(self) -> CostTable:
        """A false alarm costs t, a miss 1 - t: to be above the threshold t is then what is expected to cost less."""
        positive, t = self.code, min(self.threshold, 1.0)
        table = np.zeros((len(self.classes), len(self.classes)))
        table[:, positive] = t
        table[positive] = 1.0 - t
        table[positive, positive] = 0.0
        return tuple(map(tuple, table.tolist()))

    def choose(self, probabilities: Probabilities) -> Places:
        reached = probabilities[:, self.code] >= self.threshold
        return np.where(reached, self.code, best_other(probabilities, self.code))

    def explain(self, probabilities: Probabilities) -> list[RowDecision]:
        explained, positive = [], self.word(self.code)
        others = best_other(probabilities, self.code)
        for p, code, other in zip(probabilities[:, self.code], self.choose(probabilities), others, strict=True):
            distance, rival = abs(float(p - self.threshold)), self.word(int(other))
            names = (positive, rival) if code == self.code else (rival, positive)
            side = "above" if code == self.code else "below"
            words = f"{names[0]}: P({positive}) {p:.4g} is {distance:.4g} {side} the threshold {self.threshold:.4g}"
            explained.append(RowDecision(*names, distance, words))
        return explained

    def to_dict(self) -> dict[str, object]:
        return {"positive": self.code, "threshold": self.threshold}

    def __str__(self) -> str:
        return f"{self.positive} where P({self.positive}) is at least {self.threshold:.4g}"


def best_other(probabilities: Probabilities, positive: int) -> Places:
    """(n_rows,) the most probable class but one."""
    others = probabilities.copy()
    others[:, positive] = -np.inf
    return others.argmax(axis=1)


def read_costs(costs: Costs, classes: Sequence[Category]) -> CostTable:
    """The costs of mistakes, in the order of the classes.

    None means that every mistake costs 1. A mapping gives the cost of some, {("ill", "healthy"): 10} where one who is
    ill is taken for healthy; the others cost 1. What is right costs nothing unless the matrix or the mapping says so.
    """
    table = 1.0 - np.eye(len(classes))
    if isinstance(costs, Mapping):
        for pair, cost in costs.items():
            if not isinstance(pair, tuple) or len(pair) != 2:
                raise OptionError(f"costs are given for {pair!r}; expected a pair (true class, decided class).")
            true, decided = (class_code(label, classes, "costs") for label in pair)
            table[true, decided] = _cost(cost, f"to decide {pair[1]!r} where {pair[0]!r} is true")
    elif costs is not None:
        table = np.asarray(costs, dtype=object)
        if table.shape != (len(classes), len(classes)):
            raise OptionError(
                f"costs have the shape {table.shape}; expected {(len(classes), len(classes))}: a row for each true "
                f"class, a column for each decided one."
            )
        table = np.array([[_cost(cost, "costs") for cost in row] for row in table.tolist()])
    return tuple(map(tuple, table.tolist()))


def read_price(ask: object) -> float | None:
    """The price of asking a person, or None."""
    return None if ask is None else _cost(ask, "ask")


def class_code(label: object, classes: Sequence[Category], where: str) -> int:
    """The place of a class among the classes."""
    known: list[object] = list(classes)
    if label not in known:
        names = list_names(nearest_first(str(label), map(str, known)))
        raise OptionError(f"{where}: there is no class {label!r}; the classes, nearest first, are {names}.")
    return known.index(label)


def _cost(cost: object, what: str) -> float:
    if not isinstance(cost, Real) or not isfinite(cost) or cost < 0:
        raise OptionError(f"{what}: the cost is {cost!r}; expected a number from zero up.")
    return float(cost)


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
    """A threshold that the first `n_reached` of the descending values reach, and no other: halfway to the next."""
    above, below = values[n_reached - 1], 0.0 if n_reached == len(values) else values[n_reached]
    halfway = float(above + below) / 2
    return halfway if halfway > below else float(above)


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
    net_benefit  what is saved per row compared with treating no one, in units of one case found (Vickers and Elkin
                 2006): with threshold t it is TP / n - t / (1 - t) FP / n; None where no class is the event
    """

    rule: str
    cost: float
    low: float
    high: float
    net_benefit: float | None


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
        rules = [asdict(rule) for rule in self.rules]
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
    draws = []
    for times in bootstrap(len(costs), costs.size):
        drawn = weights * times
        draws.append(drawn @ costs / max(drawn.sum(), np.finfo(float).tiny))
    low, high = np.percentile(draws, PERCENTILES, axis=0)
    return low, high
