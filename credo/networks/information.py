"""Mutual information between variables, and the information gain of possible questions."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from credo.core.records import Shown
from credo.errors import DataError, EvidenceError, SchemaError, suggest
from credo.networks.answers import Estimated, EstimatedNumber, Posterior
from credo.networks.graph import one_or_several
from credo.networks.inference.sizes import Method

if TYPE_CHECKING:
    from credo.networks.inference.findings import Given
    from credo.networks.tables import States

SMALLEST_DIVISOR = 1e-150  # so that 0/0 is no division by zero


class CategoryQueries(Protocol):
    """A network that answers queries about categories."""

    @property
    def states(self) -> States: ...

    def query(self, variables: str | Sequence[str], given: Given = None, *, method: Method = ...) -> Any: ...

    def marginals(self, given: Given = None) -> Mapping[str, Any]: ...


def mutual_information(
    model: CategoryQueries, a: str, b: str, given: Mapping[str, Any] | str | Iterable[str] | None, **how: Any
) -> float:
    """I(a; b) = Σ P(a, b) log P(a, b) / P(a)P(b), in nats, given evidence; or averaged over the variables named."""
    evidence = given if isinstance(given, Mapping) else None
    names = [] if given is None or evidence is not None else one_or_several(given)
    if twice := next((name for name in names if name in (a, b)), None):
        raise SchemaError(f"{twice!r} is named twice: a, b and given must have nothing in common")
    queried = list(dict.fromkeys([a, b, *names]))
    found = model.query(queried, evidence, **how)
    p = np.array([*found.values()]).reshape([len(model.states[name]) for name in queried])
    if a == b:
        p = np.stack([np.where(np.arange(len(p)) == i, p.T, 0.0).T for i in range(len(p))], axis=1)
    independent = (
        p.sum(1, keepdims=True) * p.sum(0, keepdims=True) / np.maximum(p.sum((0, 1), keepdims=True), SMALLEST_DIVISOR)
    )
    ratio = np.log(np.divide(p, independent, out=np.ones_like(p), where=p > 0))
    nats = max(0.0, float(np.sum(p * ratio)))
    if not isinstance(found, Estimated):
        return nats
    ratio = np.einsum("ii...->i...", ratio) if a == b else ratio
    error = found.spread(ratio.reshape(-1))
    return EstimatedNumber(nats, error, found.effective_samples, found.method, found.reliable)


def entropy(p: Posterior) -> float:
    """-Σ p log p, in nats.

    >>> round(entropy({"yes": 0.5, "no": 0.5}), 4)
    0.6931
    """
    mass = np.array([*p.values()])
    mass = mass[mass > 0]
    return float(-(mass * np.log(mass)).sum()) + 0.0


def divergence(p: Posterior, q: Posterior) -> float:
    """Σ p log p/q, in nats.

    >>> divergence({"yes": 0.5, "no": 0.5}, {"yes": 0.5, "no": 0.5})
    0.0
    """
    one, two = (np.array([*each.values()]) for each in (p, q))
    some = one > 0
    return max(0.0, float(np.sum(one[some] * np.log(one[some] / two[some]))))


@dataclass(frozen=True)
class InformationGain:
    """The expected reduction in the entropy of a target from observing a variable, in nats; worth = gain - price ·
    cost."""

    name: str
    gain: float
    cost: float
    worth: float


@dataclass(frozen=True, repr=False)
class InformationGains(Shown):
    """Candidate questions about a target, the best first."""

    target: str
    entropy: float  # of the target now, in nats
    questions: tuple[InformationGain, ...]

    @property
    def best(self) -> InformationGain | None:
        """The most valuable question; None if none is worth its cost."""
        return self.questions[0] if self.questions and self.questions[0].worth > 0 else None

    def __repr__(self) -> str:
        from credo.present.decisions import gains_described

        return gains_described(self)


def information_gains(
    model: CategoryQueries, target: str, given: Given, costs: Mapping[str, float] | None, price: float
) -> InformationGains:
    """I(T; X | e) = Σ P(t | e) Σ P(x | t, e) log P(x | t, e)/P(x | e) of each X: one pass over the network for each
    state t."""
    known = {name: value for name, value in (given or {}).items() if value is not None}
    for name, cost in (costs or {}).items():
        if name not in model.states:
            raise SchemaError(f"a cost is for {name!r}, which isn't a variable; {suggest(name, model.states)}")
        if isinstance(cost, bool) or not isinstance(cost, float | int | np.number) or not np.isfinite(cost):
            raise DataError(f"the cost of asking about {name!r} must be a number, but is {cost!r:.60}")
    if target not in model.states:
        raise SchemaError(f"there is no variable {target!r}; {suggest(target, model.states)}")
    if target in known:
        raise EvidenceError(f"{target!r} is known: nothing is left to ask about it")
    now = model.marginals(known)
    each = [(share, model.marginals({**known, target: state})) for state, share in now[target].items() if share > 0]
    found = []
    for name in (name for name in model.states if name != target and name not in known):
        # from the same marginals: other estimates might lack a state
        mixed = {x: sum(share * then[name][x] for share, then in each) for x in model.states[name]}
        gain = sum(share * divergence(then[name], mixed) for share, then in each)
        cost = float((costs or {}).get(name, 0.0))
        found.append(InformationGain(name, gain, cost, gain - price * cost))
    found.sort(key=lambda one: -one.worth)
    return InformationGains(target, entropy(now[target]), tuple(found))
