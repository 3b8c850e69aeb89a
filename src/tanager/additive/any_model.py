"""AnyModel: an additive model or a network of any kind, told apart by its `kind`."""

from __future__ import annotations

from tanager.additive.model import AdditiveModel
from tanager.network.any_network import AnyNetwork
from tanager.network.network import Network

LookedUpModel = Network | AdditiveModel
"""One whose log odds are a sum of look-ups."""
AnyModel = AnyNetwork | AdditiveModel
