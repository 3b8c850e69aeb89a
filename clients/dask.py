"""A Dask data frame of three partitions gives the tables of the same rows in memory, and lazy predictions."""
# /// script
# dependencies = ["dask[dataframe]", "distributed", "pandas"]
# ///

import dask.dataframe as dd
import numpy as np
from distributed import Client

import tanager.dask
from clients.estimators import frame

X, y = frame()
with Client(n_workers=2, threads_per_worker=1, processes=False, dashboard_address=":0") as client:
    for name, options in (("TANClassifier", {"parameters": "frequency"}), ("AdditiveClassifier", {"trees": False})):
        table = dd.from_pandas(X.assign(y=y), npartitions=3)
        found = getattr(tanager.dask, name)(client, **options).fit(table, "y")
        expected = getattr(tanager, name)(**options).fit(X, y).predict_proba(X)
        np.testing.assert_allclose(found.predict_proba(table).compute(), expected, rtol=1e-6)
