"""How many components there are, and how columns covary: by approximate evidence, as AutoClass has it.

Numbers are tried upwards from 1 (or from the number of labels), each from new starts and from splits of the best fit
with one component less; then downwards by merging, which leads out of poor optima. Where there are many rows, the
search runs on a sample, and all rows decide between its best number and the next ones.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import combinations

import numpy as np

from credo.errors import DataError
from credo.families.normal_inverse_wishart import Covariance
from credo.models.latent.starts import seeded_groups
from credo.models.mixture.choices import Choice
from credo.models.mixture.expectation import MixtureEM
from credo.models.mixture.fitting import Fit, Problem
from credo.numerics.exact import Array

TRIED: tuple[Covariance, ...] = ("full", "tied", "diagonal")
PATIENCE = 2  # so many numbers of components above the best are tried
SPLITS, MERGES = 6, 6  # components that are split, and pairs that are merged, the most promising first
NEW_STARTS = 4  # beside the splits
STEPS, TOLERANCE = 100, 1e-5  # of EM, for a number that is tried
OPEN = 100.0  # nats of a sample's evidence that all rows may turn round
FULL_STEPS = 40  # of EM on all rows, for a number that they are to decide on


@dataclass
class Found:
    """The best fits of the sample so far, by their number of components, of one covariance."""

    covariance: Covariance
    fits: dict[int, Fit] = field(default_factory=dict)
    evidence: dict[int, float] = field(default_factory=dict)

    @property
    def best(self) -> int:
        """The number with the most evidence, the smallest of equal ones."""
        return max(sorted(self.evidence), key=lambda k: self.evidence[k])

    def add(self, problem: Problem, starts: Sequence[MixtureEM]) -> None:
        """Where the best of the starts leads to, if that is better than what was there."""
        if not starts:
            return
        fit = problem.on_sample(starts, steps=STEPS, tolerance=TOLERANCE)
        k, log_evidence = fit.model.size, problem.log_evidence(fit)
        if log_evidence > self.evidence.get(k, -np.inf):
            self.fits[k], self.evidence[k] = fit, log_evidence


def best_choice(
    problem: Problem, components: int | None, covariance: Covariance | str, most: int
) -> tuple[Fit, Covariance, tuple[Choice, ...]]:
    """The best fit of all rows, its covariance, and all that was tried, the best first."""
    covariances = _covariances(problem, covariance)
    found = [_searched(problem, each, components, most) for each in covariances]
    chosen = sorted(found, key=lambda each: -each.evidence[each.best])
    if not problem.sampled:
        best = chosen[0]
        choices = [problem.choice(fit, own.covariance) for own in chosen for fit in own.fits.values()]
        return problem.continued(best.fits[best.best]), best.covariance, _ranked(choices)
    return _decided_by_all(problem, chosen, components)


def _covariances(problem: Problem, asked: Covariance | str) -> tuple[Covariance, ...]:
    if asked != "auto":
        return (asked,)  # type: ignore[return-value]
    numbers = [name for name, forms in problem.views.items() if forms[0] == "gaussian"]
    return TRIED if len(numbers) > 1 else ("diagonal",)


def _ranked(choices: Sequence[Choice]) -> tuple[Choice, ...]:
    return tuple(sorted(choices, key=lambda each: (not each.whole, -each.log_evidence)))


# On the sample


def _searched(problem: Problem, covariance: Covariance, components: int | None, most: int) -> Found:
    found = Found(covariance)
    if components is not None:
        found.add(problem, problem.starts(components, covariance, problem.count(components)))
        return found
    first = max(1, len(problem.known))
    if most < first:
        raise DataError(f"there are {first} different labels, but most_components is {most}")
    for k in range(first, max(first, min(most, problem.distinct)) + 1):
        new = problem.starts(k, covariance, 1 if k == 1 else NEW_STARTS)
        found.add(problem, [*_splits(problem, found, k - 1), *new])
        if k - found.best > PATIENCE:
            break
    for k in range(min(max(found.fits), found.best + 2), first, -1):
        found.add(problem, [*_merges(problem, found, k)])
    return found


def _splits(problem: Problem, found: Found, size: int) -> Iterator[MixtureEM]:
    """Each of the largest components in two, by two distant seeds among its rows."""
    if size not in found.fits:
        return
    points, weight, _ = problem.places
    codes = problem.responsibilities(found.fits[size].model).argmax(1)
    larger = problem.unfitted(size + 1, found.covariance)
    largest = np.argsort(-np.bincount(codes, weight, size), kind="stable")[:SPLITS]
    for k in largest.tolist():
        rows = np.flatnonzero(codes == k)
        if len(rows) > 1:
            rng = np.random.default_rng([problem.how.seed, size, k])
            split = codes.astype(np.int32)
            split[rows[seeded_groups(points[rows], weight[rows], 2, rng) == 1]] = size
            yield larger.begun(problem.sample, split)


def _merges(problem: Problem, found: Found, size: int) -> Iterator[MixtureEM]:
    """Pairs of components as one: those that share most of their rows (Ueda et al. 2000). Labels stay apart."""
    shares = problem.responsibilities(found.fits[size].model)
    codes, together = shares.argmax(1), _cosines(shares)
    pairs = [pair for pair in combinations(range(size), 2) if pair[1] >= len(problem.known)]
    smaller = problem.unfitted(size - 1, found.covariance)
    for a, b in sorted(pairs, key=lambda pair: -together[pair])[:MERGES]:
        merged = np.where(codes == b, a, codes)
        yield smaller.begun(problem.sample, np.where(merged > b, merged - 1, merged).astype(np.int32))


def _cosines(shares: Array) -> Array:
    """Of the components' responsibilities. (components, components)"""
    length = np.sqrt(np.maximum((shares**2).sum(0), np.finfo(float).tiny))
    return np.asarray(shares.T @ shares / length / length[:, None])


# On all rows


def _decided_by_all(
    problem: Problem, found: Sequence[Found], components: int | None
) -> tuple[Fit, Covariance, tuple[Choice, ...]]:
    """Between covariances that the sample leaves open; then between the best number and the next ones."""
    choices = [problem.choice(fit, own.covariance, whole=False) for own in found for fit in own.fits.values()]
    top = found[0].evidence[found[0].best]
    close = [own for own in found if own.evidence[own.best] > top - OPEN]
    fits = {own.covariance: problem.on_all(own.fits[own.best], FULL_STEPS) for own in close}
    tried = {name: problem.choice(fit, name) for name, fit in fits.items()}
    own = max(close, key=lambda each: tried[each.covariance].log_evidence)
    choices += tried.values()
    best, evidence = fits[own.covariance], tried[own.covariance].log_evidence
    for k in range(own.best + 1, max(own.fits) + 1 if components is None else 0):
        larger = problem.on_all(own.fits[k], FULL_STEPS)
        choices.append(problem.choice(larger, own.covariance))
        if choices[-1].log_evidence <= evidence:
            break
        best, evidence = larger, choices[-1].log_evidence
    return problem.continued(best), own.covariance, _ranked(choices)
