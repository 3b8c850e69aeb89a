"""Names and states in formats that cannot hold every text: a character that has no place there becomes its code.

A character becomes _0xHH_ with its hexadecimal code, upper case: "petal length" -> "petal_0x20_length". The empty
text becomes "_0x_". Different texts stay different, and reading gives back the text itself.
"""

from __future__ import annotations

import re
from collections.abc import Collection

ESCAPE = re.compile(r"_0x(?P<code>[0-9A-F]{2,6})?_")
# An underscore that would begin an escape is escaped too, so that every "_0x" in the result is one.
AMBIGUOUS = r"_(?=0x)"
NOT_IN_WORD = re.compile(rf"{AMBIGUOUS}|^[0-9]|[^A-Za-z0-9_]")
NOT_IN_QUOTES = re.compile(rf'{AMBIGUOUS}|["\\]|[^ -~]')
# XML has no control characters; its readers strip texts and join blanks.
NOT_IN_XML = re.compile(rf"{AMBIGUOUS}|[\x00-\x1f\x7f-\x9f\ud800-\udfff\ufffe\uffff]|[^\S ]|^ | $| (?= )")
INTEGER = re.compile(r"-?(0|[1-9][0-9]{0,17})")
"""A whole number that 64 bits hold; a longer one is a text."""


def word(text: str, keywords: Collection[str] = ()) -> str:
    """The text as an identifier: ASCII letters, digits and underscores, the first no digit, none of the keywords."""
    if text.lower() in keywords:
        return _code(text[0]) + text[1:]
    return _escape(text, NOT_IN_WORD)


def word_or_integer(text: str, keywords: Collection[str] = ()) -> str:
    """The text as an identifier, unless it is a whole number."""
    return text if INTEGER.fullmatch(text) else word(text, keywords)


def quoted(text: str) -> str:
    """The text between double quotes: ASCII, without quotes and backslashes."""
    return f'"{_escape(text, NOT_IN_QUOTES)}"'


def xml_text(text: str) -> str:
    """The text as an XML element may hold it (its < and & are the XML writer's business)."""
    return _escape(text, NOT_IN_XML)


def plain(text: str) -> str:
    """The text that was escaped, whatever the format."""
    return ESCAPE.sub(lambda found: _character(found["code"]) if found["code"] else "", text)


def _escape(text: str, unsafe: re.Pattern[str]) -> str:
    return unsafe.sub(lambda found: _code(found[0]), text) if text else "_0x_"


def _code(character: str) -> str:
    return f"_0x{ord(character):02X}_"


def _character(code: str) -> str:
    # A code beyond Unicode is somebody's name, not an escape.
    return chr(int(code, 16)) if int(code, 16) <= 0x10FFFF else f"_0x{code}_"
