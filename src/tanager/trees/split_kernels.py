"""Compiled comparison of the splits of a leaf, from the histogram of its rows; arrays as in `grow_kernels`."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tanager.kernel import kernel, kernel_part

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Flags = NDArray[np.bool_]

ROUNDING = 1.0 + 1e-9
HESSIAN = (1 << 32) - 1  # the bits of the Hessian


class Room(NamedTuple):
    """Where the splits of one attribute are compared, with a place for each code."""

    ranks: Ints
    lengths: Ints
    gradients: NDArray[np.int32]
    hessians: NDArray[np.int32]
    scores: Floats
    scales: Floats


@kernel_part
def make_room(starts: Ints) -> Room:
    n = 0
    for attribute in range(len(starts) - 1):
        n = max(n, starts[attribute + 1] - starts[attribute])
    return Room(
        np.empty(n, np.int64),
        np.empty(n, np.int64),
        np.empty(n, np.int32),
        np.empty(n, np.int32),
        np.empty(n),
        np.empty(n),
    )


@kernel_part
def gain_of_two(one: int, other: int, whole: int, limits: Floats) -> float:
    """What `scan` finds, to the last digit, where two categories have rows."""
    least_hessian, penalty = limits[0], limits[1]
    one_rank = (one >> 32) / ((one & HESSIAN) + penalty)
    first = one if one_rank <= (other >> 32) / ((other & HESSIAN) + penalty) else other
    whole_g, whole_h, g, h = float(whole >> 32), float(whole & HESSIAN), float(first >> 32), float(first & HESSIAN)
    nothing = whole_g * whole_g / (whole_h + penalty)
    rest, rest_h = whole_g - g, whole_h - h
    below, rest_below = h + penalty, rest_h + penalty
    score, scale = g * g * rest_below + rest * rest * below, below * rest_below
    gains = h >= least_hessian and rest_h >= least_hessian and score > nothing * ROUNDING * scale
    return score / scale - nothing if gains else -np.inf


@kernel
def best_split(
    histogram: Ints,
    whole: int,
    asked: Ints,
    starts: Ints,
    ordered: Ints,
    limits: Floats,
    used: Flags,
    max_attributes: int,
    room: Room,
) -> tuple[float, int]:
    """What the best split of a leaf gains, minus infinity if there is none, and its attribute."""
    n_used = 0
    for flag in used:
        n_used += flag
    best, found = -np.inf, 0
    for attribute in asked:
        if used[attribute] or n_used < max_attributes:
            first = last = n_present = 0
            if ordered[attribute] == 0:
                for at in range(starts[attribute], starts[attribute + 1]):
                    if histogram[at] != 0:
                        first, last, n_present = last, at, n_present + 1
            if n_present == 2:  # most categories in a small leaf, and far less work than a scan
                gain = gain_of_two(histogram[first], histogram[last], whole, limits)
            elif n_present == 1:
                continue
            else:
                own = histogram[starts[attribute] : starts[attribute + 1]]
                gain = scan(own, whole, ordered[attribute], limits, room)[0]
            if gain > best * ROUNDING:
                best, found = gain, attribute
    return best, found


@kernel_part
def divide(histogram: Ints, whole: int, n_ordered: int, limits: Floats, room: Room, goes_left: Flags) -> int:
    """Which codes of an attribute go left in its best split of a leaf, and their sum.

    Codes without rows go to the side of the larger Hessian.
    """
    _, length, gap_left = scan(histogram, whole, n_ordered, limits, room)
    for code in range(len(goes_left)):
        goes_left[code] = False
    for position in range(length):
        goes_left[position if n_ordered > 0 else room.ranks[position]] = True
    if n_ordered > 0:
        for code in range(n_ordered, len(histogram)):
            goes_left[code] = gap_left
    total = 0
    for code in range(len(histogram)):
        if goes_left[code]:
            total += histogram[code]
    for code in range(n_ordered, len(histogram)):
        if histogram[code] == 0:
            goes_left[code] = 2 * (total & HESSIAN) > (whole & HESSIAN)
    return total


@kernel
def scan(histogram: Ints, whole: int, n_ordered: int, limits: Floats, room: Room) -> tuple[float, int, bool]:
    """The best gain of one attribute, how many codes, from the first, go left in it, and whether gaps do.

    Codes of an ordered attribute keep their order. Categories are ranked, into `room.ranks`, by gradient /
    (Hessian + penalty): the best of all subsets is then among the first ones (Fisher 1958). Those without rows are
    left out.
    """
    least_hessian, penalty = limits[0], limits[1]
    ranks = room.ranks
    n, gap = n_ordered, 0
    if n_ordered > 0:
        for code in range(n_ordered, len(histogram)):
            gap += histogram[code]
    else:
        for code in range(len(histogram)):
            if histogram[code] != 0:
                room.scores[code] = (histogram[code] >> 32) / ((histogram[code] & HESSIAN) + penalty)
                ranks[n] = code
                n += 1
        rank(room.scores, n, ranks)
    whole_g, whole_h = float(whole >> 32), float(whole & HESSIAN)
    nothing = whole_g * whole_g / (whole_h + penalty)
    length, gap_left, best, to_beat = 0, False, -np.inf, nothing * ROUNDING
    for with_gap in range(2 if gap != 0 else 1):
        left, n_present = with_gap * gap, 0
        # Codes without rows are written over by the next one, without a branch.
        for position in range(n):
            own = histogram[position if n_ordered > 0 else ranks[position]]
            left += own
            room.gradients[n_present], room.hessians[n_present] = left >> 32, left & HESSIAN
            room.lengths[n_present] = position + 1
            n_present += own != 0
        scores, scales = room.scores[:n_present], room.scales[:n_present]
        weigh(room.gradients, room.hessians, whole_g, whole_h, least_hessian, penalty, scores, scales)
        for k in range(n_present):
            if scores[k] > to_beat * scales[k]:
                best = scores[k] / scales[k] - nothing
                to_beat = nothing + best * ROUNDING
                length, gap_left = room.lengths[k], with_gap == 1
    return best, length, gap_left


@kernel_part
def weigh(
    gradients: NDArray[np.int32],
    hessians: NDArray[np.int32],
    whole_g: float,
    whole_h: float,
    least_hessian: float,
    penalty: float,
    scores: Floats,
    scales: Floats,
) -> None:
    """G^2 / (H + penalty) of both sides, as score / scale, from the sums of the left one; -1 for a side too small.

    No division and no branch: the processor takes several splits at a time.
    """
    for k in range(len(scores)):
        g, h = np.float64(gradients[k]), np.float64(hessians[k])
        rest, rest_h = whole_g - g, whole_h - h
        below, rest_below = h + penalty, rest_h + penalty
        score = g * g * rest_below + rest * rest * below
        scores[k] = score if (h >= least_hessian) & (rest_h >= least_hessian) else -1.0
        scales[k] = below * rest_below


@kernel_part
def rank(keys: Floats, n: int, ranks: Ints) -> None:
    """The first n of `ranks` by ascending key, of equal ones the lower first: Shell's sort, which compiles at once."""
    gap = n // 2
    while gap > 0:
        for position in range(gap, n):
            code, at = ranks[position], position
            while at >= gap:
                other = ranks[at - gap]
                if keys[other] < keys[code] or (keys[other] == keys[code] and other < code):
                    break
                ranks[at] = other
                at -= gap
            ranks[at] = code
        gap //= 2
