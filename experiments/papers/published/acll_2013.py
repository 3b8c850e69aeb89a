"""Carvalho, Adão and Mateus 2013, tables 1 and 2: Wilcoxon signed-rank tests of CLL over 89 sets of binding sites."""

from __future__ import annotations

BINARY = (
    ("TAN-aCLL (Dirichlet)", "TAN-LL", 7.08, "7.21e-13"),
    ("TAN-aCLL (uniform)", "TAN-LL", 3.52, "2.15e-4"),
    ("TAN-aCLL (Dirichlet)", "TAN-aCLL (uniform)", 6.84, "3.96e-12"),
)
"""Better, worse, Z, one-sided p."""

TERNARY = (
    ("TAN-aCLL (Dirichlet)", "TAN-LL", 6.91, "2.42e-12"),
    ("TAN-aCLL (uniform)", "TAN-LL", 7.44, "5.03e-14"),
    ("TAN-aCLL (Dirichlet)", "TAN-aCLL (uniform)", -4.07, "2.35e-5"),
)
"""Z < 0 where the second was better."""
