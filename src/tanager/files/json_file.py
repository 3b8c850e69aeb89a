"""JSON files: documents read and written within a limit, every fault one FileError; and recipe files."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Mapping
from functools import partial
from itertools import islice
from pathlib import Path
from typing import NoReturn, TypeVar

from tanager.check.preprocessing import Recipe
from tanager.errors import FileError, TanagerError
from tanager.files.paths import PIECE, OutputKind, atomic_write, begins_with, check_readable, reason
from tanager.network.document import DocumentError, Json, check_form
from tanager.version import __version__

LARGEST_FILE = 1 << 28
"""Bytes. Checked before a file is read, and before one is written that could not be read again."""
LONGEST_PROBLEM = 400
"""Characters of a message about a file, whose names and texts may be as long as it is."""
RECIPE_FORMAT = 1
"""Number of the form of a recipe file. A file of another number is refused."""

Content = TypeVar("Content")


def read_document(path: str | os.PathLike[str], kind: str, parse: Callable[[bytes], Content]) -> Content:
    """The content of a file as `parse` reads it; every fault is one FileError. `kind` is "model", for example."""
    file = check_readable(path)
    try:
        return parse(_read(file, kind))
    except OSError as error:
        raise FileError(f"cannot read {str(path)!r}: {reason(error)}.") from error
    except (DocumentError, TanagerError) as error:
        problem = str(error).split("\nHint:")[0].rstrip(".")
    except RecursionError:
        problem = "it is nested too deeply"
    except MemoryError:
        problem = "it does not fit in memory"
    problem = problem if len(problem) <= LONGEST_PROBLEM else f"{problem[:LONGEST_PROBLEM]}..."
    raise FileError(f"{str(path)!r} is not a {kind} that can be read: {problem}.")


def write_document(path: str | os.PathLike[str], kind: str, content: bytes) -> None:
    """Write a document, all at once: an error leaves an older file as it was."""
    if len(content) > LARGEST_FILE:
        raise FileError(
            f"the {kind} takes {_mebibytes(len(content))}, more than the {_mebibytes(LARGEST_FILE)} allowed."
        )
    with atomic_write(path) as stream:
        stream.write(content)


def parse_json(content: bytes) -> Json:
    """The JSON document in a file, without NaN and infinity."""

    def refuse_constant(name: str) -> NoReturn:
        raise DocumentError(f"it holds the number {name}")

    try:
        text = content.decode(json.detect_encoding(content))
        document: Json = json.loads(text, parse_constant=refuse_constant)
        if "\\ud" in text.lower():  # perhaps half of a surrogate pair
            json.dumps(document, ensure_ascii=False).encode()
    except UnicodeDecodeError:
        raise DocumentError("it is not JSON (not UTF-8 text)") from None
    except UnicodeEncodeError:
        raise DocumentError("it holds a text that is not valid Unicode") from None
    except ValueError as error:
        raise DocumentError(f"it is not JSON, or was cut short ({error})") from None
    return document


def write_json(
    path: str | os.PathLike[str], kind: str, document: Mapping[str, object], indent: int | None = None
) -> None:
    """Write a document as UTF-8 text, in one line unless it is indented."""
    try:
        content = json.dumps(document, ensure_ascii=False, allow_nan=False, indent=indent).encode()
    except UnicodeEncodeError as error:
        raise FileError(f"cannot save the {kind} to {str(path)!r}: a text in it is not valid Unicode.") from error
    write_document(path, kind, content + b"\n")


def document_kind(name: str, key: str) -> OutputKind:
    """A JSON document of ours, known by the key that comes after the format and the versions."""
    versions = rb'\s*\{\s*"format":\s*\d+,\s*"versions":\s*\{\s*"tanager":[^}]*\},\s*'
    return OutputKind(name, begins_with(versions + f'"{key}":'.encode()))


RECIPE = document_kind("a recipe of Tanager", "recipe")


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
    write_json(path, "recipe", document, indent=2)


def load_recipe(path: str | os.PathLike[str]) -> Recipe:
    """Read a recipe that `save_recipe` or `tanager check --fix` wrote.

    Parameters
    ----------
    path : str or path
        Of the file.

    Returns
    -------
    Recipe
        Its `apply` preprocesses a table.
    """

    def parse(content: bytes) -> Recipe:
        remedy = "make it again with `tanager check --fix`"
        document = check_form(parse_json(content), "recipe", RECIPE_FORMAT, ("recipe",), remedy)
        return Recipe.from_dict(document["recipe"])

    return read_document(path, "recipe", parse)


def _read(file: Path, kind: str) -> bytes:
    """The content; neither a long file nor a stream without an end is read beyond the limit."""
    if file.stat().st_size <= LARGEST_FILE:
        with file.open("rb") as stream:
            # A piece at a time: to ask for the limit at once would take that much memory.
            pieces = iter(partial(stream.read, PIECE), b"")
            content = b"".join(islice(pieces, LARGEST_FILE // PIECE + 1))
        if len(content) <= LARGEST_FILE:
            return content
    raise DocumentError(f"it is longer than the {_mebibytes(LARGEST_FILE)} a {kind} may have")


def _mebibytes(n_bytes: int) -> str:
    return f"{n_bytes / 2**20:.0f} MiB"
