"""What a command writes: files that may be standard output (`-`)."""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from tanager.errors import OptionError

if TYPE_CHECKING:
    from tanager.files.paths import OutputKind

STREAM = "-"


@contextmanager
def output_file(path: str, suffix: str, kind: OutputKind, reads: Iterable[str | None], force: bool) -> Iterator[str]:
    """The path, checked now, or that of a file which goes to standard output when the block ends without an error."""
    from tanager.files.paths import check_output

    check_output(path, kind, reads=reads, force=force)
    if path != STREAM:
        yield path
        return
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, f"stdout{suffix}")
        yield str(file)
        sys.stdout.buffer.write(file.read_bytes())
        sys.stdout.buffer.flush()


@contextmanager
def optional_output(
    path: str | None, suffix: str, kind: OutputKind | None, reads: Iterable[str | None], force: bool
) -> Iterator[str | None]:
    """As `output_file`; None where no file is to be written."""
    if path is None or kind is None:
        yield None
        return
    with output_file(path, suffix, kind, reads, force) as file:
        yield file


def check_stdout(as_json: bool, output: str | None) -> None:
    """Refuse --json where the file that is written goes to standard output too."""
    if as_json and output == STREAM:
        raise OptionError("--json and the output - would both print to stdout.", hint="name a file for the output.")
