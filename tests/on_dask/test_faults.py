"""What may go wrong on a cluster: lost workers change nothing, bad partitions and closed clients are named."""

# ruff: noqa: E402 - what needs Dask comes after the skip
import os
import signal
from uuid import uuid4

import numpy as np
import pytest

distributed = pytest.importorskip("distributed", reason="needs Dask: pip install 'tanager[dask]'")


import tanager
import tanager.dask
from tanager.dask.cluster import Cluster
from tanager.errors import DataError, DataTypeError, DataWarning, OptionError
from tanager.parameters import Conditional


@pytest.fixture
def fit(client, of_frames):
    """Fit to given partitions."""
    return lambda *frames: tanager.dask.NaiveBayesClassifier(client).fit(of_frames(list(frames)), "outcome")


def test_a_worker_killed_while_counting_or_descending_changes_nothing(monkeypatch, cut, table):
    parameters = Conditional(strength=1.0)
    expected = tanager.TANClassifier(parameters=parameters).fit(table.drop(columns="outcome"), table["outcome"])
    moments = {"count": 1, "pass": 3}
    killed = []
    original = Cluster.map

    def map_and_kill(self, name, function, *parts):
        futures = original(self, name, function, *parts)
        moments[name] = moments.get(name, 0) - 1
        if moments[name] == 0:
            first = parts[0][0] if name == "pass" else parts[0][0][0]
            holder = next(iter(cluster.scheduler.tasks[first.key].who_has))
            os.kill(cluster.workers[holder.name].pid, signal.SIGKILL)
            killed.append(name)
        return futures

    monkeypatch.setattr(Cluster, "map", map_and_kill)
    with (
        distributed.LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=":0") as cluster,
        distributed.Client(cluster) as client,
    ):
        rows = cut(table, 150, 300, 450)
        found = tanager.dask.TANClassifier(client, parameters=parameters).fit(rows, "outcome")
    assert killed == ["count", "pass"]
    assert found.network_.parents == expected.network_.parents
    for own, other in zip(found.network_.tables, expected.network_.tables, strict=True):
        np.testing.assert_allclose(own, other, rtol=0, atol=1e-6)


@pytest.mark.parametrize(
    ("name", "change", "kinds"),
    [
        ("legs", lambda column: column.astype(str), ("numbers", "text")),
        ("shape", lambda column: column == "flat", ("text", "booleans")),
    ],
)
def test_columns_of_different_types_in_two_partitions_are_named(fit, name, change, kinds, table):
    other = table.iloc[400:]
    other = other.assign(**{name: change(other[name])})
    with pytest.raises(DataError, match=f"column {name!r} holds {kinds[1]} in one part .* and {kinds[0]} in another"):
        fit(table.iloc[:200], table.iloc[200:400], other)


def test_a_partition_with_other_columns_is_named(fit, table):
    with pytest.raises(DataError, match=r"partition 1: there is no column 'legs'"):
        fit(table.iloc[:300], table.iloc[300:].drop(columns="legs"))
    with pytest.raises(DataError, match=r"partition 1: there is another column 'tail'"):
        fit(table.iloc[:300], table.iloc[300:].assign(tail=1))


def test_a_value_that_no_table_may_hold_is_named_with_its_partition(fit, table):
    with pytest.raises(DataError, match=r"partition 1: column 'size' contains infinity"):
        fit(table.iloc[:300], table.iloc[300:].assign(size=np.inf))


def test_a_table_that_changes_between_the_passes_is_noticed(client, cut, table, tmp_path):
    def change(frame):
        (tmp_path / uuid4().hex).touch()  # a worker may have a copy of anything in memory
        return frame.assign(colour=f"colour {len(list(tmp_path.iterdir()))}")

    rows = cut(table, 300).map_partitions(change, meta=table.iloc[:0])
    with pytest.raises(DataError, match=r"partition . is not what it was"):
        tanager.dask.TANClassifier(client, parameters="frequency").fit(rows, "outcome")


def test_class_columns_that_cannot_be_used_are_refused(client, fit, cut, table):
    rows = cut(table, 300)
    model = tanager.dask.NaiveBayesClassifier(client)
    with pytest.raises(DataError, match="one class, 'low', in 600 rows"):
        fit(table.assign(outcome="low"))
    with pytest.raises(DataError, match="'low' in one partition and 0 in another"):
        fit(table.iloc[:300].sort_values("outcome"), table.iloc[300:].assign(outcome=0))
    with pytest.raises(DataError, match="nearest first, are 'outcome'"):
        model.fit(rows, "outcomes")
    with pytest.raises(DataError, match="y is a Series; expected the name of the class column"):
        model.fit(rows, rows["outcome"])
    with pytest.raises(DataTypeError, match="X is a DataFrame; expected a Dask data frame"):
        model.fit(table, "outcome")


def test_row_weights_that_cannot_be_used_are_refused(client, cut, table):
    rows = cut(table.assign(times=1.0), 300)
    model = tanager.dask.NaiveBayesClassifier(client)
    with pytest.raises(
        DataError, match="no column 'time' with the rows' weights; its columns, nearest first, are 'times'"
    ):
        model.fit(rows, "outcome", "time")
    with pytest.raises(DataError, match="sample_weight is a Series; expected the name of the column"):
        model.fit(rows, "outcome", rows["times"])
    with pytest.raises(DataError, match="no class in 0 rows"):
        model.fit(cut(table.assign(times=0), 300), "outcome", "times")
    with pytest.raises(ValueError, match="Negative values"):
        model.fit(cut(table.assign(times=-1.0), 300), "outcome", "times")


def test_weights_whose_mean_is_far_from_one_are_warned_of(client, cut, table):
    with pytest.warns(DataWarning, match="mean weight of a row is 20.*these 600 rows as 12,000") as found:
        tanager.dask.NaiveBayesClassifier(client).fit(cut(table.assign(times=20.0), 300), "outcome", "times")
    assert len(found) == 1


def test_a_closed_client_is_one_clear_error(cut, table):
    with distributed.LocalCluster(n_workers=1, processes=False, dashboard_address=":0") as cluster:
        client = distributed.Client(cluster)
        client.close()
        with pytest.raises(OptionError, match="client is closed"):
            tanager.dask.TANClassifier(client).fit(cut(table, 300), "outcome")


def test_a_client_closed_in_the_middle_is_one_clear_error(monkeypatch, cut, table):
    original = Cluster.map

    def map_and_close(self, name, function, *parts):
        futures = original(self, name, function, *parts)
        if name == "count":
            self._client.close()
        return futures

    monkeypatch.setattr(Cluster, "map", map_and_close)
    with (
        distributed.LocalCluster(n_workers=1, processes=False, dashboard_address=":0") as cluster,
        distributed.Client(cluster) as client,
        pytest.raises(OptionError, match="client"),
    ):
        tanager.dask.TANClassifier(client).fit(cut(table, 300), "outcome")


def test_without_a_client_the_hint_says_how_to_make_one(monkeypatch, cut, table):
    def none():
        raise ValueError("No clients found")

    monkeypatch.setattr("tanager.dask.cluster.default_client", none)
    with pytest.raises(OptionError, match="Client"):
        tanager.dask.TANClassifier().fit(cut(table, 300), "outcome")
