"""fit_additive: coded rows -> an additive model. For now by the learners of effects and of trees."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import cast

from tanager.additive.model import AdditiveModel
from tanager.additive.trace import AdditiveTrace
from tanager.table.rows import Rows
from tanager.table.schema import ColumnSchema


@dataclass(frozen=True)
class AdditiveOptions:
    """What may be in the model.

    pairs      "auto" (folds decide), a number, or the pairs by attribute number
    forbidden  pairs that are never taken, by attribute number
    trees      whether boosted trees are tried
    monotone   for each attribute 1 or -1 where the log odds of the second class may only rise or fall along it, else
               0; () where nothing is constrained
    """

    pairs: str | int | tuple[tuple[int, int], ...] = "auto"
    forbidden: tuple[tuple[int, int], ...] = ()
    trees: bool = True
    monotone: tuple[int, ...] = ()


def fit_additive(
    rows: Rows,
    columns: tuple[ColumnSchema, ...],
    options: AdditiveOptions,
    *,
    random_state: int = 0,
    report: Callable[[str], None] | None = None,
) -> tuple[AdditiveModel, AdditiveTrace]:
    """The model of these rows, and what was chosen.

    rows          at both granularities (`table.granularity`)
    columns       the attributes in the order of the rows, and then the class
    random_state  seed of everything drawn at random
    report        called with a line of text now and then, for progress; None for nobody
    """
    from tanager.counts.count_store import CountStore
    from tanager.counts.engine import choose_engine
    from tanager.parameters.conditional.learner import Conditional
    from tanager.parameters.effects.fit import EffectsFit
    from tanager.parameters.effects.trace import EffectsTrace
    from tanager.parameters.protocol import ParameterTask
    from tanager.structure.protocol import StructureTask
    from tanager.threads import one_blas_thread

    names = tuple(column.name for column in columns)
    counts = CountStore.coarse(rows, choose_engine("auto", None), names)
    structure = _pairwise(options, len(columns) - 1).learn(
        StructureTask(counts, None, names, random_state, schema=columns)
    )
    task = ParameterTask(structure.dag, counts, schema=columns, pairs=structure.pairs, rows=rows, report=report)
    with one_blas_thread():
        learnt = EffectsFit(task, Conditional().fit_options()).learn()
    found = cast(EffectsTrace, learnt.trace)
    trace = AdditiveTrace(
        pairs=found.pairs,
        tree_share=found.tree_share,
        tree_rounds=found.tree_rounds,
        tree_forests=found.tree_forests,
        zero_attributes=found.zero_attributes,
        monotone=found.monotone,
        validation_losses=tuple(
            (f"regularisation strength {', '.join(f'{each:g}' for each in strengths)}", float(loss))
            for strengths, loss in found.held_out
        ),
        change_of_p=found.p_bound,
    )
    return cast(AdditiveModel, learnt.network), trace


def _pairwise(options: AdditiveOptions, n_attributes: int):  # type: ignore[no-untyped-def]
    from tanager.structure.pairwise import Pairwise
    from tanager.table.granularity import MAX_PAIRED

    pairs, monotone = options.pairs, list(options.monotone) or None
    chosen = not isinstance(pairs, str | int) or options.forbidden
    order = None if options.trees and not chosen and monotone is None else 2
    if isinstance(pairs, str):
        return Pairwise(order=order, forbidden_pairs=options.forbidden, monotonic_cst=monotone)
    if isinstance(pairs, int):
        multiple = pairs / max(1, min(n_attributes, MAX_PAIRED))
        return Pairwise(multiple, order=order, forbidden_pairs=options.forbidden, monotonic_cst=monotone)
    return Pairwise(order=order, pairs=pairs, forbidden_pairs=options.forbidden, monotonic_cst=monotone)
