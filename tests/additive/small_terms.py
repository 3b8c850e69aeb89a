"""Terms over a few columns of every kind, random rows of them, and the terms as dense matrices: an oracle."""

from __future__ import annotations

import numpy as np

from tanager.additive.bases import Basis, Terms
from tanager.additive.objective import Objective
from tanager.table.schema import ColumnSchema

COLUMNS = (
    ColumnSchema("curve", "numeric", cuts=tuple(range(8)), groups=(0, 0, 0, 1, 1, 1, 2, 2, 2)),
    ColumnSchema("kind", "categorical", ("a", "b", "c")),
    ColumnSchema("holes", "numeric", cuts=(0.5, 1.5, 2.5), groups=(0, 0, 1, 1), missing_state=True),
    ColumnSchema("grade", "categorical", ("low", "middle", "high"), ordered=True),
    ColumnSchema("other", "categorical", ("a", "b", "c")),
)
PAIRS = ((0, 1), (0, 2), (1, 4), (2, 3))
N_CODES = np.array([column.n_states + 1 for column in COLUMNS])


def random_codes(rng: np.random.Generator, n_rows: int, unknown: bool = True) -> np.ndarray:
    """(n_rows, n_attributes) fine codes, with or without unknown ones."""
    return (rng.random((n_rows, len(COLUMNS))) * (N_CODES - (not unknown))).astype(np.uint8)


def small_terms(rng: np.random.Generator, pairs=PAIRS, monotone=(), n_rows: int = 100, unknown: bool = True) -> Terms:
    """All attributes, and some pairs."""
    shares = [rng.dirichlet(np.ones(column.n_states)) for column in COLUMNS]
    terms = Terms.of(COLUMNS, shares, n_rows, unknown, monotone)
    return terms.only([*((a,) for a in range(len(COLUMNS))), *pairs])


def dense_basis(basis: Basis) -> np.ndarray:
    """(n_cells, n_effects): the states' matrix, and the mean of its lines for unknown where it has a cell."""
    matrix = np.eye(basis.n_effects) if basis.matrix is None else basis.matrix
    return np.vstack([matrix, basis.shares @ matrix]) if basis.unknown else matrix


def dense_terms(terms: Terms) -> list[np.ndarray]:
    """Of each term (n_cells, n_effects); that of a pair is the Kronecker product of its bases."""
    found = []
    for term in terms.terms:
        matrix = np.ones((1, 1))
        for basis in terms.bases(term):
            matrix = np.kron(matrix, dense_basis(basis))
        found.append(matrix)
    return found


def design(terms: Terms, codes: np.ndarray) -> np.ndarray:
    """(n_rows, n_effects) what each effect adds to the score of each row."""
    lines = []
    for term, matrix in zip(terms.terms, dense_terms(terms), strict=True):
        if len(term) == 1:
            lines.append(matrix[codes[:, term[0]]])
        else:
            first, second = (COLUMNS[a].coarse_codes[codes[:, a]] for a in term)
            lines.append(matrix[first * terms.coarse[term[1]].n_cells + second])
    return np.hstack(lines)


def small_objective(
    seed: int, n_classes: int, n_fits: int = 2, n_rows: int = 60, pairs=PAIRS, unknown: bool = True, **options
) -> Objective:
    """Random rows with random weights; every fit leaves some rows out."""
    rng = np.random.default_rng(seed)
    terms = small_terms(rng, pairs, unknown=unknown)
    codes, classes = random_codes(rng, n_rows, unknown), rng.integers(0, n_classes, n_rows)
    weights = rng.uniform(0.2, 3.0, (n_rows, n_fits)) * (rng.random((n_rows, n_fits)) < 0.8)
    return Objective(terms, codes, classes, weights, n_classes, **options)
