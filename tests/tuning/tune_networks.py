"""Experts to tune, and rows of the network that they should be."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd

from tanager import Network

STATES = [2, 3, 2, 2, 2, 2]


def flattened(network: Network, share: float = 0.6) -> Network:
    """An expert that knows the structure but is timid: every table half way to equal shares."""
    return replace(network, tables=tuple(share / t.shape[1] + (1 - share) * t for t in network.tables))


def rows_of(network: Network, n: int, seed: int, gaps: float = 0.0, drop: tuple[str, ...] = ()) -> pd.DataFrame:
    frame = pd.DataFrame(network.sample(n, seed)).astype(object)
    missing = np.random.default_rng(seed + 1).random(frame.shape) < gaps
    return frame.mask(missing).drop(columns=list(drop))
