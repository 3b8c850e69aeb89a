"""Zhou 2002, tables 4-2 (complete data) and 4-3 (a quarter of the cells removed): likelihood against CLL."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import numpy as np
from scipy import stats

from experiments.papers.common import (
    CUTS_NOTE,
    FRIEDMAN_SPLIT,
    GENERATED,
    NOT_RUN,
    SPLIT_NOTE,
    better,
    by_classifier,
    group,
)
from experiments.papers.comparison import Claim, Comparison, Kind, PublishedTest
from experiments.papers.protocol import PaperProtocol
from experiments.papers.published import zhou_4_2 as table_4_2
from experiments.papers.published import zhou_4_3 as table_4_3
from experiments.papers.study import PaperStudy
from experiments.papers.tables import mean_difference
from experiments.studies.data_sets import DataSet
from experiments.studies.entries import Entry, make_entries
from experiments.studies.on_table import OnTable
from experiments.studies.results import Matrix, Results

CLGD = "conditional(prior=None, stopping=cross-tuning)"
SAME_FOR_ALL = "the published figure is the same for every classifier: a fault of that implementation"
NOTES = (
    "All rows are kept and an empty cell is a value: the published errors are whole numbers of rows only so "
    "(hepatitis 18.06 % = 28/155, crx 13.91 % = 96/690), although table 4-1 lists the complete rows.",
    "Five folds there have floor(n/5) rows each, the rest is never tested (breast 3.45 % = 24/695); here every row "
    "is tested once. Their margins are standard errors, ours 95 % intervals of the mean over the folds.",
    "LM: frequencies with one pseudo-row per cell. CLGD: ascent on CLL from there, the number of iterations chosen "
    "on held-out folds. +conditional: our default prior instead, its strength chosen on held-out folds.",
)

WHY_NOT_THE_SAME = (
    "The thesis's t tests follow from its printed errors, .0010 and .015, so the test is ours. NB+CLGD gains as much "
    "over NB+LM here as there on average, but less evenly: much more on vehicle, less on glass2, and a t test asks for "
    "even gains. TAN+CLGD gains less here than there, most of all on vehicle. Without those two sets NB has "
    "nearly the same p in both tables, and TAN still has a larger p here (experiments/READINGS.md).",
    "There vehicle and segment err far more than here, for LM and CLGD alike, while letter and satimage agree: the "
    "cuts of those two seem to have gone wrong there (the thesis suspects its discretisation on three sets), and the "
    "published gain of TAN+CLGD on vehicle, 3.9 %, starts from such an error.",
    "p also varies with the split, and falls with cuts learnt on all rows; but LM's errors are then further from the "
    "published ones, so the thesis seems not to have cut so. The thesis does not say when CLGD stops: without "
    "stopping early it gains on neither structure as published. Our default prior (+conditional) gains more than "
    "either (experiments/READINGS.md).",
)

LEFT_OUT = ("glass", "hepatitis", "segment")
"""The three sets that section 4.2.1 leaves out and does not name: no other three give the four printed p."""
TESTS_4_2 = (
    PublishedTest("NB+CLGD", "NB+LM", None, "0.001 (t)"),
    PublishedTest("NB+CLGD", "C4.5", None, "0.138 (t)", LEFT_OUT),
    PublishedTest("NB+CLGD", "SNB+LM", None, "0.016 (t)", LEFT_OUT),
    PublishedTest("NB+CLGD", "TAN+LM", None, "0.241 (t)"),
    PublishedTest("TAN+CLGD", "NB+CLGD", None, "0.125 (t)"),
    PublishedTest("TAN+CLGD", "TAN+LM", None, "0.015 (t)"),
    PublishedTest("TAN+CLGD", "C4.5", None, "0.032 (t)", LEFT_OUT),
    PublishedTest("TAN+CLGD", "SNB+LM", None, "0.018 (t)", LEFT_OUT),
)
NOTES_4_3 = (
    "Cells are removed in training and test rows alike, with one seed; gaps are summed out in training and prediction.",
    "The published figures of sets of numbers (iris 51 %, glass, letter, shuttle-small) say that the discretisation "
    "there broke down with gaps; sets of categories can be compared.",
)

WAYS: tuple[tuple[str, Kind], ...] = (("CLGD", "as printed"), ("conditional", "ours"))
"""The paper's learner, and ours with its prior."""


def zhou_4_2(sets: Sequence[DataSet], slow: bool) -> list[PaperStudy]:
    """Table 4-2."""
    from sklearn.tree import DecisionTreeClassifier

    entries = make_entries(
        {
            "NB+LM": "naive-bayes:frequency",
            "NB+CLGD": f"naive-bayes:{CLGD}",
            "NB+conditional": "naive-bayes:conditional",
            "TAN+LM": "tan:ll:frequency",
            "TAN+CLGD": f"tan:ll:{CLGD}",
            "TAN+conditional": "tan:ll:conditional",
            "SNB+LM": "selective(by=accuracy, patience=5):frequency",
        }
    )
    entries.append(Entry("C4.5", OnTable(DecisionTreeClassifier(min_samples_leaf=2), "binned-one-hot")))
    figures = {"error": by_classifier(table_4_2.ERRORS, table_4_2.CLASSIFIERS)}
    not_same = {"glass": SAME_FOR_ALL, "shuttle-small": GENERATED}
    not_above = partial(_mean_not_above, comparison=Comparison(figures, not_same=not_same))
    comparison = Comparison(
        figures,
        TESTS_4_2,
        not_same,
        claims=(
            *(
                Claim(
                    f"{structure}+{way} beats {structure}+LM, p <= {level}",
                    partial(_both, first=f"{structure}+{way}", second=f"{structure}+LM", level=level),
                    kind,
                )
                for way, kind in WAYS
                for structure, level in (("NB", 0.001), ("TAN", 0.015))
            ),
            *(
                Claim(f"mean error of {column} not above the published one", partial(not_above, column=column), "ours")
                for column in ("NB+LM", "NB+CLGD", "TAN+LM", "TAN+CLGD")
            ),
        ),
    )
    notes = (
        *NOTES,
        SPLIT_NOTE,
        CUTS_NOTE,
        *WHY_NOT_THE_SAME,
        "SNB+LM: the best-first search of Kohavi and John (1997), which gives up after five sets enlarged in vain; "
        "theirs judges by repeated five-fold cross-validation, ours by leaving one row out, and theirs may also take "
        "several steps at once. C4.5: scikit-learn's CART stands in, on the same bins.",
        "The published tests are one-sided t tests over paired errors; ours here are signed-rank tests.",
        "Section 4.2.1 leaves three sets out of the comparisons with C4.5 and SNB+LM, and does not name them. Of all "
        f"choices of three, only {', '.join(LEFT_OUT)} give the four printed p (.138, .016, .032, .018) from the "
        "printed errors, so these are left out of our tests too; the last column has p over all sets.",
    )
    return [
        PaperStudy(
            "zhou-4-2",
            "Zhou 2002, table 4-2: complete data",
            group(sets, "friedman25"),
            entries,
            PaperProtocol(FRIEDMAN_SPLIT),
            measures=("error",),
            notes=notes,
            comparison=comparison,
        )
    ]


def zhou_4_3(sets: Sequence[DataSet], slow: bool) -> list[PaperStudy]:
    """Table 4-3."""
    entries = make_entries(
        {
            "NB+LEM": "naive-bayes:em",
            "NB+LGD": "naive-bayes:likelihood-gradient",
            "NB+CLGD": f"naive-bayes:{CLGD}",
            "TAN+LEM": "tan:ll:em",
            "TAN+LGD": "tan:ll:likelihood-gradient",
            "TAN+CLGD": f"tan:ll:{CLGD}",
        }
    )
    comparison = Comparison(
        figures={"error": by_classifier(table_4_3.ERRORS, table_4_3.CLASSIFIERS)},
        tests=(
            PublishedTest("NB+CLGD", "NB+LGD", None, "0.024 (t)"),
            PublishedTest("NB+CLGD", "NB+LEM", None, "0.012 (t)"),
        ),
        not_same={
            "glass": SAME_FOR_ALL,
            "glass2": SAME_FOR_ALL,
            "letter": SAME_FOR_ALL,
            "shuttle-small": f"{GENERATED}; and {SAME_FOR_ALL}",
        },
    )
    return [
        PaperStudy(
            "zhou-4-3",
            "Zhou 2002, table 4-3: a quarter of all cells removed at random",
            group(sets, "friedman25"),
            entries,
            PaperProtocol(FRIEDMAN_SPLIT, missing="marginalize", removed_share=0.25),
            measures=("error",),
            notes=(*NOTES_4_3, SPLIT_NOTE, CUTS_NOTE),
            comparison=comparison,
        )
    ]


def _both(results: Results, first: str, second: str, level: float) -> tuple[bool, str]:
    """The paper's paired t test decides; the signed-rank test is told too."""
    _, ranks = better(results, first, second, "error", level)
    if ranks == NOT_RUN:
        return False, ranks
    p = paired_t(results.column(first, "error"), results.column(second, "error"))
    return p <= level, f"t test p = {p:.2g}; {ranks}"


def paired_t(first: Matrix, second: Matrix) -> float:
    """p of the one-sided paired t test that the first errors are the lower ones; NaN if there are not two pairs."""
    pairs = np.column_stack([first, second])
    pairs = pairs[~np.isnan(pairs).any(axis=1)]
    return float(stats.ttest_rel(pairs[:, 0], pairs[:, 1], alternative="less").pvalue) if len(pairs) > 1 else np.nan


def _mean_not_above(results: Results, comparison: Comparison, column: str) -> tuple[bool, str]:
    difference = mean_difference(results, comparison, "error", column)
    return difference <= 0, NOT_RUN if np.isnan(difference) else f"ours minus published: {difference:+.2f} %"
