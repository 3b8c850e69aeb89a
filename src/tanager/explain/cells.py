"""The rows of an explanation: the value of each cell, its state, and how the model treats an unknown one."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from tanager.additive.model import AnyModel
from tanager.arrays import Codes
from tanager.classifiers.base import TableClassifier
from tanager.errors import DataError, OptionError
from tanager.missing.average import choose_rule
from tanager.missing.marginalize import SummedOut
from tanager.missing.rule import MissingRule
from tanager.network.columns import HasColumns, Term
from tanager.table.columns import Column, DictionaryColumn, code_dtype, encode_column
from tanager.table.read_columns import read_columns
from tanager.table.schema import format_values

Status = Literal["present", "unknown", "unseen", "remainder"]
Model = TableClassifier | AnyModel


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
        return cls(network, tuple(columns), codes, unseen, _possible(log_posterior), rule)

    @property
    def present(self) -> NDArray[np.bool_]:
        """(n_rows, n_attributes), whether the cell is neither unknown nor unseen."""
        present: NDArray[np.bool_] = self.codes < np.array(self.network.n_states[:-1])
        return present

    def contribution(self, row: int, term: Term, log_odds: float) -> Contribution:
        """The words for one term."""
        if len(term) > 1:
            return self._pair_contribution(row, term, log_odds)
        attribute = term[0]
        return Contribution(
            self.network.nodes[attribute],
            self._value(row, attribute),
            self.state(row, attribute),
            tuple(
                (self.network.nodes[parent], self.state(row, parent))
                for parent in self.network.attribute_parents(attribute)
            ),
            self._status(row, attribute),
            log_odds,
            self.rule.name,
        )

    def remainder(self, row: int, log_odds: float) -> tuple[Contribution, ...]:
        """What averaging over the unknown cells of a row adds beyond the terms; () for other rows and rules."""
        if self.rule.rest is None or self.present[row].all():
            return ()
        return (Contribution(self.rule.rest, None, None, (), "remainder", log_odds, self.rule.name),)

    def _pair_contribution(self, row: int, term: Term, log_odds: float) -> Contribution:
        statuses = [self._status(row, attribute) for attribute in term]
        values = [self._value(row, attribute) or "unknown" for attribute in term]
        coarse = [self.network.columns[attribute].coarse for attribute in term]
        codes = [int(self.network.columns[i].coarse_codes[self.codes[row, i]]) for i in term]
        status: Status = "unknown" if "unknown" in statuses else "unseen" if "unseen" in statuses else "present"
        return Contribution(
            self.network.term_name(term),
            None if statuses == ["unknown", "unknown"] else " & ".join(values),
            " & ".join(str(column.states[code]) for column, code in zip(coarse, codes, strict=True))
            if status == "present"
            else None,
            (),
            status,
            log_odds,
            self.rule.name,
            is_pair=True,
        )

    def state(self, row: int, attribute: int) -> str | None:
        code, column = int(self.codes[row, attribute]), self.network.columns[attribute]
        return str(column.states[code]) if code < column.n_states else None

    def _status(self, row: int, attribute: int) -> Status:
        if self.unseen[row, attribute]:
            return "unseen"
        return "present" if self.codes[row, attribute] < self.network.n_states[attribute] else "unknown"

    def _value(self, row: int, attribute: int) -> str | None:
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


def _possible(log_probabilities: NDArray[np.float64]) -> NDArray[np.float64]:
    """Refuse a row that has probability zero whatever its class: there is no decision in it to explain."""
    impossible = np.isnan(log_probabilities).any(axis=1) | (log_probabilities.max(axis=1) == -np.inf)
    if impossible.any():
        raise DataError(f"row {int(impossible.argmax())} has probability zero under the network, whatever its class.")
    return log_probabilities
