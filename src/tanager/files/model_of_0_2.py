"""Networks in model files of version 0.2 (format 2), in the form of today's."""

from __future__ import annotations

import numpy as np

from tanager.arrays import Array
from tanager.missing.average import Imputation, learn_imputation
from tanager.network.document import Json, mapping, read_network_parts
from tanager.network.network import Network
from tanager.parameters.protocol import ParameterTrace
from tanager.table.rows import EncodedBatch

FORMAT_OF_0_2 = 2


def is_network_of_0_2(document: Json) -> bool:
    """Additive models of 0.2 have "effects": they are another model, and are not read."""
    return isinstance(document, dict) and document.get("format") == FORMAT_OF_0_2 and "effects" not in document


def as_format_3(document: Json) -> Json:
    """The document with today's keys, without the trace of its learner and without options that learners have lost."""
    content = mapping(document, "the document")
    trace, options = mapping(content.get("trace"), "trace"), mapping(content.get("options"), "options")
    parameters = options.get("parameters")
    if isinstance(parameters, dict) and parameters.get("part") == "Conditional":
        inner = mapping(parameters.get("options"), "options.parameters")
        kept: dict[str, Json] = {key: value for key, value in inner.items() if key != "penalty"}
        options = {**options, "parameters": {**parameters, "options": kept}}
    return {
        "subsumption": [],
        **content,
        "format": FORMAT_OF_0_2 + 1,
        "options": options,
        "trace": {**trace, "parameters": {"kind": ParameterTrace.__name__}},
    }


def imputation_of_0_2(model: Network, filling: Json, class_count: Array) -> Imputation:
    """What unknown cells may hold, by the P(attribute | class) of "filling", which was a tree of frequencies."""
    tree = read_network_parts(model.columns, mapping(filling, "filling"), model.columns[-1].name)
    target = len(tree.nodes) - 1
    by_class: dict[int, Array] = {}
    for node in (node for node in tree.dag.order if node != target):
        cells = tree.tables[node].reshape(-1, tree.n_states[-1], tree.n_states[node])
        above = next((by_class[parent] for parent in tree.dag.parents[node] if parent != target), None)
        by_class[node] = cells[0] if above is None else np.einsum("cp,pcx->cx", above, cells)
    counts = [(by_class[node] * class_count[:, np.newaxis]).T for node in range(target)]
    return learn_imputation(model, EncodedBatch.empty(model.n_states), class_count, counts, range(target + 1))
