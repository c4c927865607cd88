"""A product of factors over variables with states, and inference in it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cached_property, partial
from math import exp
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from credo.core.records import Surface
from credo.errors import SizeError
from credo.networks.factor import Factor
from credo.networks.fixed import FixedRecord
from credo.networks.inference.sizes import Method, Sampling
from credo.networks.inference.tree_structures import TreeStructures
from credo.networks.tables import States

if TYPE_CHECKING:
    from credo.networks.inference.components import Components
    from credo.networks.inference.elimination import Elimination
    from credo.networks.inference.estimate import Estimate, Total
    from credo.networks.inference.findings import Findings, Given
    from credo.networks.inference.joint_table import JointTable
    from credo.networks.inference.node_weighting import NodeWeighting
    from credo.networks.inference.potentials import Potentials
    from credo.networks.inference.trees import Trees
    from credo.numerics.arrays import Flags

WHOLE_NETWORK_METHODS = ("forward", "loopy")  # methods that don't answer each connected component separately


class FactorModel(FixedRecord, Surface):
    """P(all) ∝ ∏ factors, and exact or estimated inference in this product."""

    states: States
    directed: ClassVar[bool]

    if TYPE_CHECKING:  # a field of one kind of network, derived in the other

        @property
        def factors(self) -> tuple[Factor, ...]:
            """The factors whose product is the joint distribution, up to a constant."""

    @property
    def variables(self) -> tuple[str, ...]:
        return tuple(self.states)

    def __len__(self) -> int:
        return len(self.variables)

    def __contains__(self, name: object) -> bool:
        return name in self.variables

    @cached_property
    def potentials(self) -> Potentials:
        """The factors in the form that kernels read."""
        from credo.networks.inference.potentials import Potentials

        factors = self.factors if self.directed else [part for factor in self.factors for part in factor.split()]
        return Potentials.of(self.states, factors, self.directed, self._auxiliary)

    @property
    def _auxiliary(self) -> Mapping[str, int]:
        """Variables of the factors that aren't the model's own, and how many states each has: all answers sum over
        them."""
        return {}

    @cached_property
    def exact(self) -> JointTable | Trees | Elimination:
        """Exact inference: in the joint table where that is small; else in junction trees, or by variable elimination
        until compiling their kernels pays."""
        from credo.networks.inference.elimination import Elimination, is_loaded
        from credo.networks.inference.joint_table import JointTable, is_small

        if is_small(self.potentials):
            return JointTable(self.potentials)
        return self.trees if is_loaded() else Elimination(self.potentials, lambda: self.trees)

    @cached_property
    def trees(self) -> Trees:
        from credo.networks.inference.trees import Trees

        return Trees(self.potentials, self.structures)

    @cached_property
    def structures(self) -> TreeStructures:
        """Compiled trees, shared by networks with the same arrows and states."""
        return TreeStructures()

    @cached_property
    def components(self) -> Components:
        """Inference by connected component, for when an exact answer about the whole network doesn't fit in memory."""
        from credo.networks.inference.components import Components

        return Components(self.potentials)

    def _weighting(self, method: Method, samples: int, seed: int) -> NodeWeighting | None:  # noqa: ARG002
        """Likelihood weighting by nodes, if a node has no factors that fit in memory."""
        return None

    # Inside

    @cached_property
    def _cells(self) -> int:
        """The number of states, summed over variables."""
        return int(self.potentials.places[-1])

    @cached_property
    def _places(self) -> dict[str, tuple[tuple[Any, ...], slice]]:
        at = self.potentials.places.tolist()
        return {name: (own, slice(at[i], at[i + 1])) for i, (name, own) in enumerate(self.states.items())}

    @property
    def _maximised(self) -> Sequence[int] | None:
        """The variables of a most probable explanation; None: all, including auxiliary ones, which the others
        determine."""
        return None if self.potentials.is_decided else range(len(self.states))

    def check_known(self) -> None:
        """Refuse a network without tables."""

    @property
    def index(self) -> Potentials:
        """The names of variables and states, for reading findings."""
        return self.potentials

    def _number(self, name: object) -> int:
        from credo.networks.inference.findings import variable

        return variable(self.index, name)

    @cached_property
    def _findings(self) -> Callable[[Given], Findings]:
        from credo.networks.inference.findings import Findings

        return partial(Findings.of, self.potentials)

    def _chance(self, event: Mapping[int, Flags], findings: Findings, given: Given) -> float:
        """P(event | given), exactly."""
        before = self.exact.log_total(findings.codes, findings.weights)
        self._check(before, given)
        after = findings.where(event, self.potentials.places)
        return 0.0 if after is None else min(1.0, exp(self.exact.log_total(after.codes, after.weights) - before))

    def _check(self, log_probability: float, given: Given) -> None:
        if log_probability > -np.inf:
            return
        from credo.networks.inference.conflict import impossible

        def possible(some: Given) -> bool:
            findings = self._findings(some)
            try:
                return self.exact.log_total(findings.codes, findings.weights) > -np.inf
            except SizeError:  # unknown: then it can't be shown to be a conflict
                return True

        raise impossible(given or {}, possible)

    def _estimates(
        self,
        findings: Findings,
        asked: Sequence[tuple[Sequence[int], Mapping[int, Flags]]],
        given: Given,
        sampling: Sampling,
    ) -> list[Estimate]:
        from credo.networks.inference.approximate import estimates
        from credo.networks.inference.estimate import JointQuery

        groups = [JointQuery(variables, event) for variables, event in asked]
        if sampling.method in WHOLE_NETWORK_METHODS:
            return estimates(self.potentials, findings, groups, sampling)
        return self.components.estimates(findings, groups, sampling, partial(self._check, given=given))

    def _log_total(self, findings: Findings, sampling: Sampling) -> Total:
        from credo.networks.inference.approximate import log_total

        if sampling.method in WHOLE_NETWORK_METHODS:
            return log_total(self.potentials, findings, sampling)
        return self.components.log_total(findings, sampling)
