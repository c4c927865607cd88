"""Effects: the distribution of an outcome under each intervention, with credible intervals."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import product
from math import prod
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from credo.core.records import Shown
from credo.errors import EvidenceError, NetworkError, SchemaError, check_seed, check_whole, suggest
from credo.networks.causes.estimand import mentioned, value_of
from credo.networks.causes.identification import Identification
from credo.networks.factor import Factor
from credo.networks.graph import reached
from credo.networks.inference.findings import NO_LIKELIHOODS, affirmative, state
from credo.networks.inference.sizes import check_table
from credo.networks.missing_information import hidden_variables
from credo.numerics.distributions import checked_mass
from credo.numerics.exact import Array

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from credo.networks.answers import Posterior
    from credo.networks.inference.findings import Given
    from credo.networks.network import Network

DRAW_AXIS = "(draw)"
LARGEST_PRODUCT = 2**12  # cells of a joint table computed as one product of factors
CELLS_AT_ONCE = 2**22  # cells of all draws held in memory


class Difference(NamedTuple):
    """P(outcome | do(to)) - P(outcome | do(from)); the interval is None if tables are fixed."""

    value: float
    interval: tuple[float, float] | None


class ByIntervention(Shown):
    """A result for each state of a cause."""

    if TYPE_CHECKING:  # fields or properties

        @property
        def cause_states(self) -> tuple[Any, ...]: ...

        @property
        def causes(self) -> tuple[str, ...]: ...

    def _cause(self, state: object) -> int:
        return _place(state, self.cause_states, self.causes)

    def _compared(self, to: object, base: object) -> tuple[int, int]:
        """Two states of the cause; by default "yes" against "no", or the first against the second."""
        if (to is None or base is None) and len(self.cause_states) != 2:
            known = ", ".join(map(str, self.cause_states))
            raise SchemaError(f"a difference is between two states of the cause ({known}): name both")
        one = affirmative(self.cause_states) if to is None else self._cause(to)
        return one, 1 - one if base is None else self._cause(base)


@dataclass(frozen=True, eq=False, repr=False)
class Effect(ByIntervention):
    """P(outcome | do(cause)) for each state of the cause; of several variables, states are tuples.

    `seen` is P(outcome | cause), the association, which may be confounded.
    """

    identification: Identification
    cause_states: tuple[Any, ...]
    outcome_states: tuple[Any, ...]
    table: Array  # (states of the cause, states of the outcome)
    seen: Array
    draws: Array | None = None  # (draws, states of the cause, states of the outcome)
    given: Mapping[str, object] = field(default_factory=dict)  # the evidence that defines the subpopulation

    def __getitem__(self, state: object) -> Posterior:
        """P(outcome | do(cause = state)) as {state: probability}."""
        return dict(zip(self.outcome_states, self.table[self._cause(state)].tolist(), strict=True))

    def interval(self, state: object, mass: float = 0.95) -> dict[Any, tuple[float, float]]:
        """Equal-tailed credible intervals of P(outcome | do(cause = state))."""
        if self.draws is None:
            raise EvidenceError(
                "the tables are fixed, so the effect has no interval: learn them with fit, or give them a strength, "
                "as in with_strength(50)"
            )
        low, high = _ends(self.draws[:, self._cause(state)], mass)
        return {each: (float(a), float(b)) for each, a, b in zip(self.outcome_states, low, high, strict=True)}

    def difference(
        self, to: object = None, base: object = None, outcome: object = None, mass: float = 0.95
    ) -> Difference:
        """P(outcome | do(to)) - P(outcome | do(base)), the average causal effect; of two states, by default "yes"
        against "no", or the first against the second; and the outcome "yes", or the first."""
        one, two = self._compared(to, base)
        k = affirmative(self.outcome_states) if outcome is None else self._outcome(outcome)
        value = float(self.table[one, k] - self.table[two, k])
        if self.draws is None:
            return Difference(value, None)
        low, high = _ends(self.draws[:, one, k] - self.draws[:, two, k], mass)
        return Difference(value, (float(low), float(high)))

    @property
    def shown_states(self) -> list[int]:
        """The states of the outcome that are shown: one of two is enough."""
        size = len(self.outcome_states)
        return [affirmative(self.outcome_states)] if size == 2 else [*range(size)]

    @property
    def causes(self) -> tuple[str, ...]:
        return tuple(self.identification.causes)

    def _outcome(self, state: object) -> int:
        return _place(state, self.outcome_states, self.identification.outcomes)

    def plot(self, ax: Axes | None = None) -> Figure:
        """Each outcome's probability under each intervention, with intervals, and the observed association."""
        from credo.present.causes_plot import plot_effect

        return plot_effect(self, ax)

    def __repr__(self) -> str:
        from credo.present.causes import effect_described

        return effect_described(self)


def _place(state: object, states: tuple[object, ...], names: Sequence[str]) -> int:
    if state in states:
        return states.index(state)
    spelt = [str(each) for each in states]
    if str(state) in spelt:
        return spelt.index(str(state))
    raise EvidenceError(f"{', '.join(names)} has no state {state!r}; {suggest(state, states)}")


def _ends(draws: Array, mass: float) -> tuple[Any, Any]:
    tail = (1 - checked_mass(mass)) / 2
    low, high = np.quantile(draws, [tail, 1 - tail], axis=0)
    return low, high


def network_effect(
    net: Network,
    cause: str | Sequence[str],
    outcome: str | Sequence[str],
    hidden: str | Sequence[str] | None = None,
    draws: int | None = None,
    seed: int = 0,
    given: Given = None,
) -> Effect:
    """The effect in a network with tables; variables that were hidden during fitting count as hidden."""
    from credo.networks.causes.causal_graph import CausalGraph

    _ = net.factors  # an error if there are none
    absent = hidden_variables(net.parents, net.evidence) if hidden is None else hidden
    found = CausalGraph(net.parents, absent).identify(cause, outcome, [*(given or {})])
    if not found:
        raise NetworkError(found.reason)
    return effect_of(found, net, draws, seed, given)


def effect_of(
    found: Identification, net: Network, draws: int | None = None, seed: int = 0, given: Given = None
) -> Effect:
    """The estimand with the network's tables, and with tables drawn from their posterior."""
    from credo.networks.table_beliefs import TABLE_DRAWS, concentrations, drawn_tables, has_posterior

    size = check_whole("draws", TABLE_DRAWS if draws is None else draws, 1)
    random = np.random.default_rng(check_seed(seed))
    evaluation = Evaluation.of(found, net, given or {})
    (table,), (seen,) = evaluation.of_joint(evaluation.queried(net)[None])
    if np.isnan(table).any():
        raise _undefined(found, net, table, given or {})
    drawn: Array | None = None
    if has_posterior(net):
        alphas, parts = concentrations(net), list[Array]()
        for some in evaluation.chunks(size):
            wide = {label: np.broadcast_to(alpha, (some, *alpha.shape)) for label, alpha in alphas.items()}
            parts.append(evaluation.of_joint(evaluation.drawn(drawn_tables(net, wide, random), some))[0])
        whole = np.concatenate(parts)
        drawn = whole[~np.isnan(whole).any((1, 2))]
    told = {name: net.states[name][code] for name, code in zip(found.given, evaluation.codes, strict=True)}
    return Effect(found, _states(net, found.causes), _states(net, found.outcomes), table, seen, drawn, told)


def _states(net: Network, names: Sequence[str]) -> tuple[Any, ...]:
    return net.states[names[0]] if len(names) == 1 else tuple(product(*(net.states[name] for name in names)))


@dataclass(frozen=True, eq=False)
class Evaluation:
    """An estimand as a function of tables, for many draws at once: all factors have an axis for the draws."""

    found: Identification
    net: Network
    names: tuple[str, ...]  # variables in the estimand
    above: tuple[str, ...]  # these and their ancestors
    codes: tuple[int, ...]  # of the given states

    @classmethod
    def of(cls, found: Identification, net: Network, given: Mapping[str, object]) -> Evaluation:
        assert found.estimand is not None
        codes = tuple(state(net.potentials, net._number(name), given[name]) for name in found.given)
        asked = mentioned(found.estimand) | {*found.causes, *found.outcomes, *found.given}
        names = tuple(name for name in net.parents if name in asked)
        check_table([len(net.states[name]) for name in names])
        above = reached(names, net.parents)
        return cls(found, net, names, tuple(name for name in net.parents if name in above), codes)

    def cells(self, names: Sequence[str]) -> int:
        return prod(len(self.net.states[name]) for name in names)

    def chunks(self, size: int) -> list[int]:
        """The draws in chunks."""
        most = max(1, CELLS_AT_ONCE // max(self.cells(self.names), min(self.cells(self.above), LARGEST_PRODUCT)))
        return [min(most, size - at) for at in range(0, size, most)]

    def of_joint(self, joints: Array) -> tuple[Array, Array]:
        """P(outcome | do(cause)) and P(outcome | cause), from P(names) of each draw. (draws, states of the cause,
        states of the outcome)"""
        found, whole, draws = self.found, Factor((DRAW_AXIS, *self.names), joints), len(joints)
        parts: dict[frozenset[str], Factor] = {}

        def joint(wanted: frozenset[str]) -> Factor:
            if wanted not in parts:
                parts[wanted] = whole.sum_out([name for name in self.names if name not in wanted])
            return parts[wanted]

        ends = (DRAW_AXIS, *found.causes, *found.outcomes, *found.given)
        full = Factor(ends, np.ones([draws, *(len(self.net.states[name]) for name in ends[1:])]))
        shape = [draws, self.cells(found.causes), self.cells(found.outcomes)]
        assert found.estimand is not None
        known: tuple[Any, ...] = (..., *self.codes)
        done = (full * value_of(found.estimand, joint)).over(ends).table[known].reshape(shape)
        both = joint(frozenset(ends[1:])).over(ends).table[known].reshape(shape)
        with np.errstate(invalid="ignore"):
            return done, both / both.sum(2, keepdims=True)

    def queried(self, net: Network) -> Array:
        """P(names) in a network with these arrows."""
        numbers = [net._number(name) for name in self.names]
        return net.exact.joint(net.potentials.unknown, NO_LIKELIHOODS, numbers)[0]

    def drawn(self, tables: Mapping[str, Array], draws: int) -> Array:
        """P(names) under each draw: in one product if that is small, else by a query for each draw."""
        if self.cells(self.above) <= LARGEST_PRODUCT:
            factor = Factor((DRAW_AXIS,), np.ones(draws))
            for name in self.above:
                factor = factor * Factor((DRAW_AXIS, *self.net.parents[name], name), tables[name])
            others = [name for name in self.above if name not in self.names]
            return factor.sum_out(others).over((DRAW_AXIS, *self.names)).table
        each = ({name: table[i] for name, table in tables.items()} for i in range(draws))
        return np.array([self.queried(self.net._like(parameters=some)) for some in each])


def _undefined(found: Identification, net: Network, table: Array, given: Mapping[str, object]) -> EvidenceError:
    """The error if positivity fails: a state of the cause has probability 0 in some stratum."""
    if given and net.log_probability(dict(given)) == -np.inf:
        return EvidenceError(f"the evidence is impossible: {', '.join(f'{n}={v}' for n, v in given.items())}")
    place = int(np.flatnonzero(np.isnan(table).any(1))[0])
    state = _states(net, found.causes)[place]
    some = f", for each state of {', '.join(found.adjustment)}" if found.adjustment else ""
    cause = ", ".join(found.causes)
    return EvidenceError(
        f"P({', '.join(found.outcomes)} | do({cause}={state})) is undefined: {cause}={state} must be possible{some}, "
        "and it has probability 0 in some of them"
    )
