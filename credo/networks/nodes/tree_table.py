"""Trees over the parents' states, with a row of probabilities at each leaf: context-specific independence."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, Self

from credo.errors import NetworkError
from credo.networks.nodes.automaton import AutomatonNode, ParentAutomaton
from credo.networks.nodes.distribution import NodeFamily
from credo.networks.nodes.rows_by_case import RowsByCase, check_parents, named_row, stacked
from credo.networks.nodes.tree_growing import UngrownNode
from credo.numerics.exact import Array


@dataclass(frozen=True, eq=False)
class TreeSplit:
    """An inner node of a tree: a parent, and the subtree below each of its states."""

    parent: int
    below: tuple[TreeSplit | TreeLeaf, ...]


@dataclass(frozen=True, eq=False)
class TreeLeaf:
    """A leaf: the index of its row, from the left."""

    row: int
    given: Any
    where: str


@dataclass(frozen=True)
class TreeTable(RowsByCase):
    """P(node | parents) by a tree: {parent: {state: subtree, ...}}, and rows at its leaves (Boutilier et al. 1996).

    A key may be a tuple of states with the same subtree. A row is as in tables: {state: probability}, a list, or one
    number. Leaves of None are learned by `fit`; without a tree, it grows one by the evidence of its leaves, and
    `update`, `forget` and + keep that.

    >>> from credo.networks.network import Network
    >>> alarm = TreeTable({"Armed": {"yes": {"Burglar": {"yes": 0.95, "no": 0.01}}, "no": 0.0}})
    >>> net = Network("Armed -> Alarm <- Burglar", {"Armed": 0.5, "Burglar": 0.1, "Alarm": alarm})
    >>> net.tables["Alarm"][1].tolist()  # not armed
    [[0.0, 1.0], [0.0, 1.0]]
    """

    tree: Any = None
    grown: bool = False  # whether `fit` grew it and may grow another

    @property
    def known(self) -> bool:
        return self.tree is not None and all(leaf is not None for leaf in _leaves(self.tree))

    def bare(self) -> Self:
        return replace(self, tree=_mapped(self.tree, lambda _: None)) if self.tree is not None else self

    def unlearned(self) -> Self:
        return type(self)() if self.grown else self.bare()

    def node(self, family: NodeFamily) -> Any:
        check_parents(family, "TreeTable")
        if self.tree is None and not self.grown:  # one that grew may be a single leaf, and bare, that is None
            return UngrownNode(family)
        leaves: list[TreeLeaf] = []
        tree = _read(family, self.tree, "", leaves)
        splits = [*_splits(tree)]
        steps = [(split.parent, len(split.below)) for split in splits] or [(0, family.shape[0])]

        def move(i: int, place: TreeSplit | TreeLeaf, x: int) -> TreeSplit | TreeLeaf:
            return splits[i].below[x] if splits and place is splits[i] else place

        def final(place: TreeSplit | TreeLeaf) -> int:
            assert isinstance(place, TreeLeaf)
            return place.row

        reading = ParentAutomaton.of(tree, steps, move, final, family.name)
        return AutomatonNode(family, self.bare(), reading, len(leaves))

    def rows(self, node: AutomatonNode) -> Array:
        leaves: list[TreeLeaf] = []
        _read(node.family, self.tree, "", leaves)
        return stacked(node.family, ((leaf.where, leaf.given) for leaf in leaves))

    def with_rows(self, node: AutomatonNode, rows: Array) -> Self:
        each = iter(rows)
        return replace(self, tree=_mapped(self.tree, lambda _: named_row(node.family.own, next(each))))


def _is_split(tree: Any) -> bool:
    """Whether it is {parent: {state: subtree}}, not a row."""
    return isinstance(tree, Mapping) and len(tree) == 1 and isinstance(next(iter(tree.values())), Mapping)


def _leaves(tree: Any) -> Iterator[Any]:
    if not _is_split(tree):
        yield tree
        return
    (branches,) = tree.values()
    for below in branches.values():
        yield from _leaves(below)


def _mapped(tree: Any, row: Any) -> Any:
    """The same tree with other rows, given from the left."""
    if not _is_split(tree):
        return row(tree)
    ((parent, branches),) = tree.items()
    return {parent: {states: _mapped(below, row) for states, below in branches.items()}}


def _read(
    family: NodeFamily, tree: Any, where: str, leaves: list[TreeLeaf], above: tuple[str, ...] = ()
) -> TreeSplit | TreeLeaf:
    if not _is_split(tree):
        leaves.append(TreeLeaf(len(leaves), tree, f" given{where}" if where else ""))
        return leaves[-1]
    ((parent, branches),) = tree.items()
    family.check_parent(parent, "a branch")
    if parent in above:
        raise NetworkError(f"the tree of {family.name!r} asks for {parent!r} twice on one path")
    below: dict[int, TreeSplit | TreeLeaf] = {}
    for key, subtree in branches.items():
        states = key if isinstance(key, tuple) else (key,)
        read = _read(family, subtree, f"{where} {parent}={'/'.join(map(str, states))}", leaves, (*above, parent))
        for state in states:
            if (code := family.code(parent, state)) in below:
                raise NetworkError(f"the tree of {family.name!r} has two branches for {parent}={state}")
            below[code] = read
    for i, state in enumerate(family.states[parent]):
        if i not in below:
            raise NetworkError(f"the tree of {family.name!r} has no branch for {parent}={state}")
    return TreeSplit(family.parents.index(parent), tuple(below[i] for i in range(len(below))))


def _splits(tree: TreeSplit | TreeLeaf) -> Iterator[TreeSplit]:
    """The distinct splits, from the root."""
    if isinstance(tree, TreeSplit):
        yield tree
        for below in dict.fromkeys(tree.below):
            yield from _splits(below)
