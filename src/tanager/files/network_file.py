"""Network files: bif, net and JSON, chosen by suffix; numbers at full precision.

They are read and written here, not by pyAgrum 3.3: it reads bif and net in single precision, and takes a table that is
too short, too long, negative or not there without a word. The tests hold its answers against ours.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

from tanager.additive.model import AdditiveModel
from tanager.errors import FileError, OptionError
from tanager.files.json_file import document_kind, parse_json, read_document, write_document, write_json
from tanager.files.network_formats import read_bif, read_net, write_bif, write_net
from tanager.files.network_nodes import FileNode, network_of, with_target
from tanager.files.paths import OutputKind
from tanager.network.document import DocumentError, Json, network_from_document, network_to_document
from tanager.network.network import Network

Format = tuple[Callable[[str], list[FileNode]], Callable[[Network], str]]
"""The reader and the writer of a format; the reader raises a DocumentError that describes the fault."""
FORMATS: dict[str, Format] = {".bif": (read_bif, write_bif), ".net": (read_net, write_net)}
JSON = ".json"


def read_network(path: str | os.PathLike[str], target: str | None = None) -> Network:
    """Read a network; the nodes keep the order of the file, except that `target`, the class, becomes the last.

    The suffix names the format: .bif, .net, or .json for a file of ours, where a model counts as its network. States
    are text, in .json what they were; states that are the bins of a numeric column in words ("< 2.5", ">= 2.5") become
    that column again. Rows of probabilities must sum to one within 0.001 and are divided by their sum; in .net, whose
    potentials have any scale, by any sum above zero.

    Parameters
    ----------
    path : str or path
        Of the file.
    target : str or None
        The node that is the class.

    Returns
    -------
    Network
        With the nodes, edges and tables of the file.

    Examples
    --------
    >>> import tempfile
    >>> from tanager.files.network_file import read_network
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = f"{folder}/coin.bif"
    ...     with open(path, "w") as stream:
    ...         _ = stream.write("network n {} variable coin { type discrete [2] { heads, tails }; } "
    ...                          "probability ( coin ) { table 0.25, 0.75; }")
    ...     read_network(path).table("coin").row()
    {'heads': 0.25, 'tails': 0.75}
    """
    suffix = network_suffix(path)
    network = read_document(path, "network", lambda content: _parse(content, suffix))
    if target is None:
        return network
    try:
        return with_target(network, target)
    except DocumentError as error:
        raise FileError(f"cannot use the network in {str(path)!r}: {error}.") from None


def write_network(network: Network, path: str | os.PathLike[str]) -> None:
    """Write a network, all at once: an error leaves an older file as it was.

    The suffix names the format, as in `read_network`. JSON keeps everything. The other formats keep no class; their
    states are text, so a number, a boolean or a date becomes its text; what a format has no place for in a name or a
    state is escaped (`network_nodes`), and comes back when it is read. Probabilities are read back bit by bit.

    Parameters
    ----------
    network : Network
        Nodes, parents and tables.
    path : str or path
        Of the file.
    """
    suffix = network_suffix(path)
    if getattr(network, "kind", None) != "tables":
        what = getattr(getattr(network, "model_", network), "summary", f"a {type(network).__name__}")
        raise OptionError(
            f"write_network writes a network of tables; this is no such network: {what}.",
            hint="BayesianNetworkClassifier().fit(X, y).network_ is one; save_model writes any fitted classifier.",
        )
    try:
        if suffix == JSON:
            write_json(path, "network", network_to_document(network))
        else:
            write_document(path, "network", FORMATS[suffix][1](network).encode())
    except DocumentError as error:
        raise FileError(f"cannot write the network to {str(path)!r}: {error}.") from error


def network_suffix(path: str | os.PathLike[str]) -> str:
    """The suffix, if it is that of a format."""
    suffix = Path(path).suffix.lower()
    if suffix not in FORMATS and suffix != JSON:
        raise FileError(
            f"cannot tell the network format of {str(path)!r} from its suffix; "
            f"expected one of {', '.join((*FORMATS, JSON))}.",
            hint="pyAgrum converts other formats to .bif.",
        )
    return suffix


def network_kind(path: str | os.PathLike[str]) -> OutputKind:
    """A network in the format that the suffix says; a model is not one, though it can be read as one."""
    suffix = network_suffix(path)
    if suffix == JSON:
        return document_kind("a network of Tanager", "target")
    return OutputKind(f"a {suffix} network", _is_network)


def _is_network(file: Path) -> bool:
    try:
        read_network(file)
    except FileError:
        return False
    return True


def _parse(content: bytes, suffix: str) -> Network:
    if not content.strip():
        raise DocumentError("it is empty")
    if suffix != JSON:
        return network_of(FORMATS[suffix][0](_decode(content)))
    document: Json = parse_json(content)
    if not isinstance(document, dict) or "classifier" not in document:
        return network_from_document(document)
    from tanager.files.model_file import from_document

    model = from_document(document).model_
    if not isinstance(model, Network):
        what = "an additive model" if isinstance(model, AdditiveModel) else "a mean of networks"
        raise DocumentError(f"it holds {what}, which is no network of tables; `--structure tan` learns one")
    return model


def _decode(content: bytes) -> str:
    """Text of today is UTF-8, that of older programs Latin-1."""
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError:
        return content.decode("latin-1")
