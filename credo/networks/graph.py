"""Directed acyclic graphs: parsing arrows, topological order, d-separation."""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Collection, Hashable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Literal, TypeVar

from credo.errors import NetworkError, suggest

Name = TypeVar("Name", bound=Hashable)
Parents = Mapping[str, tuple[str, ...]]  # each name and its parents

VARIABLE_NAME = r"[^\s,;\"<>\-→←↔](?:[^\s,;\"<>\-→←↔]|-(?!>))*"
ARROW_TOKEN = re.compile(rf'[^\S\n]*(?:"((?:[^"\\]|\\.)*)"|(<->|↔|->|<-|→|←|[,;\n])|({VARIABLE_NAME}))')
BNLEARN_MODEL = re.compile(r"\s*(?:\[[^\[\]]*\]\s*)+")  # as in [Storm][Lightning|Storm][Fire|Storm:Lightning]
Mark = Literal["->", "<-", "<->"]
MARKS: dict[str, Mark] = {"->": "->", "→": "->", "<-": "<-", "←": "<-", "<->": "<->", "↔": "<->"}


def one_or_several(names: str | Iterable[str]) -> list[str]:
    """A list of names, from one name or several.

    >>> one_or_several("Storm"), one_or_several(("Storm", "Fire"))
    (['Storm'], ['Storm', 'Fire'])
    """
    return [names] if isinstance(names, str) else [*names]


def parse_arrows(text: str) -> dict[str, tuple[str, ...]]:
    """Arrows from text: statements separated by line breaks or semicolons, or a model string of R's bnlearn.

    >>> parse_arrows("Storm, Bus -> Campfire -> Fire; Storm -> Fire")
    {'Storm': (), 'Bus': (), 'Campfire': ('Storm', 'Bus'), 'Fire': ('Campfire', 'Storm')}
    >>> parse_arrows("[Storm][Fire|Storm]")
    {'Storm': (), 'Fire': ('Storm',)}
    """
    found: dict[str, dict[str, None]] = {}
    if BNLEARN_MODEL.fullmatch(text):
        for node in re.findall(r"\[([^\[\]]*)\]", text):
            name, _, parents = node.partition("|")
            found.setdefault(name.strip(), {}).update(dict.fromkeys(p.strip() for p in parents.split(":") if p.strip()))
    else:
        names, marks = parse_marks(text)
        found = {name: {} for name in names}
        for left, mark, right in marks:
            if mark == "<->":
                what = f"{left} <-> {right}: a bidirected arrow stands for a hidden common cause"
                raise NetworkError(f"{what}, which credo.CausalGraph reads; a network must name its variables")
            cause, effect = (left, right) if mark == "->" else (right, left)
            found[effect][cause] = None
    return {name: tuple(parents) for name, parents in found.items()}


def parse_marks(text: str) -> tuple[tuple[str, ...], list[tuple[str, Mark, str]]]:
    """The names in a text, and the arrows between them, directed or bidirected.

    >>> parse_marks("Drug -> Recovery <-> Gender")
    (('Drug', 'Recovery', 'Gender'), [('Drug', '->', 'Recovery'), ('Recovery', '<->', 'Gender')])
    """
    names, marks = dict[str, None](), list[tuple[str, Mark, str]]()
    for groups, signs in map(_groups, _statements(text)):
        names |= dict.fromkeys(name for group in groups for name in group)
        for left, sign, right in zip(groups, signs, groups[1:], strict=False):
            marks += [(one, MARKS[sign], two) for two in right for one in left]
    return tuple(names), marks


def _statements(text: str) -> Iterator[list[tuple[str, bool]]]:
    """Tokens, each with whether it is a name. A line that ends in an arrow or a comma continues on the next."""
    statement: list[tuple[str, bool]] = []
    at, end = 0, len(text.rstrip())
    while at < end:
        found = ARROW_TOKEN.match(text, at)
        if found is None:
            raise NetworkError(f"arrows can't be read at {text[at : at + 20].strip()!r}: write them as 'A, B -> C'")
        quoted, sign, name = found.groups()
        at = found.end()
        if quoted is not None:
            statement.append((re.sub(r"\\(.)", r"\1", quoted), True))
        elif name is not None:
            statement.append((name, True))
        elif sign == ";" or (sign == "\n" and statement and statement[-1][1]):
            yield statement
            statement = []
        elif sign != "\n":
            statement.append((sign, False))
    yield statement


def _groups(statement: list[tuple[str, bool]]) -> tuple[list[list[str]], list[str]]:
    """Groups of names, and the arrows between them."""
    groups, signs = [list[str]()], list[str]()
    for i, (token, is_name) in enumerate(statement):
        if is_name != (i % 2 == 0):
            raise NetworkError(f"arrows can't be read at {token!r}: write them as 'A, B -> C; C -> D'")
        if is_name:
            groups[-1].append(token)
        elif token != ",":
            signs.append(token)
            groups.append([])
    if statement and len(statement) % 2 == 0:
        raise NetworkError(f"arrows end in {statement[-1][0]!r}: a name must follow")
    return groups, signs


def in_order(parents: Mapping[Name, tuple[Name, ...]]) -> tuple[Name, ...]:
    """The names in topological order, parents first; a cycle is an error that shows it.

    >>> in_order({"Fire": ("Storm",), "Storm": ()})
    ('Storm', 'Fire')
    """
    waiting = {name: len(above) for name, above in parents.items()}
    below = children(parents)
    ready, order = deque(name for name, count in waiting.items() if not count), list[Name]()
    while ready:
        name = ready.popleft()
        order.append(name)
        for child in below[name]:
            waiting[child] -= 1
            if not waiting[child]:
                ready.append(child)
    if len(order) < len(parents):
        raise NetworkError(f"the arrows contain a cycle: {' -> '.join(map(str, _cycle(parents, set(order))))}")
    return tuple(order)


def _cycle(parents: Mapping[Name, tuple[Name, ...]], done: Collection[Name]) -> list[Name]:
    name = next(name for name in parents if name not in done)
    path: dict[Name, None] = {}
    while name not in path:
        path[name] = None
        name = next(parent for parent in parents[name] if parent not in done)
    cycle = [*path][[*path].index(name) :]
    return [name, *reversed(cycle)]


def children(parents: Mapping[Name, tuple[Name, ...]]) -> dict[Name, list[Name]]:
    """Each name and its children."""
    below: dict[Name, list[Name]] = {name: [] for name in parents}
    for name, above in parents.items():
        for parent in above:
            below[parent].append(name)
    return below


def checked(parents: Mapping[str, Iterable[str]] | Iterable[tuple[str, str]]) -> dict[str, tuple[str, ...]]:
    """{name: parents}, or pairs (cause, effect), with every parent a known name, named once."""
    if not isinstance(parents, Mapping):
        parents = _parents_from_pairs(parents)
    found = {}
    for name, above in parents.items():
        if not isinstance(name, str):
            raise NetworkError(f"a variable's name must be text, but is {name!r}")
        if isinstance(above, str):
            raise NetworkError(f"the parents of {name!r} must be a list of names, but are {above!r}: write [{above!r}]")
        found[name] = tuple(above)
        if len(set(found[name])) < len(found[name]):
            raise NetworkError(f"{name!r} has a parent twice: {', '.join(found[name])}")
        for parent in found[name]:
            if parent not in parents:
                raise NetworkError(f"{name!r} has an unknown parent {parent!r}; {suggest(parent, parents)}")
    return found


def _parents_from_pairs(pairs: object) -> dict[str, tuple[str, ...]]:
    """Arrows as (cause, effect)."""
    found: dict[str, dict[str, None]] = {}
    for pair in pairs if isinstance(pairs, Iterable) else [pairs]:
        if not isinstance(pair, tuple | list) or len(pair) != 2:
            raise NetworkError(f"arrows must be text, {{name: parents}} or pairs (cause, effect), not {pairs!r:.60}")
        cause, effect = pair
        found.setdefault(cause, {})
        found.setdefault(effect, {})[cause] = None
    return {name: tuple(above) for name, above in found.items()}


def reached(names: Iterable[Name], along: Mapping[Name, Iterable[Name]]) -> set[Name]:
    """These names, and all that can be reached from them."""
    found, waiting = set(names), list(names)
    while waiting:
        for name in along[waiting.pop()]:
            if name not in found:
                found.add(name)
                waiting.append(name)
    return found


def connected(start: Collection[Name], given: Collection[Name], parents: Mapping[Name, tuple[Name, ...]]) -> set[Name]:
    """All names that are d-connected to the start, given others: an active trail leads to them.

    A trail passes through a given variable only if it is a collider on the trail, and through a collider only if it or
    a descendant is given.
    """
    below, observed = children(parents), set(given)
    opened = reached(observed, parents)  # colliders that are active
    seen: set[tuple[Name, bool]] = set()
    waiting = [(name, True) for name in start]  # True: reached from a child
    while waiting:
        name, upward = waiting.pop()
        if (name, upward) in seen:
            continue
        seen.add((name, upward))
        if upward and name not in observed:
            waiting += [(parent, True) for parent in parents[name]] + [(child, False) for child in below[name]]
        elif not upward:
            if name not in observed:
                waiting += [(child, False) for child in below[name]]
            if name in opened:
                waiting += [(parent, True) for parent in parents[name]]
    return {name for name, _ in seen if name not in observed}


def blanket(name: str, parents: Parents) -> set[str]:
    """The Markov blanket: parents, children and the children's other parents."""
    below = children(parents)[name]
    return {*parents[name], *below, *(other for child in below for other in parents[child])} - {name}


def moral(parents: Parents) -> dict[str, set[str]]:
    """The moral graph as each name's neighbours: arrows lose their direction, and parents of one child are joined.

    >>> {name: sorted(others) for name, others in moral({"A": (), "B": (), "C": ("A", "B")}).items()}
    {'A': ['B', 'C'], 'B': ['A', 'C'], 'C': ['A', 'B']}
    """
    near: dict[str, set[str]] = {name: set() for name in parents}
    for name, above in parents.items():
        family = {name, *above}
        for each in family:
            near[each] |= family - {each}
    return near


@dataclass(frozen=True)
class Independence:
    """A variable is independent of others, given its parents.

    >>> print(Independence("Thunder", ("Storm", "Rain"), ("Lightning",)))
    Thunder ⟂ Storm, Rain | Lightning
    """

    name: str
    others: tuple[str, ...]
    given: tuple[str, ...]

    def __str__(self) -> str:
        return f"{self.name} ⟂ {', '.join(self.others)}{' | ' + ', '.join(self.given) if self.given else ''}"
