"""What every structure learner declares about the criterion holds for what it learns."""

from __future__ import annotations

import pytest

from structure.small_tasks import make_task, random_rows, total
from tanager.structure import STRUCTURES, Fixed

LEARNERS = {**STRUCTURES, "fixed": lambda: Fixed({"b": ["a"]})}
ASKING = [name for name, make in LEARNERS.items() if make().asks_criterion]
NOT_ASKING = [name for name, make in LEARNERS.items() if not make().asks_criterion]


def task(criterion):
    return make_task(random_rows(4), criterion, evaluate=lambda dag: float(len(dag.edges)))


@pytest.mark.parametrize("name", NOT_ASKING)
def test_a_learner_that_asks_for_no_criterion_never_looks_at_one(name):
    without = LEARNERS[name]().learn(task(None))
    assert without.score is None
    assert without == LEARNERS[name]().learn(task("bic"))


@pytest.mark.parametrize("name", LEARNERS)
def test_a_learner_evaluates_structures_if_and_only_if_it_says_so(name):
    evaluated = []
    asked = make_task(random_rows(4), "bic", evaluate=lambda dag: float(not evaluated.append(dag)))
    LEARNERS[name]().learn(asked)
    assert bool(evaluated) == LEARNERS[name]().evaluates


@pytest.mark.parametrize("name", [name for name in ASKING if LEARNERS[name]().learns != "trees"])
@pytest.mark.parametrize("criterion", ["ll", "bdeu"])
def test_the_score_of_a_structure_is_that_of_the_criterion_it_was_chosen_by(name, criterion):
    asked = task(criterion)
    learnt = LEARNERS[name]().learn(asked)
    assert learnt.score == pytest.approx(total(asked, learnt.dag), rel=1e-9)
