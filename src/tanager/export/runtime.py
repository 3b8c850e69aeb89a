"""P(class | row) from the document of a model (`tanager.export.document`); needs the standard library alone."""

from __future__ import annotations

import datetime
import numbers
from bisect import bisect_right
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from itertools import product
from math import exp, fsum, inf, isnan, log, nan, prod
from typing import Any

REFUSED = -1
TYPES = {
    "numbers": numbers.Real,
    "booleans": bool,
    "text": str,
    "dates": datetime.date,
    "times": datetime.date,
    "times with a zone": datetime.datetime,
    "durations": datetime.timedelta,
}
MOMENTS = {"dates": False, "times": False, "times with a zone": True}
"""Whether a moment has a zone."""
EPOCH = datetime.datetime(1970, 1, 1)

Model = Mapping[str, Any]
Codes = Sequence[int]
Factor = tuple[tuple[int, ...], dict[tuple[int, ...], list[float]]]


def probabilities(model: Model, row: Mapping[str, object]) -> list[float]:
    """P(class | row), in the order of the classes; all nan where the model refuses the row."""
    columns = model["columns"]
    codes = [encode(column, row[column["name"]]) for column in columns]
    if REFUSED in codes:
        return [nan] * len(model["intercept"])
    if model["missing"] == "looked up" or not any(map(is_missing, columns, codes)):
        return normalize(look_up(model, codes))
    return normalize(sum_out(model, codes)) if model["missing"] == "summed out" else average(model, codes)


def decide(decision: Model | None, shares: Sequence[float]) -> int | None:
    """The number of the class decided for; None where a person is to be asked."""
    if decision is None:
        return shares.index(max(shares))
    expected = [
        fsum(share * losses[k] for share, losses in zip(shares, decision["losses"], strict=True))
        for k in range(len(shares))
    ]
    if decision["positive"] is not None:
        reached = shares[decision["positive"]] >= decision["threshold"]
        expected[decision["positive"]] = -2.0 if reached else 2.0
    if decision["price"] is not None and decision["price"] < min(expected):
        return None
    return expected.index(min(expected))


def encode(column: Model, cell: object) -> int:
    """The state of a cell; the number of states for a missing one, -1 for one that refuses the row."""
    holds, codes = column["holds"], column["codes"]
    if cell is None or cell != cell:
        return int(column["missing"])
    if holds == "nothing":
        return int(column["unseen"])
    is_wrong = holds in MOMENTS and (getattr(cell, "tzinfo", None) is not None) != MOMENTS[holds]
    if is_wrong or not isinstance(cell, TYPES[holds]):
        raise TypeError(f"column {column['name']!r} holds {cell!r}; it held {holds} in training")
    if holds == "text":
        return int(codes.get(cell, column["unseen"]))
    number = cell if holds in ("numbers", "booleans") else as_number(cell)
    double = as_double(number)
    if double in (inf, -inf):
        return REFUSED
    if column["cuts"] is None or number in codes:
        return int(codes.get(number, column["unseen"]))
    return bisect_right(column["cuts"], double)


def as_double(number: Any) -> float:
    """A whole number is rounded as in a column of doubles; one beyond them is infinite."""
    try:
        return float(number)
    except OverflowError:
        return inf


def as_number(cell: object) -> Any:
    """Dates and times in microseconds since 1970, durations in microseconds."""
    if isinstance(cell, datetime.timedelta):
        return cell / datetime.timedelta(microseconds=1)
    if isinstance(cell, datetime.datetime):
        zoned = cell if cell.tzinfo is None else cell.astimezone(datetime.UTC)
        return (zoned.replace(tzinfo=None) - EPOCH) / datetime.timedelta(microseconds=1)
    assert isinstance(cell, datetime.date)
    return as_number(datetime.datetime.combine(cell, datetime.time()))


def is_missing(column: Model, code: int) -> bool:
    return code == int(column["states"])


def look_up(model: Model, codes: Codes) -> list[float]:
    """The sum of each class, of codes that all have entries."""
    classes = range(len(model["intercept"]))
    coarse = [
        column["coarse"][code] if column["coarse"] else code
        for column, code in zip(model["columns"], codes, strict=True)
    ]
    addends = [[each] for each in model["intercept"]]
    for term in model["terms"]:
        of = codes if len(term["attributes"]) == 1 else coarse
        cell = sum(of[attribute] * step for attribute, step in zip(term["attributes"], term["steps"], strict=True))
        for c in classes:
            addends[c].append(term["table"][cell + c])
    forest = model["forest"]
    for at, c in zip(forest["roots"], forest["classes"], strict=True) if forest else ():
        while at >= 0:
            side = forest["left"][forest["offsets"][at] + codes[forest["attributes"][at]]]
            at = forest["ends"][2 * at + side]
        addends[c].append(forest["values"][~at])
    return [add(each) for each in addends]


def add(values: Sequence[float]) -> float:
    return -inf if -inf in values else fsum(values)


def normalize(logs: Sequence[float]) -> list[float]:
    """exp(logs) divided by their sum; all nan where all are impossible."""
    highest = max(logs)
    if isnan(highest) or highest == -inf:
        return [nan] * len(logs)
    weights = [exp(each - highest) for each in logs]
    total = fsum(weights)
    return [weight / total for weight in weights]


def sum_out(model: Model, codes: Codes) -> list[float]:
    """log sum over the missing cells of exp(sum), each class by itself: variables are eliminated one by one."""
    columns, classes = model["columns"], range(len(model["intercept"]))
    missing = {attribute for attribute, column in enumerate(columns) if is_missing(column, codes[attribute])}
    terms = list(model["terms"])
    while True:  # a missing attribute that nothing depends on sums to one
        parents = {attribute for term in terms for attribute in term["attributes"] if attribute != term["child"]}
        kept = [term for term in terms if term["child"] not in missing or term["child"] in parents]
        if len(kept) == len(terms):
            break
        terms = kept
    factors = [restrict(model, term, codes, missing) for term in terms]
    waiting = {attribute for scope, _ in factors for attribute in scope}
    while waiting:
        least = min(sorted(waiting), key=partial(join_size, columns, factors))
        waiting.remove(least)
        joined = [factor for factor in factors if least in factor[0]]
        scope = tuple(sorted({other for factor in joined for other in factor[0]} - {least}))
        cells: dict[tuple[int, ...], list[float]] = {}
        for states in product(*(range(columns[other]["states"]) for other in scope)):
            at = dict(zip(scope, states, strict=True))
            rows = []
            for state in range(columns[least]["states"]):
                at[least] = state
                parts = [cell[tuple(at[other] for other in members)] for members, cell in joined]
                rows.append([add([part[c] for part in parts]) for c in classes])
            cells[states] = [log_sum([each[c] for each in rows]) for c in classes]
        factors = [factor for factor in factors if least not in factor[0]] + [(scope, cells)]
    return [add([model["intercept"][c], *(cell[()][c] for _, cell in factors)]) for c in classes]


def join_size(columns: Sequence[Model], factors: Sequence[Factor], attribute: int) -> int:
    """Cells of the product of all factors with an attribute."""
    members = {other for scope, _ in factors if attribute in scope for other in scope}
    return prod(columns[other]["states"] for other in members)


def restrict(model: Model, term: Model, codes: Codes, missing: set[int]) -> Factor:
    """The part of a term's table that agrees with the cells present, over its missing attributes."""
    scope = tuple(sorted(attribute for attribute in term["attributes"] if attribute in missing))
    cells = {}
    for states in product(*(range(model["columns"][attribute]["states"]) for attribute in scope)):
        at = dict(zip(scope, states, strict=True))
        cell = sum(
            at.get(other, codes[other]) * step for other, step in zip(term["attributes"], term["steps"], strict=True)
        )
        cells[states] = term["table"][cell : cell + len(model["intercept"])]
    return scope, cells


def log_sum(values: Sequence[float]) -> float:
    highest = max(values)
    return highest if highest == -inf else highest + log(fsum(exp(value - highest) for value in values))


def average(model: Model, codes: Codes) -> list[float]:
    """The mean of P(class | completion) over draws of what the unknown cells may hold, corrected."""
    imputation, columns, classes = model["imputation"], model["columns"], range(len(model["intercept"]))
    known = [not is_missing(column, code) for column, code in zip(columns, codes, strict=True)]
    found = [normalize(look_up(model, row)) for row in completions(model, codes, known)]
    means = [fsum(each[c] for each in found) / len(found) for c in classes]
    correction = list(imputation["nothing"])
    asked = [node for node, used in enumerate(imputation["used"]) if used]
    starts = [sum(n + 1 for n in imputation["codes"][:node]) for node in asked]
    cells = [(start + codes[node]) * len(classes) for start, node in zip(starts, asked, strict=True) if known[node]]
    if cells:
        fading = (len(asked) - len(cells)) / max(len(asked) - 1, 1) / len(cells)
        correction = [fading * fsum(imputation["corrections"][cell + c] for cell in cells) for c in classes]
    return normalize([correction[c] + log(means[c]) if means[c] > 0.0 else -inf for c in classes])


def completions(model: Model, codes: Codes, known: Sequence[bool]) -> Iterator[list[int]]:
    """The row with draws of its unknown cells: each component has as many as it weighs."""
    imputation, columns = model["imputation"], model["columns"]
    n_components, n_draws, start = len(imputation["shares"]), imputation["draws"], 0
    logs = list(imputation["shares"])
    for node, n_states in enumerate(imputation["states"]):
        if known[node]:
            coarse = columns[node]["coarse"]
            cell = start + (coarse[codes[node]] if coarse else codes[node]) * n_components
            logs = [
                total + more for total, more in zip(logs, imputation["logs"][cell : cell + n_components], strict=True)
            ]
        start += n_states * n_components
    reached, draw = 0.0, 0
    for component, weight in enumerate(normalize(logs)):
        reached += weight
        end = n_draws if component == n_components - 1 else int(reached * n_draws + 0.5 - 1e-9)
        while draw < end:
            first = (component * n_draws + draw) * len(codes)
            drawn = imputation["completions"][first : first + len(codes)]
            yield [code if is_known else other for code, other, is_known in zip(codes, drawn, known, strict=True)]
            draw += 1
