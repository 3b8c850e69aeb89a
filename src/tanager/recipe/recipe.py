"""Recipe: the steps that mend a table, in their order, as a value that a file and a model can hold."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, fields, replace
from typing import Any

import pyarrow as pa

from tanager.errors import DataError
from tanager.recipe.steps import STEPS, Drop, Step, is_text, without_texts
from tanager.registry import check_option, list_names, nearest_first
from tanager.table.read_columns import to_arrow


@dataclass(frozen=True)
class Recipe:
    """What is done to a table before a model sees it. `check` proposes one; a model file remembers its own.

    Every step treats a row whatever the others hold, so rows to predict get the codes that they would have in training.

    steps    one for each thing that is mended, in their order
    missing  texts that mean missing in every column of text; "" among them says that "NA" and the like do not
    target   the name of the class column, which a table to predict need not have

    >>> import pandas as pd
    >>> from tanager import check
    >>> prices = [f"{300 * k:,}" for k in range(1, 21)]
    >>> X = pd.DataFrame({"price": prices * 2, "sold": ["yes", "no", "no ", "yes"] * 10})
    >>> recipe = check(X[["price"]], X["sold"]).recipe
    >>> print(recipe)
    price: number (thousands ',', decimal '.')
    sold: merge (texts 'no')
    >>> recipe.apply(X).column("price").to_pylist()[:3]
    [300.0, 600.0, 900.0]
    """

    steps: tuple[Step, ...] = ()
    missing: tuple[str, ...] = ()
    target: str | None = None

    def __bool__(self) -> bool:
        """Whether there is anything to do."""
        return bool(self.steps or self.missing)

    def __str__(self) -> str:
        lines = [f"{step.column}: {step.name}{_options(step)}" for step in self.steps]
        everywhere = [f"every column: missing (texts {', '.join(map(repr, self.missing))})"] * bool(self.missing)
        return "\n".join([*everywhere, *lines]) or "nothing to do"

    @property
    def marks(self) -> bool:
        """Whether "NA" and the like mean missing in columns of numbers."""
        return "" not in self.missing

    @property
    def dropped(self) -> tuple[str, ...]:
        """The columns that are left out."""
        return tuple(step.column for step in self.steps if step.name == Drop.name)

    @property
    def texts(self) -> tuple[str, ...]:
        """The columns whose cells are needed as they are written."""
        return tuple(dict.fromkeys(step.column for step in self.steps if step.name != Drop.name))

    @property
    def changes_cells(self) -> bool:
        """Whether more is done than to leave columns out."""
        return bool(self.texts or any(self.missing))

    def with_options(self, missing: Sequence[str], drop: Sequence[str], target: str | None) -> Recipe:
        """The recipe with more texts that mean missing, more columns to leave out, and the class of a table."""
        known = set(self.dropped)
        drops = tuple(Drop(name) for name in dict.fromkeys(drop) if name not in known)
        return replace(
            self, steps=(*self.steps, *drops), missing=tuple(dict.fromkeys([*self.missing, *missing])), target=target
        )

    def check_columns(self, names: Sequence[str]) -> None:
        """Refuse a recipe that is for a table of other columns."""
        known = set(names)
        absent = [step.column for step in self.steps if step.column not in known]
        if absent:
            raise DataError(
                f"the recipe is for other columns: the data has no {list_names(list(dict.fromkeys(absent)))}; its "
                f"columns, nearest first, are {list_names(nearest_first(absent[0], names))}.",
                hint="`tanager check --fix` writes a recipe for this table.",
            )

    def apply(self, X: Any) -> pa.Table:
        """The table mended: any data frame in, an Arrow table out.

        The class, and columns to leave out, may be absent; any other column of a step must be there.
        """
        table = X if isinstance(X, pa.Table) else to_arrow(X)
        may_lack = {self.target, *self.dropped}
        needed = tuple(step for step in self.steps if step.column not in may_lack)
        replace(self, steps=needed).check_columns(table.column_names)
        texts = [text for text in self.missing if text]
        names = table.column_names
        columns: dict[int, Any] = {
            place: without_texts(column, texts) if texts and is_text(column.type) else column
            for place, column in enumerate(table.columns)
        }
        # By place: of two columns of one name the first is mended, and whoever reads the table refuses both.
        places = {name: place for place, name in reversed(list(enumerate(names)))}
        for step in self.steps:
            place = places.get(step.column, -1)
            if place in columns:
                columns[place] = step.apply(columns[place], self.marks)
                if columns[place] is None:
                    del columns[place]
        return pa.table(list(columns.values()), names=[names[place] for place in columns])

    def to_dict(self) -> dict[str, Any]:
        """As JSON has it."""
        steps = [{"step": step.name, **asdict(step)} for step in self.steps]
        return {"class": self.target, "missing": list(self.missing), "steps": steps}

    @classmethod
    def from_dict(cls, document: object) -> Recipe:
        """The recipe in a JSON document; a DataError says what is wrong with it."""
        match document:
            case {"class": str() | None as target, "missing": list(missing), "steps": list(steps)}:
                return cls(tuple(map(_read_step, steps)), _texts(missing, "missing"), target)
        raise DataError("it has no class, missing and steps")


NOTHING_TO_DO = Recipe()


def _read_step(document: object) -> Step:
    if not isinstance(document, dict) or not isinstance(document.get("column"), str):
        raise DataError(f"a step has no column: {document!r:.80}")
    kind = STEPS[check_option("step", document.get("step"), STEPS)]
    expected = {field.name: field for field in fields(kind)}
    unknown = sorted(set(document) - {"step", *expected})
    if unknown:
        raise DataError(f"step {kind.name!r} of column {document['column']!r} has {list_names(unknown)}")
    options: dict[str, Any] = {}
    for name, value in document.items():
        if name == "step":
            continue
        where = f"{name} of step {kind.name!r}"
        if name in ("texts", "missing"):
            options[name] = _texts(value, where)
        elif type(value) is not (bool if name == "time" else str):
            raise DataError(f"{where} is {value!r:.40}, expected {'true or false' if name == 'time' else 'a text'}")
        else:
            options[name] = value
    try:
        return kind(**options)
    except TypeError:
        raise DataError(f"step {kind.name!r} of column {document['column']!r} is not complete") from None


def _texts(value: object, where: str) -> tuple[str, ...]:
    if not isinstance(value, list) or not all(isinstance(text, str) for text in value):
        raise DataError(f"{where} is {value!r:.40}, expected a list of texts")
    return tuple(value)


def _options(step: Step) -> str:
    values = {name: value for name, value in asdict(step).items() if name != "column" and value not in ((), "", False)}
    words = (
        f"{name} {', '.join(map(repr, value))}" if isinstance(value, tuple | list) else f"{name} {value!r}"
        for name, value in values.items()
    )
    return f" ({', '.join(words)})" if values else ""
