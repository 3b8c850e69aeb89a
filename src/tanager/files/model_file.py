"""Model files: a fitted classifier as one JSON file, checked when read; nothing in it is ever executed."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import NoReturn

from sklearn.utils.validation import check_is_fitted

from tanager.classifiers import BayesianNetworkClassifier
from tanager.errors import FileError, TanagerError
from tanager.files.atomic import atomic_write
from tanager.files.json_values import DocumentError
from tanager.files.parse_model import from_document
from tanager.files.paths import check_readable, reason
from tanager.files.write_model import to_document

LARGEST_FILE = 1 << 28
"""Bytes. Checked before a file is read, and before one is written that could not be read again."""


def save_model(clf: BayesianNetworkClassifier, path: str | os.PathLike[str]) -> None:
    """Write a fitted classifier to a JSON file, all at once: an error leaves an older file as it was.

    >>> import tempfile
    >>> from tanager import NaiveBayesClassifier, load_model, save_model
    >>> clf = NaiveBayesClassifier().fit([["a"], ["b"], ["b"]], ["yes", "no", "no"])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     save_model(clf, f"{folder}/model.json")
    ...     same = load_model(f"{folder}/model.json")
    >>> same.predict([["a"], ["b"]]).tolist()
    ['yes', 'no']
    """
    check_is_fitted(clf)
    try:
        content = json.dumps(to_document(clf), ensure_ascii=False, allow_nan=False).encode()
    except DocumentError as error:
        raise FileError(
            f"cannot save the model to {str(path)!r}: {error}.",
            hint="set that option to a name or a value with set_params; the fitted model keeps what it has learnt.",
        ) from error
    except UnicodeEncodeError as error:
        raise FileError(f"cannot save the model to {str(path)!r}: a text in it is not valid Unicode.") from error
    if len(content) > LARGEST_FILE:
        raise FileError(
            f"the model takes {_mebibytes(len(content))}, more than the {_mebibytes(LARGEST_FILE)} allowed."
        )
    with atomic_write(path) as stream:
        stream.write(content + b"\n")


def load_model(path: str | os.PathLike[str]) -> BayesianNetworkClassifier:
    """Read a classifier that `save_model` wrote; it predicts bit by bit the same."""
    file = check_readable(path)
    try:
        return from_document(json.loads(_read(file), parse_constant=_refuse_constant))
    except OSError as error:
        raise FileError(f"cannot read {str(path)!r}: {reason(error)}.") from error
    except (DocumentError, TanagerError) as error:
        problem = str(error).split("\nHint:")[0].rstrip(".")
    except RecursionError:
        problem = "it is nested too deeply"
    except MemoryError:
        problem = "it does not fit in memory"
    except UnicodeDecodeError:
        problem = "it is not JSON (not UTF-8 text)"
    except ValueError as error:
        problem = f"it is not JSON, or was cut short ({error})"
    raise FileError(f"{str(path)!r} is not a model that can be read: {problem}.")


def _read(file: Path) -> bytes:
    """The content; neither a long file nor a stream without an end is read beyond the limit."""
    if file.stat().st_size <= LARGEST_FILE:
        with file.open("rb") as stream:
            content = stream.read(LARGEST_FILE + 1)
        if len(content) <= LARGEST_FILE:
            return content
    raise DocumentError(f"it is longer than the {_mebibytes(LARGEST_FILE)} a model may have")


def _refuse_constant(name: str) -> NoReturn:
    raise DocumentError(f"it holds the number {name}")


def _mebibytes(n_bytes: int) -> str:
    return f"{n_bytes / 2**20:.0f} MiB"
