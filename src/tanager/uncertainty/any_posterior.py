"""AnyPosterior: a posterior of any kind."""

from __future__ import annotations

from tanager.uncertainty.bootstrap import BootstrapPosterior
from tanager.uncertainty.broad import BroadPosterior
from tanager.uncertainty.dirichlet import DirichletPosterior
from tanager.uncertainty.looked_up import LookedUpPosterior

AnyPosterior = BroadPosterior | DirichletPosterior | LookedUpPosterior | BootstrapPosterior
METHODS = ("auto", "broad", "dirichlet", "laplace", "bootstrap")
