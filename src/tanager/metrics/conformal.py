"""Conformal sets: the classes a row may have, so that the true one is missing no more often than asked for."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import ceil

import numpy as np
from numpy.typing import NDArray

from tanager.errors import OptionError
from tanager.metrics.basic import Probabilities

TIE = 1e-12
"""Probabilities and p-values nearer than this are equal, so that rounding leaves no class out."""


@dataclass(frozen=True)
class KnownRows:
    """What a model said of rows it had not learnt from, by class.

    probabilities  for each class P(class | row) of the rows that have it, ascending
    repeats        (n_classes,) how often each of these rows was judged
    """

    probabilities: tuple[NDArray[np.float64], ...]
    repeats: NDArray[np.float64]

    @classmethod
    def of(
        cls, probabilities: Probabilities, class_codes: NDArray[np.integer], repeats: NDArray[np.float64] | None = None
    ) -> KnownRows:
        n_classes = probabilities.shape[1]
        by_class = tuple(np.sort(probabilities[class_codes == code, code]) for code in range(n_classes))
        return cls(by_class, np.ones(n_classes) if repeats is None else repeats)

    @property
    def n_rows(self) -> NDArray[np.float64]:
        """(n_classes,)"""
        return np.array([len(own) for own in self.probabilities]) / self.repeats

    def at_most(self, probabilities: Probabilities) -> NDArray[np.float64]:
        """(n_rows, n_classes) how many known rows of each class have at most the probability that the new row has."""
        reached = probabilities + TIE
        places = [np.searchsorted(own, reached[:, code], "right") for code, own in enumerate(self.probabilities)]
        return np.column_stack(places) / self.repeats


@dataclass(frozen=True)
class ConformalSets:
    r"""For every row the classes whose p-value is above 1 - level.

    p_c(x) = (1 + #{known rows of class c with P(c | row) <= P(c | x)}) / (1 + #{known rows of class c}): how unusual a
    row of class c the new one would be (Vovk, Gammerman and Shafer 2005, by class: "Mondrian"). If the known rows and
    the new one are exchangeable, and the model has learnt from neither, P(p_c <= a | class c) <= a: of the rows of
    every class at least the share `level` have their class in their set. Ties count against leaving a class out.

    A set of one class is an answer, of several "not sure which", and the empty set "unlike the rows of any class".

    classes       (n_classes,) the labels
    level         share of the rows of every class whose set is to hold it
    p_values      (n_rows, n_classes)
    n_rows_known  (n_classes,) known rows of each class
    """

    classes: NDArray[np.generic]
    level: float
    p_values: NDArray[np.float64]
    n_rows_known: NDArray[np.float64]

    def __post_init__(self) -> None:
        check_level(self.level)

    @property
    def members(self) -> NDArray[np.bool_]:
        """(n_rows, n_classes) whether the set holds the class."""
        inside: NDArray[np.bool_] = self.p_values > 1.0 - self.level + TIE
        return inside

    @property
    def sizes(self) -> NDArray[np.intp]:
        """(n_rows,) how many classes each set holds."""
        return np.count_nonzero(self.members, axis=1)

    @property
    def labels(self) -> list[tuple[object, ...]]:
        """The classes in each set."""
        names = self.classes.tolist()
        return [tuple(name for name, held in zip(names, row, strict=True) if held) for row in self.members.tolist()]

    @property
    def uncertified(self) -> tuple[object, ...]:
        """The classes of which too few rows are known to leave them out at this level: they are in every set."""
        return tuple(self.classes[uncertified(self.n_rows_known, self.level)].tolist())

    def at(self, level: float) -> ConformalSets:
        """The sets of the same rows at another level; they nest."""
        return replace(self, level=level)

    def __len__(self) -> int:
        return len(self.p_values)

    def __str__(self) -> str:
        sizes = np.bincount(self.sizes, minlength=2)
        words = [f"{n:,} with {size} classes" for size, n in enumerate(sizes.tolist()) if size > 1 and n]
        lines = [f"{self.level:.6g} sets of {len(self):,} rows: " + ", ".join([f"{sizes[1]:,} with one class", *words])]
        lines[0] += f", {sizes[0]:,} empty"
        if note := uncertified_note(self.uncertified, self.level):
            lines.append(note)
        return "\n".join(lines)


def uncertified(n_rows: NDArray[np.float64], level: float) -> NDArray[np.bool_]:
    """(n_classes,) whether so few rows of a class are known that its p-value is always above 1 - level."""
    always: NDArray[np.bool_] = 1.0 / (1.0 + n_rows) > 1.0 - level + TIE
    return always


def needed_rows(level: float) -> int:
    """The least n with 1 / (n + 1) <= 1 - level."""
    return ceil(1.0 / (1.0 - level) - 1.0 - 1e-9)


def uncertified_note(classes: Sequence[object], level: float) -> str:
    """What to say of classes that are in every set; nothing where there are none."""
    if not classes:
        return ""
    names = ", ".join(repr(str(label)) for label in classes)
    return f"in every set: {names}, of which fewer than {needed_rows(level):,} rows are known"


def check_level(level: float) -> float:
    """The share, if it is one that sets can have."""
    if not 0.0 < level < 1.0:
        raise OptionError(f"level={level!r} is no share of rows; expected a number above 0 and below 1, such as 0.95.")
    return float(level)


def make_sets(
    known: Sequence[KnownRows], probabilities: Sequence[Probabilities], classes: NDArray[np.generic], level: float
) -> ConformalSets:
    """The sets of new rows, of which each model that has judged known rows gives its own (n_rows, n_classes).

    With several models this is the cross-conformal p-value, in which the new row is compared with the rows of each fold
    by the model of the others (Vovk 2015).
    """
    n_rows = np.sum([each.n_rows for each in known], axis=0)
    at_most = np.sum([each.at_most(said) for each, said in zip(known, probabilities, strict=True)], axis=0)
    return ConformalSets(classes, check_level(level), (1.0 + at_most) / (1.0 + n_rows), n_rows)
