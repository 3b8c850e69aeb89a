"""A program as one SELECT: cells become states, states look numbers up, and these add up.

Each step is a common table expression. A state of -1 refuses the row: its results are NULL.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import count
from math import frexp, inf, isfinite, isinf, isnan
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from tanager.errors import OptionError
from tanager.export.document import describe, refuse_values
from tanager.export.program import LEFT_OUT, TAKEN, ZONED, Cells, Program, Term, type_of
from tanager.registry import check_option
from tanager.table.read_columns import check_unicode
from tanager.table.schema import Category

MOST_ARGUMENTS = 100
HOLDS: dict[str, Holds] = {"text": "text", "booleans": "boolean", "dates": "moment", "times": "moment", ZONED: "zoned"}

Column = tuple[str, str]
"""The name of a column of a step, and its expression."""


def write_sql(
    program: Program, table: str, key: str | Sequence[str], dialect: str = "sqlite", view: str | None = None
) -> str:
    """The key, the class decided for, and a column P(class=label) for each label, of every row of a table."""
    refuse_values(program, "SQL", nul=True, labels=2**63)
    language = DIALECTS[check_option("dialect", dialect, DIALECTS)]
    _refuse_columns(program, language, dialect)
    keys = (key,) if isinstance(key, str) else tuple(key)
    for option, name in [("table", table), *(("key", each) for each in keys or ("",)), ("view", view or "v")]:
        if not name or "\0" in name:
            raise OptionError(f"{option}={name!r} is no name that SQL has a place for.")
        check_unicode(name, f"{option} is the name")
    if len(set(keys)) < len(keys):
        raise OptionError(f"key has {max(keys, key=keys.count)!r} twice.", hint="name every column of the key once.")
    return _Query(program, language, table, keys).write(view)


def _refuse_columns(program: Program, language: Dialect, dialect: str) -> None:
    """Refuse columns that the engine cannot tell from others, or has no type for."""
    first: dict[str, str] = {}
    for column in program.columns:
        name = column.name
        if not name:
            raise OptionError("SQL has no place for a column without a name.", hint="rename={'': ...} gives it one.")
        if name.lower() in language.row_numbers:
            raise OptionError(
                f"{dialect} has the number of a row under the name {name!r}, also in a table without such a column.",
                hint=f"rename={{{name!r}: ...}} (--rename) says what it is called in the table.",
            )
        if type_of(column) == ZONED and not language.has_zones:
            raise OptionError(
                f"column {name!r} holds times with a zone, and {dialect} has no type for them.",
                hint="duckdb and postgresql have one; or fit the model to times in UTC without a zone.",
            )
        if language.ignores_case and (other := first.setdefault(name.lower(), name)) != name:
            raise OptionError(
                f"the columns {other!r} and {name!r} are one column to {dialect}, which ignores case.",
                hint=f"rename={{{name!r}: ...}} (--rename) says what it is called in the table.",
            )


@dataclass(frozen=True)
class _Query:
    program: Program
    dialect: Dialect
    table: str
    keys: tuple[str, ...]

    def write(self, view: str | None) -> str:
        classes = range(self.program.n_classes)
        sums = [(f"z{c}", self._sum(c)) for c in classes]
        top = self._extreme([name for name, _ in sums], greatest=True)
        impossible = f"WHEN top = {self.dialect.number(-inf)} THEN NULL"  # under every class
        weights = [(f"w{c}", self.dialect.exponential(f"(z{c} - top)")) for c in classes]
        kept = [("top", "top"), *((f"w{c}", f"w{c}") for c in classes)]
        best = " ".join(f"WHEN w{c} = most THEN {c}" for c in classes)
        total = add([f"w{c}" for c in classes])
        states = [f"s{k}" for k in range(len(self.program.columns))]  # -1 refuses the row
        steps = {
            "states": self._states(),
            "sums": [*sums, ("refused", self._extreme(states, greatest=False))],
            "highest": [
                *((name, name) for name, _ in sums),
                ("top", f"CASE WHEN refused < 0 THEN NULL ELSE {top} END"),
            ],
            "weights": [("top", "top"), *weights],
            "totals": [*kept, ("total", total), ("most", self._extreme([f"w{c}" for c in classes], greatest=True))],
            "shares": [("best", f"CASE {impossible} {best} END"), *((f"p{c}", f"w{c} / total") for c in classes)],
            **self._decision_steps(),
        }
        lines = [f"-- {line}".rstrip() for line in describe(self.program)]
        lines += [] if view is None else [f"CREATE VIEW {self.dialect.name(view)} AS"]
        texts, source = [], self._cells()
        for number, (name, columns) in enumerate(steps.items()):
            keys = [(f"k{k}", self._cell(key) if number == 0 else f"k{k}") for k, key in enumerate(self.keys)]
            body = ",\n".join(f"    {expression} AS {alias}" for alias, expression in (*keys, *columns))
            texts.append(f"{self.prefix}_{name}{self.dialect.materialized} (\n  SELECT\n{body}\n  FROM {source}\n)")
            source = f"{self.prefix}_{name}"
        return "\n".join([*lines, "WITH " + ",\n".join(texts), *self._results(), f"FROM {source};\n"])

    @cached_property
    def _names(self) -> list[str]:
        """The columns of the table that are asked for."""
        return list(dict.fromkeys([*self.keys, *(column.name for column in self.program.columns)]))

    @cached_property
    def prefix(self) -> str:
        """What the names of steps and cells begin with, and no name of the table and its columns."""
        names = [name.lower() for name in (self.table, *self._names)]
        return next(f"step{n}" for n in count() if not any(name.startswith(f"step{n}") for name in names))

    def _cells(self) -> str:
        """The cells under names that the table does not have, so that an absent column is nothing but an error."""
        source = f"{self.prefix}_table"
        named = (f"{self.dialect.column(source, name)} AS {self._cell(name)}" for name in self._names)
        return f"(SELECT {', '.join(named)} FROM {self.dialect.rows(self.table)} AS {source}) AS {self.prefix}_cells"

    def _decision_steps(self) -> dict[str, list[Column]]:
        """The expected cost of each option, and the first option of the least cost; NULL where a person is asked."""
        rule, classes = self.program.rule, range(self.program.n_classes)
        if rule is None:
            return {}
        passed, number = [(f"p{c}", f"p{c}") for c in classes], self.dialect.number
        expected = [add([f"p{c} * {number(rule.losses[c][k])}" for c in classes]) for k in classes]
        if rule.positive is not None:
            reached = f"p{rule.positive} >= {number(rule.threshold)}"
            expected[rule.positive] = f"CASE WHEN {reached} THEN {number(TAKEN)} ELSE {number(LEFT_OUT)} END"
        asked = "" if rule.price is None else f"WHEN {number(rule.price)} < least THEN NULL "
        best = " ".join(f"WHEN e{k} = least THEN {k}" for k in classes)
        return {
            "expected": [*passed, ("best", "best"), *((f"e{k}", value) for k, value in enumerate(expected))],
            "least": [
                *passed,
                ("best", "best"),
                *((f"e{k}", f"e{k}") for k in classes),
                ("least", self._extreme([f"e{k}" for k in classes], greatest=False)),
            ],
            "decided": [*passed, ("best", f"CASE WHEN best IS NULL THEN NULL {asked}{best} END")],
        }

    def _results(self) -> list[str]:
        program = self.program
        labels = [f"P({program.target.name}={label})" for label in program.labels]
        best = " ".join(f"WHEN {c} THEN {self._label(label)}" for c, label in enumerate(program.labels))
        shares = [f"p{c}" for c in range(program.n_classes)]
        values = [*(f"k{k}" for k in range(len(self.keys))), f"CASE best {best} END", *shares]
        names = self._unique([*self.keys, program.target.name, *labels])
        return ["SELECT", ",\n".join(f"  {value} AS {name}" for value, name in zip(values, names, strict=True))]

    def _states(self) -> list[Column]:
        """The state of every cell, and the coarse one where a pair looks at it."""
        pairs = [term.attributes for term in self.program.terms if len(term.attributes) > 1]
        paired = {attribute for attributes in pairs for attribute in attributes}
        columns = list(enumerate(self.program.columns))
        codes = [(f"s{k}", column) for k, column in columns]
        codes += [(f"c{k}", column.coarse) for k, column in columns if k in paired and column.groups]
        states = [(code, self._state(self.program.cells_of(column))) for code, column in codes]
        if len(states) + len(self.keys) > self.dialect.most_columns:
            raise OptionError(
                f"the model looks at {len(self.program.columns):,} columns, too many for one SELECT.",
                hint="python, js and c take any number.",
            )
        return states

    def _cell(self, name: str) -> str:
        return f"{self.prefix}_{self._names.index(name)}"

    def _state(self, cells: Cells) -> str:
        dialect, kind, column, missing = self.dialect, HOLDS.get(cells.holds, "number"), cells.column, cells.missing
        cell = self._cell(column.name)
        value = dialect.as_text(cell) if kind == "text" else dialect.as_number(cell, kind)
        questions = [f"WHEN {cell} IS NULL THEN {missing}", f"WHEN {dialect.is_wrong(cell, kind)} THEN -1"]
        if kind == "number":
            nan = dialect.is_nan(value)
            questions += [] if nan is None else [f"WHEN {nan} THEN {missing}"]
            questions.append(f"WHEN {value} IN ({dialect.number(inf)}, {dialect.number(-inf)}) THEN -1")
        if column.kind == "numeric":
            questions += [
                f"WHEN {value} = {dialect.number(float(key))} THEN {code}" for key, code in cells.codes.items()
            ]
            state = choose(list(map(str, range(len(column.cuts) + 1))), list(map(dialect.number, column.cuts)), value)
        else:
            keys = sorted(cells.codes.items())
            texts = [dialect.text(key) if isinstance(key, str) else dialect.number(float(key)) for key, _ in keys]
            codes = [(text, code) for text, (_, code) in zip(texts, keys, strict=True)]
            state = ask_category(codes, value, cells.unseen)
        return f"CASE {' '.join(questions)} ELSE {state} END"

    @cached_property
    def _by_odds(self) -> bool:
        """Whether the sum of the first of two classes is zero, and the other's are log odds: half as many look-ups."""
        program = self.program
        finite = all(np.isfinite(array).all() for array in (program.intercept, *(term.table for term in program.terms)))
        return program.n_classes == 2 and finite

    def _sum(self, c: int) -> str:
        """The sum of a class."""
        program, forest, by_odds = self.program, self.program.forest, self._by_odds
        if by_odds and c == 0:
            return self.dialect.number(0.0)
        intercept = program.intercept[c] - (program.intercept[0] if by_odds else 0.0)
        tables = (term.table[..., c] - (term.table[..., 0] if by_odds else 0.0) for term in program.terms)
        addends = [self.dialect.number(intercept.item()), *map(self._look_up, program.terms, tables)]
        if forest is not None:
            addends += [self._tree(root) for root in forest.roots[forest.of_class == c].tolist()]
            if by_odds:
                addends += [f"-({self._tree(root)})" for root in forest.roots[forest.of_class == 0].tolist()]
        return add(addends)

    def _look_up(self, term: Term, values: NDArray[np.float64]) -> str:
        several = len(term.attributes) > 1
        parts = []
        for attribute, step in zip(term.attributes, term.steps, strict=True):
            code = f"{'c' if several and self.program.columns[attribute].groups else 's'}{attribute}"
            parts.append(f"{step // self.program.n_classes} * {code}" if step > self.program.n_classes else code)
        index = f"({' + '.join(parts)})" if several else parts[0]
        return self.dialect.look_up(values.ravel().tolist(), index)

    def _tree(self, end: int) -> str:
        forest = self.program.forest
        assert forest is not None
        if end < 0:
            return self.dialect.addend(forest.values[~end].item())
        left = forest.left[forest.offsets[end] : forest.offsets[end + 1]].nonzero()[0].tolist()
        right_end, left_end = forest.ends[end].tolist()
        is_left = among(f"s{forest.attributes[end]}", left)
        return f"CASE WHEN {is_left} THEN {self._tree(left_end)} ELSE {self._tree(right_end)} END"

    def _extreme(self, values: Sequence[str], greatest: bool) -> str:
        """The extreme of many values, in groups: the number of arguments of a function is limited."""
        while len(values) > 1:
            parts = [values[k : k + MOST_ARGUMENTS] for k in range(0, len(values), MOST_ARGUMENTS)]
            values = [self.dialect.extreme(part, greatest) if len(part) > 1 else part[0] for part in parts]
        return values[0]

    def _label(self, label: Category) -> str:
        if isinstance(label, bool):
            return str(label).upper()
        return str(label) if isinstance(label, int | float) else self.dialect.text(str(label))

    def _unique(self, names: Sequence[str]) -> list[str]:
        """Names of results, each of its own, in either case and within the bytes that the engine reads."""
        seen, unique = set[bytes](), []
        for number, name in enumerate(names):
            while (key := name.lower().encode()[: self.dialect.longest_name]) in seen:
                name = f"{number}_{name}"
            seen.add(key)
            unique.append(self.dialect.name(name))
        return unique


Holds = Literal["number", "boolean", "moment", "zoned", "text"]
"""The type of the cells of a column; a moment is a date or a time without a zone."""


TYPES: dict[Holds, str] = {
    "number": "^(U?(tiny|small|big|huge)?int(eger)?$|real|float|double|decimal|numeric|bool)",
    "boolean": "^bool",
    "moment": "^(date|timestamp[_a-z]*( without time zone)?)$",
    "zoned": "^timestamp with time zone$",
    "text": "^((var)?char|text|character( varying)?|name|.char.|enum[(].*[)])$",
}
"""Names of types in DuckDB and PostgreSQL, in either case."""


class Dialect(ABC):
    """What the dialects share: standard SQL.

    collation     in which texts are compared by their bytes
    materialized  the word that keeps a step from being written into the next one, where it would be computed again
    ignores_case  whether names of columns in quotes are the same in either case
    row_numbers   names that stand for the number of a row where the table has no such column
    has_zones     whether there are times with a zone
    longest_name  bytes of a name
    most_columns  of a result
    """

    collation = '"C"'
    materialized = " AS MATERIALIZED"
    ignores_case = True
    row_numbers: frozenset[str] = frozenset()
    has_zones = True
    longest_name: int | None = None
    most_columns = 1_600

    def name(self, text: str) -> str:
        return '"' + text.replace('"', '""') + '"'

    def rows(self, table: str) -> str:
        """What stands for a table: its columns, and nothing else that a name might be taken for."""
        return f"(SELECT * FROM {self.name(table)})"

    def column(self, source: str, name: str) -> str:
        """A column; after the name of its table an absent one would be a function, or a field of a structure."""
        return self.name(name)

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
    def is_wrong(self, column: str, holds: Holds) -> str:
        """Whether a cell is of another type than in training; the row is then refused."""

    def as_text(self, column: str) -> str:
        return f"(CAST({column} AS TEXT) COLLATE {self.collation})"

    @abstractmethod
    def as_number(self, column: str, holds: Holds) -> str:
        """A cell as a double: booleans are 0 and 1, moments the microseconds since 1970 in any session."""

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
    row_numbers = frozenset(["rowid", "oid", "_rowid_"])
    has_zones = False

    def rows(self, table: str) -> str:
        return self.name(table)

    def column(self, source: str, name: str) -> str:
        return f"{source}.{self.name(name)}"  # by itself the name of an absent column would be a text

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

    def is_wrong(self, column: str, holds: Holds) -> str:
        if holds in ("number", "boolean"):
            return f"typeof({column}) NOT IN ('integer', 'real')"
        if holds == "text":
            return f"typeof({column}) <> 'text'"
        # What is written otherwise than SQLite would write it: a zone, 30 February, 24 o'clock, or no date at all.
        head, fraction = f"substr({column}, 1, 19)", f"substr({column}, 21)"
        written = f"substr(strftime('%Y-%m-%d %H:%M:%S', {head}, '+0 days'), 1, length({head}))"
        tail = f"substr({column}, 20, 1) <> '.' OR {fraction} GLOB '*[^0-9]*' OR length({column}) > 26"
        return (
            f"typeof({column}) <> 'text' OR {written} IS NOT replace({head}, 'T', ' ') "
            f"OR (length({column}) > 19 AND ({tail}))"
        )

    def as_number(self, column: str, holds: Holds) -> str:
        if holds == "moment":
            fraction = f"CAST(substr(substr({column}, 21) || '000000', 1, 6) AS INTEGER)"
            return f"CAST(strftime('%s', substr({column}, 1, 19)) * 1000000 + {fraction} AS REAL)"
        return f"CAST({column} AS REAL)"

    def look_up(self, values: Sequence[float], index: str) -> str:
        return choose(list(map(self.addend, values)), list(map(str, range(1, len(values)))), index)

    def extreme(self, values: Sequence[str], greatest: bool) -> str:
        return f"{'max' if greatest else 'min'}({', '.join(values)})"


class DuckDB(Dialect):
    materialized = " AS"

    def number(self, value: float) -> str:
        if not isfinite(value):
            return super().number(value)
        text = repr(float(value))
        return text if "e" in text else f"{text}e0"

    def is_wrong(self, column: str, holds: Holds) -> str:
        wrong = f"NOT regexp_matches(typeof({column}), '{TYPES[holds]}', 'i')"
        return f"{wrong} OR NOT isfinite({column})" if holds in ("moment", "zoned") else wrong

    def as_number(self, column: str, holds: Holds) -> str:
        if holds in ("moment", "zoned"):
            return f"CAST(epoch_us({column}) AS DOUBLE)"
        return f"CAST({column} AS DOUBLE)"

    def look_up(self, values: Sequence[float], index: str) -> str:
        return f"list_extract([{', '.join(map(self.number, values))}], CAST({index} + 1 AS BIGINT))"


class PostgreSQL(Dialect):
    """A CTE that is used once is written into its place unless told otherwise; exp() refuses to give zero."""

    ignores_case = False
    longest_name = 63

    def is_wrong(self, column: str, holds: Holds) -> str:
        kind = f"pg_typeof({column})"
        wrong = f"CAST({kind} AS TEXT) !~* '{TYPES[holds]}'"
        if holds == "text":  # or an enumeration: types that somebody made, but for arrays, have numbers from 16384 on
            return f"{wrong} AND (CAST({kind} AS OID) < 16384 OR CAST({kind} AS TEXT) LIKE '%[]')"
        return f"{wrong} OR NOT isfinite({column})" if holds in ("moment", "zoned") else wrong

    def as_number(self, column: str, holds: Holds) -> str:
        if holds in ("moment", "zoned"):
            return f"CAST(EXTRACT(EPOCH FROM {column}) * 1000000 AS DOUBLE PRECISION)"
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

FEW = 8
"""Addends, or categories, that are written one after another; more by halves."""


def add(values: Sequence[str]) -> str:
    """A sum by halves: parsers count how deep an expression goes."""
    if len(values) <= FEW:
        return " + ".join(values)
    half = len(values) // 2
    return f"({add(values[:half])}) + ({add(values[half:])})"


def among(code: str, states: Sequence[int]) -> str:
    """Whether a code is one of ascending states: by their runs, as DuckDB makes a join of every IN."""
    starts = [state for state in states if state - 1 not in states]
    ends = [state for state in states if state + 1 not in states]
    runs = [f"{code} BETWEEN {first} AND {last}" for first, last in zip(starts, ends, strict=True)]
    return " OR ".join(runs) or "1 = 0"


def choose(results: Sequence[str], bounds: Sequence[str], value: str) -> str:
    """The result after all the bounds at or below a value, by binary search; equal results need no comparison."""
    if all(result == results[0] for result in results):
        return results[0]
    half = len(results) // 2
    low, high = choose(results[:half], bounds[: half - 1], value), choose(results[half:], bounds[half:], value)
    return f"CASE WHEN {value} < {bounds[half - 1]} THEN {low} ELSE {high} END"


def ask_category(keys: Sequence[tuple[str, int]], value: str, unseen: int) -> str:
    """The state of a category, of ascending ones; by halves where they are many."""
    if not keys:
        return str(unseen)
    if len(keys) <= FEW:
        cases = " ".join(f"WHEN {value} = {key} THEN {code}" for key, code in keys)
        return f"CASE {cases} ELSE {unseen} END"
    half = len(keys) // 2
    low, high = ask_category(keys[:half], value, unseen), ask_category(keys[half:], value, unseen)
    return f"CASE WHEN {value} < {keys[half][0]} THEN {low} ELSE {high} END"
