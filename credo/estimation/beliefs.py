"""Beliefs: one for each group of rows, from one pass."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import pyarrow as pa

from credo import engines
from credo.core.description import DescriptionLength, integrated_out
from credo.core.evidence import ByLevel, Evidence, Part
from credo.core.labels import ROWS, UNGROUPED, Label
from credo.core.learning import Additive, Weight, gather
from credo.core.membership import Hard
from credo.core.records import with_fields
from credo.core.sparse import GroupCounts
from credo.core.statistics import Counts
from credo.data import Batch, Source, source
from credo.data.schema import Column, Schema
from credo.errors import DataError, EvidenceError, SchemaError, counted, suggest
from credo.estimation.belief import OBSERVATIONS, Belief
from credo.estimation.observations import LogPredictive, ObservedColumns, absent
from credo.families import Family, priors
from credo.families.dirichlet import Dirichlet, DirichletCategorical
from credo.families.family import Rule
from credo.numerics.distributions import Beta, Real
from credo.numerics.exact import Array

if TYPE_CHECKING:
    from credo.present.plotting import Figure


GROUPED_ROWS = 4096  # first rows that show whether there are many groups


def summarise_groups(batch: Batch, weight: Array, by: str, readings: Sequence[ObservedColumns]) -> Evidence:
    """The statistics of some columns by group, and how many rows each group has."""
    codes, levels = batch.categories(by)
    member, lost = Hard(codes, len(levels), weight), codes < 0
    found = [reading.summarise(batch, member, by) for reading in readings]
    parts = {
        ROWS: Part((by,), Counts.of_rows(member)),
        UNGROUPED: Part((None,), Counts.of_rows(Hard.whole(int(lost.sum()), weight[lost]))),
    }
    for evidence in found:
        parts |= evidence.parts
    columns = (column for evidence in found for column in evidence.schema)
    return Evidence(Schema((Column(by, "category", levels), *columns)), parts)


@dataclass(frozen=True, eq=False, repr=False)
class Beliefs(Additive):
    """A belief per group. `beliefs["a7"]` is one of them; `mean()`, `interval()` and `table()` cover all groups."""

    _internal: ClassVar[tuple[str, ...]] = ("label", "log_predictive", "reading", "seen", "statistics")

    columns: tuple[str, ...]
    by: str
    family: Family  # the conjugate pair; its hyperparameters are used if the rule is "given"
    rule: Rule = "given"
    success: object = None
    evidence: Evidence | None = field(default=None, init=False)

    def needs(self, data: Source) -> Sequence[str]:  # noqa: ARG002 - the same columns, whatever the table has
        return (*self.columns, self.by)

    @property
    def label(self) -> Label:
        """The label of the evidence."""
        return self.reading.label

    @property
    def reading(self) -> ObservedColumns:
        return ObservedColumns(self.columns, self.family, self.columns[-1], self.success)

    def summarise(self, batch: Batch, weight: Array) -> Evidence:
        return summarise_groups(batch, weight, self.by, [self.reading])

    def gathered(self, data: object, weight: Weight = None) -> Evidence:
        """The evidence in a table; on a cluster, many groups are reduced in shards."""
        table = source(data)
        if table.nearby or not self._many_groups(table):
            return super().gathered(table, weight)
        return gather(self.summarise, table, self.needs(table), weight, self.total, ByLevel(self.by))

    def _many_groups(self, table: Source) -> bool:
        """Whether most of the first rows have different groups."""
        first = table.first([self.by], GROUPED_ROWS)
        return first is not None and len(first.categories(self.by)[1]) > first.rows / 2 >= GROUPED_ROWS / 4

    def with_evidence(self, evidence: Evidence) -> Beliefs:
        return with_fields(self, evidence=evidence)

    def fitted_to(self, others: Evidence, held_out: Evidence) -> Beliefs:
        """The beliefs with a fold's evidence: they know the values and groups of all folds, at the prior if only
        held-out rows have them."""
        return self.with_evidence(others.knowing(held_out))

    def mergeable(self, other: Beliefs) -> str | None:
        for what in ("columns", "by", "family", "rule", "success"):
            if getattr(self, what) != getattr(other, what):
                return f"their {what} differ, {getattr(self, what)!r} and {getattr(other, what)!r}"
        return None

    @property
    def seen(self) -> Evidence:
        assert self.evidence is not None
        return self.evidence

    @property
    def statistics(self) -> Any:
        return self.seen[self.label]

    @cached_property
    def prior(self) -> Family:
        """The prior of the groups, usually shared."""
        found = priors.resolved(self.rule, self.family, self.statistics)
        if isinstance(found, DirichletCategorical) and found.levels is None and found.concentration.ndim:
            return DirichletCategorical(found.concentration, self.seen.schema[self.columns[-1]].values)
        return found

    @cached_property
    def posterior(self) -> Family:
        """The family, with a group's evidence in each entry of its hyperparameters."""
        return self.prior.posterior(self.statistics)

    @property
    def groups(self) -> pa.Array:
        """The groups' names, an Arrow array."""
        return self.seen.schema[self.by].levels

    @property
    def rows(self) -> Array:
        """The weight of each group's rows, missing cells included."""
        return np.asarray(self.seen[ROWS].n.value[:, 0])

    @property
    def ungrouped(self) -> float:
        """The weight of the rows without a group, which are in no belief."""
        return float(self.seen[UNGROUPED].n.value.sum())

    @cached_property
    def _places(self) -> dict[Any, int]:
        return {group: k for k, group in enumerate(self)}

    @property
    def n(self) -> float:
        """The weight of the observations."""
        return float(np.sum(self.statistics.weight))

    def __len__(self) -> int:
        return len(self.groups)

    def __contains__(self, group: object) -> bool:
        return group in self._places

    def __iter__(self) -> Iterator[Any]:
        return iter(self.groups.to_pylist())

    def __getitem__(self, group: object) -> Belief:
        k = self._places.get(group) if isinstance(group, Hashable) else None
        if k is None:
            raise SchemaError(f"column {self.by!r} has no value {group!r}; {suggest(group, self)}")
        if self._shares:
            raise DataError("groups share one covariance, which has no value per group: ask for mode() or mean()")
        part = self.seen.parts[self.label]
        own = Part((None, *part.axes[1:]), part.statistics[k : k + 1])
        schema = Schema(tuple(column for column in self.seen.schema if column.name != self.by))
        evidence = Evidence(schema, {self.label: own}).renamed(self.columns[-1], OBSERVATIONS)
        columns = self.columns if len(self.columns) > 1 else None
        return Belief(self.prior.group(k), columns=columns, success=self.success).with_evidence(evidence)

    def mean(self) -> Any:
        """Each group's expected parameters."""
        return self.posterior.mean()

    def mode(self) -> Any:
        return self.posterior.mode()

    def variance(self) -> Any:
        return self.posterior.variance()

    def interval(self, mass: float = 0.95) -> Any:
        """Each group's equal-tailed interval."""
        return self.posterior.interval(mass)

    def maximum_likelihood(self) -> Any:
        return self.family.maximum_likelihood(self.statistics)

    def log_evidence(self) -> float:
        """log p(all observations | prior)"""
        return float(np.sum(self.prior.log_evidence(self.statistics)))

    def description_length(self, data: object = None, *, weight: Weight = None) -> DescriptionLength:
        """−log₂ p(observations), of those that were learned or of the data: the prequential code.

        L(h) is 0: the prior is known to the receiver, and parameters are integrated out rather than encoded.
        """
        model = self if data is None else self.with_evidence(self.gathered(data, weight))
        return integrated_out(model.log_evidence(), model.n)

    def log_prob(self, data: object) -> Array:
        """log p(observation) of each row, by the predictive of its group; of a new group where the group isn't known.

        NaN where the observation is missing.
        """
        table = source(data)
        parts = engines.map(LogPredictive(self), table.partitions(self.needs(table)))
        return np.concatenate([np.empty(0), *parts])

    def log_predictive(self, batch: Batch) -> Array:
        """log p(observation) of a batch."""
        codes, levels = batch.categories(self.by)
        group = np.array([*(self._places.get(name, -1) for name in levels.to_pylist()), -1])[codes]
        x = self.reading.known_cells(batch, self.seen.schema[self.columns[-1]].levels)
        if isinstance(self.prior, DirichletCategorical):
            return self.prior.log_predictive_after(self.statistics, group, x)
        result = np.empty(batch.rows)
        order = np.argsort(group, kind="stable")
        for rows in np.split(order, np.flatnonzero(np.diff(group[order])) + 1):
            k = group[rows[0]]
            own = self.posterior.group(k) if k >= 0 else self._unseen
            result[rows] = own.log_predictive(x[rows])[:, 0]
        return np.where(absent(x), np.nan, result)

    @cached_property
    def _unseen(self) -> Family:
        """The predictive of a new group: it knows all values, and a covariance that groups share."""
        others = self.statistics if self._shares else self.statistics[:0]
        prior = priors.of_new_groups(self.family, self.statistics) if self.rule == "default" else self.prior
        return prior.posterior(others.with_new_group()).group(len(others.weight))

    @property
    def _shares(self) -> bool:
        """Whether groups share information beyond the prior."""
        return getattr(self.family, "covariance", None) in ("tied", "spherical")

    def plot(self, top: int = 40, quantity: str | None = None) -> Figure:
        """A forest plot: the estimates of groups with their 95% credible intervals, the largest first."""
        from credo.present.score_plot import plot_groups

        return plot_groups(self, top, quantity)

    def table(self, mass: float = 0.95) -> pa.Table:
        """An Arrow table: a row for each group, with its rows, estimates and intervals.

        Where groups times values are many (above 2²⁰), a row for each group and value that was seen together.
        """
        from credo.numerics.distributions import checked_mass

        if isinstance(self.statistics, GroupCounts) and self.statistics.is_sparse:
            return self._long_table(checked_mass(mass))
        columns: dict[str, Any] = {"rows": self.rows}
        values = self.statistics.weight
        if (values != self.rows).any():
            columns["missing"] = self.rows - values
        for name, (estimate, low, high) in self._summaries(checked_mass(mass)).items():
            columns |= {name: estimate, f"{name}_low": low, f"{name}_high": high}
        renamed = {f"{name}_" if name == self.by else name: values for name, values in columns.items()}
        return pa.table({self.by: self.groups, **renamed})

    def _long_table(self, mass: float) -> pa.Table:
        assert isinstance(self.prior, DirichletCategorical)
        group, value, n = self.statistics.entries()
        a, total = self.prior.after(self.statistics, group, value)
        share = Beta(a, total - a)
        low, high = share.interval(mass)
        named = {"value": self.seen.schema[self.columns[-1]].levels.take(pa.array(value)), "rows": n}
        named |= {"mean": share.mean(), "mean_low": low, "mean_high": high}
        renamed = {f"{name}_" if name == self.by else name: values for name, values in named.items()}
        return pa.table({self.by: self.groups.take(pa.array(group)), **renamed})

    def _summaries(self, mass: float) -> dict[str, tuple[Real, Real, Real]]:
        """For each parameter: its mean (or median, if it has no mean) and its interval."""
        marginals = self.posterior.marginals()
        names = getattr(self.family.parameters, "_fields", ("mean",))
        if isinstance(self.family, Dirichlet):
            levels = self.seen.schema[self.columns[-1]].values if self.family.reads == "category" else self.columns
            means, (low, high) = self.posterior.mean(), marginals[0].interval(mass)
            return {f"P({v})": (means[:, j], low[:, j], high[:, j]) for j, v in enumerate(levels)}  # type: ignore[index]
        found: dict[str, tuple[Real, Real, Real]] = {}
        for name, marginal in zip(names, marginals, strict=True):
            mean, median, low, high = np.broadcast_arrays(
                marginal.mean(), marginal.quantile(0.5), *marginal.interval(mass)
            )
            estimate = np.where(np.isnan(mean), median, mean)  # a Cauchy distribution has no mean
            if estimate.ndim == 1:
                found[name] = (estimate, low, high)
                continue
            for j, component in enumerate(self.family.components(self.columns)):
                found[f"{name}_{component}"] = (estimate[:, j], low[:, j], high[:, j])
        return found

    def __repr__(self) -> str:
        left = f"; {counted(self.ungrouped, 'row')} without a group left out" if self.ungrouped else ""
        return (
            f"{counted(len(self), 'belief')} about {', '.join(self.columns)} by {self.by}, "
            f"{counted(self.rows.sum(), 'row')}{left}\n"
            f"prior ({self.rule}): {self._prior_or_why_not}"
        )

    @property
    def _prior_or_why_not(self) -> str:
        try:
            return str(self.prior)
        except EvidenceError as unknown:
            return str(unknown)
