"""Program: a fitted classifier as another language writes it: columns become codes, codes look numbers up."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from math import prod
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from tanager.additive.forest import Forest
from tanager.arrays import Array
from tanager.check.preprocessing import Missing, Recipe
from tanager.decide import Decision
from tanager.errors import OptionError
from tanager.registry import list_names, nearest_first
from tanager.table.columns import as_number
from tanager.table.schema import Category, ColumnSchema

if TYPE_CHECKING:
    from tanager.additive.model import AdditiveModel, LookedUpModel
    from tanager.classifiers.base import TableClassifier
    from tanager.network.network import Network

MissingRule = Literal["looked up", "summed out", "averaged", "refused"]
REFUSED = -1
HOLDS = {"number": "numbers", "date": "dates", "datetime": "times", "duration": "durations"}


@dataclass(frozen=True)
class Cells:
    """What the cells of a column count as: each has a code, its state; that of -1 refuses the row.

    missing  the code of a missing cell
    unseen   the code of a category that training did not have
    codes    the code of each category as cells have it, text or a number (of dates and times the microseconds since
             1970), then of each text that the preprocessing takes as missing; none where numbers are cut into bins
    """

    column: ColumnSchema
    missing: int
    unseen: int
    codes: dict[str | float, int]

    @property
    def is_text(self) -> bool:
        """Whether the categories are text; all other cells are numbers."""
        return bool(self.column.categories) and isinstance(self.column.categories[0], str)

    @property
    def keys(self) -> tuple[str | float, ...]:
        """The categories as cells have them."""
        return tuple(self.codes)[: len(self.column.categories)]

    @property
    def holds(self) -> str:
        """The type of the cells, in a word."""
        if self.column.kind == "numeric":
            return HOLDS[self.column.unit]
        match self.column.categories[:1]:
            case ():
                return "nothing"
            case (bool(),):
                return "booleans"
            case (str(),):
                return "text"
            case (int() | float(),):
                return "numbers"
            case _:
                return "dates"


@dataclass(frozen=True)
class Term:
    """An addend of each class's sum, looked up by the codes of some attributes.

    attributes  their numbers; where there are several, their codes are coarse ones (`ColumnSchema.coarse_codes`)
    table       (codes of each attribute ..., classes)
    child       the attribute, if one, whose probability given the others and the class this is the logarithm of
    """

    attributes: tuple[int, ...]
    table: Array
    child: int | None = None

    @property
    def steps(self) -> list[int]:
        """The stride of each attribute in the flat table."""
        return [prod(self.table.shape[k + 1 :]) for k in range(len(self.attributes))]


@dataclass(frozen=True)
class DecisionRule:
    """Decided is the option with the least sum over c of P(c) losses[c][k], the first of equal ones.

    losses     (classes, options); the option after the classes, if there is one, is to ask a person
    price      what that costs whatever the class is; None where nobody is asked
    positive   the class, if one, that is decided for where its probability is at least the `threshold`, and else never
    """

    losses: tuple[tuple[float, ...], ...]
    price: float | None = None
    positive: int | None = None
    threshold: float = 0.0

    @classmethod
    def of(cls, decision: Decision) -> DecisionRule:
        numbers = decision.to_dict()
        if "threshold" in numbers:
            minus_one = tuple(map(tuple, (-np.eye(len(decision.classes))).tolist()))
            return cls(minus_one, None, *(numbers[name] for name in ("positive", "threshold")))  # type: ignore[arg-type]
        return cls(decision.cost_table, decision.price)


# What an option counts as where a threshold decides: expected losses are from -1 to 0 then.
TAKEN, LEFT_OUT = -2.0, 2.0


@dataclass(frozen=True)
class Program:
    """P(class | row) = softmax(intercept + sum of terms + what the forest adds), of codes of raw values.

    columns         the attributes that are asked for, then `n_hidden` that are nodes only, missing in every row
    target          the class; its categories are the labels
    missing_rule    what becomes of a row with a missing value, whose code is the number of states:
                    "looked up": every table has an entry for it, the last
                    "summed out": of the product of the tables, exp(sum)
                    "averaged": over the values that the imputation model gives (`tanager.missing.average`)
                    "refused": the row has no probabilities; a state of its own for missing values is no unknown cell
    imputation      constants of the rule that averages (`MissingRule.constants`)
    unseen_refused  whether a category unseen in training refuses the row, too
    missing_texts   for each column whose texts the preprocessing changes, the texts that it takes as missing
    decision        how the class given is decided; None for the first of the most probable ones
    """

    columns: tuple[ColumnSchema, ...]
    n_hidden: int
    target: ColumnSchema
    intercept: Array
    terms: tuple[Term, ...]
    forest: Forest | None
    missing_rule: MissingRule
    imputation: Mapping[str, Any] | None
    unseen_refused: bool
    missing_texts: Mapping[str, tuple[str, ...]]
    decision: Decision | None = None

    @classmethod
    def of(cls, clf: TableClassifier, rename: Mapping[str, str] | None = None) -> Program:
        """The program of a fitted classifier, with its rule for missing values."""
        network = _one_model(clf)
        constants, columns = clf.missing_rule_.constants(), network.columns[:-1]
        missing_rule: MissingRule = "averaged" if "imputation" in constants else "summed out"
        if network.kind == "effects":
            missing_rule = "averaged" if "imputation" in constants else "looked up"
            intercept, terms = network.intercept, _effects(network, missing_rule == "looked up")
        else:
            target = len(columns)
            linked = any(parent != target for parents in network.dag.parents for parent in parents)
            if missing_rule == "summed out" and ("means" in constants or not linked):
                missing_rule = "looked up"
            means = constants.get("means", np.zeros((len(columns), network.n_states[-1])))
            intercept, terms = _tables(network, means if missing_rule == "looked up" else None)
        renamed = _rename(columns, rename or {})
        program = cls(
            renamed,
            len(columns) - len(clf.encoder_.schema.attributes),
            network.columns[-1],
            intercept,
            terms,
            network.forest if network.kind == "effects" else None,
            missing_rule,
            constants.get("imputation"),
            clf.encoder_.unseen_is_error,
            _missing_texts(clf.recipe_, columns, [column.name for column in renamed]),
            clf.decision_,
        )
        return program._without_idle_columns() if missing_rule == "looked up" else program

    def refusing(self, language: str) -> Program:
        """The program for a language that cannot express its rule: a row with an unknown cell has no probabilities."""
        if self.n_hidden:
            raise OptionError(
                f"the model has hidden nodes, which are missing in every row ({self.columns[-1].name!r}, say), and "
                f"{language} cannot sum them out.",
                hint="python and js can.",
            )
        return replace(self, missing_rule="refused", imputation=None)._without_idle_columns()

    @cached_property
    def labels(self) -> tuple[Category, ...]:
        return self.target.categories

    @cached_property
    def rule(self) -> DecisionRule | None:
        return None if self.decision is None else DecisionRule.of(self.decision)

    @property
    def n_classes(self) -> int:
        return len(self.intercept)

    @property
    def asked(self) -> tuple[ColumnSchema, ...]:
        """The columns that a row must have."""
        return self.columns[: len(self.columns) - self.n_hidden]

    @property
    def asked_cells(self) -> tuple[Cells, ...]:
        """The cells that a row must have."""
        return self.cells[: len(self.asked)]

    @cached_property
    def cells(self) -> tuple[Cells, ...]:
        """Those of all columns, the hidden ones last."""
        return tuple(map(self.cells_of, self.columns))

    def cells_of(self, column: ColumnSchema) -> Cells:
        """Where the preprocessing changes texts, an unseen one might be another spelling of a known category."""
        refusing = self.missing_rule == "refused"
        missing = REFUSED if refusing and column.empty_code == column.missing_code else column.empty_code
        refusing = refusing or self.unseen_refused or column.name in self.missing_texts
        keys = (each if isinstance(each, str) else as_number(each) for each in column.categories)
        cells = Cells(column, missing, REFUSED if refusing else column.missing_code, {k: c for c, k in enumerate(keys)})
        texts = self.missing_texts.get(column.name, ()) if cells.is_text else ()
        return replace(cells, codes=cells.codes | {text: missing for text in texts if text not in cells.codes})

    def _without_idle_columns(self) -> Program:
        """Only averaging and summing out look at cells that no number depends on; a model of none keeps a column.

        That column is what ONNX counts rows by.
        """
        used = {attribute for term in self.terms for attribute in term.attributes}
        if self.forest is not None:
            used.update(self.forest.attributes.tolist())
        kept = sorted(used) or [0]
        place = np.zeros(len(self.columns), dtype=np.int64)
        place[kept] = np.arange(len(kept))
        moved = (
            replace(
                term,
                attributes=tuple(place[list(term.attributes)].tolist()),
                child=None if term.child is None else int(place[term.child]),
            )
            for term in self.terms
        )
        return replace(
            self,
            columns=tuple(self.columns[attribute] for attribute in kept),
            terms=tuple(moved),
            forest=None if self.forest is None else self.forest.with_attributes(place),
        )


def _effects(network: AdditiveModel, with_missing: bool) -> tuple[Term, ...]:
    """The effects that are not zero, with or without the entries of missing cells."""
    end = None if with_missing else -1
    mains = [Term((attribute,), main[:end]) for attribute, main in enumerate(network.mains)]
    pairs = [Term(pair, table[:end, :end]) for pair, table in zip(network.pairs, network.tables, strict=True)]
    return tuple(term for term in (*mains, *pairs) if term.table.any())


def _tables(network: Network, means: Array | None) -> tuple[Array, tuple[Term, ...]]:
    """The logarithms of the tables, children before parents; with `means` these are the entries of missing cells."""
    n_states, logs, target = network.n_states, network.log_joint, len(network.columns) - 1
    intercept, terms = np.zeros(n_states[-1]), []
    for node in reversed(network.dag.order):
        attributes = tuple(member for member in network.dag.families[node].nodes if member != target)
        shape = [n_states[attribute] for attribute in attributes]
        first = int(logs.offsets[node])
        table = logs.tables[first : first + prod(shape)].reshape(*shape, n_states[-1])
        if not attributes:
            intercept = table
            continue
        if means is not None:
            whole = np.empty([*(n + 1 for n in shape), n_states[-1]])
            whole[...] = means[node]
            whole[tuple(slice(n) for n in shape)] = table
            table = whole
        terms.append(Term(attributes, table, None if node == target else node))
    return intercept, tuple(terms)


def _rename(columns: Sequence[ColumnSchema], names: Mapping[str, str]) -> tuple[ColumnSchema, ...]:
    known = [column.name for column in columns]
    for name in names:
        if name not in known:
            nearest = list_names(nearest_first(name, known)[:5])
            raise OptionError(f"rename has {name!r}, which is no column of the model; the nearest are {nearest}.")
    renamed = tuple(replace(column, name=names.get(column.name, column.name)) for column in columns)
    if len({column.name for column in renamed}) < len(renamed):
        raise OptionError("rename gives two columns the same name.", hint="every column needs a name of its own.")
    return renamed


def _one_model(clf: TableClassifier) -> LookedUpModel:
    """The model, if it is a single one."""
    model = clf.model_
    if model.kind == "trees" or model.kind == "mixtures":
        raise OptionError(
            "the classifier is a mean of networks, and an export holds one.",
            hint="structure='tan' learns one network; save_model keeps any classifier.",
        )
    return model


def _missing_texts(recipe: Recipe, columns: Sequence[ColumnSchema], names: Sequence[str]) -> dict[str, tuple[str, ...]]:
    """By the name of each column whose texts a recipe changes: the texts that it takes as missing."""
    found = {}
    for column, name in zip(columns, names, strict=True):
        steps = [step for step in recipe.steps if step.column == column.name]
        texts = [text for step in steps if isinstance(step, Missing) for text in step.texts]
        if steps or any(recipe.missing):
            found[name] = tuple(text for text in dict.fromkeys([*recipe.missing, *texts]) if text)
    return found
