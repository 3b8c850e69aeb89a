"""The classics of the field: every structure and parameter learner of the literature, each once on its page."""

from __future__ import annotations

from pathlib import Path

from experiments.classics import REFERENCE
from experiments.studies.entries import parse_estimator
from experiments.studies.field import CLASSICS
from tanager.structure import AnDE

DOCS = Path(__file__).parents[2] / "docs"
# What the field fits without our priors and pairs: docs/comparison.md.
STRUCTURES = {"NaiveBayes", "Selective", "Tree", "KDependence", "SelectiveKDependence", "AnDE", "TreeAverage"}
PARAMETERS = {"Frequency", "Weighted", "Conditional", "Hierarchical"}


def test_every_classic_structure_parameter_learner_average_and_margin_is_compared() -> None:
    found = [parse_estimator(spec) for spec in CLASSICS.values()]
    assert {type(each.structure).__name__ for each in found} == STRUCTURES
    assert {type(each.parameters).__name__ for each in found} == PARAMETERS
    averages = [each.structure for each in found if isinstance(each.structure, AnDE)]
    assert {each.n for each in averages} == {1, 2}
    assert {each.weights for each in averages} == {"equal", "information", "conditional"}
    objectives = {getattr(each.parameters, "objective", None) for each in found}
    assert objectives == {None, "margin", "mixed-margin"}


def test_the_table_of_the_page_has_every_classic_once() -> None:
    lines = (DOCS / "classics_table.md").read_text(encoding="utf-8").splitlines()
    names = [line.split("|")[1].strip() for line in lines if line.startswith("| ")][1:]
    assert set(names[1:]) >= {*CLASSICS, REFERENCE}
    assert len(set(names)) == len(names)
