"""A block needs the core alone; what it can do beside is asked for, and refused in one sentence where it can't."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from credo.blocks import capabilities as c
from credo.blocks.block import ALL, Block, Likelihood, Parameter, Settings, column_labels, counting
from credo.blocks.calendar import Calendar
from credo.blocks.categories import Categories
from credo.blocks.counts import CountColumns
from credo.blocks.numbers.binned import Binned
from credo.blocks.subset_averaging import averaged
from credo.blocks.tally import KeptRows, tally_of
from credo.core.evidence import Evidence, Part
from credo.core.labels import Label
from credo.core.membership import Hard, Membership
from credo.core.statistics import Counts
from credo.data import Batch
from credo.data.schema import Column, Schema
from credo.models.conditional import Conditional
from credo.numerics.exact import Array
from tests.hostile.refusals import refused
from tests.laws.test_soft_membership import BLOCKS, drawn, evidence_of, member_of
from tests.work import lines_run


@dataclass(frozen=True)
class Above(Block):
    """P(x > 0 | group) = (n₁ + 1)/(n + 2): the core, and nothing else."""

    names: tuple[str, ...]

    def keeps(self, label: Label) -> bool:
        return label == Label("column", self.names[0])

    def summarise(self, batch: Batch, member: Membership, groups: str) -> Evidence:
        counts = Counts.of(_above(batch, self.names[0]), 2, member)
        column = Column(self.names[0], "category", pa.array([False, True]))
        return Evidence(Schema((column,)), {Label("column", self.names[0]): Part((groups, self.names[0]), counts)})

    def likelihood(self, evidence: Evidence, settings: Settings) -> AboveLikelihood:
        (label,) = self.labels(evidence)
        return AboveLikelihood(self.names, evidence[label].n.value + settings.smoothing)


@dataclass(frozen=True, eq=False)
class AboveLikelihood(Likelihood):
    names: tuple[str, ...]
    alpha: Array  # (groups, 2)

    def read(self, batch: Batch) -> Any:
        return _above(batch, self.names[0])

    def add(self, cells: Any, out: Array) -> None:
        out += np.log(self.alpha / self.alpha.sum(1, keepdims=True)).T[cells]

    def parameters(self) -> list[Parameter]:
        return [Parameter(self.names[0], "probability", self.alpha[:, 1] / self.alpha.sum(1), "above 0")]

    @property
    def free_parameters(self) -> int:
        return len(self.alpha)


def _above(batch: Batch, name: str) -> Any:
    return (batch.numbers(name) > 0).astype(np.int32)


BATCH = Batch(0, 4, {"x": pa.array([1.0, -1.0, 2.0, 3.0])})
GROUPS = pa.array(["a", "b"])
MEMBER = Hard.of([0, 0, 1, 1], 2)


def test_the_core_is_enough_for_a_conditional() -> None:
    """Group a: one of two above 0, (1 + 1)/(2 + 2); group b: both, (2 + 1)/(2 + 2)."""
    empty = Conditional((Above(("x",)),), Settings(estimate="map"), "group")
    model = empty.with_evidence(empty.summarise(BATCH, MEMBER, GROUPS))
    found = np.exp(model.log_likelihood(BATCH))
    np.testing.assert_allclose(found, [[0.5, 0.75], [0.5, 0.25], [0.5, 0.75], [0.5, 0.75]])
    (line,) = model.describe()
    assert (line.name, line.estimates.tolist()) == ("P(above 0)", [0.5, 0.75])
    assert model.sample(np.array([0, 1]), np.random.default_rng(0)) == {}
    assert refused(model.log_prior) == "'x': EM can't fit scores that aren't a likelihood"


def test_what_a_likelihood_lacks_is_refused_by_name() -> None:
    likelihood = AboveLikelihood(("x",), np.ones((2, 2)))
    for wanted, why in (
        (c.LeavesOut, "rows can't be left out"),
        (c.Weighable, "columns can't be weighed"),
        (c.Draws, "no cells can be drawn"),
        (c.ByColumn, "the columns' contributions can't be separated"),
    ):
        assert wanted.of(likelihood) is None
        assert refused(wanted.needed, likelihood) == f"'x': {why}"
    assert averaged(likelihood) is likelihood
    assert c.read_counting_ignored(likelihood, BATCH)[1] == {}
    assert c.log_base(likelihood, None) == 0.0


def test_any_block_learns_one_row_at_a_time() -> None:
    block = Above(("x",))
    found = block.summarise(BATCH, MEMBER, "group")
    whole = Evidence(Schema((Column("group", "category", GROUPS),)) | found.schema, found.parts)
    tally = tally_of(block, whole, "group")
    assert type(tally) is KeptRows
    for i, x in enumerate([1.0, -1.0, 2.0, 3.0]):
        tally.read({"x": x}, i)
        tally.add(int(MEMBER.codes[i]), 1.0)
    again = tally.evidence(Column("group", "category", GROUPS))
    (label,) = block.labels(again)
    assert again[label].n.value.tolist() == whole[label].n.value.tolist() == [[1, 1], [0, 2]]
    assert counting([block, block]) == [block]


SCORES = {"log-odds", "pairs", "one-hot, tied", "one-hot, full"}


@pytest.mark.parametrize("name", BLOCKS)
def test_every_block_of_classifiers_leaves_rows_out_and_is_weighed(name: str) -> None:
    """Scores that are no likelihoods have no prior density, and draw nothing."""
    block, batch = BLOCKS[name], drawn(60, 0.0, 1)
    likelihood = block.likelihood(evidence_of(block, batch, member_of(60, 3, 2, weighted=False)), Settings())
    assert likelihood.names == block.names
    assert c.Weighable.needed(likelihood).term_names in ((ALL,), block.names)
    assert c.LeavesOut.of(likelihood) is not None
    assert (c.LogPrior.of(likelihood) is None) == (name in SCORES)
    assert (c.Averageable.of(likelihood) is None) == (c.Independent.of(likelihood) is None)


@pytest.mark.parametrize("block", [Categories, CountColumns, Binned, lambda names: Calendar(names, "month")])
def test_a_wide_block_finds_its_parts_of_the_evidence_in_linear_time(block: Any) -> None:
    def work(width: int) -> int:
        names = tuple(f"x{j}" for j in range(width))
        own, labels = block(names), column_labels(names, getattr(block(names), "part", ""))
        assert all(map(own.keeps, labels))
        assert not any(map(own.keeps, [Label("rows"), Label("column", "y")]))
        return lines_run(lambda: [own.keeps(label) for label in labels])

    assert work(800) < 5 * work(200)
