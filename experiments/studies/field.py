"""The field today: our variants against what people use, everyone at the defaults of their library."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from importlib.util import find_spec

from experiments.studies.data_sets import DataSet
from experiments.studies.entries import Entry, make_entries, parse_estimator
from experiments.studies.on_table import OnTable
from experiments.studies.protocol import Protocol
from experiments.studies.study import Study
from experiments.studies.tuned_lightgbm import N_FOLDS, N_TRIALS, tuned_lightgbm

CLASSICS = {
    "NB": "naive-bayes:frequency",
    "NB weighted": "naive-bayes:weighted",
    "NB, attributes selected": "selective:frequency",
    "NB, maximum margin": "naive-bayes:conditional(objective=margin)",
    "NB, margin and likelihood": "naive-bayes:conditional(objective=mixed-margin, prior=uniform)",
    "TAN-LL": "tan:ll:frequency(smoothing=friedman)",
    "KDB, k = 3": "kdb(k=3):frequency",
    "KDB, k = 3, hierarchical": "kdb(k=3):hierarchical",
    "SKDB": "skdb:frequency",
    "AODE": "aode:frequency",
    "AODE by information": "aode(weights=information):frequency",
    "AODE, fitted weights": "aode(weights=conditional):frequency",
    "A2DE": "aode(n=2):frequency",
    "tree average": "tree-average:k2:frequency",
}
"""What researchers of the field expect to find: docs/comparison.md shows which of them pays where."""

QUICK_SETS = ("corral", "glass2", "heart", "hepatitis", "iris", "lymphography", "vote", "zoo")
MAX_ROWS = 60_000
# The cost of a kernel machine grows with the square of its training rows, six times over for its calibration.
MAX_ROWS_KERNEL, MAX_ROWS_KERNEL_SLOW = 10_000, 60_000
# Neural networks on one thread of a CPU: sets of up to 5,000 rows, four fifths of them to train on.
MAX_ROWS_NEURAL = 4_000
# One fit and its prediction.
LIMIT_SECONDS, LIMIT_SECONDS_SLOW = 180.0, 3600.0

OURS = {
    "tanager default": "default",
    "NB conditional": "naive-bayes:conditional",
    "TAN-fCLL": "tan:fcll:frequency(smoothing=friedman)",
    "TAN-LL conditional": "tan:ll:conditional",
}
# Rivals that are not dependencies: name, import path, preparation. CatBoost lists only those of its options that are
# given, so the number of threads and the seed are given here for `Entry.configured` to find.
OTHERS = (
    ("LightGBM", "lightgbm.LGBMClassifier(verbose=-1)", "native"),
    ("XGBoost", "xgboost.XGBClassifier", "native"),
    (
        "CatBoost",
        "catboost.CatBoostClassifier(thread_count=1, random_seed=0, allow_writing_files=False, verbose=False)",
        "text",
    ),
    ("ChimeraBoost", "chimeraboost.ChimeraBoostClassifier", "native"),
    ("AODE (scikit-bayes)", "skbn.AnDE(n_dependence=1)", "bins"),
    ("ALR (scikit-bayes)", "skbn.ALR(n_dependence=1)", "bins"),
)
SLOW_OTHERS = (("EBM", "interpret.glassbox.ExplainableBoostingClassifier", "native"),)
# For log-loss pytabkit's documentation advises cross-entropy on the rows held out, and labels that are not smoothed.
NEURAL_OTHERS = (
    ("RealMLP", "pytabkit.RealMLP_TD_Classifier(device=cpu, val_metric_name=cross_entropy, use_ls=False)", "filled"),
    ("TabM", "pytabkit.TabM_D_Classifier(device=cpu, val_metric_name=cross_entropy)", "filled"),
)
NOTES = (
    "Stratified 5-fold cross-validation, the same folds for all, each fit on one thread. Nobody is tuned beyond the "
    "defaults of their library; logistic regression may take 1,000 iterations, the random forest has 300 trees.",
    "Ours: an empty cell is a state of its own. CategoricalNB and scikit-bayes see the bins that ours see. Logistic "
    "regression, SVC, k-NN, GaussianNB, random forest and decision tree: one-hot, scaled numbers, median and indicator "
    "for gaps. Gradient boosting (LightGBM, XGBoost, CatBoost, ChimeraBoost) and EBM: categories and gaps as they are; "
    "for CatBoost a gap of a category is one more category. SVC's probabilities: Platt's, by 5 folds.",
    "A class unseen in training gets 1 / (rows + classes); a probability below 1e-15 counts as 1e-15.",
    "Rules of tanager default and the priors of conditional were chosen on these sets and folds, so their figures are "
    "optimistic for new sets. The README has the half of the sets on which the additive model's rules were not chosen.",
)
SLOW_NOTE = (
    f"The exception is LightGBM ({N_TRIALS} trials), tuned by random search on {N_FOLDS} folds of its training rows by "
    "log-loss. RealMLP and TabM (pytabkit), where installed: sets of up to 5,000 rows, epochs chosen by cross-entropy, "
    "no smoothing of labels; categories as they are, median and indicator for gaps of numbers."
)


def field_study(sets: Sequence[DataSet], quick: bool = False, slow: bool = False) -> Study:
    """All sets that can be done in an hour; `quick`: a few small ones; `slow`: every set and every rival."""
    if quick:
        sets = [data_set for data_set in sets if data_set.name in QUICK_SETS]
    elif not slow:
        sets = [data_set for data_set in sets if data_set.n_rows <= MAX_ROWS]
    limit_seconds = LIMIT_SECONDS_SLOW if slow else LIMIT_SECONDS
    limits = [
        f"A fit that takes more than {limit_seconds:,.0f} seconds is given up, and with it the other folds of the set: "
        "see the table of failures."
    ]
    if slow:
        limits.append(SLOW_NOTE)
    else:
        limits.append(
            f"Sets of up to {MAX_ROWS:,} rows (SVC: {MAX_ROWS_KERNEL:,} to train on); --slow has all, and EBM, "
            "RealMLP, TabM and LightGBM tuned."
        )
    return Study(
        "field",
        "The field today",
        sets,
        [*make_entries({**OURS, **CLASSICS}), *rivals(slow)],
        Protocol(),
        measures=("log_loss", "error", "brier", "auc", "fit_seconds", "predict_seconds"),
        notes=(*NOTES, *limits),
        limit_seconds=limit_seconds,
    )


def rivals(slow: bool) -> Iterator[Entry]:
    """Other people's classifiers: scikit-learn's, and further ones where they are installed."""
    from sklearn.calibration import CalibratedClassifierCV
    from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
    from sklearn.linear_model import LogisticRegression
    from sklearn.naive_bayes import CategoricalNB, GaussianNB
    from sklearn.neighbors import KNeighborsClassifier
    from sklearn.svm import SVC
    from sklearn.tree import DecisionTreeClassifier

    kernel_rows = MAX_ROWS_KERNEL_SLOW if slow else MAX_ROWS_KERNEL
    yield Entry("logistic regression", OnTable(LogisticRegression(max_iter=1000)))
    yield Entry("random forest (300)", OnTable(RandomForestClassifier(300)))
    yield Entry("gradient boosting", OnTable(HistGradientBoostingClassifier(), "native"))
    yield Entry("CategoricalNB", OnTable(CategoricalNB(), "bins"))
    yield Entry("GaussianNB", OnTable(GaussianNB()))
    yield Entry("SVC", OnTable(CalibratedClassifierCV(SVC(), ensemble=False)), kernel_rows)
    yield Entry("k-NN", OnTable(KNeighborsClassifier()))
    yield Entry("decision tree", OnTable(DecisionTreeClassifier()))
    yield from _installed(OTHERS)
    if slow:
        yield from _installed(SLOW_OTHERS)
        yield from _installed(NEURAL_OTHERS, MAX_ROWS_NEURAL)
        if find_spec("lightgbm"):
            yield Entry(f"LightGBM ({N_TRIALS} trials)", tuned_lightgbm())


def _installed(others: Sequence[tuple[str, str, str]], max_rows: int | None = None) -> Iterator[Entry]:
    """Those whose package is installed."""
    for name, spec, preparation in others:
        if find_spec(spec.partition(".")[0]):
            yield Entry(name, parse_estimator(spec).set_params(preparation=preparation), max_rows)
