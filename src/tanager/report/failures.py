"""Where a model fails: rows that it is wrong about, and groups of rows whose loss is not that of the others."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_matrix

from tanager.arrays import Array, Codes
from tanager.report.json_page import Json, number
from tanager.report.judged_rows import JudgedRows
from tanager.table.schema import ColumnSchema

FEWEST_IN_GROUP = 30
LEVEL = 0.05
"""The chance that, of a model whose losses are the same everywhere, any group at all is listed."""
FEWEST_SHUFFLES, MOST_SHUFFLES, BATCH = 199, 999, 50
CELLS_IN_ALL_SHUFFLES = 150_000_000
MAX_MISTAKES = 300


@dataclass(frozen=True)
class Group:
    """Rows that have one state, coarse if there are two granularities, of one attribute."""

    attribute: int
    state: str
    rows: NDArray[np.intp]


def describe_groups(columns: tuple[ColumnSchema, ...], codes: Codes, judged: JudgedRows) -> dict[str, Json]:
    """Groups whose mean loss differs from that of all rows by more than chance, the worst first.

    Every state of every attribute with at least FEWEST_IN_GROUP rows, and as many others, is a group. Chance is what
    shuffling the losses over the rows does to the largest deviation of any group (Westfall and Young 1993), so that all
    groups together are listed by mistake in LEVEL of all tables.
    """
    assert judged.rows is not None
    losses = judged.losses
    right = judged.probabilities.argmax(axis=1) == judged.class_codes
    groups = make_groups(columns, codes[judged.rows])
    observed, p_values = compare_groups(groups, losses)
    listed = [k for k in np.argsort(-observed, kind="stable") if p_values[k] <= LEVEL]
    found: list[Json] = []
    for k in listed:
        group = groups[k]
        rest = np.setdiff1d(np.arange(len(losses)), group.rows, assume_unique=True)
        found.append(
            {
                "attribute": columns[group.attribute].name,
                "node": group.attribute,
                "state": group.state,
                "rows": len(group.rows),
                "loss": number(losses[group.rows].mean()),
                "rest_loss": number(losses[rest].mean()),
                "accuracy": number(right[group.rows].mean()),
                "rest_accuracy": number(right[rest].mean()),
                "p": number(p_values[k]),
            }
        )
    return {"tested": len(groups), "fewest": FEWEST_IN_GROUP, "level": LEVEL, "found": found}


def make_groups(columns: tuple[ColumnSchema, ...], codes: Codes) -> list[Group]:
    """Of every attribute, in its coarse states and with its gaps as one more."""
    n_rows = len(codes)
    found = []
    for attribute, column in enumerate(columns):
        coarse = column.coarse_codes[codes[:, attribute].astype(np.intp)]
        names = [*map(str, column.coarse.states), "missing"]
        for state, count in enumerate(np.bincount(coarse, minlength=len(names))):
            if FEWEST_IN_GROUP <= count <= n_rows - FEWEST_IN_GROUP:
                found.append(Group(attribute, names[state], np.flatnonzero(coarse == state)))
    return found


def compare_groups(groups: list[Group], losses: Array, seed: int = 0) -> tuple[Array, Array]:
    """(n_groups,) how far each group is from all rows, and its p value, adjusted for all groups.

    The first is the mean loss of the group less that of all rows, in standard deviations of a group of random rows; the
    second the share of shufflings of the losses in which any group is as far, either way.
    """
    if not groups or losses.std() == 0.0:
        return np.zeros(len(groups)), np.ones(len(groups))
    n = len(losses)
    sizes = np.array([len(group.rows) for group in groups])
    members = np.concatenate([group.rows for group in groups])
    ends = np.concatenate([[0], np.cumsum(sizes)])
    means = csr_matrix((np.repeat(1.0 / sizes, sizes), members, ends), shape=(len(groups), n))
    scale = losses.std() * np.sqrt((n - sizes) / (sizes * (n - 1.0)))
    centred = losses - losses.mean()
    observed = means @ centred / scale
    random = np.random.default_rng(seed)
    n_shuffles = int(np.clip(CELLS_IN_ALL_SHUFFLES // len(members), FEWEST_SHUFFLES, MOST_SHUFFLES))
    as_far = np.ones(len(groups))  # the rows as they are count as one of the shufflings
    for first in range(0, n_shuffles, BATCH):
        batch = min(BATCH, n_shuffles - first)
        shuffled = np.column_stack([random.permutation(centred) for _ in range(batch)])
        farthest = np.abs(means @ shuffled / scale[:, np.newaxis]).max(axis=0)
        # Sums in another order differ in their last bits.
        as_far += (farthest >= np.abs(observed)[:, np.newaxis] - 1e-12).sum(axis=1)
    return observed, as_far / (1 + n_shuffles)


def describe_mistakes(judged: JudgedRows, on_page: NDArray[np.intp]) -> list[Json]:
    """Rows of the page that are classified wrongly, the worst first: row, true class, class said, P of both."""
    assert judged.rows is not None
    proba, truth = judged.probabilities, judged.class_codes
    said = proba.argmax(axis=1)
    wrong = np.flatnonzero((said != truth) & np.isin(judged.rows, on_page))
    worst = wrong[np.argsort(-judged.losses[wrong], kind="stable")][:MAX_MISTAKES]
    return [
        [int(judged.rows[k]), int(truth[k]), int(said[k]), number(proba[k, truth[k]]), number(proba[k, said[k]])]
        for k in worst
    ]


def describe_examples(judged: JudgedRows, on_page: NDArray[np.intp]) -> list[Json]:
    """Three rows of the page: one that is classified rightly and surely, the least sure one, and the surest mistake."""
    assert judged.rows is not None
    proba, truth = judged.probabilities, judged.class_codes
    here = np.flatnonzero(np.isin(judged.rows, on_page))
    said, surest = proba.argmax(axis=1), proba.max(axis=1)
    right, wrong = here[said[here] == truth[here]], here[said[here] != truth[here]]
    picks = {
        "sure": right[np.argmax(surest[right])] if len(right) else None,
        "unsure": here[np.argmin(surest[here])] if len(here) else None,
        "wrong": wrong[np.argmax(surest[wrong])] if len(wrong) else None,
    }
    return [
        {"kind": kind, "row": int(judged.rows[k]), "truth": int(truth[k]), "said": int(said[k]), "p": number(surest[k])}
        for kind, k in picks.items()
        if k is not None
    ]
