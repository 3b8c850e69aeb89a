"""Start-up: what importing and a first small fit cost in a fresh process, with numba's cache empty."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time

from benchmarks.timing import print_head, print_row

IMPORT_SKLEARN = "import sklearn"
IMPORT_TANAGER = "import sklearn, tanager"
IRIS = """
import sklearn
from sklearn.datasets import load_iris
from tanager import TANClassifier
X, y = load_iris(return_X_y=True)
TANClassifier().fit(X, y).predict(X)
"""
COLD_TREE = """
import numpy as np
from tanager import TANClassifier
generator = np.random.default_rng(0)
y = generator.integers(0, 2, 20_000)
X = (generator.integers(0, 4, (20_000, 30)) + y[:, None]) % 4
TANClassifier(categorical_features="all").fit(X, y)
"""
ADDITIVE = """
import time
import numpy as np
from tanager import AdditiveClassifier
{table}
started = time.process_time()
AdditiveClassifier().fit(X, y)
print(time.process_time() - started)
"""
ADDITIVE_IRIS = "from sklearn.datasets import load_iris\nX, y = load_iris(return_X_y=True)"
ADDITIVE_MIXED = """
import pandas as pd
generator = np.random.default_rng(0)
numbers = generator.normal(size=(20_000, 7))
texts = generator.integers(0, 9, (20_000, 7)).astype(str)
X = pd.concat([pd.DataFrame(numbers).add_prefix("n"), pd.DataFrame(texts).add_prefix("t")], axis=1)
y = numbers[:, 0] * numbers[:, 1] * numbers[:, 2] + (texts[:, 0] == texts[:, 1]) > generator.logistic(size=20_000)
"""


def main() -> None:
    print_head()
    base = fresh(IMPORT_SKLEARN)
    print_row("import tanager beyond import sklearn", fresh(IMPORT_TANAGER) - base, "", None, "at most 150 ms")
    print_row("iris: import, fit, predict, beyond import sklearn", fresh(IRIS) - base, "", None, "at most 500 ms")
    print_row("TAN, 20,000 x 30, whole process", fresh(COLD_TREE), "", None, "at most 3 s")
    for name, table, most in (("iris", ADDITIVE_IRIS, 3), ("20,000 x 14 mixed, trees", ADDITIVE_MIXED, 8)):
        seconds = first_fit(ADDITIVE.format(table=table))
        print_row(f"additive model, first fit, processor: {name}", seconds, "", None, f"at most {most} s")


def fresh(code: str, n_times: int = 5) -> float:
    """Seconds of the quickest of several new processes, each with an empty kernel cache."""
    times = []
    for _ in range(n_times):
        with tempfile.TemporaryDirectory() as folder:
            start = time.perf_counter()
            subprocess.run([sys.executable, "-c", code], check=True, env={**os.environ, "NUMBA_CACHE_DIR": folder})
            times.append(time.perf_counter() - start)
    return min(times)


def first_fit(code: str) -> float:
    """Processor seconds that a new process with an empty kernel cache prints."""
    with tempfile.TemporaryDirectory() as folder:
        env = {**os.environ, "NUMBA_CACHE_DIR": folder}
        printed = subprocess.run([sys.executable, "-c", code], check=True, env=env, capture_output=True, text=True)
    return float(printed.stdout)


if __name__ == "__main__":
    main()
