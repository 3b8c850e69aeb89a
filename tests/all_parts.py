"""Every registered structure with every parameter learner that fits what it learns."""

from __future__ import annotations

from itertools import product

from tanager.parameters import PARAMETERS
from tanager.structure import STRUCTURES

PARTS = [
    (structure, parameters)
    for structure, parameters in product(STRUCTURES, PARAMETERS)
    if STRUCTURES[structure]().learns in PARAMETERS[parameters]().fits
    and (parameters != "pruned" or structure == "naive-bayes")
]
