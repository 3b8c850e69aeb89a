"""Carvalho, Roos, Oliveira and Myllymäki 2011, tables 3 and 4: Wilcoxon signed-rank tests of accuracy over 25 sets."""

from __future__ import annotations

BAYESIAN = ("GHC2-fCLL", "TAN-aCLL", "GHC2-LL", "TAN-LL", "TAN-LL-ELR")
OTHERS = ("C4.5", "1-NN", "3-NN", "5-NN", "SVM", "SVM2", "SVMG", "LogR")

TABLE_3 = {
    "TAN-fCLL": ((0.37, "0.36"), (1.44, "0.07"), (2.13, "0.02"), (2.13, "0.02"), (0.31, "0.38")),
    "GHC2-fCLL": (None, (1.49, "0.07"), (2.26, "0.01"), (2.21, "0.01"), (0.06, "0.48")),
    "TAN-aCLL": (None, None, (0.04, "0.48"), (-0.34, "0.37"), (-1.31, "0.10")),
}
"""Z and one-sided p of the row against each of BAYESIAN; Z > 0 where the row is better."""

TABLE_4 = {
    "TAN-fCLL": (
        (3.00, "<0.01"),
        (2.25, "0.01"),
        (2.16, "0.02"),
        (2.07, "0.02"),
        (0.43, "0.33"),
        (0.61, "0.27"),
        (0.21, "0.42"),
        (1.80, "0.04"),
    ),
    "GHC2-fCLL": (
        (3.00, "<0.01"),
        (2.35, "<0.01"),
        (2.20, "0.01"),
        (2.19, "0.01"),
        (0.39, "0.35"),
        (0.74, "0.23"),
        (0.11, "0.45"),
        (1.65, "0.05 (⇐)"),
    ),
    "TAN-aCLL": (
        (2.26, "0.01"),
        (1.34, "0.09"),
        (1.17, "0.12"),
        (1.31, "0.09"),
        (-0.40, "0.35"),
        (-0.29, "0.38"),
        (-0.55, "0.29"),
        (1.37, "0.09"),
    ),
}
"""The same against each of OTHERS. ⇐: the paper's arrow for p < .05, as p is rounded (Z 1.65 has .0495)."""
