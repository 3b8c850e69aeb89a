"""Layer 4: counts, and a score where a learner asks for one -> a structure (Dag)."""

from __future__ import annotations

from collections.abc import Callable

from tanager.structure.averaged import AnDE, TreeAverage
from tanager.structure.bfs_consistent import BFSConsistent
from tanager.structure.dag import Dag, perfect_form
from tanager.structure.fixed import Fixed, NaiveBayes
from tanager.structure.hill_climb import HillClimb
from tanager.structure.k_dependence import KDependence, SelectiveKDependence
from tanager.structure.protocol import LearntStructure, Step, StructureLearner, StructureTask
from tanager.structure.selective import Selective
from tanager.structure.tree import Tree

# A new structure learner is a file and a line here.
STRUCTURES: dict[str, Callable[[], StructureLearner]] = {
    "naive-bayes": NaiveBayes,
    "tan": Tree,
    "bckg": BFSConsistent,
    "hill-climb": HillClimb,
    "kdb": KDependence,
    "skdb": SelectiveKDependence,
    "selective": Selective,
    "aode": AnDE,
    "tree-average": TreeAverage,
}

__all__ = [
    "STRUCTURES",
    "AnDE",
    "BFSConsistent",
    "Dag",
    "Fixed",
    "HillClimb",
    "KDependence",
    "LearntStructure",
    "NaiveBayes",
    "Selective",
    "SelectiveKDependence",
    "Step",
    "StructureLearner",
    "StructureTask",
    "Tree",
    "TreeAverage",
    "perfect_form",
]
