"""ScratchFile: arrays in a file without a name, so that nothing is left of them after a crash."""

from __future__ import annotations

import shutil
import tempfile
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

from tanager.errors import MemoryLimitError

# Of the arrays that are looked at where they lie.
ALIGNMENT = 8


class ScratchFile:
    """Bytes that are appended, and read by being mapped into memory."""

    def __init__(self) -> None:
        # The system keeps an unlinked file as long as this process has it open or mapped, and no longer.
        self._file: IO[bytes] = tempfile.TemporaryFile(buffering=0)  # noqa: SIM115 closed by `close`
        self.size = 0

    def append(self, array: NDArray[Any]) -> int:
        """Write the elements of an array, in its own order; the answer is where they begin."""
        start = self.size
        data = array.ravel(order="K").view(np.uint8).data
        try:
            while data:
                data = data[self._file.write(data) :]
        except OSError as error:
            raise no_space(len(data), "the codes of the next rows") from error
        self.size += array.nbytes
        return start

    def align(self) -> None:
        """Let the next array begin where it can be looked at without a copy."""
        self.append(np.zeros(-self.size % ALIGNMENT, dtype=np.uint8))

    def read(self, start: int, size: int) -> NDArray[np.uint8]:
        """Some of the bytes, mapped into memory; they outlive `close`."""
        if not size:
            return np.empty(0, dtype=np.uint8)
        # A plain array on top, and one that may be written to: kernels are compiled for those.
        return np.asarray(np.memmap(self._file, np.uint8, "r+", start, size))

    def close(self) -> None:
        """Give the disk space back, once nothing is mapped."""
        self._file.close()


def check_space(n_bytes: int, what: str) -> None:
    """Refuse what would not fit on the disk with the temporary folder."""
    if shutil.disk_usage(tempfile.gettempdir()).free < n_bytes:
        raise no_space(n_bytes, what)


def no_space(n_bytes: int, what: str) -> MemoryLimitError:
    folder = tempfile.gettempdir()
    free = shutil.disk_usage(folder).free
    return MemoryLimitError(
        f"{what} take {n_bytes:,} bytes in the temporary folder {folder!r}, which has {free:,} left.",
        hint="name a folder with more space in the environment variable TMPDIR.",
    )
