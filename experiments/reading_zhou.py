"""Zhou 2002, table 4-2: why CLGD's p values are not as published."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from experiments.papers.published import zhou_4_2 as published
from experiments.papers.zhou_2002 import CLGD, paired_t, zhou_4_2
from experiments.reading_runs import SEEDS, Values, kept, run
from experiments.studies.data_sets import DataSet
from experiments.studies.entries import make_entries
from experiments.studies.tables import TextTable, show_p

WAYS = {
    "CLGD, iterations chosen on held-out folds": (CLGD, "classifier", SEEDS),
    "the same, numbers cut on all rows": (CLGD, "all rows", SEEDS),
    "CLGD until it converges": ("conditional(prior=None)", "classifier", SEEDS[:1]),
    "our default prior": ("conditional", "classifier", SEEDS[:1]),
}


def by_sets(sets: Sequence[DataSet]) -> TextTable:
    """The t test again on the errors as printed, and on both without the set where the gains differ most."""
    (study,) = zhou_4_2(sets, slow=False)
    results = kept(study)
    columns = {name: published.CLASSIFIERS.index(name) for name in ("NB+LM", "NB+CLGD", "TAN+LM", "TAN+CLGD")}
    printed = {
        name: np.array([published.ERRORS[each][place][0] for each in results.sets]) for name, place in columns.items()
    }
    ours = {name: 100.0 * results.column(name, "error") for name in columns}
    apart = [int(np.argmax(np.abs(gain(ours, structure) - gain(printed, structure)))) for structure in ("NB", "TAN")]
    rows = []
    for left_out in ([], apart[:1], apart[1:], apart):
        used = np.setdiff1d(np.arange(len(results.sets)), left_out)
        cells = []
        for structure in ("NB", "TAN"):
            for errors in (printed, ours):
                p = paired_t(errors[f"{structure}+CLGD"][used], errors[f"{structure}+LM"][used])
                cells += [f"{show_p(p)} ({gain(errors, structure)[used].mean():.2f})"]
        rows.append([", ".join(results.sets[place] for place in sorted({*left_out})) or "none", *cells])
    header = ["left out", "NB published", "NB ours", "TAN published", "TAN ours"]
    remark = "Left out are the sets where our gain and the published one differ most, for NB and for TAN."
    return TextTable("Table 4-2: p of CLGD against LM (mean gain in %), with sets left out", header, rows, [remark])


def gain(errors: Mapping[str, Values], structure: str) -> Values:
    return np.asarray(errors[f"{structure}+LM"] - errors[f"{structure}+CLGD"])


def by_way(sets: Sequence[DataSet]) -> TextTable:
    """p of the t tests over several splits, by how the ascent stops and who decides the cuts."""
    (study,) = zhou_4_2(sets, slow=False)
    places = [published.CLASSIFIERS.index(name) for name in ("NB+LM", "TAN+LM")]
    printed = np.array([[published.ERRORS[each.name][k][0] for k in places] for each in study.data_sets])
    same = np.array([each.name not in study.comparison.not_same for each in study.data_sets])
    rows = []
    for way, (parameters, cuts, seeds) in WAYS.items():
        found, distances = [], []
        for seed in seeds:
            split = replace(study, protocol=replace(study.protocol, cuts=cuts, seed=seed))
            specs = {"NB+LM": "naive-bayes:frequency", "TAN+LM": "tan:ll:frequency"}
            specs |= {"NB": f"naive-bayes:{parameters}", "TAN": f"tan:ll:{parameters}"}
            errors = 100.0 * run(split, make_entries(specs)).matrix("error")
            found.append([paired_t(errors[:, 2 + k], errors[:, k]) for k in (0, 1)])
            distances.append(np.abs(errors[:, :2] - printed)[same].mean())
        ps = [" to ".join(sorted({show_p(min(p)), show_p(max(p))}, key=float)) for p in zip(*found, strict=True)]
        rows.append([way, str(len(seeds)), *ps, f"{np.mean(distances):.2f}"])
    header = [
        "against LM",
        "splits",
        "p for NB (published 0.001)",
        "p for TAN (published 0.015)",
        "LM from the published, %",
    ]
    remark = "The last column is the mean distance between our errors of LM and the published ones, NB and TAN."
    return TextTable("Table 4-2: p by the way CLL is raised", header, rows, [remark])
