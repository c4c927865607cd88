"""How the version space shrinks, and the posterior over concepts with it, row after row."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from credo.core.records import Shown
from credo.models.concepts.version_space import VersionSpace
from credo.models.hypotheses import Evolution

if TYPE_CHECKING:
    import pyarrow as pa

    from credo.models.concepts.model import Concepts


@dataclass(frozen=True, eq=False, repr=False)
class ConceptEvolution(Shown):
    """The posterior before the first row, and after each."""

    steps: tuple[Concepts, ...]

    def __len__(self) -> int:
        return len(self.steps)

    def __getitem__(self, n: int) -> Concepts:
        """The posterior after n rows."""
        return self.steps[n]

    @property
    def version_spaces(self) -> list[VersionSpace]:
        return [step.version_space for step in self.steps]

    @cached_property
    def posteriors(self) -> Evolution:
        """The posterior over all concepts after each row: for spaces that can be listed."""
        listed = [step.hypotheses() for step in self.steps]
        return Evolution(listed[0].hypotheses, np.array([each.probabilities for each in listed]))

    def table(self) -> pa.Table:
        """An Arrow table, a row for each number of data: S, G, how many concepts are left, the posterior of each."""
        import pyarrow as pa

        spaces = self.version_spaces
        columns: dict[str, Any] = {"data": np.arange(len(self))}
        if not self.steps[0].noise:
            columns |= {
                "S": [repr(space.specific) for space in spaces],
                "G": [[repr(each) for each in space.general] for space in spaces],
                "concepts": [space.size for space in spaces],
                "posterior": [1 / space.size for space in spaces],
            }
        return pa.table(columns | {"most probable": [repr(step.most_probable()) for step in self.steps]})

    def plot(self) -> Any:
        """Bars of the posterior, one panel for each number of rows, as the lecture draws it."""
        return self.posteriors.plot()

    def __repr__(self) -> str:
        lines = [f"  {step.n:>4} rows: {step.most_probable()}" for step in self.steps]
        return "\n".join(["The most probable concept as rows come", *lines])
