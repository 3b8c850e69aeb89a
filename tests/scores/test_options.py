"""Options that cannot be used are refused in one clear message, whichever way the score is asked."""

from __future__ import annotations

import numpy as np
import pytest

from scores.by_rows import random_rows
from tanager.counts.family import Family
from tanager.errors import OptionError
from tanager.registry import resolve
from tanager.scores import ACLL, BD, FCLL, MIT, SCORES, BDe, BDeu


class WrongShape:
    def __repr__(self) -> str:
        return "WrongShape()"

    def family_probabilities(self, family, n_states):
        return np.full((1, 1, 2), 0.5)


@pytest.mark.parametrize(
    ("score", "message"),
    [
        (BDeu(ess=0), "BDeu: ess=0 cannot be used; expected a number above 0"),
        (BDeu(ess=-1.5), "ess=-1.5"),
        (BDeu(ess=float("nan")), "ess=nan"),
        (BDeu(ess="many"), "ess='many'"),
        (BDeu(ess=True), "ess=True"),
        (BDe(), "BDe has no prior network"),
        (BDe(prior=WrongShape(), ess=-2), "BDe: ess=-2"),
        (BDe(prior="network.bif"), "'network.bif' has no method 'family_probabilities'"),
        (BDe(prior=WrongShape()), r"shape \(1, 1, 2\) for node 0 with parents \(1, 2\); expected \(3, 2, 2\)"),
        (BD(0), "BD: alpha=0 cannot be used; expected a number above 0"),
        (BD(lambda family, n_states: [1.0, 1.0, 1.0]), r"shape \(3,\) for node 0 with parents \(1, 2\); expected"),
        (MIT(level=1), "MIT: level=1 cannot be used; expected a number between 0 and 1"),
        (MIT(level=0.0), "level=0.0"),
        (MIT(level=99), "level=99"),
        (ACLL("beta"), "assumption='beta' is not known; expected one of .*'uniform'"),
        (ACLL(at="maximum"), "at='maximum' is not known; expected one of 'optimum', 'frequency', 'pooled'"),
        (ACLL(pseudo_count=0), "ACLL: pseudo_count=0"),
        (ACLL(pseudo_count=-5), "ACLL: pseudo_count=-5"),
        (ACLL("dirichlet", a=0), "ACLL: a=0"),
        (ACLL("dirichlet", a=None), "ACLL: a=None"),
        (ACLL("dirichlet", b=-1), "ACLL: b=-1"),
        (FCLL("first"), "part='first' is not known"),
        (FCLL(a=0), "FCLL: a=0"),
        (FCLL(a=1, b=-1), "FCLL: b=-1"),
    ],
    ids=lambda value: None if isinstance(value, str) else repr(value).split(" at 0x")[0],
)
def test_an_option_that_cannot_be_used_is_named(score, message) -> None:
    rows = random_rows(0, (2, 3, 2))
    store, family = rows.store(), Family(0, (1, 2))
    with pytest.raises(OptionError, match=message):
        score.local(store.table(family), family, rows.n_states)
    with pytest.raises(OptionError, match=message.split(" for node")[0]):
        score.pair_scores(store.pairs())
    with pytest.raises(OptionError, match=message):
        score.total([family], store)


def test_an_unknown_score_lists_the_known_ones_nearest_first() -> None:
    with pytest.raises(OptionError, match="expected one of 'bdeu', 'bde'"):
        resolve("criterion", "bdeux", SCORES, "check_options")


@pytest.mark.parametrize("name", SCORES)
def test_every_name_stands_for_a_score_that_says_what_it_is(name) -> None:
    score = resolve("criterion", name, SCORES, "check_options")
    assert isinstance(score.score_equivalent, bool)
    assert isinstance(score.decomposable, bool)
