"""The field: whether the default stays within 2 % of the better conditional tables, and if the split decides it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from experiments.reading_runs import Values, kept, run, with_seed

from tanager.experiments.data_sets import DataSet
from tanager.experiments.field import OURS, field_study
from tanager.experiments.results import Results
from tanager.experiments.text_table import TextTable

DEFAULT, TABLES = "tanager default", ("NB conditional", "TAN-LL conditional")
LEAST_ROWS, ALLOWED = 500, 1.02
SEEDS = range(10)


def by_split(sets: Sequence[DataSet]) -> TextTable:
    """The sets on which the field's split breaks the rule, over several splits."""
    study = field_study(sets)
    large = [each for each in study.data_sets if each.n_rows > LEAST_ROWS]
    study = replace(study, data_sets=large)
    excess = _excess(_losses(kept(study)))
    broken = [data_set for data_set, own in zip(large, excess, strict=True) if own > ALLOWED]
    study = replace(study, data_sets=broken)
    specs = {name: OURS[name] for name in (DEFAULT, *TABLES)}
    losses = np.array([_losses(run(with_seed(study, seed), specs)) for seed in SEEDS])
    rows = [
        [
            data_set.name,
            f"{own[0, 0]:.4f}",
            f"{_excess(own[:1])[0]:.3f}",
            *(f"{mean:.4f}" for mean in own.mean(axis=0)),
            f"{_excess(own.mean(axis=0, keepdims=True))[0]:.3f}",
            f"{(_excess(own) <= ALLOWED).sum()} of {len(SEEDS)}",
        ]
        for data_set, own in zip(broken, losses.swapaxes(0, 1), strict=True)
    ]
    header = ["set", "default, split 0", "over the better", f"default, {len(SEEDS)} splits", *TABLES, "over the better"]
    remark = (
        f"Of {len(large)} sets with more than {LEAST_ROWS} rows, those on which the default's log-loss by the field's "
        f"split exceeds that of the better of {' and '.join(TABLES)} by more than {100 * ALLOWED - 100:.0f} %; the "
        "last column counts the splits on which it does not."
    )
    return TextTable("The default against conditional tables, by the split", [*header, "within"], rows, [remark])


def _losses(results: Results) -> Values:
    """(sets, 3) the log-loss of the default and of the tables."""
    return np.column_stack([results.column(name, "log_loss") for name in (DEFAULT, *TABLES)])


def _excess(losses: Values) -> Values:
    """The default's loss over that of the better tables, set by set."""
    return np.asarray(losses[:, 0] / losses[:, 1:].min(axis=1))
