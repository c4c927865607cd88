"""Explanations: how much each finding changed the log-odds of an answer; the k most probable joint states."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice
from math import inf, log
from typing import TYPE_CHECKING, Any

from credo.core.records import Shown
from credo.errors import EvidenceError, NetworkError, check_whole
from credo.networks.answers import MostProbable
from credo.networks.inference.sizes import exact_only

if TYPE_CHECKING:
    from credo.networks.graphical_model import GraphicalModel
    from credo.networks.inference.findings import Given
    from credo.numerics.arrays import Integers
    from credo.numerics.exact import Array


@dataclass(frozen=True)
class Finding:
    """weight: the change of the log-odds when the finding was added to those before it; alone: the change it would make
    as the only finding; missed: the change that would be undone without it."""

    name: str
    value: object
    probability: float
    weight: float
    alone: float
    missed: float


@dataclass(frozen=True)
class QueryExplanation(Shown):
    """prior + the findings' weights = the log-odds of name = value, in nats."""

    name: str
    value: object
    prior: float
    findings: tuple[Finding, ...]
    log_odds: float
    probability: float
    done: Mapping[str, Any] = field(default_factory=dict)  # the intervention

    @classmethod
    def of(cls, net: GraphicalModel, name: str, given: Mapping[str, object], value: object = None) -> QueryExplanation:
        """The explanation of a value, by default the most probable one."""
        from credo.networks.inference.findings import state

        if name in given:
            raise EvidenceError(f"{name!r} is given: there is nothing to explain")
        given = {each: finding for each, finding in given.items() if finding is not None}
        if value is not None:
            value = net.states[name][state(net.potentials, net._number(name), value)]
        return cls.by(lambda some: net.query(name, some, method="exact"), name, given, value)

    @classmethod
    def by(
        cls,
        ask: Callable[[Mapping[str, Any]], Mapping[Any, float]],
        name: str,
        given: Mapping[str, object],
        value: object,
    ) -> QueryExplanation:
        """The explanation, from the answers to a query given some of the findings."""
        after = ask(given)
        if value is None:
            value = max(after, key=lambda each: after[each])

        def odds(some: Mapping[str, object]) -> float:
            return _log_odds(ask(some), value)

        prior, whole = odds({}), _log_odds(after, value)
        now, found, so_far = prior, list[Finding](), dict[str, Any]()
        for each, finding in given.items():
            so_far[each] = finding
            found_so_far = ask(dict(so_far))
            then = _log_odds(found_so_far, value)
            others = {other: known for other, known in given.items() if other != each}
            weight, alone = _step(now, then), _step(prior, odds({each: finding}))
            found.append(Finding(each, finding, found_so_far[value], weight, alone, _step(odds(others), whole)))
            now = then
        return cls(name, value, prior, tuple(found), whole, after[value])

    def __repr__(self) -> str:
        from credo.present.networks import explained

        return explained(self)


def best_explanations(
    model: GraphicalModel, variables: Sequence[str] | None, given: Given, k: int, method: str
) -> list[MostProbable]:
    """The k most probable joint states, the best first; fewer where fewer are possible."""
    from credo.networks.inference.findings import Findings
    from credo.networks.inference.k_best import best_solutions

    check_whole("k", k, 1)
    if method not in ("auto", "exact"):
        raise NetworkError(f"the k most probable states are exact: they aren't found by {method}")
    findings, names = Findings.of(model.potentials, given), [*(model.states if variables is None else variables)]
    asked = [model._number(name) for name in names]

    def best(codes: Integers, weights: Array) -> tuple[Integers, float]:
        return model.exact.best(codes, weights, model._maximised if variables is None else asked)

    with exact_only("the k most probable states aren't estimated: without k, they can be"):
        solutions = [*islice(best_solutions(findings, model.potentials.places, asked, best), k)]
    if not solutions:
        model._check(-inf, given)
    found = []
    for codes, log_joint in solutions:
        each = MostProbable((name, model.states[name][codes[v]]) for name, v in zip(names, asked, strict=True))
        each.log_joint = log_joint + findings.log_scale
        found.append(each)
    return found


def _log_odds(shares: Mapping[Any, float], value: object) -> float:
    rest = sum(p for other, p in shares.items() if other != value)
    return inf if rest == 0 else -inf if shares[value] == 0 else log(shares[value] / rest)


def _step(before: float, after: float) -> float:
    """The change of the log-odds; 0 where both are the same infinity."""
    return 0.0 if before == after else after - before
