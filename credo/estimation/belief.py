"""Belief: a prior plus evidence about one quantity."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from numbers import Real as RealNumber
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import pyarrow as pa

from credo import engines
from credo.core.description import DescriptionLength, integrated_out
from credo.core.evidence import Evidence
from credo.core.labels import Label
from credo.core.learning import Additive, Weight
from credo.core.membership import Hard
from credo.core.records import with_fields
from credo.core.validation import Validation
from credo.data import Batch, Source, source
from credo.errors import DataError, EvidenceError, SchemaError, counted, suggest
from credo.estimation.observations import LogPredictive, ObservedColumns, absent, only_column
from credo.families import Family
from credo.families.dirichlet import Dirichlet
from credo.families.family import Rule
from credo.numerics.distributions import Beta, Distribution, Seed, plain
from credo.numerics.exact import Array

if TYPE_CHECKING:
    from matplotlib.figure import Figure

OBSERVATIONS = "x"  # the name of the observed column in a belief's evidence, whatever its name in tables
OBSERVATIONS_LABEL = Label("column", OBSERVATIONS)


@dataclass(frozen=True, eq=False, repr=False)
class Belief(Additive):
    """prior + evidence: the posterior of the parameters of one quantity.

    >>> from credo import BetaBernoulli
    >>> BetaBernoulli(2, 2).update([True, True]).mode()
    0.75
    """

    _internal: ClassVar[tuple[str, ...]] = ("log_predictive", "reading", "statistics")

    family: Family  # the conjugate pair; its hyperparameters are used if the rule is "given"
    rule: Rule = "given"
    columns: tuple[str, ...] | None = None  # the columns to read; None: the only one, or all
    success: object = None  # the value that counts as a success, if the column isn't boolean
    evidence: Evidence | None = field(default=None, init=False)

    def needs(self, data: Source) -> Sequence[str]:
        return self.reading(data.names).names

    def reading(self, names: Sequence[str]) -> ObservedColumns:
        """The reader of observations from a table with those columns."""
        joint = self._joint
        if self.columns is not None and (joint or self.columns[0] in names or len(names) != 1):
            return ObservedColumns(self.columns, self.family, OBSERVATIONS, self.success)
        return ObservedColumns(
            tuple(names) if joint else (only_column(names),), self.family, OBSERVATIONS, self.success
        )

    def summarise(self, batch: Batch, weight: Array) -> Evidence:
        return self.reading(batch.names).summarise(batch, Hard.whole(batch.rows, weight), None)

    def with_evidence(self, evidence: Evidence) -> Belief:
        return with_fields(self, evidence=evidence)

    def mergeable(self, other: Belief) -> str | None:
        if self.family != other.family or self.rule != other.rule:
            return f"the priors differ, {self.family} and {other.family}"
        if self._joint and self.columns != other.columns:
            return f"their columns differ, {self.columns} and {other.columns}"
        if self.success != other.success:
            return f"{self.success!r} counts as success in one, {other.success!r} in the other"
        return None

    @property
    def _joint(self) -> bool:
        """Whether an observation is a row of several columns."""
        return self.family.reads in ("numbers", "counts")

    def fitted_to(self, others: Evidence, held_out: Evidence) -> Belief:
        """The belief with a fold's evidence: it knows all folds' values, with their prior probability if only held-out
        rows have them."""
        return self.with_evidence(others.knowing(held_out))

    def update(
        self, data: object, *, weight: Weight = None, target: str | None = None, success: object = None
    ) -> Belief:
        """Learn from observations: a column of them, or a mapping {value: count}.

        A regression names its target; `success` is the value to count if they aren't booleans.
        """
        data, weight = self._observed(data, weight)
        if success is not None and self.evidence is not None and success != self.success:
            raise EvidenceError(f"{self.success!r} counted as success so far: {success!r} can't count from here on")
        table = source(data)
        believer = self._settled(table.without(weight).names, target)
        believer = believer if success is None else with_fields(believer, success=success)
        return super(Belief, believer).update(table, weight=weight)

    def cross_validate(
        self, data: object, folds: int = 10, *, weight: Weight = None, seed: int = 0, target: str | None = None
    ) -> Validation:
        """The predictive log-probability of each observation by the other folds."""
        table = source(data)
        believer = self._settled(table.without(weight).names, target)
        return super(Belief, believer).cross_validate(table, folds, weight=weight, seed=seed)

    def _settled(self, names: Sequence[str], target: str | None) -> Belief:
        """The belief with the columns of its first table: later tables are read by name."""
        if not self._joint or self.columns is not None:
            return self
        levels = getattr(self.family, "levels", None)
        chosen = tuple(levels) if levels is not None else tuple(names)
        if self.family.has_target:
            if target is None:
                raise SchemaError(f"name the target column, as in update(data, target={names[-1]!r})")
            Source(tuple(names), lambda _: iter(())).require([target])
            chosen = (*(name for name in names if name != target), target)
        if self.family.width is not None and len(chosen) != self.family.width:
            raise SchemaError(
                f"the prior is about {counted(self.family.width, 'column')}, but the table has {len(chosen)}: "
                f"{', '.join(map(str, chosen[:6]))}"
            )
        return with_fields(self, columns=chosen)

    def forget(self, data: object, *, weight: Weight = None) -> Belief:
        """Unlearn observations exactly, as if they had never been learned."""
        observed, weight = self._observed(data, weight)
        table = source(observed)
        if observed is data and not table.unnamed:  # a new column can't have been learned
            table.require(self.columns or ())
        return super().forget(table, weight=weight)

    def _observed(self, data: object, weight: Weight) -> tuple[object, Weight]:
        """The observations: {value: count} as weighted values, or one row for a family of counts."""
        if not isinstance(data, Mapping) or not all(isinstance(count, RealNumber) for count in data.values()):
            return data, weight
        if weight is not None:
            raise DataError("counts are weights already: give either {value: count}, or observations and weight=")
        if self.family.reads == "counts":
            return {value: [count] for value, count in data.items()}, None
        return {"x": list(data)}, list(data.values())

    @cached_property
    def statistics(self) -> Any:
        """The evidence of the one group."""
        if self.evidence is None:
            raise EvidenceError("no observations yet: update the belief first")
        return self.evidence[OBSERVATIONS_LABEL][0]

    @property
    def n(self) -> float:
        """The weight of the observations."""
        return 0.0 if self.evidence is None else float(self.statistics.weight)

    @cached_property
    def prior(self) -> Family:
        """The prior."""
        if self.evidence is None or self.rule == "given":
            return self.family
        from credo.families.priors import resolved

        return resolved(self.rule, self.family, self.evidence[OBSERVATIONS_LABEL])

    @cached_property
    def posterior(self) -> Family:
        """The posterior, as a family with updated hyperparameters."""
        if self.evidence is None:
            return self.prior
        after = self.prior.posterior(self.statistics)
        return replace(after, levels=self._levels) if isinstance(after, Dirichlet) else after

    @property
    def _levels(self) -> tuple[Any, ...] | None:
        """The values of a categorical belief, or the columns of a multinomial one."""
        if not isinstance(self.family, Dirichlet):
            return None
        if self.evidence is None:
            return self.family.names
        return self.evidence.schema[OBSERVATIONS].values if self.family.reads == "category" else self.columns

    def maximum_likelihood(self) -> Any:
        """The maximum-likelihood estimate."""
        if self.n == 0:
            raise EvidenceError("no observations yet: every parameter fits them equally well")
        return self._named(self.family.maximum_likelihood(self.statistics))

    def mode(self) -> Any:
        """The most probable parameters (MAP)."""
        return self._named(self.posterior.mode())

    def mean(self) -> Any:
        return self._named(self.posterior.mean())

    def variance(self) -> Any:
        return self._named(self.posterior.variance())

    def interval(self, mass: float = 0.95) -> Any:
        """The equal-tailed credible interval."""
        return self._named(self.posterior.interval(mass))

    def highest_density(self, mass: float = 0.95) -> Any:
        """The shortest interval with that probability."""
        return self._named(self.posterior.highest_density(mass))

    def log_evidence(self) -> float:
        """log p(observations), the parameters integrated out: the log marginal likelihood."""
        return 0.0 if self.evidence is None else float(self.prior.log_evidence(self.statistics))

    def predictive(self, *given: object) -> Any:
        """The distribution of the next observation (of a regression's target, given its features)."""
        asked = map(self._features, given) if self.family.has_target else given
        return self.posterior.predictive(*asked)

    def _features(self, given: object) -> Any:
        """A regression's features as an array, given as such, as one row {name: number}, or as a table."""
        names = (self.columns or ("",))[:-1]
        if isinstance(given, Mapping) and all(isinstance(value, RealNumber) for value in given.values()):
            source([given]).require(names)
            return [given[name] for name in names]
        if isinstance(given, list | tuple | np.ndarray):
            return given
        return np.concatenate([batch.matrix(names) for batch in source(given).batches(names)])

    def sample(self, size: int, seed: Seed = None) -> Any:
        """Draws of the parameters."""
        return self.posterior.sample(size, seed)

    def description_length(self, data: object = None, *, weight: Weight = None) -> DescriptionLength:
        """−log₂ p(observations), of those that were learned or of the data: the prequential code.

        L(h) is 0: the prior is known to the receiver, and parameters are integrated out rather than encoded.
        """
        model = self if data is None else self.with_evidence(self.gathered(data, weight))
        return integrated_out(model.log_evidence(), model.n)

    def log_prob(self, data: object) -> Array:
        """log p(observation) of each, by the predictive; NaN where it is missing."""
        table = source(data)
        parts = engines.map(LogPredictive(self), table.partitions(self.needs(table)))
        return np.concatenate([np.empty(0), *parts])

    def log_predictive(self, batch: Batch) -> Array:
        """log p(observation) of a batch."""
        x = self.reading(batch.names).known_cells(batch, pa.array(self._levels or ()))
        return np.where(absent(x), np.nan, self.posterior.log_predictive(x)[:, 0])

    def marginal(self, value: object = None) -> Distribution:
        """The distribution of the parameter used in comparisons: the only one, the mean, or a value's probability."""
        levels = self._levels
        if levels is not None:
            return self._share_of(value, levels)
        marginal = self.posterior.marginals()[0]
        if value is not None:
            raise DataError(f"{type(self.family).__name__} beliefs have no values to compare, but value={value!r:.60}")
        if np.ndim(marginal.mean()):
            raise DataError(f"{type(self.family).__name__} beliefs have several parameters: none can be compared alone")
        return marginal

    def _share_of(self, value: object, levels: tuple[Any, ...]) -> Beta:
        """θᵥ ~ Beta(αᵥ, A - αᵥ)"""
        if value not in levels:
            what = "name the value to compare" if value is None else f"there is no value {value!r:.60}"
            raise DataError(f"{type(self.family).__name__}: {what}; {suggest(value, levels)}")
        alpha = self.posterior.alpha  # type: ignore[attr-defined]
        own = float(alpha[levels.index(value)])
        return Beta(own, float(alpha.sum()) - own)

    def probability_greater(self, other: Any, value: object = None) -> float:
        """P(this parameter > the other belief's, or a number), the two being independent; of categories, P(θᵥ > θᵥ').

        >>> from credo import DirichletCategorical
        >>> prior = DirichletCategorical({"red": 1, "blue": 1})
        >>> a, b = prior.update(["red"]), prior.update(["blue"])
        >>> round(a.probability_greater(b, "red"), 6)  # P(Beta(2, 1) > Beta(1, 2))
        0.833333
        """
        from credo.estimation.comparison import probability_greater

        if isinstance(other, RealNumber):
            return 1 - float(self.marginal(value).cdf(float(other)))
        return probability_greater(self.marginal(value), other.marginal(*() if value is None else (value,)))

    def plot(self) -> Figure:
        """A picture of prior, likelihood, posterior and predictive."""
        from credo.present.belief_charts import plot_belief

        return plot_belief(self)

    def _named(self, values: Any) -> Any:
        """An estimate for users: a float, a mapping from each value of a categorical belief, or a named tuple."""
        if hasattr(values, "_fields"):
            return type(values)(*(_plain(value) for value in values))
        levels = self._levels
        if levels is None or not isinstance(self.family, Dirichlet):
            return _plain(values)
        if isinstance(values, tuple):
            return {level: (float(low), float(high)) for level, low, high in zip(levels, *values, strict=True)}
        return {level: float(value) for level, value in zip(levels, values, strict=True)}

    def __repr__(self) -> str:
        from credo.present.beliefs import describe

        try:
            return describe(self)
        except EvidenceError as unknown:
            return f"{type(self.family).__name__}, after {counted(self.n, 'observation')}\n  {unknown}"


def _plain(value: Any) -> Any:
    return tuple(map(plain, value)) if isinstance(value, tuple) else plain(value)
