"""Sensitivity of an answer to the entries of tables: derivatives, one-way functions, tornado, bounds."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from numbers import Real
from typing import TYPE_CHECKING, Any

import numpy as np

from credo.core.records import Shown
from credo.errors import EvidenceError, SchemaError, check_whole, suggest
from credo.networks.inference.findings import Findings, Given, affirmative, state
from credo.networks.inference.sizes import exact_only
from credo.networks.sensitivity.derivatives import Slopes, table_slopes
from credo.notices import tell
from credo.numerics.exact import Array

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from credo.networks.network import Network
    from credo.networks.sensitivity.bounds import Bounds
    from credo.networks.sensitivity.tornado import Tornado

MOST_LISTED_ENTRIES = 20


@dataclass(frozen=True)
class Entry:
    """An entry of a table, P(name = state | given), and the derivative of the answer."""

    name: str
    state: object
    given: Mapping[str, Any]
    value: float
    derivative: float

    def __str__(self) -> str:
        causes = ", ".join(f"{parent}={value}" for parent, value in self.given.items())
        return f"P({self.name}={self.state}{' | ' + causes if causes else ''})"


@dataclass(frozen=True)
class OneWay:
    """The answer as a function of one entry x: (p + a·(x - θ)) / (1 + b·(x - θ)), a ratio of two linear functions."""

    entry: Entry
    probability: float
    slopes: tuple[float, float]

    def __call__(self, x: float) -> float:
        """The answer if the entry were x; NaN where the evidence would be impossible."""
        if not 0 <= x <= 1:
            raise EvidenceError(f"{self.entry} must be a probability, not {x!r}")
        moved, (a, b) = x - self.entry.value, self.slopes
        below = 1 + b * moved
        return float("nan") if below <= 1e-15 else min(1.0, max(0.0, (self.probability + a * moved) / below))

    def solve(self, probability: float) -> float | None:
        """The value of the entry at which the answer has a probability; None if no value between 0 and 1 does."""
        asked: Any = probability
        if not isinstance(asked, Real) or asked != asked:
            raise EvidenceError(f"the answer's probability must be a number, but is {asked!r:.60}")
        a, b = self.slopes
        rate = a - probability * b
        if rate == 0:
            return None
        x = self.entry.value + (probability - self.probability) / rate
        return x if 0 <= x <= 1 else None


def listed(sizes: Array, states: Sequence[object]) -> Array:
    """The sizes of a table's derivatives; of two states, one counts as 0, since the other has the opposite
    derivative."""
    return (sizes * np.eye(2)[affirmative(states)] if len(states) == 2 else sizes).reshape(-1)


@dataclass(frozen=True, eq=False, repr=False)
class Sensitivity(Shown):
    """How P(name = value | given) depends on each entry of each table, exactly.

    When an entry changes, the others of its row are rescaled (proportional covariation).
    """

    name: str
    value: object
    given: Mapping[str, Any]
    probability: float
    net: Network
    slopes: Mapping[str, Slopes] = field(default_factory=dict)

    @classmethod
    def of(cls, net: Network, name: str, given: Given, value: object) -> Sensitivity:
        given = {each: finding for each, finding in (given or {}).items() if finding is not None}
        target = net._number(name)
        if name in given:
            raise EvidenceError(f"{name!r} is given: no table moves the answer")
        findings = Findings.of(net.potentials, given)
        labels = [*net.tied.values()]
        if len({*labels}) < len(labels):
            tell("tied nodes share a table, but the entries of each are varied separately here")
        with exact_only("derivatives aren't estimated"):
            answer = net.query(name, given, method="exact")
            best = max(answer, key=lambda each: answer[each])
            code = net.states[name].index(best) if value is None else state(net.potentials, target, value)
            p, slopes = table_slopes(net, findings, target, code)
        return cls(name, net.states[name][code], given, p, net, slopes)

    @cached_property
    def derivatives(self) -> Mapping[str, Array]:
        """∂P(name = value | given) / ∂θ of each table, in its shape."""
        return {name: own.above - self.probability * own.below for name, own in self.slopes.items()}

    def entries(self, top: int | None = MOST_LISTED_ENTRIES) -> list[Entry]:
        """The entries that move the answer most, the largest derivative first; None: all that move it. Of two states,
        one is listed: the other's derivative is the opposite."""
        if top is not None:
            check_whole("top", top, 1)
        names = [*self.derivatives]
        flat = np.concatenate([listed(self.derivatives[name], self.net.states[name]) for name in names])
        starts = np.cumsum([0, *(self.derivatives[name].size for name in names)])
        order = np.argsort(-np.abs(flat), kind="stable")
        moving = order[np.abs(flat[order]) > 0][:top]
        found = []
        for place in moving.tolist():
            which = int(np.searchsorted(starts, place, side="right")) - 1
            found.append(self.entry_at(names[which], place - int(starts[which])))
        return found

    def entry_at(self, name: str, place: int) -> Entry:
        """The entry at a flat index of a table."""
        table = self.net.tables[name]
        *above, own = np.unravel_index(place, table.shape)
        causes = {p: self.net.states[p][int(i)] for p, i in zip(self.net.parents[name], above, strict=True)}
        derivative = float(self.derivatives[name].reshape(-1)[place])
        return Entry(name, self.net.states[name][int(own)], causes, float(table.reshape(-1)[place]), derivative)

    def place_of(self, name: str, value: object, given: Given = None) -> tuple[int, ...]:
        """The index of an entry P(name = value | parents' states) in its table."""
        if name not in self.slopes:
            raise SchemaError(f"there is no table of {name!r}; {suggest(name, self.slopes)}")
        above, given = self.net.parents[name], given or {}
        if other := next((each for each in given if each not in above), None):
            raise SchemaError(f"{other!r} isn't a parent of {name!r}; its parents: {', '.join(above) or 'none'}")
        if missing := next((each for each in above if given.get(each) is None), None):
            raise SchemaError(f"an entry of {name!r} needs the state of each parent, and {missing!r} has none")
        states = [*((each, given[each]) for each in above), (name, value)]
        return tuple(state(self.net.potentials, self.net._number(each), value) for each, value in states)

    def function(self, name: str, value: object, given: Given = None) -> OneWay:
        """The answer as a function of one entry, P(name = value | given): given are the states of its parents."""
        where = self.place_of(name, value, given)
        own = self.slopes[name]
        entry = self.entry_at(name, int(np.ravel_multi_index(where, own.above.shape)))
        return OneWay(entry, self.probability, (float(own.above[where]), float(own.below[where])))

    def tornado(self, mass: float = 0.95, change: float | None = None, top: int = MOST_LISTED_ENTRIES) -> Tornado:
        """The range of the answer as each entry varies alone: within its credible interval if the tables were learned;
        else, or with `change`, by a relative change, 0.1 for 10%."""
        from credo.networks.sensitivity.tornado import tornado_of

        return tornado_of(self, mass, change, check_whole("top", top, 1))

    def bounds(self, intervals: Sequence[tuple[str, object, Mapping[str, object] | None, float, float]]) -> Bounds:
        """The least and largest P(name = value | given) if some entries are known only as intervals, each given as
        (name, state, parents' states, low, high)."""
        from credo.networks.sensitivity.bounds import bounds_of

        return bounds_of(self, intervals)

    def plot(self, ax: Axes | None = None) -> Figure:
        """The tornado."""
        return self.tornado().plot(ax)

    def __repr__(self) -> str:
        from credo.present.sensitivity import sensitivity_described

        return sensitivity_described(self)
