"""Noisy-MAX variables in files: a row of probabilities for each state of each cause alone, and one for the leak.

In BIF ("property function max"), each row names the states of all parents: all are 0 for the leak, all but one for the
others, and the first state is the lowest grade. Rows exclude the leak: some are smaller than it.

GeNIe orders the states of such a variable from the highest grade to the lowest. <strengths> has, for each parent, its
states from the strongest to the weakest; the weakest has no effect. The columns are in that order. (If the states of a
parent are in another order, some files have columns in the order of the states: the column of the weakest state, which
is 0, ..., 0, 1, shows which order is used.)
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import pairwise
from typing import Any

import numpy as np

from credo.formats.draft import FILE_SUM_TOLERANCE, Draft, DraftNode
from credo.formats.names import cut
from credo.networks.network import Network
from credo.networks.nodes.distribution import Distribution
from credo.networks.tables import UNSCALED_SUM_ERROR
from credo.numerics.exact import Array

NEUTRAL_TOLERANCE = 1e-9  # largest deviation of a neutral state's column from 0, ..., 0, 1


def read_noisy(draft: Draft, node: DraftNode, strengths: Sequence[str], numbers: Array) -> None:
    """Set a node's distribution."""
    sizes, own = [*draft.parent_sizes(node)], len(node.states)
    if not sizes or numbers.size != (sum(sizes) + 1) * own:
        wanted = f"{(sum(sizes) + 1) * own} parameters, but has {numbers.size}"
        raise draft.fault(node.at, f"{cut(node.name)!r}, a noisy-MAX of {len(sizes)} parents, must have {wanted}")
    columns = _scaled(draft, node, numbers.reshape(-1, own))
    orders = _orders(draft, node, sizes, strengths)
    nothing = np.eye(own)[-1]
    causes, at = list[tuple[int, dict[int, Array]]](), 0
    for size, order in zip(sizes, orders, strict=True):
        each = columns[at : at + size]
        at += size
        by_rank = dict(zip(order, each, strict=True))
        own_order = dict(enumerate(each))
        weakest = order[-1]
        found = next(
            (rows for rows in (by_rank, own_order) if np.abs(rows[weakest] - nothing).max() <= NEUTRAL_TOLERANCE), None
        )
        if found is None:
            raise draft.fault(node.at, f"the weakest state of a parent of {cut(node.name)!r} has an effect")
        causes.append((weakest, found))
    node.made = _maker(causes, columns[-1], lowest_first=False)


def read_alone(draft: Draft, node: DraftNode, rows: Mapping[tuple[int, ...], Array]) -> None:
    """Set a node's distribution, from a row for each state of each cause alone, and one for no cause."""
    sizes = draft.parent_sizes(node)
    none = (0,) * len(sizes)
    alone = [(j, x, (*none[:j], x, *none[j + 1 :])) for j, size in enumerate(sizes) for x in range(1, size)]
    wanted = [none, *(codes for _, _, codes in alone)]
    if missing := next((codes for codes in wanted if codes not in rows), None):
        raise draft.fault(node.at, f"{cut(node.name)!r}, a noisy-MAX, has no row for the states {_numbered(missing)}")
    if more := next((codes for codes in rows if codes not in wanted), None):
        raise draft.fault(node.at, f"{cut(node.name)!r}, a noisy-MAX, has a row for several causes: {_numbered(more)}")
    scaled = dict(zip(wanted, _scaled(draft, node, np.stack([rows[codes] for codes in wanted])), strict=True))
    causes = [(0, {x: scaled[codes] for j, x, codes in alone if j == cause}) for cause in range(len(sizes))]
    node.made = _maker(causes, scaled[none], lowest_first=True)


def _numbered(codes: Sequence[int]) -> str:
    return f"({', '.join(map(str, codes))})"


def _scaled(draft: Draft, node: DraftNode, rows: Array) -> Array:
    """The rows, normalised to sum to 1."""
    sums = rows.sum(1)
    if not (np.isfinite(rows).all() and (rows >= 0).all() and (np.abs(sums - 1.0) <= FILE_SUM_TOLERANCE).all()):
        raise draft.fault(node.at, f"a column of {cut(node.name)!r} isn't made of probabilities that sum to 1")
    return np.where(np.abs(sums[:, None] - 1.0) > UNSCALED_SUM_ERROR, rows / sums[:, None], rows)


def _orders(draft: Draft, node: DraftNode, sizes: Sequence[int], strengths: Sequence[str]) -> list[list[int]]:
    """The states of each parent, the strongest first."""
    if not strengths:
        return [[*range(size)] for size in sizes]
    ends = np.cumsum([0, *sizes]).tolist()
    parts = [strengths[a:b] for a, b in pairwise(ends)]
    if len(strengths) != sum(sizes) or any(sorted(part) != sorted(map(str, range(len(part)))) for part in parts):
        raise draft.fault(node.at, f"the strengths of {cut(node.name)!r} must have the states of each parent once")
    return [[int(word) for word in part] for part in parts]


def _maker(
    causes: Sequence[tuple[int, dict[int, Array]]], leak: Array, *, lowest_first: bool
) -> Callable[..., Distribution]:
    """A function that makes the distribution once the true names of variables and states are known."""

    def made(parents: Sequence[str], states: Sequence[Sequence[object]], own: Sequence[object]) -> Distribution:
        from credo.networks.nodes.noisy_max import NoisyMax

        rows: dict[str, Any] = {}
        for parent, known, (neutral, each) in zip(parents, states, causes, strict=True):
            rows[parent] = {known[x]: _row(own, row) for x, row in each.items() if x != neutral}
        neutral_states = {
            parent: known[neutral] for parent, known, (neutral, _) in zip(parents, states, causes, strict=True)
        }
        return NoisyMax(rows, _row(own, leak), neutral_states, tuple(own if lowest_first else reversed(own)))

    return made


def _row(own: Sequence[object], row: Array) -> dict[Any, float]:
    return dict(zip(own, row.tolist(), strict=True))


def noisy_columns(network: Network, name: str) -> tuple[list[int], Array] | None:
    """Strengths and parameters of a noisy node in GeNIe's form; None if it has none."""
    from credo.networks.nodes.independent_causes import CausesNode

    node = network.nodes[name]
    if not isinstance(node, CausesNode) or node.grades != tuple(reversed(range(len(node.grades)))):
        return None
    strengths, rows = list[int](), network.parameters[name][:, ::-1]
    order = list[int]()
    for at, size, neutral in zip(node.starts, node.family.shape[:-1], node.neutral, strict=False):
        ranked = [*(x for x in range(size) if x != neutral), neutral]
        strengths += ranked
        order += [at + x for x in ranked]
    return strengths, rows[[*order, 0]]
