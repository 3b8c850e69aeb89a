"""The report page in a browser: how large it is, and when it is ready to be used.

1,000 rows of 60 columns of numbers, 3 classes, main effects and 87 pairs (the tables of the pairs are drawn at random,
as large as learnt ones), with rows, classes and quality on the page. *Ready* is the time from the start of the
navigation until every section is drawn and usable; the best of several, each in an empty page. Needs
chromium and chromedriver on the path, and selenium.
"""

from __future__ import annotations

import shutil
import tempfile
from dataclasses import replace
from itertools import combinations
from pathlib import Path

import numpy as np
import pandas as pd
from selenium import webdriver
from selenium.webdriver.chrome.service import Service
from selenium.webdriver.support.ui import WebDriverWait

from benchmarks.timing import best_time, format_time, print_head, print_row
from tanager import AdditiveClassifier, BayesianNetworkClassifier, report
from tanager.metrics import Predictions, Quality

N_ROWS, N_COLUMNS, N_PAIRS, N_CLASSES = 1_000, 60, 87, 3
N_TIMES = 7
MAX_READY, MAX_MEGABYTES = "at most 1.5 s", "at most 3 MB"
FLAGS = ("--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage")


def main() -> None:
    clf, X, y, quality = make_model()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "page.html")
        seconds, _ = best_time(lambda: report(clf, X, y, path, quality=quality))
        print_head()
        what = f"{N_ROWS:,} rows x {N_COLUMNS} columns, {N_PAIRS} pairs"
        print_row(f"{what}: write the page", seconds, "", None)
        print(f"| {what}: size of the page | {path.stat().st_size / 1e6:.2f} MB | | | {MAX_MEGABYTES} |", flush=True)
        times = ready_times(path)
        print(f"| {what}: ready in the browser | {format_time(min(times))} | | | {MAX_READY} |", flush=True)
        print(f"| the same, the median of {N_TIMES} | {format_time(float(np.median(times)))} | | | |", flush=True)


def make_model() -> tuple[BayesianNetworkClassifier, pd.DataFrame, pd.Series, Quality]:
    """A network of effects with as many pairs as asked for, its rows, and a quality of probabilities of its own."""
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.normal(size=(N_ROWS, N_COLUMNS)), columns=[f"attribute {k}" for k in range(N_COLUMNS)])
    score = X.iloc[:, :10].sum(axis=1) + 2 * np.sign(X.iloc[:, 0] * X.iloc[:, 1])
    y = pd.Series(np.digitize(score, [-2, 2]), name="y")
    clf = AdditiveClassifier(pairs=8, trees=False).fit(X, y)
    network = clf.model_
    pairs = tuple(combinations(range(N_COLUMNS), 2))[:N_PAIRS]
    shapes = [[network.columns[k].coarse.n_states + 1 for k in pair] for pair in pairs]
    tables = tuple(rng.normal(size=(*shape, N_CLASSES)) / 10 for shape in shapes)
    clf.model_ = replace(network, pairs=pairs, tables=tables, pair_densities=())
    clf.missing_rule_ = replace(clf.missing_rule_, network=clf.model_)
    predictions = Predictions(clf.predict_proba(X), y.to_numpy(), np.zeros(N_ROWS, dtype=np.intp))
    return clf, X, y, Quality.of(predictions, clf.classes_, np.bincount(y) / N_ROWS, "as learnt")


def ready_times(path: Path) -> list[float]:
    """Seconds from the begin of the navigation until the page is ready."""
    options = webdriver.ChromeOptions()
    for flag in FLAGS:
        options.add_argument(flag)
    options.binary_location = shutil.which("chromium") or ""
    driver = webdriver.Chrome(options=options, service=Service(shutil.which("chromedriver")))
    ready = "return document.documentElement.dataset.ready"
    try:
        found = []
        for _ in range(N_TIMES):
            driver.get("about:blank")
            driver.get(path.as_uri())
            WebDriverWait(driver, 60, 0.05).until(lambda browser: browser.execute_script(ready))
            found.append(float(driver.execute_script(ready)) / 1e3)
        return found
    finally:
        driver.quit()


if __name__ == "__main__":
    main()
