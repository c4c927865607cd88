"""Likelihood weighting by nodes: for a node whose table is too large to build, rows are computed as they are drawn."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import TYPE_CHECKING, NoReturn, TypeVar

import numpy as np
from numpy.typing import NDArray

from credo.errors import EvidenceError, NetworkError, check_seed
from credo.networks.answers import Posterior, as_log_total, as_number, as_posterior, exact_or_estimated
from credo.networks.graph import one_or_several, reached
from credo.networks.inference.estimate import Estimate, JointQuery, Total, check_samples, floor_of, mean_of, no_sample
from credo.networks.inference.findings import NO_LIKELIHOODS, Findings, Given, allowed, variable
from credo.networks.inference.potentials import Potentials
from credo.networks.inference.sizes import (
    FEWEST_RELIABLE_SAMPLES,
    LIKELIHOOD_WEIGHTING,
    SAMPLES_AT_ONCE,
    Method,
    check_table,
    is_exact,
)
from credo.notices import tell
from credo.numerics.arrays import Codes, Flags
from credo.numerics.exact import Array

if TYPE_CHECKING:
    from credo.networks.directed_model import DirectedModel

Event = Mapping[int, Flags]
Result = TypeVar("Result")


@dataclass(frozen=True, eq=False)
class WeightedDraws:
    """Samples of all variables, and the logarithms of their weights, P(evidence | parents drawn)."""

    codes: Codes  # (variables, samples)
    log_weight: Array  # (samples,)

    @property
    def total(self) -> Total:
        """log P(evidence)"""
        found = mean_of(self.log_weight, LIKELIHOOD_WEIGHTING)
        return Total(
            found.log_value,
            found.error,
            found.effective,
            LIKELIHOOD_WEIGHTING,
            found.effective >= FEWEST_RELIABLE_SAMPLES,
        )

    def estimate(self, query: JointQuery, card: NDArray[np.int64], findings: Findings) -> Estimate:
        """P(variables, event | evidence), with the standard error of each cell."""
        weight = np.exp(self.log_weight - self.log_weight.max())
        weight /= weight.sum()
        size = int(np.prod(card[list(query.variables)]))
        cells = query.cells(card, self.codes)
        table = np.bincount(cells, weight, size + 1)[:size]
        squares = np.bincount(cells, weight**2, size + 1)[:size]
        every = float((weight**2).sum())
        variance = squares * (1.0 - 2.0 * table) + table**2 * every  # Σ w²([cell] - P)²
        error = np.maximum(np.sqrt(np.maximum(variance, 0.0)), floor_of(query, findings, 1.0 / every))

        def spread(x: Array) -> float:
            of_each = np.append(x, 0.0)[cells]
            return float(np.sqrt((weight**2) @ (of_each - weight @ of_each) ** 2))

        shape = tuple(card[list(query.variables)])
        return Estimate(
            table.reshape(shape),
            error.reshape(shape),
            1.0 / every,
            LIKELIHOOD_WEIGHTING,
            spread,
            reliable=1.0 / every >= FEWEST_RELIABLE_SAMPLES,
        )


@dataclass(frozen=True, eq=False)
class NodeWeighting:
    """Answers of a network with a node whose table is too large to expand: estimates, with standard errors."""

    net: DirectedModel
    method: Method
    samples: int
    seed: int

    def __post_init__(self) -> None:
        check_seed(self.seed)
        check_samples(self.samples)
        if not is_exact(self.method) and self.method != LIKELIHOOD_WEIGHTING:
            name = self.net.without_factors[0]
            raise NetworkError(f"the table of {name!r} is too large to expand: use method={LIKELIHOOD_WEIGHTING!r}")

    @property
    def index(self) -> Potentials:
        return self.net.state_index

    def _answered(self, estimated: Callable[[], Result]) -> Result:
        return self._exact() if self.method == "exact" else exact_or_estimated(self.method, self._exact, estimated)

    def _exact(self) -> NoReturn:
        """Raise the error about the table's size."""
        name = self.net.without_factors[0]
        self.net._form_nodes[name].table(self.net.parameters[name])
        raise AssertionError("a table that doesn't fit was built")

    def query(self, variables: str | Sequence[str], given: Given, event: Given) -> Posterior:
        names = one_or_several(variables)
        numbers = [variable(self.index, name) for name in names]
        states = [self.net.states[name] for name in names]
        check_table([len(own) for own in states])
        keys = states[0] if isinstance(variables, str) else [*product(*states)]
        happens = allowed(self.index, event) if event else {}
        findings = Findings.of(self.index, given)
        asked = [(numbers, happens)]
        return self._answered(lambda: as_posterior(keys, self._estimates(findings, asked)[0]))

    def marginals(self, given: Given) -> dict[str, Posterior]:
        findings, names = Findings.of(self.index, given), [*self.net.states]

        def estimated() -> dict[str, Posterior]:
            each = self._estimates(findings, [([v], {}) for v in range(len(names))])
            return {name: as_posterior(self.net.states[name], one) for name, one in zip(names, each, strict=True)}

        return self._answered(estimated)

    def probability(self, event: Given, given: Given) -> float:
        happens, findings = allowed(self.index, event or {}), Findings.of(self.index, given)
        return self._answered(lambda: as_number(self._estimates(findings, [([], happens)])[0]))

    def log_probability(self, given: Given) -> float:
        findings = Findings.of(self.index, given)
        return self._answered(lambda: as_log_total(self.drawn(findings, ()).total, findings))

    def sampled(self, size: int, given: Given) -> Codes:
        """Rows given evidence, resampled in proportion to their weights; exact without evidence. (variables, rows)"""
        findings, every = Findings.of(self.index, given), range(len(self.net.states))
        if not findings.any:
            return self.drawn(findings, every, size).codes
        if self.method == "exact":
            self._exact()
        drawn = self.drawn(findings, every, max(size, self.samples))
        tell(f"rows are drawn by {LIKELIHOOD_WEIGHTING}, with an effective sample size of {drawn.total.effective:.2g}")
        weight = np.exp(drawn.log_weight - drawn.log_weight.max())
        chosen = np.random.default_rng([self.seed, 1]).choice(len(weight), size, p=weight / weight.sum())
        return drawn.codes[:, chosen]

    def log_prob(self, data: object) -> Array:
        """log P(row) of each row; exact for complete rows."""
        from credo.networks.learning import coded_rows

        batches = (rows for part in coded_rows(self.net, data) for rows in part.batches())
        return np.concatenate([np.empty(0), *(self._log_probs(rows.codes) for rows in batches)])

    def _log_probs(self, codes: Codes) -> Array:
        """(variables, rows) -> (rows,)"""
        found = np.empty(codes.shape[1])
        for row in range(codes.shape[1]):
            own = codes[:, row].astype(self.index.unknown.dtype)
            size = 1 if (own >= 0).all() else self.samples
            try:
                found[row] = self.drawn(Findings(own, NO_LIKELIHOODS), (), size).total.log_value
            except EvidenceError:
                found[row] = -np.inf
        return found

    def _estimates(self, findings: Findings, asked: Sequence[tuple[Sequence[int], Event]]) -> list[Estimate]:
        queries = [JointQuery(variables, event) for variables, event in asked]
        drawn = self.drawn(findings, {v for each in queries for v in (*each.variables, *each.event)})
        if not np.isfinite(drawn.log_weight.max()):
            raise no_sample(LIKELIHOOD_WEIGHTING)
        return [drawn.estimate(each, self.index.card, findings) for each in queries]

    def drawn(self, findings: Findings, asked: Collection[int], samples: int | None = None) -> WeightedDraws:
        """Weighted samples of the queried and observed variables and their ancestors."""
        net, size = self.net, self.samples if samples is None else samples
        names, places = [*net.states], self.index.places
        known = {v for v in range(len(names)) if findings.codes[v] >= 0 or self._weighed(findings, v)}
        needed = reached([names[v] for v in (*asked, *known)], net.parents)
        number = {name: v for v, name in enumerate(names)}
        codes, log_weight = np.zeros((len(names), size), dtype=np.int32), np.zeros(size)
        random = np.random.default_rng(self.seed)
        for name in (name for name in net.order if name in needed):
            v, above = number[name], [number[parent] for parent in net.parents[name]]
            for start in range(0, size, SAMPLES_AT_ONCE):
                own = slice(start, start + SAMPLES_AT_ONCE)
                rows = net.rows_of(name, codes[above, own].T.astype(np.int64))
                if len(findings.weights):
                    rows = rows * findings.weights[places[v] : places[v + 1]]
                if findings.codes[v] >= 0:
                    codes[v, own] = findings.codes[v]
                    with np.errstate(divide="ignore"):
                        log_weight[own] += np.log(rows[:, findings.codes[v]])
                    continue
                ends = np.cumsum(rows, axis=1)
                if v in known:
                    with np.errstate(divide="ignore"):
                        log_weight[own] += np.log(ends[:, -1])
                below = random.random((len(rows), 1)) * ends[:, -1:] >= ends
                codes[v, own] = np.minimum(below.sum(1), rows.shape[1] - 1)
        return WeightedDraws(codes, log_weight)

    def _weighed(self, findings: Findings, v: int) -> bool:
        at = self.index.places
        return len(findings.weights) > 0 and bool((findings.weights[at[v] : at[v + 1]] != 1.0).any())
