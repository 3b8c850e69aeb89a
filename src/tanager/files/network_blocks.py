"""The words of the text formats (bif, net, dsl, dne), and their blocks in braces."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import NoReturn, Union

from tanager.network.document import DocumentError, shorten

C_COMMENTS = r"//[^\n]*|/\*.*?(?:\*/|\Z)"
"""One that is never closed ends with the text, so that no other beginning of one is looked at again."""
Item = Union[str, list["Item"], "Block"]


class Words:
    """The words of a text one after the other: marks, quoted texts without their quotes, and everything between.

    marks     characters that are words of their own
    comments  pattern of what to leave out, besides blanks
    """

    def __init__(self, text: str, marks: str, comments: str) -> None:
        mark, between = f"[{re.escape(marks)}]", rf'[^\s"{re.escape(marks)}]+'
        quoted = r'"(?:[^"\\]|\\.)*+"'
        words = rf"(?P<quoted>{quoted})|(?P<mark>{mark})|(?P<word>{between})|(?P<end>\Z)|(?P<open>.)"
        self._text = text
        self._found = re.compile(rf"(?:\s|{comments})*+(?:{words})", re.DOTALL).finditer(text)
        self._advance()

    def _advance(self) -> None:
        self._ahead = match = next(self._found)
        self._kind = kind = match.lastgroup or "end"
        self.mark = match[kind] if kind in ("mark", "end") else None
        """The next word, if it is a mark; "" at the end."""
        if kind == "open":
            raise DocumentError(f"a quote in line {self._line} is never closed")

    def take(self) -> str:
        """The next word; the text must not end before it."""
        kind, word = self._kind, self._ahead[self._kind]
        if kind == "end":
            raise DocumentError("it ends too early, so it was cut short")
        self._advance()
        return re.sub(r"\\(.)", r"\1", word[1:-1], flags=re.DOTALL) if kind == "quoted" else word

    def expect(self, word: str) -> None:
        """Take the next word, which must be this one."""
        if self._kind != "end" and self._ahead[self._kind].lower() != word:
            self.refuse(f"expected {word!r}")
        self.take()

    def until(self, end: str) -> Iterator[str]:
        """The words before the next mark `end`, commas and bars left out; the end is taken."""
        while self.mark != end:
            if self.mark in (",", "|"):
                self.take()
            elif self.mark:
                self.refuse(f"expected {end!r}")
            else:
                yield self.take()
        self.take()

    def skip(self, end: str) -> None:
        """Leave out everything up to the next mark `end`, and it."""
        while self.mark != end:
            self.take()
        self.take()

    def refuse(self, problem: str) -> NoReturn:
        """Raise an error that names the line and the word ahead."""
        if self._kind == "end":
            raise DocumentError("it ends too early, so it was cut short")
        raise DocumentError(f"line {self._line}: {problem}, got {shorten(self._ahead[self._kind])}")

    @property
    def _line(self) -> int:
        return self._text.count("\n", 0, self._ahead.start(self._kind)) + 1


@dataclass
class Block:
    """`heading { key = value; ... heading { ... } }`; a list in parentheses is a list, its commas left out."""

    heading: list[Item] = field(default_factory=list)
    values: dict[str, list[Item]] = field(default_factory=dict)
    blocks: list[Block] = field(default_factory=list)

    def value(self, key: str) -> Item | None:
        """The value of a key that has one."""
        return next(iter(self.values.get(key, ())), None)

    def block(self, key: str) -> Block:
        """The block a key stands for, an empty one where there is none."""
        found = self.value(key)
        return found if isinstance(found, Block) else Block()


def read_blocks(words: Words) -> Block:
    """The whole text, as a block without heading."""
    return _block([], words, end="")


def _block(heading: list[Item], words: Words, end: str) -> Block:
    block = Block(heading)
    while words.mark != end:
        items: list[Item] = []
        while words.mark not in ("=", "{", ";"):
            items.append(_item(words))
        if words.mark == "{":
            words.take()
            block.blocks.append(_block(items, words, end="}"))
        elif words.take() == "=":
            if len(items) != 1 or not isinstance(items[0], str):
                words.refuse("expected one name before '='")
            block.values[items[0]] = _value(words)
    if end:
        words.take()
    return block


def _value(words: Words) -> list[Item]:
    items: list[Item] = []
    while words.mark != ";":
        if words.mark == "{":
            words.take()
            items.append(_block([], words, end="}"))
        else:
            items.append(_item(words))
    words.take()
    return items


def _item(words: Words) -> Item:
    if words.mark in ("}", ")", "{"):
        words.refuse("expected a name or a value")
    if words.mark != "(":
        return words.take()
    words.take()
    items: list[Item] = []
    while words.mark != ")":
        if words.mark == ",":
            words.take()
        else:
            items.append(_item(words))
    words.take()
    return items


def texts(items: Item | None, where: str) -> list[str]:
    """A list of words, if it is one."""
    if not isinstance(items, list) or not all(isinstance(item, str) for item in items):
        raise DocumentError(f"{where} is not there, or is no list of words")
    return [item for item in items if isinstance(item, str)]


def flat(items: Item | None, where: str) -> list[str]:
    """The words of a list and of the lists in it, in order."""
    if not isinstance(items, list):
        raise DocumentError(f"{where} is not there, or is no list of numbers")
    result: list[str] = []
    for item in items:
        if isinstance(item, str):
            result.append(item)
        else:
            result.extend(flat(item, where))
    return result
