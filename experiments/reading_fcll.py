"""fCLL 2011: which readings change Z of TAN-fCLL against TAN-LL and against the others."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from sklearn.base import clone
from sklearn.svm import SVC

from experiments.papers.fcll_2011 import MAX_ROWS_4, OFE, fcll_2011
from experiments.papers.published import fcll_2011 as published
from experiments.reading_runs import SEEDS, Values, kept, run, show_spread, with_seed
from experiments.studies.data_sets import DataSet
from experiments.studies.entries import Entry, make_entries
from experiments.studies.on_table import OnTable
from experiments.studies.statistics import wilcoxon
from experiments.studies.study import Study
from experiments.studies.tables import TextTable
from tanager import BayesianNetworkClassifier
from tanager.counts.family import Family
from tanager.parameters import Frequency
from tanager.scores.margins import MarginSums, Term, xlogx
from tanager.structure import Fixed

WEIGHTS = (-1.0, -0.5, 0.0, 0.25, 0.5, 1.0, 1.73, 3.0, 6.0)
MORE_SEEDS = range(10)
HALF_A_ROW = Frequency(alpha=0.5)
INPUTS = {
    "bins from all rows": ("all rows", "all rows", "binned-one-hot"),
    "bins from the training part, TAN-fCLL too": ("classifier", "classifier", "binned-one-hot"),
    "numbers, TAN-fCLL bins from all rows": ("all rows", "classifier", "one-hot"),
}
OTHERS = ("TAN-LL", "TAN-LL-ELR", "SVM", "LogR")
BY_SCORE = (("TAN-fCLL", "TAN-aCLL"), ("GHC2-fCLL", "TAN-aCLL"), ("TAN-aCLL", "TAN-LL"), ("TAN-fCLL", "TAN-LL"))


class Weighted(MarginSums):
    """Edges of a tree weigh I(X; Y | C) + t I(C; X; Y): 0 is LL, 1.73 fCLL."""

    score_equivalent = True

    def __init__(self, t: float = 0.0) -> None:
        self.t = t

    def formula(self, family: Family, n_states: Sequence[int]) -> Sequence[Term]:
        both = 1.0 + self.t
        terms = Term(both, "jck", xlogx), Term(-both, "jc", xlogx)
        if family.child == len(n_states) - 1:
            return terms
        return *terms, Term(-self.t, "jk", xlogx), Term(self.t, "j", xlogx)


def by_weight(sets: Sequence[DataSet]) -> TextTable:
    """Z of trees by weighted informations against LL, over splits by several seeds."""
    (study,) = fcll_2011(sets, slow=False)
    entries = [Entry(f"{t:g}", BayesianNetworkClassifier("tan", Weighted(t), HALF_A_ROW)) for t in WEIGHTS]
    errors = np.array([run(with_seed(study, seed), entries).matrix("error") for seed in SEEDS])
    rows = []
    for place, t in enumerate(WEIGHTS):
        z = np.array([wilcoxon(own[:, place], own[:, WEIGHTS.index(0.0)]).z for own in errors])
        rows.append([f"{t:g}", *show_spread(z), f"{100 * errors[:, :, place].mean():.2f}"])
    title = "Trees by I(X; Y | C) + t I(C; X; Y) against LL (t = 0); fCLL has t = 1.73"
    remark = f"Z of the errors over the 25 sets, {len(SEEDS)} seeds; half a pseudo-row in each cell."
    return TextTable(title, ["t", "mean Z", "lowest", "highest", "mean error in %"], rows, [remark])


def by_seed(sets: Sequence[DataSet]) -> TextTable:
    """The published comparisons of scores beside ours over splits by several seeds."""
    (study,) = fcll_2011(sets, slow=False)
    entries = [entry for entry in study.entries if any(entry.name in pair for pair in BY_SCORE)]
    results = [run(with_seed(study, seed), entries) for seed in MORE_SEEDS]
    rows = []
    for first, second in BY_SCORE:
        z = np.array([wilcoxon(own.column(first, "error"), own.column(second, "error")).z for own in results])
        cell = published.TABLE_3[first][published.BAYESIAN.index(second)]
        assert cell is not None
        inside = "yes" if z.min() <= float(cell[0]) <= z.max() else "**no**"
        rows.append([f"{first} against {second}", f"{float(cell[0]):.2f}", *show_spread(z), inside])
    header = ["trees", "Z published", "mean Z", "lowest", "highest", "inside"]
    remark = f"{len(MORE_SEEDS)} seeds. aCLL is that of 2011: for more than two classes the other classes pooled."
    return TextTable("Scores against each other, by the split", header, rows, [remark])


def by_rows(sets: Sequence[DataSet]) -> TextTable:
    """Which rows the tree is learnt from, the tables always from the training part; over splits by several seeds."""
    (study,) = fcll_2011(sets, slow=False)
    results = kept(study)
    kinds = {("fcll", False): "training part", ("fcll", True): "all rows"}
    zs: dict[str, list[float]] = {name: [] for name in kinds.values()}
    first: dict[str, Values] = {}
    for seed in MORE_SEEDS:
        errors = np.array([tree_errors(study, each, seed, [("ll", False), *kinds]) for each in study.data_sets]).T
        for name, own in zip(kinds.values(), errors[1:], strict=True):
            zs[name].append(wilcoxon(own, errors[0]).z)
            first.setdefault(name, own)
    rows = [
        ["published", f"{published_z(OTHERS[0]):.2f}", "", "", *(f"{published_z(each):.2f}" for each in OTHERS[1:])]
    ]
    for name, own in first.items():
        against = [wilcoxon(own, results.column(other, "error")).z for other in OTHERS[1:]]
        rows.append([name, *show_spread(np.array(zs[name])), *(f"{z:.2f}" for z in against)])
    header = ["tree of TAN-fCLL from", "mean Z against TAN-LL", "lowest", "highest", *OTHERS[1:]]
    remarks = [
        f"TAN-LL learns from the training part; {len(MORE_SEEDS)} seeds. The last columns: Z of the study's own split.",
        "A tree from all rows has seen the answers to the test: it shows what such a slip would do, nothing else.",
    ]
    return TextTable("Splits, and the rows that a tree is learnt from", header, rows, remarks)


def published_z(other: str) -> float:
    """Of TAN-fCLL against another classifier."""
    tables = (published.BAYESIAN, published.TABLE_3), (published.OTHERS, published.TABLE_4)
    (cell,) = (table["TAN-fCLL"][columns.index(other)] for columns, table in tables if other in columns)
    return float(cell[0])


def tree_errors(study: Study, data_set: DataSet, seed: int, kinds: Sequence[tuple[str, bool]]) -> list[float]:
    """Mean error over the folds of trees by (score, whether they have seen all rows)."""
    data = replace(study.protocol, seed=seed).prepare(data_set)
    result = []
    for score, seen in kinds:
        clf = BayesianNetworkClassifier("tan", score, HALF_A_ROW, missing="category")
        if seen:
            whole = clone(clf).fit(data.X, data.y).network_
            edges = [edge for edge in whole.edges if whole.target not in edge]
            clf.set_params(structure=Fixed(edges), criterion=None)
        wrong = [
            (clone(clf).fit(data.X.take(train), data.y[train]).predict(data.X.take(test)) != data.y[test]).mean()
            for train, test in data.folds
        ]
        result.append(float(np.mean(wrong)))
    return result


def by_pairs(sets: Sequence[DataSet]) -> TextTable:
    """The study's own results, tested over other pairs of values than one for each set."""
    (study,) = fcll_2011(sets, slow=False)
    results = kept(study)
    split = study.protocol.split
    folded = np.array([split.count(each) > 1 for each in study.data_sets])
    by_fold = {(each["set"], each["classifier"], each["fold"]): each.get("accuracy") for each in results.records}
    rows = []
    for other in (*OTHERS, "SVM2", "C4.5"):
        own, its = results.column("TAN-fCLL", "error"), results.column(other, "error")
        keys = [key for key in by_fold if key[1] == other and by_fold[key] is not None]
        folds = [(-by_fold[name, "TAN-fCLL", fold], -by_fold[name, other, fold]) for name, _, fold in keys]
        zs = [wilcoxon(own, its), wilcoxon(own[folded], its[folded]), wilcoxon(own[~folded], its[~folded])]
        zs.append(wilcoxon(*np.array(folds).T))
        rows.append([other, f"{published_z(other):.2f}", *(f"{each.z:.2f} ({each.n})" for each in zs)])
    header = ["TAN-fCLL against", "Z published", "sets", "sets by 5 folds", "sets by one split", "all folds"]
    return TextTable("Z over parts of the sets, and over folds in place of sets (pairs)", header, rows)


def by_input(sets: Sequence[DataSet]) -> TextTable:
    """Z against a linear machine by what it sees: the bins as the others, or the numbers themselves."""
    (study,) = fcll_2011(sets, slow=False)
    split = study.protocol.split
    study = replace(study, data_sets=[each for each in study.data_sets if split.train_rows(each) <= MAX_ROWS_4])
    rows = []
    for name, (tree_cuts, cuts, preparation) in INPUTS.items():
        zs = []
        for seed in SEEDS:
            tree, machine = (
                replace(study, protocol=replace(study.protocol, cuts=own, seed=seed)) for own in (tree_cuts, cuts)
            )
            svm = Entry("SVM", OnTable(SVC(kernel="linear"), preparation))
            errors = run(tree, make_entries({"TAN-fCLL": f"tan:fcll:{OFE}"})).matrix("error")
            zs.append(wilcoxon(errors[:, 0], run(machine, [svm]).matrix("error")[:, 0]).z)
        rows.append([name, *show_spread(np.array(zs))])
    remark = f"C = 1, {len(study.data_sets)} sets, {len(SEEDS)} seeds; published: {published_z('SVM'):.2f}."
    return TextTable("TAN-fCLL against a linear SVM", ["the SVM sees", "mean Z", "lowest", "highest"], rows, [remark])
