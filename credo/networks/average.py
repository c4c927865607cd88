"""The average of several networks over the same variables: a mixture, reweighted by the evidence."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from credo.errors import EvidenceError, NetworkError, check_seed
from credo.networks.answers import Posterior
from credo.networks.network import Network
from credo.numerics.exact import Array

if TYPE_CHECKING:
    import pyarrow as pa

    from credo.networks.inference.findings import Given
    from credo.networks.tables import States


@dataclass(frozen=True, eq=False)
class NetworkAverage:
    """P(x) = Σ wₖ Pₖ(x) over networks k; given evidence e, P(x | e) = Σ wₖ Pₖ(x, e) / Σ wₖ Pₖ(e).

    >>> nets = [Network("A -> B", {"A": 0.5, "B": {"yes": p, "no": 0.5}}) for p in (0.9, 0.5)]
    >>> NetworkAverage(tuple(nets), np.array([0.5, 0.5])).query("B", {"A": "yes"})
    {'yes': 0.7, 'no': 0.3}
    """

    networks: tuple[Network, ...]
    weights: Array

    def __post_init__(self) -> None:
        weights = np.asarray(self.weights, dtype=np.float64)
        if not self.networks or len(weights) != len(self.networks) or not (weights >= 0).all() or not weights.sum() > 0:
            raise NetworkError("an average needs networks and a weight for each; not all weights may be 0")
        first = self.networks[0]
        for net in self.networks[1:]:
            if {*net.variables} != {*first.variables} or any(
                {*net.states[name]} != {*first.states[name]} for name in first.variables
            ):
                raise NetworkError("networks that are averaged must have the same variables and states")
        object.__setattr__(self, "weights", weights / weights.sum())

    @property
    def variables(self) -> tuple[str, ...]:
        return self.networks[0].variables

    @property
    def states(self) -> States:
        return self.networks[0].states

    def __len__(self) -> int:
        return len(self.networks)

    def query(self, variables: str | Sequence[str], given: Given = None, *, event: Given = None) -> Posterior:
        """P(variable | given) as {state: probability}; of several variables, {(state, state, ...): probability}."""
        return _mixed(self._given(given), [net.query(variables, given, event=event) for net in self._possible(given)])

    def marginals(self, given: Given = None) -> Mapping[str, Posterior]:
        """{name: {state: probability}} of all variables."""
        weights, each = self._given(given), [net.marginals(given) for net in self._possible(given)]
        return {name: _mixed(weights, [found[name] for found in each]) for name in self.variables}

    def probability(self, event: Given, given: Given = None) -> float:
        """P(event | given)."""
        found = [net.probability(event, given) for net in self._possible(given)]
        return float(self._given(given) @ np.array(found))

    def log_probability(self, given: Given = None) -> float:
        """log P(evidence), -inf if it is impossible."""
        return float(_log_mean(np.array([[net.log_probability(given)] for net in self.networks]), self.weights)[0])

    def log_prob(self, data: object) -> Array:
        """log P(row) of each row, missing cells summed out."""
        return _log_mean(np.stack([np.asarray(net.log_prob(data)) for net in self.networks]), self.weights)

    def predict_proba(self, variable: str, data: object) -> Array:
        """P(variable | the row's other cells), any of which may be missing. (rows, states)"""
        rows = _without_column(data, variable)
        logs = np.stack([np.asarray(net.log_prob(rows)) for net in self.networks])  # of the other cells
        for row in np.flatnonzero(np.isneginf(logs).all(0)).tolist():
            self.networks[0].predict_proba(variable, rows.slice(row, 1))  # the error names the cells
            raise EvidenceError(f"row {row + 1} is impossible under every network")
        own = self.states[variable]
        total = np.zeros((logs.shape[1], len(own)))
        share = self.weights[:, None] * np.exp(logs - logs.max(0))
        for net, weight in zip(self.networks, share / share.sum(0), strict=True):
            possible = np.flatnonzero(weight > 0)
            if len(possible):
                order = [net.states[variable].index(state) for state in own]
                found = np.asarray(net.predict_proba(variable, rows.take(possible)))[:, order]
                total[possible] += weight[possible, None] * found
        return total

    def predict(self, variable: str, data: object) -> Any:
        """The most probable state in each row."""
        states = self.states[variable]
        best = self.predict_proba(variable, data).argmax(1)
        return np.array(states, dtype=object if len({*map(type, states)}) > 1 else None)[best]

    def sample(self, size: int, seed: int = 0) -> pa.Table:
        """An Arrow table of independent rows, each from a network drawn by its weight."""
        import pyarrow as pa

        check_seed(seed)
        random = np.random.default_rng(seed)
        counts = random.multinomial(size, self.weights)
        parts = [
            net.sample(int(count), seed=seed + i).select([*self.variables])
            for i, (net, count) in enumerate(zip(self.networks, counts, strict=True))
            if count
        ]
        return pa.concat_tables(parts).take(random.permutation(size))

    def __repr__(self) -> str:
        heaviest = float(self.weights.max())
        return f"NetworkAverage of {len(self.networks)} structures, the heaviest with weight {heaviest:.3g}"

    def _given(self, given: Given) -> Array:
        """The posterior weight of each network under which the evidence is possible."""
        if not given:
            return self.weights
        logs = np.array([net.log_probability(given) for net in self.networks])
        if (logs == -np.inf).all():
            self.networks[0].query(self.variables[0], given)  # the error names the findings
            raise EvidenceError("the evidence is impossible")
        share = self.weights * np.exp(logs - logs.max())
        kept = share[logs > -np.inf]
        return np.asarray(kept / kept.sum())

    def _possible(self, given: Given) -> list[Network]:
        return [net for net in self.networks if not given or net.log_probability(given) > -np.inf]


def _mixed(weights: Array, each: Sequence[Posterior]) -> Posterior:
    return {
        key: float(sum(weight * found[key] for weight, found in zip(weights, each, strict=True))) for key in each[0]
    }


def _log_mean(logs: Array, weights: Array) -> Array:
    """log Σ w exp(x), over the first axis."""
    top = logs.max(0)
    top = np.where(np.isfinite(top), top, 0.0)
    with np.errstate(divide="ignore"):
        return np.asarray(np.log((weights[:, None] * np.exp(logs - top)).sum(0)) + top)


def _without_column(data: object, variable: str) -> pa.Table:
    """An Arrow table without a column."""
    import pyarrow as pa

    from credo.data import source

    table = source(data)
    names = [name for name in table.names if name != variable]
    parts = [pa.table({name: batch.column(name) for name in names}) for batch in table.batches(names)]
    return pa.concat_tables(parts)
