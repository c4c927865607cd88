"""Connected components: evidence cuts a network into independent parts; each is answered separately, exactly if that
fits in memory."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from math import exp, hypot, log

import numpy as np

from credo.errors import SizeError
from credo.networks.factor import Factor
from credo.networks.inference.approximate import estimates, log_total
from credo.networks.inference.estimate import Estimate, JointQuery, Total
from credo.networks.inference.findings import NO_LIKELIHOODS, Findings
from credo.networks.inference.joint_table import JointTable, is_small
from credo.networks.inference.potentials import Potentials
from credo.networks.inference.simulated_annealing import best_found, best_of_some
from credo.networks.inference.sizes import EXACT, Sampling
from credo.networks.inference.trees import Trees
from credo.numerics.arrays import Flags, Integers
from credo.numerics.exact import Array

CACHED_CUTS = 16  # decompositions kept for later queries
SMALL_COMPONENT = 2**12  # joint states up to which components are answered together

Check = Callable[[float], None]  # raises an error for impossible evidence, given its log-probability


@dataclass(frozen=True, eq=False)
class ConnectedComponent:
    """A connected component of the free variables, with their observed neighbours, as a separate network."""

    variables: Integers  # their indices in the whole network
    potentials: Potentials

    @classmethod
    def of(cls, whole: Potentials, factors: Sequence[int], free: Integers) -> ConnectedComponent:
        """The component of these variables. In a belief network each variable needs a table: observed variables whose
        own table is in another component get a table of ones."""
        scopes = whole.scopes
        there = np.unique(np.concatenate([free, *(np.array(scopes[f], dtype=np.int64) for f in factors)]))
        names = {int(v): str(v) for v in there}
        made = {int(whole.children[f]): f for f in factors} if whole.directed else {}
        tables = [
            Factor(tuple(names[u] for u in scopes[made[v]]), whole.table(made[v]))
            if v in made
            else Factor((names[v],), np.ones(int(whole.card[v])))
            for v in (names if whole.directed else ())
        ]
        if not whole.directed:
            tables = [Factor(tuple(names[u] for u in scopes[f]), whole.table(f)) for f in factors]
        states = {names[int(v)]: tuple(range(int(whole.card[v]))) for v in there}
        return cls(there, Potentials.of(states, tables, whole.directed))

    @cached_property
    def exact(self) -> JointTable | Trees:
        return JointTable(self.potentials) if is_small(self.potentials) else Trees(self.potentials)

    @cached_property
    def number(self) -> dict[int, int]:
        """{index in the whole network: index here}"""
        return {v: i for i, v in enumerate(self.variables.tolist())}

    def findings(self, whole: Potentials, given: Findings) -> Findings:
        """The evidence on its variables; likelihoods of observed variables are counted once, in another place."""
        codes = given.codes[self.variables]
        if not len(given.weights):
            return Findings(codes, NO_LIKELIHOODS)
        own = [
            given.weights[whole.places[v] : whole.places[v + 1]] if code < 0 else np.ones(int(whole.card[v]))
            for v, code in zip(self.variables.tolist(), codes.tolist(), strict=True)
        ]
        weights = np.concatenate(own)
        return Findings(codes, weights if (weights != 1.0).any() else NO_LIKELIHOODS)


@dataclass(frozen=True, eq=False)
class Cut:
    """The components that a query is about, and the factors over observed variables only."""

    parts: Sequence[ConnectedComponent]
    known: Sequence[int]

    @cached_property
    def part_of(self) -> dict[int, int]:
        """The component of each variable; any of them for observed variables."""
        return {v: i for i, part in enumerate(self.parts) for v in part.variables.tolist()}


class Components:
    """Answers to queries, component by component: "auto" estimates components that don't fit in memory, "exact" refuses
    them, and other methods estimate all."""

    def __init__(self, potentials: Potentials) -> None:
        self.potentials = potentials
        self._cuts: OrderedDict[bytes, Cut] = OrderedDict()

    def estimates(
        self, findings: Findings, asked: Sequence[JointQuery], sampling: Sampling, check: Check
    ) -> list[Estimate]:
        """P(variables, event | findings) of each joint query: the product over components."""
        cut = self._cut(findings, {v for group in asked for v in (*group.variables, *group.event)})
        check(self._log_of_observed(cut, findings))
        split = [self._split(cut, findings, group) for group in asked]
        answered: dict[tuple[int, int], Estimate] = {}
        for i, part in enumerate(cut.parts):
            mine = [(g, own[i]) for g, own in enumerate(split) if i in own]
            own = part.findings(self.potentials, findings)
            found = _component_estimates(part, own, [group for _, group in mine], sampling, check)
            answered |= {(g, i): each for (g, _), each in zip(mine, found, strict=True)}
        return [
            self._product(
                group,
                findings,
                [(cut.parts[i], own, answered[g, i]) for i, own in split[g].items()],
                _unsampled(sampling.method),
            )
            for g, group in enumerate(asked)
        ]

    def log_total(self, findings: Findings, sampling: Sampling) -> Total:
        """log P(evidence), or log Z without arrows: the sum over components."""
        cut = self._cut(findings, ())
        how = _unsampled(sampling.method)
        value, error, effective, reliable = self._log_of_observed(cut, findings), 0.0, np.inf, True
        for part in cut.parts if value > -np.inf else ():
            own = part.findings(self.potentials, findings)
            found = _total(part, own, sampling)
            value, error = value + found.log_value, hypot(error, found.error)
            if found.method != EXACT:
                effective, how, reliable = min(effective, found.effective), found.method, reliable and found.reliable
        return Total(value, error, effective, how, reliable)

    def best(
        self, findings: Findings, asked: Sequence[int] | None, sampling: Sampling, check: Check
    ) -> tuple[Integers, float | Total, str]:
        """The most probable joint state of all variables or some, its log-probability, and the method."""
        everything = range(len(self.potentials.card))
        cut = self._cut(findings, everything if asked is None else asked)
        codes, value, how = findings.codes.copy(), self._log_of_observed(cut, findings), EXACT
        check(value)
        error, effective, estimated, reliable = 0.0, np.inf, False, True
        for part in cut.parts:
            own = part.findings(self.potentials, findings)
            wanted = None if asked is None else [part.number[v] for v in asked if v in part.number and codes[v] < 0]
            found, log_joint, exactly = _best(part, own, wanted, sampling)
            if isinstance(log_joint, Total):
                estimated, error, reliable = True, hypot(error, log_joint.error), reliable and log_joint.reliable
                effective, log_joint = min(effective, log_joint.effective), log_joint.log_value
            check(log_joint)
            how, value = how if exactly else "annealing", value + log_joint
            free = own.codes < 0
            codes[part.variables[free]] = found[free]
        return codes, Total(value, error, effective, how, reliable) if estimated else value, how

    # Inside

    def _cut(self, findings: Findings, wanted: Iterable[int]) -> Cut:
        observed = findings.codes >= 0
        asked = np.zeros(len(observed), dtype=np.bool_)
        asked[[*wanted]] = True
        if len(findings.weights):
            asked |= np.logical_or.reduceat(findings.weights != 1.0, self.potentials.places[:-1])
        key = np.packbits([observed, asked]).tobytes()
        found = self._cuts.get(key)
        if found is None:
            found = self._cuts[key] = self._decomposed(observed, asked | observed)
            while len(self._cuts) > CACHED_CUTS:
                self._cuts.popitem(last=False)
        return found

    def _decomposed(self, observed: Flags, wanted: Flags) -> Cut:
        """The components of a query, without barren nodes."""
        from scipy.sparse import coo_array
        from scipy.sparse.csgraph import connected_components

        held = self.potentials
        n, count = len(held.card), len(held.children)
        used = self._ancestral_factors(wanted) if held.directed else np.ones(count, dtype=np.bool_)
        place = used[held.factor_of] & ~observed[held.factors.scope]
        edges = held.factors.scope[place], held.factor_of[place] + n
        graph = coo_array((np.ones(len(edges[0]), dtype=np.int8), edges), shape=(n + count, n + count))
        _, label = connected_components(graph, directed=False)
        there = ~observed & (used[np.argsort(held.children)] if held.directed else True)
        sizes = np.bincount(label[:n][there], held.log_card[there], minlength=int(label.max()) + 1)
        free, first = np.flatnonzero(there), int(label.max()) + 1
        groups = np.where(
            sizes[label[:n][free]] <= log(SMALL_COMPONENT), first, label[:n][free]
        )  # all small components together
        touched = np.zeros(count, dtype=np.bool_)
        touched[held.factor_of[place]] = True
        group_of = np.full(first + 1, -1)
        group_of[label[:n][free]] = groups
        of_factor = group_of[label[n:]]
        parts = [
            ConnectedComponent.of(held, np.flatnonzero(touched & (of_factor == each)).tolist(), free[groups == each])
            for each in np.unique(groups).tolist()
        ]
        return Cut(parts, np.flatnonzero(used & ~touched).tolist())

    def _ancestral_factors(self, wanted: Flags) -> Flags:
        """The factors of these variables and their ancestors."""
        held = self.potentials
        factor = np.argsort(held.children)
        used, waiting = np.zeros(len(factor), dtype=np.bool_), np.flatnonzero(wanted).tolist()
        while waiting:
            f = int(factor[waiting.pop()])
            if not used[f]:
                used[f] = True
                waiting += held.scopes[f][:-1]
        return used

    def _log_of_observed(self, cut: Cut, findings: Findings) -> float:
        """The log of the factors over observed variables only."""
        held, found = self.potentials, self.potentials.log_scale
        with np.errstate(divide="ignore"):
            for f in cut.known:
                found += float(np.log(held.table(f)[tuple(findings.codes[held.scopes[f]])]))
            if len(findings.weights):
                observed = findings.codes >= 0
                found += float(np.log(findings.weights[(held.places[:-1] + findings.codes)[observed]]).sum())
        return found

    def _split(self, cut: Cut, findings: Findings, group: JointQuery) -> dict[int, JointQuery]:
        """The part of a joint query that concerns each component, in the component's indices."""
        parts: dict[int, tuple[list[int], dict[int, Flags]]] = {}
        for v in (v for v in (*group.variables, *group.event) if findings.codes[v] < 0):
            i = cut.part_of[v]
            variables, event = parts.setdefault(i, ([], {}))
            here = cut.parts[i].number[v]
            if v in group.variables and here not in variables:
                variables.append(here)
            if v in group.event:
                event[here] = group.event[v]
        return {i: JointQuery(variables, event) for i, (variables, event) in parts.items()}

    def _product(
        self,
        group: JointQuery,
        findings: Findings,
        found: Sequence[tuple[ConnectedComponent, JointQuery, Estimate]],
        otherwise: str,
    ) -> Estimate:
        """The product of independent tables, with an axis for each variable of the query."""
        happens = all(allowed[findings.codes[v]] for v, allowed in group.event.items() if findings.codes[v] >= 0)
        axes = [int(part.variables[v]) for part, own, _ in found for v in own.variables]
        if len(found) == 1 and happens and axes == [*group.variables]:
            return found[0][2]
        table, variance = np.full((), float(happens)), np.zeros(())
        for _, _, each in found:
            variance = np.multiply.outer(variance, each.table**2) + np.multiply.outer(table**2, each.error**2)
            table = np.multiply.outer(table, each.table)
        order = [axes.index(v) for v in group.variables if findings.codes[v] < 0]
        place = tuple(slice(None) if findings.codes[v] < 0 else int(findings.codes[v]) for v in group.variables)
        whole = np.zeros([int(self.potentials.card[v]) for v in group.variables])
        errors = np.zeros_like(whole)
        whole[place], errors[place] = table.transpose(order), np.sqrt(variance.transpose(order))
        guessed = [each for _, _, each in found if each.method != EXACT]

        def spread(x: Array) -> float:
            """An upper bound: errors of probabilities that sum to 1 are negatively correlated."""
            return float(np.sqrt(2.0 * (x - x @ whole.ravel()) ** 2 @ errors.ravel() ** 2))

        return Estimate(
            whole,
            errors,
            min((each.effective for each in guessed), default=np.inf),
            guessed[0].method if guessed else otherwise,
            spread,
            reliable=all(each.reliable for each in guessed),
        )


def _unsampled(method: str) -> str:
    """The method reported for an answer without samples."""
    return EXACT if method == "auto" else method


def _component_estimates(
    part: ConnectedComponent,
    findings: Findings,
    asked: Sequence[JointQuery],
    sampling: Sampling,
    check: Check,
) -> list[Estimate]:
    """The answers for one component, exact if it fits; evidence on a component that isn't queried must be possible, as
    far as can be determined."""
    if sampling.method in ("auto", EXACT):
        try:
            return [*_exactly(part, findings, asked, check)]
        except SizeError:
            if sampling.method == EXACT and asked:
                raise
    return estimates(part.potentials, findings, asked, sampling) if asked else []


def _exactly(
    part: ConnectedComponent, findings: Findings, asked: Sequence[JointQuery], check: Check
) -> Iterator[Estimate]:
    places = part.potentials.places
    if len(asked) == 1:
        table, found = _joint(part, findings, asked[0])
        check(found)
        yield _sure(table)
        return
    if not asked:
        if part.potentials.with_zeros.any():
            check(part.exact.log_total(findings.codes, findings.weights))
        return
    marginals = np.empty(int(places[-1]))
    check(part.exact.marginals(findings.codes, findings.weights, marginals))
    for group in asked:
        if len(group.variables) == 1 and not group.event:
            (v,) = group.variables
            yield _sure(marginals[places[v] : places[v + 1]].copy())
        else:
            yield _sure(_joint(part, findings, group)[0])


def _joint(part: ConnectedComponent, findings: Findings, group: JointQuery) -> tuple[Array, float]:
    """P(variables, event | findings), and log P(findings)."""
    exact, p = part.exact, 1.0
    after: Findings | None = findings
    if group.event:
        after = findings.where(group.event, part.potentials.places)
        before = exact.log_total(findings.codes, findings.weights)
        happens = -np.inf if after is None else exact.log_total(after.codes, after.weights)
        p = min(1.0, exp(happens - before)) if before > -np.inf else 1.0
        if p == 0.0 or before == -np.inf or after is None or not group.variables:
            return np.full([int(part.potentials.card[v]) for v in group.variables], p * (not group.variables)), before
    assert after is not None
    table, found = exact.joint(after.codes, after.weights, group.variables)
    return p * table, found


def _sure(table: Array) -> Estimate:
    return Estimate(table, np.zeros_like(table), np.inf, EXACT, lambda _: 0.0)


def _total(part: ConnectedComponent, findings: Findings, sampling: Sampling) -> Total:
    if sampling.method in ("auto", EXACT):
        try:
            return Total(part.exact.log_total(findings.codes, findings.weights), 0.0, np.inf, EXACT)
        except SizeError:
            if sampling.method == EXACT:
                raise
    return log_total(part.potentials, findings, sampling)


def _best(
    part: ConnectedComponent, findings: Findings, asked: Sequence[int] | None, sampling: Sampling
) -> tuple[Integers, float | Total, bool]:
    """The most probable joint state of a component, its log-probability, and whether it is exact."""
    method, samples, seed = sampling
    if asked is not None and not asked:
        found = _total(part, findings, sampling._replace(method="auto") if method == "gibbs" else sampling)
        return findings.codes, found.log_value if found.method == EXACT else found, True
    if method in ("auto", EXACT):
        try:
            return *part.exact.best(findings.codes, findings.weights, asked), True
        except SizeError:
            if method == EXACT:
                raise
    if asked is None:
        return *best_found(part.potentials, findings, samples, seed), False
    return *best_of_some(part.potentials, part.exact, findings, asked, samples, seed), False
