"""Program: a fitted classifier as another language writes it: columns become codes, codes look numbers up."""

from __future__ import annotations

import datetime
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from math import prod
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from tanager.additive.forest import Forest
from tanager.arrays import Array
from tanager.check.preprocessing import Date, Missing, Number, Recipe, Step
from tanager.check.text_values import parse_number
from tanager.decide import Decision
from tanager.errors import OptionError
from tanager.registry import list_names, nearest_first
from tanager.table.columns import as_number
from tanager.table.read_columns import check_unicode
from tanager.table.schema import Category, ColumnSchema

if TYPE_CHECKING:
    from tanager.additive.model import AdditiveModel, LookedUpModel
    from tanager.classifiers.base import TableClassifier
    from tanager.network.network import Network

MissingRule = Literal["looked up", "summed out", "averaged", "refused"]
REFUSED = -1
FIXED_TABLE = (
    "`tanager check DATA --recipe RECIPE --fixed fixed.parquet` writes the table after the recipe; "
    "a model fitted to that table exports."
)
ZONED = "times with a zone"
HOLDS = {"number": "numbers", "date": "dates", "datetime": "times", "zoned": ZONED, "duration": "durations"}


@dataclass(frozen=True)
class Cells:
    """What the cells of a column count as: each has a code, its state; that of -1 refuses the row.

    missing  the code of a missing cell
    unseen   the code of a category that training did not have
    codes    the code of each category as cells have it, text or a number (of dates and times the microseconds since
             1970), then of each cell that the preprocessing takes as missing; any other cell of a numeric column has
             the code of its bin
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
    def holds(self) -> str:
        """The type of the cells, in a word."""
        return type_of(self.column)


def type_of(column: ColumnSchema) -> str:
    """The type of the cells of a column, in a word."""
    if column.kind == "numeric":
        return HOLDS[column.unit]
    match column.categories[:1]:
        case ():
            return "nothing"
        case (bool(),):
            return "booleans"
        case (str(),):
            return "text"
        case (int() | float(),):
            return HOLDS[column.unit]
        case (datetime.datetime(tzinfo=datetime.tzinfo()),):
            return ZONED
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

    columns         the attributes
    target          the class; its categories are the labels
    missing_rule    what becomes of a row with a missing value, whose code is the number of states:
                    "looked up": every table has an entry for it, the last
                    "summed out": of the product of the tables, exp(sum)
                    "averaged": over the values that the imputation model gives (`tanager.missing.average`)
                    "refused": the row has no probabilities; a state of its own for missing values is no unknown cell
    imputation      constants of the rule that averages (`MissingRule.constants`)
    unseen_refused  whether a category unseen in training refuses the row, too
    missing_cells   for each column that the preprocessing changes, the cells that it takes as missing
    decision        how the class given is decided; None for the first of the most probable ones
    """

    columns: tuple[ColumnSchema, ...]
    target: ColumnSchema
    intercept: Array
    terms: tuple[Term, ...]
    forest: Forest | None
    missing_rule: MissingRule
    imputation: Mapping[str, Any] | None
    unseen_refused: bool
    missing_cells: Mapping[str, tuple[str | float, ...]]
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
            network.columns[-1],
            intercept,
            terms,
            network.forest if network.kind == "effects" else None,
            missing_rule,
            constants.get("imputation"),
            clf.encoder_.unseen_is_error,
            _missing_cells(clf.recipe_, columns, [column.name for column in renamed]),
            clf.decision_,
        )
        return program._without_idle_columns() if missing_rule == "looked up" else program

    def refusing(self) -> Program:
        """The program for a language that cannot express its rule: a row with an unknown cell has no probabilities."""
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

    @cached_property
    def cells(self) -> tuple[Cells, ...]:
        return tuple(map(self.cells_of, self.columns))

    def cells_of(self, column: ColumnSchema) -> Cells:
        """Where the preprocessing changes texts, an unseen one might be another spelling of a known category."""
        refusing = self.missing_rule == "refused"
        missing = REFUSED if refusing and column.empty_code == column.missing_code else column.empty_code
        refusing = refusing or self.unseen_refused or column.name in self.missing_cells
        keys = (each if isinstance(each, str) else as_number(each) for each in column.categories)
        codes = {key: code for code, key in enumerate(keys)}
        codes |= dict.fromkeys(self.missing_cells.get(column.name, ()), missing)
        return Cells(column, missing, REFUSED if refusing else column.missing_code, codes)

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


def _rename(columns: Sequence[ColumnSchema], names: object) -> tuple[ColumnSchema, ...]:
    known = [column.name for column in columns]
    if not isinstance(names, Mapping) or not all(isinstance(name, str) for name in names.values()):
        raise OptionError(f"rename={names!r} is not valid; expected a mapping from columns to names.")
    for name in names:
        if name not in known:
            nearest = list_names(nearest_first(name, known)[:5])
            raise OptionError(f"rename has {name!r}, which is no column of the model; the nearest are {nearest}.")
    for name in names.values():
        check_unicode(name, "rename gives the name")
    renamed = tuple(replace(column, name=names.get(column.name, column.name)) for column in columns)
    if len({column.name for column in renamed}) < len(renamed):
        raise OptionError("rename gives two columns the same name.", hint="every column needs a name of its own.")
    return renamed


def _one_model(clf: TableClassifier) -> LookedUpModel:
    """The model, if it is a single one whose nodes are all columns."""
    model = clf.model_
    if len(model.columns) - 1 > len(clf.encoder_.schema.attributes):
        raise OptionError(
            f"the network has hidden nodes, {model.columns[-2].name!r} for example, which no export sums out.",
            hint="save_model keeps any classifier.",
        )
    if model.kind == "trees" or model.kind == "mixtures":
        raise OptionError(
            "the classifier is a mean of networks, and an export holds one.",
            hint="structure='tan' learns one network; save_model keeps any classifier.",
        )
    return model


def _missing_cells(
    recipe: Recipe, columns: Sequence[ColumnSchema], names: Sequence[str]
) -> dict[str, tuple[str | float, ...]]:
    """By the name of each column that a recipe changes: the cells, texts or numbers, that it takes as missing."""
    missing = {}
    for column, name in zip(columns, names, strict=True):
        steps = [step for step in recipe.steps if step.column == column.name]
        texts = [*recipe.missing, *(text for step in steps for text in _texts_of(step))]
        if steps or any(recipe.missing):
            cells = (_as_cell(text, type_of(column)) for text in dict.fromkeys(texts) if text)
            missing[name] = tuple(cell for cell in cells if cell is not None)
            if both := [cell for cell in missing[name] if cell in column.categories]:
                raise OptionError(
                    f"the recipe takes {both[0]!r} in column {column.name!r} as missing, and makes it of other cells.",
                    hint=FIXED_TABLE,
                )
    return missing


def _texts_of(step: Step) -> tuple[str, ...]:
    """The texts that a step takes as missing. One that reads a cell as another number or date is refused."""
    plain = isinstance(step, Number) and (step.thousands, step.decimal, step.unit) == ("", ".", "")
    if isinstance(step, Date) or (isinstance(step, Number) and not plain):
        raise OptionError(
            f"the recipe of the model reads {step.name}s from texts in column {step.column!r}, which no export does.",
            hint=FIXED_TABLE,
        )
    return step.texts if isinstance(step, Missing) else step.missing if isinstance(step, Number) else ()


def _as_cell(text: str, holds: str) -> str | float | None:
    """The cell that is written so, in a column of what it holds; None where there is none."""
    if holds in ("dates", "times", ZONED):
        try:
            moment = datetime.datetime.fromisoformat(text)
        except ValueError:
            return None
        return as_number(moment) if (moment.tzinfo is None) == (holds != ZONED) else None
    return text if holds == "text" else parse_number(text) if holds == "numbers" else None
