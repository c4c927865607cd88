"""EM from several starts: a few steps from each, and the best ones to convergence. For engines, a start is a batch."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Generic, TypeVar

from credo import engines
from credo.core.em import Batches, Expecting, Fitted
from credo.engines.partitions import Loaded
from credo.errors import EvidenceError

Model = TypeVar("Model", bound=Expecting)


@dataclass(frozen=True, eq=False)
class Start(Loaded, Generic[Model]):
    """The parameters of a start."""

    model: Model
    rows: int  # rows that each step reads


@dataclass(frozen=True, eq=False)
class Climb(Generic[Model]):
    """The job of one start: EM from its parameters. Other starts may run at the same time, each on one thread."""

    method: Callable[..., Fitted[Model]]
    batches: Batches
    steps: int
    tolerance: float
    above: float | None = None

    def __call__(self, start: Start[Model]) -> Fitted[Model]:
        with engines.using(engines.Serial()):
            return self.from_start(start.model)

    def from_start(self, model: Model) -> Fitted[Model]:
        limit = {} if self.above is None else {"above": self.above}
        return self.method(model, self.batches, steps=self.steps, tolerance=self.tolerance, **limit)


@dataclass(frozen=True, eq=False)
class Restarts(Generic[Model]):
    """The settings of EM with several starts."""

    method: Callable[..., Fitted[Model]]  # such as em: (model, batches, *, steps, tolerance[, above])
    batches: Batches
    rows: int  # of all batches
    steps: int
    tolerance: float
    first_steps: tuple[int, ...] = (4, 6)  # of every start, if these are more than finalists; after each number of
    # steps but the last, the worse half is dropped
    finalists: int = 3  # starts that are run to convergence
    favoured: int = 0  # the number of first starts that are finalists whatever their objective
    same: float = 1e-9  # of the objective: fits this close found the same optimum, and the first is taken
    beside: bool = True  # whether starts run at the same time, each on one thread; otherwise each step uses all threads
    above: float | None = None  # a known objective: finalists that clearly stay below it, or below the best finalist,
    # are abandoned. None: all finalists run to convergence

    def best(self, starts: Sequence[Model]) -> Fitted[Model]:
        """The fit with the highest objective."""
        return self.highest(self.ends(starts))

    def ends(self, starts: Sequence[Model]) -> list[Fitted[Model]]:
        """The fits of the finalists."""
        if not starts:
            raise EvidenceError("EM needs a start: there is none to choose the best of")
        if len(starts) <= self.finalists:
            return self.climbed(starts, above=self.above)
        favoured, first, *more = starts[: self.favoured], *self.first_steps
        begun, wanted = self.climbed(starts[self.favoured :], first), self.finalists - self.favoured
        if any(fit.interrupted for fit in begun):
            return begun
        for steps in more:
            begun = self._continued(self._leading(begun, max(wanted, -(-len(begun) // 2))), steps)
        return [*self.climbed(favoured), *self._finished(self._leading(begun, wanted))]

    def _finished(self, begun: Sequence[Fitted[Model]]) -> list[Fitted[Model]]:
        """The finalists' fits, converged or abandoned: the others are compared with the leader."""
        if self.above is None or not begun:
            return self._continued(begun, self.steps)
        leader = max(begun, key=lambda fit: fit.objective)
        ends = self._continued([leader], self.steps, self.above)
        others = [fit for fit in begun if fit is not leader]
        return ends + self._continued(others, self.steps, max(self.above, ends[0].objective))

    def _leading(self, fits: Sequence[Fitted[Model]], count: int) -> list[Fitted[Model]]:
        """The best fits, in their order."""
        ranked = sorted(range(len(fits)), key=lambda i: (-fits[i].objective, i))[:count]
        return [fits[i] for i in sorted(ranked)]

    def climbed(
        self, starts: Sequence[Model], steps: int | None = None, above: float | None = None
    ) -> list[Fitted[Model]]:
        """The fit from each start after at most `steps` steps."""
        steps = self.steps if steps is None else min(steps, self.steps)
        climb = Climb(self.method, self.batches, steps, self.tolerance, above)
        if self.beside and len(starts) > 1:
            return [*engines.map(climb, [Start(start, self.rows) for start in starts])]
        found: list[Fitted[Model]] = []
        for start in starts:
            found.append(climb.from_start(start))
            if found[-1].interrupted:  # Ctrl-C is meant for all of them
                break
        return found

    def _continued(self, begun: Sequence[Fitted[Model]], steps: int, above: float | None = None) -> list[Fitted[Model]]:
        """The fits continued by at most `steps` steps; converged fits are unchanged."""
        left = self.steps - max((len(fit.history) - 1 for fit in begun), default=0)
        found, going = [*begun], [i for i, fit in enumerate(begun) if not fit.converged and left > 0]
        ends = self.climbed([begun[i].model for i in going], min(steps, left), above)
        for i, end in zip(going, ends, strict=True):
            found[i] = replace(end, history=(*begun[i].history[:-1], *end.history))
        return found

    def highest(self, fits: Sequence[Fitted[Model]]) -> Fitted[Model]:
        """The best fit, the first of those that are equal up to rounding; interrupted if one of them was."""
        best, *others = fits
        for fit in others:
            if fit.objective > best.objective + self.same * abs(best.objective):
                best = fit
        return replace(best, interrupted=any(fit.interrupted for fit in fits))
