"""Names that a format can't represent: an identifier replaces them, and a remark keeps the original.

The remark is a property of the variable, as in `credo name=Blood~20pressure states=~3C5,5-12 place=3`. Letters stand
for themselves, and other characters are percent-encoded with ~ for %, so that it contains no punctuation of any format.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import count
from urllib.parse import quote, unquote

from credo.errors import NetworkError
from credo.networks.network import Network

IDENTIFIER = re.compile(r"(?!(?:net|node|class|potential)\Z)[A-Za-z][A-Za-z0-9_]*")
ANY_NAME = re.compile(r".*", re.DOTALL)
REMARK = "credo "
REMARK_START = re.compile(rf"{REMARK}(?:name|states|place)=")
LONGEST_NAME = 40  # characters of a generated identifier, and of a name in an error message


@dataclass(frozen=True)
class Remark:
    """What a format can't express about a variable; None for what it can."""

    name: str | None = None
    states: tuple[str, ...] | None = None
    place: int | None = None  # among the variables, if the file has another order

    def __str__(self) -> str:
        words = [] if self.name is None else [f"name={_encoded(self.name)}"]
        if self.states is not None:
            words.append(f"states={','.join(map(_encoded, self.states))}")
        if self.place is not None:
            words.append(f"place={self.place}")
        return REMARK + " ".join(words) if words else ""


@dataclass(frozen=True)
class Labels:
    """A network's names and states as written in a file, and the remarks with the originals."""

    names: Mapping[str, str]
    states: Mapping[str, tuple[str, ...]]
    remarks: Mapping[str, str]


def labels_of(
    network: Network, plain_name: re.Pattern[str], plain_state: re.Pattern[str], order: Sequence[str] | None = None
) -> Labels:
    """The labels of a network: plain names unchanged, others cleaned; `order` is that of the file."""
    names = cleaned(network.variables, plain_name, "v")
    places = {name: i for i, name in enumerate(network.variables)}
    moved = order is not None and tuple(order) != network.variables
    states, remarks = {}, {}
    for name in network.variables:
        true = state_words(name, network.states[name])
        states[name] = tuple(cleaned(true, plain_state, "s").values())
        remark = Remark(
            name if names[name] != name else None,
            true if states[name] != true else None,
            places[name] if moved else None,
        )
        remarks[name] = str(remark)
    return Labels(names, states, remarks)


def state_words(name: str, states: Sequence[object]) -> tuple[str, ...]:
    """The states of a variable as distinct strings."""
    words = tuple(map(str, states))
    if len(set(words)) < len(words):
        twice = next(word for i, word in enumerate(words) if word in words[:i])
        raise NetworkError(f"{name!r} has two states that both are written as {twice!r}; write the network as .json")
    return words


def cleaned(names: Sequence[str], plain: re.Pattern[str], first: str) -> dict[str, str]:
    """A unique identifier for each name: the name itself if it is plain.

    >>> cleaned(["a_b", "a b", "5 kg", ""], IDENTIFIER, "v")
    {'a_b': 'a_b', 'a b': 'a_b_2', '5 kg': 'v5_kg', '': 'v'}
    """
    found = {name: name if plain.fullmatch(name) else "" for name in names}
    taken, numbers = set(found.values()) - {""}, dict[str, int]()
    for name in (name for name, identifier in found.items() if not identifier):
        base = re.sub(r"[^A-Za-z0-9_]", "_", name[:LONGEST_NAME])
        base = base if base[:1].isalpha() else first + base
        for number in count(numbers.get(base, 1)):
            identifier = base if number == 1 else f"{base}_{number}"
            if identifier not in taken and plain.fullmatch(identifier):
                break
        numbers[base] = number + 1
        found[name] = identifier
        taken.add(identifier)
    return found


def remark_in(text: str) -> Remark | None:
    """The remark in a property, if it is one; a ValueError if it is malformed.

    >>> remark_in("credo name=a~20b states=x,y")
    Remark(name='a b', states=('x', 'y'), place=None)
    """
    if not REMARK_START.match(text):
        return None
    try:
        fields = dict(word.split("=") for word in text.removeprefix(REMARK).split())
        states = tuple(map(_decoded, fields["states"].split(","))) if "states" in fields else None
        name = _decoded(fields["name"]) if "name" in fields else None
        return Remark(name, states, int(fields["place"]) if "place" in fields else None)
    except ValueError:
        raise ValueError("can't be read: it was changed") from None


def _encoded(text: str) -> str:
    return quote(text, safe="", errors="surrogatepass").replace("~", "%7E").replace("%", "~")


def _decoded(text: str) -> str:
    return unquote(text.replace("~", "%"), errors="surrogatepass")


def quoted(text: str) -> str:
    """The text in double quotes, escaped as in JSON.

    >>> print(quoted('5" pipe'))
    "5\\" pipe"
    """
    try:
        text.encode()
    except UnicodeEncodeError:  # half of a surrogate pair
        return json.dumps(text)
    return json.dumps(text, ensure_ascii=False)


def unquoted(token: str) -> str:
    """The text inside quotes, if there are any."""
    if token[:1] != '"':
        return token
    if "\\" not in token:
        return token[1:-1]
    try:
        return str(json.loads(token, strict=False))
    except ValueError:  # such as a path with single backslashes
        return token[1:-1].replace('\\"', '"').replace("\\\\", "\\")


def cut(text: str) -> str:
    """A name shortened for an error message, on one line."""
    short = text if len(text) <= LONGEST_NAME else text[:LONGEST_NAME] + "..."
    return short if short.isprintable() else repr(short)[1:-1]
