"""What a part needs of the rows it learns from, where rows may be, and what they can give there."""

from __future__ import annotations

from typing import Literal

from tanager.errors import OptionError

Needs = Literal["families", "pairs", "counts", "passes", "order", "memory"]
"""From little to much:

families  counts of the structure's own families
pairs     counts of two attributes with the class
counts    counts of any families
passes    sums over the rows, as often as it likes (`Rows.sum`, `Rows.prepare`)
order     the rows one after the other, in their order
memory    all rows in memory at once
"""
Place = Literal["memory", "disk", "cluster"]

LEVELS: tuple[Needs, ...] = ("families", "pairs", "counts", "passes", "order", "memory")
GIVES: dict[Place, Needs] = {"memory": "memory", "disk": "order", "cluster": "passes"}
TABLE: dict[Place, str] = {
    "memory": "the table is in memory",
    "disk": "the table comes batch by batch",
    "cluster": "the table is spread over the workers of a cluster",
}
WANTS: dict[Needs, str] = {
    "order": "goes through the rows one after the other, in their order",
    "memory": "needs all rows in memory at once",
}


def most_needed(*needs: Needs) -> Needs:
    """The greatest of several needs."""
    return max(needs, key=LEVELS.index)


def exceeds(needs: Needs, other: Needs) -> bool:
    """Whether a need is greater than another."""
    return LEVELS.index(needs) > LEVELS.index(other)


def check_needs(part: str, needs: Needs, place: Place) -> None:
    """Refuse a part, as the user wrote it, that needs more than rows can give where they are."""
    if exceeds(needs, GIVES[place]):
        raise OptionError(
            f"{part} {WANTS[needs]}, and {TABLE[place]}.",
            hint="read the table, or a sample of it, into memory, or use parameters='conditional'.",
        )
