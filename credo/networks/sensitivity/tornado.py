"""Tornado charts: the range of an answer as each entry varies alone, the widest first."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from credo.core.records import Shown
from credo.errors import DataError
from credo.networks.sensitivity.derivatives import tables_of
from credo.networks.sensitivity.sensitivity import Entry, Sensitivity, listed
from credo.numerics.distributions import Beta, checked_mass
from credo.numerics.exact import Array

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from credo.networks.network import Network

DEFAULT_CHANGE = 0.1  # relative change of the entries of fixed tables


@dataclass(frozen=True)
class Bar:
    """An entry, its range, and the answers at the ends of the range."""

    entry: Entry
    low: float
    high: float
    at_low: float
    at_high: float

    @property
    def width(self) -> float:
        return abs(self.at_high - self.at_low)


@dataclass(frozen=True, eq=False, repr=False)
class Tornado(Shown):
    """The bars of a tornado, the widest first."""

    title: str
    within: str  # how far entries vary
    probability: float
    bars: tuple[Bar, ...]

    def plot(self, ax: Axes | None = None) -> Figure:
        from credo.present.tornado_plot import plot_tornado

        return plot_tornado(self, ax)

    def __repr__(self) -> str:
        from credo.present.sensitivity import tornado_described

        return tornado_described(self)


def tornado_of(found: Sensitivity, mass: float, change: float | None, top: int) -> Tornado:
    from credo.networks.table_beliefs import has_posterior

    net, learned = found.net, change is None and has_posterior(found.net)
    share = DEFAULT_CHANGE if change is None else change
    if not isinstance(share, float | int | np.number) or not 0 < share <= 1:
        raise DataError(f"change must be a share between 0 and 1, as 0.1 for 10%, but is {change!r:.60}")
    ranges = credible_ranges(net, mass) if learned else _changed(net, float(share))
    within = f"{100 * mass:g}% credible intervals" if learned else f"{100 * share:g}% up and down"
    bars: list[tuple[float, str, int]] = []
    ends: dict[str, tuple[Array, Array, Array, Array]] = {}
    for name, (low, high) in ranges.items():
        ends[name] = low, high, _answer(found, name, low), _answer(found, name, high)
        wide = listed(np.nan_to_num(np.abs(ends[name][3] - ends[name][2])), net.states[name])
        best = np.argsort(-wide, kind="stable")[:top]
        bars += [(float(wide[place]), name, int(place)) for place in best if wide[place] > 0]
    bars.sort(key=lambda each: -each[0])
    made = [
        Bar(found.entry_at(name, place), *(float(end.reshape(-1)[place]) for end in ends[name]))
        for _, name, place in bars[:top]
    ]
    title = f"P({found.name}={found.value})"
    return Tornado(title, within, found.probability, tuple(made))


def _answer(found: Sensitivity, name: str, x: Array) -> Array:
    """The answer if each entry alone were x."""
    moved, own = x - found.net.tables[name], found.slopes[name]
    below = 1 + own.below * moved
    with np.errstate(divide="ignore", invalid="ignore"):
        answer = (found.probability + own.above * moved) / below
    return np.where(below > 0, np.clip(answer, 0.0, 1.0), np.nan)


def credible_ranges(net: Network, mass: float) -> dict[str, tuple[Array, Array]]:
    """Equal-tailed credible intervals of all entries: each is a Beta."""
    from credo.networks.table_beliefs import concentrations

    checked_mass(mass)
    alphas: dict[Any, Array] = dict(concentrations(net))
    found = {}
    for name, node in net.nodes.items():
        alpha = alphas[node.label]
        rest = alpha.sum(-1, keepdims=True) - alpha
        if alpha.shape[-1] > 1:
            low, high = Beta(alpha, rest).interval(mass)
            found[name] = np.asarray(low), np.asarray(high)
    return found


def _changed(net: Network, share: float) -> dict[str, tuple[Array, Array]]:
    tables = tables_of(net).items()
    return {name: (table * (1 - share), np.minimum(1.0, table * (1 + share))) for name, table in tables}
