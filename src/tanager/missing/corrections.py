"""Corrections under which averages over completions give the class frequencies of the training rows."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from tanager.additive.model import LookedUpModel
from tanager.arrays import Array, Codes, Ints
from tanager.missing.completions import MAX_COMPLETIONS, N_DRAWS, Completions
from tanager.table.columns import code_dtype

STATE_DEVIATION = 4.0  # of the prior
# However many rows there are: what no completion reaches would move a correction without end.
LEAST_RIDGE = 1e-3
MIN_DRAWS, DRAWS_OF_ALL_STATES = 64, 1 << 17
DRAWS_WITH_TREES, LOOK_UPS_OF_TREES = 3 << 19, 3 << 30  # some seconds
CELLS_WORTH_COMPILING = 10_000_000  # drawn cells from which the compiled kernel repays its start
BLOCK_CELLS = 1 << 22
MAX_STEPS, TOLERANCE, LONGEST_STEP, SHORTEST_PART = 30, 1e-7, 2.0, 1e-4
ROUNDING = 1e-12
# An entry of a state is twice what its steps have moved it by. Frequencies that no completion reaches take all steps.
LARGEST_CORRECTION = 2 * MAX_STEPS * LONGEST_STEP * (1 + 1e-9)


def learn_corrections(
    completions: Completions, classes: Array, by_state: Sequence[Array]
) -> tuple[Array, tuple[Array, ...], Array]:
    """What `Filling` has, from the counts (classes,) and of each attribute (states, classes).

    `nothing` brings P(class | nothing) near the class frequencies, and the shift makes up for what is left. The entry
    of a state makes P(class | state), whose correction is the mean of both, the frequencies among its rows. Few rows
    leave the correction near half of `nothing`.
    """
    n_coarse = np.array(completions.filler.n_states[:-1])
    average, frequencies = _complete(completions, *_gaps(completions, 1), N_DRAWS), classes / classes.sum()
    none, ridge = np.zeros(len(classes)), np.array([LEAST_RIDGE])
    nothing = solve_corrections(*average, frequencies[np.newaxis], none, ridge)[0]
    shift = _shift(average[0][0], average[1][0], nothing, frequencies)
    # As many as an answer has, if they are affordable: then the averages that are corrected are the answers.
    own_states = [_own_states(completions.network, *each) for each in enumerate(by_state)]
    n_own = [len(own) for own in own_states]
    n_trees = _n_trees(completions.network)
    draws_of_all = min(DRAWS_WITH_TREES, LOOK_UPS_OF_TREES // n_trees) if n_trees else DRAWS_OF_ALL_STATES
    n_draws = int(np.clip(draws_of_all // sum(n_own), MIN_DRAWS, N_DRAWS))
    # Few completions are as many as there are, which differs between attributes; draws of several go together.
    few = n_coarse.prod(dtype=np.float64) / n_coarse.max() <= MAX_COMPLETIONS
    n_together = 1 if few else max(1, BLOCK_CELLS // (n_draws * len(n_coarse) * max(n_own)))
    states = []
    for first in range(0, len(by_state), n_together):
        together = np.arange(first, min(first + n_together, len(by_state)))
        owners = np.repeat(together, [n_own[attribute] for attribute in together])
        states_of_all = np.concatenate([own_states[attribute] for attribute in together])
        weights, posterior = _complete(completions, *_known(completions, owners, states_of_all), n_draws)
        for attribute in together.tolist():
            own = owners == attribute
            given = weights[own], posterior[own]
            states.append(_correct_states(completions, attribute, by_state[attribute], nothing, shift, *given))
    return nothing, tuple(states), shift


def _shift(weights: Array, posterior: Array, nothing: Array, frequencies: Array) -> Array:
    """(n_classes,) by which the logarithms of the corrected average miss those of the class frequencies.

    Zero for a class without rows.
    """
    sums = posterior @ nothing
    bent = weights * np.exp(sums - sums.max())
    average = bent @ posterior / bent.sum()
    ratio = np.divide(frequencies, average, out=np.ones_like(average), where=(frequencies > 0) & (average > 0))
    return np.clip(np.log(ratio), -LARGEST_CORRECTION, LARGEST_CORRECTION)


def _own_states(network: LookedUpModel, attribute: int, counts: Array) -> Ints:
    """The states whose completions are looked at: those that occur, or else a middle one for each coarse state.

    States of one coarse state have main effects of their own, which are easily moved; but trees tell them apart too.
    """
    if _n_trees(network):
        return np.flatnonzero(counts.sum(axis=1))
    coarse = np.zeros((network.columns[attribute].coarse.n_states, len(network.n_states) - 1), dtype=np.uint32)
    coarse[:, attribute] = np.arange(len(coarse))
    return network.refine(coarse)[:, attribute].astype(np.int64)


def _gaps(completions: Completions, n_rows: int) -> tuple[Codes, Codes]:
    """Rows of gaps, at the network's granularity and at the filler's."""
    fine, coarse = (np.array(own.n_states[:-1]) for own in (completions.network, completions.filler))
    every = (np.repeat(own[np.newaxis], n_rows, axis=0).astype(code_dtype(int(own.max()))) for own in (fine, coarse))
    return next(every), next(every)


def _known(completions: Completions, owners: Ints, states: Ints) -> tuple[Codes, Codes]:
    """Rows with one state of their owner, an attribute, and gaps elsewhere, as `_gaps`."""
    fine, coarse = _gaps(completions, len(owners))
    columns, each = completions.network.columns, np.arange(len(owners))
    fine[each, owners] = states
    pairs = zip(owners.tolist(), states.tolist(), strict=True)
    coarse[each, owners] = [columns[owner].coarse_codes[state] for owner, state in pairs]
    return fine, coarse


def _n_trees(network: LookedUpModel) -> int:
    return len(network.forest.roots) if network.kind == "effects" and network.forest is not None else 0


def _correct_states(
    completions: Completions,
    attribute: int,
    counts: Array,
    nothing: Array,
    shift: Array,
    weights: Array,
    posterior: Array,
) -> Array:
    """(states + 1, n_classes) entries of an attribute, from the completions of each of its `_own_states`."""
    seen = np.flatnonzero(counts.sum(axis=1))
    n_rows = counts[seen].sum(axis=1)
    if _n_trees(completions.network):
        moved = posterior
    else:
        groups = completions.network.columns[attribute].coarse_codes[seen]
        weights, moved = weights[groups], _move(completions, posterior[groups], attribute, groups, seen)
    target = counts[seen] * np.exp(-shift / 2)  # what the shift makes the frequencies
    target /= target.sum(axis=1, keepdims=True)
    ridge = np.maximum(4 / (n_rows * STATE_DEVIATION**2), LEAST_RIDGE)
    entries = np.zeros((len(counts) + 1, len(nothing)))
    entries[seen] = 2 * solve_corrections(weights, moved, target, nothing / 2, ridge) - nothing
    return entries


def _complete(completions: Completions, codes: Codes, coarse: Codes, n_draws: int) -> tuple[Array, Array]:
    """(n_rows, n) weights and (n_rows, n, n_classes) posteriors of the completions of rows with gaps in one place."""
    n_states = np.array(completions.filler.n_states[:-1])
    if completions.counts(coarse)[0] <= MAX_COMPLETIONS:
        each = [completions.every(codes[[row]], coarse[[row]]) for row in range(len(coarse))]
        return np.stack([weights for weights, _ in each]), np.stack([posterior for _, posterior in each])
    compiled = n_draws * n_states.sum() * len(n_states) >= CELLS_WORTH_COMPILING
    posterior = completions.drawn(codes, coarse, n_draws, compiled)
    return np.full(posterior.shape[:2], 1 / n_draws), posterior


def _move(completions: Completions, posterior: Array, attribute: int, groups: Ints, states: Ints) -> Array:
    """The posteriors (n, completions, n_classes) of rows in other states of the same coarse ones.

    Only the main effect of the attribute differs.
    """
    if completions.network.kind == "tables":
        return posterior
    main, middles = completions.network.mains[attribute], completions.network_sums.values[groups, attribute]
    change = main[states] - main[middles]
    moved = posterior * np.exp(change - change.max(axis=1, keepdims=True))[:, np.newaxis]
    return np.asarray(moved / moved.sum(axis=2, keepdims=True))


def solve_corrections(weights: Array, posterior: Array, target: Array, centre: Array, ridge: Array) -> Array:
    """(n, n_classes) for each of n averages the correction u under which it is near its target.

    minimum over u of log sum_d w_d exp(u . P_d) - u . target + ridge / 2 |u - centre|^2

    The gradient is the average less the target, so without ridge the two are equal at the minimum. Convex; Newton's
    method. A number added to u for all classes changes nothing but its penalty.

    weights    (n, completions)
    posterior  (n, completions, n_classes)
    target     (n, n_classes)
    centre     (n_classes,)
    ridge      (n,)
    """
    with np.errstate(divide="ignore"):
        logs = np.log(weights)

    def bend(u: Array) -> tuple[Array, Array]:
        """The values of the function, and the bent weights."""
        sums = logs + (posterior @ u[:, :, np.newaxis])[:, :, 0]
        top = sums.max(axis=1, keepdims=True)
        bent = np.exp(sums - top)
        total = bent.sum(axis=1, keepdims=True)
        penalty = ridge / 2 * ((u - centre) ** 2).sum(axis=1)
        return (top + np.log(total))[:, 0] - (u * target).sum(axis=1) + penalty, bent / total

    u = np.tile(centre, (len(target), 1))
    values, bent = bend(u)
    identity = np.eye(len(centre))
    for _ in range(MAX_STEPS):
        mean = (bent[:, np.newaxis] @ posterior)[:, 0]
        gradient = mean - target + ridge[:, np.newaxis] * (u - centre)
        if np.abs(gradient).max(initial=0.0) < TOLERANCE:
            break
        curvature = (posterior * bent[..., np.newaxis]).swapaxes(1, 2) @ posterior
        curvature -= mean[:, :, np.newaxis] * mean[:, np.newaxis]
        curvature += (ridge[:, np.newaxis, np.newaxis] + TOLERANCE) * identity
        step = np.linalg.solve(curvature, gradient[..., np.newaxis])[..., 0]
        part = np.minimum(1.0, LONGEST_STEP / np.maximum(np.abs(step).max(axis=1), LONGEST_STEP))
        while True:
            following, bent = bend(u - part[:, np.newaxis] * step)
            worse = (following > values + ROUNDING) & (part > SHORTEST_PART)
            if not worse.any():
                break
            part[worse] /= 2
        u, values = u - part[:, np.newaxis] * step, following
    return u
