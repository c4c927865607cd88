"""EM for templates: the parameters of tables, which all copies share."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Self

from credo.core.evidence import Evidence
from credo.networks.learning import TableEM
from credo.numerics.exact import Array


@dataclass(frozen=True, eq=False)
class TiedTables:
    """A template for `credo.core.em`; subclasses add the expectation over a batch of copies."""

    tables: TableEM

    def with_evidence(self, evidence: Evidence, /) -> Self:
        return replace(self, tables=self.tables.with_evidence(evidence))

    def log_prior(self) -> float:
        return self.tables.log_prior()

    def coordinates(self) -> Array:
        return self.tables.coordinates()

    def at(self, coordinates: Array, /) -> Self:
        return replace(self, tables=self.tables.at(coordinates))
