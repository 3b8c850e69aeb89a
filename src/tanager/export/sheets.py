"""A program as sheets: a scorecard of whole points, as CSV, and an Excel workbook whose formulas compute.

Of two classes score = base + sum of points; log odds = (score - even) log 2 / double, but for the rounding. In the
workbook type cells into "Rows", and read the probabilities beside them.
"""

from __future__ import annotations

import io
import re
from collections.abc import Iterator
from itertools import product
from math import ceil, inf, isfinite, log
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from tanager.errors import OptionError
from tanager.export.document import MARK, describe, refuse_tables, refuse_values
from tanager.export.program import REFUSED, ZONED, Cells, Program, Term
from tanager.files.write_table import escape_formula, write_lines
from tanager.table.read_columns import as_written
from tanager.version import __version__

if TYPE_CHECKING:
    from openpyxl import Workbook

SHEETS = ("Rows", "States", "Terms", "Lists", "Tables", "About")
N_ROWS = 100
MAX_ROWS_OF_SHEET, LARGEST_LABEL = 2**20 - 1, 10**15
LONGEST_TEXT = 32_767
"""Letters of a cell, counted as UTF-16 does."""
NOT_IN_WORKBOOK = re.compile(r"[\x00-\x08\x0b-\x1f\ud800-\udfff\ufffe\uffff]|_x[0-9A-Fa-f]{4}_")
"""Characters that a workbook cannot hold or changes, and texts that it takes for the code of a character."""
DAY, EPOCH = 86_400e6, 25_569
"""Microseconds of a day, and the day of 1970 as Excel counts them."""


def write_scorecard(program: Program, double: float = 20.0, even: float = 500.0) -> str:
    """A row of points for every state; the first lines say how to read them.

    Rows whose scores differ by more than twice the sum of the errors of rounding keep their order.
    """
    _check_scorecard(program, double, even)
    unit = double / log(2)
    base = even + unit * float(program.intercept[1] - program.intercept[0])
    rows, error = [], abs(base - round(base))
    for term in program.terms:
        exact = unit * (term.table[..., 1] - term.table[..., 0])
        points = np.round(exact).astype(np.int64)
        error += float(np.abs(points - exact).max())
        rows += list(_rows(program, term, points))
    against, favoured = program.labels
    head: list[list[object]] = [
        ["attribute", "state", "second attribute", "second state", "points"],
        [f"{MARK} {__version__}: points add up to a score", "", "", "", ""],
        [f"even odds of {favoured} against {against}", "", "", "", even],
        ["points that double the odds", "", "", "", double],
        ["rounding moves a score by at most", "", "", "", ceil(100 * error) / 100],
        ["base score", "", "", "", round(base)],
    ]
    for name, cells in program.missing_cells.items():
        if cells and name in {column.name for column in program.columns}:
            head.append([f"missing in {name}: {', '.join(str(as_written(cell)) for cell in cells)}", "", "", "", ""])
    return write_lines(
        [escape_formula(cell) if isinstance(cell, str) else cell for cell in row] for row in (*head, *rows)
    )


def _rows(program: Program, term: Term, points: NDArray[np.int64]) -> Iterator[list[object]]:
    """The points of each state of an attribute, or of each pair of states of two."""
    columns = [program.columns[attribute] for attribute in term.attributes]
    columns = [column.coarse for column in columns] if len(columns) > 1 else columns
    missing = ("missing or unseen",) if program.missing_rule == "looked up" else ()
    labels = [[*map(str, column.states), *missing] for column in columns]
    for cell in product(*(range(len(states)) for states in labels)):
        about = [
            text for column, states, k in zip(columns, labels, cell, strict=True) for text in (column.name, states[k])
        ]
        yield [*about, *[""] * (4 - len(about)), int(points[cell])]


def _check_scorecard(program: Program, double: float, even: float) -> None:
    if program.n_classes != 2:
        raise OptionError(
            f"a scorecard is for two classes; the model has {program.n_classes}.",
            hint="excel, python and sql take more.",
        )
    if not 0 < double < inf or not isfinite(even):
        raise OptionError(f"double={double!r}, even={even!r}: expected numbers of points, and above zero to double.")
    refuse_tables(program, "a scorecard")


def write_excel(program: Program, rows: int = N_ROWS) -> bytes:
    """Sheets: "Rows" to fill in, "States" and "Terms" of each row, "Lists" of cuts and categories, and the tables."""
    if not 1 <= rows <= MAX_ROWS_OF_SHEET:
        raise OptionError(f"rows={rows!r} is not valid; a sheet computes 1 to {MAX_ROWS_OF_SHEET:,} rows.")
    refuse_values(program, "Excel", labels=LARGEST_LABEL)
    refuse_tables(program, "a workbook")
    if "" in program.labels:
        raise OptionError(
            "a class has an empty label, which a workbook cannot tell from a row without a class.",
            hint="python, js, c and sql can; or give the class a name before the model is fitted.",
        )
    try:
        from openpyxl import Workbook
    except ImportError:
        raise OptionError("to='excel' needs openpyxl.", hint="pip install 'tanager[excel]'.") from None
    book = Workbook()
    book.properties.creator = MARK
    _Sheets(program, book, rows).fill()
    stream = io.BytesIO()
    book.save(stream)
    return stream.getvalue()


class _Sheets:
    def __init__(self, program: Program, book: Workbook, n_rows: int) -> None:
        self.program, self.n_rows = program, n_rows
        book.remove(book.active)
        sheets = (book.create_sheet(name) for name in SHEETS)
        self.rows, self.states, self.terms, self.lists, self.tables, self.about = sheets

    def fill(self) -> None:
        for number, line in enumerate(describe(self.program), start=1):
            _put(self.about, number, 1, line)
        formulas = [self._list(k, cells) for k, cells in enumerate(self.program.cells)]
        looked_up = self._fill_tables()
        self._head()
        for row in range(2, self.n_rows + 2):
            for k, formula in enumerate(formulas):
                self.states.cell(row, k + 1, "=" + formula.replace("CELL", f"Rows!{_at(k + 1, row, fixed=True)}"))
            for k, formula in enumerate(looked_up):
                self.terms.cell(row, k + 1, "=" + formula.replace("ROW#", str(row)))
            self._results(row, len(looked_up))

    def _head(self) -> None:
        program = self.program
        names = [column.name for column in program.columns]
        labels = [f"P({program.target.name}={label})" for label in program.labels]
        for k, name in enumerate([*names, program.target.name, *labels], start=1):
            _put(self.rows, 1, k, name)
        for k, name in enumerate(names, start=1):
            _put(self.states, 1, k, name)
        for number, label in enumerate([program.target.name, *program.labels], start=1):
            _put(self.lists, number, len(names) + 1, label)

    def _list(self, k: int, cells: Cells) -> str:
        """Write the cuts or categories of a column; the formula for the state of CELL, an error where it refuses."""
        column, missing, unseen = cells.column, _code(cells.missing), _code(cells.unseen)
        _put(self.lists, 1, k + 1, column.name)
        categorical = column.kind == "categorical"
        keys = [self._value(cells, key) for key in (cells.codes if categorical else column.cuts)]
        for number, value in enumerate(keys, start=2):
            _put(self.lists, number, k + 1, value)
        where = f"Lists!{_at(k + 1, 2)}:{_at(k + 1, max(2, len(keys) + 1))}"

        def look_up(same: str) -> str:
            place = f"SUMPRODUCT({same}*(ROW({where})-1))-1"
            if len(keys) > len(column.categories):  # after the categories are cells that mean missing
                place = f"IF({place}>={len(column.categories)},{missing},{place})"
            return f"IF(SUMPRODUCT(--{same})=0,{unseen},{place})"

        if not keys:
            state = unseen if categorical else "IF(ISNUMBER(CELL),0,NA())"
        elif cells.is_text:
            state = f"IF(ISTEXT(CELL),{look_up(f'EXACT({where},CELL)')},NA())"
        elif categorical:
            state = f"IF(ISTEXT(CELL),NA(),{look_up(f'({where}=IF(ISLOGICAL(CELL),N(CELL),CELL))')})"
        else:
            state = f"IF(ISNUMBER(CELL),IFERROR(MATCH(CELL,{where},1),0),NA())"
        if cells.codes and not categorical:
            codes = ",".join(f"CELL={self._value(cells, key)!r}" for key in cells.codes)
            state = f"IF(OR({codes}),{missing},{state})"
        return f"IF(ISBLANK(CELL),{missing},{state})"

    def _value(self, cells: Cells, key: str | float) -> str | float:
        """What a cell of the workbook holds for a cell of the table; moments are days."""
        if isinstance(key, str):
            return key
        return float(key) / DAY + EPOCH if cells.holds in ("dates", "times", ZONED) else float(key)

    def _fill_tables(self) -> list[str]:
        """Write the tables below each other; the formula of each term and class, with ROW# for the row."""
        row, formulas = 1, []
        for term in self.program.terms:
            names = " & ".join(self.program.columns[attribute].name for attribute in term.attributes)
            for c, label in enumerate(self.program.labels):
                _put(self.tables, row, 1, f"{names}: {label}")
                table = term.table[..., c]
                cells = table.reshape(len(table), -1).tolist()
                for i, line in enumerate(cells, start=row + 1):
                    for j, value in enumerate(line, start=1):
                        self.tables.cell(i, j, value)
                where = f"Tables!{_at(1, row + 1)}:{_at(len(cells[0]), row + len(cells))}"
                places = ",".join(f"{self._state(term, attribute)}+1" for attribute in term.attributes)
                formulas.append(f"INDEX({where},{places if len(term.attributes) == 2 else places + ',1'})")
                row += len(cells) + 2
        return formulas

    def _state(self, term: Term, attribute: int) -> str:
        """The state of an attribute in a row, the coarse one in a pair."""
        column, cell = self.program.columns[attribute], f"States!${_letters(attribute + 1)}ROW#"
        if len(term.attributes) == 1 or not column.groups:
            return cell
        place = len(self.program.columns) + attribute + 2
        for number, code in enumerate(column.coarse_codes.tolist(), start=2):
            self.lists.cell(number, place, code)
        where = f"Lists!{_at(place, 2)}:{_at(place, len(column.coarse_codes) + 1)}"
        return f"INDEX({where},{cell}+1,1)"

    def _results(self, row: int, n_terms: int) -> None:
        """Sums to the right of the terms, then their shares; an error in a state goes through to the results."""
        program, first = self.program, n_terms + 2
        n_classes, n_asked = program.n_classes, len(program.columns)
        for c in range(n_classes):
            parts = "+".join(["0", *(f"{_letters(k + 1)}{row}" for k in range(c, n_terms, n_classes))])
            if len(parts) > 8_000:  # as long as a formula may be
                raise OptionError("the model has more terms than a formula can add.", hint="python, sql and c can.")
            self.terms.cell(row, first + c, f"={float(program.intercept[c])!r}+{parts}")
        sums = f"{_letters(first)}{row}:{_letters(first + n_classes - 1)}{row}"
        refused = f"+0*SUM(States!A{row}:{_letters(max(1, n_asked))}{row})" if n_asked else ""
        self.terms.cell(row, first + n_classes, f"=MAX({sums}){refused}")
        top = f"{_letters(first + n_classes)}{row}"
        for c in range(n_classes):
            self.terms.cell(row, first + n_classes + 1 + c, f"=EXP({_letters(first + c)}{row}-{top})")
        weights = [f"{_letters(first + n_classes + 1 + c)}{row}" for c in range(n_classes)]
        blank = f"COUNTA({_at(1, row)}:{_at(max(1, n_asked), row)})=0"
        labels = f"Lists!{_at(n_asked + 1, 2)}:{_at(n_asked + 1, n_classes + 1)}"
        label = f"INDEX({labels},MATCH(Terms!{top},Terms!{sums},0),1)"
        self.rows.cell(row, n_asked + 1, f'=IF({blank},"",{label})')
        for c, weight in enumerate(weights):
            total = f"SUM(Terms!{weights[0]}:{weights[-1]})"
            self.rows.cell(row, n_asked + 2 + c, f'=IF({blank},"",Terms!{weight}/{total})')


def _put(sheet: Any, row: int, column: int, value: object) -> None:
    """A value that is text is text, though it begins with "="; one that a workbook would change is refused."""
    if isinstance(value, str) and (
        NOT_IN_WORKBOOK.search(value) or len(value.encode("utf-16-le", "surrogatepass")) > 2 * LONGEST_TEXT
    ):
        raise OptionError(
            f"a workbook has no place for the text {value!r:.60}: it has a control character, or more than "
            f"{LONGEST_TEXT:,} letters.",
            hint="python, js, c and sql have one.",
        )
    cell = sheet.cell(row, column)
    cell.value = value
    if isinstance(value, str):
        cell.data_type = "s"


def _code(code: int) -> str:
    return "NA()" if code == REFUSED else str(code)


def _letters(column: int) -> str:
    from openpyxl.utils import get_column_letter

    return str(get_column_letter(column))


def _at(column: int, row: int, fixed: bool = False) -> str:
    return f"${_letters(column)}{row}" if fixed else f"${_letters(column)}${row}"
