"""Explanation: what each attribute of each row adds to the log odds of one class against another."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from tanager.additive.model import AnyModel
from tanager.arrays import Codes
from tanager.classifiers.base import TableClassifier
from tanager.decide import RowDecision
from tanager.errors import DataError, OptionError
from tanager.html_table import bars, html_table
from tanager.missing.average import choose_rule
from tanager.missing.marginalize import SummedOut
from tanager.missing.rule import MissingRule, between
from tanager.network.columns import HasColumns, Term
from tanager.table.columns import Column, DictionaryColumn, code_dtype, encode_column
from tanager.table.read_columns import make_frame, read_columns
from tanager.table.schema import Category, format_values
from tanager.uncertainty.interval import reach
from tanager.uncertainty.posterior import term_deviations

Status = Literal["present", "unknown", "unseen", "remainder"]
STATUSES: tuple[Status, ...] = ("unknown", "unseen", "present")
"""Of a pair the first of its two."""
Model = TableClassifier | AnyModel
ROWS_IN_TEXT, TERMS_IN_TEXT = 10, 10
LEVEL = 0.9
NO_BASELINE = 5e-5  # a smaller one is 0.0000 in words


@dataclass(frozen=True)
class Contribution:
    """What one term adds to the log odds of a row: an attribute, or a pair of them ("age & sex").

    attribute  its name
    value      the cell as the table has it, in words; None when it is unknown
    state      its state in the model, in words; None when it is unknown or unseen
    given      the attribute's attribute parents, each with its state (None when that is unknown or unseen)
    status     "present"; "unknown" or "unseen" (a category that training did not have), for a pair where either is; or
               "remainder": what averaging over the unknown cells adds beyond the terms (`Explanation`)
    log_odds   the addend, in nats
    gap        how the model treats a cell that is not present, in words
    is_pair    whether it is the effect of a pair
    margin     half the width of a 90 % interval of `log_odds`; None where the model has no intervals
    """

    attribute: str
    value: str | None
    state: str | None
    given: tuple[tuple[str, str | None], ...]
    status: Status
    log_odds: float
    gap: str = SummedOut.name
    is_pair: bool = False
    margin: float | None = None

    @property
    def cell(self) -> str:
        """The value, with the bin of a number; of a pair the bins alone; of an unknown one how the model treats it."""
        if self.status == "remainder":
            return self.gap
        if self.status == "unknown":
            return f"{self.value or 'unknown'}, {self.gap}"
        if self.status == "unseen":
            return f"{self.value}, unseen in training, {self.gap}"
        if self.is_pair:  # the values stand with the attributes themselves
            return str(self.state)
        return str(self.value) if self.state == self.value else f"{self.value} ({self.state})"

    @property
    def label(self) -> str:
        """The attribute and its cell."""
        return f"{self.attribute}{':' if self.value is None else ' ='} {self.cell}"

    @property
    def condition(self) -> str:
        """The attribute parents and their states; empty without any."""
        return ", ".join(f"{name} unknown" if state is None else in_state(name, state) for name, state in self.given)

    def to_dict(self) -> dict[str, object]:
        """As JSON has it."""
        return {
            "attribute": self.attribute,
            "value": self.value,
            "state": self.state,
            "given": dict(self.given),
            "status": self.status,
            "log_odds": self.log_odds,
            **({} if self.margin is None else {"margin": self.margin}),
        }


@dataclass(frozen=True)
class ExplainedRows:
    """Rows of a table as a model sees them.

    columns        the column of each attribute; None where the table has none
    codes          (n_rows, n_attributes), the code of an unknown or unseen cell is the attribute's number of states
    unseen         (n_rows, n_attributes), whether the cell holds a category that training did not have
    log_posterior  (n_rows, n_classes) log P(class | row)
    rule           how the model treats a cell that is not present
    """

    network: AnyModel
    columns: tuple[Column | None, ...]
    codes: Codes
    unseen: NDArray[np.bool_]
    log_posterior: NDArray[np.float64]
    rule: MissingRule

    @classmethod
    def read(cls, model: Model, X: object) -> ExplainedRows:
        network, rule = network_of(model), rule_of(model)
        attributes = network.columns[:-1]
        table = read_columns(X)
        columns: list[Column | None] = [None] * len(attributes)
        if isinstance(model, TableClassifier):
            log_posterior = model.predict_log_proba(X)  # which also checks the columns
            columns[: len(table.columns)] = table.columns  # hidden nodes, which have none, come after them
        else:
            for column in table.columns:
                node = network.number(column.name)
                if node < len(attributes):  # the class, where the table has it, is what is explained
                    columns[node] = column
        missing = np.array(network.n_states[:-1])
        codes = np.tile(missing, (table.n_rows, 1))
        for node, present in enumerate(columns):
            if present is not None:
                codes[:, node] = encode_column(present, attributes[node])
        unseen = codes > missing
        codes = np.minimum(codes, missing).astype(code_dtype(max(network.n_states)))
        if not isinstance(model, TableClassifier):
            with np.errstate(invalid="ignore"):  # of a row of probability zero
                log_posterior = rule.log_posterior(codes)
        impossible = np.isnan(log_posterior).any(axis=1) | (log_posterior.max(axis=1) == -np.inf)
        if impossible.any():
            row = int(impossible.argmax())
            raise DataError(f"row {row} has probability zero under the network, whatever its class.")
        return cls(network, tuple(columns), codes, unseen, log_posterior, rule)

    @property
    def present(self) -> NDArray[np.bool_]:
        """(n_rows, n_attributes), whether the cell is neither unknown nor unseen."""
        present: NDArray[np.bool_] = self.codes < np.array(self.network.n_states[:-1])
        return present

    def contribution(self, row: int, term: Term, log_odds: float, margin: float | None = None) -> Contribution:
        """The words for one term; those of a pair have the coarse states."""
        is_pair = len(term) > 1
        status = min((self._status(row, attribute) for attribute in term), key=STATUSES.index)
        values = [self.value(row, attribute) for attribute in term]
        words = ["unknown" if value is None else value for value in values]
        states = [self.state(row, attribute, is_pair) for attribute in term]
        parents = () if is_pair else self.network.attribute_parents(term[0])
        return Contribution(
            self.network.term_name(term),
            None if values == [None] * len(term) else " & ".join(words),
            " & ".join(map(str, states)) if status == "present" else None,
            tuple((self.network.nodes[parent], self.state(row, parent)) for parent in parents),
            status,
            log_odds,
            self.rule.name,
            is_pair,
            margin,
        )

    def remainder(self, row: int, log_odds: float) -> tuple[Contribution, ...]:
        """What averaging over the unknown cells of a row adds beyond the terms; () for other rows and rules."""
        if self.rule.rest is None or self.present[row].all():
            return ()
        return (Contribution(self.rule.rest, None, None, (), "remainder", log_odds, self.rule.name),)

    def state(self, row: int, attribute: int, coarse: bool = False) -> str | None:
        """The state of a cell, fine or coarse, in words; None without one."""
        code, column = int(self.codes[row, attribute]), self.network.columns[attribute]
        if code >= column.n_states:
            return None
        return str(column.coarse.states[column.coarse_codes[code]] if coarse else column.states[code])

    def _status(self, row: int, attribute: int) -> Status:
        if self.unseen[row, attribute]:
            return "unseen"
        return "present" if self.codes[row, attribute] < self.network.n_states[attribute] else "unknown"

    def value(self, row: int, attribute: int) -> str | None:
        """The cell as the table has it, in words; None for an unknown one."""
        column = self.columns[attribute]
        if self._status(row, attribute) == "unknown" or column is None:
            return None
        if isinstance(column, DictionaryColumn):
            index = int(column.indices[row])
            return self.state(row, attribute) if index < 0 else str(column.dictionary[index])
        value = column.values[row]
        if value != value:  # missing is a state of its own
            return self.state(row, attribute)
        return format_values([value.item()], column.unit)[0]


def in_state(attribute: str, state: str) -> str:
    """ "odor = foul" for a category, "age >= 40" and "age in [20, 40)" for a bin."""
    if state.startswith(("< ", ">= ")):
        return f"{attribute} {state}"
    return f"{attribute} in {state}" if state.startswith("[") and state.endswith(")") else f"{attribute} = {state}"


def network_of(model: Model) -> AnyModel:
    """The network to explain, which has a class."""
    if isinstance(model, HasColumns):
        if model.target is None:
            raise OptionError("the network has no class node, so there is no decision to explain.")
        return model
    if not isinstance(model, TableClassifier):
        raise OptionError(
            f"expected a fitted classifier of tanager or a Network to explain; got {type(model).__name__}."
        )
    if not hasattr(model, "model_"):
        raise OptionError("the classifier has no network to explain yet.", hint="call fit(X, y) first.")
    return model.model_


def rule_of(model: Model) -> MissingRule:
    """How the model treats a cell that is not present."""
    return model.missing_rule_ if isinstance(model, TableClassifier) else choose_rule(model)


@dataclass(frozen=True)
class RowExplanation:
    """One row: log odds = base rate + baseline + the sum of the contributions, in nats.

    row            its number in the table
    target         the name of the class column
    favoured       the class explained: the predicted one, or the best of the others where that is `against`
    against        the class it is compared with
    probabilities  P(class | row) of every class
    base_rate      log of how often the training rows have the favoured class, less the same of the other
    baseline       what the model adds to it before it looks at the attributes below the class (`baseline_words`)
    source         what the baseline comes from, in words
    contributions  one per attribute, in the order of the columns; then one per pair of an additive model; then,
                   where the model averages over missing values of the row, the remainder
    log_odds       log P(favoured | row) - log P(against | row)
    decision       the decision about the row, and its distance from the other decision; None where the model decides
                   for the most probable class
    """

    row: int
    target: str
    favoured: str
    against: str
    probabilities: dict[str, float]
    base_rate: float
    baseline: float
    source: str
    contributions: tuple[Contribution, ...]
    log_odds: float
    decision: RowDecision | None = None

    @property
    def first_lines(self) -> tuple[tuple[str, float], ...]:
        """Label and log odds of the base rate and, unless it is nothing, of the baseline."""
        base_rate = (f"base rate of {self.target}", self.base_rate)
        return (base_rate, (f"baseline: {self.source}", self.baseline))[: 1 + (abs(self.baseline) >= NO_BASELINE)]

    @property
    def ranked(self) -> tuple[Contribution, ...]:
        """The contributions, the largest in size first."""
        return tuple(sorted(self.contributions, key=lambda each: -abs(each.log_odds)))

    @property
    def nouns(self) -> str:
        """ "attributes" if every contribution is of one attribute, else "terms"."""
        others = any(each.is_pair or each.status == "remainder" for each in self.contributions)
        return "terms" if others else "attributes"

    def to_dict(self) -> dict[str, object]:
        """As JSON has it."""
        return {
            "row": self.row,
            "target": self.target,
            "favoured": self.favoured,
            "against": self.against,
            "probabilities": self.probabilities,
            "log_odds": self.log_odds,
            "base_rate": self.base_rate,
            "baseline": self.baseline,
            "contributions": [contribution.to_dict() for contribution in self.contributions],
            **({} if self.decision is None else {"decision": self.decision.to_dict()}),
        }

    @property
    def title(self) -> str:
        """The row, the two classes and the log odds, in words."""
        favoured, against = (f"{name} (P {self.probabilities[name]:.4f})" for name in (self.favoured, self.against))
        return f"row {self.row}: {favoured} against {against}, log odds {signed(self.log_odds)}"

    def _repr_html_(self) -> str:
        """The lines of the text, each with a bar."""
        lines = [*self.first_lines, *((self._words(each), each.log_odds) for each in self.ranked)]
        drawn = bars([value for _, value in lines], [signed(value) for _, value in lines])
        rows = [(label, bar) for (label, _), bar in zip(lines, drawn, strict=True)]
        decided = "" if self.decision is None else f"decided: {self.decision.words}"
        return html_table(self.title, [self.nouns, "log odds", ""], rows, decided)

    def _words(self, each: Contribution) -> str:
        return each.label + (f", given {each.condition}" if each.given else "")

    def text(self, top: int = TERMS_IN_TEXT) -> str:
        """A line for each of the largest terms, and one for all others."""
        lines = [self.title]
        lines += [f"  {signed(value)}  {label}" for label, value in self.first_lines]
        for each in self.ranked[:top]:
            margin = "" if each.margin is None else f" ± {each.margin:.4f}"
            lines.append(f"  {signed(each.log_odds)}{margin}  {self._words(each)}")
        rest = self.ranked[top:]
        if rest:
            lines.append(f"  {signed(sum(each.log_odds for each in rest))}  {len(rest)} other {self.nouns}")
        if self.decision is not None:
            lines.append(f"  decided: {self.decision.words}")
        return "\n".join(lines)

    def __str__(self) -> str:
        return self.text()


@dataclass(frozen=True)
class Explanation:
    r"""Log odds of every row as a sum over its attributes.

    In a network of tables an attribute adds log P(x_i | parents, c) of the favoured class less that of the other class.
    An additive model is a sum already: of its intercept and a term for every main effect ("age") and every pair effect
    ("age & sex"). What a missing value adds is defined by the model's rule for missing values (`tanager.missing`).

    Every sum begins with the base rate: the log odds of the classes among the training rows, or of P(class) where there
    is a network alone. The baseline is what the model adds to the base rate before it looks at the attributes: of an
    additive model, whose effects have mean zero, the intercept less the base rate; of tables the table of the class, or
    its ancestors, less the base rate.

    Where P(class | row) is an average over what the missing values may be, its log is no sum of terms. What averaging
    adds to the terms is one more term, `remainder`, called "unknown cells". A complete row has none.

    Limits of this definition: the joint information of two linked attributes is added to the child, so reversing an
    edge moves it to the other one; and a contribution is a part of this row's log odds under the model, not the result
    of changing the cell.

    favoured, against              (n_rows,) positions in `classes`
    base_rate, baseline, log_odds  (n_rows,) nats
    contributions                  (n_rows, n_terms) nats, a term being an attribute or, after these, a pair
    remainder                      (n_rows,) nats; `base_rate + baseline + contributions.sum(axis=1) + remainder` is
                                   `log_odds`
    decisions                      what is decided about each row; none where the most probable class is
    margins                        (n_rows, n_terms) half the width of a 90 % interval of each contribution, of the
                                   favoured class against the others, NaN where unknown; None unless
                                   `prepare_intervals` was called
    """

    cells: ExplainedRows
    favoured: NDArray[np.intp]
    against: NDArray[np.intp]
    base_rate: NDArray[np.float64]
    baseline: NDArray[np.float64]
    contributions: NDArray[np.float64]
    remainder: NDArray[np.float64]
    log_odds: NDArray[np.float64]
    decisions: tuple[RowDecision, ...] = ()
    margins: NDArray[np.float64] | None = None

    @property
    def target(self) -> str:
        """The name of the class column."""
        return self.cells.network.nodes[-1]

    @property
    def classes(self) -> tuple[str, ...]:
        """The classes in words."""
        return tuple(map(str, self.cells.network.columns[-1].states))

    @property
    def attributes(self) -> tuple[str, ...]:
        return self.cells.network.nodes[:-1]

    @cached_property
    def terms(self) -> tuple[str, ...]:
        """The columns of `contributions`: attributes, then pairs ("age & sex")."""
        return tuple(map(self.cells.network.term_name, self.cells.network.terms))

    def __len__(self) -> int:
        return len(self.log_odds)

    def __iter__(self) -> Iterator[RowExplanation]:
        return (self[row] for row in range(len(self)))

    def __getitem__(self, row: int) -> RowExplanation:
        row = range(len(self))[row]
        known = [np.nan] * len(self.terms) if self.margins is None else self.margins[row].tolist()
        margins = [None if np.isnan(margin) else margin for margin in known]
        addends = zip(self.cells.network.terms, self.contributions[row].tolist(), margins, strict=True)
        probabilities = np.exp(self.cells.log_posterior[row]).tolist()
        return RowExplanation(
            row,
            self.target,
            self.classes[self.favoured[row]],
            self.classes[self.against[row]],
            dict(zip(self.classes, probabilities, strict=True)),
            float(self.base_rate[row]),
            float(self.baseline[row]),
            baseline_words(self.cells.network),
            (
                *(self.cells.contribution(row, *each) for each in addends),
                *self.cells.remainder(row, float(self.remainder[row])),
            ),
            float(self.log_odds[row]),
            self.decisions[row] if self.decisions else None,
        )

    def sets(self, row: int) -> dict[tuple[str, ...], float]:
        """Names -> what this set of attributes adds to the log odds of a row, in nats, the largest first.

        Only an additive model has these parts. The leaves of its trees belong to sets of up to three attributes; leaves
        of more are divided among single attributes. Base rate, baseline and the sets add up to `log_odds`; the set ()
        is what averaging over missing values adds.
        """
        network, row = self.cells.network, range(len(self))[row]
        if network.kind != "effects":
            raise OptionError("only an additive model has parts of sets of attributes.", hint="use contributions.")
        favoured, against = self.favoured[row], self.against[row]
        parts = {
            tuple(network.nodes[node] for node in term): float(effect[0, favoured] - effect[0, against])
            for term, effect in network.set_effects(self.cells.codes[row : row + 1]).items()
        }
        if not self.cells.present[row].all():
            total = self.log_odds[row] - self.base_rate[row] - self.baseline[row]
            parts[()] = float(total) - sum(parts.values())
        return dict(sorted(parts.items(), key=lambda part: -abs(part[1])))

    def to_dict(self) -> dict[str, object]:
        """As JSON has it: every row with its contributions."""
        return {"target": self.target, "classes": list(self.classes), "rows": [row.to_dict() for row in self]}

    def to_frame(self, library: str = "pandas") -> Any:
        """A frame of "pandas", "polars" or "pyarrow": a line per row and term, after two for the class.

        The `log_odds` of the lines of a row add up to the log odds of the row. The first two have the class as their
        attribute, and "base rate" and "baseline" as their status; that of the remainder, in rows that have one, has
        "remainder".
        """
        names = ["row", "favoured", "against", "attribute", "value", "state", "status", "log_odds", "margin"]
        lines: list[tuple[object, ...]] = []
        for row in self:
            head = (row.row, row.favoured, row.against)
            lines.append((*head, row.target, None, None, "base rate", row.base_rate, None))
            lines.append((*head, row.target, None, None, "baseline", row.baseline, None))
            lines += [
                (*head, each.attribute, each.value, each.state, each.status, each.log_odds, each.margin)
                for each in row.contributions
            ]
        columns = {name: [line[k] for line in lines] for k, name in enumerate(names)}
        if self.margins is None:
            del columns["margin"]
        return make_frame(columns, library)

    def _repr_html_(self) -> str:
        shown = "".join(self[row]._repr_html_() for row in range(min(len(self), ROWS_IN_TEXT)))
        left = len(self) - ROWS_IN_TEXT
        return shown + (f"<div>... and {left:,} more rows</div>" if left > 0 else "")

    def __str__(self) -> str:
        shown = [str(self[row]) for row in range(min(len(self), ROWS_IN_TEXT))]
        return "\n".join([*shown, f"... and {left:,} more rows"] if (left := len(self) - len(shown)) else shown)


def explain_rows(model: Model, X: object, against: Category | None = None) -> Explanation:
    """See `tanager.explain.explain`."""
    cells = ExplainedRows.read(model, X)
    logs = cells.log_posterior
    if logs.shape[1] < 2:
        raise OptionError(f"the class {cells.network.nodes[-1]!r} has one state, so there is no decision to explain.")
    if against is None:
        order = np.argsort(-logs, axis=1, kind="stable")  # the first of equally probable classes, as in `predict`
        favoured, other = order[:, 0], order[:, 1]
    else:
        other = np.full(len(logs), cells.network.code(cells.network.nodes[-1], against))
        rivals = logs.copy()
        rivals[:, other] = -np.inf
        favoured = rivals.argmax(axis=1)
    odds = between(logs, favoured, other)
    parts = cells.rule.contributions(cells.codes, favoured, other, odds)
    base = between(np.broadcast_to(log_base_rates(model), logs.shape), favoured, other)
    decision = getattr(model, "decision_", None)
    decided = () if decision is None else tuple(decision.explain(np.exp(logs)))
    margins = None
    if (posterior := getattr(model, "posterior_", None)) is not None:
        margins = reach(LEVEL) * term_deviations(cells.network, posterior, cells.codes, favoured)
    baseline = parts.prior - base
    return Explanation(cells, favoured, other, base, baseline, parts.terms, parts.remainder, odds, decided, margins)


def signed(log_odds: float) -> str:
    """Four decimals with a sign, none for zero; nine letters or more."""
    text = f"{log_odds:+.4f}"
    return (text if float(text) else " 0.0000").rjust(7)


def log_base_rates(model: Model) -> NDArray[np.float64]:
    """(n_classes,) log frequency of each class among the training rows; of a network alone its log P(class).

    A class without rows counts as half a row, so that log odds are finite.
    """
    if isinstance(model, TableClassifier):
        shares = np.where(model.class_count_ > 0, model.class_count_, 0.5)
    else:
        network = network_of(model)
        shares = np.array(list(network.query(network.nodes[-1]).values()))
        shares = np.maximum(shares, np.finfo(float).tiny)
    return np.log(shares / shares.sum())


def baseline_words(network: AnyModel) -> str:
    """The source of the baseline, in words."""
    if network.kind == "effects":
        return "an average row"
    return f"{'ancestors' if network.dag.parents[-1] else 'table'} of {network.nodes[-1]}"
