"""Directed acyclic graphs without tables: relatives, d-separation, Markov equivalence, distances between graphs."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Literal

from credo.errors import NetworkError, SchemaError, suggest
from credo.networks import graph
from credo.networks.graph import Independence

if TYPE_CHECKING:
    from credo.networks.comparison import GraphComparison
    from credo.networks.mixed_graph import MixedGraph

Compared = Literal["cpdag", "dag"]


class DirectedGraph:
    """A directed acyclic graph of named variables: the part of a network that has no tables."""

    parents: Mapping[str, tuple[str, ...]]

    # Relatives

    def children(self, name: str) -> tuple[str, ...]:
        """The variables to which this one has an arrow."""
        return tuple(graph.children(self.parents)[self._known(name)])

    def ancestors(self, name: str) -> set[str]:
        """All variables from which a directed path leads to this one."""
        return graph.reached([self._known(name)], self.parents) - {name}

    def descendants(self, name: str) -> set[str]:
        """All variables to which a directed path leads from this one."""
        return graph.reached([self._known(name)], graph.children(self.parents)) - {name}

    def markov_blanket(self, name: str) -> set[str]:
        """Parents, children and the children's other parents: given these, it is independent of all others."""
        return graph.blanket(self._known(name), self.parents)

    # Independence

    def d_separated(self, a: str | Iterable[str], b: str | Iterable[str], given: str | Iterable[str] = ()) -> bool:
        """Whether a and b are independent given others, in every network with these arrows."""
        left, right, known = self._checked_sets(a, b, given)
        return not graph.connected(left, known, self.parents) & right

    def minimal_separator(
        self,
        a: str | Iterable[str],
        b: str | Iterable[str],
        given: str | Iterable[str] = (),
        among: str | Iterable[str] | None = None,
    ) -> set[str] | None:
        """The fewest variables that d-separate a and b: all of `given`, and others of `among`. None where nothing
        separates them, as where an arrow joins them."""
        from credo.networks.smallest_separator import smallest_separator

        left, right, known = self._checked_sets(a, b, given)
        allowed = {*self.parents} if among is None else self._names(among)
        return smallest_separator(left, right, known, allowed, self.parents)

    def independencies(self) -> list[Independence]:
        """The local Markov property: each variable is independent of its non-descendants, given its parents."""
        found, below = list[Independence](), graph.children(self.parents)
        for name, above in self.parents.items():
            others = {*above, *graph.reached([name], below)}
            if len(others) < len(self.parents):
                independent = tuple(other for other in self.parents if other not in others)
                found.append(Independence(name, independent, above))
        return found

    # Other graphs

    def graph(self) -> MixedGraph:
        """The graph of the arrows."""
        from credo.networks.mixed_graph import MixedGraph

        return MixedGraph.of_parents(self.parents)

    def cpdag(self) -> MixedGraph:
        """The completed partially directed graph: an arrow where all Markov-equivalent networks agree on the
        direction, an undirected edge elsewhere."""
        from credo.networks.equivalence import cpdag_of, numbered

        return cpdag_of(numbered(self.parents)).named(tuple(self.parents))

    def moral(self) -> MixedGraph:
        """The moral graph: arrows lose their direction, and parents of one child are joined."""
        from credo.networks.mixed_graph import MixedGraph

        near = graph.moral(self.parents)
        edges = frozenset((a, b) for b in near for a in near[b] if a < b)
        return MixedGraph(tuple(self.parents), frozenset(), edges)

    def equivalent(self, other: DirectedGraph) -> bool:
        """Whether two networks are Markov equivalent: they imply the same independencies."""
        from credo.networks.comparison import check_same_variables
        from credo.networks.equivalence import are_equivalent, numbered

        check_same_variables(self.parents, other.parents)
        return are_equivalent(numbered(self.parents), numbered({name: other.parents[name] for name in self.parents}))

    def shd(self, other: DirectedGraph | MixedGraph, of: Compared = "cpdag") -> int:
        """The structural Hamming distance: pairs of variables between which the CPDAGs differ, or the DAGs."""
        return self.compare(other, of).shd

    def compare(self, other: DirectedGraph | MixedGraph, of: Compared = "cpdag") -> GraphComparison:
        """How another graph, an estimate of this one, differs from it: as CPDAGs, or of="dag" arrow by arrow."""
        from credo.networks.comparison import GraphComparison
        from credo.networks.mixed_graph import MixedGraph

        if of not in ("cpdag", "dag"):
            raise NetworkError(f'graphs are compared as of="cpdag" or of="dag", not as {of!r:.60}')
        one, two = (
            each if isinstance(each, MixedGraph) else each.cpdag() if of == "cpdag" else each.graph()
            for each in (self, other)
        )
        return GraphComparison.of(one, two)

    # Names

    def _known(self, name: str) -> str:
        if name not in self.parents:
            raise SchemaError(f"there is no variable {name!r}; {suggest(name, self.parents)}")
        return name

    def _names(self, given: str | Iterable[str]) -> set[str]:
        return {self._known(name) for name in graph.one_or_several(given)}

    def _checked_sets(
        self, a: str | Iterable[str], b: str | Iterable[str], given: str | Iterable[str]
    ) -> tuple[set[str], set[str], set[str]]:
        left, right, known = (self._names(each) for each in (a, b, given))
        if both := (left & right) | (left & known) | (right & known):
            raise SchemaError(f"{min(both)!r} is named twice: a, b and given must have nothing in common")
        return left, right, known
