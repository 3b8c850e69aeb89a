"""pyAgrum, the library to compare networks with. Import it from here: under warnings as errors its import crashes."""

import warnings

with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    import pyagrum as gum

__all__ = ["gum"]
