"""AnyPosterior: a posterior of any kind."""

from __future__ import annotations

from tanager.posterior.bootstrap import BootstrapPosterior
from tanager.posterior.broad import BroadPosterior
from tanager.posterior.dirichlet import DirichletPosterior
from tanager.posterior.looked_up import LookedUpPosterior

AnyPosterior = BroadPosterior | DirichletPosterior | LookedUpPosterior | BootstrapPosterior
METHODS = ("auto", "broad", "dirichlet", "laplace", "bootstrap")
