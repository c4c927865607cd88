"""A decision tree, averaged over its prunings, as a candidate: grown without each fold, scored on the fold's rows.

The tree is tuning, like the weights of a logistic regression: it stays fixed until the model is tuned again.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from credo._kernels.tree.splitting import MISSING
from credo.blocks.capabilities import CountsIgnored, Ignored
from credo.data import Batch, Source
from credo.data.cutting import joined
from credo.models.forms import Views
from credo.models.tree.binning import Bins, read_cells
from credo.models.tree.model import DecisionTree
from credo.models.tree.prunings import learned
from credo.models.tree.sampling import TreeSample, sampled
from credo.models.tree.structure import Cells, Structure
from credo.numerics.arrays import Positions, less_mean
from credo.numerics.exact import Array
from credo.selection.linear_terms import DiscriminativeTerm

LEAST_TREE_ROWS = 100  # below this many rows, no tree is grown
TREE_KINDS = {
    "gaussian": "number",
    "log": "number",
    "binned": "number",
    "category": "category",
    "count": "count",
    "date": "date",
}


@dataclass(frozen=True, eq=False)
class TreeRows:
    """The rows of a sample, encoded for trees."""

    sample: TreeSample
    views: Views

    def take(self, rows: NDArray[np.bool_]) -> TreeRows:
        return replace(self, sample=self.sample.take(np.flatnonzero(rows)))

    def blanked(self, names: Sequence[str], gone: NDArray[np.bool_]) -> TreeRows:
        """The rows with cells of some columns missing, too. gone: (rows, names)"""
        where = dict(zip(names, gone.T, strict=True))
        nothing = np.zeros(len(self.sample.truth), dtype=bool)
        x = self.sample.x.copy()
        for name in where.keys() & self.sample.numbers.keys():
            x[self.sample.numbers[name], where[name]] = np.nan
        categories = {
            name: np.where(where.get(name, nothing), -1, codes).astype(np.int32)
            for name, codes in self.sample.categories.items()
        }
        return replace(self, sample=replace(self.sample, x=x, categories=categories))


def tree_rows(model: Any, parts: Sequence[Batch], weight: Array) -> TreeRows | None:
    """The columns of batches that aren't texts, encoded for trees; None without such columns, or for few rows."""
    views: Views = {name: (TREE_KINDS[own[0]],) for name, own in model.views.items() if own[0] in TREE_KINDS}
    views = {name: ("gaussian",) if kind == "number" else (kind,) for name, (kind,) in views.items()}
    if not views or len(weight) < LEAST_TREE_ROWS:
        return None
    batch = parts[0] if len(parts) == 1 else joined(parts)
    return TreeRows(sampled(Source.of_batch(batch), str(model.target), views, weight), views)


@dataclass(frozen=True, eq=False)
class GrownTree:
    """A tree, and P(class) in its nodes, averaged over prunings."""

    columns: tuple[Bins, ...]
    structure: Structure
    predictions: Array  # (nodes, classes)

    @classmethod
    def of(cls, rows: TreeRows, classes: int) -> GrownTree:
        tree, sample = DecisionTree(), rows.sample
        columns = sample.bins(rows.views)
        encoded = sample.encoded(columns, tree.growth.gain, classes)
        found = learned(encoded, tree.growth, tree.prune).prunings(tree.growth.prior(classes))
        return cls(columns, found.structure, found.predictions)

    def log_odds(self, sample: Any) -> Array:
        """The log-odds of a sample's rows. (rows, classes)"""
        cells = sample.trees.sample.cells_of(self.columns, self.structure.asked)
        return tree_log_odds(self.structure, self.predictions, cells)


def tree_log_odds(structure: Structure, predictions: Array, cells: Cells) -> Array:
    """log P(class | row)/P(class), minus its mean over classes. (rows, classes)"""
    unknown = np.full((len(cells), 1), MISSING, dtype=np.uint8)
    ratio = np.log(structure.spread(cells, predictions)) - np.log(structure.spread(unknown, predictions))
    return less_mean(ratio)


@dataclass(frozen=True, eq=False)
class TreeTerm(DiscriminativeTerm, CountsIgnored):
    """log P(class | row) - log P(class) by a tree, for each class."""

    form: ClassVar[str] = "decision tree"

    tree: DecisionTree
    places: tuple[int, ...] = ()  # positions of the model's classes in the tree's; -1 for a class that came later
    share: float = 1.0

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(each.name for each in self.tree.columns)

    def over(self, known: Sequence[Any], classes: Sequence[Any]) -> TreeTerm:  # noqa: ARG002 - the tree knows its classes
        place = {value: k for k, value in enumerate(self.tree.classes)}
        return replace(self, places=tuple(place.get(value, -1) for value in classes))

    def read(self, batch: Batch) -> Cells:
        return self.read_counting_ignored(batch)[0]

    def read_counting_ignored(self, batch: Batch) -> tuple[Cells, Ignored]:
        return read_cells(self.tree.columns, batch)

    def _log_odds(self, cells: Cells) -> Array:
        """The weighted log-odds of rows, 0 for classes that came later. (rows, classes)"""
        structure = self.tree.structure
        assert structure is not None
        found = tree_log_odds(structure, self.tree.prunings.predictions, cells)
        return np.asarray(self.share * np.append(found, np.zeros((len(found), 1)), axis=1)[:, list(self.places)])

    def add(self, cells: Cells, out: Array) -> None:
        out += self._log_odds(cells)

    def by_column(self, cells: Cells, shape: tuple[int, int]) -> dict[str, Array]:  # noqa: ARG002
        """The change of the log-odds as columns are revealed in turn."""
        shown, before = np.full_like(cells, MISSING), np.zeros((cells.shape[1], len(self.places)))
        names, found = self.names, dict.fromkeys(self.names, np.zeros_like(before))
        for j in self._asked:
            shown[j] = cells[j]
            now = self._log_odds(shown)
            found[names[j]], before = now - before, now
        return found

    def hidden(self, cells: Cells, log_likelihood: Array) -> dict[str, Array]:  # noqa: ARG002
        whole, names = self._log_odds(cells), self.names
        found = dict.fromkeys(names, np.zeros_like(whole))
        for j in self._asked:
            covered = cells.copy()
            covered[j] = MISSING
            found[names[j]] = whole - self._log_odds(covered)
        return found

    @property
    def _asked(self) -> Positions:
        """The columns that the tree splits on."""
        assert self.tree.structure is not None
        return self.tree.structure.asked

    @property
    def free_parameters(self) -> int:
        return int(self.tree.n_leaves * (len(self.tree.classes) - 1))

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, TreeTerm):
            return NotImplemented
        same = self.share == other.share and self.tree.classes == other.tree.classes
        return same and self.tree.mergeable(other.tree) is None and self.tree.n == other.tree.n


class TreeFolds:
    """Trees grown without each fold, and one grown on all rows."""

    def __init__(self, model: Any, rows: TreeRows, fold: NDArray[np.intp]) -> None:
        self._model, self._rows, self._fold = model, rows, fold
        self._classes = len(model.classes)

    def of_fold(self, k: int) -> GrownTree:
        return GrownTree.of(self._rows.take(self._fold != k), self._classes)

    def whole(self, parts: Sequence[Batch], weight: Array) -> TreeTerm:
        kinds: Mapping[str, str] = {name: TREE_KINDS.get(own[0], "ignore") for name, own in self._model.views.items()}
        batch = parts[0] if len(parts) == 1 else joined(parts)
        tree = DecisionTree(kinds=dict(kinds)).fit(Source.of_batch(batch), str(self._model.target), weight=weight)
        return TreeTerm(tree)
