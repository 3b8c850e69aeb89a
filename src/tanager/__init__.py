"""Tanager: Bayesian network classifiers learnt discriminatively, and explained.

Counts -> graph -> tables -> log joint: a classifier counts its training table, chooses a graph over the attributes,
fills the graph's tables, and classifies a row by looking its cells up in them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tanager.errors import DataError, DataWarning, FileError, MemoryLimitError, OptionError, TanagerError

if TYPE_CHECKING:
    from tanager.classifiers import BayesianNetworkClassifier, NaiveBayesClassifier, TANClassifier
    from tanager.files.model_file import load_model, save_model
    from tanager.network.network import Network
    from tanager.table.discretize_mdl import MDLPDiscretizer

__version__ = "0.1.0"

__all__ = [
    "BayesianNetworkClassifier",
    "DataError",
    "DataWarning",
    "FileError",
    "MDLPDiscretizer",
    "MemoryLimitError",
    "NaiveBayesClassifier",
    "Network",
    "OptionError",
    "TANClassifier",
    "TanagerError",
    "load_model",
    "save_model",
]

# Public names are imported on first use, so that `import tanager` costs next to nothing.
_HOMES = {
    "BayesianNetworkClassifier": "tanager.classifiers",
    "NaiveBayesClassifier": "tanager.classifiers",
    "TANClassifier": "tanager.classifiers",
    "MDLPDiscretizer": "tanager.table.discretize_mdl",
    "Network": "tanager.network.network",
    "load_model": "tanager.files.model_file",
    "save_model": "tanager.files.model_file",
}


def __getattr__(name: str) -> object:
    if name not in _HOMES:
        raise AttributeError(f"module 'tanager' has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(_HOMES[name]), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *_HOMES})
