"""credo.learn_structure: learns the arrows of a network, and its parameters, from a table."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, overload

from credo.data.schema import Column, Schema
from credo.engines.local import small_matrices
from credo.errors import DataError, NetworkError, SchemaError, check_seed, check_whole, suggest
from credo.networks import graph
from credo.networks.directed_graph import DirectedGraph
from credo.networks.hybrid.network import HybridNetwork
from credo.networks.incomplete_rows import counted_at_once
from credo.networks.inference.coding import pays
from credo.networks.network import Network
from credo.networks.structure.columns import Columns, ColumnSearch, read_columns
from credo.networks.structure.conditional_gaussian import ConditionalGaussian
from credo.networks.structure.constraints import Constraints, Named
from credo.networks.structure.score import Parents, Score, StructureSearch, check_possible
from credo.networks.structure.searches import (
    FOR_CATEGORIES,
    FOR_NUMBERS,
    MIXED,
    NOT_SCORE_EQUIVALENT,
    OVER_CLASSES,
    SCORES,
    category_score,
    number_score,
    search_of,
)
from credo.networks.structure.state_sums import network_of_sums
from credo.notices import tell

if TYPE_CHECKING:
    from credo.core.learning import Weight

MOST_BINS = 1000
CategoryScore = Literal["bdeu", "bds", "k2", "aic", "mdl", "qnml"]  # scores of tables without numbers


@overload
def learn_structure(
    data: object, score: CategoryScore, search: str | StructureSearch = "auto", **options: Any
) -> Network: ...


@overload
def learn_structure(
    data: object, score: str = "auto", search: str | StructureSearch = "auto", *, bins: int, **options: Any
) -> Network: ...


@overload
def learn_structure(
    data: object,
    score: str = "auto",
    search: str | StructureSearch = "auto",
    *,
    required: Named = (),
    forbidden: Named = (),
    tiers: Sequence[str | Iterable[str]] | None = None,
    max_parents: int | None = None,
    start: DirectedGraph | Named | None = None,
    bins: int | None = None,
    kinds: Mapping[str, str] | None = None,
    weight: Weight = None,
    equivalent: float = 1.0,
    prior: Any = 1.0,
    seed: int = 0,
    **options: Any,
) -> Network | HybridNetwork: ...


def learn_structure(
    data: object,
    score: str = "auto",
    search: str | StructureSearch = "auto",
    *,
    required: Named = (),
    forbidden: Named = (),
    tiers: Sequence[str | Iterable[str]] | None = None,
    max_parents: int | None = None,
    start: DirectedGraph | Named | None = None,
    bins: int | None = None,
    kinds: Mapping[str, str] | None = None,
    weight: Weight = None,
    equivalent: float = 1.0,
    prior: Any = 1.0,
    seed: int = 0,
    **options: object,
) -> Network | HybridNetwork:
    """The network whose arrows have the best score that the search finds; its tables are learned from the same rows.

    "auto" is bic for categories, bge for numbers, conditional-gaussian for both; and exact search for up to 10
    variables, best order score search ("boss") for more. With numbers, it is a HybridNetwork: tables for categories,
    and a linear regression for each number in each configuration of its category parents. `equivalent` is the
    equivalent sample size of the score's prior, `prior` that of the parameters; options are passed to the search.

    >>> rain = {"Rain": ["yes", "no"] * 20, "Wet": ["yes", "no"] * 19 + ["no", "no"], "Coin": ["h", "h", "t", "t"] * 10}
    >>> learn_structure(rain, required="Rain -> Wet").parents["Wet"]
    ('Rain',)
    """
    constraints = {"required": required, "forbidden": forbidden, "tiers": tiers, "max_parents": max_parents}
    task = task_of(
        data, score, search, constraints=constraints, options=options, bins=bins, kinds=kinds, weight=weight,
        equivalent=equivalent, seed=seed, only_counts=True,
    )  # fmt: skip
    first, columns = _start(start, task.constraints), task.columns
    if isinstance(task.search, ColumnSearch):
        parents = task.search.of_columns(columns, task.constraints)
    elif columns.is_complete:
        parents = task.found(columns, first)
    else:
        from credo.networks.structure.structural_em import structural_em

        parents = structural_em(task, first, prior).parents
    _warn_of_few_rows(columns)
    return task.fitted_with_numbers(parents, prior) if columns.numbers else task.fitted(columns, parents, prior)


def task_of(
    data: object,
    score: str = "auto",
    search: str | StructureSearch = "auto",
    *,
    constraints: Mapping[str, Any] | None = None,
    options: Mapping[str, object] | None = None,
    bins: int | None = None,
    kinds: Mapping[str, str] | None = None,
    weight: Weight = None,
    equivalent: float = 1.0,
    seed: int = 0,
    states: Mapping[str, Sequence[object]] | None = None,
    only_counts: bool = False,
) -> StructureTask:
    """The user's task, checked: columns, their score, constraints and a search. `only_counts`: whether rows of a frame
    may stay on the workers."""
    found = search_of(search, options or {})
    scored = not isinstance(found, ColumnSearch)
    only_sums = only_counts and bins is None and (scored or search == "pc")  # whose tests of numbers read these alone
    columns = read_columns(data, kinds, weight, states, only_counts and scored, only_sums)
    if bins is not None:
        columns = columns.binned(_checked_bins(bins))
    chosen = _chosen_score(score, columns)
    _check_equivalence(search, chosen, columns)
    known = Constraints.of(columns.variables, **(constraints or {}))
    if chosen == MIXED:
        known = _without_numbers_before_categories(known, columns)
    return StructureTask(columns, chosen, equivalent, known, found, check_seed(seed))


@dataclass(frozen=True)
class StructureTask:
    """A structure-learning task: a score, constraints, and a search."""

    columns: Columns
    score: str
    equivalent: float
    constraints: Constraints
    search: StructureSearch
    seed: int

    def scored(self, columns: Columns) -> Score:
        """The score of some complete rows."""
        if not columns.numbers:
            name = "bdeu" if self.score == MIXED else self.score
            return category_score(name, columns.countable(), self.equivalent)
        if self.score == MIXED:
            return ConditionalGaussian(columns.mixed(), self.equivalent)
        return number_score(self.score, columns.measured(), self.equivalent)

    def found(self, columns: Columns, start: Parents) -> Parents:
        """The graph that the search finds; a graph that breaks the constraints is an error."""
        with small_matrices():  # matrices are small, so threads would only wait for each other
            score = self.scored(columns)
            check_possible(score, start)
            found = self.search(score, self.constraints, start, self.seed)
        if what := self.constraints.objection(found):
            raise NetworkError(f"the search found a graph that the constraints don't allow: {what}")
        return found

    def named(self, parents: Parents) -> Network:
        """The network with these arrows, without tables."""
        names = self.columns.variables
        arrows = {names[v]: tuple(names[u] for u in above) for v, above in enumerate(parents)}
        return Network(arrows, states=self.columns.states)

    def fitted(self, columns: Columns, parents: Parents, prior: Any) -> Network:
        """The network with tables learned from rows: by counting, or by EM if cells are missing."""
        bare = self.named(parents)
        if columns.here and columns.weight is None and not bare.states and columns.is_complete and pays(columns.rows):
            schema = Schema(tuple(Column(each.name, "category", each.levels) for each in columns.categories))
            counts = counted_at_once(bare, {each.name: each.codes for each in columns.categories}, schema)
            return Network(bare.parents, prior=prior).with_evidence(counts.ordered())
        return bare.fit(columns.data, prior=prior, weight=columns.given_weight)

    def fitted_with_numbers(self, parents: Parents, prior: Any) -> Network | HybridNetwork:
        """The network with tables and regressions learned from all rows; the arrows alone if a column can't have a
        regression. (Tests of independence find arrows from numbers to categories, too, which get logistic nodes if no
        cell is missing.)"""
        columns, bare = self.columns, self.named(parents)
        kinds = {column.name: "number" for column in columns.numbers}
        kinds |= {column.name: "category" for column in columns.categories}
        try:
            if not columns.here and not columns.categories:
                return network_of_sums(bare.parents, columns.measured(), prior)
            net = HybridNetwork(bare.parents, states=columns.states)
            return net.fit(columns.data, prior=prior, kinds=kinds, weight=columns.given_weight)
        except (DataError, NetworkError) as error:
            tell(f"only the arrows were learned: {error}")
            return bare

    def fitted_to_all(self, graphs: Sequence[Parents], prior: Any) -> list[Network]:
        """A network of each graph, with tables learned from all rows."""
        for column in self.columns.numbers:
            raise SchemaError(
                f"column {column.name!r} is a number, and networks with numbers have no tables: cut numbers in bins "
                "(bins=5)"
            )
        rows, weight = self.columns.data, self.columns.given_weight
        return [self.named(graph).fit(rows, prior=prior, weight=weight) for graph in graphs]


def _warn_of_few_rows(columns: Columns) -> None:
    rows, variables = columns.rows, len(columns.variables)
    if rows < variables and (columns.weight is None or columns.weight.sum() < variables):
        tell(
            f"there are more variables ({variables}) than rows ({rows}), so many arrows may be due to chance: "
            "max_parents= limits them, and credo.edge_confidence gives their probabilities"
        )


def _chosen_score(asked: str, columns: Columns) -> str:
    """The score's name, if it is one for these columns."""
    if asked != "auto" and asked not in SCORES:
        raise NetworkError(f"there is no score {asked!r:.60}; {suggest(asked, ('auto', *SCORES))}")
    if columns.numbers and columns.categories:
        wanted: tuple[str, ...] = (MIXED,)
    else:
        wanted = FOR_NUMBERS if columns.numbers else FOR_CATEGORIES
    if asked == "auto":
        return "bic" if not columns.numbers else wanted[0]
    if asked in wanted or asked == MIXED:
        return asked
    if columns.numbers and asked in FOR_NUMBERS:
        raise SchemaError(
            f"{columns.categories[0].name!r} is a category and {columns.numbers[0].name!r} a number, and "
            f"score={asked!r} is for tables of one kind: use score={MIXED!r}, or bins=5 to cut numbers in bins"
        )
    if columns.numbers:
        name = columns.numbers[0].name
        raise SchemaError(
            f"column {name!r} is a number, and score={asked!r} is for categories: give "
            f"kinds={{{name!r}: 'category'}} if its values are names, bins=5 to cut numbers in bins, "
            f"or score={wanted[0]!r}"
        )
    name = columns.categories[0].name
    raise SchemaError(f"column {name!r} is a category, and score={asked!r} is for numbers; {suggest(asked, wanted)}")


def _check_equivalence(search: str | StructureSearch, score: str, columns: Columns) -> None:
    """Refuse a search over equivalence classes if their members differ in score, or if some aren't allowed."""
    if not isinstance(search, str):
        return
    if search in OVER_CLASSES and score in NOT_SCORE_EQUIVALENT:
        others = ", ".join(name for name in FOR_CATEGORIES if name not in NOT_SCORE_EQUIVALENT)
        raise NetworkError(
            f"search={search!r} needs a score that is equal for Markov-equivalent networks ({others}), and that of "
            f'{score!r} differs: use search="boss", "tabu" or "exact" with it'
        )
    if search == "tan" and columns.numbers and columns.categories:
        raise NetworkError(
            f"search={search!r} reverses arrows, and with score={MIXED!r} a category has no numbers as parents: use "
            'search="boss", "tabu" or "exact", or bins=5 to cut numbers in bins'
        )


def _checked_bins(bins: Any) -> int:
    if check_whole("bins", bins, 2, DataError) > MOST_BINS:
        raise DataError(f"bins must be at most {MOST_BINS}, but is {bins}")
    return int(bins)


def _without_numbers_before_categories(known: Constraints, columns: Columns) -> Constraints:
    """The constraints that no category has a number as a parent."""
    place = {name: i for i, name in enumerate(columns.variables)}
    numbers = [place[column.name] for column in columns.numbers]
    categories = [place[column.name] for column in columns.categories]
    pairs = frozenset((number, category) for number in numbers for category in categories)
    for parent, child in sorted(pairs & known.required):
        raise NetworkError(
            f"the required arrow {known.variables[parent]!r} -> {known.variables[child]!r} leads from a number to a "
            f"category, which score={MIXED!r} doesn't allow: cut numbers in bins (bins=5)"
        )
    return Constraints(known.variables, known.required, known.forbidden | pairs, known.tiers, known.max_parents)


def _start(given: DirectedGraph | Named | None, known: Constraints) -> Parents:
    """The starting graph by index; the required arrows if none is given."""
    if given is None:
        return known.required_parents
    arrows: Any = given.parents if isinstance(given, DirectedGraph) else given
    if not isinstance(arrows, str | Iterable):
        raise NetworkError(f"start must be a network, or arrows as in 'A -> B', but is {given!r:.60}")
    parents = graph.checked(graph.parse_arrows(arrows) if isinstance(arrows, str) else arrows)
    graph.in_order(parents)  # refuses cycles
    number = {name: i for i, name in enumerate(known.variables)}
    for name in (name for name in parents if name not in number):
        raise NetworkError(f"the starting network has a variable {name!r} that isn't a column; {suggest(name, number)}")
    return known.checked(
        tuple(tuple(sorted(number[parent] for parent in parents.get(name, ()))) for name in known.variables)
    )
