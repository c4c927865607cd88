"""The posterior of a table: the Dirichlet of a row, and queries over tables drawn from it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from credo.core.evidence import Evidence, Part
from credo.core.labels import Label
from credo.core.statistics import Counts
from credo.data.schema import Column, Schema
from credo.errors import EvidenceError, PriorError, SchemaError, check_seed, suggest
from credo.estimation.belief import OBSERVATIONS, OBSERVATIONS_LABEL, Belief
from credo.families.dirichlet import DirichletCategorical
from credo.networks.answers import Estimated
from credo.networks.inference.estimate import check_samples
from credo.networks.inference.findings import Given, state
from credo.networks.inference.rows import states_array
from credo.networks.missing_information import hidden_rows, missing_information, observed_counts
from credo.networks.table_priors import dirichlet_of
from credo.notices import tell
from credo.numerics.distributions import checked_mass
from credo.numerics.exact import Array, Exact

if TYPE_CHECKING:
    from credo.networks.network import Network

TABLE_DRAWS = 1000  # tables drawn from their posterior for an answer
FEWEST_EFFECTIVE_DRAWS = 100.0  # with fewer, an interval is unreliable


class AveragedOverTables(Estimated):
    """P(variables | given), averaged over tables drawn from their posterior; `interval` is its credible interval.

    Each draw is weighted by the probability of the evidence. The mean equals a query with the mean tables, unless nodes
    are tied: then one row of data depends on the same table several times.
    """

    draws: Array  # (draws, states)
    weights: Array  # (draws,), which sum to 1

    def interval(self, mass: float = 0.95) -> dict[Any, tuple[float, float]]:
        """Equal-tailed credible intervals of each probability."""
        tail = (1 - checked_mass(mass)) / 2
        order = np.argsort(self.draws, axis=0)
        reached = np.cumsum(self.weights[order], axis=0)
        ends = [np.minimum((reached < edge).sum(0), len(self.draws) - 1) for edge in (tail, 1 - tail)]
        places = np.arange(self.draws.shape[1])
        low, high = (self.draws[order[end, places], places] for end in ends)
        return {key: (float(a), float(b)) for key, a, b in zip(self, low, high, strict=True)}

    def spread(self, x: Array) -> float:
        """The standard error of Σ x·P."""
        away = self.draws - self.weights @ self.draws
        return float(np.sqrt(self.weights**2 @ (away @ x) ** 2))

    def __repr__(self) -> str:
        each = (f"{key!r}: {self[key]:.4f} ({low:.4f} to {high:.4f})" for key, (low, high) in self.interval().items())
        return f"{{{', '.join(each)}}}{'' if self.reliable else ' (unreliable)'}"


def belief(network: Network, name: str, given: Given) -> Belief:
    """The posterior of the table row that the parents' states select."""
    if name not in network.parents:
        raise SchemaError(f"there is no variable {name!r}; {suggest(name, network.parents)}")
    prior, counts = _learned(network, name)
    _notice_hidden(network, (name, *network.parents[name]))
    above, given = network.parents[name], given or {}
    for other in (other for other in given if other not in above):
        known = ", ".join(above) or "none"
        raise SchemaError(f"a belief about {name!r} is given its parents ({known}), and {other!r} isn't one: use query")
    for missing in (parent for parent in above if given.get(parent) is None):
        raise SchemaError(f"a belief about {name!r} needs the state of each parent, and {missing!r} has none")
    codes = [state(network.index, network._number(parent), given[parent]) for parent in above]
    row = network.nodes[name].row([np.array([code], dtype=np.int32) for code in codes])
    return belief_of_row(name, network.states[name], prior, counts, tuple(int(each[0]) for each in row))


def belief_of_row(
    name: str, states: tuple[object, ...], prior: DirichletCategorical, counts: Counts, row: tuple[int, ...]
) -> Belief:
    """The posterior of one row of a table."""
    alpha = np.broadcast_to(prior.concentration, counts.n.shape)[row]
    column = Column(OBSERVATIONS, "category", states_array(states), len(states))
    part = Part((None, OBSERVATIONS), Counts(counts.n[row].reshape((1, len(states)))))
    family = DirichletCategorical(dict(zip(column.values, alpha.tolist(), strict=True)))
    return Belief(family, columns=(name,)).with_evidence(Evidence(Schema((column,)), {OBSERVATIONS_LABEL: part}))


def averaged(
    network: Network, variables: str | Sequence[str], given: Given, event: Given, samples: int | None, seed: int
) -> AveragedOverTables:
    """Σ P(variables | given, θ) over draws of θ, each weighted by P(given | θ)."""
    check_samples(TABLE_DRAWS if samples is None else samples)
    random = np.random.default_rng(check_seed(seed))
    size, answers, logs = TABLE_DRAWS if samples is None else int(samples), list[Mapping[Any, float]](), list[float]()
    alphas = concentrations(network)
    _notice_hidden(network, network.variables)
    for _ in range(size):
        drawn = network._like(parameters=drawn_tables(network, alphas, random))
        log = float(drawn.log_probability(given, method="exact"))
        if log > -np.inf:  # else the draw has no weight: a table of small concentrations has entries that underflow
            logs.append(log)
            answers.append(drawn.query(variables, given, event=event, method="exact"))
    if not answers:
        network.query(variables, given, event=event, method="exact")  # the error names the findings
        raise EvidenceError(
            f"the evidence is nearly impossible under each of {size} tables drawn from their posterior: more samples= "
            'may find one, or tables="mean" answers'
        )
    keys = tuple(answers[0])
    return _summed(keys, np.array([[*each.values()] for each in answers]), np.array(logs), size)


def has_posterior(net: Network) -> bool:
    """Whether all distributions are tables with a posterior."""
    if net.evidence is None or net.forms:
        return False
    return all(net.prior[node.label.name] is not None for node in net.nodes.values())


def concentrations(network: Network) -> dict[Label, Array]:
    """The posterior of each table, as a Dirichlet for each of its rows; tied nodes share theirs."""
    found: dict[Label, Array] = {}
    for name, node in network.nodes.items():
        if node.label not in found and not node.is_rule:
            prior, counts = _learned(network, name)
            found[node.label] = np.asarray(prior.posterior(counts).alpha)
    return found


def drawn_tables(network: Network, alphas: Mapping[Label, Array], random: np.random.Generator) -> dict[str, Array]:
    """Tables drawn from their posterior."""
    found = {label: _drawn_rows(alpha, random) for label, alpha in alphas.items()}
    return {name: found.get(node.label, network.parameters[name]) for name, node in network.nodes.items()}


def _drawn_rows(alpha: Array, random: np.random.Generator) -> Array:
    """Dirichlet draws, by gamma draws in log space: log G(α) = log G(α + 1) + log(U)/α. If a whole row underflows, the
    state with the largest log(U)/α is drawn."""
    uniform = np.log(random.random(alpha.shape))
    with np.errstate(divide="ignore", over="ignore"):
        logs = np.log(random.standard_gamma(alpha + 1.0)) + uniform / alpha
        race = uniform / (alpha / alpha.max(-1, keepdims=True))
    top = logs.max(-1, keepdims=True)
    logs = np.where(np.isneginf(top), np.where(race == race.max(-1, keepdims=True), 0.0, -np.inf), logs)
    shares = np.exp(logs - logs.max(-1, keepdims=True))
    return np.asarray(shares / shares.sum(-1, keepdims=True))


def _summed(keys: Sequence[object], answers: Array, logs: Array, size: int) -> AveragedOverTables:
    """The mean of the draws that make the evidence possible; the others have no weight."""
    weights = np.exp(logs - logs.max())
    weights /= weights.sum()
    mean = weights @ answers
    away = answers - mean
    told = AveragedOverTables(zip(keys, mean.tolist(), strict=True))
    told.draws, told.weights, told.method = answers, weights, "tables drawn from their posterior"
    told.effective_samples = float(1.0 / (weights**2).sum())
    told.reliable = told.effective_samples >= min(FEWEST_EFFECTIVE_DRAWS, size / 2)
    told.standard_error = dict(zip(keys, np.sqrt(weights**2 @ away**2).tolist(), strict=True))
    return told


def _notice_hidden(network: Network, names: Iterable[str]) -> None:
    hidden = [name for name in names if hidden_rows(name) in network.evidence.parts]
    if hidden:
        tell(
            f"{', '.join(hidden)}: hidden when the tables were fitted. Errors of a hidden variable's table and of its "
            "children's are correlated: these tables are less certain than their intervals suggest"
        )


def _learned(network: Network, name: str) -> tuple[DirichletCategorical, Counts]:
    """The prior of a node's table, and the counts behind it."""
    if network.evidence is None:
        raise EvidenceError(
            "the network's tables are fixed, so nothing is uncertain about them: give them a strength, as in "
            "with_strength(50) for 50 cases, or learn them from data with fit"
        )
    node, form = network.nodes[name], type(network.forms.get(name)).__name__
    if node.is_rule or not node.has_rows:
        raise EvidenceError(
            f"{name!r} is a {form}, and beliefs are about rows of tables and trees: see net.distributions"
        )
    if name in network.forms and network.history:
        raise EvidenceError(f"{name!r} is a {form} that was fitted by EM: the uncertainty of its rows is unknown")
    label = node.label
    prior, counts = network.prior[label.name], network.evidence[label]
    if prior is None:
        raise PriorError(f"maximum likelihood has no posterior of {name!r}: fit with a prior")
    missing = missing_information(network.evidence, label)
    if missing is not None:
        counts = Counts(Exact.of(observed_counts(counts.n.value, network.tables[name], missing)))
    return dirichlet_of(prior, counts.n.shape, name), counts
