"""An oracle: the same trees grown by looking at every row and every split of every leaf, without histograms."""

from itertools import combinations

import numpy as np


class Table:
    """Rows with gradients: what a tree is grown on."""

    def __init__(self, seed, n_rows=60, ordered=(5, 0, 3, 0), n_codes=(6, 4, 4, 3), missing=0.1):
        random = np.random.default_rng(seed)
        columns = [random.integers(0, n - 1, n_rows) for n in n_codes]
        for column, n in zip(columns, n_codes, strict=True):
            column[random.random(n_rows) < missing] = n - 1
        self.codes = np.stack(columns, axis=1).astype(np.uint8)
        self.ordered, self.n_codes = np.array(ordered), np.array(n_codes)
        self.gradients = random.normal(size=n_rows) + 0.5 * (self.codes[:, 0] > 2) * (self.codes[:, -1] == 1)
        self.hessians = random.uniform(0.05, 0.25, n_rows)
        self.weights = random.integers(1, 3, n_rows).astype(float)


def grow_by_hand(table, max_leaves, limits, max_attributes, every_subset=False):
    """(n_rows,) the value of the leaf each row ends in."""
    least_hessian, penalty = limits
    sums = np.stack([table.gradients, table.hessians]) * table.weights
    leaves, used = [np.arange(len(table.weights))], [set()]

    def score(rows):
        g, h = sums[:, rows].sum(axis=1)
        return g * g / (h + penalty)

    def sides(rows, attribute):
        """Every way the codes may go left, in the order they are tried."""
        own, n = table.codes[rows, attribute], table.ordered[attribute]
        if n:
            for gaps in (set(), set(range(n, table.n_codes[attribute]))):
                yield from (set(range(k)) | gaps for k in range(1, n + 1))
        elif every_subset:
            present = sorted(set(own.tolist()))
            yield from (set(some) for k in range(1, len(present)) for some in combinations(present, k))
        else:
            of = {code: sums[:, rows[own == code]].sum(axis=1) for code in set(own.tolist())}
            ranked = sorted(of, key=lambda code: (of[code][0] / (of[code][1] + penalty), code))
            yield from (set(ranked[:k]) for k in range(1, len(ranked) + 1))

    while len(leaves) < max_leaves:
        best = (0.0, None, None, None)
        for number, rows in enumerate(leaves):
            for attribute in range(table.codes.shape[1]):
                if len(used[number]) >= max_attributes and attribute not in used[number]:
                    continue
                for side in sides(rows, attribute):
                    left = np.isin(table.codes[rows, attribute], list(side))
                    parts = rows[left], rows[~left]
                    if not all(len(part) for part in parts):
                        continue
                    if any(sums[1, part].sum() < least_hessian for part in parts):
                        continue
                    gain = score(parts[0]) + score(parts[1]) - score(rows)
                    if gain > best[0] * (1 + 1e-9) + 1e-12:
                        best = gain, number, attribute, parts
        if best[1] is None:
            break
        _, number, attribute, parts = best
        used[number] = used[number] | {attribute}
        used.append(used[number])
        leaves[number] = parts[0]
        leaves.append(parts[1])
    values = np.empty(len(table.weights))
    for rows in leaves:
        g, h = sums[:, rows].sum(axis=1)
        values[rows] = -g / (h + penalty)
    return values
