"""A program as an Excel workbook whose formulas compute: type cells into "Rows", read the probabilities beside them."""

from __future__ import annotations

import io
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tanager.errors import OptionError
from tanager.export.document import MARK, describe, refuse_tables, refuse_values
from tanager.export.program import LEFT_OUT, REFUSED, TAKEN, ZONED, Cells, DecisionRule, Program, Term

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


def is_empty_workbook(file: Path) -> bool:
    """Whether a file is a workbook that we made, without a sheet or a cell of "Rows" that somebody added."""
    try:
        from openpyxl import load_workbook

        book = load_workbook(io.BytesIO(file.read_bytes()))  # of a file's name it would ask the suffix
        if book.properties.creator != MARK or book.sheetnames != list(SHEETS):
            return False
        return all(
            cell.value is None or cell.data_type == "f" for row in book["Rows"].iter_rows(min_row=2) for cell in row
        )
    except Exception:  # what cannot be read may be anything
        return False


class _Sheets:
    def __init__(self, program: Program, book: Workbook, n_rows: int) -> None:
        self.program, self.n_rows = program, n_rows
        book.remove(book.active)
        sheets = (book.create_sheet(name) for name in SHEETS)
        self.rows, self.states, self.terms, self.lists, self.tables, self.about = sheets

    def fill(self) -> None:
        for number, line in enumerate(describe(self.program), start=1):
            _put(self.about, number, 1, line)
        formulas = [self._list(k, cells) for k, cells in enumerate(self.program.asked_cells)]
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
        names = [column.name for column in program.asked]
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
            if len(keys) > len(cells.keys):  # after the categories are cells that mean missing
                place = f"IF({place}>={len(cells.keys)},{missing},{place})"
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
        place = len(self.program.asked) + attribute + 2
        for number, code in enumerate(column.coarse_codes.tolist(), start=2):
            self.lists.cell(number, place, code)
        where = f"Lists!{_at(place, 2)}:{_at(place, len(column.coarse_codes) + 1)}"
        return f"INDEX({where},{cell}+1,1)"

    def _results(self, row: int, n_terms: int) -> None:
        """Sums to the right of the terms, then their shares; an error in a state goes through to the results."""
        program, first = self.program, n_terms + 2
        n_classes, n_asked = program.n_classes, len(program.asked)
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
        place = f"MATCH(Terms!{top},Terms!{sums},0)"
        if program.rule is not None:
            place = self._decide(program.rule, row, first + 2 * n_classes + 2)
        label = f"INDEX({labels},{place},1)"
        if program.rule is not None and program.rule.price is not None:
            label = f'IF({place}>{n_classes},"",{label})'
        self.rows.cell(row, n_asked + 1, f'=IF({blank},"",{label})')
        for c, weight in enumerate(weights):
            total = f"SUM(Terms!{weights[0]}:{weights[-1]})"
            self.rows.cell(row, n_asked + 2 + c, f'=IF({blank},"",Terms!{weight}/{total})')

    def _decide(self, rule: DecisionRule, row: int, first: int) -> str:
        """Write what each option is expected to cost into "Terms"; the place of the least."""
        n_classes, n_asked = self.program.n_classes, len(self.program.asked)
        shares = [f"Rows!{_at(n_asked + 2 + c, row, fixed=True)}" for c in range(n_classes)]
        for k in range(n_classes):
            expected = "+".join(f"{share}*{rule.losses[c][k]!r}" for c, share in enumerate(shares))
            if k == rule.positive:
                expected = f"IF({shares[k]}>={rule.threshold!r},{TAKEN!r},{LEFT_OUT!r})"
            self.terms.cell(row, first + k, f'=IF({shares[0]}="","",{expected})')
        last = first + n_classes - 1
        if rule.price is not None:
            last += 1
            self.terms.cell(row, last, rule.price)
        options = f"Terms!${_letters(first)}{row}:${_letters(last)}{row}"
        return f"MATCH(MIN({options}),{options},0)"


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
