"""The number of components and the covariance, by approximate evidence, as in AutoClass.

Numbers are tried upwards from 1 (or from the number of labels), each from new starts and from splits of the best fit
with one component less; then downwards by merging, which escapes poor optima. A covariance is given up when gains as
large as its last one would leave it clearly below another. Where there are many rows, the search runs on a sample, and
all rows decide between its best number and the next ones. If the evidence doesn't clearly decide, the smallest number
is chosen.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from math import log
from typing import NamedTuple

import numpy as np

from credo.core.membership import Codes
from credo.errors import DataError
from credo.families.normal_inverse_wishart import Covariance
from credo.models.mixture.choices import Choice
from credo.models.mixture.fitting import DECISIVE_LEAD, Problem
from credo.models.mixture.moves import merges, splits
from credo.models.mixture.optima import Fit
from credo.notices import tell

TRIED: tuple[Covariance, ...] = ("diagonal", "tied", "full")  # the cheapest first
NUMBERS_ABOVE_BEST = 2  # numbers of components tried above the best
NEW_STARTS = 3  # beside the splits
SEARCH_STEPS, SEARCH_TOLERANCE = 60, 3e-5  # of EM, for each number tried
STRONG_EVIDENCE = log(20.0)  # nats: odds of 20 to 1, strong evidence in the words of Kass and Raftery (1995)
NOTICED_COPIES = 0.02  # share of the rows, above which there is a notice
ALL_ROWS_STEPS = 40  # of EM on all rows, for the numbers still open


@dataclass
class BestFits:
    """The best fits of the sample so far, by their number of components, of one covariance."""

    covariance: Covariance
    fits: dict[int, Fit] = field(default_factory=dict)
    evidence: dict[int, float] = field(default_factory=dict)
    reached: dict[int, float] = field(default_factory=dict)  # objectives under the initial prior
    first: float | None = None  # its strength, if it isn't the usual one

    @property
    def best(self) -> int:
        """The number with the most evidence, the smallest if tied."""
        return max(sorted(self.evidence), key=lambda k: self.evidence[k])

    def reach(self, k: int, last: int) -> float:
        """The evidence of the last number of components, if each gained as much as k."""
        gain = self.evidence[k] - self.evidence[k - 1]
        return self.evidence[k] + (last - k) * max(gain, 0.0)

    def add(self, problem: Problem, k: int, groupings: Sequence[Codes]) -> None:
        """The best optimum of k components that groups of rows lead to, if it is better than the current one."""
        if not groupings:
            return
        how = replace(
            problem.how,
            steps=min(SEARCH_STEPS, problem.how.steps),
            tolerance=max(SEARCH_TOLERANCE, problem.how.tolerance),
        )
        above = self.reached.get(k, -np.inf)
        found = problem.on_sample(groupings, k, self.covariance, how, finalists=1, above=above, first=self.first)
        if found.objective < above:
            return
        log_evidence = problem.compared_evidence(found.fit, self.covariance)
        if log_evidence > self.evidence.get(k, -np.inf):
            self.fits[k], self.evidence[k], self.reached[k] = found.fit, log_evidence, found.objective

    def weakened(self, problem: Problem, k: int) -> bool:
        """Whether the prior of the best fit is so much weaker that starts should be compared under it instead."""
        if (strength := problem.weaker(self.fits[k].model.conditional.settings.strength, self.first)) is None:
            return False
        self.first, self.reached = strength, {}
        return True


class Candidate(NamedTuple):
    """A fit, and its evidence."""

    fit: Fit
    choice: Choice


def best_choice(
    problem: Problem, components: int | None, covariance: Covariance | str, most: int
) -> tuple[Fit, tuple[Choice, ...]]:
    """The chosen fit of all rows, and all candidates: the chosen first, then by evidence."""
    if components is None and problem.copies > NOTICED_COPIES * problem.sample.rows:
        share = problem.copies / problem.sample.rows
        tell(
            f"{share:.0%} of the rows are copies of others: the evidence takes copies for clusters. Drop them, unless "
            "each was observed by itself"
        )
    found, interrupted = _found(problem, components, covariance, most)
    if problem.sampled:
        tried = [*_until_interrupted(_tried_on_all(problem, found, components))]
        others = [problem.choice(fit, own.covariance, whole=False) for own in found for fit in own.fits.values()]
    else:
        pairs = ((fit, own.covariance) for own in found for fit in own.fits.values())
        tried, others = [Candidate(fit, problem.choice(fit, name)) for fit, name in pairs], []
    chosen = _simplest([each.choice for each in tried])
    fit = next(each.fit for each in tried if each.choice is chosen)
    fit = replace(fit, interrupted=interrupted or any(each.fit.interrupted for each in tried))
    rest = [each for each in (*(each.choice for each in tried), *others) if each is not chosen]
    rest.sort(key=lambda each: (not each.whole, -each.log_evidence))
    return problem.continued(fit), (chosen, *rest)


def _simplest(choices: Sequence[Choice]) -> Choice:
    """Of the numbers of components that are not clearly less probable than the best, the smallest; with its best
    covariance."""
    top = max(each.log_evidence for each in choices)
    likely = [each for each in choices if each.log_evidence >= top - STRONG_EVIDENCE]
    return min(likely, key=lambda each: (each.components, -each.log_evidence))


def _covariances(problem: Problem, asked: Covariance | str) -> tuple[Covariance, ...]:
    if asked != "auto":
        return (asked,)  # type: ignore[return-value]
    numbers = [name for name, forms in problem.views.items() if forms[0] == "gaussian"]
    return TRIED if len(numbers) > 1 else ("diagonal",)


# On the sample


def _found(
    problem: Problem, components: int | None, covariance: Covariance | str, most: int
) -> tuple[list[BestFits], bool]:
    """Of each covariance, and whether Ctrl-C ended the search. Fits of a sample alone aren't kept then."""
    found: list[BestFits] = []
    try:
        for each in _covariances(problem, covariance):
            above = max((own.evidence[own.best] for own in found), default=-np.inf)
            found.append(BestFits(each))
            _search(problem, found[-1], components, most, above)
    except KeyboardInterrupt:
        found = [own for own in found if own.fits]
        if problem.sampled or not found:
            raise
        tell("the search was interrupted: the best fit so far is kept")
        return found, True
    return found, False


def _search(problem: Problem, found: BestFits, components: int | None, most: int, above: float) -> None:
    """All numbers of components, or the given one; other covariances have come `above` a value."""
    if components is not None:
        found.add(problem, components, problem.groupings(components, problem.count(components)))
        return
    first = max(1, len(problem.known))
    if most < first:
        raise DataError(f"there are {first} different labels, but most_components is {most}")
    last = max(first, min(most, problem.distinct))
    for k in range(first, last + 1):
        before = found.fits.get(k - 1)
        split = () if before is None else splits(problem, problem.responsibilities(before.model), found.covariance)
        while True:
            new = problem.groupings(k, 1 if k == 1 else NEW_STARTS, by_ranks=found.first is not None)
            found.add(problem, k, [*split, *new])
            if not found.weakened(problem, k):
                break
        if k > first and found.reach(k, last) < above - DECISIVE_LEAD:
            return
        if k - found.best >= NUMBERS_ABOVE_BEST:
            break
    for k in range(min(max(found.fits), found.best + 2), first, -1):
        found.add(problem, k - 1, [*merges(problem, problem.responsibilities(found.fits[k].model))])


# On all rows


def _until_interrupted(candidates: Iterator[Candidate]) -> Iterator[Candidate]:
    """Ctrl-C ends EM of one candidate, and is meant for the search."""
    for each in candidates:
        yield each
        if each.fit.interrupted:
            return


def _tried_on_all(problem: Problem, found: Sequence[BestFits], components: int | None) -> Iterator[Candidate]:
    """Fits of all rows: the best number for each covariance that the sample leaves open, the most probable first; for
    the best covariance also larger numbers, while the evidence grows, and smaller ones that aren't clearly worse."""

    def tried(own: BestFits, k: int) -> Candidate:
        fit = problem.on_all(own.fits[k], ALL_ROWS_STEPS)
        return Candidate(fit, problem.choice(fit, own.covariance))

    top = max(own.evidence[own.best] for own in found)
    firsts: list[tuple[float, BestFits]] = []
    for own in sorted(found, key=lambda each: -each.evidence[each.best]):
        if own.evidence[own.best] > top - DECISIVE_LEAD:
            first = tried(own, own.best)
            yield first
            firsts.append((first.choice.log_evidence, own))
    if components is not None:
        return
    best, own = max(firsts, key=lambda pair: pair[0])
    for k in range(own.best + 1, max(own.fits) + 1):
        more = tried(own, k)
        yield more
        if more.choice.log_evidence <= best:
            break
        best = more.choice.log_evidence
    for k, evidence in own.evidence.items():
        if k < own.best and evidence > own.evidence[own.best] - STRONG_EVIDENCE:
            yield tried(own, k)
