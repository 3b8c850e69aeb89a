"""All pairs at once equal one pair after the other."""

from __future__ import annotations

import numpy as np
import pytest

from tanager.counts.family import CountTable, Family, PairTables, pair_offsets
from tanager.scores import ACLL, AIC, BIC, FCLL, K2, LL, MIT, BDeu, FamilyScore, margins
from tanager.scores.margins import MarginSums, Term, sum_terms, xlogx

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


STATES = (3, 2, 3, 1, 4, 2, 3, 0, 3, 2, 40, 40)


def random_pairs(kind: str) -> PairTables:
    """Tables that need not agree on their margins, as with missing cells; one attribute has one state, one has none."""
    n_states, random = (*STATES, 3), np.random.default_rng(5)
    offsets = pair_offsets(n_states)
    counts: CountTable = random.poisson(random.gamma(0.5, 1.5, size=offsets[-1]))
    if kind == "weights":
        counts = counts * random.gamma(2.0, size=len(counts))
    return PairTables(n_states, counts, offsets)


def one_by_one(score: FamilyScore, pairs: PairTables) -> np.ndarray:
    return FamilyScore.pair_scores(score, pairs)


@pytest.mark.parametrize("cells_per_block", [1, 100, margins.CELLS_PER_BLOCK])
@pytest.mark.parametrize("kind", ["rows", "weights"])
@pytest.mark.parametrize("score", SCORES, ids=repr)
def test_all_pairs_at_once_score_as_one_after_the_other(score, kind, cells_per_block, monkeypatch) -> None:
    pairs = random_pairs(kind)
    monkeypatch.setattr(margins, "CELLS_PER_BLOCK", cells_per_block)
    assert score.pair_scores(pairs) == pytest.approx(one_by_one(score, pairs), rel=1e-9, abs=1e-9)


def test_a_formula_of_every_margin_finds_each_of_them_in_both_directions() -> None:
    """Each margin with a coefficient of its own, so that no two can be taken for each other."""
    margins = ("jck", "jc", "jk", "ck", "j", "c", "k", "")

    class EveryMargin(MarginSums):
        score_equivalent = False

        def formula(self, family, n_states):
            return [Term(coefficient, margin, xlogx) for coefficient, margin in enumerate(margins, start=1)]

    pairs, target = random_pairs("rows"), len(STATES)
    result = EveryMargin().pair_scores(pairs)
    for parent, child in ((0, 1), (1, 0), (4, 2), (8, 9), (3, 10), (11, 10)):
        table = pairs.table(parent, child)
        assert Family(child, (parent, target)).class_shape(pairs.n_states) == table.shape
        assert result[parent, child] == pytest.approx(float(sum_terms(EveryMargin().formula(None, None), table)))
