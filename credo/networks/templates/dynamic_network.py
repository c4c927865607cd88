"""Dynamic networks: a template of one slice, repeated in time."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar, Unpack

from credo import engines
from credo.core.learning import RowWeights, Weight
from credo.core.records import with_fields
from credo.data import source
from credo.errors import DataError, NetworkError, check_seed, check_whole, suggest
from credo.networks.fixed import Fixed
from credo.networks.graph import one_or_several
from credo.networks.inference.sizes import SAMPLES, Method
from credo.networks.network import Network
from credo.networks.refusals import refused
from credo.networks.tables import States, states_of, table_of
from credo.networks.templates import slices
from credo.networks.templates.slices import Arrows
from credo.networks.templates.template import MOST_UNROLLED, Template
from credo.numerics.exact import Array

if TYPE_CHECKING:
    import pyarrow as pa
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from credo.core.description import DescriptionLength
    from credo.core.evidence import Evidence
    from credo.data import Batch
    from credo.models.hidden_markov.reading import SequenceTable
    from credo.networks.answers import Posterior
    from credo.networks.fitting import FittingOptions
    from credo.networks.inference.findings import Given
    from credo.networks.templates.live import LiveSlices
    from credo.networks.templates.slice_chain import CodedSlices, SliceChain
    from credo.networks.templates.slice_jobs import SliceJob
    from credo.networks.templates.slice_reading import CodeSlices


@dataclass(frozen=True, eq=False, init=False, repr=False)
class DynamicNetwork(Template):
    """P(sequence) = P(slice 0) ∏ P(slice t | slice t − 1): every slice has the same variables, arrows and tables.

    Arrows within a slice are those of a `Network`; `previous(Weather)` is Weather one slice back. A variable with
    previous parents has a separate table in the first slice, `first`; all others have one table for all slices.

    >>> umbrella = DynamicNetwork(
    ...     "previous(Rain) -> Rain -> Umbrella",
    ...     {"Rain": {"yes": 0.7, "no": 0.3}, "Umbrella": {"yes": 0.9, "no": 0.2}},
    ...     first={"Rain": 0.5},
    ... )
    >>> umbrella.filter({"Umbrella": ["yes", "yes"]}, "Rain").round(3)  # P(Rain = yes), P(Rain = no)
    array([[0.818, 0.182],
           [0.883, 0.117]])
    """

    _internal: ClassVar[tuple[str, ...]] = ("chain", "fixed_first", "reading", "slice_network", "streamed")
    _refused: ClassVar[Mapping[str, str]] = refused({
        "marginals": "it has as many slices as there are rows; smooth(data) gives P(variable | all rows) in each, and "
        "unrolled(n).marginals(given) those of n slices",
        "most_probable impute": "decode(data) gives the most probable states of all rows together",
        "predict predict_proba": "filter(data, variable) gives P(variable | rows up to this one) in each row, and "
        "smooth given all rows",
        "explain do effect counterfactual sensitivity evidence_impact what_to_ask mutual_information d_separated":
        "unrolled(n) is a credo.Network of n slices, which answers",
        "cross_validate leave_one_out belief": "rows of a sequence aren't independent; log_prob(data) of held-out "
        "sequences measures how well it predicts",
        "read write": "files of networks have no templates; credo.save keeps it",
    })  # fmt: skip

    parents: Mapping[str, tuple[str, ...]]  # of each variable; some are previous(...)
    tables: Mapping[str, Array]  # P(variable | parents): (the parents' states..., own states); empty where not known
    first: Mapping[str, Array]  # in the first slice, of variables with previous parents
    states: States
    prior: Any  # TablePriors, None where nothing was learned
    evidence: Any  # Evidence of the tables
    history: tuple[float, ...]  # the objective after each step of EM; empty if all sequences were complete
    sequence: str | None  # the column that identifies sequences
    order: str | None  # the column that orders the rows of a sequence

    def __init__(
        self,
        arrows: Arrows,
        tables: Mapping[str, object] | None = None,
        first: Mapping[str, object] | None = None,
        states: Mapping[str, Sequence[object]] | Sequence[object] | None = None,
        *,
        prior: object = None,
        sequence: str | None = None,
        order: str | None = None,
    ) -> None:
        parents = slices.slice_parents(arrows)
        later, begun = _given("tables", tables, parents), _given("first", first, parents)
        starting = slices.starting(parents)
        _check_given(later, begun, parents, starting)
        if isinstance(states, Mapping):
            for unknown in (name for name in states if name not in parents):
                raise NetworkError(f"a list of states is for {unknown!r}; {suggest(unknown, parents)}")
        known: dict[str, tuple[Any, ...]] = {}
        declared = bool(states) if isinstance(states, Mapping) else states is not None
        for name in parents if later or declared else ():
            given = states.get(name) if isinstance(states, Mapping) else states
            known[name] = states_of(name, given, later.get(name), parents[name])
        wide = known | {slices.previous(name): own for name, own in known.items()}
        inside = slices.within(parents)
        own = {name: table_of(name, later[name], parents[name], wide) for name in later}
        start = {name: _first_table(name, begun[name], inside[name], wide) for name in begun}
        self._set(parents, own, start, known, None, None, (), sequence, order)
        if prior is not None:
            self._learn(prior, None)

    def _learn(self, prior: object, evidence: object) -> None:
        """Set prior and evidence; derive the tables."""
        from credo.networks.table_priors import TablePriors

        labels = [*self.parents, *map(slices.first, slices.starting(self.parents))]
        object.__setattr__(self, "prior", TablePriors.of(1.0 if prior is None else prior, labels))
        object.__setattr__(self, "evidence", evidence)
        if evidence is not None:
            two = self.two_slices
            later = {name: two.tables[slices.at(name, 1)] for name in self.parents}
            begun = {name: two.tables[slices.at(name, 0)] for name in slices.starting(self.parents)}
            object.__setattr__(self, "tables", Fixed(later))
            object.__setattr__(self, "first", Fixed(begun))

    def with_evidence(self, evidence: Evidence, history: tuple[float, ...] = ()) -> DynamicNetwork:
        """The same arrows and prior, with tables derived from that evidence."""
        new = with_fields(self, history=tuple(history))
        new._learn(self.prior, evidence)
        return new

    def reading(self, sequence: str | None, order: str | None) -> DynamicNetwork:
        """The same network, with these columns for finding sequences in data."""
        return with_fields(self, sequence=sequence, order=order)

    @property
    def interface(self) -> tuple[str, ...]:
        """The variables with children in the next slice: given these, the future is independent of the past."""
        return slices.interface(self.parents)

    @property
    def fixed_first(self) -> Mapping[str, Array]:
        return self.first if self.evidence is None else {}

    # The template

    @cached_property
    def two_slices(self) -> Network:
        """The first slice and the next, with all tables: a Network."""
        if not self.states:
            raise NetworkError("the network has no states yet: give states=, or learn them with fit")
        tables = self._unrolled_tables(2) if self.evidence is None and self.tables else None
        parents, tied = slices.unrolled_parents(self.parents, 2), slices.tied_labels(self.parents, 2)
        found = Network(parents, tables, self._unrolled_states(2), tied, self.prior)
        return found if self.evidence is None else found.with_evidence(self.evidence, self.history)

    @property
    def _copied(self) -> Network:
        return self.two_slices if self.states else Network(slices.unrolled_parents(self.parents, 2))

    def unrolled(self, n: int) -> Network:
        """The network of n slices, whose variables are named Weather[0], Weather[1] and so on."""
        n = check_whole("the number of slices", n, 1)
        if n * len(self.parents) > MOST_UNROLLED:
            raise NetworkError(
                f"{n:,} slices have {n * len(self.parents):,} variables, and at most {MOST_UNROLLED:,} are unrolled: "
                "filter, smooth and decode need no unrolling"
            )
        parents, tied = slices.unrolled_parents(self.parents, n), slices.tied_labels(self.parents, n)
        return Network(parents, self._unrolled_tables(n), self._unrolled_states(n), tied)

    def _unrolled_tables(self, n: int) -> dict[str, Array]:
        self._check_known()
        start = {**self.tables, **self.first}
        return {slices.at(name, t): (self.tables if t else start)[name] for t in range(n) for name in self.parents}

    def _unrolled_states(self, n: int) -> dict[str, tuple[Any, ...]]:
        return {slices.at(name, t): self.states[name] for t in range(n) for name in self.parents}

    @cached_property
    def slice_network(self) -> Network:
        """The network of the first slice, with the variables' own names."""
        self._check_known()
        return Network(slices.within(self.parents), {**self.tables, **self.first}, self.states)

    @cached_property
    def chain(self) -> SliceChain:
        """The network as a chain over the states of its interface."""
        from credo.networks.templates.slice_chain import SliceChain

        self._check_known()
        return SliceChain.of(self.parents, self.states, {**self.tables, **self.first}, self.tables)

    # Learning

    @property
    def n(self) -> float:
        """The total weight of the learned rows, the slices of all sequences."""
        if self.evidence is None:
            return 0.0
        both = (slices.at(self.variables[0], t) for t in (0, 1))
        labels = {self.two_slices.nodes[name].label for name in both}
        return float(sum(self.evidence[label].n.value.sum() for label in labels))

    def fit(
        self,
        data: object,
        *,
        sequence: str | None = None,
        order: str | None = None,
        prior: object = None,
        weight: Weight = None,
        hidden: Mapping[str, object] | None = None,
        **how: Unpack[FittingOptions],
    ) -> DynamicNetwork:
        """Learn the tables from sequences, adding the statistics of all slices: by counting if no cell is missing, else
        by EM. Earlier evidence is dropped.

        Sequences are runs of equal values in the column `sequence`, tables in a list, or all rows as one; rows are in
        order, or sorted by the column `order`. The other options are those of `Network.fit`; a prior may name the table
        of the first slice, as in {"first(Rain)": 5}.
        """
        from credo.networks.fitting import FittingSettings
        from credo.networks.templates.learning import SequenceOptions, learned

        bare = DynamicNetwork(self.parents, states=self.states or None, prior=1.0 if prior is None else prior)
        return learned(bare, data, SequenceOptions(sequence, order, weight), hidden, FittingSettings.of(how), self)

    def update(
        self,
        data: object,
        *,
        sequence: str | None = None,
        order: str | None = None,
        weight: Weight = None,
        **how: Unpack[FittingOptions],
    ) -> DynamicNetwork:
        """Learn from more sequences. With missing cells, EM continues; the expected counts of earlier ones are kept."""
        from credo.networks.fitting import FittingSettings
        from credo.networks.templates.learning import SequenceOptions, learned

        self._check_updatable()
        read = SequenceOptions(sequence or self.sequence, order or self.order, weight)
        return learned(self, data, read, None, FittingSettings.of(how), self)

    def forget(
        self, data: object, *, sequence: str | None = None, order: str | None = None, weight: Weight = None
    ) -> DynamicNetwork:
        """Unlearn complete sequences, exactly: the result is as if they had never been learned."""
        from credo.networks.templates.learning import SequenceOptions, complete_evidence

        read = SequenceOptions(sequence or self.sequence, order or self.order, weight)
        return self.with_evidence(self._counted("forget sequences").without(complete_evidence(self, data, read)))

    # Inference

    def filter(
        self, data: object, variables: str | Sequence[str] | None = None, *,
        sequence: str | None = None, order: str | None = None,
    ) -> Any:  # fmt: skip
        """P(variable | the rows of its sequence up to this one) in each row: an array (rows, states), or of several
        variables {name: array}; of all by default.

        Data are a table with a row for each slice, with any cells or columns missing; or a list of findings, {} where
        nothing is known, whose values may be states, sets of possible states, or {state: likelihood}.
        """
        from credo.networks.templates.slice_jobs import SliceMarginals

        names = self._names(variables)
        found = self._collected(SliceMarginals(self.chain, names, smooth=False), data, sequence, order)
        return found[variables] if isinstance(variables, str) else found

    def smooth(
        self, data: object, variables: str | Sequence[str] | None = None, *,
        sequence: str | None = None, order: str | None = None,
    ) -> Any:  # fmt: skip
        """P(variable | all rows of its sequence) in each row, as `filter` gives it."""
        from credo.networks.templates.slice_jobs import SliceMarginals

        names = self._names(variables)
        found = self._collected(SliceMarginals(self.chain, names, smooth=True), data, sequence, order)
        return found[variables] if isinstance(variables, str) else found

    def decode(self, data: object, *, sequence: str | None = None, order: str | None = None) -> pa.Table:
        """The most probable states of all variables in all rows together (Viterbi): an Arrow table."""
        import pyarrow as pa

        from credo.networks.inference.rows import states_array
        from credo.networks.templates.slice_jobs import DecodeSlices

        found = self._collected(DecodeSlices(self.chain), data, sequence, order)
        columns = {name: states_array(self.states[name]).take(pa.array(found[name])) for name in self.parents}
        return pa.table(columns)

    def streamed(
        self, data: object, target: str, *, sequence: str | None = None, order: str | None = None
    ) -> Iterator[tuple[Batch, dict[str, Array]]]:
        """Batches of whole sequences, rows in their original order, with P(target | the other variables in all rows of
        the sequence)."""
        from credo.networks.templates.slice_jobs import AnswerBesideRows, SliceMarginals

        job = SliceMarginals(self.chain, self._names(target), smooth=True)
        table = source(data)
        code, rows = self._table(table, sequence, order)
        code = replace(code, names=tuple(name for name in code.names if name != target))
        return engines.map(AnswerBesideRows(job, code), replace(rows, names=tuple(table.names)).partitions())

    def log_prob(self, data: object, *, sequence: str | None = None, order: str | None = None) -> Array:
        """log p of each sequence, missing cells summed out; -inf for impossible ones. (sequences,)"""
        from credo.networks.templates.slice_jobs import SequenceLogProb

        found: Array = self._collected(SequenceLogProb(self.chain), data, sequence, order)["log_prob"]
        return found

    def description_length(self, data: object) -> DescriptionLength:
        """L(h) + L(sequences | h) in bits: the parents of each variable, ½ log₂ n for each parameter of the tables,
        with n rows in all, −log₂ p(sequence)."""
        from credo.networks.description_length import slices_length

        rows = sum(int(coded.starts[-1]) for coded, _, _ in self._coded(data, None, None))
        return slices_length(self, data, rows)

    def forecast(
        self, data: object, steps: int = 1, *, sequence: str | None = None, order: str | None = None
    ) -> list[dict[str, Posterior]]:
        """{variable: {state: probability}} of each slice after the last row of one sequence."""
        from credo.networks.templates.live import LiveSlices

        live = LiveSlices(self)
        parts = [coded for coded, _, _ in self._coded(data, sequence, order)]
        if sum(len(coded.starts) - 1 for coded in parts) != 1:
            sequences = sum(len(coded.starts) - 1 for coded in parts)
            raise DataError(f"a forecast starts from the end of one sequence, but there are {sequences}")
        live.follow(parts[0])
        return live.forecast(steps)

    def live(self) -> LiveSlices:
        """A mutable filter: one slice at a time, in constant memory."""
        from credo.networks.templates.live import LiveSlices

        return LiveSlices(self)

    def query(
        self,
        variables: str | Sequence[str],
        given: Given = None,
        *,
        event: Given = None,
        method: Method = "auto",
        samples: int = SAMPLES,
        seed: int = 0,
    ) -> Posterior:
        """P(variable | given), as `Network.query` gives it: variables and findings are named by slice, as in Rain[3].
        Only slices up to the last named one are unrolled; none for a single variable."""
        from credo.networks.templates.slice_jobs import SliceMarginals
        from credo.networks.templates.slice_reading import by_slice, coded_findings, split_name

        names = one_or_several(variables)
        places = [split_name(name, self.variables) for name in names]
        size = 1 + max((t for _, t in places), default=0)
        found = by_slice({**(given or {}), **(event or {})}, self.variables, size)
        if not isinstance(variables, str) or event or method not in ("auto", "exact"):
            net = self.unrolled(len(found))
            return net.query(variables, given, event=event, method=method, samples=samples, seed=seed)
        own, t = places[0]
        coded = coded_findings(self.slice_network.potentials, found)
        shares = SliceMarginals(self.chain, (own,), smooth=True).of(coded)[own]
        return dict(zip(self.states[own], shares[t].tolist(), strict=True))

    def probability(
        self, event: Given, given: Given = None, *, method: Method = "auto", samples: int = SAMPLES, seed: int = 0
    ) -> float:
        """P(event | given); variables are named by slice, as in Rain[3]."""
        return self._named(event, given).probability(event, given, method=method, samples=samples, seed=seed)

    def log_probability(
        self, given: Given = None, *, method: Method = "auto", samples: int = SAMPLES, seed: int = 0
    ) -> float:
        """log P(evidence), -inf if it is impossible; variables are named by slice."""
        return self._named(given).log_probability(given, method=method, samples=samples, seed=seed)

    def _named(self, *findings: Given) -> Network:
        """The network unrolled to the last named slice."""
        from credo.networks.templates.slice_reading import by_slice

        every = {name: value for each in findings for name, value in (each or {}).items()}
        return self.unrolled(len(by_slice(every, self.variables, 1)))

    def sample(self, lengths: int | Sequence[int], seed: int | None = None) -> pa.Table:
        """An Arrow table of sampled sequences with these lengths."""
        from credo.networks.templates.sampling import sampled_slices

        return sampled_slices(self, lengths, None if seed is None else check_seed(seed))

    def plot(self, given: Given = None, ax: Axes | None = None) -> Figure:
        """The first two slices with each variable's marginal."""
        return self.two_slices.plot(given, ax)

    # Inside

    def _names(self, variables: str | Sequence[str] | None) -> tuple[str, ...]:
        names = self.variables if variables is None else tuple(one_or_several(variables))
        for name in (name for name in names if name not in self.parents):
            raise NetworkError(f"there is no variable {name!r}; {suggest(name, self.parents)}")
        return names

    def _coded(self, data: object, sequence: str | None, order: str | None) -> Iterator[tuple[CodedSlices, Any, Any]]:
        from credo.networks.templates.slice_reading import coded_findings, is_findings

        if is_findings(data):
            return iter([(coded_findings(self.slice_network.potentials, data), {}, None)])  # type: ignore[arg-type]
        code, rows = self._table(data, sequence, order)
        return engines.map(code, rows.partitions())

    def _table(self, data: object, sequence: str | None, order: str | None) -> tuple[CodeSlices, SequenceTable]:
        """The sequences of a table, and the job that codes them."""
        from credo.networks.templates.slice_reading import CodeSlices, sequence_table

        table = source(data)
        by = self.sequence if sequence is None and self.sequence in table.names else sequence
        when = self.order if order is None and self.order in table.names else order
        rows = sequence_table(table, self.parents, by, when)
        names = tuple(name for name in rows.names if name in self.parents)
        return CodeSlices(self.states, names, RowWeights(), strict=False), rows

    def _collected(self, job: SliceJob, data: object, sequence: str | None, order: str | None) -> dict[str, Any]:
        from credo.networks.templates.slice_jobs import AnswerSlices, SliceBatchAnswers, collected
        from credo.networks.templates.slice_reading import is_findings

        if is_findings(data):
            coded = self._coded(data, sequence, order)
            return collected(job, (SliceBatchAnswers(job.of(each), {}, None) for each, _, _ in coded))
        code, rows = self._table(data, sequence, order)
        return collected(job, engines.map(AnswerSlices(job, code), rows.partitions()))

    def __repr__(self) -> str:
        from credo.present.templates import described

        return described(self)


def _given(what: str, given: object, parents: Mapping[str, object]) -> dict[str, Any]:
    if given is None:
        return {}
    if not isinstance(given, Mapping):
        raise NetworkError(f"{what} must be {{name: table}}, but are {given!r:.60}")
    for unknown in (name for name in given if name not in parents):
        raise NetworkError(f"a table is for {unknown!r}, which isn't there; {suggest(unknown, parents)}")
    return dict(given)


def _check_given(
    tables: Mapping[str, object], first: Mapping[str, object], parents: Mapping[str, object], starting: Sequence[str]
) -> None:
    """Each variable has a table, those with previous parents one for the first slice, and no others."""
    for name in (name for name in first if name not in starting):
        raise NetworkError(f"{name!r} has no previous parents: its table in the first slice is that of all others")
    if not tables and first:
        raise NetworkError("first= gives tables of the first slice, but tables= none of later ones")
    for name in (name for name in parents if tables and name not in tables):
        raise NetworkError(f"{name!r} has no table; give one for each name, or none at all")
    for name in (name for name in starting if tables and name not in first):
        raise NetworkError(f"{name!r} has previous parents, which the first slice hasn't: give first={{{name!r}: ...}}")


def _first_table(name: str, given: object, above: Sequence[str], states: States) -> Array:
    try:
        return table_of(name, given, above, states)
    except NetworkError as error:
        raise NetworkError(f"in the first slice, {error}") from None
