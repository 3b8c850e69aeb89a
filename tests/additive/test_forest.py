"""What is asked of a forest besides its sums: credits, worst cases, files."""

import pickle
from dataclasses import replace
from itertools import product

import numpy as np
import pytest

from additive.random_forests import Tree, forest_of, random_forest, walk
from tanager.additive import forest as forest_module
from tanager.additive.document import read_forest, write_forest
from tanager.additive.folds import Sample
from tanager.additive.trees import TreeChoice, TreeKind, grow_forest
from tanager.errors import DataError
from tanager.network.document import DocumentError
from tanager.table.schema import ColumnSchema

N_CLASSES = 3
N_CODES = (6, 4, 4, 3)
COLUMNS = [ColumnSchema(f"x{k}", "categorical", tuple(range(n - 1))) for k, n in enumerate(N_CODES)]
COLUMNS = (*COLUMNS, ColumnSchema("y", "categorical", tuple(range(N_CLASSES))))


@pytest.fixture(scope="module")
def rows():
    """Rows that trees are grown on."""
    rng = np.random.default_rng(5)
    codes = np.column_stack([rng.integers(0, n, 200) for n in N_CODES]).astype(np.uint8)
    classes = ((codes[:, 0] + codes[:, 1]) % N_CLASSES).astype(np.intp)
    return Sample(codes, classes, np.ones(200, dtype=np.int64), rng.integers(1, 3, 200).astype(float))


@pytest.fixture(scope="module")
def forest(rows):
    grown, _, _ = grow_forest(TreeChoice(TreeKind(4, 1.0), 4, 1.0), rows, COLUMNS[:-1], N_CLASSES, 0)
    return replace(grown, values=grown.values + 1.0)


@pytest.mark.parametrize("compiled", [False, True])
def test_scores_are_the_values_of_the_leaves_that_rows_walk_to(compiled):
    """Of trees of one leaf, and of more than a word has bits for."""
    n_codes = [3, 5, 2, 8]
    forest = random_forest(0, [1, 2, 63, 64, 7, 150], n_codes, N_CLASSES)
    cells = np.array(list(product(*map(range, n_codes))), dtype=np.uint8)
    expected = [walk(forest, row) for row in cells.tolist()]
    found = forest.scores(cells, compiled)
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-12)
    moved = forest.scaled(2.0).scores(cells, compiled)
    np.testing.assert_allclose(moved, 2.0 * np.array(expected), rtol=0, atol=1e-12)


def test_a_pickled_forest_holds_its_fields_alone(forest, rows):
    before = len(pickle.dumps(forest))
    forest.scores(rows.codes, compiled=True)
    assert len(pickle.dumps(forest)) == before
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(forest)).scores(rows.codes), forest.scores(rows.codes))


@pytest.mark.parametrize("work", [0, np.inf])
def test_credits_add_up_to_what_the_forest_adds_beyond_its_means(forest, rows, work, monkeypatch):
    monkeypatch.setattr(forest_module, "WORK_WORTH_COMPILING", work)
    means = np.average(forest.scores(rows.codes), axis=0, weights=rows.weights)
    found = forest.credits(rows.codes, len(N_CODES)).sum(axis=1)
    np.testing.assert_allclose(found, forest.scores(rows.codes) - means, rtol=0, atol=1e-12)


def test_a_tree_of_one_split_credits_its_attribute_alone(rows):
    left = np.random.default_rng(6).random((1, max(N_CODES))) < 0.5
    stump = Tree(1, np.array([[2, -1, -2]]), left, np.array([1.0, -3.0]), np.array([3.0, 1.0]))
    credits = forest_of([stump], N_CODES, N_CLASSES).credits(rows.codes, len(N_CODES))
    assert not credits[:, [0, 1, 3]].any()
    goes_left = stump.left[0, rows.codes[:, 2]]
    np.testing.assert_allclose(credits[:, 2, stump.of_class], np.where(goes_left, 1.0, -3.0))  # the mean is zero


def test_a_forest_comes_back_from_its_document_bit_by_bit(forest):
    again = read_forest(write_forest(forest), COLUMNS)
    for name in ("roots", "of_class", "attributes", "ends", "offsets", "left", "values", "weights"):
        np.testing.assert_array_equal(getattr(again, name), getattr(forest, name))
    assert read_forest(write_forest(None), COLUMNS) is None


@pytest.mark.parametrize(
    ("key", "value", "message"),
    [
        ("attributes", lambda own: [9, *own[1:]], "attributes must hold the numbers of attributes"),
        ("ends", lambda own: own[1:], "two ends for each split"),
        ("sides", lambda own: [[99], *own[1:]], "states of the attribute"),
        ("roots", lambda own: [0.5, *own[1:]], "whole numbers"),
    ],
)
def test_a_document_of_something_else_is_refused(forest, key, value, message):
    document = write_forest(forest)
    with pytest.raises(DocumentError, match=message):
        read_forest({**document, key: value(document[key])}, COLUMNS)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"roots": lambda own: own[[1, 1]]}, "lead from one root"),
        ({"ends": lambda own: own[::-1]}, "lead from one root"),  # a circle
        ({"of_class": lambda own: own + N_CLASSES}, "lead from one root"),
        ({"offsets": lambda own: own + np.arange(len(own))}, "every state"),
        ({"weights": lambda own: 0.0 * own}, "above zero"),
        ({"values": lambda own: np.nan * own}, "finite"),
    ],
)
def test_what_is_no_forest_is_refused(forest, rows, changes, message):
    forest.check(N_CODES, N_CLASSES)
    broken = replace(forest, **{name: change(getattr(forest, name)) for name, change in changes.items()})
    with pytest.raises(DataError, match=message):
        broken.check(N_CODES, N_CLASSES)
