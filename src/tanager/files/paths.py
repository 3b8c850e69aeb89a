"""Paths as users give them: check that a file can be read, say in words why one cannot."""

from __future__ import annotations

import os
from pathlib import Path

from tanager.errors import FileError


def check_readable(path: str | os.PathLike[str]) -> Path:
    """The path of a file that exists and can be opened; otherwise an error that says which of these fails."""
    file = Path(path)
    try:
        if file.is_dir():
            raise FileError(f"{str(file)!r} is a folder, not a file.")
        with file.open("rb"):
            return file
    except (OSError, ValueError) as error:  # ValueError: a null character in the path
        if isinstance(error, FileError):
            raise
        raise FileError(f"cannot read {str(file)!r}: {reason(error)}.") from error


def reason(error: Exception) -> str:
    """Why a file operation failed, in the system's words and without the path."""
    return (getattr(error, "strerror", None) or str(error)).strip().rstrip(".").lower()
