"""Evidence about categories and numbers: states, sets of states, likelihoods; numbers and intervals."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from math import inf, isfinite, isnan
from numbers import Real
from typing import TYPE_CHECKING, Any

from credo.errors import EvidenceError, SchemaError, suggest
from credo.networks.inference.findings import Findings, Given

if TYPE_CHECKING:
    from credo.networks.hybrid.network import HybridNetwork

Interval = tuple[float, float]


@dataclass(frozen=True, eq=False)
class HybridFindings:
    """Evidence: of categories, states or likelihoods; of numbers, values or intervals."""

    states: dict[str, int] = field(default_factory=dict)
    likelihoods: dict[str, Any] = field(default_factory=dict)  # {name: {state: likelihood}}, the largest being 1
    values: dict[str, float] = field(default_factory=dict)
    intervals: dict[str, Interval] = field(default_factory=dict)
    log_scale: float = 0.0  # log of the factor by which likelihoods were divided

    @classmethod
    def of(cls, net: HybridNetwork, given: Given) -> HybridFindings:
        """From {name: state, [states], {state: likelihood}, number, or (low, high)}; None is no evidence."""
        if given is not None and not isinstance(given, Mapping):
            raise EvidenceError(f"evidence must be {{name: value}}, but is {given!r:.60}")
        found, categories = cls(), dict[str, Any]()
        for name, value in (given or {}).items():
            if name not in net.parents:
                raise SchemaError(f"there is no variable {name!r}; {suggest(name, net.parents)}")
            if name in net.numbers:
                found._know(name, value)
            else:
                categories[name] = value
        found.values.update(net.done)
        for name in net.done:
            found.intervals.pop(name, None)
        if not categories:
            return found
        return found._with_categories(net, Findings.of(net.category_index, categories))

    def _know(self, name: str, value: object) -> None:
        """Add a finding about a number."""
        read = number_or_interval(name, value)
        if isinstance(read, tuple):
            self.intervals[name] = read
        elif read is not None:
            self.values[name] = read

    def _with_categories(self, net: HybridNetwork, found: Findings) -> HybridFindings:
        likely: dict[str, Any] = {}
        places = net.category_index.places
        for v, (name, states) in enumerate(net.states.items()):
            own = found.weights[places[v] : places[v + 1]] if len(found.weights) else found.weights
            if bool((own != 1.0).any()):
                likely[name] = dict(zip(states, own.tolist(), strict=True))
        known = {name: int(code) for name, code in zip(net.states, found.codes, strict=True) if code >= 0}
        return HybridFindings(known, likely, self.values, self.intervals, found.log_scale)

    @property
    def hard(self) -> set[str]:
        """Variables whose value is known with certainty."""
        return {*self.states, *self.values}

    @property
    def names(self) -> set[str]:
        return {*self.states, *self.values, *self.intervals, *self.likelihoods}

    def discrete(self, net: HybridNetwork, names: Mapping[str, Any]) -> dict[str, Any]:
        """Findings about some categories, in the form that networks of tables read."""
        known = {name: net.states[name][code] for name, code in self.states.items() if name in names}
        return known | {name: each for name, each in self.likelihoods.items() if name in names}


def number_or_interval(name: str, value: object) -> float | Interval | None:
    """A finding about a number: the number, an interval (low, high) in which None means unbounded, or None."""
    if value is None:
        return None
    if isinstance(value, tuple | list) and len(value) == 2:
        low, high = (_end(name, each, other) for each, other in zip(value, (-inf, inf), strict=True))
        if not low < high:
            raise EvidenceError(f"the interval of {name!r} is empty: {low:g} isn't below {high:g}")
        return None if (low, high) == (-inf, inf) else (low, high)
    if isinstance(value, bool) or not isinstance(value, Real):
        raise EvidenceError(
            f"{name!r} is a number: give a number, or an interval as in (39, None), but not {value!r:.60}"
        )
    if isnan(value):
        return None
    if not isfinite(value):
        raise EvidenceError(f"{name!r} must be a finite number, but is {float(value):g}")
    return float(value)


def _end(name: str, value: object, unbounded: float) -> float:
    if value is None:
        return unbounded
    if isinstance(value, bool) or not isinstance(value, Real) or isnan(value):
        raise EvidenceError(f"an interval of {name!r} must have numbers as ends, or None, but has {value!r:.60}")
    return float(value)
