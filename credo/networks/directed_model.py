"""A network's parts: arrows, states, a distribution for each variable, prior, evidence; and what follows from them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from math import prod
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from credo.errors import EvidenceError, NetworkError
from credo.networks import graph
from credo.networks.directed_graph import DirectedGraph
from credo.networks.factor import Factor
from credo.networks.factorisation import Factorisation
from credo.networks.fixed import Fixed
from credo.networks.graphical_model import GraphicalModel
from credo.networks.inference.sizes import Method
from credo.networks.lazy_tables import LazyTables
from credo.networks.nodes.distribution import Distribution, NodeFamily
from credo.networks.specification import Arrows, Specification
from credo.networks.tables import States, checked_ties, table_of
from credo.numerics.exact import Array

if TYPE_CHECKING:
    from credo.core.evidence import Evidence
    from credo.core.learning import Weight
    from credo.data.schema import Schema
    from credo.networks.inference.coding import CodedRows
    from credo.networks.inference.expectations import Expectations
    from credo.networks.inference.node_weighting import NodeWeighting
    from credo.networks.inference.potentials import Potentials
    from credo.networks.nodes.node import DistributionNode, Node


@dataclass(frozen=True, eq=False, init=False, repr=False)
class DirectedModel(DirectedGraph, GraphicalModel):
    """P(all) = ∏ P(name | parents): the product, its factors, and new parameters or evidence for the same arrows."""

    parents: Mapping[str, tuple[str, ...]]
    tables: Mapping[str, Array]  # (the parents' states..., own states); empty where only the arrows are known
    states: States
    tied: Mapping[str, str]  # labels of nodes that share their evidence with others
    prior: Any  # TablePriors; None where nothing was learned. (Its class is imported only where rows are learned)
    evidence: Any  # Evidence of the tables; None where these are fixed, or nothing was learned
    history: tuple[float, ...]  # the objective after each step of EM or gradient ascent; empty if rows were counted
    forms: Mapping[str, Distribution]  # of distributions that aren't tables, without their parameters

    directed: ClassVar[bool] = True

    def __init__(
        self,
        arrows: Arrows,
        tables: Mapping[str, object] | None = None,
        states: Mapping[str, Sequence[object]] | Sequence[object] | None = None,
        tied: Mapping[str, str] | None = None,
        prior: object = None,
    ) -> None:
        given = Specification.of(arrows, tables, states)
        ties = checked_ties(tied or {}, given.parents, given.states, given.forms)
        self._set(given.parents, {}, given.states, ties, None, None, (), given.forms)
        object.__setattr__(self, "_form_nodes", given.nodes)
        if prior is not None:
            self._learn(prior, None)
        if given.given:
            self._fix(given.parameters(self._form_nodes))

    def _fix(self, parameters: dict[str, Array]) -> None:
        for each in parameters.values():
            each.flags.writeable = False  # trees and samples are made from it once
        tables = LazyTables(Fixed(parameters), self.nodes) if self.forms else Fixed(parameters)
        object.__setattr__(self, "tables", tables)

    def _learn(self, prior: Any, evidence: Any) -> None:
        """Set prior and evidence; derive the tables, and the states unless they are declared."""
        from credo.networks.table_priors import TablePriors

        made = TablePriors.of(1.0 if prior is None else prior, [*self.nodes, *self.tied.values()])
        object.__setattr__(self, "prior", made)
        object.__setattr__(self, "evidence", evidence)
        if evidence is not None:
            if not self.declared:
                states = {name: evidence.schema[name].values for name in self.parents}
                object.__setattr__(self, "states", Fixed(states))
            self._fix({name: node.estimate(made[node.label.name], evidence) for name, node in self.nodes.items()})

    def _like(
        self,
        *,
        parameters: dict[str, Array] | None = None,
        evidence: Evidence | None = None,
        history: tuple[float, ...] = (),
    ) -> Self:
        """The same arrows, ties, forms and prior, with other parameters or evidence. Both share their compiled
        trees."""
        new = object.__new__(type(self))
        new._set(self.parents, {}, self.states, self.tied, self.prior, None, history, self.forms)
        if parameters is not None:
            new._fix(parameters)
        else:
            new._learn(self.prior, evidence)
        if new.states == self.states:
            new._share(self)
        return new

    def _share(self, other: DirectedModel) -> None:
        """Share what another network with the same arrows and states has derived from them."""
        object.__setattr__(self, "structures", other.structures)
        self.__dict__.update({name: other.__dict__[name] for name in ("nodes", "order") if name in other.__dict__})
        if self.declared == other.declared and "schema" in other.__dict__:
            self.__dict__["schema"] = other.__dict__["schema"]

    # Parts

    @property
    def variables(self) -> tuple[str, ...]:
        return tuple(self.parents)

    @cached_property
    def order(self) -> tuple[str, ...]:
        """The variables, parents before their children."""
        return graph.in_order(self.parents)

    @cached_property
    def factors(self) -> tuple[Factor, ...]:
        """One for each variable: its table, over the parents and itself. Large distributions that aren't tables have
        several, over auxiliary variables."""
        self.check_known()
        if self.forms:
            return self.factorisation.factors
        return tuple(Factor((*above, name), self.tables[name]) for name, above in self.parents.items())

    def check_known(self) -> None:
        if not self.tables:
            raise NetworkError("the network has arrows but no tables: give tables=, or learn them with fit")

    @cached_property
    def factorisation(self) -> Factorisation:
        """The factors of each node."""
        own = self.parameters
        return Factorisation({name: node.node_factors(own[name]) for name, node in self.nodes.items()}, self.states)

    @property
    def _auxiliary(self) -> Mapping[str, int]:
        return self.factorisation.auxiliary if self.forms else {}

    def table_rows(self, name: str, most: int) -> tuple[Array, int]:
        """The first rows of a variable's table, and the number of its rows. The table itself isn't built."""
        shape = tuple(len(self.states[each]) for each in (*self.parents[name], name))
        if isinstance(self.tables, LazyTables):
            return self.tables.first_rows(name, shape, most), prod(shape[:-1])
        return self.tables[name].reshape(-1, shape[-1])[:most], prod(shape[:-1])

    @property
    def parameters(self) -> Mapping[str, Array]:
        """The parameters of each node: its table, or those of its distribution."""
        return self.tables.parameters if isinstance(self.tables, LazyTables) else self.tables

    @cached_property
    def distributions(self) -> Mapping[str, Distribution]:
        """The distributions that aren't tables, with their parameters if known."""
        if not self.tables:
            return self.forms
        own: Any = self.nodes
        return Fixed({name: own[name].distribution(self.parameters[name]) for name in self.forms})

    @cached_property
    def nodes(self) -> Mapping[str, Node]:
        """The distribution of each variable given its parents."""
        from credo.networks.nodes.table import ConditionalTable

        own, tied = self._form_nodes, self.tied
        tables = (ConditionalTable(name, above, tied.get(name)) for name, above in self.parents.items())
        return Fixed({node.name: own.get(node.name) or node for node in tables})

    @cached_property
    def _form_nodes(self) -> Mapping[str, DistributionNode]:
        """The nodes whose distribution isn't a table."""
        return {name: form.node(NodeFamily(name, self.parents[name], self.states)) for name, form in self.forms.items()}

    @property
    def declared(self) -> bool:
        """Whether the states were declared, not inferred from the data."""
        if self.evidence is None:
            return bool(self.states)
        return bool(self.evidence.schema[self.variables[0]].declared)

    @cached_property
    def schema(self) -> Schema:
        """The variables as columns, with their states as levels."""
        from credo.networks.learning import schema_of

        return schema_of(self)

    @property
    def n(self) -> float:
        """The total weight of the learned rows."""
        if self.evidence is None:
            return 0.0
        node = self.nodes[self.variables[0]]
        tied = sum(each.label == node.label for each in self.nodes.values())
        return node.weight(self.evidence) / tied

    @property
    def fixed_tables(self) -> Mapping[str, Array]:
        """The tables, unless they are derived from evidence; without those of other distributions."""
        own = self.parameters if self.evidence is None else {}
        return {name: table for name, table in own.items() if name not in self.forms}

    @property
    def fixed_distributions(self) -> Mapping[str, Distribution]:
        """The distributions that aren't tables; without parameters if these are derived from evidence."""
        return self.distributions if self.evidence is None else self.forms

    @property
    def _given(self) -> dict[str, Any]:
        """What the constructor takes for each variable: its table or its distribution."""
        return {**self.parameters, **self.distributions}

    # Nodes whose table doesn't fit in memory

    @cached_property
    def without_factors(self) -> tuple[str, ...]:
        """The nodes whose table is too large to build, and which have no smaller factors."""
        return tuple(name for name, node in self._form_nodes.items() if not node.has_factors)

    @property
    def index(self) -> Potentials:
        return self.state_index if self.tables and self.without_factors else self.potentials

    @cached_property
    def state_index(self) -> Potentials:
        """The names of variables and states, for reading findings when factors don't fit in memory."""
        from credo.networks.inference.potentials import Potentials

        return Potentials.of(self.states, (), directed=False)

    def rows_of(self, name: str, cells: NDArray[np.int64]) -> Array:
        """P(name | parents) for some configurations of the parents. (configurations, own states)"""
        if name in self.forms:
            return self._form_nodes[name].rows(self.parameters[name], cells)
        table = self.parameters[name]
        return table[tuple(cells.T)] if cells.shape[1] else np.broadcast_to(table, (len(cells), len(table)))

    def _weighting(self, method: Method, samples: int, seed: int) -> NodeWeighting | None:
        if not self.forms or not self.tables or not self.without_factors:
            return None
        from credo.networks.inference.node_weighting import NodeWeighting

        return NodeWeighting(self, method, samples, seed)

    # Other parameters and evidence

    def with_evidence(self, evidence: Evidence, history: tuple[float, ...] = ()) -> Self:
        """The same arrows and prior, with tables derived from that evidence."""
        for name in (name for name, node in self.nodes.items() if node.label not in evidence.parts):
            raise EvidenceError(f"the evidence isn't this network's: it has no counts of {name!r}")
        return self._like(evidence=evidence, history=history)

    def with_tables(self, tables: Mapping[str, object]) -> Self:
        """The same arrows and states, with other fixed tables. Compiled trees are reused."""
        if missing := next((name for name in self.parents if name not in tables), None):
            raise NetworkError(f"{missing!r} has no table; give one for each name")
        if self.forms:
            return type(self)(self.parents, tables, self.states)
        above = self.parents.items()
        return self._like(parameters={name: table_of(name, tables[name], own, self.states) for name, own in above})

    def coded(self, data: object, *, weight: Weight = None) -> Iterator[CodedRows]:
        """Rows as state codes, for `expect`; any cells and any columns may be missing."""
        from credo.networks.learning import coded_rows

        return (rows for partition in coded_rows(self, data, weight) for rows in partition.batches())

    def expect(self, rows: CodedRows) -> tuple[Evidence, float]:
        """EM's E-step: expected counts, Σ weight · P(node, parents | row), and the log-likelihood of the rows."""
        from credo.networks.learning import expected_evidence

        return expected_evidence(self, rows)

    @cached_property
    def expectations(self) -> Expectations:
        from credo.networks.inference.expectations import Expectations

        return Expectations.of(self.trees)

    def _with_prior(self, prior: object) -> Self:
        new = object.__new__(type(self))
        new._set(self.parents, self.tables, self.states, self.tied, prior, self.evidence, self.history, self.forms)
        new._share(self)
        return new
