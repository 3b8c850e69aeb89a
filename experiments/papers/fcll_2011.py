"""fCLL 2011, section 5: TAN and hill climbing with fCLL against LL, ELR and today's (2011) other classifiers."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from typing import Any

from experiments.papers.common import FRIEDMAN_SPLIT, NOT_RUN, SPLIT_NOTE, better, group
from experiments.papers.comparison import Claim, Comparison, PublishedTest
from experiments.papers.protocol import PaperProtocol
from experiments.papers.published import fcll_2011 as published
from experiments.papers.study import PaperStudy
from experiments.studies.data_sets import DataSet
from experiments.studies.entries import Entry, make_entries
from experiments.studies.on_table import OnTable
from experiments.studies.results import Results
from experiments.studies.statistics import wilcoxon
from experiments.studies.tables import show_test

OFE = "frequency(alpha=0.5)"
# 5 folds of kernel machines with 4 and with 20 settings take more than minutes beyond so many training rows.
MAX_ROWS_4, MAX_ROWS_20 = 5_000, 2_500
C = [0.1, 1.0, 10.0, 100.0]
GAMMA = [1e-3, 1e-2, 1e-1, 1.0, 10.0]
NOTES = (
    "Incomplete rows are dropped, except in vote, whose 435 rows need the empty cell as a value.",
    "OFE: frequencies with half a pseudo-row per cell. GHC2: hill climbing with one attribute parent besides the class "
    "(Weka's P=2). ELR: conditional with the number of iterations chosen on held-out folds. aCLL: that of this paper, "
    "which for more than two classes pools the others (section 4.4). What is published of it against fCLL and LL lies "
    "within our range over ten seeds (experiments/READINGS.md).",
    "Numbers are cut once, on all rows of a set: the paper used a Weka filter, which does so, by the rule that is "
    "ours. The cuts have seen the test rows, and everyone errs less than with cuts from the training part.",
    "TAN-fCLL's lead over TAN-LL (Z 2.13) is not found, and after two independent searches its cause is open. Ruled "
    "out: the split (no seed comes near) and any other weight of the two informations that the score is made of, so "
    "also a slip in a constant, a sign or the base of a logarithm; tests over folds in place of sets (all in "
    "experiments/READINGS.md). Tried by hand, in vain: cuts from the training part; gaps as a value or filled with "
    "the commonest one, and no row dropped; categories written as digits taken as numbers; other smoothing, in the "
    "tables and in the score; another root; leaving out edges that gain nothing; constants for more than two classes; "
    "K2, BDeu or MDL in the place of LL. Weka's LL and TAN are ours by its source, and a second program after that "
    "source errs alike.",
    "One slip would move TAN-fCLL towards the published figures against all others at once: its tree, but not that of "
    "TAN-LL, learnt from all rows, tests too (experiments/READINGS.md). The paper says nothing of the kind, and its "
    "accuracies by set, once on its web page, are not printed: this is a guess. What is left besides are its copies of "
    "the sets.",
    "Against SVM TAN-fCLL is a little behind, not ahead; neither our Z nor the published one is significant. It is "
    "ahead on the sets by five folds and behind on those split once. C, the split and cuts from the training part "
    "change no sign; with numbers in place of bins for the SVM the two are level, but the paper gave it bins "
    "(experiments/READINGS.md). So this is the same shift as against TAN-LL. fCLL loses to LL on vote and segment, "
    "perhaps since it avoids edges between attributes that say the same of the class.",
    "The others see the same bins, one-hot. C4.5: scikit-learn's CART stands in. LogR: without penalty (C = 1e8). "
    "SVM, SVM2, SVMG: C (and gamma) from the paper's grid by 5-fold cross-validation inside the training part.",
)


def fcll_2011(sets: Sequence[DataSet], slow: bool) -> list[PaperStudy]:
    """Tables 3 and 4."""
    entries = make_entries(
        {
            "TAN-fCLL": f"tan:fcll:{OFE}",
            "GHC2-fCLL": f"hill-climb(max_parents=1):fcll:{OFE}",
            "TAN-aCLL": f"tan:acll(at=pooled):{OFE}",
            "GHC2-LL": f"hill-climb(max_parents=1):ll:{OFE}",
            "TAN-LL": f"tan:ll:{OFE}",
            "TAN-LL-ELR": "tan:ll:conditional(prior=None, stopping=cross-tuning)",
        }
    )
    entries += [
        Entry(name, OnTable(estimator, "binned-one-hot"), None if slow else max_rows)
        for name, estimator, max_rows in _others()
    ]
    claims = (
        Claim(
            "TAN-fCLL beats TAN-LL, p < 0.05",
            partial(better, first="TAN-fCLL", second="TAN-LL", measure="error", level=0.05),
        ),
        Claim("TAN-fCLL is at or above SVM", partial(_at_or_above, first="TAN-fCLL", second="SVM")),
    )
    grid = "" if slow else f" Without --slow only up to {MAX_ROWS_4:,} training rows, SVMG up to {MAX_ROWS_20:,}."
    return [
        PaperStudy(
            "fcll-2011",
            "fCLL 2011, tables 3 and 4: accuracy on the 25 sets",
            group(sets, "friedman25"),
            entries,
            PaperProtocol(FRIEDMAN_SPLIT, drop_incomplete=True, kept_incomplete=("vote",), cuts="all rows"),
            measures=("error",),
            notes=(*NOTES[:-1], NOTES[-1] + grid, SPLIT_NOTE),
            comparison=Comparison(tests=tuple(_tests()), claims=claims),
        )
    ]


def _others() -> Iterator[tuple[str, Any, int | None]]:
    from sklearn.linear_model import LogisticRegression
    from sklearn.model_selection import GridSearchCV
    from sklearn.neighbors import KNeighborsClassifier
    from sklearn.svm import SVC
    from sklearn.tree import DecisionTreeClassifier

    yield "C4.5", DecisionTreeClassifier(min_samples_leaf=2), None
    for k in (1, 3, 5):
        yield f"{k}-NN", KNeighborsClassifier(k), None
    grid = {"C": C}
    yield "SVM", GridSearchCV(SVC(kernel="linear"), grid), MAX_ROWS_4
    yield "SVM2", GridSearchCV(SVC(kernel="poly", degree=2), grid), MAX_ROWS_4
    yield "SVMG", GridSearchCV(SVC(), {**grid, "gamma": GAMMA}), MAX_ROWS_20
    yield "LogR", LogisticRegression(C=1e8, max_iter=1000), None


def _tests() -> Iterator[PublishedTest]:
    for columns, table in ((published.BAYESIAN, published.TABLE_3), (published.OTHERS, published.TABLE_4)):
        for first, row in table.items():
            for second, cell in zip(columns, row, strict=True):
                if cell is not None:
                    yield PublishedTest(first, second, *cell)


def _at_or_above(results: Results, first: str, second: str) -> tuple[bool, str]:
    test = wilcoxon(results.column(first, "error"), results.column(second, "error"))
    return test.n > 0 and test.z >= 0, f"Z {show_test(test)}, {test.n} sets" if test.n else NOT_RUN
