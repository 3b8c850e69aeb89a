"""AnyNetwork: a network of either kind, told apart by its `kind`."""

from __future__ import annotations

from tanager.network.additive import AdditiveNetwork
from tanager.network.network import Network

AnyNetwork = Network | AdditiveNetwork
