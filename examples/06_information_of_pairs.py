"""
Information of attributes and pairs
===================================

I(X;Y|C) is the information between two attributes within a class, I(X;Y) the information without the class. Their
difference, the interaction, is positive where the pair is more informative of the class together than one by one, and
negative where both carry the same information. In nats.
"""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from sklearn.datasets import load_wine

from tanager import TANClassifier
from tanager.classifiers import information

X, y = load_wine(return_X_y=True, as_frame=True)
found = information(X, y)

print("What single attributes tell of the class:")
print(pd.Series(found.target, index=found.names).sort_values(ascending=False).head(5).round(3).to_string(), "\n")

pairs = pd.DataFrame(found.pairs())
print("Pairs that tell more together:")
print(pairs.head(3).round(3).to_string(index=False), "\n")
print("Pairs that tell the same twice:")
print(pairs.tail(3).round(3).to_string(index=False))

# %%
# For the score ``ll`` the gain of an edge is N I(X;Y|C), so TAN chooses the tree with the largest sum of I(X;Y|C).

first = TANClassifier(criterion="ll", parameters="frequency").fit(X, y).trace_.structure[0]
parent, child = first.action.removeprefix("add ").split(" -> ")
weight = len(X) * found.conditional[found.names.index(parent), found.names.index(child)]
print(f"{first.action}: gain {first.gain:.3f}, N I(X;Y|C) = {weight:.3f}")
assert np.isclose(first.gain, weight)

# %%
# All interactions.

interaction = found.interaction
largest = np.abs(interaction).max()
fig, ax = plt.subplots(figsize=(7, 6), layout="constrained")
image = ax.imshow(interaction, cmap="RdBu_r", vmin=-largest, vmax=largest)
ax.set_xticks(range(len(found.names)), found.names, rotation=90)
ax.set_yticks(range(len(found.names)), found.names)
fig.colorbar(image, label="interaction with the class, nats")
plt.show()
