"""The classes a model file may name: what the library's own rooms publish, what is registered there, nothing else."""

from __future__ import annotations

import inspect
from types import ModuleType

from sklearn.base import BaseEstimator

import tanager.classifiers
import tanager.parameters
import tanager.scores
import tanager.structure
from tanager.classifiers.base import TableClassifier
from tanager.network.network import Network
from tanager.parameters import PARAMETERS
from tanager.scores import SCORES
from tanager.structure import STRUCTURES
from tanager.table.discretizer import MDLPDiscretizer


def _public(room: ModuleType, base: type) -> dict[str, type]:
    """The concrete classes of a kind among a room's public names."""
    found = {name: getattr(room, name) for name in room.__all__}
    return {
        name: item
        for name, item in found.items()
        if inspect.isclass(item) and issubclass(item, base) and not inspect.isabstract(item)
    }


CLASSIFIERS: dict[str, type[TableClassifier]] = _public(tanager.classifiers, TableClassifier)
PUBLISHED: dict[str, type] = {
    **_public(tanager.structure, BaseEstimator),
    **_public(tanager.scores, BaseEstimator),
    **_public(tanager.parameters, BaseEstimator),
    MDLPDiscretizer.__name__: MDLPDiscretizer,
    Network.__name__: Network,  # whose structure `Fixed` takes
}


def known_parts() -> dict[str, type]:
    """Parts by the name of their class; those of a user's own once they have a line in a registry."""
    registered = (*STRUCTURES.values(), *SCORES.values(), *PARAMETERS.values())
    return PUBLISHED | {part.__name__: part for part in registered if inspect.isclass(part)}
