"""Recipe files: what is done to a table before a model sees it, as JSON that a person can read and change."""

from __future__ import annotations

import json
import os

from tanager.check.preprocessing import Recipe
from tanager.files.document_file import document_kind, parse_json, read_document, write_document
from tanager.network.document import check_form
from tanager.version import __version__

RECIPE_FORMAT = 1
"""Number of the form below. A file of another number is refused."""
RECIPE = document_kind("a recipe of Tanager", "recipe")
REMEDY = "make it again with `tanager check --fix`"


def save_recipe(recipe: Recipe, path: str | os.PathLike[str]) -> None:
    """Write a recipe to a JSON file, all at once.

    Parameters
    ----------
    recipe : Recipe
        That of a `Checkup`, for example.
    path : str or path
        Of the file.

    Examples
    --------
    >>> import tempfile
    >>> from tanager import check
    >>> from tanager.files import load_recipe, save_recipe
    >>> recipe = check([["a", 1]] * 9 + [["a ", 2]]).recipe
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     save_recipe(recipe, f"{folder}/recipe.json")
    ...     same = load_recipe(f"{folder}/recipe.json")
    >>> same == recipe
    True
    """
    document = {"format": RECIPE_FORMAT, "versions": {"tanager": __version__}, "recipe": recipe.to_dict()}
    write_document(path, "recipe", json.dumps(document, indent=2, ensure_ascii=False).encode() + b"\n")


def load_recipe(path: str | os.PathLike[str]) -> Recipe:
    """Read a recipe that `save_recipe` or `tanager check --fix` wrote.

    Parameters
    ----------
    path : str or path
        Of the file.

    Returns
    -------
    Recipe
        Its `apply` mends a table.
    """

    def parse(content: bytes) -> Recipe:
        document = check_form(parse_json(content), "recipe", RECIPE_FORMAT, ("recipe",), REMEDY)
        return Recipe.from_dict(document["recipe"])

    return read_document(path, "recipe", parse)
