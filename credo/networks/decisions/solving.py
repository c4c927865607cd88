"""The best policy, by variable elimination against the order of decisions: unknown variables are summed out, decisions
maximised.

Beside factors of probability there are factors of utility, which add. Eliminating x by a sum gives φ′ = Σₓ ∏ φ and
ψ′ = Σₓ ∏ φ · Σ ψ / φ′, over those factors that have x; a decision takes the largest ψ (Jensen and Nielsen 2007).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from functools import reduce
from math import prod
from operator import mul
from typing import TYPE_CHECKING

import numpy as np

from credo.errors import EvidenceError
from credo.networks.decisions.policy import DecisionTable, Policy
from credo.networks.factor import Factor
from credo.networks.graph import children, reached
from credo.networks.inference.findings import Findings
from credo.networks.inference.sizes import check_size
from credo.numerics.exact import Array

if TYPE_CHECKING:
    from credo.networks.decisions.influence_diagram import InfluenceDiagram
    from credo.networks.inference.findings import Given

UTILITY_TOLERANCE = 1e-12  # relative to the largest utility: smaller differences are rounding errors


def solved(diagram: InfluenceDiagram, given: Given) -> Policy:
    """The policy with the largest expected utility, given the evidence."""
    net = diagram.network
    findings = Findings.of(net.potentials, given)
    taken = checked_evidence(diagram, given)
    net._check(net.exact.log_total(findings.codes, findings.weights), given)
    run = DecisionElimination(diagram, findings)
    left = [name for name in diagram.decisions if name not in taken]
    tables: list[DecisionTable] = []
    for decision in reversed(left):
        known = {*diagram.known_before(decision)}
        run.sum_out(name for name in run.waiting if name != decision and name not in known)
        tables.append(run.decide(decision, diagram.known_before(decision)))
    run.sum_out([*run.waiting])
    possible = [_with_possible(diagram, table, given) for table in reversed(tables)]
    return Policy(run.utility(), tuple(possible), dict(given or {}))


def known_names(given: Given) -> set[str]:
    """The variables with evidence; None is no evidence."""
    return {name for name, value in (given or {}).items() if value is not None}


def checked_evidence(diagram: InfluenceDiagram, given: Given) -> list[str]:
    """The decisions already taken; evidence may depend on these, but not on later decisions."""
    known = known_names(given)
    taken = [name for name in diagram.decisions if name in known]
    if late := next((name for name in diagram.decisions[: len(taken)] if name not in known), None):
        raise EvidenceError(f"the decision {taken[-1]!r} is given, and {late!r}, which is taken before it, isn't")
    for name in taken:
        if not isinstance(given, Mapping) or isinstance(given[name], dict | list | set | tuple | frozenset):
            raise EvidenceError(f"the decision {name!r} must be given as one of its options")
    below = children(diagram.parents)
    for decision in diagram.decisions[len(taken) :]:
        after = reached([decision], {name: [c for c in own if c in diagram.tables] for name, own in below.items()})
        if late := next((name for name in known if name in after), None):
            raise EvidenceError(
                f"{late!r} depends on the decision {decision!r}, which isn't taken yet: give that decision, too, or "
                f"leave {late!r} out"
            )
    return taken


class DecisionElimination:
    """Probability and utility factors, from which variables are eliminated one by one."""

    def __init__(self, diagram: InfluenceDiagram, findings: Findings) -> None:
        self.states, places = diagram.states, diagram.network.potentials.places
        self.codes = {name: int(code) for name, code in zip(diagram.states, findings.codes, strict=True) if code >= 0}
        self.chances, self.utilities, self.constant = list[Factor](), list[Factor](), 0.0
        weighed = [
            (name, findings.weights[places[i] : places[i + 1]])
            for i, name in enumerate(diagram.states)
            if len(findings.weights) and (findings.weights[places[i] : places[i + 1]] != 1.0).any()
        ]
        needed = reached([*diagram.utilities, *self.codes, *(name for name, _ in weighed)], diagram.parents)
        for name, table in diagram.tables.items():
            if name in needed:
                self._add_chance(self._sliced((*diagram.parents[name], name), table))
        for name, weights in weighed:
            self._add_chance(self._sliced((name,), weights))
        for name, table in diagram.utilities.items():
            self._add_utility(self._sliced(diagram.parents[name], table))
        self.waiting = [name for name in diagram.states if name not in self.codes and self._has(name)]

    def _sliced(self, scope: Sequence[str], table: Array) -> Factor:
        at = tuple(self.codes.get(name, slice(None)) for name in scope)
        return Factor(tuple(name for name in scope if name not in self.codes), table[at])

    def _has(self, name: str) -> bool:
        return any(name in factor.scope for factor in (*self.chances, *self.utilities))

    def _add_chance(self, factor: Factor) -> None:
        if factor.scope:
            self.chances.append(factor)

    def _add_utility(self, factor: Factor) -> None:
        if factor.scope:
            self.utilities.append(factor)
        else:
            self.constant += float(factor.table)

    def utility(self) -> float:
        assert not self.utilities
        return self.constant

    def sum_out(self, names: Iterable[str]) -> None:
        """Sum out variables, the one with the smallest product first."""
        left = [*names]
        while left:
            name = min(left, key=self._size)
            left.remove(name)
            chance, utility = self._removed(name)
            summed = chance.sum_out([name])
            if utility is not None:
                total = (chance * utility).sum_out([name])
                self._add_utility(_divided(total, summed))
            self._add_chance(summed)

    def decide(self, name: str, known: Sequence[str]) -> DecisionTable:
        """The best option in each relevant information state."""
        if not self._has(name):  # no utility depends on it
            self.waiting = [each for each in self.waiting if each != name]
            none = np.full(len(self.states[name]), self.constant)
            return DecisionTable(name, self.states[name], (), (), tuple(known), none)
        chance, utility = self._removed(name)
        self._add_chance(_reduced(chance, name))  # equal for all options
        if utility is None:
            utility = Factor((name,), np.zeros(len(self.states[name])))
        scope = tuple(each for each in known if each in utility.scope)
        table = utility.over((*scope, name)).table + self.constant
        self._add_utility(_reduced(utility, name))
        return DecisionTable(name, self.states[name], *_relevant(scope, table, self.states, known))

    def _removed(self, name: str) -> tuple[Factor, Factor | None]:
        """Remove the factors that contain a variable: their product, and the sum of its utilities."""
        check_size(self._size(name))
        one = Factor((name,), np.ones(len(self.states[name])))
        chance = reduce(mul, [one, *(each for each in self.chances if name in each.scope)])
        utilities = [each for each in self.utilities if name in each.scope]
        self.chances = [each for each in self.chances if name not in each.scope]
        self.utilities = [each for each in self.utilities if name not in each.scope]
        self.waiting = [each for each in self.waiting if each != name]
        return chance, reduce(_added, utilities) if utilities else None

    def _size(self, name: str) -> int:
        near = {each for factor in (*self.chances, *self.utilities) if name in factor.scope for each in factor.scope}
        return prod(len(self.states[each]) for each in near)


def _added(a: Factor, b: Factor) -> Factor:
    scope = (*a.scope, *(name for name in b.scope if name not in a.scope))
    lengths = dict(zip((*a.scope, *b.scope), (*a.table.shape, *b.table.shape), strict=True))
    ones = Factor(scope, np.ones([lengths[name] for name in scope]))
    return Factor(scope, (ones * a).over(scope).table + (ones * b).over(scope).table)


def _divided(a: Factor, b: Factor) -> Factor:
    """a / b, 0 where b is 0: impossible states contribute no utility."""
    with np.errstate(divide="ignore"):
        inverse = Factor(b.scope, np.where(b.table > 0, 1.0 / np.where(b.table > 0, b.table, 1.0), 0.0))
    return a * inverse


def _reduced(factor: Factor, name: str) -> Factor:
    """The maximum over a variable."""
    kept = tuple(each for each in factor.scope if each != name)
    return Factor(kept, factor.table.max(factor.scope.index(name)))


def _relevant(
    scope: Sequence[str], table: Array, states: Mapping[str, tuple[object, ...]], known: Sequence[str]
) -> tuple[tuple[str, ...], tuple[tuple[object, ...], ...], tuple[str, ...], Array]:
    """The table without information that is irrelevant to the options' utilities."""
    kept, size = [*scope], float(np.abs(table).max(initial=1.0))
    for name in scope:
        axis = kept.index(name)
        if np.ptp(table, axis=axis).max(initial=0.0) <= UTILITY_TOLERANCE * size:
            table = np.asarray(table.take(0, axis))
            kept.remove(name)
    others = tuple(name for name in known if name not in kept)
    return tuple(kept), tuple(states[name] for name in kept), others, table


def _with_possible(diagram: InfluenceDiagram, table: DecisionTable, given: Given) -> DecisionTable:
    """The table with the possible information states."""
    if not table.known:
        return table
    found = diagram.network.query([*table.known], given, method="exact")
    return replace(table, possible=np.array([*found.values()]).reshape(table.utilities.shape[:-1]) > 0)
