"""The classifiers of `tanager` for Dask data frames: fit on the workers, predict partition by partition."""

from __future__ import annotations

from typing import Any, ClassVar, Self, cast

import numpy as np
import pandas as pd
from distributed import Client
from sklearn.exceptions import NotFittedError

from tanager import classifiers
from tanager.classifiers.base import TableClassifier
from tanager.dask.fit import fit_partitions
from tanager.dask.partitions import read_source
from tanager.table.schema import Category


class DaskClassifier:
    """A classifier of `tanager` learnt from a Dask data frame, whose rows stay on the workers.

    The model is that of all rows in memory. Fitted attributes (`model_`, `classes_`, `encoder_`, `trace_`, ...) are
    those of the ordinary classifier, which `to_local` gives.

    Parameters
    ----------
    client : distributed.Client or None
        Where to work; None means the client made last.
    **options
        Those of the ordinary classifier. `engine`, where it is one of them, counts inside a worker, on one thread for
        each task.
    """

    ordinary: ClassVar[type[TableClassifier]]

    def __init__(self, client: Client | None = None, **options: Any) -> None:
        self.client = client
        self.options = options
        self.ordinary(**options)  # refuses an option that it does not have
        self._fitted: TableClassifier | None = None
        self._weight: str | None = None

    def fit(self, X: object, y: object, sample_weight: str | None = None) -> Self:
        """Learn from X, a Dask data frame or the path of Parquet files, and y, a Dask series or a column of X.

        `sample_weight` names a column of X: a row of weight w counts as w rows.

        X is computed once if all its columns are categories, twice if there are numbers to cut; its codes stay on the
        workers until fit returns. As in memory, the parameter learners "em" and "likelihood-gradient" learn from rows
        without a class too (X is then computed twice), the others leave them out with a warning.
        """
        local = self.ordinary(**self.options)
        fit_partitions(local, X, y, sample_weight, self.client)
        self._fitted, self._weight = local, sample_weight
        return self

    def predict(self, X: object) -> Any:
        """The most probable class of each row, a lazy Dask series with the index of X."""
        local, table = self.to_local(), self._attributes(X)
        like = pd.Series(local.classes_[:0], name=local.encoder_.schema.target.name, index=table._meta.index)
        return table.map_partitions(_predict, local, like, meta=like)

    def predict_proba(self, X: object) -> Any:
        """P(class | row), a lazy Dask array (n_rows, n_classes), in the order of `classes_`."""
        local, table = self.to_local(), self._attributes(X)
        like = pd.DataFrame(np.empty((0, len(local.classes_))), index=table._meta.index)
        return table.map_partitions(_predict_proba, local, like, meta=like).to_dask_array()

    def _attributes(self, X: object) -> Any:
        """The table without the columns of class and weights, which the one in `fit` may have had."""
        table = read_source(X)
        apart = (self.to_local().encoder_.schema.target.name, self._weight)
        return table.drop(columns=[name for name in apart if name in table.columns])

    def to_local(self) -> TableClassifier:
        """The ordinary classifier with what was learnt; it needs no cluster, and can be saved."""
        if self._fitted is None:
            raise NotFittedError(f"this {type(self).__name__} is not fitted yet; call fit first.")
        return self._fitted

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """The client, and the options of the ordinary classifier."""
        return {"client": self.client, **self.ordinary(**self.options).get_params(deep)}

    def set_params(self, **params: Any) -> Self:
        """Change options by name."""
        self.client = params.pop("client", self.client)
        self.options = self.ordinary(**self.options).set_params(**params).get_params(deep=False)
        return self

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_") or not name.endswith("_"):
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
        return getattr(self.to_local(), name)

    def __repr__(self) -> str:
        return f"tanager.dask.{self.ordinary(**self.options)!r}"


class AdditiveClassifier(DaskClassifier):
    """`tanager.AdditiveClassifier` learnt from a Dask data frame, whose rows stay on the workers.

    The model is that of all rows in memory. Fitted attributes (`model_`, `effects_`, `tree_share_`, ...) are those of
    the ordinary classifier, which `to_local` gives.

    Parameters
    ----------
    client : distributed.Client or None
        Where to work; None means the client made last.
    **options
        Those of the ordinary classifier.
    """

    ordinary = classifiers.AdditiveClassifier

    def query(self, evidence: dict[str, Category] | None = None) -> dict[object, float]:
        """P(class | evidence), as the ordinary classifier gives it."""
        return cast(classifiers.AdditiveClassifier, self.to_local()).query(evidence)


class BayesianNetworkClassifier(DaskClassifier):
    """`tanager.BayesianNetworkClassifier` learnt from a Dask data frame, whose rows stay on the workers.

    The model is that of all rows in memory: counts are the same integers, whatever the partitions. Fitted attributes
    (`network_`, `classes_`, `encoder_`, `trace_`, ...) are those of the ordinary classifier, which `to_local` gives.

    Parameters
    ----------
    client : distributed.Client or None
        Where to work; None means the client made last.
    **options
        Those of the ordinary classifier. `engine` counts inside a worker, on one thread for each task.
    """

    ordinary: ClassVar[type[TableClassifier]] = classifiers.BayesianNetworkClassifier


class TANClassifier(BayesianNetworkClassifier):
    """`tanager.TANClassifier` learnt from a Dask data frame; see `tanager.dask.BayesianNetworkClassifier`."""

    ordinary = classifiers.TANClassifier


class NaiveBayesClassifier(BayesianNetworkClassifier):
    """`tanager.NaiveBayesClassifier` learnt from a Dask data frame; see `tanager.dask.BayesianNetworkClassifier`."""

    ordinary = classifiers.NaiveBayesClassifier


def _predict(frame: Any, model: TableClassifier, like: Any) -> Any:
    labels = model.predict(frame) if len(frame) else model.classes_[:0]
    return pd.Series(labels, index=frame.index, name=like.name)


def _predict_proba(frame: Any, model: TableClassifier, like: Any) -> Any:
    shares = model.predict_proba(frame) if len(frame) else np.empty((0, like.shape[1]))
    return pd.DataFrame(shares, index=frame.index)
