"""Every public estimator comes back from `mlflow.sklearn.log_model` bit by bit, as skops (the default) and pickled."""
# /// script
# dependencies = ["mlflow", "skops", "pandas"]
# ///

import logging
import tempfile
from pathlib import Path

import mlflow
from sklearn.pipeline import make_pipeline

from clients.estimators import ESTIMATORS, check_same, fitted, frame
from tanager import NaiveBayesClassifier
from tanager.files import TRUSTED_TYPES

logging.getLogger("mlflow").setLevel(logging.ERROR)


def check_saving() -> None:
    X, _ = frame()
    for name in ESTIMATORS:
        expected = fitted(name)
        for options in ({"skops_trusted_types": list(TRUSTED_TYPES)}, {"serialization_format": "cloudpickle"}):
            with mlflow.start_run():
                saved = mlflow.sklearn.log_model(expected, name="model", **options)
            check_same(mlflow.sklearn.load_model(saved.model_uri), expected)
        assert mlflow.pyfunc.load_model(saved.model_uri).predict(X).tolist() == expected.predict(X).tolist()


def check_autolog() -> None:
    """A fit alone is not recorded; as a step of a pipeline it is, with its options and the score on training rows."""
    X, y = frame()
    mlflow.sklearn.autolog()
    before = len(mlflow.search_runs(output_format="list"))
    NaiveBayesClassifier().fit(X, y)
    assert len(mlflow.search_runs(output_format="list")) == before
    pipeline = make_pipeline(NaiveBayesClassifier()).fit(X, y)
    run = mlflow.search_runs(output_format="list", max_results=1)[0]
    assert run.data.params["naivebayesclassifier__parameters"] == "frequency"
    assert run.data.metrics["training_score"] == pipeline.score(X, y)


with tempfile.TemporaryDirectory() as folder:
    mlflow.set_tracking_uri(f"sqlite:///{folder}/runs.db")
    mlflow.create_experiment("clients", artifact_location=Path(folder, "artifacts").as_uri())
    mlflow.set_experiment("clients")
    check_saving()
    check_autolog()
print(f"{len(ESTIMATORS)} estimators")
