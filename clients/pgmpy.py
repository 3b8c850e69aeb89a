"""Log-likelihood, AIC, BIC and BDeu of four structures are equal to `structure_score`; the K2 of pgmpy is wrong."""
# /// script
# dependencies = ["pgmpy", "pandas"]
# ///

import math

import numpy as np
import pandas as pd

try:
    from pgmpy.structure_score import AIC, BIC, K2, BDeu, LogLikelihood
except ImportError:
    from pgmpy.estimators import AIC, BIC, K2, BDeu, LogLikelihood

from tanager import scores, structure_score

rng = np.random.default_rng(0)
X = pd.DataFrame({name: rng.integers(0, size, 60).astype(str) for name, size in zip("abc", (2, 3, 4), strict=True)})
X["c"] = np.where(rng.random(60) < 0.6, X["b"], X["c"])
y = np.where(rng.random(60) < 0.7, X["a"], "2")
table = X.assign(y=y)
TREES = [{}, {"b": ["a"]}, {"b": ["a"], "c": ["b"]}, {"c": ["a", "b"]}]
PEERS = {
    "ll": LogLikelihood(table),
    "aic": AIC(table),
    "bic": BIC(table),
    "bdeu": BDeu(table, equivalent_sample_size=5),
}


def by_hand(families: list[tuple[str, list[str]]]) -> float:
    """K2: log of prod_j (r - 1)! prod_k N_jk! / (N_j + r - 1)!; a configuration without rows adds nothing."""
    total = 0.0
    for child, parents in families:
        r = table[child].nunique()
        for _, rows in table.groupby(parents) if parents else [((), table)]:
            counts = rows[child].value_counts()
            total += math.lgamma(r) - math.lgamma(len(rows) + r) + sum(math.lgamma(n + 1) for n in counts)
    return total


wrong = 0.0
for tree in TREES:
    families = [(name, [*tree.get(name, []), "y"]) for name in X] + [("y", [])]
    for name, peer in PEERS.items():
        criterion = scores.BDeu(ess=5.0) if name == "bdeu" else name
        found = structure_score(X, y, tree, criterion, categorical_features="all")
        theirs = sum(peer.local_score(child, tuple(parents)) for child, parents in families)
        assert abs(found - theirs) < 1e-8 * abs(theirs), (name, tree, found, theirs)
    found = structure_score(X, y, tree, "k2", categorical_features="all")
    assert abs(found - by_hand(families)) < 1e-9 * abs(found)
    wrong = max(wrong, abs(found - sum(K2(table).local_score(child, tuple(parents)) for child, parents in families)))
print(f"K2 of pgmpy is up to {wrong:.2f} nats from the formula of Cooper and Herskovits")
