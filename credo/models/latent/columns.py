"""p(columns | hidden group): the blocks of columns, at the mode while EM runs, and as asked for when it predicts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from credo import engines
from credo.blocks.block import Block, Settings
from credo.core.evidence import Evidence
from credo.data import Batch, Source
from credo.families.normal_inverse_wishart import Covariance
from credo.models.conditional import Conditional
from credo.models.form_blocks import blocks_of, with_covariance
from credo.models.forms import Views, settled_views
from credo.notices import listed, tell
from credo.numerics.exact import Array

FEW_VALUES, FEW_TIMES = 10, 5  # so few numbers, each in so many rows on average, are a category
FIRST_ROWS = 2000  # of a batch, which show most columns to have more values


def hidden_views(table: Source, features: Sequence[str], kinds: Mapping[str, Any] | None) -> tuple[Source, Views]:
    """The form of each column, as for a classifier; but a number of few different values, such as a year or a die's
    face, is a category. A hidden group would settle on one of them, and the density of its Gaussian has no bound."""
    table, views = settled_views(table, features, kinds)
    numbers = [name for name, forms in views.items() if forms == ("gaussian",) and name not in (kinds or {})]
    few = [] if table.once or not numbers else _few_valued(table, numbers)
    if few:
        tell(f"{listed(few)}: few different numbers, read as a category; kinds= can say 'number'")
        views = {**views, **dict.fromkeys(few, ("category",))}
    return table, views


@dataclass(frozen=True)
class DistinctNumbers:
    """The different numbers of a batch's columns, None where they are many; and how many cells are known."""

    names: tuple[str, ...]

    def __call__(self, batch: Batch) -> list[tuple[Array | None, int]]:
        return [self._of(batch.numbers(name)) for name in self.names]

    def _of(self, x: Array) -> tuple[Array | None, int]:
        known = x[~np.isnan(x)]
        if len(np.unique(known[:FIRST_ROWS])) > FEW_VALUES:
            return None, len(known)
        return np.unique(known), len(known)


def _few_valued(table: Source, names: Sequence[str]) -> list[str]:
    parts = [*engines.map(DistinctNumbers(tuple(names)), table.partitions(names))]
    few = []
    for name, own in zip(names, zip(*parts, strict=True), strict=False):
        values = [found for found, _ in own if found is not None]
        distinct = len(np.unique(np.concatenate(values))) if len(values) == len(own) else FEW_VALUES + 1
        if 1 < distinct <= FEW_VALUES and sum(known for _, known in own) >= FEW_TIMES * distinct:
            few.append(name)
    return few


def hidden_blocks(views: Views, kinds: Mapping[str, Any] | None, covariance: Covariance) -> tuple[Block, ...]:
    """A block for each form; number columns covary as `covariance` says."""
    return tuple(block for _, block in with_covariance(blocks_of(views, kinds), covariance))


def at_mode(settings: Settings) -> Settings:
    """Settings for EM: the mode of the posterior, or maximum likelihood if that is asked for.

    Shares and rates are taken as their logarithms, whose density has its mode at the posterior's mean of the share:
    (n + l)/Σ(n + l). So none is 0, and what a group hasn't shown so far stays possible.
    """
    if settings.estimate == "ml":
        return settings
    return replace(settings, estimate="map", smoothing=settings.smoothing + 1.0, log_rates=True)


def fitting(conditional: Conditional) -> Conditional:
    """The same columns as EM takes them."""
    return replace(conditional, settings=at_mode(conditional.settings))


def predicting(conditional: Conditional, evidence: Evidence) -> Conditional:
    """The same columns after the evidence, as predictions take them."""
    return replace(conditional, evidence=evidence)
