"""The papers by name: each gives the studies that repeat its experiments on the sets of a folder."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from experiments.papers.acll_2013 import acll_2013
from experiments.papers.bckg_2007 import bckg_2007
from experiments.papers.fcll_2011 import fcll_2011
from experiments.papers.roos_2005 import roos_2005
from experiments.papers.study import PaperStudy
from experiments.papers.zhou_2002 import zhou_4_2, zhou_4_3
from experiments.papers.zhou_figures import zhou_curves, zhou_wrong_structure
from experiments.studies.data_sets import DataSet

# A paper is a file, its figures a file in `published`, and a line here. `slow` also runs what takes hours.
PAPERS: dict[str, Callable[[Sequence[DataSet], bool], list[PaperStudy]]] = {
    "zhou-4-2": zhou_4_2,
    "zhou-4-3": zhou_4_3,
    "zhou-wrong-structure": zhou_wrong_structure,
    "zhou-curves": zhou_curves,
    "fcll-2011": fcll_2011,
    "roos-2005": roos_2005,
    "acll-2013": acll_2013,
    "bckg-2007": bckg_2007,
}
