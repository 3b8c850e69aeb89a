"""The mutants of a file: its text with one small fault in it."""

from __future__ import annotations

import ast
import copy
import hashlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

Node = TypeVar("Node", bound=ast.AST)
SWAPPED: dict[type[ast.AST], type[ast.AST]] = {
    ast.Lt: ast.LtE,
    ast.LtE: ast.Lt,
    ast.Gt: ast.GtE,
    ast.GtE: ast.Gt,
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
    ast.Is: ast.IsNot,
    ast.IsNot: ast.Is,
    ast.In: ast.NotIn,
    ast.NotIn: ast.In,
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.Div,
    ast.Div: ast.Mult,
    ast.FloorDiv: ast.Mult,
    ast.Mod: ast.FloorDiv,
    ast.Pow: ast.Mult,
    ast.And: ast.Or,
    ast.Or: ast.And,
    ast.BitAnd: ast.BitOr,
    ast.BitOr: ast.BitAnd,
    ast.Break: ast.Continue,
    ast.Continue: ast.Break,
}
OPPOSITE = {"min": "max", "max": "min", "any": "all", "all": "any", "argmin": "argmax", "argmax": "argmin"}
OPPOSITE |= {"minimum": "maximum", "maximum": "minimum", "zeros": "ones", "ones": "zeros"}
SYMMETRIC = {"min", "max", "minimum", "maximum", "logaddexp", "promote_types", "isclose"}


@dataclass(frozen=True)
class Mutant:
    """A fault: `before` at these bytes of the file becomes `after`.

    scope      the outermost function around it, else the class, else "module"
    on_import  whether it is in no function
    """

    file: str
    scope: str
    on_import: bool
    before: str
    after: str
    start: int
    end: int
    number: int = 0

    @property
    def name(self) -> str:
        """The fault in words that stay the same when lines move."""
        nth = f" ({self.number + 1})" if self.number else ""
        return f"{self.file} {self.scope}: {' '.join(self.before.split())} → {self.after}{nth}"

    def text(self, source: bytes) -> bytes:
        """The source of the file with the fault in it."""
        return source[: self.start] + self.after.encode() + source[self.end :]

    def drawn(self, share: float, seed: int) -> bool:
        """Whether it is in the sample; this depends on its name and the seed alone."""
        digest = hashlib.sha256(f"{seed} {self.name}".encode()).digest()
        return int.from_bytes(digest[:8], "big") < share * 2**64


def mutants_of(path: Path, root: Path) -> list[Mutant]:
    """All mutants of a file, with names unlike each other."""
    source = path.read_bytes()
    sites = _Sites(source)
    sites.visit(ast.parse(source))
    counted: dict[tuple[str, str, str], int] = {}
    mutants = []
    for node, scope, on_import, after in sites.found:
        start, end = sites.span(node)
        before = source[start:end].decode()
        number = counted[scope, before, after] = counted.get((scope, before, after), -1) + 1
        mutants.append(Mutant(str(path.relative_to(root)), scope, on_import, before, after, start, end, number))
    return mutants


class _Sites(ast.NodeVisitor):
    """Finds (node, scope, whether on import, text for its place); not in annotations, messages and docstrings."""

    def __init__(self, source: bytes) -> None:
        self.found: list[tuple[ast.expr | ast.stmt, str, bool, str]] = []
        self.scope: list[str] = []
        self.in_function = False
        self.starts = [0]
        for line in source.splitlines(keepends=True):
            self.starts.append(self.starts[-1] + len(line))

    def span(self, node: ast.expr | ast.stmt) -> tuple[int, int]:
        """The bytes of the file that the node takes."""
        assert node.end_lineno is not None
        assert node.end_col_offset is not None
        return self.starts[node.lineno - 1] + node.col_offset, self.starts[node.end_lineno - 1] + node.end_col_offset

    def visit(self, node: ast.AST) -> None:
        match node:
            case ast.JoinedStr() | ast.Import() | ast.ImportFrom():
                return
            case ast.keyword(arg="strict"):  # of zip: a guard
                return
            case ast.Call(func=ast.Name(id="field")):  # of a dataclass: how it is printed and compared
                return
        if isinstance(node, ast.expr):
            for other in _other_expressions(node):
                if ast.unparse(other) != ast.unparse(node):
                    self._add(node, f"({ast.unparse(other)})")
        if isinstance(node, ast.stmt):
            for text in _other_statements(node):
                self._add(node, text)
        super().visit(node)

    def _add(self, node: ast.expr | ast.stmt, after: str) -> None:
        self.found.append((node, ".".join(self.scope) or "module", not self.in_function, after))

    def visit_FunctionDef(self, node: ast.FunctionDef) -> None:
        outermost = not self.in_function
        if outermost:
            self.scope.append(node.name)
            self.in_function = True
        for part in (*node.args.defaults, *node.args.kw_defaults, *node.body):
            if part is not None:
                self.visit(part)
        if outermost:
            self.scope.pop()
            self.in_function = False

    def visit_ClassDef(self, node: ast.ClassDef) -> None:
        self.scope.append(node.name)
        for part in node.body:
            self.visit(part)
        self.scope.pop()

    def visit_If(self, node: ast.If) -> None:
        if ast.unparse(node.test) != "TYPE_CHECKING":
            self.generic_visit(node)

    def visit_Assign(self, node: ast.Assign) -> None:
        if ast.unparse(node.targets[0]) != "__all__":
            self.generic_visit(node)

    def visit_AnnAssign(self, node: ast.AnnAssign) -> None:
        if node.value is not None:
            self.visit(node.value)

    def visit_Raise(self, node: ast.Raise) -> None:
        """Its message is not looked at."""


def _other_expressions(node: ast.expr) -> Iterator[ast.expr]:
    """What may stand in the place of an expression."""
    match node:
        case ast.Compare(ops=[op]) if type(op) in SWAPPED:
            yield _with(node, ops=[SWAPPED[type(op)]()])
        case ast.BinOp(op=op) | ast.BoolOp(op=op) if type(op) in SWAPPED:
            yield _with(node, op=SWAPPED[type(op)]())
        case ast.UnaryOp(operand=operand):
            yield operand
        case ast.IfExp(test=test):
            yield _with(node, test=ast.UnaryOp(ast.Not(), test))
        case ast.Constant(value=bool(value)):
            yield ast.Constant(not value)
        case ast.Constant(value=int(value)):
            yield ast.Constant(value + 1)
        case ast.Constant(value=float(value)):
            yield ast.Constant(2 * value + 1)
        case ast.Call():
            yield from _other_calls(node)


def _other_calls(node: ast.Call) -> Iterator[ast.Call]:
    called = ast.unparse(node.func).split(".")[-1]
    ordered = len(node.args) > 1 and called not in SYMMETRIC
    if ordered and not any(isinstance(argument, ast.Starred) for argument in node.args[:2]):
        yield _with(node, args=[node.args[1], node.args[0], *node.args[2:]])
    for keyword in node.keywords:
        if keyword.arg != "strict":
            yield _with(node, keywords=[other for other in node.keywords if other is not keyword])
    match node.func:
        case ast.Name(id=name) if name in OPPOSITE:
            yield _with(node, func=ast.Name(OPPOSITE[name]))
        case ast.Attribute(attr=name) if name in OPPOSITE:
            yield _with(node, func=_with(node.func, attr=OPPOSITE[name]))


def _other_statements(node: ast.stmt) -> Iterator[str]:
    """What may stand in the place of a statement."""
    match node:
        case ast.Raise() | ast.Expr(value=ast.Call()) | ast.Assign(targets=[ast.Attribute() | ast.Subscript()]):
            yield "pass"
        case ast.AugAssign(op=op):
            yield "pass"
            if type(op) in SWAPPED:
                yield ast.unparse(_with(node, op=SWAPPED[type(op)]()))
        case ast.Break() | ast.Continue():
            yield ast.unparse(SWAPPED[type(node)]())


def _with(node: Node, **fields: object) -> Node:
    other = copy.copy(node)
    for name, value in fields.items():
        setattr(other, name, value)
    return other
