"""The version, where every layer can see it."""

__version__ = "0.2.0"
