"""
Reading effects
===============

The additive model is a sum: a curve for each number, a value for each category, and a table for each chosen pair of
attributes. So the whole model can be drawn.
"""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

from tanager import AdditiveClassifier, explain
from tanager.plots import effects

# %%
# Simulated rows: the risk rises with age, is lowest at a medium dose, and drug B helps people under 50 only.

generator = np.random.default_rng(0)
n_rows = 2_000
X = pd.DataFrame(
    {
        "age": generator.integers(20, 90, n_rows),
        "dose": generator.uniform(0, 10, n_rows).round(1),
        "drug": generator.choice(["A", "B", "placebo"], n_rows),
        "shoe size": generator.integers(36, 47, n_rows),
    }
)
log_odds = (X["age"] - 55) / 12 + (X["dose"] - 5) ** 2 / 8 - 1.5 - 2.5 * ((X["drug"] == "B") & (X["age"] < 50))
y = pd.Series(np.where(generator.random(n_rows) < 1 / (1 + np.exp(-log_odds)), "ill", "well"), name="outcome")

clf = AdditiveClassifier().fit(X, y)
print(explain(clf))

# %%
# The model has the pair of drug and age. Shoe size is not informative.

effects(clf.model_)
plt.show()
