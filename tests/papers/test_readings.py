"""The papers read in other ways: a reading changes what it says it changes."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from experiments.papers.fcll_2011 import fcll_2011
from experiments.reading_fcll import tree_errors
from experiments.studies.data_sets import DataSet


class Columns(DataSet):
    """Two columns that tell a class, each now and then."""

    def read(self):
        random = np.random.default_rng(0)
        y = np.array(["yes", "no"] * 30)
        told = random.random((2, 60)) < 0.6
        return pa.table({name: np.where(known, y, "unknown") for name, known in zip("uv", told, strict=True)}), y


def test_a_tree_over_two_attributes_errs_alike_whichever_rows_it_is_learnt_from():
    data_set = Columns("vote", 60, groups=("friedman25",))
    (study,) = fcll_2011([data_set], slow=False)
    of_training, of_all = tree_errors(study, data_set, 0, [("fcll", False), ("fcll", True)])
    assert of_all == of_training
    assert 0 < of_all < 0.5
