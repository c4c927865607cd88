"""Optional interfaces of blocks and likelihoods, each with a few methods.

A class inherits the capabilities that it has. `Capability.of(x)` is None if x lacks the capability, and
`Capability.needed(x)` raises an error.
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

Ignored = dict[tuple[str, str], int]  # {(column, description of ignored values): number of cells}


class Capability(ABC):  # noqa: B024 - each capability has abstract methods
    """An operation that only some blocks or likelihoods support."""

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
    """Drops rare levels, so that a stream takes bounded memory."""

    @abstractmethod
    def pruned(self, evidence: Evidence) -> Evidence: ...


class Limits(Capability):
    """Checks further limits of its sums, besides observations ≤ rows (see Evidence.crowded)."""

    @abstractmethod
    def crowded(self, evidence: Evidence, slack: float) -> Label | None:
        """A part with impossible sums; None without such a part."""


class Completes(Capability):
    """Computes expectations of missing cells, too: EM over hidden groups and missing cells."""

    @abstractmethod
    def expected(self, batch: Batch, member: Soft, groups: str, now: Likelihood | None) -> Evidence:
        """The expected statistics of a batch at the parameters of `now`, which is None at the start."""


class ExpectsHidden(Capability):
    """Computes the E-step of rows with hidden groups in one pass."""

    @abstractmethod
    def expected_hidden(
        self, batch: Batch, before: Before, groups: str, now: Likelihood
    ) -> tuple[Evidence, HiddenGroups] | None:
        """The expected statistics at the current parameters; None if responsibilities are needed first. The rows'
        log-likelihoods by other blocks are replaced by responsibilities."""


class CountsJointValues(Capability):
    """Derives its statistics from the counts of its columns' joint values."""

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
        """The block with δ of some columns; expected statistics are then those of y."""


class Tallies(Capability):
    """Learns one row at a time, faster than by storing rows (see tally.KeptRows)."""

    @abstractmethod
    def tally(self, evidence: Evidence) -> Tally:
        """A tally that adds rows one by one to the evidence."""


# Of likelihoods


class Rounded(Capability):
    """Knows how precise its parameters are."""

    @abstractmethod
    def rounding(self) -> float:
        """By how much their rounding errors may lower the log-likelihood of the rows that they were fitted to."""


class Draws(Capability):
    """Samples cells."""

    lacking = "no cells can be drawn"

    @abstractmethod
    def sample(self, classes: object, rng: np.random.Generator) -> dict[str, Any]:
        """Cells of rows of these classes (codes), by column; NaN or None where unknown."""


class LogPrior(Capability):
    """Has a prior density of its parameters, for EM."""

    lacking = "EM can't fit scores that aren't a likelihood"

    @abstractmethod
    def log_prior(self) -> float:
        """log p(parameters) at the mode, up to a constant; EM adds it to the log-likelihood."""


class LogEvidence(Capability):
    """Integrates parameters out, and evaluates its statistics at given parameters, to approximate the evidence of
    models with hidden variables."""

    lacking = "their evidence has no closed form"

    @abstractmethod
    def log_evidence(self) -> Array:
        """log p(statistics) with parameters integrated out, as one or more terms of a sum."""

    @abstractmethod
    def log_likelihood_at(self, other: Self) -> float:
        """log p(statistics | the point estimate of another likelihood of the same columns)."""


class Points(Capability):
    """Embeds rows in a space where dissimilar rows are far apart."""

    lacking = "rows can't be compared"

    @abstractmethod
    def points(self, cells: Any) -> Array:
        """Coordinates with a variance of about 1; NaN where a cell is missing. (rows, coordinates)"""


class Expects(Capability):
    """Computes expected cells."""

    @abstractmethod
    def expected_cells(self, cells: Any, shares: Array) -> dict[str, Any]:
        """The mean of a number given the row's known ones, the most probable value of a category; NaN or None in a
        column without evidence. shares: (rows, groups) P(group)"""


class DrawsGiven(Capability):
    """Samples cells given the other cells of a row."""

    @abstractmethod
    def sample_given(self, cells: Any, classes: Any, rng: np.random.Generator) -> dict[str, Any]:
        """As `Draws.sample`, given the known cells, which are kept."""


class ReadAgain(Capability):
    """Scores rows faster when EM reads them repeatedly."""

    @abstractmethod
    def add_again(self, batch: Batch, out: Array) -> None:
        """The same as `add` of the cells that `read` returns, base included."""


class LooksUp(Capability):
    """Has a table of log-likelihoods of joint values of its columns, if rows are many more. Its block counts joint
    values."""

    @abstractmethod
    def lookup(self, batch: Batch) -> Lookup | None:
        """The table; None for few rows."""


class SharedFactor(Capability):
    """Omits from `add` a factor of p(cells | class) that all classes share."""

    @abstractmethod
    def base(self, cells: Any) -> Array | float:
        """The logarithm of the factor. (rows,)"""


class CountsIgnored(Capability):
    """Ignores some values, and counts their cells."""

    @abstractmethod
    def read_counting_ignored(self, batch: Batch) -> tuple[Any, Ignored]:
        """The cells as in `read`, and the numbers of cells with ignored values."""


class ByColumn(Capability):
    """Gives the contribution of each column to the log-likelihood."""

    lacking = "the columns' contributions can't be separated"

    @abstractmethod
    def by_column(self, cells: Any, shape: tuple[int, int]) -> dict[str, Array]:
        """The weighted log-likelihood of each column: `add` adds their sum. (rows, classes) each

        Dependent columns are taken in turn, each given the earlier ones.
        """


class Hides(Capability):
    """Computes the effect of hiding one column's cells without computing everything again."""

    lacking = "to hide a column, the others must be read again"

    @abstractmethod
    def hidden(self, cells: Any, log_likelihood: Array) -> dict[str, Array]:
        """The decrease of the log-likelihood if a column is hidden. (rows, classes) each"""


class WordByWord(Capability):
    """Gives the contribution of each word of a text to the log-likelihood."""

    lacking = "it isn't read word by word"

    @property
    @abstractmethod
    def reading(self) -> Any:
        """How texts are split into words."""

    @abstractmethod
    def words_of(self, cells: Any) -> dict[str, Array]:
        """The weighted log-likelihood of each word of one text; their sum is that of the text. (classes,) each"""


class WeighsWords(Capability):
    """Has one weight per word, in any text."""

    @abstractmethod
    def weights_for(self, k: int, others: Array, words: object) -> Array:
        """The weights of words for class k against the shares `others` of classes, in a text that contains them.
        (words,)"""


class LeavesOut(Capability):
    """Scores rows of the evidence, each left out."""

    lacking = "rows can't be left out"

    @abstractmethod
    def add_left_out(self, cells: Any, own: Hard, out: Array) -> None:
        """out (rows, classes) += log p(cells | class), where each row is removed from its class and from the priors.

        A factor that all classes share may be omitted.
        """

    @property
    def refits(self) -> bool:
        """Whether leaving a row out takes a refit."""
        return False


class Scored(Capability):
    """Scores its columns as arrays, from evidence that rows can be removed from."""

    @abstractmethod
    def scorer(self) -> Scorer | None:
        """The scorer; None if the settings or the weights don't allow one."""


class Weighable(Likelihood, LeavesOut, ByColumn):
    """Has terms whose log-likelihoods tuning may weight."""

    lacking = "columns can't be weighed"

    @property
    @abstractmethod
    def term_names(self) -> tuple[str, ...]:
        """The names of the terms: one for all columns, or one for each."""

    @abstractmethod
    def weighted(self, weights: Array) -> Weighable:
        """The likelihood with weighted terms, for `add` alone."""

    @abstractmethod
    def each(self, cells: Any, shape: tuple[int, int]) -> Array:
        """The unweighted log p(cells | class) of each term. (rows, classes, terms)"""

    @abstractmethod
    def each_nearly_left_out(self, cells: Any, own: Hard) -> Array:
        """`each` for rows of the evidence, each left out of its class, but not of the pooled prior. (rows, classes,
        terms)"""

    @abstractmethod
    def add_weighted_left_out(self, cells: Any, own: Hard, weights: Array, out: Array) -> None:
        """out (rows, classes) += the weighted log p(cells | class) of each term, each row left out."""


class OneTerm(Weighable):
    """All columns share one weight."""

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
    """Columns that are independent of each other given the class: each is a term."""

    @property
    def term_names(self) -> tuple[str, ...]:
        return self.names

    @abstractmethod
    def pick(self, places: Sequence[int]) -> Self:
        """The likelihood of some columns, for cells as `cells_of` selects them."""

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
        """log p(cells | class) of one column, each row left out. (rows, classes)"""
        out = np.zeros((own.rows, own.groups))
        self.pick([j]).add_left_out(self.cells_of(cells, [j]), own, out)
        return out


class Averageable(Independent):
    """Each column may or may not depend on the class: both cases are averaged (see subset_averaging)."""

    @abstractmethod
    def as_one(self) -> Self:
        """The likelihood with all classes pooled."""

    @abstractmethod
    def log_evidence(self) -> Array:
        """log p(a column's cells | their classes) with parameters integrated out. (columns,)"""

    @abstractmethod
    def log_evidence_left_out(self, cells: Any, own: Hard) -> Array:
        """The log evidence of a single column, each row left out. (rows,)"""


class Tabular(Averageable):
    """Columns are tables of probabilities, so that the average is a table, too.

    A row of weight 1 changes the log-evidence of a table by a few nats at most.
    """

    @abstractmethod
    def averaging(self, depends: Array) -> Self:
        """The likelihood with each class's table mixed with the pooled one, by P(the column depends on the class)."""


class KnowsFarRows(Averageable):
    """Finds the few rows for which the less probable case of an average matters."""

    @abstractmethod
    def far(self, cells: Any, alike: Self, log_odds: Array, certain: float) -> NDArray[np.bool_]:
        """Whether a row has a cell so extreme that the less probable case (one law per class, or one law for all, with
        these odds) could matter."""

    @abstractmethod
    def rows_of(self, cells: Any, rows: NDArray[np.bool_]) -> Any:
        """The cells of some rows."""


def read_counting_ignored(likelihood: Likelihood, batch: Batch) -> tuple[Any, Ignored]:
    """The cells of any likelihood, and the numbers of cells with ignored values."""
    counts = CountsIgnored.of(likelihood)
    return (likelihood.read(batch), {}) if counts is None else counts.read_counting_ignored(batch)


def log_base(likelihood: Likelihood, cells: object) -> Array | float:
    """The logarithm of the factor that `add` omits. (rows, 1)"""
    shared = SharedFactor.of(likelihood)
    return 0.0 if shared is None else np.reshape(shared.base(cells), (-1, 1))
