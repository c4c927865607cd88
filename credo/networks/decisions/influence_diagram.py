"""Influence diagrams: a network with decisions and utilities, and its optimal policy."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from os import PathLike
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from credo.core.records import Surface
from credo.errors import NetworkError, check_mapping, suggest
from credo.networks import graph
from credo.networks.decisions.utilities import utility_table
from credo.networks.fixed import Fixed
from credo.networks.network import Network
from credo.networks.refusals import Unlearned, refused
from credo.networks.tables import YES_NO, States
from credo.numerics.exact import Array

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from credo.networks.decisions.information import InformationValues
    from credo.networks.decisions.policy import Policy
    from credo.networks.inference.findings import Given


@dataclass(frozen=True, eq=False, init=False, repr=False)
class InfluenceDiagram(Surface, Unlearned):
    """Chance variables with tables, decisions with options, and utilities, which add up.

    An arrow into a decision means that the variable is observed before it; no-forgetting is assumed. An arrow into a
    utility means that it depends on the variable.

    >>> umbrella = InfluenceDiagram(
    ...     "Weather -> Forecast -> Umbrella; Weather, Umbrella -> Comfort",
    ...     tables={"Weather": {"rain": 0.3, "sun": 0.7}, "Forecast": {"rain": [0.8, 0.2], "sun": [0.1, 0.9]}},
    ...     utilities={"Comfort": [[70, 0], [20, 100]]},  # rain: take, leave; sun: take, leave
    ...     decisions={"Umbrella": ["take", "leave"]},
    ...     states={"Forecast": ["rainy", "sunny"]},
    ... )
    >>> umbrella.expected_utility()  # 0.3 * 0.8 * 70 + 0.7 * 0.1 * 20 + 0.7 * 0.9 * 100
    81.2
    """

    _refused: ClassVar[Mapping[str, str]] = refused({
        "query marginals probability log_probability most_probable explain log_prob predict predict_proba impute "
        "sample do effect counterfactual sensitivity evidence_impact mutual_information d_separated": "decisions have "
        "no probabilities until a policy makes them; following(policy()) is a credo.Network, which answers",
    })  # fmt: skip

    parents: Mapping[str, tuple[str, ...]]
    tables: Mapping[str, Array]  # of the chance variables: (the parents' states..., own states)
    utilities: Mapping[str, Array]  # (the parents' states...)
    states: States  # of chance variables, and the options of decisions
    decisions: tuple[str, ...]  # in the order in which they are taken

    def __init__(
        self,
        arrows: str | Mapping[str, Iterable[str]] | Iterable[tuple[str, str]],
        tables: Mapping[str, object],
        utilities: Mapping[str, object],
        decisions: Mapping[str, Sequence[object]] | Iterable[str],
        states: Mapping[str, Sequence[object]] | None = None,
    ) -> None:
        parents = graph.checked(graph.parse_arrows(arrows) if isinstance(arrows, str) else arrows)
        order = graph.in_order(parents)  # refuses cycles
        chosen = graph.one_or_several(decisions)
        _check_kinds(parents, tables, utilities, chosen)
        options = {**(states or {}), **(decisions if isinstance(decisions, Mapping) else {})}
        options |= {name: YES_NO for name in chosen if name not in options}
        above = {name: () if name in chosen else own for name, own in parents.items() if name not in utilities}
        given = {name: np.full(len(options[name]), 1.0 / max(1, len(options[name]))) for name in chosen}
        network = Network(above, {**tables, **given}, options) if above else None
        known: States = {} if network is None else network.states
        numbers = {name: utility_table(name, utilities[name], parents[name], known) for name in utilities}
        kept = {} if network is None else {name: table for name, table in network.tables.items() if name in tables}
        fields = {"parents": Fixed(parents), "tables": Fixed(kept), "utilities": Fixed(numbers), "states": Fixed(known)}
        for field, value in (*fields.items(), ("decisions", _ordered(chosen, order, parents))):
            object.__setattr__(self, field, value)

    @classmethod
    def read(cls, path: str | PathLike[str]) -> InfluenceDiagram:
        """Read from a GeNIe file (.xdsl)."""
        from credo.formats import read_diagram

        return read_diagram(path)

    def write(self, path: str | PathLike[str]) -> None:
        """Write to a GeNIe file (.xdsl)."""
        from credo.formats import write_diagram

        write_diagram(self, path)

    @property
    def chance(self) -> tuple[str, ...]:
        """The chance variables."""
        return tuple(self.tables)

    @cached_property
    def network(self) -> Network:
        """The chance variables and the decisions, with uniform probabilities for the options."""
        above = {name: self.parents[name] if name in self.tables else () for name in self.states}
        uniform = {name: np.full(len(self.states[name]), 1.0 / len(self.states[name])) for name in self.decisions}
        return Network(above, {**self.tables, **uniform}, self.states)

    def known_before(self, decision: str) -> tuple[str, ...]:
        """Everything observed before a decision (no-forgetting)."""
        place = self.decisions.index(self._checked_decision(decision))
        known = {parent for name in self.decisions[: place + 1] for parent in self.parents[name]}
        return tuple(name for name in self.states if name in known or name in self.decisions[:place])

    def _checked_decision(self, name: str) -> str:
        if name not in self.decisions:
            raise NetworkError(f"there is no decision {name!r}; {suggest(name, self.decisions)}")
        return name

    def policy(self, given: Given = None) -> Policy:
        """The optimal policy: the best option given the information at each decision.

        `given` is evidence on variables that don't depend on later decisions, and options already taken.
        """
        from credo.networks.decisions.solving import solved

        return solved(self, given)

    def expected_utility(self, given: Given = None) -> float:
        """The expected utility of the optimal policy."""
        return self.policy(given).expected_utility

    def following(self, policy: Policy) -> Network:
        """The network in which decisions follow a policy."""
        from credo.networks.decisions.policy import policy_network

        return policy_network(self, policy)

    def value_of_information(
        self, name: str, before: str | None = None, given: Given = None, *, test: object = None
    ) -> float:
        """The gain in expected utility from observing a variable before a decision, by default the next one.

        With a test, a table of P(reading | state), it is the value of imperfect information.
        """
        from credo.networks.decisions.information import value_of_information

        return value_of_information(self, name, before, given, test)

    def what_to_ask(
        self, costs: Mapping[str, float] | None = None, before: str | None = None, given: Given = None
    ) -> InformationValues:
        """The value of observing each variable before a decision (by default the next one), net of cost; the best
        first."""
        from credo.networks.decisions.information import information_values

        return information_values(self, costs or {}, before, given)

    def plot(self, ax: Axes | None = None) -> Figure:
        """The diagram: □ decisions, ◇ utilities; arrows into decisions, which carry information, are dashed."""
        from credo.present.decisions_plot import plot_diagram

        return plot_diagram(self, ax)

    def __eq__(self, other: object) -> bool:
        """Whether nodes, arrows and numbers are the same, in the same order."""
        if not isinstance(other, InfluenceDiagram):
            return NotImplemented
        if (self.parents, self.states, self.decisions) != (other.parents, other.states, other.decisions):
            return False
        pairs = [(self.tables, other.tables), (self.utilities, other.utilities)]
        return all(a.keys() == b.keys() and all(np.array_equal(a[name], b[name]) for name in a) for a, b in pairs)

    def __hash__(self) -> int:
        return hash((frozenset(self.parents), self.decisions))

    def __repr__(self) -> str:
        from credo.present.decisions import diagram_described

        return diagram_described(self)


def _check_kinds(
    parents: graph.Parents, tables: Mapping[str, object], utilities: Mapping[str, object], decisions: Sequence[str]
) -> None:
    """Each node is of one kind, and nothing depends on a utility."""
    for what, value in (("tables", tables), ("utilities", utilities)):
        check_mapping(f"{what} must be {{name: numbers}}, but are", value, NetworkError)
    kinds = {"table": [*tables], "utility": [*utilities], "decision": [*decisions]}
    for what, names in kinds.items():
        for unknown in (name for name in names if name not in parents):
            raise NetworkError(f"a {what} is for {unknown!r}, which isn't there; {suggest(unknown, parents)}")
    for name in parents:
        of = [what for what, names in kinds.items() if name in names]
        if len(of) != 1:
            both = " and ".join(of)
            problem = f"is given as {both}" if of else "has no table, no utilities and no options"
            raise NetworkError(f"{name!r} {problem}: a node is a chance variable, a utility or a decision")
    if not utilities:
        raise NetworkError("an influence diagram must have at least one utility: else all options are as good")
    for name, own in parents.items():
        if parent := next((each for each in own if each in utilities), None):
            raise NetworkError(f"the utility {parent!r} has the child {name!r}: nothing may depend on a utility")


def _ordered(decisions: Sequence[str], order: Sequence[str], parents: graph.Parents) -> tuple[str, ...]:
    """Decisions in the order of a directed path through all of them."""
    found = [name for name in order if name in decisions]
    for one, two in pairwise(found):
        if one not in graph.reached([two], parents):
            raise NetworkError(
                f"the decisions {one!r} and {two!r} have no order: no directed path leads from one to the other; an "
                f"arrow, as in {one} -> {two}, says which is taken first"
            )
    return tuple(found)
