"""Edits against the same changes made by hand, cell by cell."""

from __future__ import annotations

from copy import copy
from dataclasses import replace
from functools import cache

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from additive.random_forests import walk
from missing.drawn_rows import posterior
from report.models import mixed_table, with_trees
from tanager import (
    AdditiveClassifier,
    NaiveBayesClassifier,
    OptionError,
    TANClassifier,
    apply_edits,
    cross_validate_model,
    load_model,
    save_model,
    undo_edits,
)
from tanager.additive.importance import class_odds, tree_mains
from tanager.classifiers.base import encode_table
from tanager.edits import Edit, Edits
from tanager.edits.edit import model_digest, stretch
from tanager.errors import DataError, FileError
from tanager.files import load_edits, save_edits
from tanager.table.schema import ColumnSchema


@pytest.fixture(scope="module")
def rows():
    return mixed_table(3, n_rows=1_000, gaps=0.05)


@pytest.fixture(scope="module", params=["average", "auto"])
def clf(request, rows):
    return AdditiveClassifier(pairs=8, trees=False, missing=request.param).fit(*rows)


@pytest.fixture(scope="module")
def trees():
    return with_trees(2)


def complete(rows) -> pd.DataFrame:
    return rows[0].dropna()


def by_hand(clf, mains, tables, X) -> np.ndarray:
    """P(class | row) from looked-up numbers alone: no network of the library adds them up."""
    pairs, cells = tuple(tables), tuple(tables.values())
    model = replace(clf.model_, mains=tuple(mains), pairs=pairs, tables=cells, pair_densities=())
    return np.array([posterior(model, row) for row in encode_table(clf, X)[1].tolist()])


def parts(clf):
    network = clf.model_
    return [main.copy() for main in network.mains], dict(zip(network.pairs, network.tables, strict=True))


def test_a_flat_stretch_has_the_mean_of_its_rows(clf, rows):
    network, age = clf.model_, 0
    cuts = network.columns[age].cuts
    low, high = cuts[2], cuts[5]
    edited = apply_edits(clf, Edit.flatten("age", low, high, reason="noise"))
    mains, tables = parts(clf)
    stretched = [k for k in range(len(cuts) + 1) if k >= 3 and k <= 5]
    shares = network.densities[age][stretched]
    mains[age][stretched] = sum(p * mains[age][k] for p, k in zip(shares, stretched, strict=True)) / shares.sum()
    X = complete(rows)
    np.testing.assert_allclose(edited.predict_proba(X), by_hand(clf, mains, tables, X), atol=1e-12)
    assert not np.allclose(edited.predict_proba(X), clf.predict_proba(X))


def test_with_trees_a_flat_stretch_is_flat_on_average_over_all_other_attributes(trees):
    network, pay = trees.model_, 1
    cuts = network.columns[pay].cuts
    edited = apply_edits(trees, Edit.flatten("pay", cuts[2], cuts[8], reason="noise")).model_
    stretched = np.arange(3, 9)
    # By rows whose other cells are drawn, the same ones for each state.
    rng = np.random.default_rng(0)
    others = np.column_stack([rng.choice(len(p), 400, p=p) for p in network.densities]).astype(np.uint8)
    states = [np.where(np.arange(5) == pay, state, others) for state in stretched.tolist()]
    drawn = [edited.log_joint(rows.astype(np.uint8)).mean(axis=0) for rows in states]
    before = [network.log_joint(rows.astype(np.uint8)).mean(axis=0) for rows in states]
    assert np.std(drawn, axis=0).max() < 0.3 * np.std(before, axis=0).max()
    curve = edited.main("pay") + tree_mains(edited)[pay]
    np.testing.assert_allclose(curve[stretched], np.tile(curve[3], (6, 1)), atol=1e-12)
    rest = np.setdiff1d(np.arange(len(curve)), stretched)
    np.testing.assert_array_equal(edited.main("pay")[rest], network.main("pay")[rest])


def test_categories_are_flattened_by_name(clf, rows):
    edited = apply_edits(clf, Edit.flatten("town", states=["Aa", "Cu"], reason="one district"))
    main = edited.model_.main("town")
    assert (main[0] == main[2]).all()
    assert (main[[1, 3, 4]] == clf.model_.main("town")[[1, 3, 4]]).all()


@settings(max_examples=12, deadline=None)
@given(
    direction=st.sampled_from(["increasing", "decreasing"]),
    label=st.integers(0, 2),
    name=st.sampled_from(["age", "pay"]),
)
def test_a_monotone_curve_is_the_nearest_one_and_other_odds_stay(direction, label, name):
    clf = small_model()
    network, k = clf.model_, clf.model_.number(name)
    edited = apply_edits(clf, Edit.monotone(name, direction, of=f"class {label}", reason="known to be so"))
    before, after = class_odds(network.main(name)), class_odds(edited.model_.main(name))
    sign, n = (1 if direction == "increasing" else -1), len(before)
    odds, weights = sign * before[:, label], np.maximum(network.densities[k], 1e-12)
    # The max-min formula of isotonic regression (Barlow et al. 1972).
    sums, totals = (np.concatenate([[0], np.cumsum(part)]) for part in (odds * weights, weights))
    means = (sums[1:] - sums[:-1, np.newaxis]) / (totals[1:] - totals[:-1, np.newaxis] + np.tri(n, k=-1))
    nearest = [means[: s + 1, s:].min(axis=1).max() for s in range(n)]
    np.testing.assert_allclose(sign * after[:, label], nearest, atol=1e-9)
    others = [c for c in range(3) if c != label]
    one, other = network.main(name)[:, others], edited.model_.main(name)[:, others]
    np.testing.assert_allclose(one[:, 0] - one[:, 1], other[:, 0] - other[:, 1], atol=1e-12)
    np.testing.assert_allclose(edited.model_.main(name).sum(axis=1), network.main(name).sum(axis=1), atol=1e-12)


@cache
def small_model():
    return AdditiveClassifier(pairs=8, trees=False).fit(*mixed_table(3, n_rows=1_000))


def test_a_removed_pair_leaves_all_other_effects(clf, rows):
    pair = clf.model_.pairs[0]
    names = [clf.model_.nodes[k] for k in pair]
    edited = apply_edits(clf, Edit.remove(*names[::-1], reason="no such thing"))
    mains, tables = parts(clf)
    del tables[pair]
    X = complete(rows)
    np.testing.assert_allclose(edited.predict_proba(X), by_hand(clf, mains, tables, X), atol=1e-12)


def test_a_removed_attribute_has_no_say_with_gaps_elsewhere_too(clf, rows):
    edited = apply_edits(clf, Edit.remove("town", reason="must not matter"))
    X = rows[0].head(60).mask(np.random.default_rng(0).random((60, 5)) < 0.3)
    X["town"] = "Aa"
    other = X.assign(town=np.array(["Bo", "Cu", "Dy", "Eu"])[np.arange(60) % 4])
    np.testing.assert_allclose(edited.predict_proba(X), edited.predict_proba(other), atol=1e-12)
    full = complete(rows).head(20)
    np.testing.assert_allclose(edited.predict_proba(full), edited.predict_proba(full.assign(town=None)), atol=1e-12)
    mains, tables = parts(clf)
    mains[2][:] = 0
    tables = {pair: table for pair, table in tables.items() if 2 not in pair}
    np.testing.assert_allclose(edited.predict_proba(full), by_hand(clf, mains, tables, full), atol=1e-12)


def test_trees_that_ask_for_a_removed_attribute_go(trees):
    edited = apply_edits(trees, Edit.remove("town", reason="must not matter"))
    X = mixed_table(2, n_rows=100, gaps=0.2)[0]
    np.testing.assert_allclose(
        edited.predict_proba(X.assign(town="Aa")), edited.predict_proba(X.assign(town="Eu")), atol=1e-12
    )
    kept, forest = edited.model_.forest, trees.model_.forest
    _, codes = encode_table(trees, X.dropna())
    total, asked = np.zeros((len(codes), 3)), 0
    for root, of_class in zip(forest.roots, forest.of_class, strict=True):
        stack, seen = [root], set()
        while stack:
            at = stack.pop()
            if at >= 0:
                seen.add(int(forest.attributes[at]))
                stack += forest.ends[at].tolist()
        asked += 2 in seen
        if 2 not in seen:
            alone = replace(forest, roots=np.array([root]), of_class=np.array([of_class]))
            total += [walk(alone, row) for row in codes.tolist()]
    assert asked > 0
    found = np.zeros_like(total) if kept is None else kept.scores(codes)
    np.testing.assert_allclose(found, total, atol=1e-12)
    assert len(forest.roots) - asked == (0 if kept is None else len(kept.roots))


def test_undo_gives_the_old_model_bit_by_bit_in_memory_and_from_files(clf, rows, tmp_path):
    quality = cross_validate_model(NaiveBayesClassifier().fit(*rows), *rows, cv=2)
    old = copy(clf).prepare_intervals(rows[0][:80], rows[1][:80])
    assert old.posterior_ is not None
    save_model(old, tmp_path / "old.json", quality=quality)
    old = load_model(tmp_path / "old.json")
    once = apply_edits(old, [Edit.flatten("pay", 10, 40, reason="a"), Edit.remove("town", reason="b")], *rows)
    twice = apply_edits(once, Edit.remove("job", reason="c"))
    save_model(once, tmp_path / "once.json")
    save_model(twice, tmp_path / "twice.json")
    read = load_model(tmp_path / "twice.json")
    assert (read.predict_proba(rows[0]) == twice.predict_proba(rows[0])).all()
    assert [each.edits for each in read.edits_] == [each.edits for each in twice.edits_]
    assert (read.quality_, read.posterior_, twice.posterior_) == (None, None, None)
    save_model(undo_edits(read), tmp_path / "undone.json")
    save_model(undo_edits(undo_edits(read)), tmp_path / "back.json")
    assert (tmp_path / "undone.json").read_bytes() == (tmp_path / "once.json").read_bytes()
    assert (tmp_path / "back.json").read_bytes() == (tmp_path / "old.json").read_bytes()
    save_model(undo_edits(undo_edits(twice)), tmp_path / "back.json")
    assert (tmp_path / "back.json").read_bytes() == (tmp_path / "old.json").read_bytes()


def test_edits_do_not_touch_the_model_they_are_made_of(clf, rows, tmp_path):
    save_model(clf, tmp_path / "before.json")
    apply_edits(clf, Edit.remove("town", reason="a"))
    save_model(clf, tmp_path / "after.json")
    assert (tmp_path / "before.json").read_bytes() == (tmp_path / "after.json").read_bytes()


def test_fitting_again_forgets_edits(rows):
    edited = apply_edits(small_model(), Edit.remove("town", reason="a"))
    before = small_model().predict_proba(rows[0])
    assert edited.fit(*mixed_table(3, n_rows=1_000)).edits_ == ()
    assert (small_model().predict_proba(rows[0]) == before).all()


def test_after_refitting_the_mean_probability_of_a_class_is_its_share(clf, rows):
    X = complete(rows)
    y = rows[1].loc[X.index]
    edited = apply_edits(clf, Edit.remove("age", reason="a"), X, y)
    shares = y.value_counts(normalize=True).sort_index()
    np.testing.assert_allclose(edited.predict_proba(X).mean(axis=0), shares, atol=1e-9)
    assert np.abs(apply_edits(clf, Edit.remove("age", reason="a")).predict_proba(X).mean(axis=0) - shares).max() > 1e-4
    with pytest.raises(DataError, match="no row has the class 'class 2'"):
        apply_edits(clf, Edit.remove("age", reason="a"), X[y != "class 2"], y[y != "class 2"])


def test_who_when_and_why_are_kept(tmp_path):
    edits = Edits((Edit.flatten("age", 30, 50, reason="few rows", who="A. Nurse"),), model_digest(small_model().model_))
    save_edits(edits, tmp_path / "edits.json")
    assert load_edits(tmp_path / "edits.json") == edits
    (kept,) = apply_edits(small_model(), edits).edits_
    assert replace(kept.edits.edits[0], when="") == edits.edits[0]
    assert kept.edits.edits[0].when.startswith("20")


def test_dates_bound_a_stretch():
    days = [float(np.datetime64(f"2024-0{month}-01", "us").astype(int)) for month in (2, 4, 6)]
    column = ColumnSchema("day", "numeric", cuts=tuple(days), unit="date")
    edit = Edit.flatten("day", "2024-02-01", "2024-06-01", reason="a")
    assert stretch(column, edit).tolist() == [1, 2]
    with pytest.raises(OptionError, match="expected a date"):
        stretch(column, Edit.flatten("day", "spring", reason="a"))
    for no_date in ("NaT", "", "99999999999-01-01", float("nan"), float("inf")):
        with pytest.raises(OptionError, match="is no end for a stretch"):
            stretch(column, replace(Edit.flatten("day", reason="r"), start=no_date))


@pytest.mark.parametrize(
    ("edit", "words"),
    [
        (lambda: Edit.flatten("agee", 1, 2, reason="a"), "no node 'agee'; the nearest are 'age'"),
        (lambda: Edit.flatten("age", -9e9, -8e9, reason="a"), "lies in one bin"),
        (lambda: Edit.flatten("age", 50, 30, reason="a"), "ends at 30 and begins at 50"),
        (lambda: Edit.flatten("town", 1, 2, reason="a"), "holds categories, not numbers"),
        (lambda: Edit.monotone("town", "increasing", reason="a"), "have no order"),
        (lambda: Edit.monotone("age", "increasing", reason="a"), "of which class"),
        (lambda: Edit.remove("age", "age", reason="a"), "no such pair"),
        (lambda: Edit.remove("y", reason="a"), "is the class"),
        (lambda: Edit.remove("age", reason=" "), "has no reason"),
        (lambda: Edits((Edit.remove("age", reason="a"),), "0" * 64), "made for another model"),
        (list, "no edit to apply"),
    ],
)
def test_edits_that_cannot_be_made_are_refused(edit, words):
    with pytest.raises(OptionError, match=words):
        apply_edits(small_model(), edit())


def test_a_network_of_tables_has_no_effects_to_edit(rows):
    with pytest.raises(OptionError, match="made of tables"):
        apply_edits(TANClassifier().fit(*rows), Edit.remove("age", reason="a"))
    with pytest.raises(OptionError, match="no edits to undo"):
        undo_edits(small_model())


@pytest.mark.parametrize(
    "content",
    [
        "",
        '{"what": "paint", "attributes": ["a"], "reason": "x"}',
        '{"what": "remove", "attributes": ["a"], "reason": ""}',
        '{"what": "remove", "attributes": ["a"], "reason": "x", "colour": 1}',
    ],
)
def test_files_that_hold_no_edits_are_refused(content, tmp_path):
    (tmp_path / "edits.json").write_text(f'{{"format": 1, "versions": {{}}, "edits": [{content}]}}')
    with pytest.raises(FileError, match="is not a file of edits that can be read"):
        load_edits(tmp_path / "edits.json")
