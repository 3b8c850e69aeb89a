"""Edit and Edits: corrections of a model, as values."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Literal

import numpy as np

from tanager.additive.model import AdditiveModel
from tanager.errors import OptionError
from tanager.metrics import Quality
from tanager.missing.rule import MissingRule
from tanager.table.schema import Category
from tanager.uncertainty.posterior import AnyPosterior

What = Literal["flatten", "monotone", "remove"]
Direction = Literal["increasing", "decreasing"]
Bound = float | str | None
DIRECTIONS: tuple[Direction, ...] = ("increasing", "decreasing")
WHATS: tuple[What, ...] = ("flatten", "monotone", "remove")
LONGEST_TEXT = 2_000


@dataclass(frozen=True)
class Edit:
    """One correction; `flatten`, `monotone` and `remove` make them.

    Parameters
    ----------
    what : "flatten", "monotone" or "remove"
        The kind of correction.
    attributes : tuple of str
        One, or the two of a pair to remove.
    reason : str
        Why: nobody may change a model without one.
    who : str
        By whom.
    when : str
        The time, as ISO 8601 has it; `apply_edits` fills in an empty one.
    start : float, str or None
        The stretch of a curve is start <= x < end: numbers, or the text of dates; None for no end.
    end : float, str or None
        See `start`.
    states : tuple
        The categories of a stretch.
    direction : "increasing", "decreasing" or None
        Of a monotone curve.
    of : class or None
        The class whose log odds are made monotone; None for the second of two.

    Examples
    --------
    >>> print(Edit("remove", ("race",), reason="must not matter"))
    remove race: must not matter
    >>> print(Edit.flatten("age", 70, reason="few rows", who="A. Nurse"))
    flatten age from 70: few rows (A. Nurse)
    """

    what: What
    attributes: tuple[str, ...]
    reason: str
    who: str = ""
    when: str = ""
    start: Bound = None
    end: Bound = None
    states: tuple[Category, ...] = ()
    direction: Direction | None = None
    of: Category | None = None

    def __post_init__(self) -> None:
        if not self.reason.strip():
            raise OptionError(f"the edit {self.where!r} has no reason.", hint="say why: reason='...'.")
        if max(map(len, (self.reason, self.who, self.when))) > LONGEST_TEXT:
            raise OptionError(f"reason, name and time of an edit have at most {LONGEST_TEXT:,} characters each.")

    @classmethod
    def flatten(
        cls,
        attribute: str,
        start: Bound = None,
        end: Bound = None,
        *,
        reason: str,
        states: tuple[Category, ...] | list[Category] = (),
        who: str = "",
    ) -> Edit:
        """One value on a stretch of a curve, start <= x < end, or for some categories: the mean over their rows."""
        return cls("flatten", (attribute,), reason, who, start=start, end=end, states=tuple(states))

    @classmethod
    def monotone(
        cls,
        attribute: str,
        direction: Direction,
        *,
        reason: str,
        of: Category | None = None,
        start: Bound = None,
        end: Bound = None,
        who: str = "",
    ) -> Edit:
        """A curve, or a stretch of it, that only rises or only falls in the log odds of a class, changed least."""
        return cls("monotone", (attribute,), reason, who, start=start, end=end, direction=direction, of=of)

    @classmethod
    def remove(cls, attribute: str, partner: str | None = None, *, reason: str, who: str = "") -> Edit:
        """No effect of an attribute, nor of any pair or tree with it; with a partner, no effect of that pair."""
        return cls("remove", (attribute,) if partner is None else (attribute, partner), reason, who)

    @property
    def where(self) -> str:
        """ "flatten age from 30 to 50", "make age increasing", "remove age & sex"."""
        name = " & ".join(self.attributes)
        if self.what == "remove":
            return f"remove {name}"
        ends = [f"{word} {bound}" for word, bound in (("from", self.start), ("to", self.end)) if bound is not None]
        stretch = f" for {', '.join(map(str, self.states))}" if self.states else f" {' '.join(ends)}" if ends else ""
        if self.what == "flatten":
            return f"flatten {name}{stretch}"
        of = "" if self.of is None else f" for {self.of}"
        return f"make {name} {self.direction}{of}{stretch}"

    def __str__(self) -> str:
        signature = ", ".join(filter(None, (self.who, self.when)))
        return f"{self.where}: {self.reason}" + (f" ({signature})" if signature else "")


@dataclass(frozen=True)
class Edits:
    """Corrections in their order, and the model they were made for.

    Parameters
    ----------
    edits : tuple of Edit
        At least one.
    model : str
        The digest of the model (`model_digest`), which a page of `report` fills in; empty for any model.
    """

    edits: tuple[Edit, ...]
    model: str = ""

    def __post_init__(self) -> None:
        if not self.edits:
            raise OptionError("there is no edit to apply.")

    def __iter__(self) -> Iterator[Edit]:
        return iter(self.edits)

    def __len__(self) -> int:
        return len(self.edits)

    def signed(self, who: str = "") -> Edits:
        """Each with a name, where it has none, and a time: now."""
        now = datetime.now(UTC).isoformat(timespec="seconds")
        return replace(
            self, edits=tuple(replace(edit, who=edit.who or who, when=edit.when or now) for edit in self.edits)
        )

    def __str__(self) -> str:
        return "\n".join(map(str, self.edits))


@dataclass(frozen=True)
class Revision:
    """Edits, and what the classifier was before them: model, rule about missing cells, quality, posterior.

    `refitted`: the intercept was fitted again too.
    """

    edits: Edits
    model: AdditiveModel
    missing_rule: MissingRule
    quality: Quality | None
    posterior: AnyPosterior | None = None
    refitted: bool = False

    def __str__(self) -> str:
        return f"{self.edits}\nThe intercept was fitted again." if self.refitted else str(self.edits)


def model_digest(model: AdditiveModel) -> str:
    """SHA-256 of the columns and effects of an additive model, by which edits know their model."""
    digest = hashlib.sha256(repr([(column.name, column.states) for column in model.columns]).encode())
    digest.update(repr(model.pairs).encode())
    for array in (model.intercept, *model.mains, *model.tables):
        digest.update(np.ascontiguousarray(array, dtype="<f8").tobytes())
    if (forest := model.forest) is not None:
        for tree_array in (forest.roots, forest.of_class, forest.attributes, forest.ends, forest.left, forest.values):
            digest.update(np.ascontiguousarray(tree_array, dtype="<f8").tobytes())
    return digest.hexdigest()
