"""Fitting a hidden chain: starts, short runs of EM, the best continued, and the number of states."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from math import lgamma, log
from typing import Any, NamedTuple, Self

import numpy as np

from credo import engines
from credo.blocks.block import Settings
from credo.blocks.capabilities import LogEvidence
from credo.core.em import Batches, Expected, Fitted, em, expected, interruptible_em
from credo.core.evidence import Evidence
from credo.core.membership import Codes, Hard
from credo.core.restarts import Restarts
from credo.data.sequences import SequenceBatch
from credo.errors import DataError
from credo.models.hidden_markov.chain import log_likelihood_of, seen_in
from credo.models.hidden_markov.expecting import HiddenChain
from credo.models.hidden_markov.reading import sampled
from credo.models.latent.log_evidence import of_columns
from credo.models.latent.starts import SeedPoints, points_of, seeded_groups, split_group
from credo.numerics.exact import Array

SHORT_STEPS, ROUGH_TOLERANCE = 20, 1e-5  # of the short runs from each start
SPLIT_STATES = 6  # states that are split, one at a time, when one state more is tried
START_WINDOWS = (1, 9, 45)  # numbers of rows averaged for a start
Reader = Callable[[], Iterable[Any]]


class Search(NamedTuple):
    """The limits of EM."""

    starts: int
    steps: int
    tolerance: float
    seed: int


@dataclass(frozen=True, eq=False)
class CountStates:
    """The job of a batch whose states are given: its evidence, and how many rows have none."""

    chain: HiddenChain

    def __call__(self, batch: SequenceBatch) -> tuple[Evidence, float]:
        given = self.chain.given
        assert given is not None
        hidden = 1.0 if given.column is None else float((given.codes(batch.batch) < 0).sum())
        self.chain.sequence_weights(batch)
        return self.chain.counted(batch), hidden


@dataclass(frozen=True, eq=False)
class Begin:
    """The job of a batch whose rows have memberships to begin with: its evidence, before there are parameters."""

    chain: HiddenChain
    seed: int

    def __call__(self, batch: SequenceBatch) -> Evidence:
        assert self.chain.given is not None
        member = self.chain.given.member(batch.batch, self.chain.weights.of_rows(batch.batch))
        return self.chain.begun(batch, member, np.random.default_rng((self.seed, batch.batch.start)))


def begun_with(chain: HiddenChain, reader: Reader, seed: int) -> Evidence:
    """The evidence of EM's initial memberships."""
    found: Evidence | None = engines.reduce(Begin(chain, seed), reader(), Evidence.total)
    if found is None:
        raise DataError("the data is empty: there are no rows to learn from")
    return found


def counted_states(chain: HiddenChain, reader: Reader) -> tuple[Evidence, float]:
    """The evidence of rows whose states are given, and how many rows have none."""
    found: tuple[Evidence, float] | None = engines.reduce(CountStates(chain), reader(), _added)
    if found is None:
        raise DataError("the data is empty: there are no rows to learn from")
    return found


def _added(parts: Sequence[tuple[Evidence, float]]) -> tuple[Evidence, float]:
    return Evidence.total([evidence for evidence, _ in parts]), sum(hidden for _, hidden in parts)


def climbed(
    chain: HiddenChain, reader: Reader, search: Search, start: Evidence | None, smaller: HiddenChain | None = None
) -> Fitted[HiddenChain]:
    """EM to convergence, from a given start, or from the best of several after short runs on a sample of rows; these
    include splits of a chain with one state less."""
    begun = best_start(chain, reader, search, smaller) if start is None else chain.with_evidence(start)
    evidence, _ = expected(begun, reader)
    return interruptible_em(begun.with_evidence(evidence), reader, steps=search.steps, tolerance=search.tolerance)


def best_start(chain: HiddenChain, reader: Reader, search: Search, smaller: HiddenChain | None = None) -> HiddenChain:
    """The best of several starts, after short runs."""
    sample = sampled(reader)
    if chain.prior.pattern.states * chain.emission.components == 1:
        return chain.with_evidence(start_of(chain, sample, np.zeros((sample.rows, 0)), search.seed))
    weight = chain.weights.of_rows(sample.batch)
    points = points_of(chain.emission.conditional, sample.batch, weight, chain.emission.levels[:1])
    starts = [
        chain.with_evidence(start_of(chain, sample, points, (search.seed, number))) for number in range(search.starts)
    ]
    for codes in () if smaller is None else splits(smaller, sample, points):
        member, rng = Hard(codes, chain.pattern.states, weight), np.random.default_rng((search.seed, len(starts)))
        starts.append(chain.with_evidence(chain.begun(sample, member, rng)))
    runs = Restarts(_short_run, (sample,).__iter__, sample.rows, SHORT_STEPS, ROUGH_TOLERANCE, finalists=len(starts))
    best = runs.best(starts)
    return best.model.with_evidence(best.evidence)


def splits(chain: HiddenChain, sample: SequenceBatch, points: Array) -> list[Codes]:
    """The rows' most probable states, with one in two, for each of the largest."""
    if not (chain.pattern.step.all() and chain.pattern.first.all()):  # the order of states matters
        return []
    weight, codes = chain.weights.of_rows(sample.batch), chain.smoothed(sample).argmax(1)
    states = chain.pattern.states
    largest = np.argsort(-np.bincount(codes, weight, states), kind="stable")[:SPLIT_STATES]
    found = (split_group(points, weight, codes, int(k), states) for k in largest)
    return [each for each in found if each is not None]


def _short_run(chain: HiddenChain, batches: Batches, *, steps: int, tolerance: float) -> Fitted[HiddenChain]:
    """EM after a first step, since a start isn't a mode."""
    evidence, _ = expected(chain, batches)
    return em(chain.with_evidence(evidence), batches, steps=steps, tolerance=tolerance)


def start_of(chain: HiddenChain, sample: SequenceBatch, points: Array, seed: Any) -> Evidence:
    """A start: rows in groups around distant seeds; each start averages over more neighbours of a row."""
    rng = np.random.default_rng(seed)
    weight, states = chain.weights.of_rows(sample.batch), chain.prior.pattern.states
    codes = np.zeros(sample.rows, dtype=np.int32)
    if points.shape[1] and states > 1:
        window = START_WINDOWS[seed[1] % len(START_WINDOWS)]
        (codes,) = seeded_groups(SeedPoints(windowed(points, window)), weight, states, [rng])
    if chain.given is not None and chain.given.column is not None:
        own = chain.given.codes(sample.batch)
        codes = np.where(own >= 0, own, codes)
    if chain.pattern.first.sum() == 1 and not np.tril(chain.pattern.step, -1).any():
        codes = _in_turn(sample, states)
    return chain.begun(sample, Hard(codes, states, weight), rng)


def _in_turn(sample: SequenceBatch, states: int) -> Any:
    """For chains that never go back: each sequence cut into as many parts as there are states."""
    lengths = np.diff(sample.starts)
    place = np.arange(sample.rows) - np.repeat(sample.starts[:-1], lengths)
    return (place * states // np.repeat(lengths, lengths)).astype(np.int32)


def windowed(points: Array, window: int) -> Array:
    """Means and mean squares over a row's neighbourhood: persistent states differ in these even if single rows
    don't."""
    if window == 1 or len(points) < 2:
        return points
    filled = np.nan_to_num(points)
    both = np.concatenate([filled, filled**2], axis=1)
    reached = np.concatenate([np.zeros((1, both.shape[1])), np.cumsum(both, axis=0)])
    low = np.maximum(np.arange(len(points)) - window // 2, 0)
    high = np.minimum(np.arange(len(points)) + window // 2 + 1, len(points))
    found = (reached[high] - reached[low]) / (high - low)[:, None]
    spread = found.std(0)
    return np.asarray(found / np.where(spread > 0, spread, 1.0))


class Tried(NamedTuple):
    """The approximate evidence for a number of states."""

    states: int
    log_evidence: float  # approximate (Cheeseman and Stutz)
    bic: float  # -2 log p(data) + parameters · log(rows): lower is better
    log_likelihood: float


def judged(fit: Fitted[HiddenChain], settings: Settings) -> Tried:
    """`settings` are those of the prior."""
    chain, expectation = fit.model, fit.evidence
    log_likelihood = fit.objective - chain.log_prior()
    states, pattern = chain.pattern.states, chain.pattern
    completed = of_columns(chain.emission.conditional, expectation, settings)
    completed += chain.emission.completed_shares(expectation, settings.smoothing)
    completed += chain.prior.completed(seen_in(expectation), chain.shares)
    alike = (
        lgamma(states + 1) if pattern.step.all() and pattern.first.all() else 0.0
    )  # modes that differ only by a permutation of states
    parameters = pattern.free_parameters + chain.emission.free_parameters
    rows = float(expectation_rows(chain, expectation))
    bic = -2.0 * log_likelihood + parameters * log(max(rows, 1.0))
    return Tried(states, log_likelihood + completed + alike, bic, log_likelihood)


def expectation_rows(chain: HiddenChain, evidence: Evidence) -> float:
    """The weight of all rows."""
    return float(chain.emission.conditional.with_evidence(evidence).weights.sum())


@dataclass(frozen=True, eq=False)
class Continued:
    """A chain that has learned before: EM over new rows, with the expected counts of the old ones kept."""

    chain: HiddenChain
    before: Evidence

    def expect(self, batch: SequenceBatch, /) -> Expected:
        return self.chain.expect(batch)

    def with_evidence(self, evidence: Evidence, /) -> Self:
        return replace(self, chain=self.chain.with_evidence(Evidence.total([self.before, evidence])))

    def log_prior(self) -> float:
        """The log-prior, with log p(old statistics | parameters)."""
        conditional = self.chain.emission.conditional
        found = self.chain.log_prior() + log_likelihood_of(seen_in(self.before), self.chain.shares)
        found += self.chain.emission.log_shares_of(self.before)
        evidence = Evidence.total([Evidence(conditional.seen.schema), self.before])  # with later levels
        for block, at in zip(conditional.blocks, conditional.likelihoods, strict=True):
            kept = LogEvidence.needed(block.likelihood(evidence, conditional.settings))
            found += kept.log_likelihood_at(at)  # type: ignore[arg-type]
        return found
