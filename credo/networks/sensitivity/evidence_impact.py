"""Impact of evidence: how each finding changes an answer and its certainty."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from credo.core.description import LN2
from credo.core.records import Shown
from credo.errors import EvidenceError
from credo.networks.inference.sizes import exact_only
from credo.networks.information import CategoryQueries, divergence

if TYPE_CHECKING:
    from credo.networks.answers import Posterior
    from credo.networks.inference.findings import Given


@dataclass(frozen=True)
class FindingImpact:
    """A finding: the answer given it alone, the answer without it, and the divergence of that from the answer with all
    findings, in bits."""

    name: str
    value: object
    alone: Posterior
    without: Posterior
    divergence: float


@dataclass(frozen=True, eq=False, repr=False)
class EvidenceImpact(Shown):
    """The effect of findings on P(name | given), the largest first."""

    name: str
    before: Posterior  # without any finding
    after: Posterior
    findings: tuple[FindingImpact, ...]

    def __repr__(self) -> str:
        from credo.present.sensitivity import impact_described

        return impact_described(self)


def evidence_impact(net: CategoryQueries, name: str, given: Given) -> EvidenceImpact:
    given = {each: finding for each, finding in (given or {}).items() if finding is not None}
    if name in given:
        raise EvidenceError(f"{name!r} is given: no other finding moves it")
    if not given:
        raise EvidenceError("there are no findings whose impact could be computed")
    with exact_only("the impact of findings isn't estimated"):
        before, after = net.query(name, method="exact"), net.query(name, given, method="exact")
        found = []
        for each, finding in given.items():
            others = {other: known for other, known in given.items() if other != each}
            alone, without = net.query(name, {each: finding}, method="exact"), net.query(name, others, method="exact")
            found.append(FindingImpact(each, finding, alone, without, divergence(after, without) / LN2))
    found.sort(key=lambda each: -each.divergence)
    return EvidenceImpact(name, before, after, tuple(found))
