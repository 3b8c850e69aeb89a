"""How much memory a parameter learner takes for a structure, said before it is taken."""

from __future__ import annotations

from math import prod

from tanager.errors import MemoryLimitError
from tanager.memory import available_memory
from tanager.parameters.protocol import ParameterLearner, ParameterTask
from tanager.structure.protocol import NetworkKind


def needed_memory(learner: ParameterLearner, task: ParameterTask) -> int:
    """Bytes, about: those of a cell times the cells of all tables, or of all effects that may be tried."""
    kind: NetworkKind = "tables" if task.pairs is None else "effects"
    return learner.bytes_per_cell[kind] * sum(_table_sizes(task).values())


def check_memory(learner: ParameterLearner, task: ParameterTask) -> None:
    """Refuse tables that would not fit in the memory allowed, and name the largest."""
    needed, allowed = needed_memory(learner, task), min(task.counts.memory_limit, available_memory())
    if needed > allowed:
        sizes, names = _table_sizes(task), task.counts.names
        nodes = max(sizes, key=sizes.__getitem__)
        widest = max(nodes[:-1] or nodes, key=task.counts.n_states.__getitem__)
        raise MemoryLimitError(
            f"the fit would take about {needed / 2**30:.3g} GiB, more than the {allowed / 2**30:.3g} GiB allowed: the "
            f"table over {', '.join(repr(names[node]) for node in nodes)} alone has {sizes[nodes]:,} cells.",
            hint=f"drop {names[widest]!r}, which has {task.counts.n_states[widest]:,} states, or group its values.",
        )


def _table_sizes(task: ParameterTask) -> dict[tuple[int, ...], int]:
    """Cells of each table, by its nodes, the class last; of effects those of attributes and pairs, for each class."""
    n_states, target = task.counts.n_states, task.counts.n_attributes
    if task.pairs is None:
        families = [tuple(sorted(family.nodes)) for family in task.dag.families]
    else:
        families = [(*nodes, target) for nodes in (*((node,) for node in range(target)), *task.pairs.pairs)]
    return {nodes: prod(n_states[node] for node in nodes) for nodes in families}
