"""Likelihood weighting, if an exact answer takes too long: categories are sampled, and numbers are integrated out given
these (Rao-Blackwellisation). If logistic nodes depend on unknown numbers, numbers are sampled, too."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from credo.errors import EvidenceError
from credo.networks.answers import Estimated, EstimatedNumber
from credo.networks.hybrid.answers import JointNumbers, NumberAnswer
from credo.networks.hybrid.components import GaussianComponent, components, relevant
from credo.networks.hybrid.exact import IMPOSSIBLE_EVIDENCE
from credo.networks.hybrid.findings import HybridFindings
from credo.networks.hybrid.gaussian import DenseGaussian
from credo.networks.hybrid.truncated_normal import log_mass, truncated_draws
from credo.networks.inference.sizes import FEWEST_RELIABLE_SAMPLES, LIKELIHOOD_WEIGHTING
from credo.numerics.arrays import Positions
from credo.numerics.distributions import Normal
from credo.numerics.exact import Array

if TYPE_CHECKING:
    from credo.networks.hybrid.network import HybridNetwork

DEFAULT_DRAWS = 20_000  # fewer than in networks of tables, since numbers are integrated out
MOST_MIXTURE_COMPONENTS = 4096  # components of a mixture that represents draws
BANDWIDTH_SHARE = 0.3  # of Silverman's bandwidth, for numbers known only by draws
NUMBERS_SOLVED_AT_ONCE = 2**22  # floats in the matrices of one batch


@dataclass(frozen=True, eq=False)
class Particles:
    """Weighted draws: states of categories, and the mean and covariance of some numbers given these."""

    weight: Array  # (draws,), which sum to 1
    log_total: float  # log of their mean before normalisation: log P(findings)
    codes: Mapping[str, Positions]
    names: tuple[str, ...]  # names of the numbers
    means: Array  # (draws, names)
    variances: Array  # (draws, names)
    covariances: Array | None  # (draws, names, names), for joint queries of numbers

    @property
    def effective(self) -> float:
        return float(1.0 / (self.weight**2).sum())

    @property
    def reliable(self) -> bool:
        return self.effective >= FEWEST_RELIABLE_SAMPLES

    def error(self, of_each: Array) -> float:
        """The standard error of the weighted mean."""
        away = of_each - self.weight @ of_each
        return float(np.sqrt((self.weight * away) @ (self.weight * away)))

    def number_of(self, of_each: Array) -> EstimatedNumber:
        return EstimatedNumber(
            float(self.weight @ of_each), self.error(of_each), self.effective, LIKELIHOOD_WEIGHTING, self.reliable
        )

    def states(self, net: HybridNetwork, names: Sequence[str], keys: Sequence[Any]) -> Estimated:
        shape = [len(net.states[name]) for name in names]
        cells = np.ravel_multi_index([self.codes[name] for name in names], shape)
        table = np.bincount(cells, self.weight, int(np.prod(shape)))
        found = Estimated(zip(keys, table.tolist(), strict=True))
        found.method, found.effective_samples, found.reliable = LIKELIHOOD_WEIGHTING, self.effective, self.reliable
        found.standard_error = {key: self.error((cells == k).astype(float)) for k, key in enumerate(keys)}
        found.spread = lambda x: self.error(np.asarray(x)[cells])
        return found

    def number(self, name: str) -> NumberAnswer:
        j = self.names.index(name)
        error = self.error(self.means[:, j])
        mean, variance, weight = self._merged_components(j)
        found = NumberAnswer(weight, Normal(mean, np.sqrt(variance)))
        return found.estimated(error, self.effective, LIKELIHOOD_WEIGHTING, self.reliable)

    def numbers(self) -> JointNumbers:
        assert self.covariances is not None
        chosen = self._systematic_sample()
        shares = np.full(len(chosen), 1.0 / len(chosen))
        noise = np.diag([self._bandwidth(j) ** 2 for j in range(len(self.names))])
        covariances = self.covariances[chosen]
        flat = np.einsum("kii->ki", covariances).min(initial=np.inf) <= 0
        whole = covariances + noise if flat else covariances
        return JointNumbers(self.names, shares, self.means[chosen], whole, LIKELIHOOD_WEIGHTING, self.effective)

    def _merged_components(self, j: int) -> tuple[Array, Array, Array]:
        """Equal components merged; if there are still too many, a systematic sample of them."""
        pairs = np.column_stack([self.means[:, j], self.variances[:, j]])
        parts, place = np.unique(pairs, axis=0, return_inverse=True)
        weight = np.asarray(np.bincount(place.reshape(-1), self.weight, len(parts)), dtype=np.float64)
        if len(parts) > MOST_MIXTURE_COMPONENTS:
            parts = pairs[self._systematic_sample(np.argsort(self.means[:, j]))]
            weight = np.full(len(parts), 1.0 / len(parts))
        variance = parts[:, 1] if (parts[:, 1] > 0).all() else parts[:, 1] + self._bandwidth(j) ** 2
        return parts[:, 0], variance, weight

    def _systematic_sample(self, order: Positions | None = None) -> Positions:
        """A systematic sample of draws, in proportion to their weights; in the order of a number's values it preserves
        the number's mean."""
        own = np.arange(len(self.weight)) if order is None else order
        ends = np.cumsum(self.weight[own])
        return own[
            np.minimum(
                np.searchsorted(ends, (np.arange(MOST_MIXTURE_COMPONENTS) + 0.5) / MOST_MIXTURE_COMPONENTS),
                len(ends) - 1,
            )
        ]

    def _bandwidth(self, j: int) -> float:
        away = self.means[:, j] - self.weight @ self.means[:, j]
        return float(BANDWIDTH_SHARE * np.sqrt(self.weight @ away**2) * self.effective**-0.2)


@dataclass(eq=False)
class WeightedSampler:
    """A sampler of weighted draws."""

    net: HybridNetwork
    findings: HybridFindings
    asked: tuple[str, ...]  # numbers
    size: int
    random: np.random.Generator
    joint: bool = True  # whether the query is joint in several numbers, so that covariances are needed
    codes: dict[str, Positions] = field(default_factory=dict)
    log_weight: Array = field(default_factory=lambda: np.zeros(0))

    def collapsed(self, names: Sequence[str]) -> tuple[Array, Array]:
        """Categories sampled from their own network, then the Gaussian of each draw."""
        self.draw_categories(np.arange(self.size), self.findings.states)
        return self.given_categories(names)

    def given_categories(self, names: Sequence[str]) -> tuple[Array, Array]:
        """The mean and covariance (or variance) of the queried numbers, for each draw of the categories."""
        self.log_weight = np.zeros(self.size)
        means, covariances = self._empty()
        for component in components(self.net, names, self.findings):
            self._weigh(component, means, covariances)
        return means, covariances

    def _empty(self) -> tuple[Array, Array]:
        wide = len(self.asked)
        means = np.zeros((self.size, wide))
        for j, name in enumerate(self.asked):
            if name in self.findings.values:
                means[:, j] = self.findings.values[name]
        return means, np.zeros((self.size, wide, wide) if self.joint else (self.size, wide))

    def draw_categories(self, rows: Positions, known: Mapping[str, int]) -> None:
        """Sampled categories, given states and likelihoods, ignoring evidence on numbers."""
        import pyarrow as pa
        import pyarrow.compute as pc

        from credo.networks.inference.rows import states_array

        net = self.net
        if not net.states:
            return
        given = replace(self.findings, states=dict(known)).discrete(net, net.states)
        drawn = net.category_network.sample(len(rows), given, int(self.random.integers(2**31)))
        for name, states in net.states.items():
            column = drawn.column(name).combine_chunks()
            column = column.dictionary_decode() if pa.types.is_dictionary(column.type) else column
            found = pc.index_in(column, states_array(states).cast(column.type))
            own = self.codes.setdefault(name, np.zeros(self.size, dtype=np.intp))
            own[rows] = found.to_numpy(zero_copy_only=False)

    def _weigh(self, component: GaussianComponent, means: Array, covariances: Array) -> None:
        switches = component.switches
        cells = np.column_stack([self.codes[name] for name in switches]) if switches else np.zeros((self.size, 1), int)
        every, place = np.unique(cells, axis=0, return_inverse=True)
        place = place.reshape(-1)
        own = [name for name in self.asked if name in component.places]
        step = max(16, NUMBERS_SOLVED_AT_ONCE // (len(component.unknown) * len(component.nodes) + 1))
        for start in range(0, len(every), step):
            part = every[start : start + step]
            here = np.flatnonzero((place >= start) & (place < start + len(part)))
            solved = component.solved({name: part[:, j] for j, name in enumerate(switches)})
            self.log_weight[here] += solved.log_density[place[here] - start]
            wanted = [*own, *(name for name in component.intervals if name not in own)]
            if not wanted:
                continue
            places = [component.places[name] for name in wanted]
            law = DenseGaussian(solved.log_density, solved.mean[:, places], solved.covariance(places))
            law = law.taken(place[here] - start)
            mean, covariance = self._draw_intervals(component, wanted, law, here)
            at = np.array([self.asked.index(name) for name in own], dtype=np.intp)
            means[np.ix_(here, at)] = mean[:, : len(own)]
            if self.joint:
                covariances[np.ix_(here, at, at)] = covariance[:, : len(own), : len(own)]
            else:
                covariances[np.ix_(here, at)] = np.einsum("nii->ni", covariance)[:, : len(own)]

    def _draw_intervals(
        self, component: GaussianComponent, names: Sequence[str], law: DenseGaussian, rows: Positions
    ) -> tuple[Array, Array]:
        """Numbers with interval evidence are drawn one after another, each weighted by the mass of its interval
        (Geweke, Hajivassiliou and Keane); the others are conditioned on them."""
        mean, covariance = law.mean.copy(), law.whole.copy()
        for name in component.intervals:
            i = names.index(name)
            low, high = self.findings.intervals[name]
            sd = np.sqrt(covariance[:, i, i])
            self.log_weight[rows] += log_mass((low - mean[:, i]) / sd, (high - mean[:, i]) / sd)
            drawn = truncated_draws(mean[:, i], sd, low, high, self.random)
            gain = covariance[:, :, i] / covariance[:, i, i][:, None]
            mean = mean + gain * (drawn - mean[:, i])[:, None]
            covariance = covariance - gain[:, :, None] * covariance[:, i, None, :]
            mean[:, i] = drawn
            covariance[:, i, :] = covariance[:, :, i] = 0.0
        return mean, covariance

    def forward(self, names: Sequence[str]) -> tuple[Array, Array]:
        """Draw all variables in topological order, each given its parents; evidence contributes to the weights."""
        net, needed = self.net, {*names}
        self.log_weight = np.zeros(self.size)
        numbers: dict[str, Array] = {}
        for name in net.order:
            if name in net.numbers:
                self._number(name, numbers, name in needed)
            elif name in net.states:
                self._category(name, numbers, name in needed)
        means, covariances = self._empty()
        for j, name in enumerate(self.asked):
            means[:, j] = numbers[name]
        return means, covariances

    def _number(self, name: str, numbers: dict[str, Array], weighed: bool) -> None:
        values, intervals = self.findings.values, self.findings.intervals
        if name in values:
            numbers[name] = np.full(self.size, values[name])
            if weighed and name not in self.net.done:
                self.log_weight += self.net.numbers[name].log_density(self.codes, numbers)
            return
        node = self.net.numbers[name]
        mean = np.broadcast_to(node.mean(self.codes, numbers), (self.size,))
        variance = node.variance[tuple(self.codes[each] for each in node.categories)]
        sd = np.broadcast_to(np.sqrt(variance), (self.size,))
        if name in intervals and weighed:
            low, high = intervals[name]
            self.log_weight += log_mass((low - mean) / sd, (high - mean) / sd)
            numbers[name] = truncated_draws(mean, sd, low, high, self.random)
        else:
            numbers[name] = mean + sd * self.random.standard_normal(self.size)

    def _category(self, name: str, numbers: dict[str, Array], weighed: bool) -> None:
        net, findings = self.net, self.findings
        if name in net.logistic:
            log_p = net.logistic[name].log_table(self.codes, numbers)
        else:
            with np.errstate(divide="ignore"):
                log_p = np.log(net.tables[name][tuple(self.codes[each] for each in net.category_parents(name))])
        log_p = np.broadcast_to(log_p, (self.size, log_p.shape[-1]))
        if name in findings.states:
            self.codes[name] = np.full(self.size, findings.states[name], dtype=np.intp)
            if weighed:
                self.log_weight += log_p[:, findings.states[name]]
            return
        if name in findings.likelihoods and weighed:
            with np.errstate(divide="ignore"):
                log_p = log_p + np.log([*findings.likelihoods[name].values()])
            total = np.logaddexp.reduce(log_p, axis=1)
            self.log_weight += total
            log_p = log_p - np.where(np.isfinite(total), total, 0.0)[:, None]
        ends = np.cumsum(np.exp(log_p), axis=1)
        drawn = (self.random.random((self.size, 1)) * ends[:, -1:] >= ends).sum(1)
        self.codes[name] = np.minimum(drawn, log_p.shape[1] - 1).astype(np.intp)


def drawn_particles(
    net: HybridNetwork,
    asked: Sequence[str],
    findings: HybridFindings,
    samples: int,
    seed: int,
    joint: bool = True,
) -> Particles:
    """Draws for a query about some variables; without any, for the probability of the findings."""
    names = relevant(net, asked, findings)
    numbers = tuple(name for name in asked if name in net.numbers)
    making = WeightedSampler(net, findings, numbers, samples, np.random.default_rng(seed), joint)
    base = 0.0
    if net.logistic:
        means, covariances = making.forward(names)
    else:
        means, covariances = making.collapsed(names)
        given = findings.discrete(net, net.states)
        base = float(net.category_network.log_probability(given)) if given and not asked else 0.0
    top = float(making.log_weight.max())
    if not np.isfinite(top):
        raise EvidenceError(f"{IMPOSSIBLE_EVIDENCE}, or too improbable to be sampled")
    weight = np.exp(making.log_weight - top)
    log_total = top + float(np.log(weight.mean())) + base
    variances = np.einsum("nii->ni", covariances) if joint else covariances
    return Particles(
        weight / weight.sum(), log_total, making.codes, numbers, means, variances, covariances if joint else None
    )
