"""Bases and terms against dense matrices; a walk against the prior it stands for."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from additive.small_terms import COLUMNS, N_CODES, PAIRS, dense_basis, dense_terms, design, random_codes, small_terms
from tanager.additive.bases import Basis, Terms, coarse_shares, random_walk, step_size
from tanager.table.schema import ColumnSchema

SEEDS = st.integers(0, 10_000)
UNKNOWN = pytest.mark.parametrize("unknown", [False, True], ids=["known", "unknown"])


@given(SEEDS, st.booleans())
@settings(max_examples=20, deadline=None)
def test_collect_is_the_transpose_of_expand(seed, unknown):
    rng = np.random.default_rng(seed)
    terms = small_terms(rng, [pair for pair in PAIRS if rng.random() < 0.7], unknown=unknown)
    effects, by_cell = rng.normal(size=(terms.first_effect[-1], 3)), rng.normal(size=(terms.first_cell[-1], 3))
    forth, back = (terms.expand(effects) * by_cell).sum(axis=0), (effects * terms.collect(by_cell)).sum(axis=0)
    np.testing.assert_allclose(forth, back, rtol=0, atol=1e-10)


@UNKNOWN
def test_the_table_of_a_term_is_the_product_of_its_dense_bases(unknown):
    rng = np.random.default_rng(0)
    terms = small_terms(rng, unknown=unknown)
    effects = rng.normal(size=(terms.first_effect[-1], 2))
    tables = terms.expand(effects)
    for k, matrix in enumerate(dense_terms(terms)):
        own = effects[terms.first_effect[k] : terms.first_effect[k + 1]]
        np.testing.assert_allclose(tables[terms.first_cell[k] : terms.first_cell[k + 1]], matrix @ own, atol=1e-12)


@UNKNOWN
def test_single_precision_expands_and_collects_to_its_own_precision(unknown):
    rng = np.random.default_rng(1)
    terms = small_terms(rng, unknown=unknown)
    effects, by_cell = rng.normal(size=(terms.first_effect[-1], 2)), rng.normal(size=(terms.first_cell[-1], 2))
    for method, values in ((terms.expand, effects), (terms.collect, by_cell)):
        found = method(values.astype(np.float32))
        assert found.dtype == np.float32
        np.testing.assert_allclose(found, method(values), rtol=0, atol=1e-4)


@pytest.mark.parametrize("n", [2, 5, 12])
def test_a_walk_kept_whole_has_the_covariance_of_cumulative_sums(n):
    places = np.arange(n)
    sums = np.minimum.outer(places, places)  # of a walk from zero with steps of variance one
    centred = np.eye(n) - 1 / n
    walk = random_walk(n, n)
    assert walk.shape == (n, n - 1)
    np.testing.assert_allclose(walk @ walk.T, step_size(n) ** 2 * centred @ sums @ centred, atol=1e-12)


def test_the_parts_that_are_kept_of_a_walk_have_the_largest_variance():
    whole, some = random_walk(20, 20), random_walk(20, 6)
    np.testing.assert_allclose(some, whole[:, :6])
    variances = (whole**2).sum(axis=0)
    assert (np.diff(variances) < 0).all()


def test_more_bins_do_not_move_the_ends_of_a_walk_further_apart():
    spread = [((walk[-1] - walk[0]) ** 2).sum() for walk in (random_walk(n, n) for n in (5, 9, 50, 200))]
    np.testing.assert_allclose(spread, spread[0])


@pytest.mark.parametrize("column", COLUMNS, ids=lambda column: column.name)
@pytest.mark.parametrize("direction", [-1, 0, 1])
def test_unknown_is_the_mean_of_the_states_by_their_shares(column, direction):
    rng = np.random.default_rng(2)
    shares = rng.dirichlet(np.ones(column.n_states))
    basis = replace(Basis.of(column, shares, 4, direction if column.has_order else 0), unknown=True)
    terms = small_terms(rng, ())
    at = COLUMNS.index(column)
    bases = [*terms.fine]
    bases[at] = basis
    own = type(terms)(COLUMNS, bases, terms.coarse, [(at,)])
    table = own.expand(rng.normal(size=(basis.n_effects, 2)))
    np.testing.assert_allclose(table[-1], shares @ table[:-1], atol=1e-12)


def test_a_pair_with_an_unknown_is_the_mean_over_its_states():
    rng = np.random.default_rng(3)
    terms = small_terms(rng, [(0, 2)]).only([(0, 2)])
    first, second = terms.bases((0, 2))
    table = terms.expand(rng.normal(size=(terms.first_effect[-1], 1))).reshape(first.n_cells, second.n_cells)
    np.testing.assert_allclose(table[-1], first.shares @ table[:-1], atol=1e-12)
    np.testing.assert_allclose(table[:, -1], table[:, :-1] @ second.shares, atol=1e-12)


def test_a_curve_has_mean_zero_over_the_rows_that_have_a_value():
    rng = np.random.default_rng(4)
    for column in (COLUMNS[0], COLUMNS[2], COLUMNS[3]):
        shares = rng.dirichlet(np.ones(column.n_states))
        n_bins = column.n_states - column.missing_state
        curve = Basis.of(column, shares, 8).matrix[:n_bins]
        np.testing.assert_allclose(shares[:n_bins] @ curve, 0.0, atol=1e-12)


@given(SEEDS, st.sampled_from([-1, 1]))
@settings(max_examples=10, deadline=None)
def test_effects_that_are_not_negative_make_a_curve_that_never_turns(seed, direction):
    """The missing state is apart from the curve, and unconstrained."""
    rng = np.random.default_rng(seed)
    monotone = [direction if column.has_order else 0 for column in COLUMNS]
    terms = small_terms(rng, (), monotone)
    lower = terms.lower()
    effects = np.maximum(rng.normal(size=lower.shape), lower)
    assert (lower < 0).any()
    table = terms.expand(effects[:, np.newaxis])[:, 0]
    for k, (a,) in enumerate(terms.terms):
        n_bins = COLUMNS[a].n_states - COLUMNS[a].missing_state
        curve = table[terms.first_cell[k] : terms.first_cell[k] + n_bins]
        if monotone[a]:
            assert (direction * np.diff(curve) >= -1e-12).all()


def test_a_curve_along_steps_may_be_any_that_never_turns():
    """Every non-decreasing curve of mean zero is reached by effects at or above zero."""
    rng = np.random.default_rng(5)
    shares = rng.dirichlet(np.ones(9))
    basis = Basis.of(COLUMNS[0], shares, 4, direction=1)
    curve = np.cumsum(rng.exponential(size=9))
    curve -= shares @ curve
    effects = np.linalg.lstsq(basis.matrix, curve, rcond=None)[0]
    assert (effects > 0).all()
    np.testing.assert_allclose(basis.matrix @ effects, curve, atol=1e-10)


def test_nothing_is_bounded_where_nothing_is_constrained():
    rng = np.random.default_rng(6)
    assert small_terms(rng).lower() is None
    assert small_terms(rng, monotone=[0] * len(COLUMNS)).lower() is None


@UNKNOWN
def test_cells_lead_a_row_to_what_its_terms_add(unknown):
    rng = np.random.default_rng(7)
    terms, codes = small_terms(rng, unknown=unknown), random_codes(rng, 50, unknown)
    effects = rng.normal(size=(terms.first_effect[-1], 2))
    tables = terms.expand(effects)
    expected = design(terms, codes) @ effects
    np.testing.assert_allclose(tables[terms.cells(codes, 0, len(terms.terms))].sum(axis=1), expected, atol=1e-12)
    parts = [(0, 3), (3, 4), (4, len(terms.terms))]
    total = sum(tables[terms.first_cell[i] + terms.cells(codes, i, j)].sum(axis=1) for i, j in parts)
    np.testing.assert_allclose(total, expected, atol=1e-12)


def test_effects_move_from_one_list_of_terms_to_another():
    rng = np.random.default_rng(8)
    whole = small_terms(rng)
    fewer = whole.only([(4,), (0,), (1, 4), (0, 1)])
    others = whole.only([(0,), (0, 1), (2, 3)])
    codes = random_codes(rng, 40)
    effects = rng.normal(size=(fewer.first_effect[-1], 2, 3))

    def scores(terms, values):
        return design(terms, codes) @ values.reshape(len(values), -1)

    np.testing.assert_allclose(scores(whole, whole.take(fewer, effects)), scores(fewer, effects), atol=1e-12)
    np.testing.assert_array_equal(fewer.take(whole, whole.take(fewer, effects)), effects)
    common = whole.only([(0,), (0, 1)])
    kept = others.take(fewer, effects)
    np.testing.assert_allclose(scores(others, kept), scores(common, common.take(fewer, effects)), atol=1e-12)


@UNKNOWN
def test_squares_say_how_far_an_effect_moves_each_cell(unknown):
    rng = np.random.default_rng(9)
    terms = small_terms(rng, unknown=unknown)
    by_cell = rng.uniform(size=(terms.first_cell[-1], 1))
    found = terms.squared().collect(by_cell)
    for k, term in enumerate(terms.terms):
        squares = np.ones((1, 1))
        for basis in terms.bases(term):
            matrix = dense_basis(replace(basis, unknown=False)) ** 2
            squares = np.kron(squares, np.vstack([matrix, basis.shares @ matrix]) if unknown else matrix)
        own = by_cell[terms.first_cell[k] : terms.first_cell[k + 1]]
        np.testing.assert_allclose(found[terms.first_effect[k] : terms.first_effect[k + 1]], squares.T @ own)


def test_shares_of_coarse_states_are_sums_over_their_fine_ones():
    shares = np.array([0.1, 0.2, 0.3, 0.25, 0.15])
    np.testing.assert_allclose(coarse_shares(COLUMNS[2], shares), [0.3, 0.55, 0.15])


def shapes_of(terms):
    """Of each term the sizes of its bases; one shape for all whose cells are effects."""
    found = []
    for term in terms.terms:
        bases = terms.bases(term)
        own = tuple(dense_basis(basis).shape for basis in bases)
        effects = all(basis.matrix is None and not basis.unknown for basis in bases)
        found.append("effects" if effects else own)
    return found


@UNKNOWN
def test_terms_of_one_shape_are_neighbours(unknown):
    terms = small_terms(np.random.default_rng(10), unknown=unknown)
    shapes = shapes_of(terms)
    starts = [k for k, shape in enumerate(shapes) if k == 0 or shape != shapes[k - 1]]
    assert len(starts) == len(set(shapes)) == len(terms._groups)
    assert ("effects" in shapes) is not unknown
    assert sorted(terms.terms) == sorted([*((a,) for a in range(len(N_CODES))), *PAIRS])


def test_categories_whose_cells_are_effects_are_one_group_whatever_their_number_of_states():
    rng = np.random.default_rng(11)
    columns = [ColumnSchema(f"x{k}", "categorical", tuple(range(n))) for k, n in enumerate((2, 5, 3, 2))]
    shares = [rng.dirichlet(np.ones(column.n_states)) for column in columns]
    terms = Terms.of(columns, shares, 100, unknown=False)
    terms = terms.only([*terms.terms, (0, 1), (1, 2)])
    assert len(terms._groups) == 1
    values = rng.normal(size=(2 + 5 + 3 + 2 + 10 + 15, 2))
    np.testing.assert_array_equal(terms.expand(values), values)
    np.testing.assert_array_equal(terms.collect(values), values)
    assert len(terms.with_unknown(True)._groups) > 1


@pytest.mark.parametrize("monotone", [(), (1, 0, -1, 1, 0)], ids=["free", "constrained"])
def test_cells_of_unknown_states_come_and_go_and_the_others_stay(monotone):
    """Effects are the same numbers in another order; a table without unknown is a part of the one with it."""
    rng = np.random.default_rng(12)
    known = small_terms(rng, monotone=monotone, unknown=False)
    whole = known.with_unknown(True)
    one, other = (dict(zip(each.terms, each.n_effects, strict=True)) for each in (known, whole))
    assert one == other
    effects = rng.normal(size=(known.first_effect[-1], 2))
    more = whole.take(known, effects)
    np.testing.assert_array_equal(known.take(whole, more), effects)
    few, many, at = known.expand(effects), whole.expand(more), {term: k for k, term in enumerate(whole.terms)}
    for k, term in enumerate(known.terms):
        own, n_states = few[known.first_cell[k] : known.first_cell[k + 1]], [b.n_cells for b in known.bases(term)]
        place = at[term]
        table = many[whole.first_cell[place] : whole.first_cell[place + 1]]
        table = table.reshape(*(n + 1 for n in n_states), 2)[tuple(slice(n) for n in n_states)]
        np.testing.assert_allclose(table.reshape(own.shape), own, atol=1e-12)
    again = whole.with_unknown(False)
    assert again.terms == known.terms
    np.testing.assert_array_equal(again.first_cell, known.first_cell)
    for one, other in ((known, whole), (known, again)):
        assert (one.lower() is None) == (other.lower() is None) == (not monotone)
        if monotone:
            bounds = other.lower()[:, np.newaxis]
            np.testing.assert_array_equal(
                one.take(other, np.maximum(bounds, -1.0))[:, 0], np.maximum(one.lower(), -1.0)
            )
