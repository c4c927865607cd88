"""Explanations by a tree: a row's path, and the weight of evidence of each step."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from credo._kernels.tree.splitting import MISSING
from credo.models.tree.binning import Bins
from credo.models.tree.describing import answer_text
from credo.models.tree.prunings import Prunings
from credo.models.tree.structure import Cells
from credo.numerics.exact import Array


class PathStep(NamedTuple):
    """A step of a row's path: the column, the answer, and the change of log P(class)."""

    column: Bins
    answer: str
    rows: float
    added: Array  # (classes,)


def path(prunings: Prunings, columns: Sequence[Bins], cells: Cells) -> tuple[Array, list[PathStep]]:
    """log P(class) at the root, and the steps of one row; where cells are missing, through all nodes that hold some of
    it, one after another. (classes,)

    P(class) after a step is the prediction if no further cell were known. The steps add up to the
    prediction: log P(class | row) = at the root + Σ added.
    """
    tree, said = prunings.structure, prunings.predictions
    parts, found = {0: 1.0}, list[PathStep]()
    now = said[0].copy()
    waiting = [0]
    while waiting:
        node = waiting.pop(0)
        if tree.column[node] < 0:
            continue
        column, b = columns[tree.column[node]], int(cells[tree.column[node]])
        children = tree.branches(node)
        branch = -1 if b == MISSING else int(tree.routes[tree.route[node] + b])
        taken = [(child, tree.share[child]) for child, _ in children] if branch < 0 else [(children[branch][0], 1.0)]
        part = parts.pop(node)
        before = np.log(now)
        now = now - part * said[node]
        for child, share in taken:
            parts[child] = part * share
            now = now + part * share * said[child]
        waiting += [child for child, _ in taken]
        answer = f"{column.name} is missing" if branch < 0 else answer_text(column, children[branch][1])
        rows = float(sum(prunings.counts[child].sum() for child, _ in taken))
        found.append(PathStep(column, answer, rows, np.log(now) - before))
    return np.log(said[0]), found
