"""Roos et al. 2005, tables I to III: naive Bayes, conditional and pruned naive Bayes on 18 sets."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import pyarrow as pa

from experiments.papers.common import NOT_RUN, by_classifier, group
from experiments.papers.comparison import Claim, Comparison, Figures
from experiments.papers.protocol import PaperProtocol
from experiments.papers.published import roos_2005 as published
from experiments.papers.splits import RandomSplits
from experiments.papers.study import PaperStudy
from experiments.studies.data_sets import DataSet, Labels
from experiments.studies.entries import Entry, make_entries
from experiments.studies.measured_fold import MeasuredFold
from experiments.studies.on_table import OnTable
from experiments.studies.results import UNITS, Results, Unit
from tanager.parameters.naive_bayes import PrunedTrace

NOTES = (
    "20 random splits, 80 % to train. Our margins are 95 % intervals of the mean over the splits. The published ones "
    "are called so too, but are three to five times as wide (the root of 20 is 4.5): they may be intervals of one "
    "split.",
    "A missing cell is left out in training and prediction (section 5.4).",
    "The numbers of balance-scale and breast are categories: table I's parameters, 3 (1 + 20) and 2 (1 + 89), say so.",
    "Default and NB: one pseudo-row per cell. cNB: the uniform prior of section 5.5, descended to its "
    "optimum; a descent that stops short of it can have the lower log-loss on small sets. pNB: pruned one by one.",
    "Two readings of equation 22: pNB centres the tables of attributes with missing cells, for which section 5.4 needs "
    "it; pNB (all centred) centres every table, which ends the pruning of complete tables early.",
)
WHY_NOT_THE_SAME = (
    "Here cuts come from the training part, as the paper says. Its figures do not: where there are numbers, table I's "
    "parameters are other than ours, and its log-losses of those sets are lower for every classifier, NB too. The "
    "study below finds the cause.",
)
WHY_TEST_ROWS = (
    "Cuts by training, test or all rows were tried, with and without at least two bins for an attribute. One way gives "
    "table I: cuts by the 20 % of the rows that test, with at least two bins. The parameters of NB are then the "
    "published ones on most sets, and so are the log-losses (below; experiments/READINGS.md counts the intervals for "
    "each way). Cuts of the training part give neither; cuts of all rows give the log-losses too, but not the "
    "parameters, whose number could not vary between splits then, as the published does. One or two states of ecoli "
    "and the heart sets remain unexplained.",
    "So the paper's parts seem to have been exchanged when the cuts were made. Such cuts have seen the answers: the "
    "figures are repeated here to explain table II, and no classifier should be judged by them.",
    "pNB keeps somewhat more parameters than published on small sets (breast, hepatitis, the heart sets), and fewer on "
    "tic-tac-toe and mushroom. Why is not known: the cuts are ruled out, as tic-tac-toe and mushroom have no numbers.",
)
UNITS["parameters"] = Unit("parameters", digits=1)
WITHIN = 15
CENTRED = "pNB (all centred)"
FIGURE_6 = (("NB", "cNB"), ("NB", "pNB"), ("cNB", "pNB"))
FIGURES: dict[str, Figures] = {
    "log_loss": by_classifier(published.LOG_LOSS, published.CLASSIFIERS),
    "accuracy": by_classifier(published.CORRECT, published.CLASSIFIERS),
    "parameters": {
        name: {"NB": all_of_them, "cNB": all_of_them, "pNB": pruned, CENTRED: pruned}
        for name, (all_of_them, pruned) in published.PARAMETERS.items()
    },
}
ROUNDING = {"log_loss": 0.0005, "parameters": 0.05}
"""The paper's: half a unit of the third digit after the point, for parameters of the first."""


def roos_2005(sets: Sequence[DataSet], slow: bool) -> list[PaperStudy]:
    """Tables I to III."""
    from sklearn.dummy import DummyClassifier

    default = Entry("Default", OnTable(DummyClassifier(strategy="prior")))
    ours = make_entries(
        {
            "NB": "naive-bayes:frequency",
            "cNB": "naive-bayes:conditional(prior=uniform)",
            "pNB": "naive-bayes:pruned",
            CENTRED: "naive-bayes:pruned(centred=all)",
        }
    )
    claims = (
        *(
            Claim(
                f"log-loss of {name} within the published interval on {WITHIN} sets or more",
                partial(_within, name=name),
            )
            for name in ("cNB", "pNB")
        ),
        Claim("pNB keeps at most a quarter of the parameters on average", _kept),
    )
    not_same = {"postoperative": "three classes here, four in the paper"}
    comparison = Comparison(FIGURES, not_same=not_same, claims=claims, drawn=FIGURE_6)
    protocol = PaperProtocol(RandomSplits(), missing="marginalize", categorical_sets=("balance-scale", "breast"))
    study = PaperStudy(
        "roos-2005",
        "Roos et al. 2005, tables I to III",
        group(sets, "roos18"),
        [default, *ours],
        protocol,
        measures=("log_loss", "accuracy", "parameters"),
        notes=(*NOTES, *WHY_NOT_THE_SAME),
        extra=parameters,
        comparison=comparison,
    )
    as_published = replace(
        study,
        name="roos-2005-test-cuts",
        title="Roos et al. 2005 again, with the cuts that give its figures",
        protocol=replace(protocol, cuts="test rows"),
        comparison=replace(comparison, claims=tuple(replace(claim, kind="as read") for claim in claims)),
        notes=(*WHY_TEST_ROWS, *NOTES),
    )
    return [study, as_published]


def parameters(fold: MeasuredFold, X: pa.Table, y: Labels) -> Mapping[str, float]:
    """The measure of the study that no other has."""
    number = count_parameters(fold.fitted)
    return {} if number is None else {"parameters": number}


def count_parameters(fitted: Any) -> float | None:
    """Logistic parameters of a naive Bayes network, s (1 + sum_i r_i) less those pruned; None for other classifiers.

    An attribute of one state has none (Roos et al. 2005, table I).
    """
    network = getattr(fitted, "network_", None)
    if network is None or any(len(parents) > 1 for parents in network.dag.parents):
        return None
    trace = fitted.trace_.parameters
    if isinstance(trace, PrunedTrace):
        return float(trace.kept)
    sizes = [len(network.states[name]) for name in network.nodes if name != network.target]
    return float(len(fitted.classes_) * (1 + sum(size for size in sizes if size > 1)))


def _within(results: Results, name: str) -> tuple[bool, str]:
    """On how many sets our mean lies in the published interval."""
    outside = _outside(results, name, "log_loss")
    n_sets = int(np.isfinite(results.column(name, "log_loss")).sum())
    found = f"{n_sets - len(outside)} of {n_sets}" + (f"; outside: {', '.join(outside)}" if outside else "")
    return n_sets - len(outside) >= WITHIN, found


def count_within(results: Results, name: str, measure: str) -> str:
    """The same as a number, for the log-losses or the parameters."""
    n_sets = int(np.isfinite(results.column(name, measure)).sum())
    return str(n_sets - len(_outside(results, name, measure))) if n_sets else NOT_RUN


def _outside(results: Results, name: str, measure: str) -> list[str]:
    result = []
    for own, data_set in zip(results.column(name, measure), results.sets, strict=True):
        middle, margin = FIGURES[measure][data_set][name]
        if abs(own - middle) > margin + ROUNDING[measure]:
            result.append(f"{data_set} {own:.3f} ({middle:.3f}±{margin:.3f})")
    return result


def _kept(results: Results) -> tuple[bool, str]:
    share = share_kept(results)
    if np.isnan(share):
        return False, NOT_RUN
    return share <= 0.25, f"{100 * share:.1f} % (published: {100 * _published_share():.1f} %)"


def share_kept(results: Results) -> float:
    """Parameters of pNB as a part of those of NB, mean over the sets; NaN if it was not run."""
    shares = results.column("pNB", "parameters") / results.column("NB", "parameters")
    return float(np.nanmean(shares)) if np.isfinite(shares).any() else np.nan


def _published_share() -> float:
    return float(np.mean([pruned[0] / full[0] for full, pruned in published.PARAMETERS.values()]))
