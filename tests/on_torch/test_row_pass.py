"""The pass on a device: loss and gradient of the host's pass, in parts of any size, and the same fitted tables."""

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from oracle import random_batch  # noqa: E402
from tanager import BayesianNetworkClassifier, TANClassifier  # noqa: E402
from tanager.counts.count_store import CountStore  # noqa: E402
from tanager.counts.engine import choose_engine  # noqa: E402
from tanager.parameters import Conditional  # noqa: E402
from tanager.parameters.class_cells import ClassCells  # noqa: E402
from tanager.parameters.conditional.objectives import IndicatorPass, Layout  # noqa: E402
from tanager.structure.dag import Dag  # noqa: E402
from tanager.torch import row_pass as torch_pass  # noqa: E402
from tanager.torch import rows as torch_rows  # noqa: E402
from tanager.torch.row_pass import TorchPass  # noqa: E402
from tanager.torch.rows import DeviceRows  # noqa: E402

# The same laws hold on a GPU where there is one.
DEVICE = "cuda" if torch.cuda.is_available() else "cpu"
DAGS = {
    "naive Bayes": Dag.augmented_naive_bayes([(), (), ()]),
    "two parents": Dag.augmented_naive_bayes([(), (0,), (0, 1)]),
    "class with parents": Dag(((), (), (1, 3), (0, 1))),
}


def both_passes(dag, n_classes=3, power=0, gaps=0.0, weighted=False, n_rows=200):
    n_states = (3, 2, 4, n_classes)
    batch = random_batch(1, n_rows, n_states, gaps, weighted=weighted)
    cells = ClassCells.of(dag, n_states)
    odds = np.random.default_rng(2).normal(size=(cells.n_cells, n_classes - 1))
    on_device = TorchPass(DeviceRows.of(batch, torch.device(DEVICE)), Layout.of(cells, [batch]), power)
    return IndicatorPass(cells, batch, power), on_device, odds


def assert_equal_at(host, device, odds):
    (value, gradient), (own_value, own_gradient) = host(odds), device(odds)
    assert own_value == pytest.approx(value, rel=1e-12)
    np.testing.assert_allclose(own_gradient, gradient, rtol=1e-10, atol=1e-11)


@pytest.mark.parametrize("dag", DAGS.values(), ids=DAGS)
@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("power", [0, 1, 2])
@pytest.mark.parametrize("weighted", [False, True])
def test_loss_and_gradient_are_those_of_the_host(dag, n_classes, power, weighted):
    assert_equal_at(*both_passes(dag, n_classes, power, gaps=0.2, weighted=weighted))


@pytest.mark.parametrize("n_bytes", [1, 4_000, 1 << 20])
@pytest.mark.parametrize("n_copies", [1, 7])
def test_parts_of_the_rows_and_copies_of_the_gradient_change_nothing(monkeypatch, n_bytes, n_copies):
    monkeypatch.setitem(torch_rows.WORKING_BYTES, DEVICE, n_bytes)
    monkeypatch.setattr(torch_rows, "SMALLEST_WORKING_BYTES", 1)
    monkeypatch.setitem(torch_pass.COPIES, DEVICE, n_copies)
    host, device, odds = both_passes(DAGS["two parents"], weighted=True)
    assert_equal_at(host, device, odds)
    assert_equal_at(host, device, -2.0 * odds)  # by the positions kept


def test_a_pass_that_found_memory_full_goes_on_in_smaller_parts(monkeypatch):
    host, device, odds = both_passes(DAGS["two parents"])
    assert_equal_at(host, device, odds)
    find, lengths = TorchPass._find, []

    def full(self, part, keep):
        lengths.append(part[1] - part[0])
        if lengths[-1] > 50:
            raise torch.OutOfMemoryError
        return find(self, part, keep)

    monkeypatch.setattr(TorchPass, "_find", full)
    monkeypatch.setattr(torch_rows, "SMALLEST_WORKING_BYTES", 1)
    assert_equal_at(host, device, odds)
    assert len(lengths) > 200 / 50
    failed = sum(length > 50 for length in lengths)
    assert_equal_at(host, device, odds)
    assert sum(length > 50 for length in lengths) == failed


def test_extreme_odds_give_finite_numbers():
    _, device, odds = both_passes(DAGS["naive Bayes"])
    value, gradient = device(1e4 * odds)
    assert np.isfinite(value)
    assert np.isfinite(gradient).all()


@pytest.mark.parametrize("objective", ["cll", "squared", "margin"])
@pytest.mark.parametrize("n_classes", [2, 3])
def test_fitted_tables_are_those_of_the_host(monkeypatch, objective, n_classes):
    monkeypatch.setattr(torch_pass, "LOOK_UPS_WORTH_DEVICE", 0)
    rng = np.random.default_rng(4)
    y = rng.integers(0, n_classes, 800)
    X = (rng.integers(0, 3, (800, 5)) + y[:, None] * rng.integers(0, 2, (800, 5))) % 3
    options = {"parameters": Conditional(objective, strength=1.0), "categorical_features": "all"}
    host = TANClassifier(engine="numpy", **options).fit(X, y)
    device = TANClassifier(engine="torch", device=DEVICE, **options).fit(X, y)
    assert device.model_.edges == host.model_.edges
    for own, expected in zip(device.model_.tables, host.model_.tables, strict=True):
        np.testing.assert_allclose(own, expected, atol=1e-9)
    np.testing.assert_allclose(device.predict_proba(X), host.predict_proba(X), atol=1e-9)
    assert device.trace_.parameters.passes == host.trace_.parameters.passes


def test_small_work_stays_on_the_host():
    batch = random_batch(6, 100, (3, 2, 4, 2))
    counts = CountStore(batch, choose_engine("torch", DEVICE), ("a", "b", "c", "class"))
    cells = ClassCells.of(DAGS["naive Bayes"], batch.n_states)
    assert torch_pass.passes_on_device(counts.engine, cells, [batch], 0) == []


@pytest.mark.parametrize("structure", ["naive-bayes", "tan", "bckg"])
def test_every_structure_predicts_as_on_the_host_with_gaps_too(structure):
    rng = np.random.default_rng(7)
    y = rng.integers(0, 2, 300)
    X = np.where(rng.random((300, 4)) < 0.3, y[:, None], rng.integers(0, 3, (300, 4))).astype(float)
    host = BayesianNetworkClassifier(structure, engine="numpy", categorical_features="all").fit(X, y)
    device = BayesianNetworkClassifier(structure, engine="torch", device=DEVICE, categorical_features="all").fit(X, y)
    np.testing.assert_allclose(device.predict_proba(X), host.predict_proba(X), atol=1e-9)
    X[::3, 1] = np.nan
    np.testing.assert_allclose(device.predict_proba(X), host.predict_proba(X), atol=1e-9)
