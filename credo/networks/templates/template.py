"""The common base of templates: fixed tables, or tables derived from additive evidence."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from functools import reduce
from operator import add
from typing import TYPE_CHECKING, Any, ClassVar, Self

from credo.core.records import Surface
from credo.errors import EvidenceError, NetworkError, check_discount
from credo.networks.fixed import FixedRecord
from credo.networks.refusals import Refusals
from credo.networks.tables import States
from credo.notices import tell
from credo.numerics.exact import Array

if TYPE_CHECKING:
    from credo.core.evidence import Evidence
    from credo.networks.network import Network

MOST_UNROLLED = 100_000  # variables of an unrolled network
FIXED_TABLES = "the tables are fixed, without evidence behind them: learn them with fit"


class Template(FixedRecord, Surface, Refusals, ABC):
    """A network of tied copies. Every verb returns a new object."""

    _internal: ClassVar[tuple[str, ...]] = ("fixed_tables", "known", "with_evidence")

    parents: Mapping[str, tuple[str, ...]]
    tables: Mapping[str, Array]
    states: States
    prior: Any
    evidence: Any
    history: tuple[float, ...]

    @abstractmethod
    def with_evidence(self, evidence: Evidence, history: tuple[float, ...] = ()) -> Self:
        """The same arrows and prior, with tables derived from that evidence."""

    @property
    def variables(self) -> tuple[str, ...]:
        return tuple(self.parents)

    @property
    def known(self) -> bool:
        """Whether it has tables."""
        return bool(self.tables)

    @property
    def fixed_tables(self) -> Mapping[str, Array]:
        """The tables, unless they are derived from evidence."""
        return self.tables if self.evidence is None else {}

    @property
    @abstractmethod
    def _copied(self) -> Network:
        """The network whose copies form the template."""

    def __eq__(self, other: object) -> bool:
        """Whether arrows, states and tables are the same, in any order."""
        return self._copied == other._copied if isinstance(other, type(self)) else NotImplemented

    def __hash__(self) -> int:
        return hash(frozenset(self.parents))

    def discount(self, factor: float) -> Self:
        """Multiply all evidence by a factor between 0 and 1, to fade old data."""
        return self.with_evidence(self._seen * check_discount(factor), self.history)

    def __add__(self, other: Self) -> Self:
        """The evidence of both, the prior counted once."""
        if not isinstance(other, type(self)):
            return NotImplemented
        both = self._counted("be merged"), other._counted("be merged")
        if dict(self.parents) != dict(other.parents) or dict(self.states) != dict(other.states):
            raise EvidenceError("these don't merge: their arrows or their states differ")
        if self.prior != other.prior:
            raise EvidenceError("these don't merge: their priors differ")
        return self.with_evidence(both[0] + both[1])

    def merge(self, *others: Self) -> Self:
        """The same as `+`."""
        return reduce(add, others, self)

    @property
    def _seen(self) -> Evidence:
        if self.evidence is None:
            raise EvidenceError("nothing was learned yet: the tables are fixed, or there are none")
        found: Evidence = self.evidence
        return found

    def _counted(self, what: str) -> Evidence:
        """The evidence, if it was counted: expected counts can't be separated by row."""
        if self.history:
            raise EvidenceError(
                f"the tables were fitted by EM, from expected counts, and can't {what} exactly: fit again; update and "
                "discount still work"
            )
        return self._seen

    def _check_updatable(self) -> None:
        """Refuse fixed tables; give a notice that earlier expected counts are kept."""
        if self.tables and self.evidence is None:
            raise EvidenceError(FIXED_TABLES)
        if self.history:
            tell("the expected counts of earlier data are kept: to fit all data together, use fit")

    def _check_known(self) -> None:
        if not self.tables:
            raise NetworkError("the network has arrows but no tables: give tables, or learn them with fit")
