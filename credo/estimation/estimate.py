"""credo.estimate: beliefs about columns of a table, overall or by group, from one pass."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, overload

from credo.core.evidence import Evidence
from credo.core.labels import ROWS, UNGROUPED, Label
from credo.core.learning import Weight, gather
from credo.core.membership import Hard
from credo.data import Batch, Source, source
from credo.data.schema import Schema
from credo.errors import DataError, counted
from credo.estimation.belief import OBSERVATIONS, Belief
from credo.estimation.beliefs import Beliefs, summarise_groups
from credo.estimation.observations import ObservedColumns
from credo.families import BetaBernoulli, Family, priors
from credo.families.dirichlet import DirichletMultinomial
from credo.families.family import HasFamily, Rule
from credo.families.linear_gaussian import LinearGaussian
from credo.families.normal_inverse_wishart import NormalInverseWishart
from credo.numerics.exact import Array

JointFamily = NormalInverseWishart | DirichletMultinomial | LinearGaussian | HasFamily  # families of whole rows
Prior = Family | HasFamily | Literal["default", "empirical"] | None
Names = list[str] | tuple[str, ...]


@overload
def estimate(
    data: object, column: str | None = None, by: None = None, *, prior: Prior = None, weight: Weight = None,
    success: object = None, kinds: Mapping[str, str] | None = None,
) -> Belief: ...  # fmt: skip


@overload
def estimate(
    data: object, column: str, by: str, *, prior: Prior = None, weight: Weight = None, success: object = None,
    kinds: Mapping[str, str] | None = None,
) -> Beliefs: ...  # fmt: skip


@overload
def estimate(  # type: ignore[overload-overlap] # a joint family is the narrower of the two
    data: object, column: Names, by: None = None, *, prior: JointFamily, weight: Weight = None,
    success: object = None, kinds: Mapping[str, str] | None = None,
) -> Belief: ...  # fmt: skip


@overload
def estimate(  # type: ignore[overload-overlap] # a joint family is the narrower of the two
    data: object, column: Names, by: str, *, prior: JointFamily, weight: Weight = None, success: object = None,
    kinds: Mapping[str, str] | None = None,
) -> Beliefs: ...  # fmt: skip


@overload
def estimate(
    data: object, column: Names, by: None = None, *, prior: Prior = None, weight: Weight = None,
    success: object = None, kinds: Mapping[str, str] | None = None,
) -> dict[str, Belief]: ...  # fmt: skip


@overload
def estimate(
    data: object, column: Names, by: str, *, prior: Prior = None, weight: Weight = None, success: object = None,
    kinds: Mapping[str, str] | None = None,
) -> dict[str, Beliefs]: ...  # fmt: skip


def estimate(
    data: object,
    column: str | Sequence[str] | None = None,
    by: str | None = None,
    *,
    prior: Prior = None,
    weight: Weight = None,
    success: object = None,
    kinds: Mapping[str, str] | None = None,
) -> Belief | Beliefs | dict[str, Belief] | dict[str, Beliefs]:
    """A belief about a column (the only one, if none is named), or one for each value of the column `by`.

    The prior is a family, "default" (a function of the pooled rows) or "empirical" (empirical Bayes: fitted to all
    groups). Several columns give a belief each, {column: beliefs}; a joint family (such as NormalInverseWishart) takes
    them together. `success` is the value to count if a column isn't boolean.

    >>> from credo import BetaBernoulli
    >>> shop = {"ad": ["a", "a", "b", "b"], "bought": [1, 0, 1, 1]}
    >>> estimate(shop, "bought", by="ad", prior=BetaBernoulli(1, 1)).mean().tolist()
    [0.5, 0.75]
    """
    table = source(data)
    if column is None and len(table.names) == 1:
        column = table.names[0]
    names = _checked_names(table, column, by, weight)
    prior = prior.as_family if isinstance(prior, HasFamily) else prior
    if isinstance(prior, Family) and prior.reads in ("numbers", "counts"):
        if prior.width is not None and len(names) != prior.width:
            raise DataError(f"the prior is about {counted(prior.width, 'column')}, but {len(names)} are named")
        return _prior_belief(names, by, prior, "given", success).update(table, weight=weight)
    chosen = priors.families(table, names, prior, kinds, success)
    rule: Rule = "given" if isinstance(prior, Family) else prior or "default"
    each = {name: _prior_belief((name,), by, chosen[name], rule, success) for name in names}
    if len(each) > 1:
        return _columns_in_one_pass(each, by, table, weight)
    found = each[names[0]].update(table, weight=weight)
    if success is not None and isinstance(found.family, BetaBernoulli) and not found.statistics.n.value[..., 1].any():
        raise DataError(f"column {names[0]!r} has no value {success!r}: nothing would count as a success")
    return found


def _checked_names(table: Source, column: object, by: object, weight: Weight) -> tuple[str, ...]:
    """The columns to estimate; an error unless they, and those of groups and weights, are columns of the table."""
    names = (column,) if isinstance(column, str) else tuple(column) if isinstance(column, Sequence) else ()
    if not names or not all(isinstance(name, str) for name in names):
        raise DataError(f"the column must be a name, or a list of names, but is {column!r}")
    if not (by is None or isinstance(by, str)):
        raise DataError(f"by must be the name of one column, but is {by!r}; join several into one column first")
    table.require([*names, *([by] if by else []), *([weight] if isinstance(weight, str) else [])])
    if by in names:
        raise DataError(f"column {by!r} can't be both the groups and what is estimated in them")
    return names


def _prior_belief(
    names: tuple[str, ...], by: str | None, family: Family, rule: Rule, success: object
) -> Belief | Beliefs:
    """What is believed of these columns before any observation."""
    if by is not None:
        return Beliefs(names, by, family, rule, success=success)
    if rule == "empirical":
        raise DataError("an empirical prior is fitted to groups: name their column, by=...")
    return Belief(family, rule, columns=names, success=success)


@dataclass(frozen=True, eq=False)
class SeveralColumns:
    """The statistics of several columns, by group if there are groups."""

    readings: tuple[ObservedColumns, ...]
    by: str | None

    def __call__(self, batch: Batch, weight: Array) -> Evidence:
        if self.by is not None:
            return summarise_groups(batch, weight, self.by, self.readings)
        member = Hard.whole(batch.rows, weight)
        found = [reading.summarise(batch, member, None) for reading in self.readings]
        parts = {label: part for evidence in found for label, part in evidence.parts.items()}
        return Evidence(Schema(tuple(column for evidence in found for column in evidence.schema)), parts)


def _columns_in_one_pass(each: Mapping[str, Any], by: str | None, table: Source, weight: Weight) -> dict[str, Any]:
    """Several columns' beliefs from one pass."""
    if by is None:
        readings = [replace(one.reading(table.names), column=name) for name, one in each.items()]
    else:
        readings = [one.reading for one in each.values()]
    names = [*each, *([by] if by else [])]
    whole = gather(SeveralColumns(tuple(readings), by), table, names, weight, Evidence.total).ordered()
    if by is not None:
        return {name: one.with_evidence(whole.only(one.label, ROWS, UNGROUPED)) for name, one in each.items()}
    return {
        name: one.with_evidence(whole.only(Label("column", name)).renamed(name, OBSERVATIONS))
        for name, one in each.items()
    }
