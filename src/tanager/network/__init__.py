"""Networks: of tables, means of networks, the mean of all trees; `AnyNetwork` is any of them, told by its `kind`."""

from __future__ import annotations

from tanager.network.mixture import MixtureNetwork, TreeAverageNetwork
from tanager.network.network import Network

AnyNetwork = Network | MixtureNetwork | TreeAverageNetwork

__all__ = ["AnyNetwork", "MixtureNetwork", "Network", "TreeAverageNetwork"]
