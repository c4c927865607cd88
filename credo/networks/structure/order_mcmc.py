"""Order MCMC (Friedman and Koller 2003): Markov chains over orders of many variables, with convergence diagnostics.

Each variable has a few candidate parents; the sums over its families are tables over their subsets, so a step looks up
two numbers for each variable that it passes (Kuipers, Suter and Moffa 2022). A step samples the place of one variable
given the order of the others. The prior is over orders, as in the exact sums.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from math import comb, sqrt

import numpy as np

from credo import engines
from credo._kernels.structure.orders import add_arrows_of_order, draw_families, relocate_variables
from credo._kernels.structure.subsets import LOG_ZERO, add_subsets
from credo.engines.partitions import Loaded
from credo.networks.graph import in_order
from credo.networks.structure.score import Constraints, Parents, Score
from credo.numerics.arrays import Integers
from credo.numerics.exact import Array

MOST_CANDIDATES, MOST_SCORED_PARENTS = 12, 4  # per variable, unless it has more parents in the starting graph
SHARE_AT_LIMIT = 0.05  # share of graphs in which a variable has the most parents allowed, above which the limit matters
MOST_SCORED_FAMILIES = 400_000  # of all variables
CHAINS, SWEEPS = 4, 2000  # defaults; the first half of the sweeps is burn-in


@dataclass(frozen=True)
class Convergence:
    """Whether independent chains agree: R-hat of the orders' log-probability, near 1 if they do, and the largest
    difference between the chains' probabilities of an arrow."""

    r_hat: float
    largest_difference: float
    chains: int
    sweeps: int

    @property
    def reached(self) -> bool:
        return self.r_hat < 1.1 and self.largest_difference < 0.1


@dataclass(frozen=True, eq=False)
class CandidateTables:
    """Each variable's candidate parents, its families among them, and the sums over the families in each subset."""

    candidates: Integers  # (variables, places): -1 for unused places
    slots: Integers  # (u, v): the place of u among the candidates of v, or -1
    starts: Integers  # of each variable's families
    masks: Integers
    scores: Array  # each variable's scores minus their maximum
    sums: Array  # (variables, subsets)

    @classmethod
    def of(cls, score: Score, constraints: Constraints, start: Parents) -> CandidateTables:
        """The candidates are the neighbours in the starting graph, then the variables with the largest gains."""
        n, most = len(start), parents_limit(constraints, start)
        size = min(MOST_CANDIDATES, n - 1)
        while size > 2 and n * sum(comb(size, k) for k in range(most + 1)) > MOST_SCORED_FAMILIES:
            size -= 1
        size = max(size, *map(len, constraints.required_parents), *map(len, start))
        near = [{*own} | {child for child in range(n) if v in start[child]} for v, own in enumerate(start)]
        candidates, slots = np.full((n, size), -1), np.full((n, n), -1)
        masks, scores, sums = list[Integers](), list[Array](), np.full((n, 1 << size), LOG_ZERO)
        for v in range(n):
            chosen = _chosen(score, constraints, start, v, near[v], size)
            candidates[v, : len(chosen)] = chosen
            slots[chosen, v] = np.arange(len(chosen))
            needed = sum(1 << chosen.index(u) for u in constraints.required_parents[v])
            sets = [some for k in range(most + 1) for some in combinations(range(len(chosen)), k)]
            own = np.array([sum(1 << place for place in some) for some in sets], dtype=np.int64)
            kept = np.flatnonzero(own & needed == needed)
            found = np.asarray(score.families(v, [[chosen[place] for place in sets[j]] for j in kept]))
            masks.append(own[kept])
            scores.append(found - found.max())
            sums[v, own[kept]] = scores[-1]
            add_subsets(sums[v], size)
        starts = np.append(0, np.cumsum([len(own) for own in masks]))
        return cls(candidates, slots, starts, np.concatenate(masks), np.concatenate(scores), sums)

    def available(self, order: Sequence[int]) -> Integers:
        """The candidates that precede each variable, as masks."""
        place = {v: i for i, v in enumerate(order)}
        found = np.zeros(len(order), dtype=np.int64)
        for v, own in enumerate(self.candidates.tolist()):
            found[v] = sum(1 << bit for bit, u in enumerate(own) if u >= 0 and place[u] < place[v])
        return found

    def parents(self, chosen: Integers) -> Parents:
        """The graph of one family for each variable."""
        own = self.candidates.tolist()
        return tuple(
            tuple(sorted(u for bit, u in enumerate(own[v]) if mask >> bit & 1))
            for v, mask in enumerate(self.masks[chosen].tolist())
        )


def parents_limit(constraints: Constraints, start: Parents) -> int:
    """The largest number of parents that the constraints allow; without a constraint, a few, or one more than in the
    starting graph."""
    least = max(map(len, (*constraints.required_parents, *start)), default=0)
    return max(MOST_SCORED_PARENTS, least + 1) if constraints.max_parents is None else constraints.most


def _chosen(score: Score, constraints: Constraints, start: Parents, v: int, near: set[int], size: int) -> list[int]:
    required = [*constraints.required_parents[v]]
    allowed = [int(u) for u in np.flatnonzero(constraints.allowed[:, v]) if u not in required]
    own = [*start[v]]
    outside = [u for u in allowed if u not in own]
    gain = dict.fromkeys(own, np.inf)
    if outside:
        gain.update(zip(outside, (score.grown(v, own, outside) - score.family(v, own)).tolist(), strict=True))
    ranked = sorted(allowed, key=lambda u: (u not in near, -gain[u], u))
    return [*required, *ranked][:size]


@dataclass(frozen=True, eq=False)
class OrderSample:
    """The results of chains over orders."""

    arrows: Array  # P(u -> v), in row u and column v
    graphs: tuple[Parents, ...]
    convergence: Convergence
    limit: int  # largest number of parents

    @property
    def at_limit(self) -> list[int]:
        """Variables that often have the largest number of parents considered, though there are more candidates."""
        n = len(self.arrows)
        full = np.array([[len(own) == self.limit < n - 1 for own in graph] for graph in self.graphs])
        return np.flatnonzero(full.mean(0) > SHARE_AT_LIMIT).tolist()


def sample_orders(
    score: Score,
    constraints: Constraints,
    start: Parents,
    *,
    seed: int,
    chains: int = CHAINS,
    sweeps: int = SWEEPS,
    graphs: int = 1000,
) -> OrderSample:
    """Several chains; half of them start from the starting graph's order, the others from random orders."""
    tables = CandidateTables.of(score, constraints, start)
    job = RunChain(tables, constraints, start, sweeps, -(-graphs // chains))
    found = [*engines.map(job, [OrderChain(seed, number, sweeps) for number in range(chains)])]
    arrows = np.stack([own for own, _, _ in found])
    logs = np.stack([own for _, own, _ in found])
    difference = float((arrows.max(0) - arrows.min(0)).max(initial=0.0))
    convergence = Convergence(r_hat(logs), difference, chains, sweeps)
    drawn = tuple(each for _, _, own in found for each in own)
    return OrderSample(arrows.mean(0), drawn, convergence, parents_limit(constraints, start))


@dataclass(frozen=True)
class OrderChain(Loaded):
    """One chain: its seed and number determine it; to an engine, its sweeps are the rows of a batch."""

    seed: int
    number: int
    rows: int


@dataclass(frozen=True, eq=False)
class RunChain:
    """The job of one chain: P(arrow), the log-probability after each sweep past burn-in, and some graphs."""

    tables: CandidateTables
    constraints: Constraints
    start: Parents
    sweeps: int
    graphs: int

    def __call__(self, chain: OrderChain) -> tuple[Array, Array, list[Parents]]:
        seed = [chain.seed, chain.number]
        return _chain(self.tables, self.constraints, self.start, seed, self.sweeps, self.graphs)


def _chain(
    tables: CandidateTables, constraints: Constraints, start: Parents, seed: list[int], sweeps: int, graphs: int
) -> tuple[Array, Array, list[Parents]]:
    random, n = np.random.default_rng(seed), len(start)
    first = start if seed[-1] % 2 == 0 else constraints.required_parents
    order = np.array(_random_order(first, random))
    available = tables.available(order.tolist())
    kept = max(1, sweeps // 2)
    arrows, logs, drawn = np.zeros((n, n)), np.empty(kept), list[Parents]()
    chosen = np.empty(n, dtype=np.int64)
    for sweep in range(-kept, kept):
        log = np.empty(1)
        relocate_variables(order, available, tables.slots, tables.sums, random.random((1, n, 2)), log)
        if sweep < 0:
            continue
        logs[sweep] = log[0]
        add_arrows_of_order(tables.candidates, available, tables.sums, arrows)
        for _ in range((sweep + 1) * graphs // kept - sweep * graphs // kept):
            draw_families(tables.starts, tables.masks, tables.scores, available, tables.sums, random.random(n), chosen)
            drawn.append(tables.parents(chosen))
    return arrows / kept, logs, drawn


def _random_order(parents: Parents, random: np.random.Generator) -> list[int]:
    """A random topological order of a graph."""
    mixed = random.permutation(len(parents)).tolist()
    return [*in_order({v: parents[v] for v in mixed})]


def r_hat(logs: Array) -> float:
    """Gelman and Rubin's R-hat with split chains: 1 if all halves agree.

    >>> r_hat(np.array([[1.0, 2.0, 1.0, 2.0], [1.0, 2.0, 1.0, 2.0]])) <= 1.0
    True
    """
    half = logs.shape[1] // 2
    if half < 2:
        return float("nan")
    parts = np.concatenate([logs[:, :half], logs[:, -half:]])
    within = float(parts.var(1, ddof=1).mean())
    between = float(parts.mean(1).var(ddof=1))
    if within <= 1e-12:
        return 1.0 if between <= 1e-12 else float("inf")
    return sqrt((within * (half - 1) / half + between) / within)
