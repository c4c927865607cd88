"""Fitting a mixture with a given number of components: starts on a sample of the rows, then EM on all of them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from credo.blocks.block import Settings
from credo.core.em import em, expected, interruptible_em
from credo.core.labels import ROWS
from credo.core.membership import Codes
from credo.core.restarts import Restarts
from credo.data import Batch
from credo.errors import DataError, EvidenceError
from credo.families.normal_inverse_wishart import Covariance
from credo.models.conditional import Conditional
from credo.models.forms import Views
from credo.models.latent.columns import Numbers, hidden_blocks
from credo.models.latent.log_evidence import of_completed
from credo.models.latent.starts import SeedPoints, points_of, ranked, seeded_groups, whitened
from credo.models.mixture.choices import Choice
from credo.models.mixture.expectation import MixtureEM, RowLabels, unfitted
from credo.models.mixture.moves import split_and_merged
from credo.models.mixture.optima import ArrayOptimum, Fit, FittedOptimum, Optimum
from credo.models.mixture.parallel_starts import PRIOR_ROUNDS, ParallelStarts
from credo.models.mixture.rows import Rows
from credo.models.mixture.strengths import (
    COMPARED_STRENGTHS,
    STRENGTH_FOLDS,
    TRIED_STRENGTHS,
    WEAKENED,
    best_strength,
    cost_of_pooling,
    held_out_score,
)
from credo.numerics.exact import Array

KMEANS_ROUNDS = 3  # of k-means, before EM
MOVE_ROUNDS = 2  # rounds of splitting and merging components, while that helps
FEWEST_MOVED = 4  # with at least this many components, starts may leave two in place of one
LEAST_MOVE_GAIN = 1.0  # nats that a round must gain
DECISIVE_LEAD = 100.0  # nats: a smaller lead on the sample may be reversed by all rows
ROUNDING = 1e-9
RESOLVED = 64 * np.finfo(np.float64).eps  # by row and column: weaker priors leave a full covariance singular, in floats
LEAST_OF_ROWS = 1e-4  # tried whatever the number of rows
DECIDING_STEPS = 3  # of EM on all rows, to decide between optima that the sample leaves open
MOST_PARALLEL_NUMBERS = 2**23  # rows x components x starts, rows x products: up to here, starts run in parallel


class Places(NamedTuple):
    """Rows as points, NaN where cells are missing; their weights and known components."""

    points: Array
    weight: Array
    codes: Codes | None


@dataclass(frozen=True)
class Fitting:
    """The limits of EM, and its number of starts."""

    starts: int
    steps: int
    tolerance: float
    seed: int


@dataclass(frozen=True, eq=False)
class Problem:
    """The rows to be clustered."""

    rows: Rows
    views: Views
    kinds: Any
    numbers: Numbers
    settings: Settings  # for predictions; EM uses the mode
    concentration: float  # of the shares' Dirichlet prior
    groups: str  # the column of the evidence that the components are in
    known: tuple[Any, ...]  # components that rows are labelled with
    how: Fitting
    strength: float | None  # the given strength of the prior, if any
    compares: bool = False  # whether numbers of components are compared

    @cached_property
    def sample(self) -> Batch:
        return self.rows.sample(self.how.seed)

    @property
    def sampled(self) -> bool:
        """Whether the sample leaves rows out."""
        return self.sample.rows < self.rows.size

    def unfitted(self, components: int, covariance: Covariance) -> MixtureEM:
        """Without parameters yet."""
        blocks = hidden_blocks(self.views, self.kinds, covariance, self.numbers)
        conditional = Conditional(blocks, self.settings, self.groups)
        names = component_names(self.known, components)
        labels = RowLabels(self.groups, names) if self.known else None
        return unfitted(conditional, pa.array(names), self.concentration, self.rows.weights.of_a_row, labels)

    @cached_property
    def places(self) -> Places:
        """The sample's rows as points."""
        one = self.unfitted(max(1, len(self.known)), "diagonal")
        batch, weight, codes = one.read(self.sample)
        if not batch.rows:
            raise DataError("all weights are zero: there are no rows to learn from")
        return Places(points_of(one.conditional, batch, weight, pa.array([0])), weight, codes)

    @cached_property
    def distinct(self) -> int:
        """The number of distinct rows in the sample: a limit on the number of components."""
        points = self.places.points
        return len(np.unique(points, axis=0, equal_nan=True)) if points.shape[1] else 1

    @property
    def copies(self) -> int:
        """Rows of the sample that repeat others; 0 where all numbers are rounded, which repeat as it is."""
        continuous = any(each.values is None and not each.resolution for each in self.numbers.values())
        return len(self.places.points) - self.distinct if continuous else 0

    @cached_property
    def _points(self) -> SeedPoints:
        return SeedPoints(self.places.points)

    @cached_property
    def _ranked(self) -> SeedPoints:
        """Each column as ranks, which outliers don't stretch."""
        return SeedPoints(ranked(self.places.points))

    @cached_property
    def _whitened(self) -> SeedPoints:
        return SeedPoints(whitened(self.places.points, self.places.weight))

    def starts(self, components: int, covariance: Covariance, count: int) -> list[MixtureEM]:
        """The starts of EM: that many models."""
        model = self.unfitted(components, covariance)
        return [model.begun(self.sample, codes) for codes in self.groupings(components, count)]

    def groupings(self, components: int, count: int, by_ranks: bool = False) -> list[Codes]:
        """Groups around distant seeds of the sample: as they are, after k-means steps, with decorrelated columns or
        by ranks."""
        _, weight, codes = self.places
        found: dict[int, Codes] = {}
        for kind, (places, rounds) in enumerate(
            (
                (self._points, KMEANS_ROUNDS),
                (self._ranked if by_ranks else self._whitened, KMEANS_ROUNDS),
                (self._points, 0),
            )
        ):
            if not (own := range(kind, count, 3)):
                break
            draws = [np.random.default_rng([self.how.seed, components, i]) for i in own]
            groups = seeded_groups(places, weight, components, draws, rounds=rounds, known=codes)
            found |= dict(zip(own, groups, strict=True))
        return [found[i] for i in range(count)]

    def _parallel_starts(self, covariance: Covariance, first: float | None = None) -> ParallelStarts:
        points, weight, _ = self.places
        strength, flat = first or self.settings.strength, self.settings.estimate == "ml"
        return ParallelStarts.of(points, weight, covariance, strength, self.concentration, flat)

    def _can_run_in_parallel(self, components: int, covariance: Covariance) -> bool:
        """Whether starts can run together: all columns are numbers, no cell is missing, no row is labelled, and they
        need little memory."""
        points, _, codes = self.places
        numbers = codes is None and all(forms == ("gaussian",) for forms in self.views.values())
        d = points.shape[1]
        small = len(points) * max(components * self.how.starts, d * (d + 3) // 2) <= MOST_PARALLEL_NUMBERS
        return numbers and d > 0 and small and covariance != "spherical" and not np.isnan(points).any()

    def on_sample(
        self, groupings: Sequence[Codes], components: int, covariance: Covariance, how: Fitting | None = None,
        finalists: int = 3, above: float = -np.inf, first: float | None = None,
    ) -> Optimum:  # fmt: skip
        """The best optimum that groups of the sample's rows lead to; with the prior that suits it best. Other groups
        have come `above` a value. `first` is the strength of the prior that they are compared under."""
        model, how = self.unfitted(components, covariance), how or self.how
        if first is not None:
            model = model.with_prior(first)
        if self._can_run_in_parallel(components, covariance):
            parallel = self._parallel_starts(covariance, first)
            return self._reached_in_parallel(model, parallel, groupings, how, above)
        starts, batches = [model.begun(self.sample, codes) for codes in groupings], (self.sample,).__iter__
        steps, tolerance = how.steps, how.tolerance
        climbs = Restarts(em, batches, self.sample.rows, steps, tolerance, finalists=finalists, above=above)
        ends = climbs.ends(starts)
        found = climbs.highest(ends)
        reached = found.objective
        rivals = [end.model for end in ends if reached - DECISIVE_LEAD < end.objective < reached - LEAST_MOVE_GAIN]
        for _ in range(PRIOR_ROUNDS if self.strength is None and reached >= above else 0):
            strength = self._best_strength(found, covariance)
            if strength == found.model.conditional.settings.strength:
                break
            start = found.model.with_prior(strength).with_evidence(found.evidence)
            found = em(start, batches, steps=steps, tolerance=tolerance)
        return FittedOptimum(self, reached, found, rivals)

    def _reached_in_parallel(
        self, model: MixtureEM, starts: ParallelStarts, groupings: Sequence[Codes], how: Fitting, above: float
    ) -> Optimum:
        within = DECISIVE_LEAD if self.sampled else 0.0
        ends = starts.highest(groupings, model.size, how.steps, how.tolerance, within)
        reached, end = float(ends.objective[0]), ends.take(slice(1))
        if self.strength is None and reached >= above:

            def choice(n: Array, log_evidence: Callable[[float], float], own: float) -> float:
                return self._most_probable(n, starts.covariance, log_evidence, own)

            starts, end = starts.tuned(end, how.steps, how.tolerance, choice)
        return ArrayOptimum(self, reached, model, starts, end, ends.take(slice(1, None)), how)

    def _best_strength(self, found: Fit, covariance: Covariance) -> float:
        """The strength of the numbers' prior under which the completed rows are most probable."""
        model = found.model

        def log_evidence(strength: float) -> float:
            return of_completed(model.conditional, found.evidence, self._integrating(strength))

        n = found.evidence[ROWS].n.value[:, 0]
        return self._most_probable(n, covariance, log_evidence, model.conditional.settings.strength)

    def _most_probable(
        self, n: Array, covariance: Covariance, log_evidence: Callable[[float], float], own: float
    ) -> float:
        """The strength of the prior with the most evidence, from components of n rows each."""
        if not self.compares:
            return best_strength(log_evidence, own, self._resolved(TRIED_STRENGTHS, covariance))
        tried = self._resolved(COMPARED_STRENGTHS, covariance)
        return best_strength(lambda s: log_evidence(s) - self._cost(n, covariance, s), own, tried)

    def _resolved(self, strengths: Sequence[float], covariance: Covariance) -> tuple[float, ...]:
        """Those under which a full covariance stays regular, whatever the rows of its component."""
        columns = len(self._number_columns)
        least = RESOLVED * self.rows.size * columns if covariance in ("full", "tied") and columns > 1 else 0.0
        return tuple(strength for strength in strengths if strength >= min(least, LEAST_OF_ROWS))

    def _cost(self, n: Array, covariance: Covariance, strength: float) -> float:
        return cost_of_pooling(n, len(self._number_columns), strength, covariance)

    @property
    def _number_columns(self) -> list[str]:
        return [name for name, forms in self.views.items() if forms[0] == "gaussian"]

    def predictive_strength(self, found: Fit, covariance: Covariance) -> float:
        """Of the prior of predictions: that of EM, or, where each component has its own covariance, the one under which
        held-out rows are most probable."""
        if self.strength is not None:
            return self.strength
        own = min(found.model.conditional.settings.strength, TRIED_STRENGTHS[0])
        if self.settings.estimate == "ml" or covariance != "full" or len(self._number_columns) < 2:
            return own
        if self._can_run_in_parallel(found.model.size, covariance) and len(self.places.weight) >= STRENGTH_FOLDS:
            score = self._parallel_starts(covariance).held_out(self.responsibilities(found.model).T)
        else:
            score = held_out_score(self, found)
        return best_strength(score, own, self._resolved(TRIED_STRENGTHS, covariance))

    def _integrating(self, strength: float) -> Settings:
        return replace(self.settings, estimate="bayes", strength=strength)

    def on_all(self, found: Fit, steps: int | None = None, rivals: Sequence[MixtureEM] = ()) -> Fit:
        """EM on all rows, from where it ended on the sample; or from one of its rivals there, if that begins better."""
        if not self.sampled:
            return found
        strength = found.model.conditional.settings.strength
        own = [model.with_prior(strength).with_evidence(model.conditional.seen) for model in rivals]
        starts = [model.with_evidence(expected(model, self.rows)[0]) for model in (found.model, *own)]
        steps, tolerance = steps or self.how.steps, self.how.tolerance
        climbs = Restarts(
            interruptible_em, self.rows, self.rows.size, steps, tolerance, (DECIDING_STEPS,), finalists=1, beside=False
        )
        return climbs.best(starts)

    def continued(self, found: Fit) -> Fit:
        """EM on all rows to convergence, if it hasn't converged."""
        how, left = self.how, self.how.steps - len(found.history) + 1
        if (found.converged and self.sampled) or found.interrupted or left < 1:
            return found
        more = interruptible_em(found.model, self.rows, steps=left, tolerance=how.tolerance)
        return replace(more, history=(*found.history[:-1], *more.history))

    def fitted(self, components: int, covariance: Covariance) -> Fit:
        count, first = self.count(components), None
        found = self.on_sample(self.groupings(components, count), components, covariance)
        for _ in range(PRIOR_ROUNDS if count > 1 else 0):
            if (weak := self.weaker(found.strength, first)) is None:
                break
            groupings, first = self.groupings(components, count, by_ranks=True), weak
            other = self.on_sample(groupings, components, covariance, first=first)
            found = max(found, other, key=lambda each: each.log_evidence)
        rivals = found.rivals if self.sampled else []
        for _ in range(MOVE_ROUNDS if count > 1 and (components >= FEWEST_MOVED or first is not None) else 0):
            moved = self._moved(found, covariance, first)
            if moved is None:
                break
            rivals = [found.fit.model, *moved.rivals] if self.sampled else []
            found = moved
        return self.on_all(found.fit, rivals=rivals)

    def weaker(self, strength: float, first: float | None = None) -> float | None:
        """That strength, if the prior under which starts were compared was so much stronger that it may have hidden
        clusters; or None."""
        chosen = self.strength is None and self.settings.estimate != "ml"
        before = first or self.settings.strength
        return strength if chosen and strength <= WEAKENED * before * (1 + ROUNDING) else None

    def _moved(self, found: Optimum, covariance: Covariance, first: float | None = None) -> Optimum | None:
        """A better optimum, by splitting one component and merging two others; None if there is none."""
        if not (groupings := split_and_merged(self, found.shares, covariance, first)):
            return None
        components = found.shares.shape[1]
        try:
            above = found.objective if first is None else -np.inf  # objectives under different priors
            moved = self.on_sample(groupings, components, covariance, finalists=1, above=above, first=first)
            if self.settings.estimate == "ml":
                return moved if moved.objective > found.objective + LEAST_MOVE_GAIN and moved.fit else None
        except EvidenceError:  # under maximum likelihood, a component may have too few rows
            return None
        return moved if moved.objective >= above and moved.log_evidence > found.log_evidence + LEAST_MOVE_GAIN else None

    def count(self, components: int) -> int:
        """The number of starts: one for a single component, or if all rows are labelled, since there is one optimum."""
        codes = self.places.codes
        labelled = codes is not None and components == len(self.known) and bool((codes >= 0).all())
        return 1 if components == 1 or labelled else self.how.starts

    def responsibilities(self, model: MixtureEM) -> Array:
        """The responsibilities of the sample's rows, times their weights. (rows, components)"""
        return model.responsibilities(*model.read(self.sample))[0].weights

    def log_evidence(self, found: Fit) -> float:
        """The log-evidence of the fitted rows: all, or the sample."""
        return found.model.log_evidence(found, self._integrating(found.model.conditional.settings.strength))

    def compared_evidence(self, found: Fit, covariance: Covariance) -> float:
        """The same; where numbers of components are compared, less the cost of the prior's own means and variances."""
        log_evidence = self.log_evidence(found)
        if not self.compares:
            return log_evidence
        n, strength = found.evidence[ROWS].n.value[:, 0], found.model.conditional.settings.strength
        return log_evidence - self._cost(n, covariance, strength)

    def choice(self, found: Fit, covariance: Covariance, whole: bool = True) -> Choice:
        log_likelihood = found.objective - found.model.log_prior()
        return Choice(found.model.size, covariance, self.compared_evidence(found, covariance), log_likelihood, whole)


def component_names(known: Sequence[object], components: int) -> tuple[Any, ...]:
    """0, 1, ...; labels come first, where rows have some, and then numbers that aren't labels."""
    names = list(known)
    text = bool(names) and not all(isinstance(name, int) and not isinstance(name, bool) for name in names)
    number = 0
    while len(names) < components:
        name: Any = f"cluster {number}" if text else number
        if name not in names:
            names.append(name)
        number += 1
    return tuple(names)
