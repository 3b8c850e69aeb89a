"""Tables, models, networks, preprocessing and edits on disk."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tanager.files.edits_file import load_edits, save_edits
    from tanager.files.json_file import load_recipe, save_recipe
    from tanager.files.model_file import load_model, save_model
    from tanager.files.network_file import read_network, write_network
    from tanager.files.trusted_types import TRUSTED_TYPES

__all__ = [
    "TRUSTED_TYPES",
    "load_edits",
    "load_model",
    "load_recipe",
    "read_network",
    "save_edits",
    "save_model",
    "save_recipe",
    "write_network",
]
_HOMES = {"types": "trusted_types", "edits": "edits_file", "model": "model_file", "recipe": "json_file"}


def __getattr__(name: str) -> object:
    """Imported on first use: who reads a table needs no classifier."""
    if name not in __all__:
        raise AttributeError(f"module 'tanager.files' has no attribute {name!r}")
    home = _HOMES.get(name.lower().partition("_")[2], "network_file")
    return getattr(import_module(f"tanager.files.{home}"), name)
