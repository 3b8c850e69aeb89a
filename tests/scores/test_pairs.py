"""All pairs at once, by NumPy or by kernel, equal one pair after the other."""

from __future__ import annotations

import numpy as np
import pytest

from scores.by_rows import random_rows
from tanager.counts.family import CountTable, Family, PairTables, pair_offsets
from tanager.runtime.resources import thread_limit
from tanager.scores import ACLL, AIC, BIC, FCLL, K2, LL, MIT, BDeu, FamilyScore, by_shape
from tanager.scores.margins import xlogx

SCORES = [
    LL(),
    AIC(),
    BIC(),
    K2(),
    BDeu(),
    BDeu(5),
    MIT(),
    FCLL(),
    ACLL(),
    ACLL("dirichlet"),
    ACLL(at="frequency"),
    ACLL(at="pooled"),
]


STATES = (3, 2, 3, 1, 4, 2, 3, 0, 3, 2)
MANY_STATES = STATES + (40, 40) + (3,) * 70
"""More attributes alike than the kernels take side by side, and a pair too large for them."""


def random_pairs(kind: str, states: tuple[int, ...] = MANY_STATES) -> PairTables:
    """Tables that need not agree on their margins, as with missing cells; one attribute has one state, one has none."""
    n_states, random = (*states, 3), np.random.default_rng(5)
    offsets = pair_offsets(n_states)
    counts: CountTable = random.poisson(random.gamma(0.5, 1.5, size=offsets[-1]))
    if kind == "weights":
        counts = counts * random.gamma(2.0, size=len(counts))
    return PairTables(n_states, counts, offsets)


def one_by_one(score: FamilyScore, pairs: PairTables) -> np.ndarray:
    return FamilyScore.pair_scores(score, pairs)


@pytest.mark.parametrize("kind", ["rows", "weights"])
@pytest.mark.parametrize("score", SCORES, ids=repr)
def test_all_pairs_at_once_score_as_one_after_the_other(score, kind) -> None:
    pairs = random_pairs(kind, STATES)
    assert score.pair_scores(pairs) == pytest.approx(one_by_one(score, pairs), rel=1e-9, abs=1e-9)


@pytest.mark.parametrize("kind", ["rows", "weights"])
@pytest.mark.parametrize("score", SCORES, ids=repr)
def test_kernels_and_numpy_score_alike(score, kind, monkeypatch) -> None:
    pairs = random_pairs(kind)
    by_numpy = score.pair_scores(pairs)
    monkeypatch.setattr(by_shape, "CELLS_WORTH_COMPILING", 0)
    assert score.pair_scores(pairs) == pytest.approx(by_numpy, rel=1e-9, abs=1e-9)
    assert not np.diag(by_numpy).any()


@pytest.mark.parametrize("score", [BDeu(), FCLL()], ids=repr)
def test_the_number_of_threads_changes_nothing(score, monkeypatch) -> None:
    pairs = random_pairs("rows")
    monkeypatch.setattr(by_shape, "CELLS_WORTH_COMPILING", 0)
    results = []
    for n_threads in (1, 2, 7):
        with thread_limit(n_threads):
            results.append(score.pair_scores(pairs))
    assert (results[0] == results[1]).all()
    assert (results[0] == results[2]).all()


def test_a_formula_of_every_margin_finds_each_of_them_in_both_directions(monkeypatch) -> None:
    """Each margin with a coefficient of its own, so that no two can be taken for each other."""
    from tanager.scores.margins import Term, sum_pair_terms, sum_terms

    margins = ("jck", "jc", "jk", "ck", "j", "c", "k", "")
    formula = [Term(coefficient, margin, xlogx) for coefficient, margin in enumerate(margins, start=1)]
    pairs, target = random_pairs("rows"), 82
    monkeypatch.setattr(by_shape, "CELLS_WORTH_COMPILING", 0)
    result = sum_pair_terms(lambda family, n_states: formula, pairs)
    for parent, child in ((0, 1), (1, 0), (4, 2), (8, 9), (30, 79), (79, 30)):
        table = pairs.table(parent, child)
        assert Family(child, (parent, target)).class_shape(pairs.n_states) == table.shape
        assert result[parent, child] == pytest.approx(float(sum_terms(formula, table)), rel=1e-12)


def test_counts_too_large_to_tabulate_take_the_direct_way(monkeypatch) -> None:
    pairs = random_pairs("rows", STATES)
    large = PairTables(pairs.n_states, pairs.counts * 10**9, pairs.offsets)
    monkeypatch.setattr(by_shape, "CELLS_WORTH_COMPILING", 0)
    assert FCLL().pair_scores(large) == pytest.approx(one_by_one(FCLL(), large), rel=1e-9)


def test_a_single_attribute_has_no_pair() -> None:
    pairs = random_rows(0, (3, 2)).store().pairs()
    for score in SCORES:
        assert score.pair_scores(pairs).tolist() == [[0.0]]
