"""AdditiveModel: the log odds of the class as a sum of effects and trees; it gives P(class | attributes) alone."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from tanager.additive.forest import BLOCK_ROWS, Forest, by_sets
from tanager.arrays import Array, Codes
from tanager.errors import DataError, OptionError
from tanager.network import AnyNetwork
from tanager.network.columns import HasColumns, Term, check_evidence
from tanager.network.log_joint import LogJoint, normalize_log
from tanager.network.network import Network
from tanager.parameters.protocol import ParameterTrace
from tanager.registry import list_names
from tanager.runtime.resources import map_threads
from tanager.structure.dag import Dag
from tanager.table.columns import code_dtype
from tanager.table.schema import Category, ColumnSchema


@dataclass(frozen=True)
class AdditiveModel(HasColumns):
    """P(class | attributes) from a sum of effects of attributes, of pairs, and of boosted trees.

    log P(c | x) = intercept[c] + sum_i mains[i][x_i, c] + sum_(i, j) tables[i, j][x_i, x_j, c] + forest(x)[c]
                   - log sum_c' exp(...)

    Naive Bayes and TAN are special cases, as the sums need no normalising (Roos et al. 2005, theorem 2). Readable terms
    have at most two attributes; only trees combine three and more. There is no P(attributes): the model cannot be
    sampled, and a query gives the probabilities of the class only.

    Parameters
    ----------
    columns : tuple of ColumnSchema
        What each attribute holds, then the class.
    intercept : array (classes,)
        The log odds of the average row.
    mains : tuple of arrays (states + 1, classes)
        The main effect of each attribute; the last entry is that of a missing cell.
    pairs : tuple of (parent, child)
        Numbers of attributes.
    tables : tuple of arrays (parent's coarse states + 1, child's + 1, classes)
        The effect of each pair, a missing cell last.
    densities : tuple of arrays (states,)
        For each attribute the share of the training rows in each state, of those that have it.
    spreads : tuple of arrays (states, classes)
        For each attribute the standard deviation of its main effect, by a posterior or between fits on parts of the
        training rows; none where there was only one.
    forest : Forest or None
        Trees over the attributes' states, each with a mean of zero over the training rows.
    tree_share : float
        The sum over the training rows of abs(tree part) of the log odds, divided by that of abs(tree part) plus
        abs(readable part), both centred (`importance.tree_share`). Edits do not change it.
    pair_densities : tuple of arrays (parent's coarse states, child's)
        For each pair the share of the training rows in each cell, of those that have both; none where it is not known.

    Examples
    --------
    >>> from tanager.table.schema import ColumnSchema
    >>> wet, rain = (ColumnSchema(name, "categorical", (False, True)) for name in ("wet", "rain"))
    >>> main = np.array([[0.0, -1.0], [0.0, 1.0], [0.0, 0.0]])
    >>> network = AdditiveModel((wet, rain), np.zeros(2), (main,), (), (), (np.full(2, 0.5),))
    >>> round(network.query("rain", {"wet": True})[True], 4)
    0.7311
    """

    kind: ClassVar[Literal["effects"]] = "effects"

    columns: tuple[ColumnSchema, ...]
    intercept: Array
    mains: tuple[Array, ...]
    pairs: tuple[tuple[int, int], ...]
    tables: tuple[Array, ...]
    densities: tuple[Array, ...]
    spreads: tuple[Array, ...] = ()
    forest: Forest | None = None
    tree_share: float = 0.0
    pair_densities: tuple[Array, ...] = ()

    def __post_init__(self) -> None:
        n_classes, attributes = self.columns[-1].n_states, self.columns[:-1]
        n_states, numbers = [column.n_states for column in attributes], range(len(attributes))
        coarse, none = [column.coarse.n_states + 1 for column in attributes], tuple[int, ...]()
        parts = [("intercept", none, self.intercept, (*none, n_classes))]
        for k, n, main, density in zip(numbers, n_states, self.mains, self.densities, strict=True):
            parts += [("main effect of", (k,), main, (n + 1, n_classes)), ("density of", (k,), density, (n,))]
        for k, n, spread in zip(numbers, n_states, self.spreads, strict=True) if self.spreads else ():
            parts.append(("spread of", (k,), spread, (n, n_classes)))
        for pair, table in zip(self.pairs, self.tables, strict=True):
            parts.append(("effect of the pair", pair, table, (coarse[pair[0]], coarse[pair[1]], n_classes)))
        for pair, cells in zip(self.pairs, self.pair_densities, strict=True) if self.pair_densities else ():
            parts.append(("density of the pair", pair, cells, (coarse[pair[0]] - 1, coarse[pair[1]] - 1)))
        if not 0.0 <= self.tree_share <= (self.forest is not None):
            raise DataError(f"the share of the trees is {self.tree_share!r}; expected 0 to 1, and 0 without trees.")
        finite = bool(np.isfinite(np.concatenate([part[2].reshape(-1) for part in parts])).all())  # one call for all
        for what, owners, array, shape in parts:
            name = " ".join([what, ", ".join(repr(attributes[k].name) for k in owners)]).strip()
            if array.shape != shape:
                raise DataError(f"the {name} has shape {array.shape}; its states and the classes need {shape}.")
            if not finite and not np.isfinite(array).all():
                raise DataError(f"the {name} holds a value that is not a finite number.")
        if self.forest is not None:
            self.forest.check([column.n_states + 1 for column in attributes], n_classes)

    @cached_property
    def dag(self) -> Dag:  # type: ignore[override]
        return Dag.of_pairs(len(self.columns) - 1, self.pairs)

    @property
    def summary(self) -> str:
        """What the model is made of, in a line: the first that every output says of it."""
        counts = [(len(self.columns) - 1, "attribute"), (len(self.pairs), "pair")]
        parts = ", ".join(f"{number:,} {word}{'' if number == 1 else 's'}" for number, word in counts)
        trees = round(self.tree_share, 2)
        boosted = "" if self.forest is None else f", {_percent(trees)} from boosted trees"
        return f"additive model: {parts}; {_percent(1 - trees)} of the log odds from readable terms{boosted}"

    def __repr__(self) -> str:
        """A line: the effects of a real network are pages."""
        n_attributes, n_pairs = len(self.columns) - 1, len(self.pairs)
        trees = "" if self.forest is None else f", {len(self.forest.roots)} trees"
        return f"AdditiveModel({n_attributes} attributes, {n_pairs} pairs{trees}, target={self.target!r})"

    @property
    def target(self) -> str:
        return self.nodes[-1]

    @property
    def terms(self) -> tuple[Term, ...]:
        """The attributes, for their main effects, and the pairs."""
        return (*super().terms, *self.pairs)

    def main(self, attribute: str) -> Array:
        """(states, classes) the main effect of an attribute, in the order of `states`."""
        return self.mains[self._attribute(attribute)][:-1]

    def pair(self, parent: str, child: str) -> Array:
        """(coarse states of parent, of child, classes) the effect of a pair, in the order of the columns' `coarse`."""
        numbers = (self._attribute(parent), self._attribute(child))
        if numbers in self.pairs:
            return self.tables[self.pairs.index(numbers)][:-1, :-1]
        if numbers[::-1] in self.pairs:
            return self.tables[self.pairs.index(numbers[::-1])][:-1, :-1].swapaxes(0, 1)
        raise OptionError(f"the model has no effect of the pair {parent!r}, {child!r}.", hint="`edges` lists them.")

    def query(self, variables: str, evidence: Mapping[str, Category] | None = None) -> dict[object, float]:
        """P(class | evidence): state -> probability; an attribute that is not named counts with its expected effect.

        A classifier's `query` averages over these instead.
        """
        if variables != self.target:
            raise OptionError(
                f"an additive model has the probabilities of the class {self.target!r} only, not of {variables!r}.",
                hint="BayesianNetworkClassifier learns a network that answers every query.",
            )
        posterior = np.exp(self.log_joint(self.evidence_codes(evidence), normalized=True)[0])
        return dict(zip(self.columns[-1].states, posterior.tolist(), strict=True))

    def evidence_codes(self, evidence: Mapping[str, Category] | None = None) -> Codes:
        """(1, n_attributes) the codes of a row that has these cells only."""
        check_evidence(evidence)
        codes = np.array([self.n_states[:-1]], dtype=code_dtype(max(self.n_states)))
        for node, value in (evidence or {}).items():
            codes[0, self._attribute(node)] = self.code(node, value)
        return codes

    def log_joint(self, codes: Codes, normalized: bool = False) -> Array:
        """(n_rows, n_classes): the sums of effects, or `normalized` log P(class | attributes)."""
        result = np.zeros((len(codes), len(self.intercept))) if self.forest is None else self.forest.scores(codes)
        compiled = self._sums.worth_compiling(len(codes))

        def add(first: int) -> None:
            rows = slice(first, first + BLOCK_ROWS)
            look_up, cells = self.look_ups(codes[rows])
            look_up.add(cells, result[rows], compiled)
            if normalized:
                normalize_log(result[rows])

        map_threads(add, range(0, len(codes), BLOCK_ROWS))
        return result

    def look_ups(self, codes: Codes) -> tuple[LogJoint, Codes]:
        """The look-ups that give `log_joint` less what the forest adds, and the codes to look up."""
        return self._sums, self._expand(codes)

    def effects(self, codes: Codes) -> Iterator[Array]:
        """(n_rows, n_classes) what each term adds, in the order of `terms`; a missing cell has an entry in each.

        What the forest adds is put down to attributes (`Forest.credits`).
        """
        credits = None if self.forest is None else self.forest.credits(codes, len(self.mains))
        for attribute, main in enumerate(self.mains):
            yield main[codes[:, attribute]] + (0.0 if credits is None else credits[:, attribute])
        coarse = self.coarsen(codes)
        for (parent, child), table in zip(self.pairs, self.tables, strict=True):
            yield table[coarse[:, parent], coarse[:, child]]

    def set_effects(self, codes: Codes) -> dict[Term, Array]:
        """What each set of attributes adds, (n_rows, n_classes): main effects, pairs, and what trees say of sets.

        Trees speak of up to three attributes together, and of more through single ones (`forest.by_sets`).
        """
        coarse = self.coarsen(codes)
        found: dict[Term, Array] = {(i,): main[codes[:, i]] for i, main in enumerate(self.mains)}
        for (parent, child), table in zip(self.pairs, self.tables, strict=True):
            found[(min(parent, child), max(parent, child))] = table[coarse[:, parent], coarse[:, child]]
        for term, part in ({} if self.forest is None else by_sets(self.forest, codes, len(self.mains))).items():
            found[term] = found[term] + part if term in found else part
        return found

    def reordered(self, order: Sequence[int]) -> AdditiveModel:
        """The same network with its nodes in another order: node k of the new one is node order[k] of this one."""
        if list(order) == list(range(len(self.columns))):
            return self
        place = np.argsort(np.asarray(order, dtype=np.intp)).tolist()
        attributes = order[:-1]
        return AdditiveModel(
            tuple(self.columns[node] for node in order),
            self.intercept,
            tuple(self.mains[attribute] for attribute in attributes),
            tuple((place[parent], place[child]) for parent, child in self.pairs),
            self.tables,
            tuple(self.densities[attribute] for attribute in attributes),
            tuple(self.spreads[attribute] for attribute in attributes) if self.spreads else (),
            None if self.forest is None else self.forest.with_attributes(np.array(place)),
            self.tree_share,
            self.pair_densities,
        )

    def coarsen(self, codes: Codes) -> Codes:
        """The codes of each attribute at its coarse granularity."""
        lookups = (column.coarse_codes.astype(codes.dtype) for column in self.columns[:-1])
        return np.stack([lookup[codes[:, i]] for i, lookup in enumerate(lookups)], axis=1)

    def refine(self, coarse: Codes) -> Codes:
        """The middle fine state of each coarse one, by the training rows; (n_rows, n_attributes) as `coarse`."""
        return np.stack([lookup[coarse[:, i]] for i, lookup in enumerate(self._middles)], axis=1)

    def attribute_parents(self, attribute: int) -> tuple[int, ...]:
        """The attributes that the term of an attribute depends on: a main effect depends on none."""
        return ()

    @cached_property
    def _middles(self) -> list[NDArray[np.int64]]:
        found = []
        for column, density in zip(self.columns[:-1], self.densities, strict=True):
            groups = column.coarse_codes[:-1]
            total = np.bincount(groups, density, minlength=column.coarse.n_states)
            before = np.concatenate([[0.0], np.cumsum(total)])[groups]
            # The first state by which half of its group is reached; the last, where sums are rounded.
            half = np.cumsum(density) - before >= total[groups] / 2
            half[np.flatnonzero(np.diff(groups, append=-1))] = True
            found.append(np.array([np.flatnonzero(half & (groups == group))[0] for group in range(len(total))]))
        return found

    def _attribute(self, name: str) -> int:
        node = self.number(name)
        if node == len(self.columns) - 1:
            raise OptionError(f"{name!r} is the class, not an attribute.")
        return node

    def _expand(self, codes: Codes) -> Codes:
        """The columns, then the coarse ones of those in pairs."""
        if not self._paired:
            return codes
        coarse = [
            self.columns[attribute].coarse_codes.astype(codes.dtype)[codes[:, attribute]] for attribute in self._paired
        ]
        return np.asfortranarray(np.column_stack([codes, *coarse]))

    @cached_property
    def _paired(self) -> Sequence[int]:
        return sorted({attribute for pair in self.pairs for attribute in pair})

    @cached_property
    def _sums(self) -> LogJoint:
        """One look-up for each effect that is not zero; a missing cell is one more state."""
        mains = [attribute for attribute, main in enumerate(self.mains) if main.any()]
        at = {attribute: len(self.mains) + position for position, attribute in enumerate(self._paired)}
        nodes = np.zeros((len(mains) + len(self.pairs) + 1, 2), dtype=np.int64)
        strides = np.zeros_like(nodes)
        nodes[: len(mains), 0], strides[: len(mains), 0] = mains, 1
        for position, ((parent, child), table) in enumerate(zip(self.pairs, self.tables, strict=True), len(mains)):
            nodes[position] = at[parent], at[child]
            strides[position] = table.shape[1], 1
        tables = (table.reshape(-1, len(self.intercept)) for table in self.tables)
        cells = [*(self.mains[attribute] for attribute in mains), *tables, self.intercept[np.newaxis]]
        ends = np.cumsum([len(part) for part in cells])
        return LogJoint(nodes, strides, np.concatenate([[0], ends[:-1]]), np.concatenate(cells))


def _percent(share: float) -> str:
    return f"{share:.0%}".replace("%", " %")


LookedUpModel = Network | AdditiveModel
"""One whose log odds are a sum of look-ups."""
AnyModel = AnyNetwork | AdditiveModel


@dataclass(frozen=True)
class AdditiveTrace(ParameterTrace):
    """What was chosen on the folds, and by what.

    pairs              how many pairs the model has
    tree_share         weight of the trees in the mean of effects and trees, from 0 to 1
    tree_rounds        boosting rounds of each forest
    tree_forests       how many forests are averaged
    zero_attributes    names of the attributes whose effects are all exactly zero
    monotone           names of the attributes whose effects were constrained
    validation_losses  what was tried on the folds, in words, and its mean validation loss, in the order of the trials
    change_of_p        estimate of the largest change of P(class given row) if the fit went on; None if not known
    seconds            that the fit took, by the clock on the wall; None where that is not known: files do not keep it
    """

    pairs: int = 0
    tree_share: float = 0.0
    tree_rounds: int = 0
    tree_forests: int = 0
    zero_attributes: tuple[str, ...] = ()
    monotone: tuple[str, ...] = ()
    validation_losses: tuple[tuple[str, float], ...] = ()
    change_of_p: float | None = None
    seconds: float | None = field(default=None, compare=False)

    def __repr__(self) -> str:
        """A few lines: what was chosen, what was tried, and how long it took."""
        lines = [f"AdditiveTrace: {self.pairs:,} pairs, trees weigh {_percent(round(self.tree_share, 2))}"]
        if self.tree_forests:
            lines[0] += f" ({self.tree_forests:,} forests of {self.tree_rounds:,} rounds)"
        for words, names in (("without effect", self.zero_attributes), ("monotone", self.monotone)):
            if names:
                lines.append(f"{words}: {list_names(names)}")
        if self.validation_losses:
            best, loss = min(self.validation_losses, key=lambda tried: tried[1])
            lines.append(f"tried on the folds: {len(self.validation_losses)}; the best is {best}, log-loss {loss:.4g}")
        took = [] if self.seconds is None else [f"the fit took {self.seconds:.3g} s"]
        return "\n  ".join([*lines, *took])
