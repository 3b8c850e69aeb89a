"""Classifiers for tables on a Dask cluster: the same models as in memory, learnt where the rows are."""

try:
    import dask.dataframe as _dataframe  # noqa: F401
    import distributed as _distributed  # noqa: F401
except ImportError as error:
    raise ImportError("tanager.dask needs dask[dataframe] and distributed: pip install 'tanager[dask]'") from error

from tanager.dask.classifiers import AdditiveClassifier, BayesianNetworkClassifier, NaiveBayesClassifier, TANClassifier

__all__ = ["AdditiveClassifier", "BayesianNetworkClassifier", "NaiveBayesClassifier", "TANClassifier"]
