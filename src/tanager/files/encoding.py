"""The encoding of a text that is not UTF-8, found from its bytes."""

from __future__ import annotations

import codecs
import warnings
from typing import IO

from tanager.errors import DataWarning, FileError

EVIDENCE_BYTES = 1 << 18
"""Of the lines with bytes beyond ASCII so many are looked at."""
USUAL = "cp1252"
"""What spreadsheets write in western Europe; chosen where it reads as well as any other."""
OTHERS = ("cp1250", "cp1251", "cp1253", "shift_jis", "gb18030")
FEW_LETTERS = 16
"""So few letters beyond ASCII say little of a language; then the usual encoding is the best guess."""
NULLS_OF_UTF16 = 0.3
INSTALL = "pip install 'tanager[files]'"


def find_encoding(stream: IO[bytes], where: str) -> str:
    """The encoding of a text that is not UTF-8, with a warning that says it."""
    encoding = _find(stream, where)
    warnings.warn(
        f"{where} is not UTF-8 text; it is read as {encoding}. Hint: check a name with accents.",
        DataWarning,
        stacklevel=2,
    )
    return encoding


def is_utf8(start: bytes) -> bool:
    """Whether a text may be UTF-8 by its first bytes, of which the last may be part of a letter."""
    try:
        codecs.getincrementaldecoder("utf-8")().decode(start)
    except UnicodeDecodeError:
        return False
    return b"\0" not in start


def not_utf8(where: str, hint: str = "save it with the encoding UTF-8.") -> FileError:
    """The error about a text in an encoding that is not found."""
    return FileError(f"{where} is not UTF-8 text.", hint=hint)


def _find(stream: IO[bytes], where: str) -> str:
    start = stream.read(EVIDENCE_BYTES)
    if start.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        return "utf-16"
    for encoding, first in ("utf-16-le", 1), ("utf-16-be", 0):
        if start[first::2].count(0) > NULLS_OF_UTF16 * len(start) / 2:
            return encoding
    try:
        from charset_normalizer import from_bytes
    except ImportError:
        raise not_utf8(where, f"save it with the encoding UTF-8; or {INSTALL} finds others.") from None
    evidence = _lines_beyond_ascii(start, stream)
    if _is_usual(evidence) and len(evidence.translate(None, bytes(range(128)))) < FEW_LETTERS:
        return USUAL
    found = list(from_bytes(evidence, cp_isolation=[USUAL, *OTHERS]))
    if not found:
        raise not_utf8(where)
    best = max(found, key=lambda match: (-match.chaos, match.coherence, USUAL in match.could_be_from_charset))
    return USUAL if USUAL in best.could_be_from_charset else best.encoding


def _is_usual(text: bytes) -> bool:
    try:
        text.decode(USUAL)
    except UnicodeDecodeError:
        return False
    return True


def _lines_beyond_ascii(start: bytes, stream: IO[bytes]) -> bytes:
    """The lines that say something of the encoding; ASCII is the same in nearly all."""
    lines = b""
    while start and len(lines) < EVIDENCE_BYTES:
        lines += b"\n".join(line for line in start.splitlines() if not line.isascii())
        start = stream.read(EVIDENCE_BYTES)
    return lines
