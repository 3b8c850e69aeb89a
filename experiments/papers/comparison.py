"""What a paper published: figures to stand beside ours, tests to repeat, and claims to check."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Literal

from experiments.studies.results import Results

Figures = Mapping[str, Mapping[str, tuple[float, float]]]
"""set -> classifier -> (figure, its margin), in the units the paper prints; margin 0 where the paper gives none."""


@dataclass(frozen=True)
class PublishedTest:
    """A published signed-rank test: Z > 0 if `first` was the better one; p as printed ("<0.01"), one-sided.

    p may name the kind of test, "0.016 (t)", or have the paper's arrow for p < .05 where rounding hides it, "0.05 (⇐)".
    `without` are the sets that the paper leaves out of the test.
    """

    first: str
    second: str
    z: float | None
    p: str
    without: tuple[str, ...] = ()


Kind = Literal["as printed", "as read", "ours"]


@dataclass(frozen=True)
class Claim:
    """Something that ought to show, and the check of it: (whether it does, what was found).

    kind  "as printed": the paper says so, or prints figures that ours come near, and the protocol is the one it prints;
          "as read": the same under a reading of the protocol that was found afterwards, by trying; "ours": the paper
          does not say so, as it is about a learner of ours, or only that our figures are not above its own
    """

    text: str
    check: Callable[[Results], tuple[bool, str]]
    kind: Kind = "as printed"


@dataclass(frozen=True)
class Comparison:
    """A paper's side of a study.

    figures   by measure
    tests     on the study's first measure
    drawn     pairs of classifiers that the paper draws against each other; those of `tests` if empty
    not_same  sets that are not quite the paper's, or where its figure is at fault, with the reason: not in the means
    """

    figures: Mapping[str, Figures] = field(default_factory=dict)
    tests: tuple[PublishedTest, ...] = ()
    not_same: Mapping[str, str] = field(default_factory=dict)
    claims: tuple[Claim, ...] = ()
    drawn: tuple[tuple[str, str], ...] = ()
