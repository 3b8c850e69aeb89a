"""Every registered structure with every parameter learner that fits what it learns, and the additive model."""

from __future__ import annotations

from itertools import product

from tanager import AdditiveClassifier, BayesianNetworkClassifier
from tanager.classifiers.base import TableClassifier
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
ADDITIVE = "additive"


def make_classifier(structure: object, **options: object) -> TableClassifier:
    """The additive model for ADDITIVE, without the options that only networks have; else a network."""
    if structure != ADDITIVE:
        return BayesianNetworkClassifier(structure, **options)
    kept = {name: value for name, value in options.items() if name in AdditiveClassifier().get_params()}
    if kept.get("missing") == "category":
        kept["missing"] = "auto"
    return AdditiveClassifier(**kept)
