"""Clean tables drawn at random, and faults to plant in them."""

from __future__ import annotations

import datetime
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import pandas as pd

Rng = np.random.Generator


def clean_table(seed: int) -> tuple[pd.DataFrame, pd.Series]:
    """Noisy numbers, counts, categories, dates and gaps; the class depends on them with much noise."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(60, 200))
    signal = rng.normal(size=n)
    table = pd.DataFrame(
        {
            "size": np.round(signal + rng.normal(size=n), 3),
            "count": rng.poisson(4, n),
            "town": rng.choice(["Rome", "Paris", "Oslo", "Bern"], n),
            "grade": rng.choice(["1", "2", "3", "4more"], n),
            "flag": rng.random(n) < 0.3,
            "born": [datetime.datetime(1950, 1, 1) + datetime.timedelta(days=int(d)) for d in rng.integers(0, 9000, n)],
            "gaps": np.where(rng.random(n) < 0.3, np.nan, rng.normal(size=n)),
        }
    )
    score = signal + 2 * rng.normal(size=n)
    y = pd.Series(np.where(score > np.median(score), "ill", "well"), name="state")
    return table, y


@dataclass(frozen=True)
class Fault:
    """A column to plant: how it is made, and the issue that is found."""

    make: Callable[[Rng, pd.Series], object]
    severity: str
    words: str
    step: str | None


def _dates(form: str) -> Callable[[Rng, pd.Series], object]:
    start = datetime.datetime(2020, 1, 1)
    return lambda rng, y: [
        (start + datetime.timedelta(days=int(day))).strftime(form) for day in rng.integers(0, 2000, len(y))
    ]


def _words_among_numbers(rng: Rng, y: pd.Series) -> object:
    cells = [str(number) for number in rng.integers(20, 90, len(y))]
    for row in range(0, len(y), 8):
        cells[row] = "unknown"
    return cells


def _sentences(rng: Rng, y: pd.Series) -> object:
    words = np.array(["came", "with", "pain", "in", "the", "left", "arm", "and", "no", "fever", "since", "two", "days"])
    return [" ".join(rng.choice(words, 6)) + f" {k}" for k in range(len(y))]


FAULTS = {
    "identifier": Fault(lambda rng, y: [f"P{k:05}" for k in rng.permutation(len(y))], "high", "names rows", "drop"),
    "row numbers": Fault(lambda rng, y: np.arange(len(y)) + 7, "high", "numbers the rows", "drop"),
    "free text": Fault(_sentences, "high", "free text", "drop"),
    "day first": Fault(_dates("%d/%m/%Y"), "high", "dates as text (day-month-year)", "date"),
    "month first": Fault(_dates("%m/%d/%Y"), "high", "dates as text (month-day-year)", "date"),
    "dates with times": Fault(_dates("%d.%m.%Y 12:30"), "high", "dates as text (day-month-year)", "date"),
    "words among numbers": Fault(_words_among_numbers, "high", "('unknown') missing?", "number"),
    "thousands": Fault(
        lambda rng, y: [f"{number:,}" for number in rng.integers(100, 99_999, len(y))],
        "high", "commas between thousands", "number",
    ),
    "decimal commas": Fault(
        lambda rng, y: [f"{number:.2f}".replace(".", ",") for number in rng.normal(size=len(y))],
        "high", "decimal commas", "number",
    ),
    "percentages": Fault(
        lambda rng, y: [f"{number:.1f} %" for number in rng.uniform(0, 99, len(y))], "high", "percent signs", "number"
    ),
    "currency": Fault(
        lambda rng, y: [f"€ {number:,.2f}" for number in rng.uniform(1_000, 9_999, len(y))],
        "high", "commas between thousands and €", "number",
    ),
    "a code among numbers": Fault(
        lambda rng, y: np.where(y.groupby(y).cumcount() % 9 == 0, 999, rng.integers(20, 90, len(y))),
        "medium", "its other values are 2", "number",
    ),
    "marks among words": Fault(
        lambda rng, y: rng.choice(["north", "south", "n/a", "null"], len(y)), "medium", "rows, as words", "missing"
    ),
    "a word for missing": Fault(
        lambda rng, y: rng.choice(["north", "south", "Unknown"], len(y)), "low", "does it mean missing?", None
    ),
    "numbers as text": Fault(
        lambda rng, y: [f"{number:.2f}" for number in rng.normal(size=len(y))], "medium", "numbers as text", "number"
    ),
    "limits": Fault(
        lambda rng, y: [f"{number}" if number > 20 else "<20" for number in rng.integers(15, 90, len(y))],
        "medium", "limits", None,
    ),
    "spellings": Fault(
        lambda rng, y: rng.choice(["yes", "Yes", "no", "no ", " no"], len(y)), "medium", "differ only by", "merge"
    ),
    "constant": Fault(lambda rng, y: ["same"] * len(y), "low", "is 'same' in every row", "drop"),
    "empty": Fault(lambda rng, y: [None] * len(y), "low", "is empty", "drop"),
    "leak": Fault(lambda rng, y: y.map({"ill": 1, "well": 0}), "high", "alone predicts 'state' in", None),
    "leak of numbers": Fault(
        lambda rng, y: rng.random(len(y)) + 5 * (y == "ill"), "high", "alone predicts 'state' in", None
    ),
    "leak of gaps": Fault(
        lambda rng, y: np.where(y == "ill", np.nan, rng.random(len(y))), "high", "alone predicts 'state' in", None
    ),
    "gaps by class": Fault(
        lambda rng, y: np.where((y == "ill") & (rng.random(len(y)) < 0.8), np.nan, rng.random(len(y))),
        "medium", "of 'ill' and in 0 % of 'well'", None,
    ),
    "hardly anything": Fault(
        lambda rng, y: np.where(np.arange(len(y)) % 30 == 0, 1.0, np.nan), "medium", "is missing in 9", None
    ),
}  # fmt: skip
