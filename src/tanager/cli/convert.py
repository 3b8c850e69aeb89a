"""`tanager convert`: a network, or the network of a model, in another format."""

from __future__ import annotations

from typing import Annotated

import typer

from tanager.cli.progress import say

FORMATS = ".bif, .bifxml, .xml, .xdsl, .net, .dsl, .uai or .json"


def convert(
    source: Annotated[
        str, typer.Argument(metavar="IN", help=f"A network, {FORMATS}, or a model that `tanager fit` wrote.")
    ],
    output: Annotated[str, typer.Argument(metavar="OUT", help=f"Where the network goes: {FORMATS}.")],
) -> None:
    """Write a network in another format, which the suffix says.

    Probabilities keep every digit. JSON also keeps the class and the types of the states; elsewhere they are text.

    A character that a format has no place for in a name becomes its code, _0xHH_, and comes back when it is read.

    Examples:

      tanager convert iris.json iris.bif

      tanager convert expert.net expert.xdsl

      tanager convert expert.bif expert.json
    """
    from tanager.files.atomic import check_writable
    from tanager.files.network_file import network_suffix, read_network, write_network

    network_suffix(output)
    check_writable(output)
    network = read_network(source)
    write_network(network, output)
    say(f"{output}: {len(network.nodes):,} nodes, {len(network.edges):,} edges")
