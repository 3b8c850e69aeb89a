"""The criterion of a structure search: the score that a user asked for, or the default."""

from __future__ import annotations

from tanager.errors import OptionError
from tanager.registry import resolve
from tanager.scores import CLL, SCORES, FamilyScore
from tanager.structure import STRUCTURES, StructureLearner

DEFAULT_CRITERION = "fcll"


def choose_criterion(
    criterion: str | FamilyScore | CLL | None, structure: StructureLearner
) -> FamilyScore | CLL | None:
    """The score that `structure` is chosen by; None where it asks for none, and then none may be given."""
    if structure.asks_criterion:
        score = resolve("criterion", DEFAULT_CRITERION if criterion is None else criterion, SCORES, "check_options")
        score.check_options()
        return score
    if criterion is None:
        return None
    asking = [repr(name) for name, make in STRUCTURES.items() if make().asks_criterion]
    raise OptionError(
        f"criterion={criterion!r} is given, but the structure {type(structure).__name__}() is chosen without one.",
        hint=f"leave the criterion out, or use a structure that asks for one: {', '.join(asking)}.",
    )
