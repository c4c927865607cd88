"""Learning common to networks with tables and hybrid ones: rows add evidence, and nodes are derived."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Generic, Protocol, Self, TypeVar

import numpy as np
from numpy.typing import NDArray

from credo.core.evidence import Evidence
from credo.core.learning import Additive, Weight
from credo.data import Batch, Source
from credo.errors import DataError, EvidenceError, suggest
from credo.networks.row_queries import check_names
from credo.numerics.exact import Array


class LearnedNetwork(Protocol):
    """A network whose nodes are derived from a prior and from evidence."""

    @property
    def parents(self) -> Mapping[str, tuple[str, ...]]: ...

    @property
    def variables(self) -> tuple[str, ...]: ...

    @property
    def prior(self) -> object: ...

    @property
    def history(self) -> tuple[float, ...]:
        """The objective after each step of EM; empty if rows were counted."""
        ...

    def with_evidence(self, evidence: Evidence, history: tuple[float, ...] = ()) -> Self: ...

    def log_prob(self, data: object) -> Any: ...


Net = TypeVar("Net", bound=LearnedNetwork)


@dataclass(frozen=True, eq=False)
class NetworkLearner(Additive, Generic[Net]):
    """A network that learns by adding evidence."""

    INCOMPLETE: ClassVar[str]  # why rows must be complete
    BY_EM: ClassVar[str]  # how the parameters were fitted, if there is a history

    network: Net
    evidence: Evidence | None

    def needs(self, data: Source) -> Sequence[str]:
        names = self.network.variables
        check_names(data.names, names)
        for hidden in (name for name in names if name not in data.names):
            raise DataError(f"no column {hidden!r} ({suggest(hidden, data.names)}): {self.INCOMPLETE}")
        return names

    def check_complete(self, missing: Mapping[str, NDArray[np.bool_]], batch: Batch) -> None:
        """Refuse a batch in which a cell is missing."""
        for name, cells in missing.items():
            if cells.any():
                row = batch.number(int(np.argmax(cells)))
                raise DataError(f"{name!r} is missing in row {row}: {self.INCOMPLETE}")

    def with_evidence(self, evidence: Evidence) -> Self:
        network = self.network.with_evidence(evidence, self.network.history)  # expected counts stay expected ones
        return replace(self, network=network, evidence=evidence)

    def fitted_to(self, others: Evidence, held_out: Evidence) -> Self:
        """Fitted to these rows; states that occur only in held-out rows are known, without evidence."""
        return self.with_evidence(others.knowing(held_out))

    def log_prob(self, data: object) -> Array:
        return np.asarray(self.network.log_prob(data))

    def forget(self, data: object, *, weight: Weight = None) -> Self:
        self._check_counted("forget rows")
        return super().forget(data, weight=weight)

    def __add__(self, other: Self) -> Self:
        for each in (self, other):
            each._check_counted("be merged")
        return super().__add__(other)

    def _check_counted(self, what: str) -> None:
        """Refuse expected counts: they depend on the current nodes, so those of single rows can't be separated."""
        if self.network.history:
            raise EvidenceError(f"{self.BY_EM}, and can't {what} exactly: fit again; update and discount still work")

    def mergeable(self, other: Self) -> str | None:
        if dict(self.network.parents) != dict(other.network.parents):
            return "their arrows differ, or the order of a node's parents"
        return self._differ(other) or ("their priors differ" if self.network.prior != other.network.prior else None)

    @abstractmethod
    def _differ(self, other: Self) -> str | None:
        """What else prevents merging two networks with the same arrows."""
