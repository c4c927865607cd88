"""Learning tables from rows in which cells are missing or variables are hidden: EM, or gradient ascent."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from numbers import Real
from typing import TYPE_CHECKING, Any, Literal, TypedDict, get_args

import numpy as np

from credo.core.em import Fitted, accelerated_em
from credo.core.evidence import Evidence, Part
from credo.core.restarts import Restarts
from credo.data import source
from credo.errors import DataError, NetworkError, SchemaError, check_mapping, check_seed, check_whole, counted, suggest
from credo.networks.gradient import gradient_ascent, lbfgs
from credo.networks.incomplete_rows import Hidden, IncompleteRows, ObservedRows, observed
from credo.networks.inference.expectations import ROWS_PER_CHUNK
from credo.networks.learning import TableEM, TableLearner, coded_rows
from credo.networks.missing_information import with_missing_information
from credo.networks.table_priors import TablePriors
from credo.notices import listed, tell
from credo.numerics.exact import Array

if TYPE_CHECKING:
    from credo.core.learning import Weight
    from credo.networks.inference.findings import Given
    from credo.networks.network import Network
    from credo.networks.templates.dynamic_network import DynamicNetwork
    from credo.networks.templates.plate_network import PlateNetwork

FittingMethod = Literal["em", "gradient", "lbfgs"]
STEPS_FROM_EACH_START = 20  # before the best starts are run to convergence
SAME_OPTIMUM = 1e-7  # relative difference of objectives within which two optima are the same; the first is taken


class FittingOptions(TypedDict, total=False):
    """What `fit` and `update` take, as keyword arguments."""

    method: FittingMethod
    starts: int
    steps: int
    tolerance: float
    seed: int


@dataclass(frozen=True)
class FittingSettings:
    """How tables are fitted to incomplete rows."""

    method: FittingMethod = "em"
    starts: int = 10  # where variables are hidden
    steps: int = 1000
    tolerance: float = 1e-10
    seed: int = 0

    def __post_init__(self) -> None:
        if self.method not in get_args(FittingMethod):
            raise NetworkError(
                f"there is no method {self.method!r:.60}; {suggest(self.method, get_args(FittingMethod))}"
            )
        for name in ("starts", "steps"):
            check_whole(name, getattr(self, name), 1)
        tolerance: Any = self.tolerance
        if not isinstance(tolerance, Real) or not float(tolerance) >= 0:
            raise NetworkError(f"tolerance must be at least 0, but is {tolerance!r:.60}")
        check_seed(self.seed)

    @classmethod
    def of(cls, options: Mapping[str, Any]) -> FittingSettings:
        """Settings from the options of `fit`, checked by name."""
        known = [each.name for each in fields(cls)]
        for unknown in (name for name in options if name not in known):
            raise NetworkError(f"there is no option {unknown!r}; {suggest(unknown, known)}")
        return cls(**options)

    @property
    def climb(self) -> Callable[..., Fitted[TableEM]]:
        climbs: dict[FittingMethod, Callable[..., Fitted[TableEM]]] = {
            "em": accelerated_em,
            "gradient": gradient_ascent,
            "lbfgs": lbfgs,
        }
        return climbs[self.method]


def learned(
    network: Network,
    data: object,
    weight: Weight,
    hidden: Mapping[str, object] | None,
    how: FittingSettings,
    start: Network,
) -> Network:
    """The network after learning more rows; complete rows are counted. EM starts from the tables of `start`, if it has
    any."""
    TableLearner.of(network)  # refuses fixed tables
    if network.forms and how.method != "em":
        raise NetworkError(f'method={how.method!r} is for tables, and {next(iter(network.forms))!r} has none: use "em"')
    table = source(data)
    found = observed(network, table, weight, hidden_states(network, hidden, table.without(weight).names))
    if network.evidence is None and network.forms:
        from credo.networks.nodes.tree_growing import with_grown_trees

        network, found = with_grown_trees(network, found)
    old, new = network.evidence, found.complete
    evidence: Evidence = new.ordered() if old is None else old.grown(new)
    if not found.incomplete:
        if how.method != "em":
            tell(f"no cell is missing, so counting gives the optimum: method={how.method!r} takes no steps")
        return network.with_evidence(evidence, network.history)
    if found.rows is None:
        if table.once:
            raise DataError(
                "there are too many incomplete rows to keep, and EM reads them in each step: an iterator can be "
                "read only once, give a table or a file"
            )
        evidence = (new * 0.0).ordered() if old is None else old.grown(new * 0.0)
    problem = TableFit.of(network, evidence, found.ordered(evidence), (table, weight))
    return problem.solved(how, start)


@dataclass(frozen=True, eq=False)
class StepRows:
    """The incomplete rows that every step reads: from memory, or from the data again."""

    network: Network
    kept: IncompleteRows | None
    data: object = None
    weight: Weight = None

    def __call__(self) -> Iterable[Any]:
        return coded_rows(self.network, self.data, self.weight) if self.kept is None else self.kept.chunks()

    @property
    def size(self) -> int:
        """The number of rows kept in memory."""
        return 0 if self.kept is None else len(self.kept.weight)

    @property
    def few(self) -> bool:
        """Whether one thread reads all rows, so that different threads can run different starts."""
        return self.kept is not None and self.size <= ROWS_PER_CHUNK


@dataclass(frozen=True, eq=False)
class TableFit:
    """The objective: log P(rows | θ) + log p(θ), where p is the prior density of the log-odds."""

    network: Network  # with tables from the prior, the counted rows, and the families observed in incomplete rows
    evidence: Evidence  # of counted rows, and of rows learned before
    rows: StepRows
    hidden: tuple[str, ...]  # variables without any known cell

    @classmethod
    def of(cls, network: Network, evidence: Evidence, found: ObservedRows, data: tuple[object, object]) -> TableFit:
        assert found.available is not None
        base = network.with_evidence(evidence)
        begun = network.with_evidence(evidence + found.available)  # whose levels are all among the evidence's
        known = _known_variables(network, found)
        hidden = tuple(name for name in base.states if name not in known)
        rows = StepRows(base, None, *data) if found.rows is None else StepRows(base, found.rows)
        return cls(begun, evidence, rows, hidden)

    def solved(self, how: FittingSettings, start: Network) -> Network:
        """The network at the best optimum found."""
        best = self.restarts(how).best([*self.starts(how, start)])
        if not best.converged:
            ended = f"{how.method} ended after {counted(len(best.history) - 1, 'step')}, before it converged"
            more = "increase steps=" if len(best.history) > how.steps else 'method="em" may continue'
            tell(f"{ended}: {more}")
        total = dict(self.evidence.parts)  # with the original schema: EM works with declared states
        for label, part in best.evidence.parts.items():
            total[label] = Part(part.axes, total[label].statistics + part.statistics) if label in total else part
        whole = with_missing_information(
            Evidence(self.evidence.schema, total), best.model.network, self.rows, self.hidden
        )
        return self.rows.network.with_evidence(whole, best.history)

    def restarts(self, how: FittingSettings) -> Restarts[TableEM]:
        """The first start and the best few others, run to convergence; in parallel if one thread is enough for the
        rows."""
        return Restarts(
            how.climb,
            self.rows,
            self.rows.size,
            how.steps,
            how.tolerance,
            first_steps=(STEPS_FROM_EACH_START,),
            favoured=1,
            same=SAME_OPTIMUM,
            beside=self.rows.few,
        )

    def starts(self, how: FittingSettings, start: Network) -> Iterator[TableEM]:
        """Starting tables from the known cells. Those of hidden variables are the given ones in the first start, then
        random."""
        net, prior = self.network, self.network.prior or TablePriors()
        shapes = {node.label.name: net.parameters[name].shape for name, node in net.nodes.items()}
        labels = {node.label: name for name, node in net.nodes.items()}
        unseen = [
            label for label, name in labels.items() if not {*net.nodes[name].parents, name}.isdisjoint(self.hidden)
        ]
        smooth = _positive_start(net) if None in map(prior.__getitem__, shapes) else dict(net.parameters)
        given = {label: start.parameters[labels[label]] for label in unseen} if _fits(start, net) else {}
        for i in range(how.starts if unseen else 1):
            random = np.random.default_rng([how.seed, i])
            drawn = {label: net.nodes[labels[label]].drawn(smooth[labels[label]], random) for label in unseen}
            parameters = {
                name: (given if i == 0 and given else drawn).get(node.label, smooth[name])
                for name, node in net.nodes.items()
            }
            begun = net._with_prior(prior.in_log_odds(shapes))._like(parameters=parameters)
            yield TableEM(begun, self.evidence)


def hidden_states(network: Network | DynamicNetwork | PlateNetwork, given: Given, columns: Collection[str]) -> Hidden:
    """The states of hidden variables: known already, or given by number or by name. Undeclared hidden variables get a
    notice."""
    found: dict[str, tuple[Any, ...]] = {}
    if given is not None:
        check_mapping("hidden must be {variable: number of states}, but is", given, NetworkError)
    for name, states in (given or {}).items():
        if name not in network.parents:
            raise SchemaError(f"{name!r} can't be hidden: it isn't a variable; {suggest(name, network.parents)}")
        found[name] = hidden_variable_states(name, states)
        if network.states and len(found[name]) != len(network.states[name]):
            have = counted(len(network.states[name]), "state")
            raise NetworkError(f"{name!r} has {have}, but hidden= gives {len(found[name])}")
    absent = [name for name in network.parents if name not in columns and name not in found]
    if absent and network.states and len(absent) < len(network.parents):
        if not network.history:
            tell(f"{listed(absent)}: not a column, so hidden, and fitted by EM")
        found |= {name: network.states[name] for name in absent}
    return found


def hidden_variable_states(name: str, given: object) -> tuple[Any, ...]:
    """The states of a hidden variable, given as a number or as a list."""
    if isinstance(given, int | np.integer) and not isinstance(given, bool):
        if given < 1:
            raise NetworkError(f"a hidden variable must have at least one state, but {name!r} has {given}")
        return tuple(range(int(given)))
    if isinstance(given, Sequence) and not isinstance(given, str) and len(given) and len({*given}) == len(given):
        return tuple(given)
    raise NetworkError(f"hidden={{{name!r}: ...}} must be a number of states, or a list of them, but is {given!r:.60}")


def _known_variables(network: Network, found: ObservedRows) -> set[str]:
    """The variables with at least one known cell."""
    assert found.available is not None
    names = found.complete.schema.names
    parts = (found.complete, found.available)
    known = {name for name in names if any(part.level_weights(name).any() for part in parts)}
    families = [(node, {*node.parents, name}) for name, node in network.nodes.items() if name in network.forms]
    known |= {each for node, family in families if any(node.weight(part) > 0 for part in parts) for each in family}
    if found.rows is not None:
        known |= {name for name, own in zip(names, found.rows.codes, strict=True) if (own >= 0).any()}
    return known


def _positive_start(net: Network) -> dict[str, Array]:
    """Starting parameters under maximum likelihood, with one more case for each entry: EM must not start from zeros."""
    return dict(net._with_prior(TablePriors()).with_evidence(net.evidence).parameters)


def _fits(start: Network, net: Network) -> bool:
    return bool(start.tables) and dict(start.states) == dict(net.states) and dict(start.forms) == dict(net.forms)
