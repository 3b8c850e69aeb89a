"""Tanager: classifiers learnt from tables discriminatively, and explained.

`AdditiveClassifier` adds up effects of attributes, of pairs and of boosted trees. `BayesianNetworkClassifier` counts
its training table, chooses a graph over the attributes, fills the graph's tables, and classifies a row by looking its
cells up in them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

# Not on first use: importing the folder `check`, `explain`, `export` or `report` would replace the function by it.
from tanager.check import check
from tanager.errors import DataError, DataWarning, FileError, MemoryLimitError, OptionError, TanagerError
from tanager.explain import explain
from tanager.export import export
from tanager.report import report
from tanager.version import __version__ as __version__

if TYPE_CHECKING:
    from tanager.additive.model import AdditiveModel
    from tanager.classifiers import (
        AdditiveClassifier,
        BayesianNetworkClassifier,
        BCKGClassifier,
        HillClimbClassifier,
        KDBClassifier,
        NaiveBayesClassifier,
        SelectiveNaiveBayesClassifier,
        TANClassifier,
    )
    from tanager.classifiers.calibration import calibration
    from tanager.classifiers.clustering import NaiveBayesClusterer
    from tanager.classifiers.deciding import FixedDecisionClassifier, TunedDecisionClassifierCV
    from tanager.classifiers.studies import information, structure_score
    from tanager.edits.apply import apply_edits, undo_edits
    from tanager.edits.edit import Edit, Edits
    from tanager.evaluate.cross_validate import cross_validate_model
    from tanager.explain.counterfactual import counterfactuals
    from tanager.files.edits_file import load_edits, save_edits
    from tanager.files.model_file import load_model, save_model
    from tanager.files.network_file import read_network, write_network
    from tanager.files.recipe_file import load_recipe, save_recipe
    from tanager.network.mixture import MixtureNetwork
    from tanager.network.network import Network
    from tanager.network.tree_average import TreeAverageNetwork
    from tanager.refits.stability import stability
    from tanager.table.discretize_mdl import MDLPDiscretizer
    from tanager.tuning.tune import tune

__all__ = [
    "AdditiveClassifier",
    "AdditiveModel",
    "BCKGClassifier",
    "BayesianNetworkClassifier",
    "DataError",
    "DataWarning",
    "Edit",
    "Edits",
    "FileError",
    "FixedDecisionClassifier",
    "HillClimbClassifier",
    "KDBClassifier",
    "MDLPDiscretizer",
    "MemoryLimitError",
    "MixtureNetwork",
    "NaiveBayesClassifier",
    "NaiveBayesClusterer",
    "Network",
    "OptionError",
    "SelectiveNaiveBayesClassifier",
    "TANClassifier",
    "TanagerError",
    "TreeAverageNetwork",
    "TunedDecisionClassifierCV",
    "apply_edits",
    "calibration",
    "check",
    "counterfactuals",
    "cross_validate_model",
    "explain",
    "export",
    "information",
    "load_edits",
    "load_model",
    "load_recipe",
    "read_network",
    "report",
    "save_edits",
    "save_model",
    "save_recipe",
    "stability",
    "structure_score",
    "tune",
    "undo_edits",
    "write_network",
]

# Public names are imported on first use, so that `import tanager` costs next to nothing.
_HOMES = {
    "tanager.classifiers": [
        "AdditiveClassifier",
        "BCKGClassifier",
        "BayesianNetworkClassifier",
        "HillClimbClassifier",
        "KDBClassifier",
        "NaiveBayesClassifier",
        "SelectiveNaiveBayesClassifier",
        "TANClassifier",
    ],
    "tanager.classifiers.calibration": ["calibration"],
    "tanager.classifiers.clustering": ["NaiveBayesClusterer"],
    "tanager.classifiers.deciding": ["FixedDecisionClassifier", "TunedDecisionClassifierCV"],
    "tanager.edits.apply": ["apply_edits", "undo_edits"],
    "tanager.edits.edit": ["Edit", "Edits"],
    "tanager.files.edits_file": ["load_edits", "save_edits"],
    "tanager.classifiers.studies": ["information", "structure_score"],
    "tanager.explain.counterfactual": ["counterfactuals"],
    "tanager.evaluate.cross_validate": ["cross_validate_model"],
    "tanager.tuning.tune": ["tune"],
    "tanager.files.model_file": ["load_model", "save_model"],
    "tanager.files.network_file": ["read_network", "write_network"],
    "tanager.files.recipe_file": ["load_recipe", "save_recipe"],
    "tanager.additive.model": ["AdditiveModel"],
    "tanager.network.mixture": ["MixtureNetwork"],
    "tanager.network.network": ["Network"],
    "tanager.network.tree_average": ["TreeAverageNetwork"],
    "tanager.refits.stability": ["stability"],
    "tanager.table.discretize_mdl": ["MDLPDiscretizer"],
}

# Names of earlier versions, and what to use instead.
_MOVED = {
    "ConformalClassifier": "use mapie.classification.CrossConformalClassifier with a classifier of Tanager",
    "conformal_sets": "use mapie.classification.CrossConformalClassifier with a classifier of Tanager",
    "learning_curve": "use sklearn.model_selection.learning_curve with a classifier of Tanager",
}


def __getattr__(name: str) -> object:
    from importlib import import_module

    for home, names in _HOMES.items():
        if name in names:
            return getattr(import_module(home), name)
    advice = f"; {_MOVED[name]}" if name in _MOVED else ""
    raise AttributeError(f"module 'tanager' has no attribute {name!r}{advice}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
