"""Networks with names and states that file formats have no place for."""

import numpy as np

from tanager.network.network import Network
from tanager.structure.dag import Dag
from tanager.table.schema import ColumnSchema

ODD = ["a b", 'say "hi"', "it's", "😀 é", "", "x" * 200, "1st", "_0x20_", "_0x", "a,b", "{[(|)]}", "node", "TYPE"]
ODD += ["table", " two  blanks ", "line\nend\ttab", "back\\slash", "<&>", "5;", "// no comment", "% neither", "\x00"]


def chain(names: list[str], states: tuple, seed: int = 0) -> Network:
    generator = np.random.default_rng(seed)
    n = len(states)
    tables = [generator.dirichlet(np.ones(n), size=n if node else 1) for node in range(len(names))]
    columns = tuple(ColumnSchema(name, "categorical", states) for name in names)
    return Network(columns, Dag(tuple((node - 1,) if node else () for node in range(len(names)))), tuple(tables))
