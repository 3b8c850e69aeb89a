"""A program as a C99 header: tables of constants and one function, which allocates nothing."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from math import isinf, isnan, nan

from tanager.errors import OptionError
from tanager.export.document import ascii_text, describe, refuse_values
from tanager.export.program import REFUSED, Cells, Program, Term
from tanager.table.schema import ColumnSchema

INDENT = "    "


def write_c(program: Program, name: str = "model") -> str:
    """`<name>_row`, a structure of raw cells, and `<name>_predict(row, p)`; names begin with `name`."""
    if not re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*", name):
        raise OptionError(f"name={name!r} cannot begin the names of a C header; expected letters, digits and _.")
    refuse_values(program, "C", nul=True, labels=2**64)  # labels are text
    fields = [_field(number, column) for number, column in enumerate(program.columns)]
    body = [
        *_struct(program, fields),
        *_labels(program),
        *([FIND] if any(cells.is_text for cells in program.cells) else []),
        *(line for number, cells in enumerate(program.cells) for line in _encoder(number, cells)),
        *_tables(program),
        NORMALIZE,
        ADD,
        *_predict(program, fields),
    ]
    guard = f"{name.upper()}_H"
    text = "\n".join(
        [f"#ifndef {guard}", f"#define {guard}", "", "#include <math.h>", "#include <string.h>", "", *body]
    )
    header = "\n".join(f" * {line}".rstrip() for line in describe(program))
    return f"/*\n{header}\n */\n{text.replace('@', name)}\n#endif\n"


def _field(number: int, column: ColumnSchema) -> str:
    words = re.sub(r"[^A-Za-z0-9]+", "_", column.name)[:40].strip("_")
    return f"{words}_{number}" if words[:1].isalpha() else f"x_{words}_{number}"


def _struct(program: Program, fields: Sequence[str]) -> list[str]:
    lines = ["/* A missing number is NAN, a missing text NULL; text is UTF-8, a boolean 0 or 1. */", "typedef struct {"]
    for field, cells in zip(fields, program.cells, strict=True):
        kind = "const char *" if cells.is_text else "double "
        about = ascii_text(cells.column.name).replace("@", r"\u0040")
        lines.append(f"{INDENT}{kind}{field}; /* {about} */")
    return [*lines, "} @_row;", ""]


def _labels(program: Program) -> list[str]:
    labels = ", ".join(_string(str(label).encode()) for label in program.labels)
    return [
        f"enum {{ @_n_classes = {program.n_classes} }};",
        f"static const char *const @_classes[{program.n_classes}] = {{{labels}}};",
        "",
    ]


def _encoder(number: int, cells: Cells) -> list[str]:
    """A function that gives the code of a cell; its cuts or categories before it."""
    column, missing, unseen = cells.column, cells.missing, cells.unseen
    head = f"static inline int @_code_{number}("
    if cells.is_text:
        keys = sorted((str(key).encode(), code) for key, code in cells.codes.items())
        texts = ", ".join(_string(key) for key, _ in keys)
        states = ", ".join(str(code) for _, code in keys)
        return [
            f"static const char *const @_texts_{number}[{len(keys)}] = {{{texts}}};",
            f"static const int @_states_{number}[{len(keys)}] = {{{states}}};",
            f"{head}const char *cell) {{",
            f"{INDENT}int at;",
            f"{INDENT}if (cell == NULL) return {missing};",
            f"{INDENT}at = @_find(cell, @_texts_{number}, {len(keys)});",
            f"{INDENT}return at < 0 ? {unseen} : @_states_{number}[at];",
            "}",
            "",
        ]
    lines = [f"{head}double cell) {{", f"{INDENT}if (isnan(cell)) return {missing};"]
    lines += [f"{INDENT}if (isinf(cell)) return {REFUSED};"]
    lines += [f"{INDENT}if (cell == {_number(float(key))}) return {code};" for key, code in cells.codes.items()]
    if column.kind == "categorical":
        return [*lines, f"{INDENT}return {unseen};", "}", ""]
    if not column.cuts:
        return [*lines, f"{INDENT}return 0;", "}", ""]
    # How many cuts are at or below the cell, by halves and without branches; NAN is above every cell.
    step = 1 << (len(column.cuts).bit_length() - 1)
    cuts = [*column.cuts, *[nan] * (2 * step - len(column.cuts))]
    lines += [f"{INDENT}int at = 0;"]
    while step:
        lines.append(f"{INDENT}at += (@_cuts_{number}[at + {step - 1}] <= cell) * {step};")
        step //= 2
    return [_array(f"@_cuts_{number}", cuts), *lines, f"{INDENT}return at;", "}", ""]


def _tables(program: Program) -> list[str]:
    lines = [_array("@_intercept", program.intercept.tolist())]
    for number, column in enumerate(program.columns):
        if column.groups and any(number in term.attributes for term in program.terms if len(term.attributes) > 1):
            lines.append(_array(f"@_coarse_{number}", column.coarse_codes.tolist(), "int"))
    lines += [_array(f"@_term_{k}", term.table.ravel().tolist()) for k, term in enumerate(program.terms)]
    if program.forest is not None:
        forest = program.forest
        for what, values in (
            ("roots", forest.roots),
            ("of_class", forest.of_class),
            ("asked", forest.attributes),
            ("ends", forest.ends.ravel()),
            ("offsets", forest.offsets),
            ("left", forest.left.astype(int)),
        ):
            kind = "unsigned char" if what == "left" else "int"
            lines.append(_array(f"@_{what}", values.tolist(), kind))
        lines.append(_array("@_leaves", forest.values.tolist()))
    return [*lines, ""]


def _predict(program: Program, fields: Sequence[str]) -> list[str]:
    """The function; its terms are written out, so that the compiler knows every stride."""
    lines = [
        "/* P(class | row) into p[@_n_classes], in the order of @_classes. Gives the number of the most probable",
        "   class, or -1, and NAN in p, where the model refuses the row. */",
        "static inline int @_predict(const @_row *row, double *p) {",
        f"{INDENT}int code[{len(fields)}], c;",
    ]
    lines += [f"{INDENT}code[{k}] = @_code_{k}(row->{field});" for k, field in enumerate(fields)]
    refusing = [
        k for k, cells in enumerate(program.cells) if not cells.is_text or REFUSED in (cells.missing, cells.unseen)
    ]
    if refusing:
        condition = " | ".join(f"code[{k}]" for k in refusing)  # only -1 has the sign
        refuse = "for (c = 0; c < @_n_classes; c++) p[c] = NAN;"
        lines.append(f"{INDENT}if (({condition}) < 0) {{ {refuse} return -1; }}")
    lines.append(f"{INDENT}for (c = 0; c < @_n_classes; c++) p[c] = @_intercept[c];")
    lines += [f"{INDENT}@_add(p, @_term_{k} + {_cell(program, term)});" for k, term in enumerate(program.terms)]
    lines += [FOREST] if program.forest is not None else []
    return [*lines, f"{INDENT}return @_normalize(p);", "}", ""]


def _cell(program: Program, term: Term) -> str:
    single = len(term.attributes) == 1
    parts = []
    for attribute, step in zip(term.attributes, term.steps, strict=True):
        code = f"code[{attribute}]"
        if program.columns[attribute].groups and not single:
            code = f"@_coarse_{attribute}[{code}]"
        parts.append(f"{step} * {code}")
    return " + ".join(parts)


def _array(name: str, values: Iterable[float], kind: str = "double") -> str:
    texts = [_number(value) if kind == "double" else str(int(value)) for value in values] or ["0"]
    return f"static const {kind} {name}[{len(texts)}] = {{{', '.join(texts)}}};"


def _number(value: float) -> str:
    """All digits: the compiler reads the very number."""
    value = float(value)
    if isnan(value):
        return "NAN"
    return ("-" if value < 0 else "") + "INFINITY" if isinf(value) else repr(value)


def _string(text: bytes) -> str:
    """A C string of the bytes of UTF-8; octal codes end after three digits, whatever follows. @ stands for the name."""
    plain = re.compile(rb"[A-Za-z0-9 _.,:;()<>=+*/-]")
    return '"' + "".join(chr(b) if plain.match(bytes([b])) else f"\\{b:03o}" for b in text) + '"'


NORMALIZE = """\
/* exp(p) divided by its sum; -1 where all are impossible. Gives the most probable class. */
static inline int @_normalize(double *p) {
    double total = 0.0;
    int c, best = 0;
    for (c = 1; c < @_n_classes; c++) if (p[c] > p[best]) best = c;
    const double highest = p[best];
    for (c = 0; c < @_n_classes; c++) { p[c] = exp(p[c] - highest); total += p[c]; }
    for (c = 0; c < @_n_classes; c++) p[c] /= total;
    return isnan(total) ? -1 : best;
}
"""
FIND = """\
/* Where a text is among sorted ones; -1 for none. */
static inline int @_find(const char *text, const char *const *sorted, int n) {
    int low = 0, high = n;
    while (low < high) {
        const int middle = (low + high) / 2, order = strcmp(sorted[middle], text);
        if (order == 0) return middle;
        if (order < 0) low = middle + 1; else high = middle;
    }
    return -1;
}
"""
ADD = """\
static inline void @_add(double *p, const double *term) {
    int c;
    for (c = 0; c < @_n_classes; c++) p[c] += term[c];
}
"""
FOREST = """\
    {
        int tree;
        for (tree = 0; tree < (int)(sizeof @_roots / sizeof @_roots[0]); tree++) {
            int at = @_roots[tree];
            while (at >= 0) at = @_ends[2 * at + @_left[@_offsets[at] + code[@_asked[at]]]];
            p[@_of_class[tree]] += @_leaves[~at];
        }
    }"""
