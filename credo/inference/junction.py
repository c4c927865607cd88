"""A junction tree: compiled once for a pattern of evidence, asked many times with other values."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from credo._kernels import assembly
from credo._kernels.junction import Cliques
from credo._kernels.propagation import BELIEFS, FACTORS, SUMS, Junction, decode, propagate
from credo._kernels.sampling import draw_from_tree
from credo._kernels.shapes import ENTRY, HOME, KEPT, MEMBERS, PARENT, SCALE, SEPARATOR, SUNK, TABLE
from credo._kernels.triangulation import FILL, WEIGHT
from credo.exact import Array
from credo.inference import logarithms
from credo.inference.findings import NOTHING, Findings
from credo.inference.potentials import Flags, Integers, Potentials
from credo.inference.sizes import HELD

FEW, MANY, TRIES = 2**12, 2**17, 8  # cells that are worth one try only; a second; more
HOPELESS = 2.0**45  # cells that no other order would make few enough


@dataclass(frozen=True, eq=False)
class Question:
    """What a tree is compiled for: which variables have known states, which factors count, what is asked for."""

    observed: Flags
    there: Flags  # variables that matter
    used: Flags  # factors that do
    maximised: Flags | None  # variables; the others are summed out before
    together: Integers  # variables whose joint table is asked for

    @property
    def stage(self) -> Integers:
        """When variables may go: -1 not at all, 0 first, 1 last."""
        last = np.zeros(len(self.observed), dtype=np.int64)
        if self.maximised is not None:
            last[self.maximised] = 1
        last[self.together] = 1
        last[self.observed | ~self.there] = -1
        return last


@dataclass(frozen=True, eq=False)
class Plan:
    """The best order found for summing variables out, and the size of the tables that it takes."""

    question: Question
    stage: Integers
    found: assembly.Order

    @property
    def cells(self) -> float:
        return self.found[-1]

    @classmethod
    def of(cls, potentials: Potentials, question: Question) -> Plan:
        """Min-fill first; where tables get large, min-weight and other ways to break ties, each as long as it pays."""
        stage, log_card = question.stage, potentials.log_card
        index = potentials.heads, potentials.axes
        near = assembly.connected(*index, question.used, ~question.observed, question.together)
        chance = np.zeros(len(stage))
        best = assembly.triangulate(near, log_card, stage, FILL, chance)
        if best[-1] > FEW:
            best = min(best, assembly.triangulate(near, log_card, stage, WEIGHT, chance), key=lambda found: found[-1])
        if MANY < best[-1] < HOPELESS:
            random = np.random.default_rng(0)
            for i in range(TRIES):
                chance = random.random(len(stage))
                found = assembly.triangulate(near, log_card, stage, (FILL, WEIGHT)[i % 2], chance)
                best = min(best, found, key=lambda found: found[-1])
        return cls(question, stage, best)


class Tree:
    """Tables of cliques, and the paths between them."""

    def __init__(self, potentials: Potentials, plan: Plan) -> None:
        self.potentials, held = potentials, potentials
        about = held.heads, held.axes, held.card, held.places, plan.question.used, plan.stage
        made = assembly.assemble(*about, plan.found)
        self.cliques, self.members, count = made.cliques, made.members, len(made.cliques) - 1
        self.cells = int(made.cliques[count, TABLE])
        self._sizes = int(made.cliques[count, SEPARATOR]) + max(made.widest, held.most_states), count
        self._idle: list[tuple[Array, Array]] = []  # what messages are written in, while nobody does
        values = held.heads, held.axes, held.factors.values, held.factors.least
        index = made.variables, made.cliques, made.walks, made.paths, *values
        begun = np.zeros((count + 1, 3))
        begun[:, SUNK] = 1.0
        self.factors, self.homes = np.concatenate([made.touched, made.constant]), made.walks[count:, HOME]
        if self.cells <= HELD:
            tables, scales = self._space()
            constant = *index, made.constant, NOTHING, begun
            log_base = propagate(FACTORS, held.unknown, NOTHING, constant, tables, scales, NOTHING)
            begun[:count], begun[count, SCALE] = scales, log_base
            self.junction = Junction(*index, made.touched, tables[: self.cells].copy(), begun)
            self._give_back((tables, scales))
        else:
            self.junction = Junction(*index, self.factors, NOTHING, begun)
        self._plain = tuple(self.junction)

    def log_total(self, codes: Integers, weights: Array) -> float:
        """log Σ of all cells that agree with the evidence; -inf if none does."""
        space = self._space()
        found = self._propagate(SUMS, codes, weights, space)
        self._give_back(space)
        return self.potentials.log_scale + found

    def marginals(self, codes: Integers, weights: Array, out: Array) -> float:
        """The same; out: what is believed of each variable, in the order of the states."""
        space = self._space()
        found = self._propagate(BELIEFS, codes, weights, space, out)
        self._give_back(space)
        return self.potentials.log_scale + found

    def joint(self, codes: Integers, weights: Array, variables: Sequence[int]) -> tuple[Array, float]:
        """What is believed of the variables that the tree was compiled for, an axis for each; and the logarithm."""
        space = self._space()
        members = self.members[self.cliques[-2, MEMBERS] :].tolist()
        found = self._propagate(SUMS, codes, weights, space)
        table = space[0][self.cliques[-2, TABLE] : self.cells].reshape(self.potentials.card[members])
        joint = table.transpose([members.index(v) for v in variables]).copy()
        self._give_back(space)
        total = joint.sum()
        return joint / total if total > 0 else joint, self.potentials.log_scale + found

    def best(self, codes: Integers, weights: Array) -> tuple[Integers, float]:
        """The states of the maximised variables in which the rest is most probable, and the logarithm of that."""
        chosen, space = codes.copy(), self._space()
        found = self._propagate(SUMS, codes, weights, space)
        if found > -np.inf:
            decode(self.cliques, self.members, self.potentials.card, space[0], chosen)
        self._give_back(space)
        return chosen, self.potentials.log_scale + found

    def draw(self, findings: Findings, seed: np.uint64, start: int, out: NDArray[Any]) -> None:
        """out (variables, rows): states, as probable together as the evidence makes them."""
        space = self._space()
        self._propagate(SUMS, findings.codes, findings.weights, space)
        for v in np.flatnonzero(self.junction.variables[:, ENTRY] < 0):
            out[v] = findings.codes[v]
        parent, starts, kept, tables_at = self.cliques[:, (PARENT, MEMBERS, KEPT, TABLE)].T.copy()
        cliques = Cliques(parent[:-1], starts, self.members, kept[:-1], tables_at)
        draw_from_tree(cliques, self.potentials.card, space[0], seed, start, out)
        self._give_back(space)

    def _propagate(
        self, end: int, codes: Integers, weights: Array, space: tuple[Array, Array], out: Array = NOTHING
    ) -> float:
        """Messages up to that end, in floats unless that takes logarithms."""
        found = propagate(end, codes, weights, self._plain, *space, out)
        return logarithms.propagate(end, codes, weights, self, space[0], out) if np.isnan(found) else found

    def _give_back(self, space: tuple[Array, Array]) -> None:
        """For the next question; but memory that few trees would leave to others isn't kept."""
        if self.cells <= HELD:
            self._idle.append(space)

    def _space(self) -> tuple[Array, Array]:
        """Of this call alone: taking from a list and putting back are single steps, even among threads."""
        try:
            return self._idle.pop()
        except IndexError:
            cells, cliques = self._sizes
            return np.empty(cells), np.empty((cliques, 3))
