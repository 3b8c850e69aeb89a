"""From what a person asks for to the studies that answer it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from experiments.studies.data_sets import DataSet, choose, find_data_sets
from experiments.studies.entries import make_entries, parse_entry
from experiments.studies.field import CLASSICS, field_study
from experiments.studies.protocol import KFold, Protocol
from experiments.studies.study import Study
from tanager.errors import OptionError

NOTES = (
    "Discretisation and encoding are learnt on the training part of each fold; the same folds for all.",
    "Ours: an empty cell is a state of its own. Others: one-hot, numbers scaled, median and indicator for gaps.",
    "A class unseen in training gets 1 / (rows + classes); a probability below 1e-15 counts as 1e-15.",
)


@dataclass(frozen=True)
class Request:
    """Classifiers by spec, the classics (`field.CLASSICS`), the field; on which sets, and how.

    sets    names, also `openml:NAME`; None for all
    groups  of the manifest; None for all
    """

    classifiers: Sequence[str] = ()
    classics: bool = False
    field: bool = False
    quick: bool = False
    slow: bool = False
    sets: Sequence[str] | None = None
    groups: Sequence[str] | None = None
    class_column: str = "class"
    n_folds: int = 5
    given_split: bool = False
    seed: int = 0

    def studies(self, folder: Path) -> list[Study]:
        """Everything asked for; what cannot be done is refused before any work."""
        if not (self.classifiers or self.classics or self.field or self.quick):
            hint = "name classifiers such as tan:fcll, or --classics, or --field."
            raise OptionError("there is nothing to compare.", hint=hint)
        only_openml = self.sets is not None and all(name.startswith("openml:") for name in self.sets)
        sets = [] if only_openml and not folder.is_dir() else find_data_sets(folder, self.class_column)
        chosen = choose(sets, self.sets, self.groups)
        return [replace(study, protocol=replace(study.protocol, seed=self.seed)) for study in self._studies(chosen)]

    def _studies(self, chosen: Sequence[DataSet]) -> Iterator[Study]:
        if self.classifiers or self.classics:
            yield self._own(chosen)
        if self.field or self.quick:
            yield field_study(chosen, self.quick, self.slow)

    def _own(self, chosen: Sequence[DataSet]) -> Study:
        entries = [parse_entry(spec) for spec in self.classifiers]
        entries += make_entries(CLASSICS) if self.classics else []
        names = [entry.name for entry in entries]
        repeated = sorted({name for name in names if names.count(name) > 1})
        if repeated:
            raise OptionError(f"classifier {repeated[0]!r} is named twice.", hint="NAME=SPEC gives it another name.")
        split = KFold(self.n_folds, self.given_split)
        return Study("compare", "Comparison", chosen, entries, Protocol(split), notes=NOTES)
