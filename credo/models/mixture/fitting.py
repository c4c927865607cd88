"""Fitting a mixture with a given number of components: starts on a sample of the rows, then EM on all of them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cache, cached_property
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from credo.blocks.block import Settings
from credo.core.em import Fitted, em, expected, interruptible_em
from credo.core.membership import Codes, Soft
from credo.core.restarts import Restarts
from credo.data import Batch
from credo.errors import DataError, EvidenceError
from credo.families.normal_inverse_wishart import Covariance
from credo.models.conditional import Conditional
from credo.models.forms import Views
from credo.models.latent.columns import Numbers, hidden_blocks
from credo.models.latent.log_evidence import of_completed
from credo.models.latent.starts import ROUNDS, Points, points_of, seeded_groups, whitened
from credo.models.mixture.choices import Choice
from credo.models.mixture.expectation import MixtureEM, RowLabels, unfitted
from credo.models.mixture.held_out import held_out_score
from credo.models.mixture.moves import split_and_merged
from credo.models.mixture.parallel_starts import ParallelStarts
from credo.models.mixture.rows import Rows
from credo.numerics.exact import Array

# Of the prior of numbers, in rows of the pooled means and variances
STRENGTHS = (1.0, 0.3, 0.1, 0.03, 0.01, 0.003, 0.001, 3e-4, 1e-4)
TUNINGS = 3  # times that the prior and the components are fitted to each other, at most

MOVES = 2  # times that components are split and others merged, as long as that helps
MOVED = 4  # components, from which on starts may leave two where one should be
GAIN = 1.0  # nats by which it must help
OPEN = 100.0  # nats of a sample's evidence that all rows may turn round
FIRST_STEPS = 3  # of EM on all rows, which decide between what the sample leaves open
SIDE_BY_SIDE = 2**22  # numbers (rows x components x starts, rows x products) up to which starts run in parallel

Fit = Fitted[MixtureEM]


class Places(NamedTuple):
    """Rows as points, NaN where cells are missing; their weights and known components."""

    points: Array
    weight: Array
    codes: Codes | None


class Reached(NamedTuple):
    """The best optimum of the sample's rows."""

    fit: Fit
    objective: float  # under the prior that it was found with
    rivals: list[MixtureEM]  # other optima, which may be better ones of all rows


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
    settings: Settings  # of predictions; EM takes them at the mode
    concentration: float  # of the shares' Dirichlet prior
    groups: str  # the column of the evidence that the components are in
    known: tuple[Any, ...]  # components that rows are labelled with
    how: Fitting
    strength: float | None  # that of the settings' prior, if it was given

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

    @cached_property
    def _points(self) -> Points:
        return Points(self.places.points)

    @cached_property
    def _whitened(self) -> Points:
        return Points(whitened(self.places.points, self.places.weight))

    def starts(self, components: int, covariance: Covariance, count: int) -> list[MixtureEM]:
        """Where EM begins: at most so many models."""
        return self.begun(components, covariance, self.groupings(components, count))

    def groupings(self, components: int, count: int) -> list[Codes]:
        """Groups around distant seeds of the sample: as they are, after k-means steps, with decorrelated columns."""
        _, weight, codes = self.places
        found: dict[int, Codes] = {}
        for kind, (places, rounds) in enumerate(((self._points, ROUNDS), (self._whitened, ROUNDS), (self._points, 0))):
            if not (own := range(kind, count, 3)):
                break
            draws = [np.random.default_rng([self.how.seed, components, i]) for i in own]
            groups = seeded_groups(places, weight, components, draws, rounds=rounds, known=codes)
            found |= dict(zip(own, groups, strict=True))
        return [found[i] for i in range(count)]

    def begun(self, components: int, covariance: Covariance, groupings: Sequence[Codes]) -> list[MixtureEM]:
        """At the parameters that groups of the sample's rows lead to; of the best, where all can be tried at once."""
        model = self.unfitted(components, covariance)
        if len(groupings) < 2 or not self._can_run_in_parallel(components, covariance, len(groupings)):
            return [model.begun(self.sample, codes) for codes in groupings]
        starts, how, within = self._parallel_starts(model, covariance), self.how, OPEN if self.sampled else 0.0
        ends = starts.highest(groupings, components, how.steps, how.tolerance, within)
        return [model.begun_from(self.sample, Soft(shares)) for shares in ends]

    def _parallel_starts(self, model: MixtureEM, covariance: Covariance) -> ParallelStarts:
        points, weight, _ = self.places
        settings = model.conditional.settings
        prior = (0.0, 0.0) if settings.estimate == "ml" else (settings.strength, self.concentration)
        return ParallelStarts(points, weight, covariance, *prior)

    def _can_run_in_parallel(self, components: int, covariance: Covariance, starts: int) -> bool:
        """Whether starts can be tried beside each other: all columns are numbers, no cell is missing and no row is
        labelled; and they need little memory."""
        points, _, codes = self.places
        numbers = codes is None and all(forms == ("gaussian",) for forms in self.views.values())
        d = points.shape[1]
        small = len(points) * max(components * starts, d * (d + 3) // 2) <= SIDE_BY_SIDE
        return numbers and small and covariance != "spherical" and not np.isnan(points).any()

    def on_sample(
        self, starts: Sequence[MixtureEM], covariance: Covariance, how: Fitting | None = None, finalists: int = 3,
        above: float = -np.inf,
    ) -> Reached:  # fmt: skip
        """The best optimum that the starts lead to, of the sample's rows; with the prior that suits it best. Other
        starts have come `above` a value."""
        how, batches = how or self.how, (self.sample,).__iter__
        steps, tolerance = how.steps, how.tolerance
        climbs = Restarts(em, batches, self.sample.rows, steps, tolerance, finalists=finalists, above=above)
        ends = climbs.ends(starts)
        found = climbs.highest(ends)
        reached = found.objective
        rivals = [end.model for end in ends if reached - OPEN < end.objective < reached - GAIN]
        for _ in range(TUNINGS if self.strength is None and reached >= above else 0):
            strength = self.best_strength(found, covariance)
            if strength == found.model.conditional.settings.strength:
                break
            found = em(self._with_strength(found, covariance, strength, how), batches, steps=steps, tolerance=tolerance)
        return Reached(found, reached, rivals)

    def _with_strength(self, found: Fit, covariance: Covariance, strength: float, how: Fitting) -> MixtureEM:
        """With another prior: near the end that a fit leads to under it, or at its next step."""
        model = found.model.with_strength(strength, found.evidence)
        if not self._can_run_in_parallel(model.size, covariance, 1):
            return model
        shares = self._parallel_starts(model, covariance).continued(
            self.responsibilities(model), how.steps, how.tolerance
        )
        return model.begun_from(self.sample, Soft(shares))

    def best_strength(self, found: Fit, covariance: Covariance) -> float:
        """Of the prior of numbers: the one under which the completed rows are most probable."""
        model, own = found.model, found.model.conditional.settings.strength
        rounded = any(each.resolution > 0 for each in self.numbers.values())
        if not rounded and self._can_run_in_parallel(model.size, covariance, 1):
            return _climbed(self._parallel_starts(model, covariance).log_evidence(self.responsibilities(model)), own)
        return _climbed(lambda s: of_completed(model.conditional, found.evidence, self._integrating(s)), own)

    def predictive_strength(self, found: Fit, covariance: Covariance) -> float:
        """Of the prior of predictions: that of EM, or, where each component has its own covariance, the one under which
        held-out rows are most probable."""
        own = found.model.conditional.settings.strength
        numbers = [name for name, forms in self.views.items() if forms[0] == "gaussian"]
        if self.strength is not None or self.settings.estimate == "ml" or covariance != "full" or len(numbers) < 2:
            return own
        return _climbed(held_out_score(self, found), own)

    def _integrating(self, strength: float) -> Settings:
        return replace(self.settings, estimate="bayes", strength=strength)

    def on_all(self, found: Fit, steps: int | None = None, rivals: Sequence[MixtureEM] = ()) -> Fit:
        """EM on all rows, from where it ended on the sample; or from one of its rivals there, if that begins better."""
        if not self.sampled:
            return found
        strength = found.model.conditional.settings.strength
        own = [model.with_strength(strength, model.conditional.seen) for model in rivals]
        starts = [model.with_evidence(expected(model, self.rows)[0]) for model in (found.model, *own)]
        steps, tolerance = steps or self.how.steps, self.how.tolerance
        climbs = Restarts(
            interruptible_em, self.rows, self.rows.size, steps, tolerance, (FIRST_STEPS,), finalists=1, beside=False
        )
        return climbs.best(starts)

    def continued(self, found: Fit) -> Fit:
        """EM on all rows to convergence, if it hasn't converged."""
        how, left = self.how, self.how.steps - len(found.history) + 1
        if (found.converged and self.sampled) or left < 1:
            return found
        more = interruptible_em(found.model, self.rows, steps=left, tolerance=how.tolerance)
        return replace(more, history=(*found.history[:-1], *more.history))

    def fitted(self, components: int, covariance: Covariance) -> Fit:
        starts = self.starts(components, covariance, self.count(components))
        found, reached, rivals = self.on_sample(starts, covariance)
        for _ in range(MOVES if self.count(components) > 1 and components >= MOVED else 0):
            moved = self._moved(found, reached, covariance)
            if moved is None:
                break
            rivals = [found.model, *moved.rivals]
            found, reached = moved.fit, moved.objective
        return self.on_all(found, rivals=rivals)

    def _moved(self, found: Fit, before: float, covariance: Covariance) -> Reached | None:
        """A better optimum, by splitting one component and merging two others; None if there is none."""
        if not (groupings := split_and_merged(self, found, covariance)):
            return None
        starts = self.begun(found.model.size, covariance, groupings)
        try:
            moved = self.on_sample(starts, covariance, finalists=1, above=before)
        except EvidenceError:  # under maximum likelihood, a component may be on too few rows
            return None
        return moved if self._is_better(moved.fit, moved.objective, found, before) else None

    def _is_better(self, moved: Fit, after: float, found: Fit, before: float) -> bool:
        """By the objective that EM began with; under priors that were fitted since, also by the evidence."""
        if self.settings.estimate == "ml":
            return after > before + GAIN
        return after >= before and self.log_evidence(moved) > self.log_evidence(found) + GAIN

    def count(self, components: int) -> int:
        """How many starts: one component has one optimum, and so have components that all rows are labelled with."""
        codes = self.places.codes
        labelled = codes is not None and components == len(self.known) and bool((codes >= 0).all())
        return 1 if components == 1 or labelled else self.how.starts

    def responsibilities(self, model: MixtureEM) -> Array:
        """Of the sample's rows, times their weights. (rows, components)"""
        return model.responsibilities(*model.read(self.sample))[0].weights

    def log_evidence(self, found: Fit) -> float:
        """Of the rows that were fitted: all, or the sample."""
        return found.model.log_evidence(found, self._integrating(found.model.conditional.settings.strength))

    def choice(self, found: Fit, covariance: Covariance, whole: bool = True) -> Choice:
        log_likelihood = found.objective - found.model.log_prior()
        return Choice(found.model.size, covariance, self.log_evidence(found), log_likelihood, whole)


def _climbed(score: Callable[[float], float], own: float) -> float:
    """The strength with the highest score, by hill climbing from the current one."""
    of = cache(score)
    at = min(range(len(STRENGTHS)), key=lambda i: abs(np.log(STRENGTHS[i] / own)))
    while True:
        near = [i for i in (at, at - 1, at + 1) if 0 <= i < len(STRENGTHS)]
        best = max(near, key=lambda i: of(STRENGTHS[i]))  # the first of equal ones
        if best == at:
            return STRENGTHS[at]
        at = best


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
