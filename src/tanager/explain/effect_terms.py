"""The effects of a network of sums on given rows, one after another."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from tanager.network.additive import AdditiveNetwork
from tanager.table.batch import Codes

Floats = NDArray[np.float64]


def effects_of_rows(network: AdditiveNetwork, codes: Codes) -> Iterator[Floats]:
    """(n_rows, n_classes) of each main effect, then of each pair effect; a missing cell has an entry in each."""
    for attribute, main in enumerate(network.mains):
        yield main[codes[:, attribute]]
    coarse = network.coarsen(codes)
    for (parent, child), table in zip(network.pairs, network.tables, strict=True):
        yield table[coarse[:, parent], coarse[:, child]]
