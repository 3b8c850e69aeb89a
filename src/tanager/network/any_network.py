"""AnyNetwork: a network of any kind, told apart by its `kind`."""

from __future__ import annotations

from tanager.network.additive import AdditiveNetwork
from tanager.network.mixture import MixtureNetwork
from tanager.network.network import Network
from tanager.network.tree_average import TreeAverageNetwork

LookedUpNetwork = Network | AdditiveNetwork
"""One whose log odds are a sum of look-ups."""
AnyNetwork = LookedUpNetwork | MixtureNetwork | TreeAverageNetwork
