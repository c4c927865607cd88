"""Learning curves: scores on withheld rows by the number of training rows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from credo.core.learning import Weight, Weights
from credo.core.records import Shown
from credo.data import Source
from credo.errors import DataError
from credo.models.metrics import Scores
from credo.notices import quietly

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from credo.models.classifier import Classifier

CURVE_SIZES = 8  # sizes, if none are asked for, each about twice the one before


@dataclass(frozen=True, eq=False)
class LearningCurve(Shown):
    """Accuracy and log-loss on withheld rows against the number of training rows."""

    sizes: tuple[int, ...]
    scores: tuple[Scores, ...]
    tuned: bool = False  # whether the model was tuned again on the rows of each size

    @property
    def accuracy(self) -> tuple[float, ...]:
        return tuple(each.accuracy for each in self.scores)

    @property
    def log_loss(self) -> tuple[float, ...]:
        return tuple(each.log_loss for each in self.scores)

    def table(self) -> pa.Table:
        """The curve as an Arrow table."""
        return pa.table({"rows": self.sizes, "accuracy": self.accuracy, "log-loss": self.log_loss})

    def __repr__(self) -> str:
        lines = zip(self.sizes, self.accuracy, self.log_loss, strict=True)
        shown = "\n".join(f"{rows:>9}  {accuracy:8.4f}  {loss:8.4f}" for rows, accuracy, loss in lines)
        return f"     rows  accuracy  log-loss\n{shown}"

    def plot(self) -> Figure:
        """Accuracy and log-loss over the number of rows, on a logarithmic scale."""
        from credo.present.plotting import Figure

        figure = Figure(figsize=(8, 3.2), layout="constrained")
        for panel, name, values in zip(
            figure.subplots(1, 2), ("accuracy", "log-loss"), (self.accuracy, self.log_loss), strict=True
        ):
            panel.plot(self.sizes, values, "o-")
            panel.set(xscale="log", xlabel="rows learned", ylabel=f"{name} of held-out rows")
            panel.grid(alpha=0.3)
        return figure


def learning_curve(
    model: Classifier, table: Source, weight: Weight, withheld: float, sizes: Sequence[int] | None, seed: int
) -> LearningCurve:
    """The curve of a model, fitted at each size and, if it is tuned, tuned again: its tuning has seen withheld rows."""
    table.check_rereadable("a learning curve reads the data again")
    if not isinstance(withheld, int | float) or not 0 < withheld < 1:
        raise DataError(f"withheld must be a share of the rows between 0 and 1, but is {withheld!r}")
    plain, table = model.untuned(), table.held()
    rows = table.rows if table.rows is not None else table.count(str(model.target))
    order = np.random.default_rng(seed).permutation(rows)
    learned = rows - round(withheld * rows)
    if not 0 < learned < rows:
        raise DataError(f"{rows} rows are too few to withhold some of them")
    chosen, last = asked_sizes(sizes, learned), row_flags(order[learned:], rows)
    current, before, found = None, 0, []
    with quietly():
        for size in chosen:
            some = row_flags(order[before:size], rows)
            new = plain.gathered(table.where(some), weights_at(weight, some))
            current, before = new if current is None else current + new, size
            trained = plain.with_evidence(current.ordered())
            if model.tuning is not None:
                trained = _tuned(model, trained, table, weight, row_flags(order[:size], rows), seed)
            knowing = trained.fitted_to(trained.seen, plain.seen)
            scores = knowing.scores(table.where(last), weight=weights_at(weight, last))
            found.append(replace(scores, how="withheld"))
    return LearningCurve(tuple(chosen), tuple(found), model.tuning is not None)


def _tuned(
    model: Classifier, trained: Classifier, table: Source, weight: Weight, rows: NDArray[np.bool_], seed: int
) -> Classifier:
    """The model fitted to some rows and tuned as before; untuned while they have one class."""
    if np.count_nonzero(trained.class_weights) < 2:
        return trained
    fresh = model.replaced(views=trained.views, evidence=trained.evidence)
    return fresh.tune(table.where(rows), weight=weights_at(weight, rows), seed=seed)


def row_flags(places: NDArray[np.intp], rows: int) -> NDArray[np.bool_]:
    """A flag for each row: whether its position is among `places`."""
    found = np.zeros(rows, dtype=bool)
    found[places] = True
    return found


def weights_at(weight: Weight, rows: NDArray[np.bool_]) -> Weight:
    """The weights of the flagged rows."""
    given = Weights.of(weight)
    return weight if given.values is None else given.values[rows]


def asked_sizes(asked: Sequence[int] | None, most: int, least: int = 1) -> list[int]:
    """The sizes asked for, sorted; by default, each about twice the one before, up to all rows."""
    if asked is None:
        return sorted({max(least, most >> k) for k in range(CURVE_SIZES)})
    wrong = [size for size in asked if not isinstance(size, int | np.integer) or not least <= size <= most]
    if wrong or not len(asked):
        what = f"{wrong[0]!r}" if wrong else "none"
        raise DataError(
            f"sizes must be whole numbers from {least} to {most}, the rows that aren't withheld, but there is {what}"
        )
    return sorted({int(size) for size in asked})
