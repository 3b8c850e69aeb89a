"""`tanager convert`: a network, or the network of a model, in another format."""

from __future__ import annotations

import json
from typing import Annotated

import typer

from tanager.cli import options
from tanager.cli.streams import STREAM, input_file, output_file
from tanager.errors import OptionError
from tanager.runtime.progress import say, working

FORMATS = ".bif, .bifxml, .xml, .xdsl, .net, .dsl, .dne, .uai or .json"


def convert(
    source: Annotated[
        str,
        typer.Argument(metavar="IN", help=f"A network, {FORMATS}, or a model that `tanager fit` wrote; - is stdin."),
    ],
    output: Annotated[str, typer.Argument(metavar="OUT", help=f"Where the network goes: {FORMATS}; - is stdout.")],
    from_format: Annotated[
        str | None, typer.Option("--from", metavar="FORMAT", help="The format on stdin, such as bif.")
    ] = None,
    to_format: Annotated[
        str | None, typer.Option("--to", metavar="FORMAT", help="The format on stdout, such as xdsl.")
    ] = None,
    force: options.Force = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print what was written, as JSON.")] = False,
) -> None:
    """Write a network in another format, which the suffix says.

    Probabilities keep every digit. JSON also keeps the class and the types of the states; elsewhere they are text.

    A character that a format has no place for in a name becomes its code, _0xHH_, and comes back when it is read.

    Examples:

      tanager convert iris.json iris.bif

      tanager convert expert.net expert.xdsl

      tanager convert expert.bif expert.json

      cat expert.bif | tanager convert - - --from bif --to xdsl > expert.xdsl
    """
    from tanager.files.network_file import network_kind, network_suffix, read_network, write_network

    if as_json and output == STREAM:
        raise OptionError("--json and OUT - would both print to stdout.", hint="give the network a file.")
    read_suffix = stream_suffix(source, from_format, "--from")
    write_suffix = stream_suffix(output, to_format, "--to")
    kind = network_kind(output + write_suffix)
    network_suffix(source + read_suffix)
    with output_file(output, write_suffix, kind, [source], force) as target, working(f"Converting {source}"):
        with input_file(source, read_suffix) as path:
            network = read_network(path)
        write_network(network, target)
    if as_json:
        print(json.dumps({"network": output, "nodes": len(network.nodes), "edges": len(network.edges)}, indent=2))
    elif output != STREAM:
        say(f"{output}: {len(network.nodes):,} nodes, {len(network.edges):,} edges")


def stream_suffix(path: str, form: str | None, option: str) -> str:
    """The suffix a format on stdin or stdout would have; none for a file, whose name says it."""
    if (path == STREAM) != (form is not None):
        raise OptionError(f"{option} is for a network on stdin or stdout ('-'), and must be there for one.")
    return "" if form is None else f".{form.removeprefix('.')}"
