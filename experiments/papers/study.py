"""PaperStudy: a paper's experiment again, with what it published to stand beside ours."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from experiments.papers.comparison import Comparison
from experiments.papers.tables import claims_table, published_table, signed_rank_table
from experiments.studies.results import Results
from experiments.studies.study import Study
from experiments.studies.tables import TextTable, measure_table


@dataclass(frozen=True)
class PaperStudy(Study):
    """A study, and (`comparison`) what the paper says of it."""

    comparison: Comparison = field(default_factory=Comparison)

    def tables(self, results: Results) -> Iterator[TextTable]:
        """The claims first."""
        if self.comparison.claims:
            yield claims_table(results, self.comparison)
        yield from super().tables(results)

    def rank_tables(self, results: Results) -> Iterator[TextTable]:
        """The published figures last."""
        yield from super().rank_tables(results)
        for measure in self.comparison.figures:
            yield published_table(results, self.comparison, measure)

    def test_tables(self, results: Results) -> Iterator[TextTable]:
        """The paper's own tests, where it has some."""
        if self.comparison.tests:
            yield signed_rank_table(results, self.comparison, self.measures[0])
        else:
            yield from super().test_tables(results)

    def measure_tables(self, results: Results) -> Iterator[TextTable]:
        """Those that the published figures do not already show in full."""
        for measure in self.measures:
            published = {name for row in self.comparison.figures.get(measure, {}).values() for name in row}
            if not published.issuperset(results.classifiers):
                yield measure_table(results, measure)

    def pairs(self, results: Results) -> Sequence[tuple[str, str]]:
        """Those that the paper draws or tests, where it does."""
        tested = list(self.comparison.drawn) or [(test.first, test.second) for test in self.comparison.tests]
        return [pair for pair in tested if {*pair} <= {*results.classifiers}] if tested else super().pairs(results)
