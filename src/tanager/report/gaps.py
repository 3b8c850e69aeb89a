"""What an unknown attribute means to a model, and all that the page needs to answer as `predict_proba` does."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from tanager.classifiers import BayesianNetworkClassifier
from tanager.explain.edge_information import family_joints
from tanager.gaps.average import N_DRAWS, FillingTree, log_posterior_averaging, spread_numbers
from tanager.gaps.skip import cell_probabilities, family_terms, log_joint_skipping
from tanager.network.additive import AdditiveNetwork
from tanager.network.network import Network
from tanager.report.json_page import Json, pack
from tanager.table.batch import code_dtype


def describe_gaps(clf: BayesianNetworkClassifier) -> dict[str, Json]:
    """The meaning in words, and its numbers.

    averaged over  the filler: its tables, and the numbers by which it draws; null where the model has none. For the
                   parts of a network of tables (`explain`) also what each family adds instead, for each class
    left out       what each family adds instead, for each class
    expected       nothing more: the effects have an entry for it
    summed out     nothing more: the tables say it
    """
    network = clf.network_
    if averages(clf):
        filler = None if clf.filler_ is None else _describe_filler(clf)
        means = _means(network, family_joints(network)) if isinstance(network, Network) else None
        return {"meaning": "averaged over", "filler": filler, "means": means}
    if isinstance(network, AdditiveNetwork):
        return {"meaning": "expected"}
    if clf.missing == "skip":
        return {"meaning": "left out", "means": _means(network, cell_probabilities(network))}
    return {"meaning": "summed out"}


def class_prior(clf: BayesianNetworkClassifier) -> NDArray[np.float64]:
    """(n_classes,) P(class) of a row of which nothing is known, as the model predicts it."""
    network = clf.network_
    nothing = np.array([network.n_states[:-1]], dtype=code_dtype(max(network.n_states)))
    if averages(clf) and clf.filler_ is not None:
        return np.exp(log_posterior_averaging(network, clf.filler_, nothing)[0])
    if isinstance(network, Network) and clf.missing == "skip":
        return np.exp(log_joint_skipping(network, nothing, normalized=True)[0])
    return np.array(list(network.query(network.nodes[-1]).values()))


def averages(clf: BayesianNetworkClassifier) -> bool:
    """Whether the model averages over gaps; hidden nodes can only be summed out."""
    return clf.averages_gaps() and len(clf.network_.nodes) - 1 == clf.n_features_in_


def _describe_filler(clf: BayesianNetworkClassifier) -> dict[str, Json]:
    """`FillingTree` and its numbers; `middles` is the state drawn for each coarse one, where there are two kinds."""
    assert clf.filler_ is not None
    tree, network = FillingTree.of(clf.filler_), clf.network_
    n_states = [table.shape[2] for table in tree.tables]
    middles: list[Json] | None = None
    if isinstance(network, AdditiveNetwork):
        # Each column holds its states, and its last one from there on.
        steps = np.minimum(np.arange(max(n_states))[:, np.newaxis], np.array(n_states) - 1)
        refined = network.refine(steps.astype(code_dtype(max(n_states))))
        middles = [refined[:n, node].tolist() for node, n in enumerate(n_states)]
    numbers = spread_numbers(N_DRAWS, len(tree.order) + 1)
    return {
        "order": list(tree.order),
        "parents": list(tree.parents),
        "states": list(n_states),
        "middles": middles,
        "draws": N_DRAWS,
        "numbers": pack(numbers),
        "classes": pack(tree.classes),
        "tables": pack(np.concatenate([table.ravel() for table in tree.tables])),
    }


def _means(network: Network, shares: Sequence[NDArray[np.float64]]) -> str:
    """(nodes, classes) the term of each family in a row where everything is missing."""
    nothing = np.array([network.n_states[:-1]])
    terms = [family_terms(network, family, shares[family.child], nothing)[0] for family in network.dag.families]
    return pack(np.stack([np.broadcast_to(term, network.n_states[-1]) for term in terms]))
