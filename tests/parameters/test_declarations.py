"""What parameter learners say of themselves."""

from __future__ import annotations

from tanager.parameters import ParameterLearner


class Plain(ParameterLearner):
    def learn(self, task):
        raise AssertionError


def test_a_learner_that_declares_nothing_promises_nothing():
    of_tables = ("describes_attributes", "learns_without_class", "learns_hidden", "tunes_hidden", "smooths_counts")
    promises = (*of_tables, "holds_out", "naive_bayes_only", "posterior")
    assert not any(getattr(Plain(), promise) for promise in promises)
    assert (Plain.needs, Plain.fits) == ("counts", ("tables",))
