"""Every registered structure with every parameter learner that fits what it learns."""

from __future__ import annotations

from itertools import product

from tanager.parameters import PARAMETERS
from tanager.structure import STRUCTURES

FITTING = {
    structure: next(name for name in ("conditional", "frequency") if make().learns in PARAMETERS[name]().fits)
    for structure, make in STRUCTURES.items()
}
"""Of each structure a parameter learner that fits it."""
PARTS = [
    (structure, parameters)
    for structure, parameters in product(STRUCTURES, PARAMETERS)
    if STRUCTURES[structure]().learns in PARAMETERS[parameters]().fits
    and (not PARAMETERS[parameters].naive_bayes_only or structure == "naive-bayes")
]
