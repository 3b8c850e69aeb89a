"""The papers by name: each gives the studies that repeat its experiments on the sets of a folder."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from tanager.experiments.data_sets import DataSet
from tanager.experiments.papers.acll_2013 import acll_2013
from tanager.experiments.papers.bckg_2007 import bckg_2007
from tanager.experiments.papers.fcll_2011 import fcll_2011
from tanager.experiments.papers.roos_2005 import roos_2005
from tanager.experiments.papers.zhou_2002 import zhou_4_2, zhou_4_3
from tanager.experiments.study import Study

# A paper is a file and a line here. `slow` also runs what takes hours.
PAPERS: dict[str, Callable[[Sequence[DataSet], bool], list[Study]]] = {
    "zhou-4-2": zhou_4_2,
    "zhou-4-3": zhou_4_3,
    "fcll-2011": fcll_2011,
    "roos-2005": roos_2005,
    "acll-2013": acll_2013,
    "bckg-2007": bckg_2007,
}
