"""Exact answers: numbers are integrated out given the categories that they depend on, which gives one more factor over
these categories."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from math import ceil, prod
from typing import TYPE_CHECKING, Any

import numpy as np

from credo.errors import EvidenceError, SizeError
from credo.networks.answers import Estimated
from credo.networks.factor import LARGEST_LOG_RATIO, Factor
from credo.networks.graphical_model import GraphicalModel
from credo.networks.hybrid.answers import JointNumbers, NumberAnswer
from credo.networks.hybrid.components import GaussianComponent, components, relevant
from credo.networks.hybrid.findings import HybridFindings
from credo.networks.hybrid.gaussian import SolvedGaussian
from credo.networks.hybrid.truncated_normal import NormalGivenInterval, truncated_moments
from credo.networks.inference.sizes import InferenceOptions
from credo.networks.markov_network import MarkovNetwork
from credo.networks.network import Network
from credo.numerics.distributions import Normal
from credo.numerics.exact import Array

if TYPE_CHECKING:
    from credo.networks.answers import Posterior
    from credo.networks.hybrid.network import HybridNetwork

LARGEST_LOG_TABLE = 2**12  # joint configurations of all switches in one log table
IMPOSSIBLE_EVIDENCE = "the evidence is impossible: its probability is 0"


@dataclass(frozen=True, eq=False)
class Solution:
    """A component's Gaussian in every configuration of its switches, and the likelihood of the findings."""

    component: GaussianComponent
    solved: SolvedGaussian
    log_weight: Array  # (configurations,) log p(findings about its numbers | configuration)
    inside: tuple[Array, Array] | None = None  # mean and variance of the number with interval evidence

    @classmethod
    def of(cls, component: GaussianComponent) -> Solution:
        component.check()
        if len(component.intervals) > 1:
            names = ", ".join(map(repr, component.intervals))
            raise SizeError(f"{names} have interval evidence and depend on each other; an exact answer allows one")
        solved = component.solved(component.every())
        for name in component.intervals:
            j = component.places[name]
            mean, variance = solved.mean[:, j], solved.covariance([j])[:, 0, 0]
            log_mass, *inside = truncated_moments(mean, variance, *component.findings.intervals[name])
            return cls(component, solved, solved.log_density + log_mass, (inside[0], inside[1]))
        return cls(component, solved, solved.log_density)

    def one(self, name: str) -> Normal | NormalGivenInterval:
        """The distribution of one number for every configuration."""
        j = self.component.places[name]
        mean = self.solved.mean[:, j]
        if self.inside is None:
            return Normal(mean, np.sqrt(self.solved.covariance([j])[:, 0, 0]))
        (known,) = self.component.intervals
        i = self.component.places[known]
        both = self.solved.covariance([j, i])
        spread, slope = both[:, 1, 1], both[:, 0, 1] / both[:, 1, 1]
        residual = np.zeros_like(slope) if i == j else np.maximum(both[:, 0, 0] - slope**2 * spread, 0.0)
        low, high = self.component.findings.intervals[known]
        return NormalGivenInterval(mean, residual, slope, self.solved.mean[:, i], spread, low, high)

    def several(self, names: Sequence[str]) -> tuple[Array, Array]:
        """Means and covariances of some of its numbers; exact moments given interval evidence."""
        places = [self.component.places[name] for name in names]
        mean, covariance = self.solved.mean[:, places], self.solved.covariance(places)
        if self.inside is None:
            return mean, covariance
        i = self.component.places[self.component.intervals[0]]
        whole = self.solved.covariance([*places, i])
        spread = whole[:, -1, -1]
        slope = whole[:, :-1, -1] / spread[:, None]
        shift, narrower = self.inside[0] - self.solved.mean[:, i], self.inside[1] - spread
        return mean + slope * shift[:, None], covariance + slope[:, :, None] * slope[:, None, :] * narrower[
            :, None, None
        ]


@dataclass(frozen=True, eq=False)
class ExactQuery:
    """An exact query of a network, given findings."""

    net: HybridNetwork
    findings: HybridFindings
    names: list[str]  # relevant variables
    how: InferenceOptions  # method, samples and seed for queries about categories

    @classmethod
    def of(
        cls, net: HybridNetwork, asked: Sequence[str], findings: HybridFindings, how: InferenceOptions
    ) -> ExactQuery:
        names = relevant(net, asked, findings)
        for name in (name for name in names if name in net.logistic):
            unknown = [each for each in net.logistic[name].numbers if each not in findings.values]
            if unknown:
                raise SizeError(
                    f"{name!r} depends on the number {unknown[0]!r} by a logistic node, so answers aren't exact "
                    "if that number is unknown"
                )
        return cls(net, findings, names, how)

    @cached_property
    def solutions(self) -> list[Solution]:
        return [Solution.of(each) for each in components(self.net, self.names, self.findings)]

    @cached_property
    def categories(self) -> list[str]:
        return [name for name in self.names if name in self.net.states]

    @cached_property
    def _directed(self) -> Network:
        """The categories alone, before evidence on numbers."""
        net = self.net
        if not net.logistic:
            return net.category_network
        inside = {*self.categories}
        parents = {name: net.category_parents(name) for name in self.categories}
        tables = {name: table_at(net, name, self.findings) for name in self.categories}
        for name in dict.fromkeys(name for above in parents.values() for name in above if name not in inside):
            parents[name], tables[name] = (), np.full(len(net.states[name]), 1.0 / len(net.states[name]))  # observed
        return Network(parents, tables, {name: net.states[name] for name in parents})

    @cached_property
    def _constant(self) -> float:
        """log p(findings on numbers that depend on no unknown category)"""
        found = sum(float(each.log_weight[0]) for each in self.solutions if not each.component.switches)
        if not np.isfinite(found):
            raise EvidenceError(IMPOSSIBLE_EVIDENCE)
        return found

    @cached_property
    def _with_number_evidence(self) -> tuple[GraphicalModel, float]:
        """The network of categories with the evidence on numbers, and the log of the factors' scale."""
        constant = self._constant
        told = [each for each in self.solutions if each.component.informs and each.component.switches]
        if not told:
            return self._directed, constant
        switches = list(dict.fromkeys(name for each in told for name in each.component.switches))
        directed, states = self._directed, self.net.states
        if prod(len(states[name]) for name in switches) <= LARGEST_LOG_TABLE:
            table, largest = self._switch_likelihoods(told, switches)
            factors = [Factor(tuple(switches), table)]
        else:
            largest, factors = 0.0, list[Factor]()
            for each in told:
                top = float(each.log_weight.max())
                if top == -np.inf:
                    raise EvidenceError(IMPOSSIBLE_EVIDENCE)
                largest += top
                factors += _factors(each.component, each.log_weight - top)
        own = {name: states[name] for name in directed.variables}
        return MarkovNetwork(own, [*directed.factors, *factors]), constant + largest

    def _switch_likelihoods(self, told: Sequence[Solution], switches: list[str]) -> tuple[Array, float]:
        """p(findings on numbers | all switches), relative to its largest possible value, and the log of that value."""
        shape = tuple(len(self.net.states[name]) for name in switches)
        log_weight = np.zeros(shape)
        for each in told:
            own = each.component
            table = each.log_weight.reshape(own.sizes)
            order = sorted(range(len(own.switches)), key=lambda i: switches.index(own.switches[i]))
            wide = [len(self.net.states[name]) if name in own.switches else 1 for name in switches]
            log_weight = log_weight + table.transpose(order).reshape(wide)
        before = self._table(self._directed, switches)
        with np.errstate(divide="ignore"):
            joint = np.where(before > 0, log_weight + np.log(before), -np.inf)
        largest = float(joint.max())
        if largest == -np.inf:
            raise EvidenceError(IMPOSSIBLE_EVIDENCE)
        return np.where(before > 0, np.exp(np.minimum(log_weight - largest, LARGEST_LOG_RATIO)), 0.0), largest

    def _table(self, model: GraphicalModel, names: Sequence[str]) -> Array:
        """P(names | findings about categories) as an array."""
        found = model.query([*names], self.findings.discrete(self.net, model.states), **self.how)
        return np.array([*found.values()]).reshape([len(self.net.states[name]) for name in names])

    # Answers

    def log_probability(self) -> float:
        """log p(findings), a density in the numbers with exact values."""
        if not self.categories:
            return self._constant
        model, constant = self._with_number_evidence
        given = self.findings.discrete(self.net, model.states)
        if not given and model is self._directed:
            return constant
        return float(model.log_probability(given, **self.how)) + constant + self.findings.log_scale

    def states(self, names: str | Sequence[str]) -> Posterior:
        """P(categories | findings)"""
        model, _ = self._with_number_evidence
        return model.query(names, self.findings.discrete(self.net, model.states), **self.how)

    def all_states(self) -> dict[str, Posterior]:
        """P(category | findings) of each."""
        model, _ = self._with_number_evidence
        return dict(model.marginals(self.findings.discrete(self.net, model.states), **self.how))

    def best(self, categories: Sequence[str], everything: bool) -> tuple[dict[str, Any], float]:
        """The most probable states of categories, others summed out unless all are queried; and log P(states |
        findings)."""
        if not categories:
            return {}, 0.0
        model, _ = self._with_number_evidence
        asked, given = None if everything else categories, self.findings.discrete(self.net, model.states)
        found = model.most_probable(asked, given, method="exact")
        log_share = found.log_joint - float(model.log_probability(given, method="exact"))
        return {name: found[name] for name in categories}, log_share

    def shares(self, switches: Sequence[str]) -> Array:
        """P(switches | findings), flattened."""
        if not switches:
            _ = self._constant  # an error if the findings are impossible
            return np.ones(1)
        return self._table(self._with_number_evidence[0], switches).reshape(-1)

    def number(self, name: str) -> NumberAnswer:
        """p(number | findings): a mixture over the switches that it depends on."""
        own = self._solution(name)
        switches, law = own.component.switches, own.one(name)
        if not switches:
            return NumberAnswer(self.shares(switches), law)
        model = self._with_number_evidence[0]
        found = model.query([*switches], self.findings.discrete(self.net, model.states), **self.how)
        answer = NumberAnswer(np.array([*found.values()]), law)
        if not isinstance(found, Estimated):
            return answer
        error = found.total(np.asarray(law.mean()).tolist()).standard_error
        return answer.estimated(error, found.effective_samples, found.method, found.reliable)

    def numbers(self, names: Sequence[str]) -> JointNumbers:
        """p(numbers | findings): a mixture over the switches of all; numbers of different components are independent
        given these."""
        owners = [self._solution(name) for name in names]
        parts = list(dict.fromkeys(owners))
        switches = list(dict.fromkeys(name for each in parts for name in each.component.switches))
        sizes = [len(self.net.states[name]) for name in switches]
        shares = self.shares(switches)
        codes = dict(zip(switches, np.unravel_index(np.arange(len(shares)), sizes) if sizes else (), strict=True))
        means, covariances = np.zeros((len(shares), len(names))), np.zeros((len(shares), len(names), len(names)))
        for each in parts:
            own = np.array([j for j, owner in enumerate(owners) if owner is each])
            cells = tuple(codes[name] for name in each.component.switches)
            at = np.ravel_multi_index(cells, each.component.sizes) if cells else np.zeros(len(shares), dtype=np.intp)
            mean, covariance = each.several([names[j] for j in own])
            means[:, own] = mean[at]
            covariances[np.ix_(np.arange(len(shares)), own, own)] = covariance[at]
        used = shares > 0
        return JointNumbers(tuple(names), shares[used], means[used], covariances[used])

    def _solution(self, name: str) -> Solution:
        return next(each for each in self.solutions if name in each.component.places)


def _factors(component: GaussianComponent, log_weight: Array) -> list[Factor]:
    """Factors whose product is exp(log_weight): several if floats can't hold its range."""
    with np.errstate(invalid="ignore"):
        lowest = float(np.min(log_weight[np.isfinite(log_weight)]))
    times = max(1, ceil(-lowest / LARGEST_LOG_RATIO))
    table = np.exp(log_weight / times).reshape(component.sizes)
    return [Factor(component.switches, table)] * times


def table_at(net: HybridNetwork, name: str, findings: HybridFindings) -> Array:
    """The table of a category; for a logistic node, at the known numbers."""
    return net.logistic[name].table(findings.values) if name in net.logistic else net.tables[name]
