"""credo.compare: learning curves of a generative and a discriminative model on the same draws.

A generative model (Gaussian discriminant analysis, naive Bayes) estimates p(columns | class); logistic regression fits
P(class | columns) alone. Where its assumptions hold, the former needs fewer rows; where they don't, the latter wins
with enough of them (Ng & Jordan 2002).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from credo.core.learning import Weight, Weights
from credo.core.records import Shown
from credo.data import Source, source
from credo.engines import local
from credo.errors import DataError, check_seed, check_whole
from credo.models.class_predictor import ClassPredictor
from credo.models.discriminant import GaussianDiscriminant
from credo.models.forms import FORM_OF, settled_views
from credo.models.metrics import Scores
from credo.models.naive_bayes import NaiveBayes
from credo.models.targets import check_classes, class_codes, with_target
from credo.notices import quietly
from credo.numerics.exact import Array
from credo.selection.learning_curve import asked_sizes, row_flags, weights_at
from credo.selection.row_sample import sampled_rows
from credo.selection.significance import CLEAR_ERRORS

if TYPE_CHECKING:
    from matplotlib.figure import Figure

COMPARED_ROWS = 20_000  # training and withheld rows of a draw, at most
SIDES = "generative", "discriminative"


@dataclass(frozen=True, eq=False)
class CurveComparison(Shown):
    """The scores of two models on withheld rows, by the number of training rows, over the same draws."""

    target: str
    names: tuple[str, str]  # of the generative model, and of the discriminative one
    sizes: tuple[int, ...]
    log_losses: Array  # (models, draws, sizes)
    accuracies: Array
    withheld: int  # rows of each draw

    @property
    def draws(self) -> int:
        return int(self.log_losses.shape[1])

    @cached_property
    def log_loss(self) -> Array:
        """The mean over draws. (models, sizes)"""
        return np.asarray(self.log_losses.mean(1))

    @cached_property
    def log_loss_error(self) -> Array:
        """The standard error of the mean log-loss. (models, sizes)"""
        return np.asarray(self.log_losses.std(1, ddof=1) / np.sqrt(self.draws))

    @cached_property
    def accuracy(self) -> Array:
        """The mean accuracy over draws. (models, sizes)"""
        return np.asarray(self.accuracies.mean(1))

    @cached_property
    def preferred(self) -> tuple[int | None, ...]:
        """The better model at each size: 0 generative, 1 discriminative, None without a clear difference."""
        apart = self.log_losses[0] - self.log_losses[1]  # (draws, sizes)
        mean, error = apart.mean(0), apart.std(0, ddof=1) / np.sqrt(self.draws)
        clear = np.abs(mean) > CLEAR_ERRORS * error
        return tuple(int(m > 0) if sure else None for m, sure in zip(mean.tolist(), clear.tolist(), strict=True))

    @property
    def advice(self) -> str:
        """The model to prefer at each size, in a sentence."""
        runs: list[tuple[int | None, list[int]]] = []
        for size, side in zip(self.sizes, self.preferred, strict=True):
            if runs and runs[-1][0] == side:
                runs[-1][1].append(size)
            else:
                runs.append((side, [size]))
        if len(runs) == 1:
            found = f"{self._preference(runs[0][0])} at every size from {self.sizes[0]:,} to {self.sizes[-1]:,} rows."
        else:
            last = len(runs) - 1
            each = (
                f"{_range(sizes, i == 0, i == last)} {self._preference(side)}" for i, (side, sizes) in enumerate(runs)
            )
            found = f"{'; '.join(each)}."
        return found[:1].upper() + found[1:]

    def _preference(self, side: int | None) -> str:
        return f"prefer {self.names[side]} ({SIDES[side]})" if side is not None else "there is no clear difference"

    def table(self) -> pa.Table:
        """The curves as an Arrow table, one row per size."""
        columns: dict[str, Any] = {"rows": self.sizes}
        for i, side in enumerate(SIDES):
            columns[f"log-loss, {side}"] = self.log_loss[i]
            columns[f"standard error, {side}"] = self.log_loss_error[i]
            columns[f"accuracy, {side}"] = self.accuracy[i]
        columns["preferred"] = [None if side is None else self.names[side] for side in self.preferred]
        return pa.table(columns)

    def __repr__(self) -> str:
        head = (
            f"{self.target}: {self.names[0]} against {self.names[1]}, {self.draws} draws, {self.withheld} rows withheld"
        )
        lines = [
            f"{size:>9}  {a:8.4f} ± {b:.4f}  {c:8.4f} ± {d:.4f}"
            for size, a, b, c, d in zip(
                self.sizes,
                self.log_loss[0],
                self.log_loss_error[0],
                self.log_loss[1],
                self.log_loss_error[1],
                strict=True,
            )
        ]
        return "\n".join([head, "     rows  log-loss, generative  log-loss, discriminative", *lines, self.advice])

    def plot(self) -> Figure:
        """Both learning curves, with twice the standard error."""
        from credo.present.plotting import Figure

        figure = Figure(figsize=(8, 3.2), layout="constrained")
        panels = figure.subplots(1, 2)
        for panel, what, values in zip(
            panels, ("log-loss", "accuracy"), (self.log_losses, self.accuracies), strict=True
        ):
            for name, own in zip(self.names, values, strict=True):
                mean, error = own.mean(0), 2 * own.std(0, ddof=1) / np.sqrt(self.draws)
                (line,) = panel.plot(self.sizes, mean, "o-", label=name)
                panel.fill_between(self.sizes, mean - error, mean + error, alpha=0.2, color=line.get_color())
            panel.set(xscale="log", xlabel="rows learned", ylabel=f"{what} of held-out rows")
            panel.grid(alpha=0.3)
        panels[0].legend()
        return figure


def _range(sizes: Sequence[int], first: bool, last: bool) -> str:
    if first:
        return f"up to {sizes[-1]:,} rows"
    if last:
        return f"from {sizes[0]:,} rows"
    return f"at {sizes[0]:,} rows" if len(sizes) == 1 else f"from {sizes[0]:,} to {sizes[-1]:,} rows"


def compare(
    data: object, target: object, *, generative: ClassPredictor | None = None,
    discriminative: ClassPredictor | None = None, sizes: Sequence[int] | None = None, draws: int = 10,
    withheld: float = 1 / 3, kinds: Mapping[str, Any] | None = None, weight: Weight = None, seed: int = 0,
) -> CurveComparison:  # fmt: skip
    """Learning curves of a generative and a discriminative model, and which to prefer at which size.

    The defaults are Gaussian discriminant analysis with a shared covariance (naive Bayes unless all columns are
    numbers) and logistic regression: the same linear boundaries, fitted in two ways. Each draw withholds different
    rows, and every size has at least one row of each class.
    """
    table, name = with_target(source(data), target)
    table.check_rereadable("a comparison reads the data many times")
    draws = check_whole("draws", draws, 2, DataError)
    if not isinstance(withheld, int | float) or not 0 < withheld < 1:
        raise DataError(f"withheld must be a share of the rows between 0 and 1, but is {withheld!r:.60}")
    table, weight = _in_memory(table.held(), name, weight)
    codes = _codes(table, name)
    models = _models(table, name, kinds, weight, generative, discriminative)
    rng, found = np.random.default_rng(check_seed(seed)), list[list[list[Scores]]]()
    classes = int(codes.max(initial=-1)) + 1
    if classes < 2:
        raise DataError(f"column {name!r} holds one class only: there is nothing to classify")
    rows = min(int((codes >= 0).sum()), COMPARED_ROWS)
    learned = rows - max(1, round(withheld * rows))
    if learned < 2 * classes:
        raise DataError(f"{rows} rows of {classes} classes are too few to withhold some of them")
    chosen = asked_sizes(sizes, learned, least=2 * classes)
    with quietly(), local.small_matrices():
        for _ in range(draws):
            order = _drawn(codes, rng)[:rows]
            found.append([_curve(model, table, name, weight, order, learned, chosen) for model in models])
    losses, accuracies = (
        np.array([[[getattr(each, what) for each in curve] for curve in draw] for draw in found]).swapaxes(0, 1)
        for what in ("log_loss", "accuracy")
    )
    names = type(models[0]).__name__, type(models[1]).__name__
    return CurveComparison(name, names, tuple(chosen), losses, accuracies, rows - learned)


def _in_memory(table: Source, target: str, weight: Weight) -> tuple[Source, Weight]:
    """The table and its weights; of one that isn't in memory, a sample."""
    if table.rows is not None and table.nearby:
        return table, weight
    found = sampled_rows(table, target, Weights.of(weight), COMPARED_ROWS, few=True)
    if found is None:
        raise DataError(f"no row has a cell of column {target!r}, and a weight above 0")
    return found[0], weight if weight is None or isinstance(weight, str) else found[1]


def _codes(table: Source, target: str) -> NDArray[np.intp]:
    """The code of each row's class; -1 where it is missing."""
    values, codes = dict[Any, int](), list[NDArray[np.intp]]()
    for batch in table.batches([target]):
        own, levels = class_codes(batch, target)
        places = [values.setdefault(value, len(values)) for value in levels.to_pylist()]
        codes.append(np.array([*places, -1], dtype=np.intp)[own])
    return np.concatenate(codes) if codes else np.zeros(0, dtype=np.intp)


def _models(
    table: Source, target: str, kinds: Mapping[str, Any] | None, weight: Weight, generative: ClassPredictor | None,
    discriminative: ClassPredictor | None,
) -> tuple[ClassPredictor, ClassPredictor]:  # fmt: skip
    others = check_classes(table, target, kinds)
    if generative is None:
        names = [name for name in table.without(weight).names if name != target]
        with quietly():
            _, views = settled_views(table, names, others)
        numbers = all(forms[0] == FORM_OF["number"] for forms in views.values())
        generative = GaussianDiscriminant("tied", kinds=kinds) if numbers and views else NaiveBayes(kinds=kinds)
    if discriminative is None:
        from credo.models.regression.logistic import LogisticRegression

        discriminative = LogisticRegression(kinds=kinds)
    return generative, discriminative


def _drawn(codes: NDArray[np.intp], rng: np.random.Generator) -> NDArray[np.intp]:
    """The positions of labelled rows in random order, after one row of each class."""
    order = rng.permutation(np.flatnonzero(codes >= 0))
    _, first = np.unique(codes[order], return_index=True)
    leads = np.zeros(len(order), dtype=bool)
    leads[first] = True
    return np.concatenate([order[leads], order[~leads]])


def _curve(
    model: Any, table: Source, target: str, weight: Weight, order: NDArray[np.intp], learned: int, sizes: Sequence[int]
) -> list[Scores]:
    """The scores on withheld rows after training on each number of rows."""
    assert table.rows is not None
    last, found = row_flags(order[learned:], table.rows), list[Scores]()
    for size in sizes:
        some = row_flags(order[:size], table.rows)
        fitted = model.fit(table.where(some), target, weight=weights_at(weight, some))
        found.append(fitted.scores(table.where(last), weight=weights_at(weight, last)))
    return found
