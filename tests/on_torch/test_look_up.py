"""The log joint on a device is that of the host."""

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from oracle import random_batch  # noqa: E402
from tanager.network.log_joint import LogJoint  # noqa: E402
from tanager.structure.dag import Dag  # noqa: E402
from tanager.torch import rows as torch_rows  # noqa: E402
from tanager.torch.row_pass import look_up_on_device  # noqa: E402

# The same laws hold on a GPU where there is one.
DEVICE = "cuda" if torch.cuda.is_available() else "cpu"


@pytest.mark.parametrize("normalized", [False, True])
@pytest.mark.parametrize("n_bytes", [1, 1 << 26])
@pytest.mark.parametrize("widest", [4, 300])
def test_log_joints_are_those_of_the_host(monkeypatch, normalized, n_bytes, widest):
    monkeypatch.setitem(torch_rows.WORKING_BYTES, DEVICE, n_bytes)
    monkeypatch.setattr(torch_rows, "SMALLEST_WORKING_BYTES", 1)
    n_states = (3, 2, widest, 3)
    dag = Dag.augmented_naive_bayes([(), (0,), (0, 1)])
    rng = np.random.default_rng(1)
    tables = [rng.dirichlet(np.ones(family.shape(n_states)[1]), family.shape(n_states)[0]) for family in dag.families]
    joint = LogJoint.of(dag, tables, n_states)
    codes = random_batch(2, 60, n_states).codes
    np.testing.assert_allclose(
        look_up_on_device(joint, codes, DEVICE, normalized), joint(codes, normalized), rtol=1e-12, atol=1e-12
    )
