"""The compiled way to average over completions, row by row (`tanager.missing.average`)."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from tanager.arrays import Array, Ints
from tanager.missing.fill_kernels import Work, fill_row, make_work
from tanager.missing.filler import Tree
from tanager.missing.leaf_kernels import (
    GROUP_ROWS,
    OpenTrees,
    add_draws,
    add_states,
    look_at_group,
    make_group,
    make_open,
    place_trees,
)
from tanager.missing.leaves import Leaves
from tanager.missing.place_kernels import Placed, make_placed, place_look_ups, scale_chances
from tanager.missing.sums import Sums
from tanager.runtime.kernel import kernel

BLOCK = 512
"""Completions whose posteriors are taken together: loops over them fill the vector registers."""


class Block(NamedTuple):
    """Completions of a row, up to `BLOCK`, and what is added up over them.

    sums       (classes, completions), and then shares
    weights    (completions,) of the filler
    cells, bits, powers, bends, totals  (completions,) to work with; powers are the floats that the bits are
    out        (classes, completions) shares weighted, so far
    """

    sums: Array
    weights: Array
    cells: Ints
    bits: Ints
    powers: Array
    bends: Array
    totals: Array
    out: Array


@kernel
def _make_block(n_classes: int, length: int) -> Block:
    bits = np.zeros(length, np.int64)
    return Block(
        np.empty((n_classes, length)),
        np.empty(length),
        np.empty(length, np.int64),
        bits,
        bits.view(np.float64),
        np.empty(length),
        np.empty(length),
        np.empty((n_classes, length)),
    )


@kernel
def average_rows(
    cells: Ints,
    coarse: Ints,
    corrections: Array,
    max_completions: float,
    network: Sums,
    filler: Sums,
    shares: Array,
    leaves: Leaves,
    tree: Tree,
    numbers: Array,
    out: Array,
) -> None:
    """See `Averaged`; shares are the exponentials of the filler's tables, numbers (attributes + 1, draws)."""
    n_attributes, n_classes = coarse.shape[1], out.shape[1]
    effects, chances, trees = make_placed(network), make_placed(filler), make_open(leaves, n_attributes)
    n_draws = numbers.shape[1]
    work, block = make_work(tree, n_draws), _make_block(n_classes, max(BLOCK, n_draws, tree.n_states.max()))
    order, places = np.empty(n_attributes, np.int64), np.empty(n_attributes, np.int64)
    states, group = np.empty(n_attributes, np.int64), make_group(leaves, n_attributes, n_classes)
    for row in range(len(out)):
        if row % GROUP_ROWS == 0:
            look_at_group(leaves, cells, row, group)
        n_missing, n_completions = 0, 1.0
        places[:] = -1
        for node in tree.order:
            if coarse[row, node] == tree.n_states[node]:
                order[n_missing], places[node] = node, n_missing
                n_missing += 1
                n_completions *= tree.n_states[node]
        missing = order[:n_missing]
        place_look_ups(network, cells, row, missing, places, effects)
        place_trees(leaves, group, row % GROUP_ROWS, missing, places, network.n_states, effects, trees)
        block.out[:] = 0.0
        if n_completions <= max_completions:
            place_look_ups(filler, coarse, row, missing, places, chances)
            scale_chances(filler, missing, chances)
            _sum_all(network, filler, shares, leaves, trees, missing, effects, chances, states, corrections[row], block)
        else:
            fill_row(coarse, row, tree, numbers, work)
            _sum_drawn(network, leaves, trees, missing, effects, work, corrections[row], block)
        for c in range(n_classes):
            out[row, c] = block.out[c].sum()
        out[row] /= out[row].sum()


@kernel
def _sum_all(
    network: Sums,
    filler: Sums,
    shares: Array,
    leaves: Leaves,
    trees: OpenTrees,
    missing: Ints,
    effects: Placed,
    chances: Placed,
    states: Ints,
    correction: Array,
    block: Block,
) -> None:
    """Depth first, a level for each missing attribute; the states of the last go to the block."""
    sums, weights, n_classes = effects.sums, chances.sums, len(correction)
    sums[0, :, 0], weights[0, :, 0] = effects.base, chances.base
    depth, last, n = 0, len(missing) - 1, 0
    states[0] = -1
    while depth >= 0:
        level, n_states = depth + 1, network.n_states[missing[depth]]
        if states[depth] < 0:  # new: what the attribute adds in each of its states
            above = 0 if depth == 0 else states[depth - 1]
            for c in range(n_classes):
                for k in range(n_states):
                    sums[level, c, k] = sums[depth, c, above] + effects.singles[depth, c, k]
                    weights[level, c, k] = weights[depth, c, above] * chances.singles[depth, c, k]
            term = effects.heads[depth]
            while term >= 0:
                first, column, step = effects.first[term], effects.columns[term, 0], effects.steps[term, 0]
                for m in range(1, effects.sizes[term]):
                    code = network.values[states[effects.places[term, m]], effects.columns[term, m]]
                    first += effects.steps[term, m] * code
                for c in range(n_classes):
                    for k in range(n_states):
                        sums[level, c, k] += network.tables[first + step * network.values[k, column], c]
                term = effects.next[term]
            add_states(leaves, trees, depth, n_states, states, sums[level])
            term = chances.heads[depth]
            while term >= 0:  # of the filler, whose look-ups have at most two attributes
                first = chances.first[term] + chances.steps[term, 1] * states[chances.places[term, 1]]
                for c in range(n_classes):
                    for k in range(n_states):
                        weights[level, c, k] *= shares[first + chances.steps[term, 0] * k, c]
                term = chances.next[term]
        if depth == last:
            if n + n_states > len(block.weights):
                _add_block(n, correction, block)
                n = 0
            block.weights[n : n + n_states] = 0.0
            for c in range(n_classes):
                for k in range(n_states):
                    block.sums[c, n + k] = sums[level, c, k]
                    block.weights[n + k] += weights[level, c, k]
            n += n_states
            depth -= 1
            continue
        states[depth] += 1
        if states[depth] == n_states:
            depth -= 1
        else:
            depth += 1
            states[depth] = -1
    _add_block(n, correction, block)


@kernel
def _sum_drawn(
    network: Sums,
    leaves: Leaves,
    trees: OpenTrees,
    missing: Ints,
    effects: Placed,
    work: Work,
    correction: Array,
    block: Block,
) -> None:
    n_draws = work.filled.shape[1]
    block.weights[:n_draws] = 1.0
    for c in range(len(correction)):
        block.sums[c, :n_draws] = effects.base[c]
    for place in range(len(missing)):
        drawn = work.filled[missing[place]]
        for c in range(len(correction)):
            for draw in range(n_draws):
                block.sums[c, draw] += effects.singles[place, c, drawn[draw]]
        term = effects.heads[place]
        while term >= 0:
            block.cells[:n_draws] = effects.first[term]
            for m in range(effects.sizes[term]):
                column, step = effects.columns[term, m], effects.steps[term, m]
                drawn = work.filled[missing[effects.places[term, m]]]
                for draw in range(n_draws):
                    block.cells[draw] += step * network.values[drawn[draw], column]
            for c in range(len(correction)):
                for draw in range(n_draws):
                    block.sums[c, draw] += network.tables[block.cells[draw], c]
            term = effects.next[term]
        add_draws(leaves, trees, place, missing, work.filled, block.sums)
    _add_block(n_draws, correction, block)


@kernel
def _add_block(n: int, correction: Array, block: Block) -> None:
    """Add the posteriors of n completions with their bent weights."""
    bends, totals, sums = block.bends, block.totals, block.sums
    if len(correction) == 2:
        _add_block_of_two(n, correction, block)
        return
    totals[:n] = sums[0, :n]
    for c in range(1, len(correction)):
        for d in range(n):
            totals[d] = max(totals[d], sums[c, d])
    for c in range(len(correction)):
        for d in range(n):
            sums[c, d] -= totals[d]
        _exponentiate(sums[c], n, block)
    totals[:n] = 0.0
    bends[:n] = 0.0
    for c in range(len(correction)):
        for d in range(n):
            totals[d] += sums[c, d]
            bends[d] += correction[c] * sums[c, d]
    for d in range(n):
        bends[d] /= totals[d]
    _exponentiate(bends, n, block)
    for d in range(n):
        bends[d] *= block.weights[d] / totals[d]
    for c in range(len(correction)):
        for d in range(n):
            block.out[c, d] += bends[d] * sums[c, d]


@kernel
def _add_block_of_two(n: int, correction: Array, block: Block) -> None:
    """The same for two classes: the likelier one has exp(0)."""
    bends, less, first, second = block.bends, block.totals, block.sums[0], block.sums[1]
    out_first, out_second = block.out[0], block.out[1]
    for d in range(n):
        less[d] = -abs(second[d] - first[d])
    _exponentiate(less, n, block)
    for d in range(n):
        is_second = second[d] > first[d]
        first[d] = (less[d] if is_second else 1.0) / (1.0 + less[d])
        second[d] = (1.0 if is_second else less[d]) / (1.0 + less[d])
        bends[d] = correction[0] * first[d] + correction[1] * second[d]
    _exponentiate(bends, n, block)
    for d in range(n):
        bends[d] *= block.weights[d]
        out_first[d] += bends[d] * first[d]
        out_second[d] += bends[d] * second[d]


@kernel
def _exponentiate(values: Array, n: int, block: Block) -> None:
    """exp of n values up to 0, to the last digit or two: a loop that a compiler can put in vector registers.

    exp(x) = 2^k exp(r), |r| <= log(2) / 2, and exp(r) is its Taylor polynomial. The calls of np.exp took half of the
    time.
    """
    for d in range(n):
        x = max(values[d], -708.0)
        k = np.floor(x * 1.4426950408889634 + 0.5)
        r = (x - k * 0.693147180369123816490) - k * 1.90821492927058770002e-10
        p = ((r / 479001600 + 1 / 39916800) * r + 1 / 3628800) * r + 1 / 362880
        p = (((p * r + 1 / 40320) * r + 1 / 5040) * r + 1 / 720) * r + 1 / 120
        p = ((((p * r + 1 / 24) * r + 1 / 6) * r + 0.5) * r + 1.0) * r + 1.0
        block.bits[d] = (np.int64(k) + 1023) << 52
        values[d] = p if values[d] >= -708.0 else 0.0
    for d in range(n):
        values[d] *= block.powers[d]
