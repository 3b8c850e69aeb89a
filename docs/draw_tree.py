"""Draw the README's picture: the tree learnt by the demo. Run from the project's root with the extra `plots`."""

import matplotlib

matplotlib.use("Agg")
from sklearn.datasets import load_breast_cancer

from tanager import TANClassifier
from tanager.plots import plot_network

table = load_breast_cancer(as_frame=True)
diagnosis = table.target.map(dict(enumerate(table.target_names))).rename("diagnosis")
ax = plot_network(TANClassifier().fit(table.data, diagnosis).network_)
ax.figure.savefig("docs/images/tree.png", dpi=110)
