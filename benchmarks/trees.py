"""The optimal TAN from a table of integer codes to a fitted classifier, against naive Bayes and against other TANs.

Peers are timed if they are installed: pyAgrum, pgmpy, and Weka if $WEKA_JAR names its jar and there is a java. Slow
peers get fewer rows; ours is then timed on the same rows.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
import time
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from sklearn.naive_bayes import CategoricalNB

from benchmarks.timing import best_time, peak_memory, print_head, print_row
from benchmarks.workloads import random_tan
from tanager import BayesianNetworkClassifier, TANClassifier

Codes = NDArray[np.int64]


def main() -> None:
    print_head()
    for n_rows, n_attributes, n_states, asked in (
        (200_000, 50, 5, "at least 1x"),
        (1_000_000, 100, 4, "at least 2x"),
    ):
        compare_with_naive_bayes(n_rows, n_attributes, n_states, asked)
    compare_scores()
    compare_peers()
    show_growth()
    bckg()


def tan(criterion: str = "fcll") -> TANClassifier:
    return TANClassifier(criterion=criterion, parameters="frequency", categorical_features="all")


def compare_with_naive_bayes(n_rows: int, n_attributes: int, n_states: int, asked: str) -> None:
    X, y = random_tan(n_rows, n_attributes, n_states)
    name = f"{n_rows:,} x {n_attributes}, {n_states} states"
    clf = tan().fit(X, y)
    clf.predict_proba(X)
    fit, _ = best_time(lambda: clf.fit(X, y))
    peer_fit, peer = best_time(lambda: CategoricalNB().fit(X, y), 2)
    print_row(f"TAN-fCLL fit, {name}", fit, "CategoricalNB (naive Bayes)", peer_fit, asked)
    predict, _ = best_time(lambda: clf.predict_proba(X))
    peer_predict, _ = best_time(lambda: peer.predict_proba(X), 1)
    print_row(f"TAN predict_proba, {name}", predict, "CategoricalNB (naive Bayes)", peer_predict, "at least 2x")
    one, _ = best_time(lambda: clf.predict_proba(X[:1]), 300)
    print_row(f"TAN predict_proba, one row of {n_attributes}", one, "", None, "under 0.5 ms")
    codes, tables = X.size / 1e6, n_attributes * (n_attributes - 1) / 2 * n_states**2 * 2 * 8 / 1e6
    print(
        f"| TAN-fCLL fit, {name}, peak memory | {peak_memory(lambda: clf.fit(X, y)):.0f} MB | codes {codes:.0f} MB, "
        f"count tables {tables:.1f} MB | | at most {2 * codes + tables:.0f} MB |"
    )


def compare_scores() -> None:
    for n_rows, n_attributes, n_states in ((200_000, 50, 5), (2_000, 1_000, 3)):
        X, y = random_tan(n_rows, n_attributes, n_states)
        times = {}
        for score in ("fcll", "acll"):
            clf = tan(score).fit(X, y)
            times[score], _ = best_time(lambda clf=clf, X=X, y=y: clf.fit(X, y), 5)
        name = f"{n_rows:,} x {n_attributes:,}, {n_states} states"
        print_row(f"TAN-fCLL fit, {name}", times["fcll"], "", None, "under 0.5 s" if n_attributes == 1_000 else "")
        print_row(f"TAN-aCLL fit, {name}", times["acll"], "TAN-fCLL", times["fcll"], "at least 0.67x")


def compare_peers() -> None:
    peers: tuple[tuple[str, bool, Callable[[Codes, Codes], float], int], ...] = (
        ("Weka", bool(os.environ.get("WEKA_JAR")) and shutil.which("java") is not None, time_weka, 200_000),
        ("pyAgrum", find_spec("pyagrum") is not None, time_pyagrum, 20_000),
        ("pgmpy", find_spec("pgmpy") is not None, time_pgmpy, 20_000),
    )
    for name, there, measure, n_rows in peers:
        shapes = [(n_rows, 50, 5, "at least 100x" if name == "Weka" else "")]
        if name == "Weka":
            shapes.append((2_000, 1_000, 3, "at least 50x"))
        for rows, n_attributes, n_states, asked in shapes:
            workload = f"TAN fit, {rows:,} x {n_attributes:,}, {n_states} states"
            if not there:
                print(f"| {workload} | | {name}: not installed | | {asked} |")
                continue
            X, y = random_tan(rows, n_attributes, n_states)
            clf = tan("ll").fit(X, y)
            ours, _ = best_time(lambda clf=clf, X=X, y=y: clf.fit(X, y))
            try:
                print_row(workload, ours, name, measure(X, y), asked)
            except Exception as error:  # a peer's own fault must not end the run
                print_row(workload, ours, f"{name} failed: {type(error).__name__}", None, asked)


def time_weka(X: Codes, y: Codes) -> float:
    """Seconds Weka itself reports for building its TAN, reading the file not counted."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "table.arff"
        values = [sorted(set(column)) for column in (*X.T.tolist(), y.tolist())]
        header = "".join(f"@attribute a{j} {{{','.join(map(str, v))}}}\n" for j, v in enumerate(values))
        with path.open("w") as file:
            file.write(f"@relation t\n{header}@data\n")
            np.savetxt(file, np.column_stack([X, y]), fmt="%d", delimiter=",")
        search = "weka.classifiers.bayes.net.search.local.TAN"
        command = ["java", "-Xmx8g", "-cp", os.environ["WEKA_JAR"], "weka.classifiers.bayes.BayesNet", "-t", str(path)]
        command += ["-no-cv", "-v", "-D", "-Q", search]
        output = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    line = next(line for line in output.splitlines() if "build model" in line)
    return float(line.split(":")[1].split()[0])


def time_pyagrum(X: Codes, y: Codes) -> float:
    import pandas as pd
    import pyagrum.skbn as skbn
    from pyagrum.lib.discreteTypeProcessor import DiscreteTypeProcessor

    frame = pd.DataFrame(X, columns=[f"a{j}" for j in range(X.shape[1])]).astype(str)
    start = time.perf_counter()
    clf = skbn.BNClassifier(learningMethod="TAN", type_processor=DiscreteTypeProcessor())
    clf.fit(frame, pd.Series(y.astype(str), name="y"))
    return time.perf_counter() - start


def time_pgmpy(X: Codes, y: Codes) -> float:
    import pandas as pd
    from pgmpy.estimators import TreeSearch

    frame = pd.DataFrame(X, columns=[f"a{j}" for j in range(X.shape[1])]).assign(y=y)
    start = time.perf_counter()
    TreeSearch(frame, root_node="a0", n_jobs=1).estimate(estimator_type="tan", class_node="y", show_progress=False)
    return time.perf_counter() - start


def show_growth() -> None:
    """Time is linear in rows and quadratic in attributes: doubling one at a time, against the size before."""
    for name, sizes in (
        ("rows", [(n, 50) for n in (250_000, 500_000, 1_000_000, 2_000_000)]),
        ("attributes", [(20_000, n) for n in (125, 250, 500, 1_000)]),
    ):
        before = None
        for n_rows, n_attributes in sizes:
            X, y = random_tan(n_rows, n_attributes, 3)
            clf = tan().fit(X, y)
            seconds, _ = best_time(lambda clf=clf, X=X, y=y: clf.fit(X, y))
            growth = "" if before is None else f"{seconds / before:.2f} times the size before"
            workload = f"TAN-fCLL fit, {n_rows:,} x {n_attributes:,}: twice the {name}"
            print(f"| {workload} | {seconds * 1e3:.0f} ms | {growth} | | |")
            before = seconds


def bckg() -> None:
    for name, shape, asked in (
        ("letter's shape, 20,000 x 16, 26 classes, 10 states", (20_000, 16, 10, 26), "under 2 s"),
        ("chess's shape, 3,196 x 36, 2 classes, 2 states", (3_196, 36, 2, 2), "under 1 s"),
    ):
        X, y = random_tan(*shape)
        clf = BayesianNetworkClassifier("bckg", parameters="frequency", categorical_features="all").fit(X, y)
        seconds, _ = best_time(lambda clf=clf, X=X, y=y: clf.fit(X, y))
        print_row(f"BCkG (k=2) fit, {name}", seconds, "", None, asked)


if __name__ == "__main__":
    main()
