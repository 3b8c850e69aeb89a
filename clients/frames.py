"""pandas, polars and pyarrow tables of the same cells give the same probabilities; the answer is a NumPy array."""
# /// script
# dependencies = ["pandas", "polars"]
# ///

import polars as pl

from clients.estimators import arrow_table
from tanager import AdditiveClassifier

X, y = arrow_table()
expected = AdditiveClassifier().fit(X, y).predict_proba(X)
for table in (X.to_pandas(), pl.from_arrow(X), X.to_pandas().convert_dtypes(dtype_backend="pyarrow")):
    assert AdditiveClassifier().fit(table, y).predict_proba(table).tobytes() == expected.tobytes()
