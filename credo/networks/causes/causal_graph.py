"""Causal graphs: arrows from causes to effects, some variables hidden."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from credo.core.records import Shown
from credo.errors import DataError, NetworkError, SchemaError, suggest
from credo.networks import graph
from credo.networks.causes.projection import Projection
from credo.networks.directed_graph import DirectedGraph
from credo.networks.fixed import Fixed

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from credo.core.learning import Weight
    from credo.networks.causes.effect import Effect
    from credo.networks.causes.identification import Identification
    from credo.networks.inference.findings import Given
    from credo.networks.network import Network


@dataclass(frozen=True, eq=False, init=False, repr=False)
class CausalGraph(DirectedGraph, Shown):
    """Causes and effects without tables. Hidden variables are named, or implied by a bidirected arrow: A <-> B is a
    hidden common cause of A and B.

    >>> smoking = CausalGraph("Smoking -> Tar -> Cancer; Smoking <-> Cancer")
    >>> print(smoking.identify("Smoking", "Cancer").formula)
    P(Cancer | do(Smoking)) = Σ_Tar P(Tar | Smoking) Σ_Smoking' P(Cancer | Smoking', Tar) P(Smoking')
    """

    parents: Mapping[str, tuple[str, ...]]  # including the hidden variables
    hidden: tuple[str, ...]

    def __init__(
        self, arrows: str | Mapping[str, Iterable[str]] | Iterable[tuple[str, str]], hidden: str | Iterable[str] = ()
    ) -> None:
        parents, unnamed = _parsed(arrows) if isinstance(arrows, str) else (graph.checked(arrows), ())
        if not parents:
            raise NetworkError("a causal graph must have at least one variable")
        graph.in_order(parents)  # refuses cycles
        named = graph.one_or_several(hidden)
        for name in named:
            if name not in parents:
                raise SchemaError(f"{name!r} is hidden, but isn't a variable; {suggest(name, parents)}")
        object.__setattr__(self, "parents", Fixed(parents))
        object.__setattr__(self, "hidden", tuple(dict.fromkeys([*named, *unnamed])))
        if not self.observed:
            raise NetworkError("all variables are hidden: nothing can be observed")

    @property
    def observed(self) -> tuple[str, ...]:
        return tuple(name for name in self.parents if name not in self.hidden)

    @cached_property
    def projection(self) -> Projection:
        """The latent projection: the graph of the observed variables alone."""
        return Projection.of(self.parents, self.hidden)

    def identify(
        self, cause: str | Sequence[str], outcome: str | Sequence[str], given: str | Sequence[str] = ()
    ) -> Identification:
        """Whether and how P(outcome | do(cause), given) is identifiable: by back-door or front-door adjustment, or by
        the general algorithm."""
        from credo.networks.causes.identification import identify

        causes, outcomes = self._checked_names(cause, "a cause"), self._checked_names(outcome, "an outcome")
        known = self._checked_names(given, "what is given") if given else ()
        if both := {*causes} & {*outcomes}:
            raise SchemaError(f"{min(both)!r} is cause and outcome: an effect is of one variable on another")
        if both := {*known} & {*causes, *outcomes}:
            raise SchemaError(f"{min(both)!r} is given: an effect is of and on other variables")
        return identify(self.parents, self.hidden, causes, outcomes, known)

    def effect(
        self,
        cause: str | Sequence[str],
        outcome: str | Sequence[str],
        data: object,
        *,
        given: Given = None,
        prior: object = None,
        weight: Weight = None,
        draws: int | None = None,
        seed: int = 0,
    ) -> Effect:
        """P(outcome | do(cause)), estimated from rows of the observed variables, with credible intervals, optionally
        given evidence.

        The observed variables' distribution is learned as a network, by default with Dirichlet(1) for each row of a
        table; the estimand is evaluated for `draws` (1000) from its posterior. An effect that isn't identifiable is an
        error that says why.
        """
        from credo.networks.causes.effect import effect_of

        found = self.identify(cause, outcome, [*(given or {})])
        if not found:
            raise NetworkError(found.reason)
        self._check_columns(data, weight)
        net = self.observed_network().fit(data, prior=prior, weight=weight)
        return effect_of(found, net, draws, seed, given)

    def observed_network(self) -> Network:
        """Arrows between the observed variables that can represent every distribution of them under this graph. Where
        hidden variables confound, the arrows describe associations, not causes."""
        from credo.networks.network import Network

        return Network(self.projection.observed_parents())

    def _checked_names(self, names: str | Sequence[str], what: str) -> tuple[str, ...]:
        found = tuple(graph.one_or_several(names))
        if not found or len({*found}) < len(found):
            raise SchemaError(f"{what} must be a name or several, each once, not {names!r:.60}")
        for name in found:
            if self._known(name) in self.hidden:
                raise SchemaError(f"{name!r} is hidden: {what} must be observed")
        return found

    def _check_columns(self, data: object, weight: Weight) -> None:
        from credo.data import source

        table = source(data)
        if table.once:
            raise DataError("an iterator can be read only once, and an effect needs its rows twice: give a table")
        columns = table.without(weight).names
        if missing := next((name for name in self.observed if name not in columns), None):
            raise SchemaError(
                f"the data have no column {missing!r}; {suggest(missing, columns)} If it isn't observed, name it in "
                "hidden="
            )

    def plot(self, ax: Axes | None = None) -> Figure:
        """The graph; hidden common causes are dashed bidirected arrows."""
        from credo.present.causes_plot import plot_causal_graph

        return plot_causal_graph(self, ax)

    def __eq__(self, other: object) -> bool:
        """Whether arrows and hidden variables are the same, in any order."""
        if not isinstance(other, CausalGraph):
            return NotImplemented
        same = {name: {*own} for name, own in self.parents.items()} == {n: {*own} for n, own in other.parents.items()}
        return same and {*self.hidden} == {*other.hidden}

    def __hash__(self) -> int:
        return hash((frozenset(self.parents), frozenset(self.hidden)))

    def __repr__(self) -> str:
        from credo.present.causes import graph_described

        return graph_described(self)


def _parsed(text: str) -> tuple[dict[str, tuple[str, ...]], tuple[str, ...]]:
    """The arrows, with a hidden variable for each bidirected one."""
    if graph.BNLEARN_MODEL.fullmatch(text):
        return graph.parse_arrows(text), ()
    names, marks = graph.parse_marks(text)
    found: dict[str, dict[str, None]] = {name: {} for name in names}
    unnamed: dict[str, None] = {}
    for left, mark, right in marks:
        if left == right:
            raise NetworkError(f"{left} {mark} {right}: an arrow must join two different variables")
        if mark == "<->":
            common = f"{left} <-> {right}"
            unnamed[common] = None
            found[common] = {}
            found[left][common] = found[right][common] = None
        else:
            cause, effect = (left, right) if mark == "->" else (right, left)
            found[effect][cause] = None
    return graph.checked({name: tuple(own) for name, own in found.items()}), tuple(unnamed)
