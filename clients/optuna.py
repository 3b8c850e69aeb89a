"""A study of Optuna chooses a number of parents and a discretizer by the cross-validated log-loss."""
# /// script
# dependencies = ["optuna", "pandas"]
# ///

import optuna
from sklearn.model_selection import cross_val_score

from clients.estimators import frame
from tanager import BayesianNetworkClassifier

X, y = frame()
optuna.logging.set_verbosity(optuna.logging.ERROR)


def score(options: dict[str, object]) -> float:
    clf = BayesianNetworkClassifier("kdb", parameters="frequency").set_params(**options)
    return float(cross_val_score(clf, X, y, cv=3, scoring="neg_log_loss").mean())


def objective(trial: optuna.Trial) -> float:
    parents = trial.suggest_int("structure__k", 0, 2)
    return score(
        {"structure__k": parents, "discretizer": trial.suggest_categorical("discretizer", ["mdlp", "quantile"])}
    )


study = optuna.create_study(direction="maximize", sampler=optuna.samplers.TPESampler(seed=0))
study.optimize(objective, n_trials=8)
assert study.best_value == score(study.best_params) == max(trial.value for trial in study.trials)
