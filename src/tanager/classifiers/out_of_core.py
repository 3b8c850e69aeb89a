"""Learning from tables that come batch by batch: read once, the same counts as in memory.

Rows are counted as they are read, where counts are all that is learnt from and the tables are small; otherwise their
codes go to disk.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from tanager.classifiers.batch_reader import BatchReader, Roles, SchemaOptions, StreamedTable
from tanager.counts.engine import CountEngine
from tanager.counts.running_counts import RunningCounts
from tanager.errors import DataError, OptionError
from tanager.parameters import ACLLOptimal, Conditional, Frequency, ParameterLearner
from tanager.scores import CLL
from tanager.structure import NaiveBayes, Selective, StructureLearner, Tree
from tanager.table.stream_source import open_stream
from tanager.table.stream_spool import Spool

# What needs counts, and rows only a block at a time.
IN_CHUNKS = (ACLLOptimal, Conditional, Frequency)
# What needs no counts but of single attributes, or of pairs, with the class.
OF_COUNTS = (ACLLOptimal, Frequency)
OF_PAIRS = (NaiveBayes, Tree)


def running_counts(
    structure: StructureLearner, parameters: ParameterLearner, fills_gaps: bool, engine: CountEngine
) -> RunningCounts | None:
    """The counts that are all these learners need, `fills_gaps` a filler too; None if they may need others, or rows."""
    if type(structure) not in OF_PAIRS or type(parameters) not in OF_COUNTS:  # a subclass may need more
        return None
    return RunningCounts(engine, pairs=fills_gaps or isinstance(structure, Tree))


@contextmanager
def streamed_table(
    X: object, roles: Roles, options: SchemaOptions, counts: RunningCounts | None = None
) -> Iterator[StreamedTable]:
    """Read all batches of X once. The rows are gone when the block ends, however it does.

    With `counts`, rows of few values are counted there, and not kept.
    """
    spool = Spool()
    try:
        yield BatchReader(roles, options, spool, counts).read(open_stream(X))
    finally:
        spool.close()


def check_roles(y: object, sample_weight: object) -> Roles:
    """What `fit` was given for them are names of columns."""
    given = (("y", y, "class column"), ("sample_weight", sample_weight, "column with the rows' weights"))
    for option, value, what in given:
        if not isinstance(value, str) and (option == "y" or value is not None):
            raise DataError(
                f"{option} is a {type(value).__name__}; expected the name of the {what}, as the table comes batch by "
                "batch."
            )
    if y == sample_weight:
        raise DataError(f"the column {y!r} cannot be both the class and the rows' weights.")
    return Roles(str(y), sample_weight if isinstance(sample_weight, str) else None)


def check_streamable(structure: StructureLearner, criterion: object, parameters: ParameterLearner) -> None:
    """Refuse what needs every row in memory at once."""
    refused = None
    if not isinstance(parameters, IN_CHUNKS):
        refused = f"parameters={type(parameters).__name__}()"
    elif isinstance(structure, Selective):
        refused = "structure='selective'"
    elif isinstance(criterion, CLL):
        refused = "criterion='cll'"
    if refused is not None:
        raise OptionError(
            f"{refused} needs all rows at once, and the table comes batch by batch.",
            hint="read the table into memory (--no-stream), or use parameters='frequency' or 'conditional'.",
        )
