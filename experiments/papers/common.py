"""What the papers share: the 25 sets of Friedman et al. 1997 and their splits, figures by name, checks of claims."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from experiments.papers.comparison import Figures
from experiments.papers.splits import KFoldOrHoldout
from experiments.studies.data_sets import DataSet
from experiments.studies.results import UNITS, Results
from experiments.studies.statistics import wilcoxon
from experiments.studies.tables import show_test
from tanager.errors import OptionError

FRIEDMAN_SPLIT = KFoldOrHoldout(
    5, given=True, holdouts={"chess": (2130, 1066), "segment": (1540, 770), "waveform-21": (300, 4700)}
)
"""Five folds for the small sets; the split of the file, or a seeded stratified one of the paper's sizes, for others."""

SPLIT_NOTE = (
    "letter, mofn-3-7-10, satimage and shuttle-small carry a split; the assignment of rows of chess, segment and "
    "waveform-21 is not known, so theirs is a seeded stratified split of the published sizes."
)
CUTS_NOTE = "Numeric attributes are discretised by Fayyad and Irani's method on the training part of each fold."

NOT_RUN = "not run"
GENERATED = "a generated 10 % subsample of shuttle, not the MLC++ one"


def group(sets: Sequence[DataSet], name: str) -> list[DataSet]:
    """The sets of a group that the folder has."""
    found = [data_set for data_set in sets if name in data_set.groups]
    if not found:
        raise OptionError(f"the folder has no data set of the group {name!r}, which this paper needs.")
    return found


def by_classifier(table: Mapping[str, Sequence[tuple[float, float]]], classifiers: Sequence[str]) -> Figures:
    """Figures by set and classifier from rows in the order of the classifiers."""
    return {name: dict(zip(classifiers, row, strict=True)) for name, row in table.items()}


def better(results: Results, first: str, second: str, measure: str, level: float) -> tuple[bool, str]:
    """Whether `first` beats `second` at this level, by the one-sided signed-rank test."""
    less = UNITS[measure].less_is_better
    test = wilcoxon(results.column(first, measure), results.column(second, measure), less)
    if not test.n:
        return False, NOT_RUN
    return test.z > 0 and test.p <= level, f"Z {show_test(test)}, {test.n} sets"
