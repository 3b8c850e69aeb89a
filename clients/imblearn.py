"""A pipeline of imbalanced-learn over-samples the rare class before the additive model is fitted; text columns stay."""
# /// script
# dependencies = ["imbalanced-learn", "pandas"]
# ///

from imblearn.over_sampling import RandomOverSampler
from imblearn.pipeline import make_pipeline

from clients.estimators import frame
from tanager import AdditiveClassifier

X, y = frame()
rare = (y == "well") | (X.index % 5 == 0)
X, y = X[rare], y[rare]
clf = make_pipeline(RandomOverSampler(random_state=0), AdditiveClassifier(trees=False)).fit(X, y)
expected = AdditiveClassifier(trees=False).fit(*RandomOverSampler(random_state=0).fit_resample(X, y))
assert clf.predict_proba(X).tobytes() == expected.predict_proba(X).tobytes()
