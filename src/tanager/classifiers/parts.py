"""Parts: the structure learner, criterion and parameter learner of a classifier, and whether they go together."""

from __future__ import annotations

from dataclasses import dataclass

from tanager.errors import OptionError
from tanager.parameters import PARAMETERS, ParameterLearner
from tanager.registry import resolve
from tanager.scores import CLL, SCORES, FamilyScore
from tanager.structure import STRUCTURES, StructureLearner
from tanager.table.needs import Needs, Place, check_needs, most_needed
from tanager.table.schema import TableSchema


@dataclass(frozen=True)
class Parts:
    """What a classifier is put together of; each part declares what it can do, and is asked here."""

    structure: StructureLearner
    criterion: FamilyScore | CLL
    parameters: ParameterLearner

    @classmethod
    def of(cls, structure: object, criterion: object, parameters: object) -> Parts:
        """Parts by name or as objects; an error says which cannot be used."""
        score = resolve("score", criterion, SCORES, "check_options")
        score.check_options()
        parts = cls(
            resolve("structure", structure, STRUCTURES, "learn"),
            score,
            resolve("parameters", parameters, PARAMETERS, "learn"),
        )
        if parts.structure.learns not in parts.parameters.fits:
            raise OptionError(
                f"parameters={parts.parameters!r} cannot fit the {parts.structure.learns} of "
                f"structure={parts.structure!r}.",
                hint="use parameters='conditional', or structure='tan'.",
            )
        return parts

    @property
    def two_granularities(self) -> bool:
        """Whether numeric columns are wanted at two: sums of effects are smooth, so that they can be fine."""
        return self.structure.learns == "effects"

    def order(self, schema: TableSchema) -> tuple[int, ...]:
        """The columns of a table in the order in which they are worked on."""
        return schema.learning_order if self.structure.learns == "effects" else tuple(range(len(schema.attributes)))

    @property
    def needs(self) -> Needs:
        """What all parts together need of the rows."""
        return most_needed(self.structure.needs, self.criterion.needs, self.parameters.needs)

    def check(self, place: Place) -> None:
        """Refuse a part that needs more of the rows than they can give where they are."""
        check_needs(f"structure={self.structure!r}", self.structure.needs, place)
        check_needs(f"score={self.criterion!r}", self.criterion.needs, place)
        check_needs(f"parameters={self.parameters!r}", self.parameters.needs, place)
