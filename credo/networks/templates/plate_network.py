"""Plate networks: a template for the members of relational tables."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar, Unpack

from credo.errors import NetworkError
from credo.networks.network import Network
from credo.networks.refusals import refused
from credo.networks.tables import States
from credo.networks.templates.plates import checked_keys, plate_parents
from credo.networks.templates.template import Template
from credo.numerics.exact import Array

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from credo.core.evidence import Evidence
    from credo.networks.fitting import FittingOptions
    from credo.networks.templates.given_tables import GivenTables


@dataclass(frozen=True, eq=False, init=False, repr=False)
class PlateNetwork(Template):
    """P(all) = ∏ over members ∏ P(Plate.Variable | parents): all members of a plate have the same arrows and tables.

    A plate is a table whose rows are its members; `keys` gives the key column of each plate, and a table that has the
    key of another is nested in it. A parent is a variable of the same member, or of one that it is nested in.

    >>> clinic = PlateNetwork(
    ...     "Ward.Outbreak -> Patient.Infected",
    ...     {"Ward.Outbreak": 0.1, "Patient.Infected": {"yes": 0.5, "no": 0.02}},
    ...     keys={"Ward": "ward", "Patient": "patient"},
    ... )
    >>> patients = {"patient": ["ann", "bob"], "ward": [1, 1], "Infected": ["yes", None]}
    >>> clinic.given({"Patient": patients}).query("Patient.Infected[bob]")["yes"].__round__(3)
    0.373
    """

    _internal: ClassVar[tuple[str, ...]] = ("template",)
    _refused: ClassVar[Mapping[str, str]] = refused({
        "query predict_proba log_prob": "say which members there are: given(tables) answers",
        "marginals probability log_probability most_probable explain predict impute sample do effect counterfactual "
        "sensitivity evidence_impact what_to_ask mutual_information d_separated": "say which members there are: "
        "unrolled(tables) is a credo.Network of these, which answers",
        "cross_validate leave_one_out belief": "members of a plate depend on each other; given(tables).log_prob() of "
        "held-out tables measures how well it predicts",
        "read write": "files of networks have no plates; credo.save keeps it",
    })  # fmt: skip

    parents: Mapping[str, tuple[str, ...]]
    keys: Mapping[str, str]  # the column that names the members of a plate
    tables: Mapping[str, Array]  # (the parents' states..., own states); empty where only the arrows are known
    states: States
    prior: Any  # TablePriors, None where nothing was learned
    evidence: Any  # Evidence of the tables
    history: tuple[float, ...]  # the objective after each step of EM; empty if all tables were complete

    def __init__(
        self,
        arrows: object,
        tables: Mapping[str, object] | None = None,
        states: Mapping[str, Sequence[object]] | Sequence[object] | None = None,
        *,
        keys: Mapping[str, str],
        prior: object = None,
    ) -> None:
        parents = plate_parents(arrows)
        net = Network(parents, tables, states, None, prior)
        for name in net.forms:
            raise NetworkError(f"the variables of plates have tables, but {name!r} is a {net.forms[name]!r:.60}")
        self._hold(net, checked_keys(keys, parents))

    def _hold(self, template: Network, keys: Mapping[str, str]) -> None:
        parts = (template.states, template.prior, template.evidence, template.history)
        self._set(template.parents, keys, template.tables, *parts)
        object.__setattr__(self, "template", template)

    @cached_property
    def template(self) -> Network:
        """One copy of each variable, as a Network; its tables are what is learned."""
        fixed = Network(self.parents, self.fixed_tables or None, self.states, None, self.prior)
        return fixed if self.evidence is None else fixed.with_evidence(self.evidence, self.history)

    @property
    def _copied(self) -> Network:
        return self.template

    def __eq__(self, other: object) -> bool:
        """Whether keys, arrows, states and tables are the same, in any order."""
        if not isinstance(other, PlateNetwork):
            return NotImplemented
        return self.template == other.template and dict(self.keys) == dict(other.keys)

    __hash__ = Template.__hash__

    def with_evidence(self, evidence: Evidence, history: tuple[float, ...] = ()) -> PlateNetwork:
        """The same arrows and prior, with tables derived from that evidence."""
        new = object.__new__(type(self))
        new._hold(self.template.with_evidence(evidence, history), self.keys)
        return new

    # Learning

    @property
    def n(self) -> float:
        """The total weight of the learned members, over all plates."""
        if self.evidence is None:
            return 0.0
        first = {name.partition(".")[0]: name for name in reversed(self.variables)}  # a variable of each plate
        return sum(self.template.nodes[name].weight(self.evidence) for name in first.values())

    def fit(
        self,
        data: Mapping[str, object],
        *,
        prior: object = None,
        hidden: Mapping[str, object] | None = None,
        **how: Unpack[FittingOptions],
    ) -> PlateNetwork:
        """Learn the tables from {plate: data}, adding the statistics of all members: by counting observed families, and
        by EM for the rest. Earlier evidence is dropped. The options are those of `Network.fit`; a plate all of whose
        variables are hidden needs no table."""
        from credo.networks.fitting import FittingSettings
        from credo.networks.templates.plate_learning import learned

        prior = 1.0 if prior is None else prior
        bare = PlateNetwork(self.parents, states=self.states or None, keys=self.keys, prior=prior)
        return learned(bare, data, hidden, FittingSettings.of(how), self)

    def update(self, data: Mapping[str, object], **how: Unpack[FittingOptions]) -> PlateNetwork:
        """Learn from more members that weren't in earlier tables: their evidence adds."""
        from credo.networks.fitting import FittingSettings
        from credo.networks.templates.plate_learning import learned

        self._check_updatable()
        return learned(self, data, None, FittingSettings.of(how), self)

    def forget(self, data: Mapping[str, object]) -> PlateNetwork:
        """Unlearn complete tables, exactly: the result is as if they had never been learned."""
        from credo.networks.templates.plate_learning import complete_evidence

        return self.with_evidence(self._counted("forget members").without(complete_evidence(self, data)))

    # Inference

    def given(self, data: Mapping[str, object]) -> GivenTables:
        """The members of {plate: data} and their observed cells, to query."""
        from credo.networks.templates.given_tables import GivenTables
        from credo.networks.templates.plate_learning import ground_of

        self._check_known()
        return GivenTables(self, ground_of(self, data, None, strict=False))

    def unrolled(self, data: Mapping[str, object]) -> Network:
        """The network of all members, whose variables are named Patient.Infected[ann] and so on."""
        return self.given(data).unrolled()

    def plot(self, ax: Axes | None = None) -> Figure:
        """The template, each variable with its marginal."""
        return self.template.plot(None, ax)

    def __repr__(self) -> str:
        from credo.present.templates import described_plates

        return described_plates(self)
