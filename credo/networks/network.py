"""Belief networks: arrows between variables, and for each a distribution given its parents."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Unpack

import numpy as np

from credo.errors import NetworkError, PriorError, suggest
from credo.networks.directed_model import DirectedModel
from credo.networks.evidence_verbs import EvidenceVerbs
from credo.networks.graphical_model import GraphicalModel
from credo.networks.inference.sizes import SAMPLES, Method
from credo.notices import tell

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from credo.core.description import DescriptionLength
    from credo.core.learning import Weight
    from credo.core.validation import Validation
    from credo.estimation.belief import Belief
    from credo.networks.answers import Posterior
    from credo.networks.average import NetworkAverage
    from credo.networks.causes.effect import Effect
    from credo.networks.explanation import QueryExplanation
    from credo.networks.fitting import FittingOptions
    from credo.networks.inference.findings import Given
    from credo.networks.learning import TableLearner
    from credo.networks.sensitivity.evidence_impact import EvidenceImpact
    from credo.networks.sensitivity.sensitivity import Sensitivity

EXAMPLES = Path(__file__).parent.parent / "samples" / "networks"


@dataclass(frozen=True, eq=False, init=False, repr=False)
class Network(DirectedModel, EvidenceVerbs):
    """P(all) = ∏ P(name | parents), over a directed acyclic graph.

    The arrows are {name: parents}, or text. States are {name: values}, or values that all variables have. The tables
    are given, and then fixed; or they are derived from a prior and from evidence, which `fit` counts. Nodes that are
    tied to the same label, as in {"X1": "step", "X2": "step"}, share one table.

    >>> fire = Network("Storm -> Fire", {"Storm": 0.2, "Fire": {"yes": 0.25, "no": 0.01}})
    >>> fire.states
    {'Storm': ('yes', 'no'), 'Fire': ('yes', 'no')}
    >>> learned = Network("Storm -> Fire").fit({"Storm": ["yes", "no", "no"], "Fire": ["yes", "no", "no"]})
    >>> learned.tables["Fire"]  # Storm: no, yes; Fire: no, yes
    array([[0.75      , 0.25      ],
           [0.33333333, 0.66666667]])
    """

    @classmethod
    def read(cls, path: str | PathLike[str]) -> Network:
        """A network from a file: BIF, XMLBIF, XDSL, Hugin NET, UAI, DSL or JSON, by the file's extension. Networks with
        numbers are read by `HybridNetwork.read`, those without arrows by `MarkovNetwork.read`."""
        from credo.formats import read_as

        return read_as(Network, path)

    @classmethod
    def example(cls, name: str) -> Network:
        """One of the networks that ship with credo: asia, earthquake, sprinkler or storm.

        >>> Network.example("sprinkler").query("Rain", {"WetGrass": "yes"})["yes"].__round__(4)
        0.7079
        """
        found = {path.stem: path for path in EXAMPLES.glob("*.bif")}
        if name not in found:
            raise NetworkError(f"there is no example {name!r}; {suggest(name, sorted(found))}")
        return cls.read(found[name])

    @classmethod
    def random(
        cls,
        variables: int | Sequence[str],
        arrows: int | None = None,
        *,
        states: int | tuple[int, int] = 2,
        max_parents: int = 4,
        concentration: float = 1.0,
        seed: int = 0,
    ) -> Network:
        """A random network: by default 1.5 arrows per variable, along a random order; each row of a table is drawn from
        Dirichlet(concentration).

        >>> Network.random(4, arrows=3, seed=1).parents
        {'x0': (), 'x1': ('x0',), 'x2': ('x1',), 'x3': ('x0',)}
        """
        from credo.networks.random_networks import random_network_parts

        return cls(*random_network_parts(variables, arrows, states, max_parents, concentration, seed))

    def write(self, path: str | PathLike[str]) -> None:
        """Write to a file, in the format of its extension."""
        from credo.formats import write

        write(self, path)

    # Learning

    def fit(
        self,
        data: object,
        *,
        prior: Any = None,
        strength: Any = None,
        weight: Weight = None,
        hidden: Mapping[str, Any] | None = None,
        **how: Unpack[FittingOptions],
    ) -> Network:
        """Learn the tables: by counting complete rows; by EM with missing cells or hidden variables. Earlier evidence
        is dropped.

        The prior is l for Dirichlet(l), by default 1; "ml" for maximum likelihood; `credo.BDeu(n)`; a
        DirichletCategorical; or {node: one of these}. With a strength, the prior is the network's own tables with that
        equivalent sample size. `hidden` gives the number or names of a hidden variable's states.

        With hidden variables EM runs from `starts` (10) starts; it stops after `steps` (1000) or when the relative
        growth of the objective is below `tolerance`; `method` is "em", "gradient" or "lbfgs". `history` has the
        objective.
        """
        if prior is not None and strength is not None:
            raise PriorError("give a prior, or a strength of the network's own tables: not both")
        if strength is not None:
            return self.with_strength(strength)._updated(data, weight, hidden, how, self)
        states = self.states if self.declared else None
        forms = {name: form.unlearned() for name, form in self.forms.items()}
        bare = Network(self.parents, forms, states, self.tied, 1.0 if prior is None else prior)
        return bare._updated(data, weight, hidden, how, self)

    def update(self, data: object, *, weight: Weight = None, **how: Unpack[FittingOptions]) -> Network:
        """Learn from more rows. With missing cells, EM continues; the expected counts of earlier rows are kept."""
        if self.history:
            tell("the expected counts of earlier rows are kept: to fit all rows together, use fit")
        return self._updated(data, weight, None, how, self)

    def _updated(
        self, data: object, weight: Weight, hidden: Mapping[str, object] | None, how: FittingOptions, start: Network
    ) -> Network:
        from credo.networks.fitting import FittingSettings, learned

        return learned(self, data, weight, hidden, FittingSettings.of(how), start)

    def with_strength(self, cases: float | Mapping[str, float]) -> Network:
        """The same tables as a prior with this equivalent sample size; `update` adds rows to it.

        Each row of a table is Dirichlet(cases · P(node, parents)): the expected counts of that many rows.

        >>> fire = Network("Storm -> Fire", {"Storm": 0.2, "Fire": {"yes": 0.25, "no": 0.01}}).with_strength(50)
        >>> fire.update({"Storm": ["yes"] * 10, "Fire": ["yes"] * 10}).tables["Fire"][0]  # (2.5 + 10) / (10 + 10)
        array([0.625, 0.375])
        """
        from credo.networks.expert_priors import expert_priors

        prior, evidence = expert_priors(self, cases)
        return Network(self.parents, self.forms, self.states, self.tied)._with_prior(prior)._like(evidence=evidence)

    @property
    def _learner(self) -> TableLearner:
        from credo.networks.learning import TableLearner

        return TableLearner.of(self)

    def cross_validate(
        self,
        data: object,
        folds: int = 10,
        *,
        weight: Weight = None,
        hidden: Mapping[str, object] | None = None,
        **how: Unpack[FittingOptions],
    ) -> Validation:
        """log P(row) of each row, by tables learned from the other folds; refitted where cells are missing, with the
        options of `fit`. The seed also assigns rows to folds."""
        from credo.networks.validation import cross_validated

        return cross_validated(self, data, folds, weight, hidden, how)

    def leave_one_out(self, data: object, *, weight: Weight = None) -> Validation:
        """log P(row) of each learned row, by tables learned from all others, exactly and without refits."""
        from credo.networks.validation import leave_one_out

        return leave_one_out(self, data, weight)

    def belief(self, name: str, given: Given = None) -> Belief:
        """The posterior of P(name | its parents' states): a Dirichlet, with mean, interval, plot and so on.

        >>> fire = Network("Storm -> Fire").fit({"Storm": ["yes"] * 8, "Fire": ["yes"] * 2 + ["no"] * 6})
        >>> fire.belief("Fire", given={"Storm": "yes"}).mean()
        {'no': 0.7, 'yes': 0.3}
        """
        from credo.networks.table_beliefs import belief

        return belief(self, name, given)

    def query(
        self,
        variables: str | Sequence[str],
        given: Given = None,
        *,
        event: Given = None,
        method: Method = "auto",
        samples: int | None = None,
        seed: int = 0,
        tables: Literal["mean", "sampled"] = "mean",
    ) -> Posterior:
        """P(variable | given) as {state: probability}; of several variables, {(state, state, ...): probability}. With
        an event, P(variables, event | given).

        `given` is the evidence: {name: state}, {name: [possible states]}, or {name: {state: likelihood}}. "exact"
        refuses an answer that doesn't fit in memory; "auto" then samples, with a notice. tables="sampled" averages over
        tables drawn from their posterior, and gives the uncertainty of the answer.
        """
        if tables == "sampled":
            from credo.networks.table_beliefs import averaged

            return averaged(self, variables, given, event, samples, seed)
        if tables != "mean":
            raise NetworkError(f'tables must be "mean" or "sampled", but is {tables!r:.60}')
        size = SAMPLES if samples is None else samples
        return super().query(variables, given, event=event, method=method, samples=size, seed=seed)

    def divergence(self, other: Network, *, method: Method = "auto", samples: int = SAMPLES, seed: int = 0) -> float:
        """The Kullback-Leibler divergence Σ P(x) log P(x)/Q(x) of another network Q from this one, in nats."""
        from credo.networks.comparison import divergence

        return divergence(self, other, method, samples, seed)

    def score(
        self, data: object, score: str = "auto", *, weight: Weight = None, equivalent: float = 1.0
    ) -> dict[str, float]:
        """Each variable's part of the score of these arrows, by which learn_structure compares graphs: the larger, the
        better. "auto" is bic for categories, bge for numbers."""
        from credo.networks.structure.strengths import scored_nodes

        return scored_nodes(self, data, score, weight, equivalent)

    def log_evidence(self) -> float:
        """log p(rows | arrows) of the rows that were learned, the tables integrated out; rows without missing cells."""
        from credo.networks.description_length import tables_evidence

        return tables_evidence(self)

    def description_length(self, data: object) -> DescriptionLength:
        """L(h) + L(rows | h) in bits: the parents of each node, ½ log₂ n for each number of its table, −log₂ P(row)."""
        from credo.networks.description_length import network_length

        return network_length(self, data)

    def average(self, data: object, *, prior: object = 1.0, structures: int = 100, **how: object) -> NetworkAverage:
        """The average over structures of these variables, weighted by their posterior: credo.edge_confidence(data,
        **how).average()."""
        from credo.networks.structure.strengths import averaged

        return averaged(self, data, prior, structures, how)

    def do(self, states: Mapping[str, object]) -> Network:
        """The network after an intervention, which sets variables to states, or draws these from {state: probability}:
        the arrows into them are removed."""
        from credo.networks.inference.findings import state
        from credo.networks.jeffrey import distribution

        parents, tables = dict(self.parents), self._given
        for name, value in states.items():
            parents[self._known(name)] = ()
            if isinstance(value, Mapping):
                tables[name] = np.array([*distribution(self, name, value, "what do gives").values()])
                continue
            tables[name] = np.zeros(len(self.states[name]))
            tables[name][state(self.index, self._number(name), value)] = 1.0
        return Network(parents, tables, self.states)

    def effect(
        self,
        cause: str | Sequence[str],
        outcome: str | Sequence[str],
        *,
        given: Given = None,
        hidden: str | Sequence[str] | None = None,
        draws: int | None = None,
        seed: int = 0,
    ) -> Effect:
        """P(outcome | do(cause), given), by the simplest adjustment, with credible intervals if the tables were
        learned. If hidden variables prevent it, the error says why."""
        from credo.networks.causes.effect import network_effect

        return network_effect(self, cause, outcome, hidden, draws, seed, given)

    def explain(
        self, variable: str, given: Given, value: object = None, *, do: Mapping[str, object] | None = None
    ) -> QueryExplanation:
        """How much each finding changed the log-odds of a value, by default the most probable one; under the
        intervention `do`, if one is given."""
        found = GraphicalModel.explain(self.do(do) if do else self, variable, given, value)
        return replace(found, done=dict(do)) if do else found

    def counterfactual(
        self, variables: str | Sequence[str], given: Given, do: Mapping[str, object], *, method: Method = "auto"
    ) -> Posterior:
        """P(variables, had `do` been done | given), a counterfactual about the observed case. All affected variables
        must be deterministic functions of their parents; noise must be separate variables."""
        from credo.networks.causes.twin_network import counterfactual

        return counterfactual(self, variables, given, do, method)

    def sensitivity(self, variable: str, given: Given = None, value: object = None) -> Sensitivity:
        """How P(variable = value | given) depends on each entry of each table: exact derivatives, one-way functions, a
        tornado within credible intervals, bounds. The value is by default the most probable one."""
        from credo.networks.sensitivity.sensitivity import Sensitivity

        return Sensitivity.of(self, variable, given, value)

    def evidence_impact(self, variable: str, given: Given) -> EvidenceImpact:
        """The effect of each finding on P(variable | given), alone and with the others, in probabilities and bits."""
        from credo.networks.sensitivity.evidence_impact import evidence_impact

        return evidence_impact(self, variable, given)

    def plot(self, given: Given = None, ax: Axes | None = None) -> Figure:
        """The graph with each variable's marginal, drawn in `ax` if it is given."""
        from credo.present.network_plot import plot_network

        return plot_network(self, given, ax)

    def __eq__(self, other: object) -> bool:
        """Whether arrows, states and tables are the same, in any order."""
        from credo.networks.equality import equal_networks

        return equal_networks(self, other) if isinstance(other, Network) else NotImplemented

    def __hash__(self) -> int:
        return hash(frozenset((name, frozenset(above)) for name, above in self.parents.items()))

    def __repr__(self) -> str:
        from credo.present.networks import described

        return described(self)
