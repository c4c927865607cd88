"""What a block of columns offers a model in which, given the class, blocks are independent."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from credo.core.evidence import Evidence
from credo.core.labels import Label
from credo.core.membership import Hard, Membership
from credo.data import Batch
from credo.data.schema import Axis
from credo.errors import EvidenceError
from credo.numerics.exact import Array

if TYPE_CHECKING:
    from credo.blocks.scoring import Scorer
    from credo.blocks.tally import Tally

ALL = "(all together)"  # the name of the term of columns that have one weight
Estimate = Literal["bayes", "mean", "map", "ml"]
Silence = tuple[str, str]  # a column, and what some of its cells hold that says nothing
NEW = "unseen values"


@dataclass(frozen=True)
class Settings:
    """What the evidence leaves open: how parameters are estimated, and what the priors are worth."""

    estimate: Estimate = "bayes"
    smoothing: float = 1.0  # Dirichlet(l) on each categorical distribution
    m: float | None = None  # the m-estimate: Dirichlet(m p) instead
    p: Mapping[str, Mapping[Any, float]] = field(default_factory=dict)  # {column: {value: share}}; else all alike
    strength: float = 1.0  # rows that the prior on a number's mean and variance is worth
    odds: Mapping[Axis, tuple[float, float]] = field(default_factory=dict)  # {text column, or its pairs: (c, p)}
    shrinkage: float = 1.0  # of columns together: their covariance's prior is worth so many times d + 2 rows
    average: bool = False  # over all subsets of columns that may depend on the group


class Parameter(NamedTuple):
    """One line of a model's table of parameters."""

    column: str
    name: str  # of the parameter, or the value whose probability it is
    estimates: Array  # (classes,)


class Block(ABC):
    """Some columns, and how they are read."""

    names: tuple[str, ...]

    @property
    def counted(self) -> frozenset[Any]:
        """What it keeps of the rows: what several blocks keep is counted once."""
        return frozenset({(type(self).__name__, self.names)})

    @abstractmethod
    def summarise(self, batch: Batch, member: Membership, groups: str) -> Evidence:
        """The statistics of a batch's rows by group, under hard or soft membership; `groups` is the groups' column."""

    def pruned(self, evidence: Evidence) -> Evidence:
        """Without what there is no room for; most have room for all."""
        return evidence

    @abstractmethod
    def likelihood(self, evidence: Evidence, settings: Settings) -> Likelihood:
        """What the evidence says of rows to come."""

    @abstractmethod
    def labels(self, evidence: Evidence) -> Sequence[Label]:
        """The labels of its parts of the evidence."""

    def crowded(self, evidence: Evidence, slack: float) -> Label | None:  # noqa: ARG002 - of use to those who override
        """What, of its sums, no rows have, beside any part with more observations than rows (see Evidence.crowded)."""
        return None

    def tally(self, evidence: Evidence, groups: str) -> Tally:  # noqa: ARG002 - of use to those who override
        """What adds rows one by one to that evidence."""
        from credo.blocks.tally import Gathered

        return Gathered(self, groups)


def counting(blocks: Iterable[Block]) -> list[Block]:
    """Those that count all that any of them keeps."""
    chosen: list[Block] = []
    for block in sorted(blocks, key=lambda block: -len(block.counted)):
        if not any(block.counted <= other.counted for other in chosen):
            chosen.append(block)
    return chosen


class Likelihood(ABC):
    """log p(cells | class) of a block's columns, for every class."""

    names: tuple[str, ...]

    @property
    def term_names(self) -> tuple[str, ...]:
        """What is weighed by itself when tuning: all columns together, or each."""
        return (ALL,)

    @abstractmethod
    def said(self, cells: Any, shape: tuple[int, int]) -> dict[str, Array]:
        """What each column says of the classes, with its weight: their sum is what `add` adds. (rows, classes) each

        Columns that covary are taken one after another: what each says is what it adds to those before it.
        """

    def hidden(self, cells: Any, said: Array) -> dict[str, Array] | None:  # noqa: ARG002 - few know a fast way
        """What goes of what all columns say when one column's cells are hidden; None where only reading the others
        again can tell. (rows, classes) each"""
        return None

    @property
    def refits(self) -> bool:
        """Whether leaving a row out means computing everything again."""
        return False

    @abstractmethod
    def read(self, batch: Batch) -> Any:
        """The cells as the other methods take them."""

    @abstractmethod
    def add(self, cells: Any, out: Array) -> None:
        """out (rows, classes) += log p(cells | class); a missing cell is summed out."""

    @abstractmethod
    def add_left_out(self, cells: Any, own: Hard, out: Array) -> None:
        """The same for rows that are in the evidence, as if they weren't: each leaves its own class and the priors.

        What is the same for all classes may be left out.
        """

    def scorer(self) -> Scorer | None:
        """What scores its columns by themselves, from evidence that rows can be taken out of; None where there is no
        such thing."""
        return None

    def cells_to_score(self, cells: Any) -> Any:
        """Cells as its scorer takes them, rows first."""
        raise NotImplementedError

    def each(self, cells: Any, shape: tuple[int, int]) -> Array:
        """log p(cells | class) of each term by itself, unweighted. (rows, classes, terms)"""
        if (scorer := self.scorer()) is not None:
            return scorer.each(self.cells_to_score(cells), np.arange(len(self.names)))
        found = np.zeros((*shape, len(self.term_names)))
        for j in range(len(self.term_names)):
            out = np.zeros(shape)
            self.pick([j]).add(self.cells_of(cells, [j]), out)
            found[:, :, j] = out
        return found

    def each_nearly_left_out(self, cells: Any, own: Hard) -> Array:
        """The same for rows that are in the evidence, as if they weren't. (rows, classes, terms)

        For tuning it is enough if a row leaves its class, and not the pooled prior.
        """
        if (scorer := self.scorer()) is not None:
            return scorer.each_left_out(self.cells_to_score(cells), own, np.arange(len(self.names)))
        found = np.zeros((own.rows, own.groups, len(self.term_names)))
        for j in range(len(self.term_names)):
            out = np.zeros(found.shape[:2])
            self.pick([j]).add_left_out(self.cells_of(cells, [j]), own, out)
            found[:, :, j] = out
        return found

    def add_weighed_left_out(self, cells: Any, own: Hard, weights: Array, out: Array) -> None:
        """The same, each term times its weight."""
        for j, weight in enumerate(weights):
            if weight:
                said = np.zeros_like(out)
                self.pick([j]).add_left_out(self.cells_of(cells, [j]), own, said)
                out += weight * said

    def pick(self, places: Sequence[int]) -> Likelihood:  # noqa: ARG002 - there is but one
        """Some of the terms, for cells as `cells_of` cuts them out."""
        return self

    def cells_of(self, cells: Any, places: Sequence[int]) -> Any:  # noqa: ARG002 - there is but one
        return cells

    @abstractmethod
    def weighted(self, weights: Array) -> Likelihood:
        """With each term's log-likelihood times a weight; of use to `add` alone."""

    def base(self, cells: Any) -> Array | float:  # noqa: ARG002 - most have none
        """log of the factor of p(cells | class) that `add` leaves out, since all classes share it. (rows,)"""
        return 0.0

    def log_prior(self) -> float:
        """log p(parameters) at the mode, up to a constant: what EM adds to the log-likelihood."""
        raise EvidenceError(f"{', '.join(map(repr, self.names))}: EM can't fit scores that aren't a likelihood")

    @abstractmethod
    def sample(self, classes: Any, rng: np.random.Generator) -> dict[str, Any]:
        """Cells of rows of these classes (codes): a column each, NaN or None where nothing is known of it."""

    @abstractmethod
    def parameters(self) -> list[Parameter]:
        """A readable list."""

    @property
    @abstractmethod
    def free_parameters(self) -> int:
        """How many numbers the classes' distributions have."""

    def silent(self, batch: Batch, cells: Any) -> dict[Silence, int]:  # noqa: ARG002 - most read every value
        """How many cells of each column hold something that says nothing, and what it is."""
        return {}


class Independent(Likelihood):
    """Columns that are independent of each other, too: each is a term of its own."""

    @property
    def term_names(self) -> tuple[str, ...]:
        return self.names

    def said(self, cells: Any, shape: tuple[int, int]) -> dict[str, Array]:
        found = {}
        for j, name in enumerate(self.names):
            found[name] = np.zeros(shape)
            self.pick([j]).add(self.cells_of(cells, [j]), found[name])
        return found

    @abstractmethod
    def pick(self, places: Sequence[int]) -> Independent: ...

    @abstractmethod
    def cells_of(self, cells: Any, places: Sequence[int]) -> Any: ...

    @abstractmethod
    def weighted(self, weights: Array) -> Independent: ...

    @abstractmethod
    def as_one(self) -> Independent:
        """All classes as one."""

    def averaging(self, depends: Array) -> Independent | None:  # noqa: ARG002 - few have tables
        """With each class's table mixed with that of all, by how probable it is that a column depends on the class."""
        return None

    def far(
        self,
        cells: Any,
        alike: Independent,  # noqa: ARG002 - most can't tell
        log_odds: Array,  # noqa: ARG002
        certain: float,  # noqa: ARG002
    ) -> NDArray[np.bool_]:
        """Rows with a cell so far out that the improbable one of two sides (each class's own law, or one for all, with
        those odds) could matter after all."""
        return np.ones(self.length(cells), dtype=bool)

    @abstractmethod
    def length(self, cells: Any) -> int:
        """How many rows these are."""

    @abstractmethod
    def rows_of(self, cells: Any, rows: NDArray[np.bool_]) -> Any:
        """The cells of some rows."""

    @property
    def steady(self) -> bool:
        """Whether a row of weight 1 moves the evidence by a few nats at most: it does where it falls into a table."""
        return False

    @abstractmethod
    def log_evidence(self) -> Array:
        """log p(a column's cells | their classes), parameters integrated out. (columns,)"""

    @abstractmethod
    def log_evidence_left_out(self, cells: Any, own: Hard) -> Array:
        """The same of a single column, without each row. (rows,)"""
