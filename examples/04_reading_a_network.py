"""
Reading a network
=================

A Bayesian network classifier is a Bayesian network. Its tables can be read, and it answers queries and draws rows.
"""

import matplotlib.pyplot as plt
import pandas as pd
from sklearn.datasets import load_iris

from tanager import TANClassifier
from tanager.plots import plot_table

iris = load_iris(as_frame=True)
X = iris.data[["sepal length (cm)", "petal length (cm)", "petal width (cm)"]]
X.columns = ["sepal length", "petal length", "petal width"]
species = iris.target.map(dict(enumerate(iris.target_names))).rename("species")
network = TANClassifier(criterion="ll", parameters="frequency", root="petal length").fit(X, species).network_

print("Edges:", *(f"{parent} -> {child}" for parent, child in network.edges), sep="\n  ")

# %%
# A query gives P(any nodes | any others). A number is put into its bin.

print("P(species | petal length 4.9, sepal length 6)")
answer = network.query("species", {"petal length": 4.9, "sepal length": 6.0})
print("  ", {state: round(p, 3) for state, p in answer.items()})
print("P(petal width | virginica)")
print("  ", {state: round(p, 3) for state, p in network.query("petal width", {"species": "virginica"}).items()})

# %%
# The log probability of the observed cells of a row. A low value marks an unusual row.

flowers = pd.DataFrame({"petal length": [1.4, 1.4], "petal width": [0.2, 2.0]})
print(f"log P of a usual and an unusual flower: {network.log_likelihood(flowers).round(2)}")

# %%
# Rows drawn from the network, as states.

print(pd.DataFrame(network.sample(3, random_state=0)))

# %%
# The table of a node has a row for each configuration of its parents and a column for each of its states.

plot_table(network.table("petal width"))
plt.show()
