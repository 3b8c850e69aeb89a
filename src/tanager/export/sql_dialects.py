"""How SQLite, DuckDB and PostgreSQL write names, numbers, look-ups and cells as numbers."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from math import frexp, inf, isfinite, isinf, isnan
from typing import Literal

Holds = Literal["number", "boolean", "moment", "text"]
"""What the cells of a column are to SQL; a moment is a date or a time."""


NO_TEXT = "^(U?(tiny|small|big|huge)?int|real|float|double|decimal|numeric|bool|date|time)"
"""How the names of types of numbers, booleans and moments begin in DuckDB and PostgreSQL, in either case."""


class Dialect(ABC):
    """What the dialects share: standard SQL.

    collation     in which texts are compared by their bytes
    materialized  the word that keeps a step from being written into the next one, where it would be computed again
    searches      whether cuts are searched by look-ups, step by step, and not by a tree of questions
    longest_name  bytes of a name
    most_columns  of a result
    """

    collation = '"C"'
    materialized = " AS MATERIALIZED"
    searches = False
    longest_name: int | None = None
    most_columns = 1_600

    def name(self, text: str) -> str:
        return '"' + text.replace('"', '""') + '"'

    def text(self, text: str) -> str:
        return "'" + text.replace("'", "''") + "'"

    def number(self, value: float) -> str:
        """The very number, whatever its digits."""
        text = {inf: "'Infinity'", -inf: "'-Infinity'"}.get(value, "'NaN'" if isnan(value) else repr(value))
        return f"CAST({text} AS DOUBLE PRECISION)"

    def addend(self, value: float) -> str:
        """A number of a table, which is only added up: its last digit may be off."""
        return self.number(value)

    def is_nan(self, expression: str) -> str | None:
        """Whether a number is NaN, where the engine has it."""
        return f"{expression} = CAST('NaN' AS DOUBLE PRECISION)"

    @abstractmethod
    def is_wrong(self, column: str, holds: Holds) -> str | None:
        """Whether a cell is of a type that the engine would turn into a wrong one; the row is then refused."""

    def as_text(self, column: str) -> str:
        return f"(CAST({column} AS TEXT) COLLATE {self.collation})"

    @abstractmethod
    def as_number(self, column: str, holds: Holds) -> str:
        """A cell as a double: booleans are 0 and 1, moments the microseconds since 1970."""

    @abstractmethod
    def look_up(self, values: Sequence[float], index: str) -> str:
        """The number at an index counted from zero."""

    def extreme(self, values: Sequence[str], greatest: bool) -> str:
        """The greatest or the least of at least two numbers."""
        return f"{'GREATEST' if greatest else 'LEAST'}({', '.join(values)})"

    def exponential(self, value: str) -> str:
        return f"EXP({value})"


class SQLite(Dialect):
    """A column may hold cells of any type; texts are dates; the functions of arithmetic are built in since 3.35."""

    collation = "BINARY"

    def number(self, value: float) -> str:
        if isinf(value):
            return "-9e999" if value < 0 else "9e999"
        digits, _, exponent = repr(abs(value)).partition("e")
        if len(digits) <= 16 and abs(int(exponent or 0)) <= 15:
            return repr(value + 0.0)
        # More digits are read with an error in the last place by some releases; integers and powers of two are not.
        mantissa, power = frexp(value)
        text, whole = f"{int(mantissa * 2**53)}.0", power - 53
        while whole:
            step = max(-60, min(60, whole))
            text, whole = f"{text}{'*' if step > 0 else '/'}{2 ** abs(step)}", whole - step
        return f"({text})"

    def addend(self, value: float) -> str:
        # One literal: SQLite compares each constant operand of a statement with all others, and tables have thousands.
        return self.number(value) if isinf(value) else repr(value + 0.0)

    def is_nan(self, expression: str) -> str | None:
        return None

    def is_wrong(self, column: str, holds: Holds) -> str | None:
        if holds in ("number", "boolean"):
            return f"typeof({column}) NOT IN ('integer', 'real')"
        if holds == "text":
            return f"typeof({column}) <> 'text'"
        # A zone, or what is no date at all.
        tail = f"substr({column}, 20, 1) <> '.' OR substr({column}, 21) GLOB '*[^0-9]*' OR length({column}) > 26"
        return (
            f"typeof({column}) <> 'text' OR {column} NOT GLOB '[0-9][0-9][0-9][0-9]-[0-9][0-9]-[0-9][0-9]*' "
            f"OR strftime('%s', substr({column}, 1, 19)) IS NULL OR (length({column}) > 19 AND ({tail}))"
        )

    def as_number(self, column: str, holds: Holds) -> str:
        if holds == "moment":
            fraction = f"CAST(substr(substr({column}, 21) || '000000', 1, 6) AS INTEGER)"
            return f"CAST(strftime('%s', substr({column}, 1, 19)) * 1000000 + {fraction} AS REAL)"
        return f"CAST({column} AS REAL)"

    def look_up(self, values: Sequence[float], index: str) -> str:
        return self._halve(values, index, 0)

    def _halve(self, values: Sequence[float], index: str, first: int) -> str:
        """Few questions, as many as the number has binary digits; none between equal values."""
        if all(value == values[0] for value in values):
            return self.addend(values[0])
        half = len(values) // 2
        low, high = self._halve(values[:half], index, first), self._halve(values[half:], index, first + half)
        return f"CASE WHEN {index} < {first + half} THEN {low} ELSE {high} END"

    def extreme(self, values: Sequence[str], greatest: bool) -> str:
        return f"{'max' if greatest else 'min'}({', '.join(values)})"


class DuckDB(Dialect):
    materialized = " AS"
    searches = True

    def number(self, value: float) -> str:
        if not isfinite(value):
            return super().number(value)
        text = repr(float(value))
        return text if "e" in text else f"{text}e0"

    def is_wrong(self, column: str, holds: Holds) -> str | None:
        """Text that is no number ends the query, but a number is some text."""
        return f"regexp_matches(typeof({column}), '{NO_TEXT}', 'i')" if holds == "text" else None

    def as_number(self, column: str, holds: Holds) -> str:
        if holds == "moment":
            return f"CAST(epoch_us(CAST({column} AS TIMESTAMP)) AS DOUBLE)"
        return f"CAST({column} AS DOUBLE)"

    def look_up(self, values: Sequence[float], index: str) -> str:
        return f"list_extract([{', '.join(map(self.number, values))}], CAST({index} + 1 AS BIGINT))"


class PostgreSQL(Dialect):
    """A CTE that is used once is written into its place unless told otherwise; exp() refuses to give zero."""

    longest_name = 63

    def is_wrong(self, column: str, holds: Holds) -> str | None:
        """As in DuckDB; and a boolean is read from its text."""
        if holds == "boolean":
            return f"CAST(pg_typeof({column}) AS TEXT) IN ('text', 'character varying', 'character')"
        return f"CAST(pg_typeof({column}) AS TEXT) ~* '{NO_TEXT}'" if holds == "text" else None

    def as_number(self, column: str, holds: Holds) -> str:
        if holds == "moment":
            return f"CAST(EXTRACT(EPOCH FROM CAST({column} AS TIMESTAMP)) * 1000000 AS DOUBLE PRECISION)"
        if holds == "boolean":  # which has no cast to a double; a number has another text unless it is 0 or 1
            cases = "WHEN 'true' THEN 1 WHEN 'false' THEN 0 WHEN '1' THEN 1 WHEN '0' THEN 0 ELSE 2"
            return f"CASE CAST({column} AS TEXT) {cases} END"
        return f"CAST({column} AS DOUBLE PRECISION)"

    def look_up(self, values: Sequence[float], index: str) -> str:
        texts = ",".join(("-" if value < 0 else "") + "Infinity" if isinf(value) else repr(value) for value in values)
        return f"(CAST('{{{texts}}}' AS DOUBLE PRECISION[]))[{index} + 1]"

    def exponential(self, value: str) -> str:
        return f"CASE WHEN {value} <= -700 THEN 0 ELSE EXP({value}) END"


DIALECTS: dict[str, Dialect] = {"sqlite": SQLite(), "duckdb": DuckDB(), "postgresql": PostgreSQL()}
