"""tune refuses what it cannot use, in words."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from tanager import AdditiveClassifier, DataError, Network, OptionError, tune
from tanager.structure.dag import Dag
from tanager.table.schema import ColumnSchema


def impossible_rows() -> tuple[Network, pd.DataFrame]:
    columns = tuple(ColumnSchema(name, "categorical", ("no", "yes")) for name in ("rain", "wet", "slip"))
    tables = (np.array([[0.6, 0.4]]), np.array([[1.0, 0.0], [0.2, 0.8]]), np.array([[0.9, 0.1], [0.4, 0.6]]))
    rows = pd.DataFrame(
        {"rain": ["no", "yes"] * 10, "wet": ["no", "yes"] * 10, "slip": ["no", "yes", "no"] * 6 + ["no"] * 2}
    )
    rows.loc[4, "wet"] = "yes"
    return Network(columns, Dag(((), (0,), (1,))), tables), rows


def test_an_impossible_row_is_named_or_left_out():
    network, rows = impossible_rows()
    with pytest.raises(DataError, match=r"1 of 20 rows have probability zero .* rain='no' contradicts wet='yes'"):
        tune(network, rows, "slip")
    result = tune(network, rows, "slip", strength=2.0, impossible="skip")
    same = tune(network, rows.drop(index=4), "slip", strength=2.0)
    assert (result.n_skipped, result.n_rows) == (1, 19)
    assert result.after == same.after
    assert "(impossible ones left out: 1)" in str(result)


@pytest.mark.parametrize(
    ("change", "options", "error", "words"),
    [
        ({}, {"query": "slipp"}, OptionError, "the network has no node 'slipp'; the nearest are 'slip'"),
        ({}, {"query": []}, OptionError, "query names no node"),
        ({}, {"query": ["slip", "slip"]}, OptionError, "query names a node twice"),
        ({"weet": "no"}, {}, DataError, "a column 'weet' that is no node of the network; the nearest are 'wet'"),
        ({"wet": "damp"}, {}, DataError, "column 'wet' holds 'damp' in row 0, which is no state .* 'no', 'yes'"),
        ({"wet": 3.5}, {}, DataError, "column 'wet' holds '3.5' in row 0, which is no state"),
        (
            {"slip": None},
            {},
            DataError,
            "no row can be used to tune the network: 'slip' is missing in all 20 rows of weight",
        ),
        ({}, {"sample_weight": np.zeros(20)}, DataError, "every row has weight zero, so there is nothing to tune"),
        ({}, {"cv": 1}, OptionError, "cv=1 of tune must be at least 2"),
        ({}, {"cv": 21}, DataError, "20 rows can be used, fewer than the 21 folds"),
        ({}, {"strength": 0.0}, OptionError, "strength=0.0 of tune must be a number above zero"),
        ({}, {"strength": "strong"}, OptionError, "strength='strong' is not known; expected one of 'auto'"),
        ({}, {"parameters": "cll"}, OptionError, "parameters='cll' is not known; expected one of 'conditional'"),
        ({}, {"impossible": "nan"}, OptionError, "impossible='nan' is not known"),
    ],
)
def test_bad_input_is_refused_in_words(change, options, error, words):
    network, rows = impossible_rows()
    rows.loc[4, "wet"] = "no"
    with pytest.raises(error, match=words):
        tune(network, rows.assign(**change), **{"query": "slip", **options})


def test_a_query_that_is_no_column_is_refused():
    network, rows = impossible_rows()
    with pytest.raises(DataError, match="the table has no column 'slip' to tune the network for; its columns are"):
        tune(network, rows.drop(columns="slip"), "slip")


def test_a_model_that_is_no_network_is_refused():
    _, rows = impossible_rows()
    clf = AdditiveClassifier(trees=False).fit(rows.drop(columns="slip"), rows["slip"])
    for model in (clf, clf.model_):
        with pytest.raises(OptionError, match=f"this is a {type(model).__name__}"):
            tune(model, rows, "slip")
