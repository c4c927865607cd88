"""Mixed graphs: arrows and undirected edges between variables, such as a CPDAG or a moral graph."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from credo.core.records import Shown
from credo.errors import NetworkError, SchemaError, counted, suggest

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from credo.networks.comparison import GraphComparison
    from credo.networks.network import Network

Edge = tuple[str, str]
MOST_PRINTED_EDGES = 40


@dataclass(frozen=True, eq=False, repr=False)
class MixedGraph(Shown):
    """Variables, arrows (parent, child), and edges without a direction, each named once.

    >>> MixedGraph(("A", "B", "C"), frozenset({("A", "B")}), frozenset({("C", "B")}))
    Graph of 3 variables, 1 arrow and 1 undirected edge
      A -> B
      B - C
    """

    variables: tuple[str, ...]
    arrows: frozenset[Edge] = frozenset()
    edges: frozenset[Edge] = frozenset()  # in the order of the variables

    def __post_init__(self) -> None:
        place = {name: i for i, name in enumerate(self.variables)}
        if len(place) < len(self.variables):
            raise NetworkError("a graph must name each variable once")
        for name in (name for pair in (*self.arrows, *self.edges) for name in pair):
            if name not in place:
                raise NetworkError(f"an edge leads to {name!r}, which isn't there; {suggest(name, place)}")
        ordered = frozenset((a, b) if place[a] < place[b] else (b, a) for a, b in self.edges)
        object.__setattr__(self, "arrows", frozenset(self.arrows))
        object.__setattr__(self, "edges", ordered)
        marks = [frozenset(pair) for pair in (*self.arrows, *ordered)]
        if len(set(marks)) < len(marks) or any(len(pair) < 2 for pair in marks):
            raise NetworkError("a graph may have one arrow or edge between two different variables, and no more")

    @classmethod
    def of_parents(cls, parents: Mapping[str, Iterable[str]]) -> MixedGraph:
        """The arrows of a directed graph."""
        arrows = frozenset((parent, name) for name, above in parents.items() for parent in above)
        return cls(tuple(parents), arrows)

    @cached_property
    def parents(self) -> dict[str, tuple[str, ...]]:
        """Each variable and its parents."""
        return self._gathered((child, parent) for parent, child in self.arrows)

    @cached_property
    def neighbours(self) -> dict[str, tuple[str, ...]]:
        """Each variable and its neighbours by undirected edges."""
        return self._gathered(pair for a, b in self.edges for pair in ((a, b), (b, a)))

    @cached_property
    def adjacent(self) -> dict[str, tuple[str, ...]]:
        """Each variable and all variables adjacent to it."""
        return self._gathered(pair for a, b in (*self.arrows, *self.edges) for pair in ((a, b), (b, a)))

    def _gathered(self, pairs: Iterable[Edge]) -> dict[str, tuple[str, ...]]:
        place = {name: i for i, name in enumerate(self.variables)}
        found: dict[str, list[str]] = {name: [] for name in self.variables}
        for name, other in pairs:
            found[name].append(other)
        return {name: tuple(sorted(others, key=place.__getitem__)) for name, others in found.items()}

    def mark(self, a: str, b: str) -> str:
        """The edge between two variables: "->", "<-", "-", or "" for none."""
        for name in (a, b):
            if name not in self.adjacent:
                raise SchemaError(f"there is no variable {name!r}; {suggest(name, self.variables)}")
        if (a, b) in self.arrows or (b, a) in self.arrows:
            return "->" if (a, b) in self.arrows else "<-"
        return "-" if (a, b) in self.edges or (b, a) in self.edges else ""

    def extension(self) -> Network:
        """A network, without tables, with the same adjacencies, these arrows, and no new collider (Dor and Tarsi
        1992): of a CPDAG, a member of the equivalence class. An error where there is none."""
        from credo.networks.equivalence import extension_of
        from credo.networks.network import Network

        return Network(extension_of(self))

    def shd(self, other: MixedGraph | Network) -> int:
        """The structural Hamming distance: pairs of variables between which the two differ."""
        return self.compare(other).shd

    def compare(self, other: MixedGraph | Network) -> GraphComparison:
        """How another graph, an estimate of this one, differs from it; a network is compared by its arrows."""
        from credo.networks.comparison import GraphComparison

        return GraphComparison.of(self, other if isinstance(other, MixedGraph) else other.graph())

    def plot(self, ax: Axes | None = None) -> Figure:
        """The graph in layers, arrows with heads and edges without."""
        from credo.present.graph_plot import plot_graph

        return plot_graph(self, ax)

    def __eq__(self, other: object) -> bool:
        """Whether the variables, arrows and edges are the same, in any order."""
        if not isinstance(other, MixedGraph):
            return NotImplemented
        same = {*map(frozenset, self.edges)} == {*map(frozenset, other.edges)}
        return same and {*self.variables} == {*other.variables} and self.arrows == other.arrows

    def __hash__(self) -> int:
        return hash((frozenset(self.variables), self.arrows, frozenset(map(frozenset, self.edges))))

    def __repr__(self) -> str:
        found = [counted(len(self.variables), "variable"), counted(len(self.arrows), "arrow")]
        title = f"Graph of {found[0]}, {found[1]} and {counted(len(self.edges), 'undirected edge')}"
        lines = [f"  {a} {mark} {b}" for a, mark, b in self.listed()]
        more = [f"  ... and {len(lines) - MOST_PRINTED_EDGES} more"] if len(lines) > MOST_PRINTED_EDGES + 1 else []
        return "\n".join([title, *(lines[:MOST_PRINTED_EDGES] if more else lines), *more])

    def listed(self) -> list[tuple[str, str, str]]:
        """(a, "->" or "-", b), arrows first, in the order of the variables."""
        place = {name: i for i, name in enumerate(self.variables)}

        def key(pair: Edge) -> tuple[int, int]:
            return place[pair[0]], place[pair[1]]

        arrows = [(a, "->", b) for a, b in sorted(self.arrows, key=key)]
        return [*arrows, *((a, "-", b) for a, b in sorted(self.edges, key=key))]
