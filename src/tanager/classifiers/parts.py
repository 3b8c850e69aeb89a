"""Parts: the structure learner, criterion and parameter learner of a classifier, and whether they go together."""

from __future__ import annotations

from dataclasses import dataclass

from tanager.classifiers.options import ClassifierOptions
from tanager.errors import OptionError
from tanager.missing.choose import MISSING
from tanager.parameters import PARAMETERS, ParameterLearner
from tanager.registry import check_option, resolve
from tanager.scores import CLL, SCORES, FamilyScore
from tanager.structure import STRUCTURES, StructureLearner
from tanager.table.needs import Needs, Place, check_needs, most_needed

DEFAULT_CRITERION = StructureLearner.default_criterion


@dataclass(frozen=True)
class Parts:
    """What a classifier is put together of; each part declares what it can do, and is asked here.

    criterion  what the structure is chosen by; None where it asks for none
    """

    structure: StructureLearner
    criterion: FamilyScore | CLL | None
    parameters: ParameterLearner

    @classmethod
    def of(cls, options: ClassifierOptions, structure: object) -> Parts:
        """The parts that options name or hold, the structure apart; an error names what cannot be used."""
        missing = check_option("missing", options.missing, MISSING)
        check_option("handle_unknown", options.handle_unknown, ["marginalize", "error"])
        learner = resolve("structure", structure, STRUCTURES, "learn")
        fitter = resolve("parameters", options.parameters, PARAMETERS, "learn")
        if learner.learns not in fitter.fits:
            fitting = next(name for name, make in PARAMETERS.items() if learner.learns in make().fits)
            raise OptionError(
                f"parameters={fitter!r} cannot fit the {learner.learns} of structure={learner!r}.",
                hint=f"use parameters={fitting!r}, or structure='tan'.",
            )
        if learner.learns in ("mixtures", "trees") and missing in ("average", "skip"):
            raise OptionError(
                f"missing={missing!r} is defined for one network; structure={learner!r} is a mixture of them.",
                hint="use missing='auto', which sums a missing cell out of each.",
            )
        return cls(learner, choose_criterion(options.criterion, learner), fitter)

    @property
    def needs(self) -> Needs:
        """What all parts together need of the rows."""
        return most_needed(*(part.needs for part in self._parts().values()))

    def check(self, place: Place) -> None:
        """Refuse a part that needs more of the rows than they can give where they are."""
        for option, part in self._parts().items():
            check_needs(f"{option}={part!r}", part.needs, place)

    def _parts(self) -> dict[str, StructureLearner | FamilyScore | CLL | ParameterLearner]:
        parts = {"structure": self.structure, "criterion": self.criterion, "parameters": self.parameters}
        return {option: part for option, part in parts.items() if part is not None}


def choose_criterion(criterion: object, structure: StructureLearner) -> FamilyScore | CLL | None:
    """The score that `structure` is chosen by; None where it asks for none, and then none may be given."""
    if structure.asks_criterion:
        score = resolve(
            "criterion", structure.default_criterion if criterion is None else criterion, SCORES, "check_options"
        )
        score.check_options()
        return score
    if criterion is None:
        return None
    asking = [repr(name) for name, make in STRUCTURES.items() if make().asks_criterion]
    raise OptionError(
        f"criterion={criterion!r} is given, but the structure {type(structure).__name__}() is chosen without one.",
        hint=f"leave the criterion out, or use a structure that asks for one: {', '.join(asking)}.",
    )
