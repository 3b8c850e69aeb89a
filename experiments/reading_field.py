"""The field: is the default within 2 % of the better conditional tables, and where not, could it have been known?"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from unittest.mock import patch

import numpy as np
from experiments.reading_runs import Values, kept, run, with_seed

from tanager.experiments.data_sets import DataSet, SetDescription
from tanager.experiments.field import OURS, field_study
from tanager.experiments.folds import Fold, Split, stratified_folds
from tanager.experiments.metrics import Labels
from tanager.experiments.results import UNITS, Results
from tanager.experiments.study import Study
from tanager.experiments.tables import ranks_of
from tanager.experiments.text_table import TextTable

DEFAULT, TABLES = "tanager default", ("NB conditional", "TAN-LL conditional")
SPECS = {name: OURS[name] for name in (DEFAULT, *TABLES)}
LEAST_ROWS, ALLOWED = 500, 1.02
SEEDS, INNER_SEEDS = range(10), range(4)
MOST_ROWS = 3_600


@dataclass(frozen=True)
class Inside:
    """Folds of the rows that one fold of another split trains on."""

    outer: Split
    fold: int
    n_folds: int = 3

    def count(self, data_set: SetDescription) -> int:
        return self.n_folds

    def train_rows(self, data_set: SetDescription) -> float:
        return self.outer.train_rows(data_set) * (1 - 1 / self.n_folds)

    def folds(self, data_set: SetDescription, y: Labels, seed: int) -> list[Fold]:
        rows, _ = self.outer.folds(data_set, y, seed)[self.fold]
        return [(rows[train], rows[test]) for train, test in stratified_folds(y[rows], self.n_folds, seed)]


def by_split(sets: Sequence[DataSet]) -> TextTable:
    """The sets on which the field's split breaks the rule, over several splits."""
    study, n_large = _broken(sets)
    losses = np.array([_losses(run(with_seed(study, seed), SPECS)) for seed in SEEDS])
    rows = []
    for data_set, own in zip(study.data_sets, losses.swapaxes(0, 1), strict=True):
        mean = own.mean(axis=0)
        within = f"{(_excess(own) <= ALLOWED).sum()} of {len(SEEDS)}"
        rows.append([data_set.name, _show(_excess(own[0])), *map(_show, mean), _show(_excess(mean)), within])
    header = ["set", "excess, field's split", DEFAULT, *TABLES, "excess", "splits within"]
    remark = (
        f"Excess: log-loss of the default over that of the better of {' and '.join(TABLES)}. Of {n_large} sets with "
        f"more than {LEAST_ROWS} rows, those on which the field's split gives more than {ALLOWED}; losses are means "
        f"over {len(SEEDS)} splits."
    )
    return TextTable("The default against conditional tables, by the split", header, rows, [remark])


def by_choice(sets: Sequence[DataSet]) -> TextTable:
    """On the same sets and the field's split: the classifier that does best on folds of the training rows."""
    study, _ = _broken(sets)
    outer = study.protocol.split
    rows = []
    for data_set in study.data_sets:
        alone = replace(study, data_sets=[data_set])
        tested = _by_fold(kept(alone))
        protocols = [replace(study.protocol, split=Inside(outer, fold)) for fold in range(len(tested))]
        inner = np.array([_losses(run(replace(alone, protocol=each), SPECS))[0] for each in protocols])
        best = inner.argmin(axis=1)
        chosen = tested[np.arange(len(tested)), best].mean()
        prefer = f"{(best == 0).sum()} of {len(best)}"
        mean = tested.mean(axis=0)
        rows.append([data_set.name, *map(_show, mean), prefer, _show(chosen), _show(chosen / mean[1:].min())])
    header = ["set", DEFAULT, *TABLES, "training rows prefer the default", "the one they prefer", "excess"]
    remark = (
        "The one of the three is taken in each fold that has the lowest log-loss over three folds of the training "
        "rows, which learn their own cuts: a choice that has not seen the test rows."
    )
    return TextTable("What the training rows say of these sets", header, rows, [remark])


def by_inner_folds(sets: Sequence[DataSet]) -> TextTable:
    """The field's ranks when the folds on which the default chooses its strengths are drawn otherwise."""
    study = field_study(sets)
    study = replace(study, data_sets=[data_set for data_set in study.data_sets if data_set.n_rows <= MOST_ROWS])
    field = kept(study)
    others = [record for record in field.records if record["classifier"] != DEFAULT]
    rows = []
    for seed in INNER_SEEDS:
        with patch("tanager.parameters.additive_problems.FOLD_SEED", seed):
            own = run(study, {DEFAULT: OURS[DEFAULT]}).records
        results = Results(field.sets, field.classifiers, [*own, *others])
        cells = [str(seed)]
        for measure in ("log_loss", "error"):
            ranks = ranks_of(results, measure)
            first, second = ranks.order[0], ranks.order[1]
            cells.append(UNITS[measure].show(float(results.column(DEFAULT, measure).mean())))
            cells += [f"{results.classifiers[place]} {ranks.mean[place]:.2f}" for place in (first, second)]
        rows.append(cells)
    header = ["seed", "mean log-loss", "first by rank", "second", "mean error, %", "first by rank", "second"]
    remark = (
        f"The {len(study.data_sets)} sets of up to {MOST_ROWS:,} rows. Rules and paths were settled with seed 0: what "
        "the field's page says of the default is optimistic by the difference."
    )
    return TextTable("The default's own folds drawn by other seeds", header, rows, [remark])


def _broken(sets: Sequence[DataSet]) -> tuple[Study, int]:
    """The field on the sets of over 500 rows that break the rule, and how many sets have so many rows."""
    study = field_study(sets)
    large = [data_set for data_set in study.data_sets if data_set.n_rows > LEAST_ROWS]
    losses = _losses(kept(replace(study, data_sets=large)))
    broken = [data_set for data_set, own in zip(large, losses, strict=True) if _excess(own) > ALLOWED]
    return replace(study, data_sets=broken), len(large)


def _losses(results: Results) -> Values:
    """(sets, 3) the log-loss of the default and of the tables."""
    return np.column_stack([results.column(name, "log_loss") for name in SPECS])


def _by_fold(results: Results) -> Values:
    """(folds, 3) of the one set."""
    found = {(record["classifier"], record["fold"]): record["log_loss"] for record in results.records}
    n_folds = 1 + max(fold for _, fold in found)
    return np.array([[found[name, fold] for name in SPECS] for fold in range(n_folds)])


def _excess(losses: Values) -> Values:
    """The default's loss over that of the better tables; losses (..., 3)."""
    return np.asarray(losses[..., 0] / losses[..., 1:].min(axis=-1))


def _show(value: float | Values) -> str:
    return f"{value:.4f}"
