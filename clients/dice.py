"""Counterfactuals by DiCE (random search) for a model with a text column: each has the class that was asked for."""
# /// script
# dependencies = ["dice-ml", "pandas"]
# ///

import dice_ml

from clients.estimators import frame
from tanager import AdditiveClassifier

X, y = frame()
X, y = X.dropna(), (y == "ill").astype(int)[X.notna().all(axis=1)]
clf = AdditiveClassifier(trees=False).fit(X, y)
data = dice_ml.Data(dataframe=X.assign(ill=y), continuous_features=["size", "weight"], outcome_name="ill")
explainer = dice_ml.Dice(data, dice_ml.Model(model=clf, backend="sklearn"), method="random")
row = X[clf.predict(X) == 1][:1]
found = explainer.generate_counterfactuals(row, total_CFs=3, desired_class=0, random_seed=0, verbose=False)
changed = found.cf_examples_list[0].final_cfs_df
assert len(changed) == 3
assert (clf.predict(changed[X.columns].astype(X.dtypes.to_dict())) == 0).all()
