"""Scores of categories that aren't score equivalent: each family is counted separately."""

from __future__ import annotations

from credo.networks.structure.category_scores import checked_size
from credo.networks.structure.counting import Countable
from credo.networks.structure.family_score import FamilyScore
from credo.networks.structure.set_score import Members


class K2(FamilyScore):
    """log p(data | graph) under a uniform prior of each row of a table:
    Σⱼ log Γ(r)/Γ(r + nⱼ) + Σⱼₖ log nⱼₖ! (Cooper and Herskovits 1992)

    >>> import numpy as np
    >>> from credo.networks.structure.counting import CodedTable
    >>> K2(CodedTable(("x",), np.array([[0, 0, 1]], dtype=np.uint8), (2,))).family(0, ())  # 1/2 · 2/3 · 1/4
    -2.4849066497880004
    """

    def __init__(self, table: Countable) -> None:
        super().__init__(table.variables)
        self._counter, self._sizes = table.counter(), table.sizes

    def value(self, node: int, parents: Members) -> float:
        from scipy.special import gammaln

        above, cells = self._counter.family(node, parents)
        states = self._sizes[node]
        return float((gammaln(states) - gammaln(states + above)).sum() + gammaln(cells + 1).sum())


class BDs(FamilyScore):
    """BDeu whose prior is spread only over the parents' joint states that occur: sparse data don't favour more arrows.
    (Scutari 2016)"""

    def __init__(self, table: Countable, equivalent: float = 1.0) -> None:
        super().__init__(table.variables)
        self.equivalent = checked_size(equivalent)
        self._counter, self._sizes = table.counter(), table.sizes

    def value(self, node: int, parents: Members) -> float:
        from scipy.special import gammaln

        above, cells = self._counter.family(node, parents)
        row = self.equivalent / max(len(above), 1)
        cell = row / self._sizes[node]
        rows = gammaln(row) - gammaln(row + above)
        return float(rows.sum() + (gammaln(cell + cells) - gammaln(cell)).sum())
