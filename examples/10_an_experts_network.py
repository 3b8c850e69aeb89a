"""
An expert's network, tuned
==========================

An expert draws a network and guesses its probabilities. ``tune`` keeps the structure and changes the probabilities, as
far as the data support it, so that the network answers a query better. The result lists the tables that changed.

The table is scikit-learn's breast cancer table, in words. The network is made up for this example.
"""

import tempfile
from pathlib import Path

import matplotlib.pyplot as plt
import pandas as pd
from sklearn.datasets import load_breast_cancer

from tanager import read_network, tune
from tanager.plots import plot_network

GUESSED = """
network expert {}
variable diagnosis { type discrete [2] { benign, malignant }; }
variable size { type discrete [3] { small, medium, large }; }
variable texture { type discrete [2] { smooth, coarse }; }
variable outline { type discrete [2] { round, dented }; }
probability (diagnosis) { table 0.6, 0.4; }
probability (size | diagnosis) { (benign) 0.4, 0.4, 0.2; (malignant) 0.2, 0.4, 0.4; }
probability (texture | diagnosis) { (benign) 0.6, 0.4; (malignant) 0.4, 0.6; }
probability (outline | size, diagnosis) {
  (small, benign) 0.9, 0.1; (small, malignant) 0.6, 0.4;
  (medium, benign) 0.8, 0.2; (medium, malignant) 0.5, 0.5;
  (large, benign) 0.7, 0.3; (large, malignant) 0.4, 0.6;
}
"""
with tempfile.TemporaryDirectory() as folder:
    path = Path(folder, "expert.bif")
    path.write_text(GUESSED)
    expert = read_network(path)
print(expert.table("outline"))

# %%
# The measurements, put into the expert's words.

measured = load_breast_cancer(as_frame=True)
rows = pd.DataFrame(
    {
        "diagnosis": measured.target.map({0: "malignant", 1: "benign"}),
        "size": pd.cut(measured.data["mean radius"], [0, 12, 16, 99], labels=["small", "medium", "large"]).astype(str),
        "texture": pd.cut(measured.data["mean texture"], [0, 19, 99], labels=["smooth", "coarse"]).astype(str),
        "outline": pd.cut(measured.data["mean concavity"], [-1, 0.08, 9], labels=["round", "dented"]).astype(str),
    }
)
print(rows.head(3))

# %%
# Tuned for one query: the diagnosis, given the other cells. The figures are for held-out rows.

result = tune(expert, rows, query="diagnosis")
print(result)

# %%
# The answers of the two networks.

seen = {"size": "medium", "outline": "dented"}
for name, network in {"guessed": expert, "tuned": result.network}.items():
    print(name, {state: round(p, 3) for state, p in network.query("diagnosis", seen).items()})

# %%
# The tuned network.

plot_network(result.network)
plt.show()
