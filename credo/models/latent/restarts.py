"""EM from several starts: a few steps from each, and the best few to their ends. To an engine, a start is a batch."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Generic

from credo import engines
from credo.core.em import Batches, Fitted, Model, em
from credo.engines.partitions import Loaded

FIRST_STEPS, FINALISTS = 10, 3  # steps from every start; starts that are followed to their ends
SAME = 1e-9  # of the objective: fits within it found the same optimum, and the first of them is taken


@dataclass(frozen=True, eq=False)
class Start(Loaded, Generic[Model]):
    """Parameters where EM begins."""

    model: Model
    rows: int  # that each step reads


@dataclass(frozen=True, eq=False)
class Climb(Generic[Model]):
    """The job of one start: where it leads to. Other starts may run at the same time, each on one thread."""

    batches: Batches
    steps: int
    tolerance: float

    def __call__(self, start: Start[Model]) -> Fitted[Model]:
        with engines.using(engines.Serial()):
            return em(start.model, self.batches, steps=self.steps, tolerance=self.tolerance)


def climbed(
    starts: Sequence[Model], batches: Batches, rows: int, *, steps: int, tolerance: float
) -> list[Fitted[Model]]:
    """EM from each start, several at a time."""
    climb: Climb[Model] = Climb(batches, steps, tolerance)
    return [*engines.map(climb, [Start(start, rows) for start in starts])]


def best_after_restarts(
    starts: Sequence[Model], batches: Batches, rows: int, *, steps: int, tolerance: float, finalists: int = FINALISTS
) -> Fitted[Model]:
    """A few steps from each start; of the best few, the one that ends highest."""
    if len(starts) > finalists:
        begun = climbed(starts, batches, rows, steps=min(steps, FIRST_STEPS), tolerance=tolerance)
        ranked = sorted(range(len(begun)), key=lambda i: (-begun[i].objective, i))[:finalists]
        before = [begun[i] for i in sorted(ranked)]
        ends = climbed([fit.model for fit in before], batches, rows, steps=steps, tolerance=tolerance)
        ends = [replace(end, history=(*fit.history[:-1], *end.history)) for fit, end in zip(before, ends, strict=True)]
        return highest(ends)
    return highest(climbed(starts, batches, rows, steps=steps, tolerance=tolerance))


def highest(fits: Sequence[Fitted[Model]]) -> Fitted[Model]:
    """The best, the first of those that are equal up to rounding."""
    best, *others = fits
    for fit in others:
        if fit.objective > best.objective + SAME * abs(best.objective):
            best = fit
    return best
