"""Network files: the formats, by file extension.

.bif                 BIF, as bnlearn's repository has it
    .xmlbif .bifxml .xml XMLBIF 0.3
    .xdsl .dsl           GeNIe and SMILE
    .net .hugin          Hugin
    .uai                 the inference competitions: no names, and Markov networks too
    .json                credo's own, Markov networks too; and linear-Gaussian networks in bnlearn's exchange form

Any of them may end in .gz. Names that a format can't hold are written as identifiers, and the true ones kept in a
remark that credo reads back; UAI alone loses them. States that aren't strings (numbers, booleans) become strings in all
formats but .json; in .uai they become 0, 1, ... .
"""

from __future__ import annotations

import re
from collections.abc import Callable
from importlib import import_module
from math import prod
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any, TypeVar

from credo.errors import CredoError, NetworkError, SizeError
from credo.formats.draft import MOST_IMPLIED_NUMBERS, many
from credo.formats.files import PACKED, FilePath, read_text, write_text
from credo.networks.hybrid.network import HybridNetwork
from credo.networks.markov_network import MarkovNetwork
from credo.networks.network import Network
from credo.notices import tell

if TYPE_CHECKING:
    from credo.networks.decisions.influence_diagram import InfluenceDiagram

FORMATS = {
    ".bif": "bif",
    ".xmlbif": "xmlbif",
    ".bifxml": "xmlbif",
    ".xml": "xmlbif",
    ".xdsl": "xdsl",
    ".dsl": "dsl",
    ".net": "hugin",
    ".hugin": "hugin",
    ".uai": "uai",
    ".json": "credo_json",
}
LONGEST_MESSAGE, MESSAGE_END = 600, 100  # characters of an error message; and of its end, if it is shortened
MARKOV_FORMATS = {"uai", "credo_json"}


def is_network(path: str) -> bool:
    """Whether a file's extension is that of a network format."""
    return path.lower().removesuffix(PACKED).endswith((*FORMATS,))


Held = TypeVar("Held", Network, MarkovNetwork, HybridNetwork)


def read_as(kind: type[Held], path: FilePath) -> Held:
    """A network of one kind from a file; another kind is refused."""
    found = read(path)
    if not isinstance(found, kind):
        other = type(found).__name__
        raise NetworkError(f"{path} holds a {other}, not a {kind.__name__}: credo.{other}.read reads it")
    return found


def read(path: FilePath) -> Network | MarkovNetwork | Any:
    """A network from a file; a HybridNetwork where variables are numbers. Rows of tables whose sum is within 0.01 of 1
    are scaled, with a notice."""
    form = _format_of(path)
    try:
        found: Network | MarkovNetwork | HybridNetwork = form.read(read_text(path), str(path))
    except CredoError as error:
        text = str(error)
        if len(text) <= LONGEST_MESSAGE + len(str(path)):
            raise
        raise type(error)(f"{text[:LONGEST_MESSAGE]} ... {text[-MESSAGE_END:]}") from None
    return found


def read_diagram(path: FilePath) -> InfluenceDiagram:
    """An influence diagram from a GeNIe file."""
    from credo.formats import xdsl_diagrams

    _check_diagram(path)
    return xdsl_diagrams.read(read_text(path), str(path))


def holds_diagram(path: FilePath) -> bool:
    """Whether a file is in GeNIe's format, with decisions or utilities."""
    from credo.formats.xdsl import DECISIONS

    ends = str(path).lower().removesuffix(PACKED).endswith(".xdsl")
    return ends and re.search(rf"<({'|'.join(sorted(DECISIONS))})\s+id=", read_text(path)) is not None


def write_diagram(diagram: InfluenceDiagram, path: FilePath) -> None:
    """Write to a GeNIe file, atomically."""
    from credo.formats import xdsl_diagrams

    _check_diagram(path)
    write_text(xdsl_diagrams.write(diagram), path)


def _check_diagram(path: FilePath) -> None:
    if not str(path).lower().removesuffix(PACKED).endswith(".xdsl"):
        raise NetworkError(f"{path} must end in .xdsl: influence diagrams are stored in GeNIe's format")


def write(network: Network | MarkovNetwork | HybridNetwork, path: FilePath) -> None:
    """Write to a file, atomically; an existing file is replaced."""
    form = _format_of(path)
    if isinstance(network, MarkovNetwork) and form.__name__.rpartition(".")[2] not in MARKOV_FORMATS:
        raise NetworkError(f"{path}: a Markov network has no arrows; write it as .uai or .json")
    if isinstance(network, HybridNetwork) and form.__name__.rpartition(".")[2] != "credo_json":
        raise NetworkError(f"{path}: a network with numbers is written as .json, or stored with credo.save")
    if isinstance(network, Network) and not network.tables:
        raise NetworkError(f"can't write {path}: the network has no tables")
    if isinstance(network, Network) and network.forms:
        _check_expanded(network, path, getattr(form, "keeps", lambda *_: False))
    write_text(form.write(network), path)


def _check_expanded(network: Network, path: FilePath, keeps: Callable[[Network, str], bool]) -> None:
    """Give a notice about distributions that become tables; refuse those that are too large for one."""
    expanded = [name for name in network.forms if not keeps(network, name)]
    for name in expanded:
        above = network.parents[name]
        size = prod(len(network.states[each]) for each in (*above, name))
        if size > MOST_IMPLIED_NUMBERS:
            raise SizeError(
                f"can't write {path}: {name!r} is a {type(network.forms[name]).__name__} of {len(above)} parents; its "
                f"table would have {many(size)} numbers; credo.save keeps it as it is"
            )
    if expanded:
        tell(f"{path}: this format has only tables, so these were expanded: {', '.join(expanded):.200}")


def _format_of(path: FilePath) -> ModuleType:
    name = Path(path).name.lower().removesuffix(PACKED)
    suffix = Path(name).suffix
    if suffix not in FORMATS:
        known = ", ".join(FORMATS)
        raise NetworkError(f"{path} must end in one of {known} (and .gz, if it is compressed), but ends in {suffix!r}")
    return import_module(f"{__name__}.{FORMATS[suffix]}")
