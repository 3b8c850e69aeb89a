"""A program as an ONNX model: doubles and strings in, the class and its probabilities out."""

from __future__ import annotations

from itertools import count
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tanager.additive.forest import Forest
from tanager.errors import OptionError
from tanager.export.document import MARK, describe, refuse_values
from tanager.export.program import REFUSED, Cells, Program, Term
from tanager.version import __version__

OPSET, ML_OPSET, IR_VERSION = 18, 3, 9
"""Operators of 2022, which today's runtimes have."""
OUTPUTS = ("label", "probabilities")
NO_TEXT = ("", "\x00")
"""Strings have no null: the first of these that is no category is a missing text."""


def write_onnx(program: Program) -> bytes:
    """An input (rows, 1) for each column; outputs `label` (rows,) and `probabilities` (rows, classes)."""
    try:
        import onnx
    except ImportError:
        raise OptionError("to='onnx' needs onnx.", hint="pip install 'tanager[onnx]'.") from None
    refuse_values(program, "ONNX", labels=2**63)
    for column in program.columns:
        if column.name in ("", *OUTPUTS):
            raise OptionError(
                f"ONNX has no input of the name {column.name!r}: it is empty, or the name of an output.",
                hint=f"rename={{{column.name!r}: ...}} (--rename) gives the input another name.",
            )
    graph = _Graph(program)
    graph.build()
    helper = onnx.helper
    model = helper.make_model(
        helper.make_graph(graph.nodes, "tanager", graph.inputs, graph.outputs, graph.constants),
        producer_name=MARK,
        producer_version=__version__,
        doc_string="\n".join([*describe(program), "A missing number is NaN, a missing text is empty."]),
        opset_imports=[helper.make_opsetid("", OPSET), helper.make_opsetid("ai.onnx.ml", ML_OPSET)],
        ir_version=IR_VERSION,
    )
    onnx.checker.check_model(model)
    content: bytes = model.SerializeToString()
    return content


class _Graph:
    """The nodes of the graph, made one after another; a value is known by its name."""

    def __init__(self, program: Program) -> None:
        from onnx import TensorProto, helper, numpy_helper

        self.program, self.helper, self.numpy_helper, self.types = program, helper, numpy_helper, TensorProto
        self.nodes: list[Any] = []
        self.constants: list[Any] = []
        self.inputs: list[Any] = []
        self.outputs: list[Any] = []
        taken = {*(column.name for column in program.columns), *OUTPUTS}
        self.names = (f"value {n}" for n in count() if f"value {n}" not in taken)

    def build(self) -> None:
        program = self.program
        raw, zero = [self._code(cells) for cells in program.cells], self.constant(np.int64(0))
        codes = [self.op("Max", code, zero) for code in raw]  # a refused row has numbers, which are not given
        total = self._total(codes)
        shares = self.op("Softmax", total, axis=1)
        least = self.op("ReduceMin", self._table(raw), self.constant(np.array([1])), keepdims=1)
        refused = self.op("Less", least, zero)
        self.op("Where", refused, self.constant(np.float64(np.nan)), shares, output="probabilities")
        self._label(self.op("ArgMax", total, axis=1, keepdims=0))
        self.outputs.append(self._value("probabilities", self.types.DOUBLE, ["rows", program.n_classes]))

    def _total(self, codes: list[str]) -> str:
        """(rows, classes) the sums of each class."""
        nothing = self.op("Mul", codes[0], self.constant(np.int64(0)))
        sums = [self.op("Gather", self.constant(self.program.intercept[np.newaxis]), nothing)]
        sums += [self._look_up(term, codes) for term in self.program.terms]
        if self.program.forest is not None:
            sums.append(self._forest(self.program.forest, codes))
        return self.op("Sum", *sums)

    def op(self, kind: str, *inputs: str, output: str | None = None, domain: str = "", **attributes: Any) -> str:
        """Add a node; the name of its value."""
        name = output or next(self.names)
        self.nodes.append(self.helper.make_node(kind, list(inputs), [name], domain=domain, **attributes))
        return name

    def constant(self, value: NDArray[Any] | np.generic) -> str:
        name = next(self.names)
        self.constants.append(self.numpy_helper.from_array(np.asarray(value), name))
        return name

    def _value(self, name: str, kind: int, shape: list[str | int]) -> Any:
        return self.helper.make_tensor_value_info(name, kind, shape)

    def _label(self, best: str) -> None:
        labels = self.program.labels
        numbers = all(type(label) is int for label in labels)
        values = np.array(labels) if numbers else np.array([str(label) for label in labels], dtype=object)
        self.op("Gather", self.constant(values), best, output="label")
        self.outputs.append(self._value("label", self.types.INT64 if numbers else self.types.STRING, ["rows"]))

    def _code(self, cells: Cells) -> str:
        """(rows,) the code of each cell."""
        text, column, missing, unseen = cells.is_text, cells.column, cells.missing, cells.unseen
        self.inputs.append(self._value(column.name, self.types.STRING if text else self.types.DOUBLE, ["rows", 1]))
        axis = self.constant(np.array([1]))
        if text:
            nothing = next(mark for mark in NO_TEXT if mark not in cells.codes)
            code = self.op(
                "LabelEncoder",
                column.name,
                domain="ai.onnx.ml",
                keys_strings=[*cells.codes, nothing],
                values_int64s=[*cells.codes.values(), missing],
                default_int64=unseen,
            )
            return self.op("Squeeze", code, axis)
        if column.kind == "numeric":
            below = self.op("GreaterOrEqual", column.name, self.constant(np.array([column.cuts or (np.inf,)])))
            code = self._sum(below, None, axis)
        else:
            code = self.constant(np.int64(unseen))
        if cells.codes or column.kind == "categorical":
            numbers = np.array([float(key) for key in cells.codes] or [np.nan])
            equal = self.op("Equal", column.name, self.constant(numbers[np.newaxis]))
            looked_up = self._sum(equal, np.array(list(cells.codes.values()) or [0]), axis)
            seen = self.op("Greater", self._sum(equal, None, axis), self.constant(np.int64(0)))
            code = self.op("Where", seen, looked_up, code)
        for kind, state in (("IsNaN", missing), ("IsInf", REFUSED)):
            flag = self.op("Squeeze", self.op(kind, column.name), axis)
            code = self.op("Where", flag, self.constant(np.int64(state)), code)
        return code

    def _sum(self, flags: str, weights: NDArray[np.int64] | None, axis: str) -> str:
        """(rows,) how many flags (rows, n) there are, or the sum of their weights."""
        ones = self.op("Cast", flags, to=self.types.INT64)
        ones = ones if weights is None else self.op("Mul", ones, self.constant(weights[np.newaxis]))
        return self.op("ReduceSum", ones, axis, keepdims=0)

    def _look_up(self, term: Term, codes: list[str]) -> str:
        """(rows, classes) what a term adds."""
        cell = ""
        for attribute, step in zip(term.attributes, term.steps, strict=True):
            code, column = codes[attribute], self.program.columns[attribute]
            if len(term.attributes) > 1 and column.groups:
                code = self.op("Gather", self.constant(column.coarse_codes), code)
            part = self.op("Mul", code, self.constant(np.int64(step // self.program.n_classes)))
            cell = self.op("Add", cell, part) if cell else part
        return self.op("Gather", self.constant(term.table.reshape(-1, self.program.n_classes)), cell)

    def _table(self, codes: list[str]) -> str:
        """(rows, attributes) all codes."""
        axis = self.constant(np.array([1]))
        return self.op("Concat", *(self.op("Unsqueeze", code, axis) for code in codes), axis=1)

    def _forest(self, forest: Forest, codes: list[str]) -> str:
        """(rows, classes) what the trees add: all rows step down all trees together."""
        table, zero = self._table(codes), self.constant(np.int64(0))
        start = self.op("Unsqueeze", self.op("Mul", codes[0], zero), self.constant(np.array([1])))
        at = self.op("Add", start, self.constant(forest.roots[np.newaxis]))
        attributes, offsets = self.constant(forest.attributes), self.constant(forest.offsets[:-1])
        left, ends = self.constant(forest.left.astype(np.int64)), self.constant(forest.ends.ravel())
        for _ in range(_depth(forest)):
            split = self.op("Max", at, zero)
            code = self.op("GatherElements", table, self.op("Gather", attributes, split), axis=1)
            side = self.op("Gather", left, self.op("Add", self.op("Gather", offsets, split), code))
            place = self.op("Add", self.op("Mul", split, self.constant(np.int64(2))), side)
            ongoing = self.op("GreaterOrEqual", at, zero)
            at = self.op("Where", ongoing, self.op("Gather", ends, place), at)
        leaf = self.op("Sub", self.constant(np.int64(-1)), at)
        values = self.op("Gather", self.constant(forest.values), leaf)
        of_class = (forest.of_class[:, np.newaxis] == np.arange(forest.n_classes)).astype(np.float64)
        return self.op("MatMul", values, self.constant(of_class))


def _depth(forest: Forest) -> int:
    """The most splits on a way from a root to a leaf."""
    depth, splits = 0, forest.roots[forest.roots >= 0]
    while len(splits):
        below = forest.ends[splits].ravel()
        depth, splits = depth + 1, below[below >= 0]
    return depth
