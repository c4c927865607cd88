"""Belief networks: arrows between variables, and a table for each; and Markov networks, which have factors alone."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from credo.errors import NetworkError, SchemaError, suggest
from credo.networks import graph
from credo.networks.factor import Factor
from credo.networks.fixed import Fixed
from credo.networks.inference.sizes import Method
from credo.networks.queries import Answering
from credo.networks.tables import States, states_of, table_of
from credo.numerics.exact import Array

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from credo.networks.explanation import Moved
    from credo.networks.inference.findings import Given

EXAMPLES = Path(__file__).parent.parent / "samples" / "networks"


@dataclass(frozen=True, eq=False, init=False, repr=False)
class Network(Answering):
    """P(all) = ∏ P(name | parents), over a DAG with a table for each name.

    The arrows are {name: parents}, or text. States are {name: values}, or values that all have in common.

    >>> fire = Network("Storm -> Fire", {"Storm": 0.2, "Fire": {"yes": 0.25, "no": 0.01}})
    >>> fire.states
    {'Storm': ('yes', 'no'), 'Fire': ('yes', 'no')}
    """

    parents: Mapping[str, tuple[str, ...]]
    tables: Mapping[str, Array]  # (the parents' states..., own states); empty where only the arrows are known
    states: States

    directed: ClassVar[bool] = True

    def __init__(
        self,
        arrows: str | Mapping[str, Iterable[str]] | Iterable[tuple[str, str]],
        tables: Mapping[str, Any] | None = None,
        states: Mapping[str, Sequence[Any]] | Sequence[Any] | None = None,
    ) -> None:
        parents = graph.checked(graph.parse_arrows(arrows) if isinstance(arrows, str) else arrows)
        if not parents:
            raise NetworkError("a network must have at least one variable")
        graph.in_order(parents)  # refuses circles
        if tables is not None and not isinstance(tables, Mapping):
            raise NetworkError(f"tables must be {{name: table}}, but are {tables!r:.60}")
        tables = dict(tables or {})
        for what, named in (("table", tables), ("list of states", states if isinstance(states, Mapping) else ())):
            for stranger in (name for name in named if name not in parents):
                raise NetworkError(f"a {what} is for {stranger!r}, which isn't there; {suggest(stranger, parents)}")
        for missing in (name for name in parents if tables and name not in tables):
            raise NetworkError(f"{missing!r} has no table; give one for each name, or none at all")
        known: dict[str, tuple[Any, ...]] = {}
        for name in parents if tables or states else ():
            given = states.get(name) if isinstance(states, Mapping) else states
            known[name] = states_of(name, given, tables.get(name), parents[name])
        object.__setattr__(self, "parents", Fixed(parents))
        object.__setattr__(self, "states", Fixed(known))
        made = {name: table_of(name, tables[name], parents[name], known) for name in parents if tables}
        for table in made.values():
            table.flags.writeable = False  # trees and samples are made of it once
        object.__setattr__(self, "tables", Fixed(made))

    @classmethod
    def read(cls, path: str | PathLike[str]) -> Network | MarkovNetwork:
        """A network from a file: BIF, XMLBIF, XDSL, Hugin NET, UAI, DSL or JSON, by the name's end."""
        from credo.formats import read

        return read(path)

    @classmethod
    def example(cls, name: str) -> Network:
        """One of the networks that come with credo: asia, earthquake, sprinkler or storm.

        >>> Network.example("sprinkler").query("Rain", {"WetGrass": "yes"})["yes"].__round__(4)
        0.7079
        """
        found = {path.stem: path for path in EXAMPLES.glob("*.bif")}
        if name not in found:
            raise NetworkError(f"there is no example {name!r}; {suggest(name, sorted(found))}")
        net = cls.read(found[name])
        assert isinstance(net, Network)
        return net

    def write(self: Network | MarkovNetwork, path: str | PathLike[str]) -> None:
        """To a file, in the format that the name's end says."""
        from credo.formats import write

        write(self, path)

    @property
    def variables(self) -> tuple[str, ...]:
        return tuple(self.parents)

    @cached_property
    def order(self) -> tuple[str, ...]:
        """The variables, parents before their children."""
        return graph.in_order(self.parents)

    @cached_property
    def factors(self) -> tuple[Factor, ...]:
        """One for each variable: its table, over the parents and itself."""
        if not self.tables:
            raise NetworkError("the network has arrows but no tables: give tables=")
        return tuple(Factor((*above, name), self.tables[name]) for name, above in self.parents.items())

    # What the arrows say

    def children(self, name: str) -> tuple[str, ...]:
        """The variables that an arrow leads to from this one."""
        return tuple(graph.children(self.parents)[self._known(name)])

    def ancestors(self, name: str) -> set[str]:
        """All that arrows lead from to the variable."""
        return graph.reached([self._known(name)], self.parents) - {name}

    def descendants(self, name: str) -> set[str]:
        """All that arrows lead to from the variable."""
        return graph.reached([self._known(name)], graph.children(self.parents)) - {name}

    def markov_blanket(self, name: str) -> set[str]:
        """Parents, children and the children's other parents: given these, nothing else says anything of it."""
        return graph.blanket(self._known(name), self.parents)

    def d_separated(self, a: str | Iterable[str], b: str | Iterable[str], given: str | Iterable[str] = ()) -> bool:
        """Whether the arrows make a and b independent, given others, whatever the tables."""
        left, right, known = (self._names(each) for each in (a, b, given))
        if both := (left & right) | (left & known) | (right & known):
            raise SchemaError(f"{min(both)!r} is named twice: a, b and given must have nothing in common")
        return not graph.connected(left, known, self.parents) & right

    def independencies(self) -> list[Independence]:
        """What each variable is independent of, given its parents: all that isn't below it. All else follows."""
        found, below = [], graph.children(self.parents)
        for name, above in self.parents.items():
            others = {*above, *graph.reached([name], below)}
            if len(others) < len(self.parents):
                independent = tuple(other for other in self.parents if other not in others)
                found.append(Independence(name, independent, above))
        return found

    def do(self, states: Mapping[str, Any]) -> Network:
        """The network in which somebody sets variables to states, or draws their states from {state: probability}: no
        arrow leads to them any more."""
        from credo.networks.inference.findings import state

        parents, tables = dict(self.parents), dict(self.tables)
        for name, value in states.items():
            parents[self._known(name)] = ()
            if isinstance(value, Mapping):
                tables[name] = np.array([*self._shares(name, value, "what do gives").values()])
                continue
            tables[name] = np.zeros(len(self.states[name]))
            tables[name][state(self.potentials, self._number(name), value)] = 1.0
        return Network(parents, tables, self.states)

    def explain(self, variable: str, given: Given, value: Any = None, *, do: Mapping[str, Any] | None = None) -> Moved:
        """How much each finding moved the answer: the log-odds of a value, by default the most probable; after somebody
        set other variables, if `do` says so."""
        found = Answering.explain(self.do(do) if do else self, variable, given, value)
        return replace(found, done=dict(do)) if do else found

    def sample(self, size: int, given: Given = None, seed: int | None = None, *, method: Method = "auto") -> Any:
        """An Arrow table of rows drawn from the network, given the evidence: exactly so, however improbable that is.
        Where that takes more memory than there is, "auto" draws chains of rows, and says how good they are."""
        from credo.networks.inference.sampling import drawn_table

        if method not in ("auto", "exact"):
            raise NetworkError(f'rows are drawn by method="exact", or "auto", not by {method!r}')
        return drawn_table(self, size, given, seed, method)

    def plot(self, given: Given = None, ax: Axes | None = None) -> Figure:
        """The arrows, and what is believed of each variable; in axes of your own, if you give them."""
        from credo.present.network_plot import plot_network

        return plot_network(self, given, ax)

    def __eq__(self, other: object) -> bool:
        """Whether the arrows, the states and the tables are the same, in whatever order they were given."""
        if not isinstance(other, Network):
            return NotImplemented
        if self.parents.keys() != other.parents.keys() or bool(self.tables) != bool(other.tables):
            return False
        same = ({*above} == {*other.parents[name]} for name, above in self.parents.items())
        return all(same) and self._same_states(other) and all(self._same_table(other, name) for name in self.tables)

    def __hash__(self) -> int:
        return hash(frozenset((name, frozenset(above)) for name, above in self.parents.items()))

    def _same_states(self, other: Network) -> bool:
        if self.states.keys() != other.states.keys():
            return False
        return all({*own} == {*other.states[name]} for name, own in self.states.items())

    def _same_table(self, other: Network, name: str) -> bool:
        scope, theirs = (*self.parents[name], name), (*other.parents[name], name)
        table = other.tables[name].transpose([theirs.index(each) for each in scope])
        for axis, each in enumerate(scope):
            table = table.take([other.states[each].index(state) for state in self.states[each]], axis)
        return np.array_equal(self.tables[name], table)

    def __repr__(self) -> str:
        from credo.present.networks import described

        return described(self)

    def _known(self, name: str) -> str:
        if name not in self.parents:
            raise SchemaError(f"there is no variable {name!r}; {suggest(name, self.parents)}")
        return name

    def _names(self, given: str | Iterable[str]) -> set[str]:
        return {self._known(name) for name in ([given] if isinstance(given, str) else given)}


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


@dataclass(frozen=True, eq=False, init=False, repr=False)
class MarkovNetwork(Answering):
    """P(all) ∝ ∏ factor: variables and factors over some of them, without arrows, as a UAI file may hold.

    >>> net = MarkovNetwork({"a": (0, 1), "b": (0, 1)}, [Factor(("a", "b"), np.array([[3.0, 1.0], [1.0, 3.0]]))])
    >>> net.variables
    ('a', 'b')
    """

    states: States
    factors: tuple[Factor, ...]

    directed: ClassVar[bool] = False

    def __init__(self, states: Mapping[str, Sequence[Any]], factors: Iterable[Factor]) -> None:
        if not states:
            raise NetworkError("a network must have at least one variable")
        known = {name: states_of(name, values, None) for name, values in states.items()}
        made = tuple(factors)
        for factor in made:
            for stranger in (name for name in factor.scope if name not in known):
                raise NetworkError(f"a factor is about {stranger!r}, which isn't there; {suggest(stranger, known)}")
            wanted = tuple(len(known[name]) for name in factor.scope)
            if factor.table.shape != wanted or len(set(factor.scope)) < len(factor.scope):
                raise NetworkError(f"a factor over {factor.scope} must have {wanted} numbers, not {factor.table.shape}")
            if not (np.isfinite(factor.table).all() and (factor.table >= 0).all()):
                raise NetworkError(f"a factor over {factor.scope} must have numbers of at least 0")
        object.__setattr__(self, "states", Fixed(known))
        object.__setattr__(self, "factors", made)

    write = Network.write

    def __eq__(self, other: object) -> bool:
        """Whether the states and the factors are the same, in the same order."""
        if not isinstance(other, MarkovNetwork):
            return NotImplemented
        if dict(self.states) != dict(other.states) or len(self.factors) != len(other.factors):
            return False
        pairs = zip(self.factors, other.factors, strict=True)
        return all(a.scope == b.scope and np.array_equal(a.table, b.table) for a, b in pairs)

    def __hash__(self) -> int:
        return hash((tuple(self.states), tuple(factor.scope for factor in self.factors)))

    def __repr__(self) -> str:
        return f"MarkovNetwork of {len(self.states)} variables and {len(self.factors)} factors"
