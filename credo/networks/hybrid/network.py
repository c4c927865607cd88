"""Hybrid networks: categories with tables and numbers with linear-Gaussian nodes, in one graph."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, fields
from functools import cached_property
from os import PathLike
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from credo.core.records import Surface
from credo.errors import NetworkError
from credo.networks import graph
from credo.networks.directed_graph import DirectedGraph
from credo.networks.evidence_verbs import EvidenceVerbs
from credo.networks.fixed import Fixed
from credo.networks.hybrid.declared import Declared, Node, declared, split_parents
from credo.networks.hybrid.estimates import DRAWS
from credo.networks.hybrid.number_node import Equations, LogisticNode, NumberNode
from credo.networks.inference.sizes import Method
from credo.networks.network import Network
from credo.networks.tables import States
from credo.numerics.exact import Array

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from credo.core.evidence import Evidence
    from credo.core.learning import Validation, Weight
    from credo.networks.answers import MostProbable
    from credo.networks.explanation import QueryExplanation
    from credo.networks.hybrid.learning import HybridLearner
    from credo.networks.inference.findings import Given
    from credo.networks.inference.potentials import Potentials


@dataclass(frozen=True, eq=False, init=False, repr=False)
class HybridNetwork(DirectedGraph, EvidenceVerbs, Surface):
    """P(all) = ∏ P(name | parents) over categories and numbers.

    A category has a table (or a LogisticOfNumbers, where numbers are among its parents); a number has a Normal, with a
    line for each configuration of its category parents. Nodes are given, and then fixed; or `fit` learns them.

    >>> from credo.networks.nodes.normal import Normal
    >>> net = HybridNetwork("Flu -> Fever", {"Flu": 0.1, "Fever": Normal({"yes": 39.0, "no": 36.8}, sd=0.5)})
    >>> round(net.query("Fever").mean(), 6)  # 0.1 · 39 + 0.9 · 36.8
    37.02
    >>> round(net.query("Flu", given={"Fever": 38.5})["yes"], 4)
    0.9562
    """

    _internal: ClassVar[tuple[str, ...]] = (
        "below", "category_index", "category_network", "category_parents", "equations", "fixed_nodes", "fixed_states",
        "with_evidence",
    )  # fmt: skip

    parents: Mapping[str, tuple[str, ...]]
    states: States  # of categories
    nodes: Mapping[str, Node]  # each variable given its parents; empty where only the arrows are known
    prior: Any  # HybridPriors; None where nothing was learned
    evidence: Any  # Evidence of the nodes; None where these are fixed, or nothing was learned
    history: tuple[float, ...]  # EM's objective after each step; empty where rows were complete
    done: Mapping[str, float]  # numbers that an intervention set

    def __init__(
        self,
        arrows: str | Mapping[str, Iterable[str]] | Iterable[tuple[str, str]],
        nodes: Mapping[str, Any] | None = None,
        states: Mapping[str, Sequence[Any]] | None = None,
        prior: Any = None,
        evidence: Any = None,
        history: Sequence[float] = (),
        done: Mapping[str, float] | None = None,
    ) -> None:
        parents = graph.checked(graph.parse_arrows(arrows) if isinstance(arrows, str) else arrows)
        if not parents:
            raise NetworkError("a network must have at least one variable")
        graph.in_order(parents)  # refuses cycles
        if nodes is not None and not isinstance(nodes, Mapping):
            raise NetworkError(f"nodes must be {{name: table or node}}, but are {nodes!r:.60}")
        beside = dict(nodes or {}) if evidence is not None else {}
        if not all(isinstance(node, LogisticNode) for node in beside.values()):
            raise NetworkError("nodes are either given, and fixed, or derived from evidence: not both")
        nodes = None if beside else nodes
        found = (
            declared(parents, nodes, states)
            if nodes
            else Declared({n: tuple(s) for n, s in (states or {}).items()}, {})
        )
        self._set(parents, found, prior, None, tuple(history), dict(done or {}))
        if evidence is not None:
            self._learn(prior, evidence, beside)

    def _set(
        self, parents: Any, found: Declared, prior: Any, evidence: Any, history: tuple[float, ...], done: Any
    ) -> None:
        values = (parents, *found, prior, evidence, history, done)
        for field, value in zip(fields(self), values, strict=True):
            object.__setattr__(self, field.name, Fixed(value) if type(value) is dict else value)

    def _learn(self, prior: Any, evidence: Evidence, logistic: Mapping[str, LogisticNode]) -> None:
        """Set prior and evidence, and derive states and nodes from them, but logistic ones."""
        from credo.networks.hybrid.learning import derived

        made, found = derived(self.parents, prior, evidence, logistic)
        self._set(self.parents, found, made, evidence, self.history, dict(self.done))

    # What it is made of

    @property
    def variables(self) -> tuple[str, ...]:
        return tuple(self.parents)

    def __len__(self) -> int:
        return len(self.parents)

    def __contains__(self, name: object) -> bool:
        return name in self.parents

    @cached_property
    def order(self) -> tuple[str, ...]:
        """The variables, parents before their children."""
        return graph.in_order(self.parents)

    @cached_property
    def below(self) -> Mapping[str, list[str]]:
        return graph.children(self.parents)

    @cached_property
    def tables(self) -> Mapping[str, Array]:
        """Of categories without number parents: (the parents' states..., own states)"""
        return {name: node for name, node in self.nodes.items() if isinstance(node, np.ndarray)}

    @cached_property
    def numbers(self) -> Mapping[str, NumberNode]:
        """The variables that are numbers, with their nodes."""
        return {name: node for name, node in self.nodes.items() if isinstance(node, NumberNode)}

    @cached_property
    def logistic(self) -> Mapping[str, LogisticNode]:
        """The categories with numbers among their parents, with their nodes."""
        return {name: node for name, node in self.nodes.items() if isinstance(node, LogisticNode)}

    @property
    def fixed_nodes(self) -> Mapping[str, Node]:
        """The nodes that aren't derived from evidence."""
        return self.nodes if self.evidence is None else self.logistic

    @property
    def fixed_states(self) -> Mapping[str, tuple[Any, ...]]:
        """The states, unless they are derived from evidence."""
        return self.states if self.evidence is None else {}

    @cached_property
    def equations(self) -> Equations:
        """The lines of all numbers that depend on no category."""
        return Equations.of(self.numbers)

    @cached_property
    def category_index(self) -> Potentials:
        """The categories' states, by which findings are read."""
        from credo.networks.inference.potentials import Potentials

        return Potentials.of(self.states, (), directed=False)

    def category_parents(self, name: str) -> tuple[str, ...]:
        return split_parents(self.parents[name], {*self.numbers})[0]

    @cached_property
    def category_network(self) -> Network:
        """The categories by themselves."""
        return Network({name: self.category_parents(name) for name in self.states}, self.tables, self.states)

    def _check_nodes(self) -> None:
        if not self.nodes:
            raise NetworkError("the network has arrows but no nodes: give nodes=, or learn them with fit")

    # Queries

    def query(
        self,
        variables: str | Sequence[str],
        given: Given = None,
        *,
        method: Method = "auto",
        samples: int = DRAWS,
        seed: int = 0,
    ) -> Any:
        """p(variable | given): of a category {state: probability}, of a number its distribution (mean, interval,
        log_prob, quantile, sample, plot); of several categories {(state, ...): probability}, of several numbers their
        joint distribution with mean and covariance.

        `given` has states (or lists of them, or likelihoods), numbers, and intervals of numbers, as in (39, None).
        Exact where the configurations of categories that numbers depend on are few; else "auto" estimates, with a
        notice.
        """
        from credo.networks.hybrid.queries import queried

        return queried(self, variables, given, method, samples, seed)

    def marginals(
        self, given: Given = None, *, method: Method = "auto", samples: int = DRAWS, seed: int = 0
    ) -> dict[str, Any]:
        """{name: p(name | given)} of all variables."""
        from credo.networks.hybrid.queries import all_marginals

        return all_marginals(self, given, method, samples, seed)

    def probability(
        self,
        event: Given,
        given: Given = None,
        *,
        method: Method = "auto",
        samples: int = DRAWS,
        seed: int = 0,
    ) -> float:
        """P(event | given); an event gives categories states, and numbers intervals as in (39, None)."""
        from credo.networks.hybrid.queries import chance

        return chance(self, event, given, method, samples, seed)

    def log_probability(
        self, given: Given = None, *, method: Method = "auto", samples: int = DRAWS, seed: int = 0
    ) -> float:
        """log p(evidence): a density in the numbers that are given, -inf if it is impossible."""
        from credo.networks.hybrid.queries import log_evidence

        return log_evidence(self, given, method, samples, seed)

    def most_probable(self, variables: Sequence[str] | None = None, given: Given = None) -> MostProbable:
        """The most probable states of categories, numbers integrated out, and the means of numbers given these."""
        from credo.networks.hybrid.queries import most_probable

        return most_probable(self, variables, given)

    def explain(self, variable: str, given: Given, value: Any = None) -> QueryExplanation:
        """How much each finding changed the log-odds of a category's value, by default the most probable one; or, of a
        number, those of an interval as in (39, None)."""
        from credo.networks.hybrid.queries import explained

        return explained(self, variable, given, value)

    def do(self, values: Mapping[str, Any]) -> HybridNetwork:
        """The network after an intervention, which sets categories to states and numbers to values: the arrows into
        them are gone."""
        from credo.networks.hybrid.interventions import after_intervention

        return after_intervention(self, values)

    def sample(self, size: int, given: Given = None, seed: int | None = None) -> Any:
        """An Arrow table of rows drawn given the evidence; given intervals or logistic nodes' states, by weighted
        draws."""
        from credo.networks.hybrid.sampling import sampled_table

        return sampled_table(self, size, given, seed)

    # Rows

    def log_prob(self, data: object) -> Array:
        """log p(row) of each row, missing cells integrated out."""
        from credo.networks.hybrid.rows import log_prob

        return log_prob(self, data)

    def predict_proba(self, variable: str, data: object) -> Array:
        """P(category | the row's other cells), any of which may be missing. (rows, states)"""
        from credo.networks.hybrid.rows import predict_proba

        return predict_proba(self, variable, data)

    def predict(self, variable: str, data: object) -> Any:
        """The most probable state in each row; of a number, its mean given the row's other cells."""
        from credo.networks.hybrid.rows import predict

        return predict(self, variable, data)

    def impute(self, data: object) -> Any:
        """The table with its missing cells filled in: categories by their most probable joint state, numbers by their
        mean given it. An Arrow table."""
        from credo.networks.hybrid.rows import impute

        return impute(self, data)

    # Learning

    @property
    def n(self) -> float:
        """The weight of the rows that were learned."""
        return self._learner.n if self.evidence is not None else 0.0

    @property
    def _learner(self) -> HybridLearner:
        from credo.networks.hybrid.learning import HybridLearner

        return HybridLearner.of(self)

    def fit(
        self,
        data: object,
        *,
        prior: Any = None,
        kinds: Mapping[str, str] | None = None,
        weight: Weight = None,
        steps: int = 1000,
        tolerance: float = 1e-10,
    ) -> HybridNetwork:
        """Learn the nodes: tables by counting, lines by conjugate regression at each configuration of category
        parents; by EM where cells are missing. What was learned before is dropped. Logistic nodes get their most
        probable weights; they have no statistics that add, so that a network with them is fitted again for more rows.

        The prior is a number of cases (default 1): Dirichlet(prior) for tables, and for lines so many rows that look
        like all rows together; "ml" is maximum likelihood; {name: any of these, a DirichletCategorical, or a
        LinearGaussian} gives some their own.
        """
        from credo.networks.hybrid.fitting import fitted

        return fitted(self, data, prior, kinds, weight, steps, tolerance)

    def update(self, data: object, *, weight: Weight = None) -> HybridNetwork:
        """Learn from more rows, which must be complete."""
        return self._learner.update(data, weight=weight).network

    def with_evidence(self, evidence: Evidence, history: tuple[float, ...] = ()) -> HybridNetwork:
        """The same arrows and prior, with nodes derived from that evidence."""
        return HybridNetwork(self.parents, self.logistic, None, self.prior, evidence, history)

    def cross_validate(self, data: object, folds: int = 10, *, weight: Weight = None, seed: int = 0) -> Validation:
        """log p(row) of each row, by nodes learned from the other folds."""
        return self._learner.cross_validate(data, folds, weight=weight, seed=seed)

    def leave_one_out(self, data: object, *, weight: Weight = None) -> Validation:
        """log p(row) of each learned row, by nodes learned from all others, exactly; nothing is refitted. (What a
        default prior took from all rows stays as it is.)"""
        from credo.networks.hybrid.left_out import leave_one_out

        return leave_one_out(self, data, weight)

    def belief(self, name: str, given: Mapping[str, Any] | None = None) -> Any:
        """What is believed of a node at some states of its category parents: of a table's row a Dirichlet, of a
        number's line a LinearGaussian, with mean, interval and so on."""
        from credo.networks.hybrid.beliefs import belief

        return belief(self, name, given)

    # Files and pictures

    def write(self, path: str | PathLike[str]) -> None:
        """To a JSON file, as Gaussian networks are exchanged; all variables must be numbers (`credo.save`: any)."""
        from credo.formats import write

        write(self, path)

    def plot(self, given: Given = None, ax: Axes | None = None) -> Figure:
        """The graph with each variable's marginal, drawn in `ax` if it is given."""
        from credo.present.hybrid import plot_hybrid

        return plot_hybrid(self, given, ax)

    def __eq__(self, other: object) -> bool:
        """Whether arrows, states and nodes are the same."""
        if not isinstance(other, HybridNetwork):
            return NotImplemented
        for each in ("parents", "states", "done"):
            if dict(getattr(self, each)) != dict(getattr(other, each)):
                return False
        pairs = ((node, other.nodes.get(name)) for name, node in self.nodes.items())
        return len(self.nodes) == len(other.nodes) and all(
            np.array_equal(a, b) if isinstance(a, np.ndarray) and isinstance(b, np.ndarray) else bool(a == b)
            for a, b in pairs
        )

    def __hash__(self) -> int:
        return hash(frozenset((name, frozenset(above)) for name, above in self.parents.items()))

    def __getstate__(self) -> dict[str, Any]:
        """Without what is derived."""
        return {field.name: getattr(self, field.name) for field in fields(self)}

    def __repr__(self) -> str:
        from credo.present.hybrid import described

        return described(self)
