"""What a block or its likelihood may offer beside the core, one small interface each.

A class inherits the capabilities that it has. Callers ask by `Capability.of(x)`, which is None where x lacks it, or by
`Capability.needed(x)`, which is an error there.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from credo.blocks.block import ALL, Block, Likelihood
from credo.core.evidence import Evidence
from credo.core.labels import Label
from credo.core.membership import Hard, Soft
from credo.data import Batch
from credo.errors import EvidenceError
from credo.numerics.exact import Array

if TYPE_CHECKING:
    from credo.blocks.joint_codes import Lookup
    from credo.blocks.numbers.hidden_rows import Before, HiddenGroups
    from credo.blocks.scoring import Scorer
    from credo.blocks.tally import Tally

Ignored = dict[tuple[str, str], int]  # {(column, what some of its cells hold): how many cells}, of ignored values


class Capability(ABC):  # noqa: B024 - each capability has its own abstract methods
    """Something that only some blocks or likelihoods can do."""

    lacking: ClassVar[str] = ""  # the error about columns without it

    @classmethod
    def of(cls, thing: Block | Likelihood | Tally) -> Self | None:
        """The same object, if it has the capability."""
        return thing if isinstance(thing, cls) else None

    @classmethod
    def needed(cls, thing: Block | Likelihood) -> Self:
        found = cls.of(thing)
        if found is None:
            raise EvidenceError(f"{', '.join(map(repr, thing.names))}: {cls.lacking}")
        return found


# Of blocks


class Prunes(Capability):
    """Drops the excess, so that a stream takes bounded memory."""

    @abstractmethod
    def pruned(self, evidence: Evidence) -> Evidence: ...


class Limits(Capability):
    """Knows more limits of its sums than that no part has more observations than rows (see Evidence.crowded)."""

    @abstractmethod
    def crowded(self, evidence: Evidence, slack: float) -> Label | None:
        """A part with sums that no rows have."""


class Completes(Capability):
    """Computes expectations of missing cells, too, with hidden groups: EM over both at once."""

    @abstractmethod
    def expected(self, batch: Batch, member: Soft, groups: str, now: Likelihood | None) -> Evidence:
        """The statistics that are expected of a batch at the parameters now; None at the start."""


class ExpectsHidden(Capability):
    """Takes the whole E-step of rows whose group is hidden in one pass."""

    @abstractmethod
    def expected_hidden(
        self, batch: Batch, before: Before, groups: str, now: Likelihood
    ) -> tuple[Evidence, HiddenGroups] | None:
        """The expected statistics at the current parameters; None if responsibilities are needed first. The other
        blocks' log-likelihoods of the rows become their responsibilities."""


class CountsJointValues(Capability):
    """Its statistics follow from how often its columns' joint values occur."""

    @abstractmethod
    def of_joint_values(self, batch: Batch, n: Array, groups: str) -> Evidence:
        """The statistics of a batch whose joint values have these weights. (joint values, groups)"""


class Rounds(Capability):
    """Models rounding: x represents a number in x ± δ/2.

    With a uniform y in its place, E[(y - μ)²] = (x - μ)² + δ²/12, and log p(x) is at least E[log N(y; μ, σ²)] = log
    N(x; μ, σ²) - δ²/24σ². EM maximises that bound, whose mode has no variance below δ²/12.
    """

    @abstractmethod
    def rounded(self, steps: Mapping[str, float]) -> Block:
        """With δ of some columns; what EM expects of rows is then expected of y."""


class Tallies(Capability):
    """Learns one row at a time, faster than by keeping rows (see tally.KeptRows)."""

    @abstractmethod
    def tally(self, evidence: Evidence) -> Tally:
        """What adds rows one by one to that evidence."""


# Of likelihoods


class Draws(Capability):
    """Generates cells."""

    lacking = "no cells can be drawn"

    @abstractmethod
    def sample(self, classes: object, rng: np.random.Generator) -> dict[str, Any]:
        """Cells of rows of these classes (codes): a column each, NaN or None where unknown."""


class LogPrior(Capability):
    """Has a prior density of its parameters, as EM needs."""

    lacking = "EM can't fit scores that aren't a likelihood"

    @abstractmethod
    def log_prior(self) -> float:
        """log p(parameters) at the mode, up to a constant: what EM adds to the log-likelihood."""


class LogEvidence(Capability):
    """Integrates its parameters out, and takes its statistics at others' parameters, as approximations of the evidence
    of models with hidden variables need."""

    lacking = "their evidence has no closed form"

    @abstractmethod
    def log_evidence(self) -> Array:
        """log p(statistics), parameters integrated out, in one or more terms that add up."""

    @abstractmethod
    def log_likelihood_at(self, other: Self) -> float:
        """log p(statistics | the point estimate of another likelihood of the same columns)."""


class Points(Capability):
    """Embeds rows in a space where unlike rows are far apart."""

    lacking = "rows can't be compared"

    @abstractmethod
    def points(self, cells: Any) -> Array:
        """Coordinates with a variance of about 1 each, NaN where a cell is missing. (rows, coordinates)"""


class Expects(Capability):
    """Computes expected cells."""

    @abstractmethod
    def expected_cells(self, cells: Any, shares: Array) -> dict[str, Any]:
        """Of rows that belong to groups with these probabilities (rows, groups): the mean of a number given the row's
        known ones, the most probable value of a category; NaN or None where nothing is known of a column."""


class DrawsGiven(Capability):
    """Generates cells given the others of a row, with which they covary."""

    @abstractmethod
    def sample_given(self, cells: Any, classes: Any, rng: np.random.Generator) -> dict[str, Any]:
        """As `Draws.sample`, given the known cells, which stay."""


class ReadAgain(Capability):
    """Takes less time for rows that EM reads again and again."""

    @abstractmethod
    def add_again(self, batch: Batch, out: Array) -> None:
        """The same as `add` of what is read, base included."""


class LooksUp(Capability):
    """Has the log-likelihoods of the joint values of its columns, where rows outnumber these by far. Its block counts
    joint values."""

    @abstractmethod
    def lookup(self, batch: Batch) -> Lookup | None:
        """None for a few rows."""


class SharedFactor(Capability):
    """Leaves a factor of p(cells | class) out of `add`, since all classes share it."""

    @abstractmethod
    def base(self, cells: Any) -> Array | float:
        """log of that factor. (rows,)"""


class CountsIgnored(Capability):
    """Ignores some values, and can count such cells."""

    @abstractmethod
    def read_counting_ignored(self, batch: Batch) -> tuple[Any, Ignored]:
        """The cells as `read` has them, and how many hold ignored values."""


class ByColumn(Capability):
    """Gives the contribution of each column to the log-likelihood."""

    lacking = "columns can't be told apart"

    @abstractmethod
    def by_column(self, cells: Any, shape: tuple[int, int]) -> dict[str, Array]:
        """The weighted log-likelihood of each column: their sum is what `add` adds. (rows, classes) each

        Columns that covary are taken one after another, each given those before it.
        """


class Hides(Capability):
    """Finds the log-likelihood of the other columns fast where one column's cells are hidden."""

    lacking = "to hide a column, the others must be read again"

    @abstractmethod
    def hidden(self, cells: Any, log_likelihood: Array) -> dict[str, Array]:
        """The loss of log-likelihood from hiding each column. (rows, classes) each"""


class WordByWord(Capability):
    """Gives the contribution of each word of a text to the log-likelihood."""

    lacking = "it isn't read word by word"

    @property
    @abstractmethod
    def reading(self) -> Any:
        """How texts are cut into words."""

    @abstractmethod
    def words_of(self, cells: Any) -> dict[str, Array]:
        """The weighted log-likelihood of each word of one text: they sum to that of the text. (classes,) each"""


class WeighsWords(Capability):
    """Has one weight per word, in any text."""

    @abstractmethod
    def weights_for(self, k: int, others: Array, words: object) -> Array:
        """The weights of words for class k against the others, by their shares, in a text with them. (words,)"""


class LeavesOut(Capability):
    """Scores rows of the evidence as if they weren't in it."""

    lacking = "rows can't be left out"

    @abstractmethod
    def add_left_out(self, cells: Any, own: Hard, out: Array) -> None:
        """out (rows, classes) += log p(cells | class), where each row leaves its own class and the priors.

        What is the same for all classes may be left out.
        """

    @property
    def refits(self) -> bool:
        """Whether leaving a row out means computing everything again."""
        return False


class Scored(Capability):
    """Scores its columns as arrays, from evidence that rows can be taken out of."""

    @abstractmethod
    def scorer(self) -> Scorer | None:
        """None where the settings or the weights don't allow it."""


class Weighable(Likelihood, LeavesOut, ByColumn):
    """Tuning may multiply the log-likelihood of each of its terms by a weight."""

    lacking = "columns can't be weighed"

    @property
    @abstractmethod
    def term_names(self) -> tuple[str, ...]:
        """What has a weight of its own: all columns together, or each."""

    @abstractmethod
    def weighted(self, weights: Array) -> Weighable:
        """With each term's log-likelihood times a weight; of use to `add` alone."""

    @abstractmethod
    def each(self, cells: Any, shape: tuple[int, int]) -> Array:
        """log p(cells | class) of each term by itself, unweighted. (rows, classes, terms)"""

    @abstractmethod
    def each_nearly_left_out(self, cells: Any, own: Hard) -> Array:
        """The same for rows that are in the evidence, as if they weren't. (rows, classes, terms)

        For tuning it is enough if a row leaves its class, and not the pooled prior.
        """

    @abstractmethod
    def add_weighted_left_out(self, cells: Any, own: Hard, weights: Array, out: Array) -> None:
        """out (rows, classes) += log p(cells | class) without each row, each term times its weight."""


class OneTerm(Weighable):
    """All columns have one weight."""

    @property
    def term_names(self) -> tuple[str, ...]:
        return (ALL,)

    def each(self, cells: Any, shape: tuple[int, int]) -> Array:
        out = np.zeros(shape)
        self.add(cells, out)
        return out[:, :, None]

    def each_nearly_left_out(self, cells: Any, own: Hard) -> Array:
        out = np.zeros((own.rows, own.groups))
        self.add_left_out(cells, own, out)
        return out[:, :, None]

    def add_weighted_left_out(self, cells: Any, own: Hard, weights: Array, out: Array) -> None:
        if weights[0]:
            left_out = np.zeros_like(out)
            self.add_left_out(cells, own, left_out)
            out += weights[0] * left_out


class Independent(Weighable):
    """Columns that are independent of each other given the class: each is a term of its own."""

    @property
    def term_names(self) -> tuple[str, ...]:
        return self.names

    @abstractmethod
    def pick(self, places: Sequence[int]) -> Self:
        """Some of the columns, for cells as `cells_of` cuts them out."""

    @abstractmethod
    def cells_of(self, cells: Any, places: Sequence[int]) -> Any: ...

    def by_column(self, cells: object, shape: tuple[int, int]) -> dict[str, Array]:
        found = {}
        for j, name in enumerate(self.names):
            found[name] = np.zeros(shape)
            self.pick([j]).add(self.cells_of(cells, [j]), found[name])
        return found

    def each(self, cells: Any, shape: tuple[int, int]) -> Array:
        return np.stack([*self.by_column(cells, shape).values()], axis=-1)

    def each_nearly_left_out(self, cells: Any, own: Hard) -> Array:
        return np.stack([self._column_left_out(j, cells, own) for j in range(len(self.names))], axis=-1)

    def add_weighted_left_out(self, cells: object, own: Hard, weights: Array, out: Array) -> None:
        for j in np.flatnonzero(weights).tolist():
            out += weights[j] * self._column_left_out(j, cells, own)

    def _column_left_out(self, j: int, cells: object, own: Hard) -> Array:
        """Of one column. (rows, classes)"""
        out = np.zeros((own.rows, own.groups))
        self.pick([j]).add_left_out(self.cells_of(cells, [j]), own, out)
        return out


class Averageable(Independent):
    """Each column may depend on the class or not: the two are averaged (see subset_averaging)."""

    @abstractmethod
    def as_one(self) -> Self:
        """All classes as one."""

    @abstractmethod
    def log_evidence(self) -> Array:
        """log p(a column's cells | their classes), parameters integrated out. (columns,)"""

    @abstractmethod
    def log_evidence_left_out(self, cells: Any, own: Hard) -> Array:
        """The same of a single column, without each row. (rows,)"""


class Tabular(Averageable):
    """Columns are tables of probabilities, so that the average is a table, too.

    A row of weight 1 moves the log-evidence of a table by a few nats at most.
    """

    @abstractmethod
    def averaging(self, depends: Array) -> Self:
        """With each class's table mixed with that of all, by how probable it is that a column depends on the class."""


class KnowsFarRows(Averageable):
    """Finds the few rows for which the improbable side of an average matters."""

    @abstractmethod
    def far(self, cells: Any, alike: Self, log_odds: Array, certain: float) -> NDArray[np.bool_]:
        """Rows with a cell so far out that the improbable one of two sides (each class's own law, or one for all, with
        those odds) could matter after all."""

    @abstractmethod
    def rows_of(self, cells: Any, rows: NDArray[np.bool_]) -> Any:
        """The cells of some rows."""


def read_counting_ignored(likelihood: Likelihood, batch: Batch) -> tuple[Any, Ignored]:
    """The cells of any likelihood, and how many of them hold ignored values."""
    counts = CountsIgnored.of(likelihood)
    return (likelihood.read(batch), {}) if counts is None else counts.read_counting_ignored(batch)


def log_base(likelihood: Likelihood, cells: object) -> Array | float:
    """log of the factor that `add` leaves out. (rows, 1)"""
    shared = SharedFactor.of(likelihood)
    return 0.0 if shared is None else np.reshape(shared.base(cells), (-1, 1))
