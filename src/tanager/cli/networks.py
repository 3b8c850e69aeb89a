"""`tanager convert` and `tanager tune`: networks in other formats, and an expert's network tuned to a table."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated

import typer

from tanager.cli import options
from tanager.errors import OptionError
from tanager.runtime.progress import say, working

if TYPE_CHECKING:
    import pyarrow as pa

    from tanager.network.network import Network

FORMATS = ".bif, .net or .json"


def convert(
    source: Annotated[
        str,
        typer.Argument(metavar="IN", help=f"A network, {FORMATS}, or a model that `tanager fit` wrote."),
    ],
    output: Annotated[str, typer.Argument(metavar="OUT", help=f"Where the network goes: {FORMATS}.")],
    force: options.Force = False,
    as_json: options.AsJson = False,
) -> None:
    """Write a network in another format. The suffix of the output file gives the format.

    Probabilities keep every digit. JSON also keeps the class and the types of the states; elsewhere they are text.

    A character that a format does not allow in a name is written as its code, _0xHH_, and read back as the character.

    Examples:

      tanager convert iris.json iris.bif
      tanager convert expert.net expert.bif
      tanager convert expert.bif expert.json
    """
    from tanager.files.network_file import network_kind, network_suffix, read_network, write_network
    from tanager.files.paths import check_output

    check_output(output, network_kind(output), reads=[source], force=force)
    network_suffix(source)
    with working(f"Converting {source}"):
        network = read_network(source)
        write_network(network, output)
    if as_json:
        print(json.dumps({"network": output, "nodes": len(network.nodes), "edges": len(network.edges)}, indent=2))
    else:
        say(f"{output}: {len(network.nodes):,} nodes, {len(network.edges):,} edges")


def tune(
    expert: Annotated[str, typer.Argument(metavar="NETWORK", help=f"The expert's network: {FORMATS}.")],
    data: options.Data,
    query: Annotated[
        list[str], options.option("NODE", "The node to tune for; repeat it for several together.", "--query", "-q")
    ],
    output: Annotated[str | None, options.output(f"Where the tuned network goes: {FORMATS}.")] = None,
    parameters: Annotated[
        str, options.option(None, "conditional: P(query | rest). likelihood-gradient: P(all cells).")
    ] = "conditional",
    strength: Annotated[
        str, options.option(None, "How many rows the expert's tables count as; auto chooses on held-out folds.")
    ] = "auto",
    folds: Annotated[int, options.option(None, "Parts the rows are split into, each held out once.")] = 5,
    seed: options.Seed = 0,
    missing: options.Missing = None,
    impossible: Annotated[
        str, options.option(None, "Rows of probability zero under the network: raise an error, or skip them.")
    ] = "raise",
    force: options.Force = False,
    as_json: options.AsJson = False,
) -> None:
    """Change the tables of a network so that it answers a query better; the structure stays.

    The columns of the table are nodes. A node that is no column is hidden; cells may be missing.

    It prints the log-loss and the error of the query before and after, on held-out folds, and the tables that changed
    most. A large change points at a poor part of the structure.

    Examples:

      tanager tune expert.bif data.csv --query Cancer -o tuned.bif
      tanager tune expert.bif data.csv --query Cancer --query Dyspnoea --folds 10 --json
    """
    from tanager.files.network_file import network_kind, read_network, write_network
    from tanager.files.paths import check_output
    from tanager.tuning.tune import tune as tune_network

    if output is not None:
        check_output(output, network_kind(output), reads=[expert, data], force=force)
    worth = _strength(strength)
    network = read_network(expert)
    with working(f"Reading {data}"):
        table = _read_columns(network, data, missing or ())
    with working("Tuning"):
        result = tune_network(
            network, table, query, parameters, strength=worth, cv=folds, impossible=impossible, random_state=seed
        )
    if output is not None:
        write_network(result.network, output)
        say(f"{output}: {len(result.moved):,} of {len(network.nodes):,} tables tuned")
    print(json.dumps(result.to_dict(), indent=2) if as_json else result)


def _read_columns(network: Network, path: str, missing: Sequence[str]) -> pa.Table:
    """The table; states of a network file are text, also where they look like numbers."""
    from tanager.files.read_csv import CellRules
    from tanager.files.read_table import read_table

    texts = [column.name for column in network.columns if any(isinstance(state, str) for state in column.categories)]
    return read_table(path, CellRules.given(missing, texts))


def _strength(text: str) -> float | str:
    if text == "auto":
        return text
    try:
        return float(text)
    except ValueError:
        raise OptionError(f"--strength {text!r} is neither a number nor 'auto'.") from None
