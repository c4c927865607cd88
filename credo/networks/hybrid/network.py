"""Hybrid networks: categories with tables and numbers with linear-Gaussian nodes, in one graph."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from os import PathLike
from typing import TYPE_CHECKING, Any, ClassVar, Unpack

from credo.errors import SchemaError
from credo.networks.evidence_verbs import EvidenceVerbs
from credo.networks.hybrid.likelihood_weighting import DEFAULT_DRAWS
from credo.networks.hybrid.model import HybridModel
from credo.networks.inference.sizes import ROW_SAMPLES, Method
from credo.networks.refusals import Refusals, refused
from credo.numerics.exact import Array

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from credo.core.description import DescriptionLength
    from credo.core.learning import Weight
    from credo.core.validation import Validation
    from credo.data import Source
    from credo.networks.answers import MostProbable
    from credo.networks.causes.effect import Effect
    from credo.networks.explanation import QueryExplanation
    from credo.networks.fitting import FittingOptions
    from credo.networks.hybrid.answers import MixedMarginals
    from credo.networks.hybrid.effects import NumberEffect
    from credo.networks.hybrid.learning import HybridLearner
    from credo.networks.hybrid.row_answers import RowAnswers
    from credo.networks.inference.findings import Given
    from credo.networks.information import InformationGains
    from credo.networks.sensitivity.evidence_impact import EvidenceImpact


@dataclass(frozen=True, eq=False, init=False, repr=False)
class HybridNetwork(HybridModel, EvidenceVerbs, Refusals):
    """P(all) = ∏ P(name | parents) over categories and numbers.

    A category has a table (or a LogisticOfNumbers, if it has numeric parents); a number has a Normal, a linear
    regression for each configuration of its category parents. Nodes are given and fixed, or learned by `fit`.

    >>> from credo.networks.nodes.normal import Normal
    >>> net = HybridNetwork("Flu -> Fever", {"Flu": 0.1, "Fever": Normal({"yes": 39.0, "no": 36.8}, sd=0.5)})
    >>> round(net.query("Fever").mean(), 6)  # 0.1 · 39 + 0.9 · 36.8
    37.02
    >>> round(net.query("Flu", given={"Fever": 38.5})["yes"], 4)
    0.9562
    """

    _refused: ClassVar[Mapping[str, str]] = refused({
        "sensitivity": "derivatives are for entries of tables, but numbers have regressions; query a network with "
        "other nodes instead",
        "counterfactual": "noise isn't a separate variable here; do(...) gives the effect of an intervention",
        "believing": "likelihoods that lead to beliefs are computed for networks of tables; give likelihoods to query",
        "divergence": "it isn't exact where mixtures are compared; log_prob(data) of both compares them on rows",
        "average": "structures are averaged only for networks of tables: cut numbers into bins with "
        "edge_confidence(data, bins=5).average()",
        "log_evidence": "it is computed for networks of tables; cross_validate(data) and description_length(data) "
        "compare networks",
    })  # fmt: skip

    # Queries

    def query(
        self,
        variables: str | Sequence[str],
        given: Given = None,
        *,
        method: Method = "auto",
        samples: int = DEFAULT_DRAWS,
        seed: int = 0,
    ) -> Any:
        """p(variable | given): of a category {state: probability}, of a number its distribution (mean, interval,
        log_prob, quantile, sample, plot); of several categories {(state, ...): probability}, of several numbers their
        joint distribution with mean and covariance.

        `given` has states (or lists of them, or likelihoods), numbers, and intervals of numbers, as in (39, None).
        Exact if the numbers depend on few configurations of categories; else "auto" estimates, with a notice.
        """
        from credo.networks.hybrid.queries import queried

        return queried(self, variables, given, method, samples, seed)

    def marginals(
        self, given: Given = None, *, method: Method = "auto", samples: int = DEFAULT_DRAWS, seed: int = 0
    ) -> MixedMarginals:
        """{name: p(name | given)} of all variables."""
        from credo.networks.hybrid.answers import MixedMarginals
        from credo.networks.hybrid.queries import all_marginals

        return MixedMarginals(all_marginals(self, given, method, samples, seed))

    def probability(
        self,
        event: Given,
        given: Given = None,
        *,
        method: Method = "auto",
        samples: int = DEFAULT_DRAWS,
        seed: int = 0,
    ) -> float:
        """P(event | given); an event gives categories states, and numbers intervals as in (39, None)."""
        from credo.networks.hybrid.queries import chance

        return chance(self, event, given, method, samples, seed)

    def log_probability(
        self, given: Given = None, *, method: Method = "auto", samples: int = DEFAULT_DRAWS, seed: int = 0
    ) -> float:
        """log p(evidence): a density in the numbers that are given, -inf if it is impossible."""
        from credo.networks.hybrid.queries import log_evidence

        return log_evidence(self, given, method, samples, seed)

    def most_probable(self, variables: Sequence[str] | None = None, given: Given = None) -> MostProbable:
        """The most probable states of categories, numbers integrated out, and the means of numbers given these."""
        from credo.networks.hybrid.queries import most_probable

        return most_probable(self, variables, given)

    def explain(self, variable: str, given: Given, value: Any = None) -> QueryExplanation:
        """How much each finding changed the log-odds of a category's value, by default the most probable one; or, for a
        number, those of an interval such as (39, None)."""
        from credo.networks.hybrid.queries import explained

        return explained(self, variable, given, value)

    def do(self, values: Mapping[str, Any]) -> HybridNetwork:
        """The network after an intervention, which sets categories to states and numbers to values: the arrows into
        them are removed."""
        from credo.networks.hybrid.interventions import after_intervention

        return after_intervention(self, values)

    def effect(
        self,
        cause: str,
        outcome: str,
        *,
        given: Given = None,
        hidden: str | Sequence[str] | None = None,
    ) -> Effect | NumberEffect:
        """The effect of each state of a category: P(outcome | do(cause)), or the distribution of a number.

        If hidden variables prevent it, the error says why.
        """
        from credo.networks.hybrid.effects import hybrid_effect

        return hybrid_effect(self, cause, outcome, given, hidden)

    def what_to_ask(
        self, variable: str, given: Given = None, *, costs: Mapping[str, float] | None = None, price: float = 1.0
    ) -> InformationGains:
        """The expected reduction in the entropy of a category, in nats, from observing each other category, minus its
        cost times the price per unit; the best first."""
        from credo.networks.information import information_gains

        return information_gains(self._categories_only("what_to_ask", variable), variable, given, costs, price)

    def mutual_information(self, a: str, b: str, given: Mapping[str, Any] | str | Iterable[str] | None = None) -> float:
        """I(a; b) of two categories, in nats, given the evidence, or averaged over categories that are named."""
        from credo.networks.information import mutual_information

        return mutual_information(self._categories_only("mutual_information", a, b), a, b, given)

    def evidence_impact(self, variable: str, given: Given) -> EvidenceImpact:
        """How each finding, about categories or numbers, moves P(variable | given) of a category."""
        from credo.networks.sensitivity.evidence_impact import evidence_impact

        return evidence_impact(self._categories_only("evidence_impact", variable), variable, given)

    def _categories_only(self, verb: str, *names: str) -> HybridNetwork:
        self._check_nodes()
        for name in names:
            if self._known(name) in self.numbers:
                raise SchemaError(f"{verb} is about categories, and {name!r} is a number; query gives its distribution")
        return self

    def sample(self, size: int, given: Given = None, seed: int | None = None) -> Any:
        """An Arrow table of rows drawn given the evidence; given intervals or logistic nodes' states, by weighted
        draws."""
        from credo.networks.hybrid.sampling import sampled_table

        return sampled_table(self, size, given, seed)

    # Rows

    def log_prob(self, data: object, *, method: Method = "auto", samples: int = ROW_SAMPLES, seed: int = 0) -> Any:
        """log p(row) of each row, missing cells integrated out.

        Of a Dask or Spark DataFrame: that frame, with a column log_prob, computed lazily.
        """
        rows, table = self._rows(data, method, samples, seed)
        return rows.log_prob(table)

    def _log_prob_here(self, data: object) -> Array:
        """The same as an array, wherever the rows live. (rows,)"""
        rows, table = self._rows(data, "auto", ROW_SAMPLES, 0)
        return rows.log_prob_here(table)

    def description_length(self, data: object) -> DescriptionLength:
        """L(h) + L(rows | h) in bits: the parents of each node, ½ log₂ n for each parameter, −log₂ p(row)."""
        from credo.networks.description_length import hybrid_length

        return hybrid_length(self, data)

    def predict_proba(
        self, variable: str, data: object, *, method: Method = "auto", samples: int = ROW_SAMPLES, seed: int = 0
    ) -> Any:
        """P(category | the row's other cells), any of which may be missing. (rows, states)

        Rows that have no exact answer are estimated from `samples` each; "exact" refuses them. Of a Dask or Spark
        DataFrame: that frame, with a column P(state) for each state, computed lazily.
        """
        rows, table = self._rows(data, method, samples, seed)
        return rows.predict_proba(variable, table)

    def predict(
        self, variable: str, data: object, *, method: Method = "auto", samples: int = ROW_SAMPLES, seed: int = 0
    ) -> Any:
        """The most probable state in each row; for a number, its mean given the row's other cells. Of a Dask or Spark
        DataFrame, that frame with a column `predicted`."""
        rows, table = self._rows(data, method, samples, seed)
        return rows.predict(variable, table)

    def impute(self, data: object, *, method: Method = "auto", samples: int = ROW_SAMPLES, seed: int = 0) -> Any:
        """The table with its missing cells filled in: categories by their most probable joint state, numbers by their
        mean given it. An Arrow table; of a Dask or Spark DataFrame, that frame, filled in when it is computed."""
        rows, table = self._rows(data, method, samples, seed)
        return rows.impute(table)

    def _rows(self, data: object, method: Method, samples: int, seed: int) -> tuple[RowAnswers, Source]:
        """Who answers about the rows of a table, and the table."""
        from credo.data import source

        table = source(data)
        if table.frame is not None:
            from credo.networks.hybrid.frame_answers import FrameAnswers

            return FrameAnswers(self, method, samples, seed), table
        from credo.networks.hybrid.row_answers import RowAnswers

        return RowAnswers(self, method, samples, seed), table

    # Learning

    @property
    def n(self) -> float:
        """The total weight of the learned rows."""
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
        hidden: Mapping[str, Any] | None = None,
        **how: Unpack[FittingOptions],
    ) -> HybridNetwork:
        """Learn the nodes: tables by counting, Gaussian nodes by conjugate regression in each configuration of category
        parents; by EM with missing cells. Earlier evidence is dropped. Logistic nodes get their MAP weights; they have
        no additive statistics, so more rows need a refit.

        The prior is a number of cases (default 1): Dirichlet(prior) for tables, and that many rows distributed like the
        pooled rows for Gaussian nodes; "ml" is maximum likelihood; {name: any of these, a DirichletCategorical, or a
        LinearGaussian} gives some their own. `hidden` gives the number or names of a hidden category's states; EM then
        runs from `starts` (10) starts, drawn by `seed`. It stops after `steps` (1000), or when the relative growth of
        the objective is below `tolerance`.
        """
        from credo.networks.fitting import FittingSettings
        from credo.networks.hybrid.fitting import fitted

        return fitted(self, data, prior, kinds, weight, hidden, FittingSettings.of(how))

    def update(self, data: object, *, weight: Weight = None, **how: Unpack[FittingOptions]) -> HybridNetwork:
        """Learn from more rows. If cells are missing, EM continues; earlier evidence is kept and counts as known."""
        from credo.networks.fitting import FittingSettings
        from credo.networks.hybrid.fitting import updated

        return updated(self, data, weight, FittingSettings.of(how))

    def cross_validate(self, data: object, folds: int = 10, *, weight: Weight = None, seed: int = 0) -> Validation:
        """log p(row) of each row, by nodes learned from the other folds."""
        return self._learner.cross_validate(data, folds, weight=weight, seed=seed)

    def leave_one_out(self, data: object, *, weight: Weight = None) -> Validation:
        """log p(row) of each learned row, by nodes learned from all others, exactly and without refits. (The default
        prior, which depends on all rows, is held fixed.)"""
        from credo.networks.hybrid.leave_one_out import leave_one_out

        return leave_one_out(self, data, weight)

    def score(
        self, data: object, score: str = "auto", *, weight: Weight = None, equivalent: float = 1.0
    ) -> dict[str, float]:
        """Each variable's part of the score of these arrows, by which learn_structure compares graphs: the larger, the
        better. "auto" is conditional-gaussian, or bge for numbers alone."""
        from credo.networks.structure.strengths import scored_hybrid_nodes

        return scored_hybrid_nodes(self, data, score, weight, equivalent)

    def belief(self, name: str, given: Given = None) -> Any:
        """The posterior of a node given the states of its category parents: a Dirichlet for a row of a table, a
        LinearGaussian for a number, with mean, interval and so on."""
        from credo.networks.hybrid.beliefs import belief

        return belief(self, name, given)

    # Files and pictures

    @classmethod
    def read(cls, path: str | PathLike[str]) -> HybridNetwork:
        """Read a linear-Gaussian network from a JSON file in bnlearn's exchange form."""
        from credo.formats import read_as

        return read_as(HybridNetwork, path)

    def write(self, path: str | PathLike[str]) -> None:
        """Write to a JSON file in bnlearn's exchange form; all variables must be numbers (`credo.save` takes any
        network)."""
        from credo.formats import write

        write(self, path)

    def plot(self, given: Given = None, ax: Axes | None = None) -> Figure:
        """The graph with each variable's marginal, drawn in `ax` if it is given."""
        from credo.present.hybrid import plot_hybrid

        return plot_hybrid(self, given, ax)

    def __repr__(self) -> str:
        from credo.present.hybrid import described

        return described(self)
