"""A folder of results: one JSON line per set x classifier x fold. One run at a time; an interrupted one goes on."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

from experiments.studies.jobs import Record
from tanager.errors import FileError
from tanager.files.paths import reason

LINES, SETTINGS, LOCK = "results.jsonl", "settings.json", "lock"


class ResultsFolder:
    """The records of one study; open it with `results_folder`."""

    def __init__(self, records: list[Record], lines: BinaryIO) -> None:
        self.records = records
        self._lines = lines

    def append(self, record: Record) -> None:
        """Keep a record at once, so that a run killed later loses nothing."""
        self.records.append(record)
        self._lines.write(json.dumps(record, allow_nan=False).encode() + b"\n")
        self._lines.flush()


def check_results_folder(folder: Path, settings: str) -> None:
    """Raise if the folder holds anything but a run with these settings."""
    file = folder / SETTINGS
    if not os.path.exists(file) and not os.path.exists(folder / LINES):
        return
    try:
        found = json.loads(file.read_text(encoding="utf-8"))["protocol"]
    except (OSError, ValueError, KeyError, TypeError):
        raise FileError(f"{str(file)!r} does not say what the results beside it are of.") from None
    if found != settings:
        raise FileError(
            f"the results folder {str(folder)!r} holds a run with other settings: {found}; now: {settings}.",
            hint="name another folder with --output, or delete this one.",
        )


@contextmanager
def results_folder(folder: Path, settings: str) -> Iterator[ResultsFolder]:
    """Open a folder for one run of a study with these settings; refuse a folder in use, or with other settings."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with (folder / LOCK).open("ab") as lock:
            _take(lock, folder)
            check_results_folder(folder, settings)
            if not (folder / SETTINGS).exists():
                text = json.dumps({"protocol": settings}, indent=2)
                (folder / SETTINGS).write_text(text + "\n", encoding="utf-8")
            with (folder / LINES).open("a+b") as lines:
                yield ResultsFolder(_read(lines, folder / LINES), lines)
    except OSError as error:
        raise FileError(f"cannot keep results in the folder {str(folder)!r}: {reason(error)}.") from error


def read_results(folder: Path) -> tuple[str, list[Record]]:
    """The settings and the whole records of a folder, which another run may be writing to."""
    try:
        settings: str = json.loads((folder / SETTINGS).read_text(encoding="utf-8"))["protocol"]
        content = (folder / LINES).read_bytes()
    except (OSError, ValueError, KeyError, TypeError):
        raise FileError(f"{str(folder)!r} is no folder of results.") from None
    return settings, _records(content[: _whole(content)], folder / LINES)


def _take(lock: BinaryIO, folder: Path) -> None:
    """Lock the folder until the file is closed or the process ends, however it ends."""
    try:
        if sys.platform == "win32":
            import msvcrt

            msvcrt.locking(lock.fileno(), msvcrt.LK_NBLCK, 1)
        else:
            import fcntl

            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        raise FileError(
            f"another run is writing to the results folder {str(folder)!r}.",
            hint="wait for it, or name another folder with --output.",
        ) from None


def _read(lines: BinaryIO, path: Path) -> list[Record]:
    """The records kept; a last line cut short by a kill is removed."""
    lines.seek(0)
    content = lines.read()
    if _whole(content) < len(content):
        lines.truncate(_whole(content))
    return _records(content[: _whole(content)], path)


def _whole(content: bytes) -> int:
    """The length of all lines that have an end."""
    return content.rfind(b"\n") + 1


def _records(content: bytes, path: Path) -> list[Record]:
    try:
        return [json.loads(line) for line in content.splitlines()]
    except ValueError as error:
        raise FileError(f"{str(path)!r} is damaged: {reason(error)}.", hint="delete the line, or the file.") from error
