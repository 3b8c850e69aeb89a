"""An explanation as a value: rows, dictionaries, frames and text say the same."""

from __future__ import annotations

import json
import subprocess
import sys

import numpy as np
import pytest
from sklearn.datasets import load_iris

from tanager import OptionError, TANClassifier, explain

IRIS = load_iris(as_frame=True)


@pytest.fixture(scope="module")
def explanation():
    return explain(TANClassifier().fit(IRIS.data, IRIS.target), IRIS.data.iloc[::10])


def test_rows_are_those_of_the_arrays(explanation):
    assert len(explanation) == 15
    for k, row in enumerate(explanation):
        assert row.row == k
        assert [each.log_odds for each in row.contributions] == explanation.contributions[k].tolist()
        assert (row.base_rate, row.baseline) == (explanation.base_rate[k], explanation.baseline[k])
        assert row.favoured == explanation.classes[explanation.favoured[k]]
        assert sum(row.probabilities.values()) == pytest.approx(1.0)
        sizes = [abs(each.log_odds) for each in row.ranked]
        assert sizes == sorted(sizes, reverse=True)
    assert explanation[-1] == explanation[14]
    with pytest.raises(IndexError):
        explanation[15]


def test_to_dict_survives_json_and_adds_up(explanation):
    document = json.loads(json.dumps(explanation.to_dict()))
    assert len(document["rows"]) == 15
    for row in document["rows"]:
        total = row["base_rate"] + row["baseline"] + sum(each["log_odds"] for each in row["contributions"])
        assert total == pytest.approx(row["log_odds"], abs=1e-10)


@pytest.mark.parametrize("library", ["pandas", "polars", "pyarrow"])
def test_the_lines_of_a_row_in_a_frame_add_up_to_its_log_odds(explanation, library):
    frame = explanation.to_frame(library)
    assert type(frame).__module__.split(".")[0] == library
    rows, added = np.asarray(frame["row"]), np.asarray(frame["log_odds"])
    assert len(rows) == 15 * 6
    np.testing.assert_allclose(np.bincount(rows, added), explanation.log_odds, atol=1e-10)


def test_an_unknown_frame_library_is_refused(explanation):
    with pytest.raises(OptionError, match=r"library='panda' is not known; expected one of 'pandas'"):
        explanation.to_frame("panda")


def test_a_frame_library_that_is_not_installed_is_named():
    script = (
        "import sys; sys.modules['polars'] = None; from tanager import NaiveBayesClassifier, explain; "
        "explain(NaiveBayesClassifier().fit([['a'], ['b']], [0, 1])).to_frame('polars')"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert "OptionError: polars is not installed" in done.stderr


def test_the_function_and_the_folder_of_the_same_name_do_not_get_in_each_others_way():
    script = (
        "import sys, tanager.explain.explanation; from tanager import explain; import tanager; "
        "from tanager.explain import Explanation, counterfactuals; "
        "assert explain is tanager.explain and callable(explain)"
    )
    subprocess.run([sys.executable, "-c", script], check=True)
