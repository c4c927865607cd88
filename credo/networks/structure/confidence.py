"""Edge confidence: the posterior probability of each arrow and of each directed path."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from credo.core.records import Shown
from credo.errors import NetworkError, SchemaError, check_whole, suggest
from credo.networks.mixed_graph import MixedGraph
from credo.networks.structure.exact_confidence import OverGraphs, OverOrders
from credo.networks.structure.order_mcmc import Convergence
from credo.networks.structure.score import Parents, ancestors
from credo.numerics.exact import Array

if TYPE_CHECKING:
    import pyarrow as pa
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from credo.networks.average import NetworkAverage
    from credo.networks.structure.learn import StructureTask

SAMPLED_GRAPHS = 1000  # graphs drawn from the posterior
AVERAGED_GRAPHS = 100


@dataclass(frozen=True, eq=False, repr=False)
class EdgeConfidence(Shown, Mapping[tuple[str, str], float]):
    """P(parent -> child | data) of each arrow: a mapping from (parent, child). `path` is the probability of a directed
    path, `edge` that of an arrow in either direction.

    Exact probabilities, and those of chains, average over all graphs and all tables; those of a bootstrap are the
    frequencies of an arrow in searches on resampled rows.
    """

    variables: tuple[str, ...]
    arrows: Array  # (parents, children)
    paths: Array  # (from, to)
    method: str  # exact, mcmc or bootstrap
    prior: str  # prior over graphs: orders or dags; none for a bootstrap
    paths_drawn: int = 0  # graphs from which the paths' probabilities are estimated; 0: they are exact
    convergence: Convergence | None = None  # of the Markov chains
    drawn: tuple[Parents, ...] = ()
    sums: OverOrders | OverGraphs | None = None
    replicates: int = 0  # of a bootstrap
    task: StructureTask | None = None  # the task, with its rows

    def __getitem__(self, arrow: tuple[str, str]) -> float:
        return float(self.arrows[self._places(*_pair(arrow))])

    def __iter__(self) -> Iterator[tuple[str, str]]:
        return ((a, b) for a in self.variables for b in self.variables if a != b)

    def __len__(self) -> int:
        return len(self.variables) * (len(self.variables) - 1)

    def edge(self, a: str, b: str) -> float:
        """P(a -> b or b -> a)."""
        i, j = self._places(a, b)
        return float(self.arrows[i, j] + self.arrows[j, i])

    def path(self, a: str, b: str) -> float:
        """P(a directed path leads from a to b)."""
        return float(self.paths[self._places(a, b)])

    def _places(self, a: str, b: str) -> tuple[int, int]:
        for name in (a, b):
            if name not in self.variables:
                raise SchemaError(f"there is no variable {name!r}; {suggest(name, self.variables)}")
        return self.variables.index(a), self.variables.index(b)

    def ranked(self, least: float = 0.0) -> list[tuple[str, str, float]]:
        """(parent, child, P(parent -> child)), the most probable first; those below `least` are left out."""
        found = [(a, b, p) for (a, b), p in self.items() if p >= least]
        return sorted(found, key=lambda each: -each[2])

    def table(self, least: float = 0.0) -> pa.Table:
        """An Arrow table: parent, child, P(parent -> child), P(an arrow in either direction), P(a path)."""
        import pyarrow as pa

        rows = self.ranked(least)
        return pa.table(
            {
                "parent": pa.array([a for a, _, _ in rows], pa.string()),
                "child": pa.array([b for _, b, _ in rows], pa.string()),
                "arrow": pa.array([p for _, _, p in rows], pa.float64()),
                "edge": pa.array([self.edge(a, b) for a, b, _ in rows], pa.float64()),
                "path": pa.array([self.path(a, b) for a, b, _ in rows], pa.float64()),
            }
        )

    def graph(self, least: float = 0.5) -> MixedGraph:
        """Arrows of more than this probability, and undirected edges where both directions together have it."""
        n, p = len(self.variables), self.arrows
        pairs = [(i, j) for i in range(n) for j in range(n) if i != j]
        names = self.variables
        arrows = {(names[i], names[j]) for i, j in pairs if p[i, j] > max(least, p[j, i])}
        joined = [(i, j) for i, j in pairs if i < j and p[i, j] + p[j, i] > least]
        edges = {(names[i], names[j]) for i, j in joined}
        edges -= arrows | {(b, a) for a, b in arrows}
        return MixedGraph(names, frozenset(arrows), frozenset(edges))

    @cached_property
    def graphs(self) -> Mapping[Parents, float]:
        """Graphs sampled from the posterior, each with its weight, the largest weight first."""
        return dict(sorted(self._weighted(self._draws).items(), key=lambda each: (-each[1], each[0])))

    @cached_property
    def _draws(self) -> tuple[Parents, ...]:
        return self.drawn or (() if self.sums is None else self.sums.sampled(SAMPLED_GRAPHS, seed=0))

    def _weighted(self, drawn: Iterable[Parents]) -> dict[Parents, float]:
        """Distinct graphs by weight."""
        counts = Counter(drawn)
        weights = {each: n * (1.0 if self.sums is None else self.sums.weight(each)) for each, n in counts.items()}
        total = sum(weights.values())
        return {each: weight / total for each, weight in weights.items()}

    def sampled_graphs(self, structures: int) -> dict[Parents, float]:
        """Up to this many distinct graphs with their weights: the first of the draws, in random order. Choosing the
        largest weights would be biased: with many variables, most graphs are drawn once."""
        chosen, seen = list[Parents](), set[Parents]()
        for i in np.random.default_rng(0).permutation(len(self._draws)).tolist():
            seen.add(self._draws[i])
            if len(seen) > structures:
                break
            chosen.append(self._draws[i])
        return self._weighted(chosen)

    def average(self, *, prior: Any = 1.0, structures: int = AVERAGED_GRAPHS) -> NetworkAverage:
        """The average over structures drawn from their posterior, with tables learned from the same rows, weights and
        bins: P = Σ P(structure) P(· | structure). At most `structures` distinct ones are drawn.

        The prior of the tables is as in Network.fit.
        """
        from credo.networks.average import NetworkAverage

        structures = check_whole("structures", structures, 1)
        if self.task is None:
            raise NetworkError("these probabilities come from scores without rows: use credo.edge_confidence(data)")
        graphs = self.sampled_graphs(structures)
        return NetworkAverage(tuple(self.task.fitted_to_all([*graphs], prior)), np.array([*graphs.values()]))

    def plot(self, least: float = 0.1, ax: Axes | None = None) -> Figure:
        """Edges with line widths proportional to their probabilities; those below `least` are omitted."""
        from credo.present.edge_confidence_plot import plot_confidence

        return plot_confidence(self, least, ax)

    def __repr__(self) -> str:
        from credo.present.edge_confidence import described

        return described(self)


def _pair(arrow: object) -> tuple[str, str]:
    if not isinstance(arrow, tuple) or len(arrow) != 2:
        raise SchemaError(f"an arrow is a pair of a parent and a child, not {arrow!r:.60}")
    return arrow


def arrow_shares(graphs: Sequence[Parents]) -> Array:
    """The share of graphs with each arrow u -> v, in row u and column v."""
    found = np.zeros((len(graphs[0]),) * 2)
    for graph in graphs:
        for v, own in enumerate(graph):
            found[[*own], v] += 1
    return found / len(graphs)


def path_shares(graphs: Sequence[Parents], arrows: Array) -> Array:
    """P(a directed path leads from u to v): P(u -> v), which is known more precisely, plus the share of graphs with
    only longer paths."""
    longer = np.zeros_like(arrows)
    for graph in graphs:
        reached = ancestors(graph).T.copy()
        for v, own in enumerate(graph):
            reached[[*own, v], v] = False
        longer += reached
    return np.minimum(arrows + longer / len(graphs), 1.0)
