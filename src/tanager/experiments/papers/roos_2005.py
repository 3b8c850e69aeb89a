"""Roos et al. 2005, tables I to III: naive Bayes, conditional and pruned naive Bayes on 18 sets."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial

import numpy as np

from tanager.experiments.comparison import Claim, Comparison
from tanager.experiments.data_sets import DataSet
from tanager.experiments.entries import Entry
from tanager.experiments.folds import RandomSplits
from tanager.experiments.on_table import OnTable
from tanager.experiments.papers.common import NOT_RUN, by_classifier, group, make_entries
from tanager.experiments.protocol import Protocol
from tanager.experiments.published import roos_2005 as published
from tanager.experiments.results import Results
from tanager.experiments.study import Study

NOTES = (
    "20 random splits, 80 % to train; the published margins are 95 % intervals over the splits.",
    "A missing cell is left out in training and prediction (section 5.4).",
    "The numbers of balance-scale and breast are categories: table I's parameters, 3 (1 + 20) and 2 (1 + 89), say so.",
    "Default and NB: one pseudo-row per cell. cNB: the uniform prior of section 5.5. pNB: pruned one by one.",
)
WHY_NOT_THE_SAME = (
    "Here cuts come from the training part, as the paper says. Its figures do not: where there are numbers, table I's "
    "parameters are other than ours (iris 33.45, here 35.1; pima 34.8, here 29.5; waveform 215.7, here 292.5), and its "
    "log-losses of those sets are lower for every classifier, NB too. The study below finds the cause.",
)
WHY_TEST_ROWS = (
    "Six ways to cut were tried: by training, test or all rows, with and without at least two bins for an attribute. "
    "One gives table I: by the 20 % of the rows that test, with at least two bins. The parameters of NB are then the "
    "published ones, in mean and margin: iris 33.6±2.4 (published 33.45±1.81), wine 88.0±6.0 "
    "(88.2±6.5), pima 34.5±2.4 (34.8±2.0), hepatitis 78.6±1.8 (78.8±2.0), crx 106.1±1.5 (106.3±1.6), waveform 216±12 "
    "(215.7±8.6); and so are the log-losses, for cNB iris .111 (.112), pima .443 (.442), waveform .297 (.296). Cuts of "
    "the training part, or of all rows (whose number could not vary between splits), give neither. One or two states "
    "of ecoli and the heart sets remain unexplained.",
    "So the paper's parts seem to have been exchanged when the cuts were made. Such cuts have seen the answers: the "
    "figures are repeated here to explain table II, and no classifier should be judged by them.",
    "pNB keeps more parameters than published on small sets (hepatitis, the heart sets), fewer on tic-tac-toe and "
    "mushroom, where its log-loss is the lower one. Why is not known.",
)
WITHIN = 15


def roos_2005(sets: Sequence[DataSet], slow: bool) -> list[Study]:
    """Tables I to III."""
    from sklearn.dummy import DummyClassifier

    entries, missing = make_entries(
        {
            "Default": Entry("Default", OnTable(DummyClassifier(strategy="prior"))),
            "NB": "naive-bayes:ll:frequency",
            "cNB": "naive-bayes:ll:conditional(prior=uniform)",
            "pNB": "naive-bayes:ll:pruned",
        }
    )
    kept = {
        name: {"NB": all_of_them, "cNB": all_of_them, "pNB": pruned}
        for name, (all_of_them, pruned) in published.PARAMETERS.items()
    }
    figures = {
        "log_loss": by_classifier(published.LOG_LOSS, published.CLASSIFIERS),
        "accuracy": by_classifier(published.CORRECT, published.CLASSIFIERS),
        "parameters": kept,
    }
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
    comparison = Comparison(figures, not_same={"postoperative": "three classes here, four in the paper"}, claims=claims)
    study = Study(
        "roos-2005",
        "Roos et al. 2005, tables I to III",
        group(sets, "roos18"),
        entries,
        Protocol(RandomSplits(), missing="marginalize", categorical_sets=("balance-scale", "breast")),
        measures=("log_loss", "accuracy", "parameters"),
        notes=(*NOTES, *missing, *WHY_NOT_THE_SAME),
        comparison=comparison,
    )
    as_published = replace(
        study,
        name="roos-2005-test-cuts",
        title="Roos et al. 2005 again, with the cuts that give its figures",
        protocol=replace(study.protocol, cuts="test rows"),
        notes=(*WHY_TEST_ROWS, *NOTES, *missing),
    )
    return [study, as_published]


def _within(results: Results, name: str) -> tuple[bool, str]:
    """On how many sets our mean lies in the published interval."""
    place = published.CLASSIFIERS.index(name)
    outside, n_sets = [], 0
    for own, data_set in zip(results.column(name, "log_loss"), results.sets, strict=True):
        if not np.isnan(own):
            n_sets += 1
            middle, margin = published.LOG_LOSS[data_set][place]
            if abs(own - middle) > margin + 0.0005:  # the paper's rounding
                outside.append(f"{data_set} {own:.3f} ({middle:.3f}±{margin:.3f})")
    found = f"{n_sets - len(outside)} of {n_sets}" + (f"; outside: {', '.join(outside)}" if outside else "")
    return n_sets - len(outside) >= WITHIN, found


def _kept(results: Results) -> tuple[bool, str]:
    shares = results.column("pNB", "parameters") / results.column("NB", "parameters")
    if np.isnan(shares).all():
        return False, NOT_RUN
    share = float(np.nanmean(shares))
    return share <= 0.25, f"{100 * share:.1f} % (published: {100 * _published_share():.1f} %)"


def _published_share() -> float:
    return float(np.mean([pruned[0] / full[0] for full, pruned in published.PARAMETERS.values()]))
