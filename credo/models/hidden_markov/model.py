"""HiddenMarkov: sequences of rows that depend on a hidden chain of states."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Self

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from credo import engines
from credo.blocks.block import Estimate, Settings
from credo.blocks.capabilities import Ignored
from credo.core.description import DescriptionLength
from credo.core.evidence import Evidence, Part
from credo.core.labels import UNLABELLED
from credo.core.learning import RowWeights, Weight
from credo.core.membership import Hard
from credo.core.records import Surface, with_fields
from credo.core.statistics import Counts
from credo.data import Batch, Source, source
from credo.data.free_names import free_name
from credo.data.schema import Column, Kind, Schema
from credo.data.sequences import Sequences, whole_sequences
from credo.errors import DataError, EvidenceError, PriorError, SchemaError, check_discount, check_seed, counted, suggest
from credo.families.family import Family
from credo.families.normal_inverse_wishart import Covariance
from credo.models.conditional import Conditional
from credo.models.description_length import rows_length
from credo.models.discriminant import GaussianDiscriminant
from credo.models.forms import Views
from credo.models.hidden_markov.chain import INITIAL, TRANSITIONS, ChainPrior, seen_in
from credo.models.hidden_markov.column_emissions import checked_emission, covariance_of, kinds_of
from credo.models.hidden_markov.emission import COMPONENT, Emission
from credo.models.hidden_markov.expecting import EQUAL_WEIGHTS, HiddenChain
from credo.models.hidden_markov.fitting import Search, Tried
from credo.models.hidden_markov.given import Given
from credo.models.hidden_markov.jobs import (
    BestPaths,
    Decode,
    DecodeAndSmooth,
    Filter,
    Found,
    InTableOrder,
    LogProb,
    Path,
    Smooth,
)
from credo.models.hidden_markov.naming import checked_states, group_names, names_of
from credo.models.hidden_markov.pattern import Pattern, Transitions, pattern_of, plain_transitions
from credo.models.hidden_markov.reading import SequenceTable
from credo.models.known_columns import add_ignored
from credo.models.latent.columns import hidden_blocks
from credo.models.naive_bayes import check_settings
from credo.notices import tell_of_columns
from credo.numerics.exact import Array

if TYPE_CHECKING:
    from credo.models.hidden_markov.forecasting import Forecast
    from credo.models.hidden_markov.live import LiveStates
    from credo.present.plotting import Figure

NOT_FITTED = "nothing was learned yet: fit(data) first"
HIDDEN = (
    "states were hidden when it was learned, and their expected counts depend on all rows: {} is exact "
    "only where every state is given. update() continues EM with more rows; fit() starts again"
)


@dataclass(frozen=True, eq=False, repr=False)
class HiddenMarkov(Surface):
    """p(rows, states) = P(s₁) Π P(sₜ | sₜ₋₁) Π p(rowₜ | sₜ): each row of a sequence depends only on its hidden state.

    Given states are counted; hidden ones are inferred by EM (Baum-Welch). State probabilities have Dirichlet priors
    (smoothing; `sticky` is added for staying), columns those of a classifier. emission: the covariance of number
    columns; or a kind or family for all columns ("count", GammaPoisson(1, 1)), or for some: {column: kind or family}.
    components: per state, for mixture emissions. transitions: "any", "left-to-right", a matrix of 0 and 1, or {state:
    [states that may follow]}. duration: the minimum number of rows in a state.

    >>> weather = {"walk": ["yes", "yes", "no", "no"] * 5, "sky": ["sun", "sun", "rain", "rain"] * 5}
    >>> model = HiddenMarkov().fit(weather, target="sky")
    >>> model.decode({"walk": ["yes", "no", "no"]}).tolist()
    ['sun', 'rain', 'rain']
    """

    _internal: ClassVar[tuple[str, ...]] = (
        "chain", "column", "kinds_of", "needs", "opened", "pattern", "replaced", "settings", "streamed", "views",
    )  # fmt: skip

    states: int | Literal["auto"] | Sequence[Any] = "auto"
    emission: Covariance | Kind | Family | Mapping[str, Any] = "full"
    components: int = 1
    transitions: Transitions = "any"
    initial: Sequence[Any] | None = None
    sticky: float = 0.0
    duration: int | Mapping[Any, int] = 1
    smoothing: float = 1.0
    strength: float = 1.0
    estimate: Estimate = "bayes"
    kinds: Mapping[str, Any] | None = None
    starts: int = 6
    steps: int = 500
    tolerance: float = 1e-7
    seed: int = 0
    column: str | None = field(default=None, init=False)  # that states are in
    sequence: str | None = field(default=None, init=False)
    order: str | None = field(default=None, init=False)
    views: Views = field(default_factory=dict, init=False)
    names: tuple[Any, ...] = field(default=(), init=False)  # of the states
    hidden: bool = field(default=True, init=False)  # whether some state was
    evidence: Evidence | None = field(default=None, init=False)
    history: tuple[float, ...] = field(default=(), init=False)  # EM's objective, step by step
    tried: tuple[Tried, ...] = field(default=(), init=False)  # numbers of states

    def __post_init__(self) -> None:
        check_settings(self.estimate, self.strength, smoothing=self.smoothing)
        object.__setattr__(self, "emission", checked_emission(self.emission))
        if not (isinstance(self.sticky, int | float | np.number) and 0 <= self.sticky < float("inf")):
            raise PriorError(f"sticky must be a number of at least 0, but is {self.sticky!r}")
        for name in ("components", "starts", "steps"):
            value = getattr(self, name)
            if not isinstance(value, int | np.integer) or isinstance(value, bool) or value < 1:
                raise PriorError(f"{name} must be a whole number of at least 1, but is {value!r}")
        object.__setattr__(self, "states", checked_states(self.states))
        object.__setattr__(self, "transitions", plain_transitions(self.transitions))
        if self.initial is not None:
            if isinstance(self.initial, str) or not isinstance(self.initial, Sequence):
                raise PriorError(f"initial must be a list of states, but is {self.initial!r:.60}")
            object.__setattr__(self, "initial", tuple(self.initial))
        if not isinstance(self.states, str):
            self._check_pattern()

    def _check_pattern(self) -> None:
        """Check the pattern if the states' names are known; they may come from the data later."""
        named = isinstance(self.transitions, Mapping) or isinstance(self.duration, Mapping) or self.initial is not None
        if not (named and isinstance(self.states, int)):
            self._pattern_of(names_of(self.states, ()))

    # Learning

    def fit(
        self, data: object, *, target: object = None, sequence: str | None = None, order: str | None = None,
        weight: Weight = None, start: object = None,
    ) -> Self:  # fmt: skip
        """Learn from sequences: runs of one value in the column `sequence`, tables of a list, or all rows as one; rows
        are in order, or sorted by the column `order`.

        target: the states, as far as they are known (a column, an array, or P(state) in a matrix or in columns).
        weight: of sequences. start: memberships that EM begins with, as target would give them.
        """
        from credo.models.hidden_markov.learning import Sequenced, learned

        found: Self = learned(self, source(data), target, Sequenced(sequence, order, weight), start)
        return found

    def _table(self, table: Source, given: Sequence[Given | None] = ()) -> SequenceTable:
        """The table as sequences, with the columns that the model reads."""
        present = [name for name in self.views if name in table.names]
        if not present:
            wanted = ", ".join([*self.views][:8])
            raise SchemaError(f"the table has none of the model's columns ({wanted}); {suggest(wanted, table.names)}")
        if absent := [name for name in self.views if name not in present]:
            tell_of_columns((name, "no such column: its cells count as missing") for name in absent)
        more = [name for each in given if each is not None for name in each.names]
        order = self.order if self.order in table.names else None
        by = self.sequence if self.sequence in table.names else None
        return SequenceTable(table, tuple(dict.fromkeys([*present, *more])), by, order)

    def update(self, data: object, *, target: object = None, weight: Weight = None) -> Self:
        """Learn from more sequences. With hidden states, EM continues over the new rows; the expected counts of the old
        ones are kept."""
        from credo.models.hidden_markov.learning import continued

        found: Self = continued(self, self.opened(data), target, weight)
        return found

    def forget(self, data: object, *, target: object = None, weight: Weight = None) -> Self:
        """Unlearn sequences, exactly; only where all states were given."""
        if self._seen and self.hidden:
            raise EvidenceError(f"can't forget: {HIDDEN.format('forgetting')}")
        from credo.models.hidden_markov.learning import given_evidence

        forgotten = given_evidence(self, self.opened(data), target, weight)
        return self._with_evidence(self._seen.without(forgotten), hidden=False)

    def discount(self, factor: float) -> Self:
        """Multiply all evidence by a factor between 0 and 1, to fade old sequences."""
        return self._with_evidence(self._seen * check_discount(factor), hidden=self.hidden, history=self.history)

    def __add__(self, other: Self) -> Self:
        """The evidence of both, the prior counted once; only where all states were given."""
        if not isinstance(other, HiddenMarkov):
            return NotImplemented
        if self.hidden or other.hidden:
            raise EvidenceError(f"these don't merge: {HIDDEN.format('merging')}")
        if (self.column, self.names, self.views) != (other.column, other.names, other.views):
            raise EvidenceError("these don't merge: their states or their columns differ")
        return self._with_evidence(Evidence.total([self._seen, other._seen]), hidden=False)

    def merge(self, *others: Self) -> Self:
        """The same as `+`."""
        found = self
        for other in others:
            found = found + other
        return found

    @property
    def _search(self) -> Search:
        return Search(self.starts, self.steps, self.tolerance, int(check_seed(self.seed)))

    # Parts

    def replaced(self, **values: Any) -> Self:
        """The same model with other fields, those that aren't the constructor's among them."""
        return with_fields(self, **values)

    def _with_evidence(self, evidence: Evidence, *, hidden: bool, history: tuple[float, ...] = ()) -> Self:
        """Values of columns in their natural order, states in their own."""
        assert self.column is not None
        states = Schema((Column(self.column, "category", pa.array(self.names)),))  # also those without a row
        found = Evidence.total([evidence, Evidence(states)]).ordered()
        place = {value: k for k, value in enumerate(found.schema[self.column].values)}
        found = found.only_levels(self.column, np.array([place[name] for name in self.names], dtype=np.intp))
        return self.replaced(evidence=found, hidden=hidden, history=history)

    @property
    def settings(self) -> Settings:
        return Settings(self.estimate, self.smoothing, strength=self.strength)

    @cached_property
    def pattern(self) -> Pattern:
        return self._pattern_of(self.names)

    def _pattern_of(self, names: Sequence[Any]) -> Pattern:
        return pattern_of(self.transitions, self.initial, self.duration, names)

    def _conditional(self, evidence: Evidence | None) -> Conditional:
        groups = str(self.column) if self.components == 1 else free_name(COMPONENT, [*self.views, str(self.column)])
        blocks = hidden_blocks(self.views, self.kinds_of(self.views), covariance_of(self.emission))
        return Conditional(blocks, self.settings, groups, evidence)

    def kinds_of(self, columns: Iterable[str]) -> Mapping[str, Any] | None:
        """The kinds of these columns, by emission= and kinds=."""
        return kinds_of(self.emission, self.kinds, columns)

    def _chain(
        self,
        conditional: Conditional,
        estimate: Estimate,
        given: Given | None = None,
        weights: RowWeights = EQUAL_WEIGHTS,
    ) -> HiddenChain:
        emission = Emission(conditional, pa.array(self.names), self.components)
        prior = ChainPrior(self.pattern, self.smoothing, self.sticky)
        return HiddenChain(emission, prior, str(self.column), estimate, conditional.evidence, given, weights)

    @cached_property
    def chain(self) -> HiddenChain:
        """The chain for predictions."""
        return self._chain(self._conditional(self._seen), "mean" if self.estimate == "bayes" else self.estimate)

    @property
    def _seen(self) -> Evidence:
        if self.evidence is None:
            raise EvidenceError(NOT_FITTED)
        return self.evidence

    def _named(self) -> tuple[Any, ...]:
        _ = self._seen
        return self.names

    # What was learned

    @property
    def n_states(self) -> int:
        return len(self.names)

    @cached_property
    def classifier(self) -> GaussianDiscriminant:
        """The states as classes of single rows, whose neighbours aren't known: P(state) is its share of the rows."""
        if self.components > 1:
            raise EvidenceError(
                f"each state is a mixture of {self.components} components, which a classifier of single rows, its plot "
                "and credo.ask don't have; parameters() lists them"
            )
        nothing = Part((None,), Counts.of_rows(Hard.whole(0, np.empty(0))))
        rest = {label: part for label, part in self._seen.parts.items() if label not in (INITIAL, TRANSITIONS)}
        evidence = Evidence(self._seen.schema, {UNLABELLED: nothing, **rest}).ordered()
        kinds, covariance = self.kinds_of(self.views), covariance_of(self.emission)
        model = GaussianDiscriminant(covariance, self.strength, self.estimate, self.smoothing, kinds=kinds)
        return with_fields(model, target=self.column, views=self.views, evidence=evidence)

    def parameters(self) -> pa.Table:
        """An Arrow table: each column's parameters by state; of states with several components, by component."""
        from credo.models.explaining import ALL_COLUMNS

        lines, names = self.chain.emission.conditional.describe(), group_names(self.names, self.components)
        found: dict[str, Any] = {
            "column": [line.column or ALL_COLUMNS for line in lines],
            "parameter": [line.name for line in lines],
        }
        for k, name in enumerate(names):
            found[free_name(name, [*found])] = [float(line.estimates[k]) for line in lines]
        return pa.table(found)

    def plot(self, columns: Sequence[str] | None = None) -> Figure:
        """The distribution of each column in each state."""
        from credo.present.score_plot import plot_classifier

        return plot_classifier(self.classifier, columns)

    @property
    def n(self) -> float:
        """The weight of the rows that were learned."""
        return round(float(self.state_weights.sum()), 6)

    @property
    def n_sequences(self) -> float:
        """The weight of the sequences that were learned."""
        return round(float(seen_in(self._seen).first.sum()), 6)

    @property
    def state_weights(self) -> Array:
        """The (expected) weight of each state's rows. (states,)"""
        return np.asarray(self.chain.emission.conditional.weights.reshape(self.n_states, -1).sum(1))

    @property
    def initial_shares(self) -> dict[Any, float]:
        """P(first state)."""
        return dict(zip(self._named(), self.chain.shares.first.tolist(), strict=True))

    @property
    def transition_shares(self) -> Array:
        """P(next state | state). (states, states)"""
        return self.chain.shares.step.copy()

    @property
    def state_posterior(self) -> dict[int, float]:
        """P(number of states | data) among those that states="auto" tried, under a uniform prior."""
        if not self.tried:
            raise EvidenceError("the number of states was given: states='auto' compares several")
        logs = np.array([each.log_evidence for each in self.tried])
        shares = np.exp(logs - np.logaddexp.reduce(logs))
        return {each.states: float(share) for each, share in zip(self.tried, shares, strict=True)}

    def description_length(self, data: object) -> DescriptionLength:
        """L(h) + L(rows | h) in bits: how many states, ½ log₂ n for each parameter, −log₂ p(sequence)."""
        parameters = self.pattern.free_parameters + self.chain.emission.free_parameters
        return rows_length(self, self.views, self.log_prob(data), parameters, self.n_states)

    # Inference

    def decode(self, data: object, paths: int | None = None) -> Any:
        """The most probable path of states (Viterbi), a state for each row; of paths=k, the k best of each sequence,
        each with its log-probability given the rows.

        Of a Dask or Spark DataFrame whose partitions hold whole sequences: that frame, with a column `predicted`.
        """
        if paths is None:
            if (table := self.opened(data)).frame is not None:
                from credo.models.frame_columns import of_classes

                wanted, sequences = self._whole(table)
                job = InTableOrder(Decode(self.chain))
                return of_classes(table, wanted, job, self._named(), sequences=sequences)
            return self._array[self._collected(table, Decode(self.chain), np.empty(0, np.int32))]
        if not isinstance(paths, int | np.integer) or paths < 1:
            raise DataError(f"the number of paths must be whole and at least 1, but is {paths!r}")
        found, ignored = list[list[Path]](), Ignored()
        for batch, cells in engines.map(BestPaths(self.chain, int(paths)), self._opened(data).partitions()):
            add_ignored(ignored, cells)
            for each in batch:
                found.append([Path(self._array[own], float(log_p)) for own, log_p in zip(*each, strict=True)])
        _tell_ignored(ignored)
        return found

    def predict(self, data: object) -> NDArray[Any]:
        """The same as decode: a state for each row."""
        found: NDArray[Any] = self.decode(data)
        return found

    def smooth(self, data: object) -> Array:
        """P(state | all rows of its sequence); of a DataFrame as in decode, with a column each. (rows, states)"""
        return self._for_each_state(data, Smooth(self.chain))

    def filter(self, data: object) -> Array:
        """P(state | the rows of its sequence up to this one); of a DataFrame likewise. (rows, states)"""
        return self._for_each_state(data, Filter(self.chain))

    def log_prob(self, data: object) -> Array:
        """log p of each sequence, states summed out. (sequences,)"""
        return np.asarray(self._collected(data, LogProb(self.chain), np.empty(0)))

    def streamed(self, data: object) -> Iterator[tuple[Batch, NDArray[np.int32], Array]]:
        """Batches of whole sequences, rows as they came, the codes of their best paths, and P(state | all rows)."""
        table = self.opened(data)
        rows = self._table(table)
        job = DecodeAndSmooth(self.chain)
        return engines.map(job, replace(rows, names=tuple(table.names)).partitions())

    def live(self) -> LiveStates:
        """A mutable filter: one row at a time."""
        from credo.models.hidden_markov.live import LiveStates

        return LiveStates(self)

    def forecast(self, data: object, steps: int = 1) -> list[Forecast]:
        """A forecast from the last row of a sequence: for each step ahead, P(state) and the distribution of each
        column."""
        from credo.models.hidden_markov.forecasting import forecasts

        return forecasts(self, data, steps)

    def sample(self, lengths: int | Sequence[int], seed: Any = None) -> Any:
        """An Arrow table of sampled sequences of these lengths, with their states."""
        from credo.models.hidden_markov.sampling import sampled_sequences

        return sampled_sequences(self, lengths, seed)

    def opened(self, data: object) -> Source:
        """The opened table; columns of strings stay strings, even where all of them spell numbers."""
        return source(data).as_words(self._seen.word_columns).in_currencies(self._seen.currencies)

    def _opened(self, data: object) -> SequenceTable:
        return self._table(self.opened(data))

    def _for_each_state(self, data: object, job: Any) -> Array:
        table = self.opened(data)
        if table.frame is None:
            return np.asarray(self._collected(table, job, np.empty((0, self.n_states))))
        from credo.models.frame_columns import for_each_class

        wanted, sequences = self._whole(table)
        frame: Array = for_each_class(table, wanted, InTableOrder(job), "P({})", self._named(), sequences)
        return frame

    def _whole(self, table: Source) -> tuple[list[str], Sequences]:
        """The frame's columns that the model reads, and its sequences, each within one partition."""
        rows = self._table(table)
        if rows.by is None:
            rows.partitions()  # an error for one sequence of all rows
        assert rows.by is not None
        wanted = dict.fromkeys([*rows.names, rows.by, *([rows.order] if rows.order else [])])
        return [*wanted], replace(whole_sequences(table, rows.by), order=rows.order)

    def _collected(self, data: object, job: Any, empty: NDArray[Any]) -> Any:
        """A job's results for all rows, in the table's order."""
        table, parts, ignored = self._opened(data), [empty], Ignored()
        found: Found
        for found in engines.map(job, table.partitions()):
            parts.append(found.values if found.places is None else found.values[found.places])
            add_ignored(ignored, found.ignored)
        _tell_ignored(ignored)
        return np.concatenate(parts)

    @cached_property
    def _array(self) -> NDArray[Any]:
        """The states' names as an array, of NumPy's own type if possible."""
        found = np.array(self._named())
        return found if found.tolist() == [*self.names] else np.array([*self.names, None], dtype=object)[:-1]

    def __repr__(self) -> str:
        if self.evidence is None:
            return f"HiddenMarkov(states={self.states!r}), nothing learned yet"
        columns = ", ".join([*self.views][:5]) + (", ..." if len(self.views) > 5 else "")
        how = "hidden" if self.hidden else "given"
        sizes = counted(self.n_states, "state"), counted(self.n_sequences, "sequence")
        return f"HiddenMarkov({sizes[0]}, {how}; {columns}; {sizes[1]})"


def _tell_ignored(ignored: Ignored) -> None:
    tell_of_columns((name, f"{counted(n, 'cell')} with {what}, ignored") for (name, what), n in ignored.items())
