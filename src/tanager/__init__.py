"""Tanager: classifiers learnt from tables discriminatively, and explained.

`AdditiveClassifier` adds up effects of attributes, of pairs and of boosted trees. `BayesianNetworkClassifier` counts
its training table, chooses a graph over the attributes, estimates the graph's tables, and classifies a row by looking
its cells up in them. What is not named here is imported from its folder, such as `tanager.plots` or `tanager.scores`.
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
    from tanager.classifiers import (
        AdditiveClassifier,
        BayesianNetworkClassifier,
        NaiveBayesClassifier,
        TANClassifier,
    )
    from tanager.classifiers.studies import structure_score
    from tanager.decide.classifiers import FixedDecisionClassifier
    from tanager.edits import apply_edits, undo_edits
    from tanager.evaluate.cross_validate import cross_validate_model
    from tanager.evaluate.stability import stability
    from tanager.explain.counterfactual import counterfactuals
    from tanager.files.model_file import load_model, save_model
    from tanager.files.network_file import read_network, write_network
    from tanager.metrics.calibration import calibration
    from tanager.network import Network
    from tanager.tuning.tune import tune

__all__ = [
    "AdditiveClassifier",
    "BayesianNetworkClassifier",
    "DataError",
    "DataWarning",
    "FileError",
    "FixedDecisionClassifier",
    "MemoryLimitError",
    "NaiveBayesClassifier",
    "Network",
    "OptionError",
    "TANClassifier",
    "TanagerError",
    "apply_edits",
    "calibration",
    "check",
    "counterfactuals",
    "cross_validate_model",
    "explain",
    "export",
    "load_model",
    "read_network",
    "report",
    "save_model",
    "stability",
    "structure_score",
    "tune",
    "undo_edits",
    "write_network",
]

# These names are imported on first use, so that `import tanager` costs next to nothing.
_HOMES = {
    "tanager.classifiers": ["AdditiveClassifier", "BayesianNetworkClassifier", "NaiveBayesClassifier", "TANClassifier"],
    "tanager.metrics.calibration": ["calibration"],
    "tanager.decide.classifiers": ["FixedDecisionClassifier"],
    "tanager.classifiers.studies": ["structure_score"],
    "tanager.edits": ["apply_edits", "undo_edits"],
    "tanager.explain.counterfactual": ["counterfactuals"],
    "tanager.evaluate.cross_validate": ["cross_validate_model"],
    "tanager.tuning.tune": ["tune"],
    "tanager.files.model_file": ["load_model", "save_model"],
    "tanager.files.network_file": ["read_network", "write_network"],
    "tanager.network": ["Network"],
    "tanager.evaluate.stability": ["stability"],
}
_FOLDERS = {"additive", "classifiers", "decide", "edits", "files", "network", "parameters", "plots", "scores"}
_FOLDERS |= {"structure", "table"}
# Names of version 0.2, and where they are now.
_MOVED = {
    "tanager.additive": ["AdditiveModel"],
    "tanager.classifiers": ["NaiveBayesClusterer", "information"],
    "tanager.edits": ["Edit", "Edits"],
    "tanager.files": ["load_edits", "load_recipe", "save_edits", "save_recipe"],
    "tanager.network": ["MixtureNetwork", "TreeAverageNetwork"],
    "tanager.table": ["MDLPDiscretizer"],
}
_REMOVED = {
    "PairwiseClassifier": "use AdditiveClassifier()",
    "AdditiveNetwork": "use tanager.additive.AdditiveModel",
    "BCKGClassifier": "use BayesianNetworkClassifier('bckg')",
    "HillClimbClassifier": "use BayesianNetworkClassifier('hill-climb')",
    "KDBClassifier": "use BayesianNetworkClassifier('kdb')",
    "SelectiveNaiveBayesClassifier": "use BayesianNetworkClassifier('selective')",
    "TunedDecisionClassifierCV": "use tanager.decide.tune_for_sensitivity, or sklearn's TunedThresholdClassifierCV",
    "ConformalClassifier": "use mapie.classification.CrossConformalClassifier with a classifier of Tanager",
    "conformal_sets": "use mapie.classification.CrossConformalClassifier with a classifier of Tanager",
    "learning_curve": "use sklearn.model_selection.learning_curve with a classifier of Tanager",
}


def __getattr__(name: str) -> object:
    from importlib import import_module

    if name in _FOLDERS:
        return import_module(f"tanager.{name}")
    for home, names in _HOMES.items():
        if name in names:
            return getattr(import_module(home), name)
    for home, names in _MOVED.items():
        if name in names:
            raise AttributeError(f"tanager.{name} is now {home}.{name}.")
    advice = f"; {_REMOVED[name]}" if name in _REMOVED else ""
    raise AttributeError(f"module 'tanager' has no attribute {name!r}{advice}")


def __dir__() -> list[str]:
    return sorted([*__all__, "plots", "__doc__", "__version__"])
