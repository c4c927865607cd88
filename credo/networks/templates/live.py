"""Online filtering of a dynamic network: one slice at a time."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from credo.core.records import Shown
from credo.errors import DataError, EvidenceError, check_mapping, check_whole
from credo.networks.answers import Posterior
from credo.networks.templates.slice_answers import marginals
from credo.networks.templates.slice_chain import CodedSlices
from credo.networks.templates.slice_passes import SlicePasses
from credo.networks.templates.slice_reading import coded_findings
from credo.numerics.exact import Array

if TYPE_CHECKING:
    from credo.networks.templates.dynamic_network import DynamicNetwork

Slice = dict[str, Posterior]


class LiveSlices(Shown):
    """P(variable | the slices so far), slice by slice. Mutable; the network itself doesn't change.

    >>> from credo import DynamicNetwork
    >>> tables = {"Rain": {"yes": 0.7, "no": 0.3}, "Umbrella": {"yes": 0.9, "no": 0.2}}
    >>> live = DynamicNetwork("previous(Rain) -> Rain -> Umbrella", tables, first={"Rain": 0.5}).live()
    >>> round(live.observe({"Umbrella": "yes"})["Rain"]["yes"], 3)
    0.818
    >>> round(live.forecast()[0]["Rain"]["yes"], 3)  # 0.7 · 0.818 + 0.3 · 0.182
    0.627
    """

    def __init__(self, network: DynamicNetwork) -> None:
        self.network, self.chain = network, network.chain
        self.restart()

    def restart(self) -> None:
        """Start a new sequence."""
        self.slices, self.log_prob = 0, 0.0  # log p of the slices so far
        self._message: Array | None = None

    def observe(self, given: Mapping[str, object]) -> Slice:
        """P(variable) of all variables after one more slice, with any evidence or none."""
        check_mapping("a slice's findings are {variable: state}, but are", given, DataError)
        coded = coded_findings(self.network.slice_network.potentials, [given])
        try:
            passes = self.follow(coded)
        except EvidenceError:
            raise EvidenceError(
                f"slice {self.slices} is impossible after the slices before it: no states of the hidden variables "
                "allow it"
            ) from None
        return self._slices(passes)[0]

    def follow(self, coded: CodedSlices) -> SlicePasses:
        """Observe more slices of the sequence."""
        passes = SlicePasses.of(self.chain, coded, self._message)
        self._message = passes.last
        self.slices, self.log_prob = self.slices + coded.rows, self.log_prob + float(passes.totals.sum())
        return passes

    def forecast(self, steps: int = 1) -> list[Slice]:
        """P(variable) of the next slices."""
        steps = check_whole("the number of steps ahead", steps, 1, DataError)
        if self._message is None:
            raise EvidenceError("nothing was observed yet: a forecast starts from the last slice")
        coded = coded_findings(self.network.slice_network.potentials, [{}] * steps)
        return self._slices(SlicePasses.of(self.chain, coded, self._message))

    def _slices(self, passes: SlicePasses) -> list[Slice]:
        found = marginals(self.chain, passes.coded, passes.filtered(), self.chain.names)
        states = self.network.states
        return [
            {name: dict(zip(states[name], own[t].tolist(), strict=True)) for name, own in found.items()}
            for t in range(passes.coded.rows)
        ]

    def __repr__(self) -> str:
        return f"LiveSlices({self.slices} slices of {', '.join(self.chain.names[:5])})"
