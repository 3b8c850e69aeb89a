"""Training with missing cells: EM on 100,000 rows of a TAN of 30 attributes of 5 states, 20 % of the cells missing.

One iteration is the additional time of one more `max_iter`, with prepared rows. In predictions 10 % of the cells are
missing; the same rows without missing cells are the reference.
"""

from __future__ import annotations

import warnings

import numpy as np
from numpy.typing import NDArray
from sklearn.exceptions import ConvergenceWarning

from benchmarks.timing import best_time, peak_memory, print_head, print_row
from benchmarks.workloads import random_tan
from tanager import TANClassifier
from tanager.counts.count_store import CountStore
from tanager.counts.engine import choose_engine
from tanager.parameters import EM, ParameterTask
from tanager.structure.dag import Dag
from tanager.table.rows import EncodedBatch

N_ROWS, N_ATTRIBUTES, N_STATES, N_CLASSES = 100_000, 30, 5, 2


def main() -> None:
    warnings.simplefilter("ignore", ConvergenceWarning)  # iterations are counted here, not waited for
    print_head()
    X, y = random_tan(N_ROWS, N_ATTRIBUTES, N_STATES)
    dag = TANClassifier(parameters="frequency", categorical_features="all").fit(X, y).network_.dag
    iterations(dag, X, y)
    whole_fit(X, y)
    predictions(X, y)
    memory(dag, X, y)


def iterations(dag: Dag, X: NDArray[np.int64], y: NDArray[np.int64]) -> None:
    labelled = task(dag, X, y)
    half = task(dag, X[: N_ROWS // 2], y[: N_ROWS // 2])
    others = EncodedBatch(
        codes(X[N_ROWS // 2 :]),
        np.full(N_ROWS - N_ROWS // 2, N_CLASSES, dtype=np.uint8),
        half.counts.n_states,
        np.ones(N_ATTRIBUTES, dtype=bool),
    )
    partly = ParameterTask(dag, half.counts, unlabelled=others)
    for what, work in (("", labelled), (", half of the classes missing", partly)):
        run(work, 1)
        few, _ = best_time(lambda work=work: run(work, 1))
        more, _ = best_time(lambda work=work: run(work, 4))
        print_row(f"EM iteration, {N_ROWS:,} x {N_ATTRIBUTES}{what}", (more - few) / 3, "", None, "under 3 s")


def whole_fit(X: NDArray[np.int64], y: NDArray[np.int64]) -> None:
    incomplete = np.where(np.random.default_rng(1).random(X.shape) < 0.2, np.nan, X)
    clf = TANClassifier(parameters="em", categorical_features="all")
    seconds, fitted = best_time(lambda: clf.fit(incomplete, y), n_times=1)
    frequency, _ = best_time(
        lambda: TANClassifier(parameters="frequency", categorical_features="all").fit(incomplete, y), n_times=1
    )
    n_iterations = fitted.trace_.parameters.iterations
    print_row(f"fit, structure included, {n_iterations} iterations", seconds, "frequency", frequency)


def predictions(X: NDArray[np.int64], y: NDArray[np.int64]) -> None:
    complete = X.astype(np.float64)
    holes = np.where(np.random.default_rng(0).random(X.shape) < 0.1, np.nan, complete)
    for missing in ("marginalize", "skip"):
        clf = TANClassifier(parameters="frequency", categorical_features="all", missing=missing).fit(complete, y)
        clf.predict_proba(holes)
        plain, _ = best_time(lambda clf=clf: clf.predict_proba(complete))
        ours, _ = best_time(lambda clf=clf: clf.predict_proba(holes))
        print_row(f"predict_proba, {missing}, 10 % missing", ours, "complete rows", plain, "at least 0.2x")


def memory(dag: Dag, X: NDArray[np.int64], y: NDArray[np.int64]) -> None:
    """The larger table is the smaller one again and again; its parts have no two rows alike."""
    for times in (1, 10):
        batch = rows(X, y).take(np.tile(np.arange(N_ROWS), times))
        work = count(dag, batch)
        work.counts.tables(dag.families)  # as structure learning leaves it
        peak = peak_memory(lambda work=work: run(work, 2))
        seconds, _ = best_time(lambda work=work: run(work, 2), n_times=1)
        print(
            f"\nEM, two iterations on {batch.n_rows:,} rows: {seconds:.3g} s, peak memory {peak:.1f} MB beyond "
            f"{batch.codes.nbytes / 1e6:.1f} MB of codes (asked: the same for any number of rows)."
        )


def run(work: ParameterTask, n_iterations: int) -> object:
    return EM(max_iter=n_iterations, tol=1e-12).learn(work)


def task(dag: Dag, X: NDArray[np.int64], y: NDArray[np.int64]) -> ParameterTask:
    return count(dag, rows(X, y))


def rows(X: NDArray[np.int64], y: NDArray[np.int64]) -> EncodedBatch:
    n_states = (N_STATES,) * N_ATTRIBUTES + (N_CLASSES,)
    return EncodedBatch(codes(X), y.astype(np.uint8), n_states, np.ones(N_ATTRIBUTES, dtype=bool))


def count(dag: Dag, batch: EncodedBatch) -> ParameterTask:
    names = [f"x{node}" for node in range(len(batch.n_states))]
    return ParameterTask(dag, CountStore(batch, choose_engine("auto"), names))


def codes(X: NDArray[np.int64]) -> NDArray[np.uint8]:
    missing = np.random.default_rng(1).random(X.shape) < 0.2
    return np.asfortranarray(np.where(missing, N_STATES, X), dtype=np.uint8)


if __name__ == "__main__":
    main()
