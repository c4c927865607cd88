"""Posterior probabilities of arrows and paths: exact, by order MCMC, or by bootstrap."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from credo.errors import NetworkError, SizeError, check_seed, check_whole, counted, suggest
from credo.networks.structure.bootstrap import REPLICATES, bootstrap
from credo.networks.structure.columns import ColumnSearch
from credo.networks.structure.confidence import SAMPLED_GRAPHS, EdgeConfidence, arrow_shares, path_shares
from credo.networks.structure.constraints import Named
from credo.networks.structure.exact_confidence import FamilySums, OverGraphs, OverOrders
from credo.networks.structure.families import ScoredFamilies
from credo.networks.structure.learn import StructureTask, task_of
from credo.networks.structure.order_mcmc import CHAINS, SWEEPS, sample_orders
from credo.networks.structure.score import Constraints, Parents, Score, StructureSearch, check_possible
from credo.notices import listed, tell
from credo.numerics.exact import Array

if TYPE_CHECKING:
    from credo.core.learning import Weight

Way = Literal["auto", "exact", "mcmc", "bootstrap"]
GraphPrior = Literal["orders", "dags"]
MOST_EXACT_VARIABLES = 20  # variables up to which "auto" is exact
MOST_SUMMED_VARIABLES = {"orders": 22, "dags": 13}  # variables up to which exact sums are feasible
MOST_EXACT_PATH_VARIABLES = 14  # variables up to which exact path probabilities are feasible, over orders


def edge_confidence(
    data: object,
    method: Way = "auto",
    *,
    score: str = "auto",
    prior: GraphPrior = "orders",
    search: str | StructureSearch = "boss",
    required: Named = (),
    forbidden: Named = (),
    tiers: Sequence[str | Iterable[str]] | None = None,
    max_parents: int | None = None,
    bins: int | None = None,
    kinds: Mapping[str, str] | None = None,
    states: Mapping[str, Sequence[object]] | None = None,
    weight: Weight = None,
    equivalent: float = 1.0,
    chains: int = CHAINS,
    sweeps: int = SWEEPS,
    replicates: int = REPLICATES,
    seed: int = 0,
) -> EdgeConfidence:
    """P(parent -> child | data) of each arrow, averaged over all graphs, and the probability of each directed path.

    "exact" sums over all orders (prior="orders": a graph's prior is proportional to the number of its topological
    orders) or over all graphs (prior="dags"); "mcmc" runs chains over orders; "bootstrap" repeats the search on
    resampled rows. "auto" is exact up to 20 variables. The score is bdeu for categories, bge for numbers; constraints
    are as in learn_structure. `states` declares the states of some columns, as in a network: no others are allowed.

    >>> rain = {"Rain": ["yes", "no"] * 20, "Wet": ["yes", "no"] * 19 + ["no", "no"], "Coin": ["h", "h", "t", "t"] * 10}
    >>> sure = edge_confidence(rain)
    >>> round(sure["Rain", "Wet"], 3), round(sure.edge("Rain", "Wet"), 3)
    (0.502, 1.0)
    """
    check_way(method, prior)
    constraints = {"required": required, "forbidden": forbidden, "tiers": tiers, "max_parents": max_parents}
    again = method == "bootstrap"  # searches again among resampled rows
    task = task_of(
        data, score, search, constraints=constraints, bins=bins, kinds=kinds, weight=weight, equivalent=equivalent,
        seed=seed, states=states, only_counts=not again,
    )  # fmt: skip
    if score == "auto" and not task.columns.numbers:
        task = replace(task, score="bdeu")
    complete = completed_task(task)
    if again:
        own = task.columns.weight if task.columns.weight is not None else np.ones(task.columns.rows)
        found = bootstrap_confidence(
            SearchAgain.of(task, complete), own, task.constraints, replicates=replicates, seed=seed
        )
    else:
        how = {"chains": chains, "sweeps": sweeps, "seed": seed}
        found = confidence_of(
            complete.scored(complete.columns), task.constraints, task.search, method=method, prior=prior, **how
        )
    return replace(found, task=task)


@dataclass(frozen=True, eq=False)
class SearchAgain:
    """The graph that a search finds, given the rows' weights; completions share the weight of their row."""

    task: StructureTask  # with complete rows
    row: NDArray[np.intp]  # the row that each completes
    share: Array  # share of that row's weight

    @classmethod
    def of(cls, task: StructureTask, complete: StructureTask) -> SearchAgain:
        if complete is task:
            return cls(task, np.arange(task.columns.rows), np.ones(task.columns.rows))
        from credo.networks.structure.structural_em import completions

        times = completions(task.columns)
        return cls(complete, np.repeat(np.arange(len(times)), times), np.repeat(1.0 / times, times))

    def __call__(self, weight: Array, seed: int) -> Parents:
        task, drawn = self.task, weight[self.row] * self.share
        columns = replace(task.columns, weight=drawn).where(drawn > 0)
        if isinstance(task.search, ColumnSearch):
            return task.search.of_columns(columns, task.constraints)
        score, start = task.scored(columns), task.constraints.required_parents
        check_possible(score, start)
        return task.search(score, task.constraints, start, seed)


def completed_task(task: StructureTask) -> StructureTask:
    """The task with missing cells drawn several times from the network that structural EM finds."""
    if isinstance(task.search, ColumnSearch) or task.columns.is_complete:
        return task
    from credo.networks.structure.structural_em import structural_em

    return replace(task, columns=structural_em(task, task.constraints.required_parents, 1.0).columns)


def check_way(method: str, prior: str) -> None:
    if method not in get_args(Way):
        raise NetworkError(f"there is no method {method!r:.60}; {suggest(method, get_args(Way))}")
    if prior not in get_args(GraphPrior):
        raise NetworkError(f"there is no prior {prior!r:.60} over graphs; {suggest(prior, get_args(GraphPrior))}")


def confidence_of(
    score: Score,
    constraints: Constraints,
    search: StructureSearch,
    *,
    method: Way = "auto",
    prior: GraphPrior = "orders",
    chains: int = CHAINS,
    sweeps: int = SWEEPS,
    seed: int = 0,
) -> EdgeConfidence:
    """Exact sums, or chains over orders that start from the graph found by the search."""
    check_way(method, prior)
    check_seed(seed)
    check_possible(score, constraints.required_parents)
    n = len(score.variables)
    if method == "exact" or (method == "auto" and (n <= MOST_EXACT_VARIABLES or prior == "dags")):
        return exact_confidence(score, constraints, prior)
    if prior == "dags":
        raise NetworkError('chains run over orders: use prior="orders", or method="exact"')
    chains, sweeps = check_whole("chains", chains, 2), check_whole("sweeps", sweeps, 8)
    start = search(score, constraints, constraints.required_parents, seed)
    found = sample_orders(score, constraints, start, seed=seed, chains=chains, sweeps=sweeps, graphs=SAMPLED_GRAPHS)
    bound = [score.variables[v] for v in found.at_limit] if constraints.max_parents is None else []
    if bound:
        tell(
            f"the chains consider up to {counted(found.limit, 'parent')} of a variable, and {listed(bound)} often "
            f"{'reaches' if len(bound) == 1 else 'reach'} that limit: try max_parents={found.limit + 2}"
        )
    elif not found.convergence.reached:
        c = found.convergence
        tell(
            f"the chains haven't converged (R-hat {c.r_hat:.2f}, arrows differ by up to {c.largest_difference:.2f}): "
            f"run more sweeps than {sweeps}, such as sweeps={4 * sweeps}"
        )
    paths = path_shares(found.graphs, found.arrows)
    return EdgeConfidence(
        score.variables, found.arrows, paths, "mcmc", prior, len(found.graphs), found.convergence, found.graphs
    )


def exact_confidence(score: Score, constraints: Constraints, prior: GraphPrior = "orders") -> EdgeConfidence:
    """Sums over all orders, or over all graphs."""
    n = len(score.variables)
    if n > MOST_SUMMED_VARIABLES[prior]:
        other = 'method="mcmc"' if prior == "orders" else 'prior="orders"'
        over = "orders" if prior == "orders" else "graphs"
        raise SizeError(
            f"exact sums over all {over} are for up to {MOST_SUMMED_VARIABLES[prior]} variables, not {n}: use {other}"
        )
    sums = FamilySums.of(ScoredFamilies.of(score, constraints, "the sum over structures"))
    over_all: OverOrders | OverGraphs = OverOrders(sums) if prior == "orders" else OverGraphs(sums)
    arrows = over_all.arrows()
    drawn: tuple[Parents, ...] = ()
    if isinstance(over_all, OverOrders) and n > MOST_EXACT_PATH_VARIABLES:
        drawn = over_all.sampled(SAMPLED_GRAPHS, seed=0)
        paths = path_shares(drawn, arrows)
    else:
        paths = np.maximum(over_all.paths(), arrows)  # up to rounding
    return EdgeConfidence(score.variables, arrows, paths, "exact", prior, len(drawn), None, drawn, over_all)


def bootstrap_confidence(
    found: Callable[[Array, int], Parents],
    weight: Array,
    constraints: Constraints,
    *,
    replicates: int = REPLICATES,
    seed: int = 0,
) -> EdgeConfidence:
    """Frequencies in bootstrap samples."""
    check_seed(seed)
    replicates = check_whole("replicates", replicates, 2)
    graphs = bootstrap(found, weight, constraints, replicates, seed)
    arrows = arrow_shares(graphs)
    paths = path_shares(graphs, arrows)
    return EdgeConfidence(
        constraints.variables, arrows, paths, "bootstrap", "none", len(graphs), drawn=graphs, replicates=replicates
    )
