"""Hard membership is one-hot soft membership, in every block and form: the same evidence, and the same likelihood."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from credo.blocks.block import Block, Settings
from credo.blocks.calendar import Calendar
from credo.blocks.categories import Categories
from credo.blocks.counts import CountColumns
from credo.blocks.numbers.binned import Binned
from credo.blocks.numbers.gaussian import Joint
from credo.blocks.numbers.independent import Numbers
from credo.blocks.numbers.spherical import Spherical
from credo.blocks.one_hot import OneHotGaussian
from credo.blocks.text.bernoulli import Presences
from credo.blocks.text.column import Cuts
from credo.blocks.text.log_odds import Odds, Pairs
from credo.blocks.text.multinomial import Binary, Logs, Words
from credo.core.evidence import Evidence, Part
from credo.core.labels import ROWS
from credo.core.membership import Hard, Membership, Soft
from credo.core.moments import CrossMoments, Moments
from credo.core.sparse import GroupCounts, WordSums
from credo.core.statistics import Counts, Extremes, Totals
from credo.data import Batch
from credo.data.schema import Column, Schema
from credo.data.tokens import Tokeniser

GROUPS = "group"
NUMBERS = ("x", "y", "z")
SINGLE, DOUBLE = Tokeniser(), Tokeniser(ngrams=2)
BLOCKS: dict[str, Block] = {
    "categories": Categories(("colour", "digit")),
    "integer categories": Categories(("digit", "dozen")),
    "weekdays": Calendar(("when",), "weekday"),
    "months": Calendar(("when",), "month"),
    "hours": Calendar(("when",), "hour"),
    "counts": CountColumns(("visits",)),
    "numbers": Numbers(NUMBERS),
    "logarithms": Numbers(("fare",), logs=True),
    "dates": Numbers(("when",), dates=True),
    "bins": Binned(NUMBERS),
    "few bins": Binned(NUMBERS, coarse=True),
    "full covariance": Joint(NUMBERS, "full"),
    "tied covariance": Joint(NUMBERS, "tied"),
    "spherical": Spherical(NUMBERS),
    "one-hot, tied": OneHotGaussian((*NUMBERS, "colour"), frozenset({"colour"}), "tied"),
    "one-hot, full": OneHotGaussian((*NUMBERS, "colour"), frozenset({"colour"}), "full"),
    "words": Words("note", SINGLE, Cuts()),
    "words once": Binary("note", SINGLE, Cuts()),
    "logarithms of words": Logs("note", SINGLE, Cuts()),
    "presences": Presences("note", SINGLE, Cuts()),
    "log-odds": Odds("note", SINGLE, Cuts()),
    "pairs": Pairs("note", DOUBLE, Cuts()),
}
MISSING = (0.0, 0.3)


def drawn(rows: int, missing: float, seed: int) -> Batch:
    """All kinds of columns; of each, a share of the cells is missing."""
    rng = np.random.default_rng(seed)
    shared = rng.normal(size=rows)
    words = np.array(["tea", "milk", "sugar", "cup", "pot"])
    columns: dict[str, Any] = {
        "colour": rng.choice(["blue", "red", "white"], rows),
        "digit": rng.integers(0, 4, rows),
        "dozen": rng.integers(3, 15, rows),
        "when": [datetime(2024, 1, 1) + timedelta(hours=int(h)) for h in rng.integers(0, 9000, rows)],
        "visits": rng.poisson(3.0, rows).astype(float),
        "x": 1e6 + shared,
        "y": 2 * shared + rng.normal(size=rows),
        "z": rng.normal(size=rows) * 1e-3,
        "fare": np.exp(rng.normal(size=rows)),
        "note": [" ".join(rng.choice(words, int(rng.integers(0, 6)))) for _ in range(rows)],
    }
    types = {"when": pa.timestamp("s"), "note": pa.string(), "colour": pa.string()}
    arrays = {
        name: pa.array(list(cells), types.get(name), mask=rng.random(rows) < missing) for name, cells in columns.items()
    }
    typed = {"digit": pa.int64(), "dozen": pa.int64(), **dict.fromkeys(("visits", *NUMBERS, "fare"), pa.float64())}
    return Batch(0, rows, {name: array.cast(typed.get(name, array.type)) for name, array in arrays.items()})


def member_of(rows: int, groups: int, seed: int, weighted: bool) -> Hard:
    """The last group has no row, and some rows have no group."""
    rng = np.random.default_rng(seed)
    weight = rng.choice([0.0, 0.5, 1.0, 2.75], rows) if weighted else None
    return Hard.of(rng.integers(-1, groups - 1, rows), groups, weight)


def evidence_of(block: Block, batch: Batch, member: Membership) -> Evidence:
    found = block.summarise(batch, member, GROUPS)
    if isinstance(block, OneHotGaussian):  # a category's values are in the evidence of its own block
        found = _beside(found, Categories(tuple(block.categories)).summarise(batch, member, GROUPS))
    groups = Column(GROUPS, "category", pa.array(range(member.groups)))
    parts = {ROWS: Part((GROUPS,), Counts.of_rows(member)), **found.parts}
    return Evidence(Schema((groups, *found.schema)), parts).ordered()


def _beside(one: Evidence, other: Evidence) -> Evidence:
    return Evidence(Schema((*one.schema, *other.schema)), {**one.parts, **other.parts})


def check_same(one: Any, other: Any) -> None:
    """All sums, and what is derived from them, to 1e-9 of the largest; a scatter of 0 may be rounding."""
    assert type(one) is type(other)
    pairs = [(mine.value, its.value, 0.0) for mine, its in zip(one.sums, other.sums, strict=True)]
    if isinstance(one, Moments | CrossMoments):
        rounding = 2.0**-50 * float(np.abs(one.second.value).max(initial=0.0))
        pairs += [(one.mean, other.mean, 0.0), (one.scatter, other.scatter, rounding)]
    for mine, its, rounding in pairs:
        assert mine.shape == its.shape
        np.testing.assert_allclose(its, mine, rtol=1e-9, atol=1e-9 * float(np.abs(mine).max(initial=0.0)) + rounding)


@pytest.mark.parametrize("name", BLOCKS)
@pytest.mark.parametrize("missing", MISSING)
@pytest.mark.parametrize("weighted", [False, True], ids=["whole rows", "weighted rows"])
def test_hard_is_one_hot_soft(name: str, missing: float, weighted: bool) -> None:
    block, batch, member = BLOCKS[name], drawn(200, missing, 1), member_of(200, 4, 2, weighted)
    hard, soft = evidence_of(block, batch, member), evidence_of(block, batch, member.soft())
    assert [column.axis for column in hard.schema] == [column.axis for column in soft.schema]
    assert all(mine.levels is None or mine.levels.equals(soft.schema[mine.axis].levels) for mine in hard.schema)
    assert hard.parts.keys() == soft.parts.keys()
    for label, part in hard.parts.items():
        assert part.axes == soft.parts[label].axes
        check_same(part.statistics, soft.parts[label].statistics)


@pytest.mark.parametrize("name", BLOCKS)
@pytest.mark.parametrize("missing", MISSING)
def test_the_likelihood_is_the_same_too(name: str, missing: float) -> None:
    block, batch, member = BLOCKS[name], drawn(200, missing, 3), member_of(200, 3, 4, weighted=True)
    new, found = drawn(20, 0.2, 5), []
    for each in (member, member.soft()):
        likelihood = block.likelihood(evidence_of(block, batch, each), Settings())
        found.append(np.zeros((20, 3)))
        likelihood.add(likelihood.read(new), found[-1])
    np.testing.assert_allclose(found[1], found[0], rtol=1e-7, atol=1e-7)


@pytest.mark.parametrize("name", BLOCKS)
def test_soft_sums_are_the_responsible_shares_of_hard_ones(name: str) -> None:
    """Two groups that share each row by halves have half of what one group has alone, each."""
    block, batch = BLOCKS[name], drawn(60, 0.2, 6)
    alone, halves = (evidence_of(block, batch, each) for each in (Hard.whole(60), Soft(np.full((60, 2), 0.5))))
    for label, part in alone.parts.items():
        axis = part.axes.index(GROUPS)
        for k in range(2):
            half = halves[label].take(axis, np.array([k], dtype=np.intp))
            check_same(part.statistics * 0.5, half)


@pytest.mark.parametrize("name", BLOCKS)
def test_no_rows_have_no_evidence(name: str) -> None:
    found = BLOCKS[name].summarise(drawn(0, 0.0, 0), Soft(np.empty((0, 3))), GROUPS)
    for part in found.parts.values():
        assert not any(sums.value.any() for sums in part.statistics.sums)
        assert part.statistics.n.shape[part.axes.index(GROUPS)] == 3


def test_an_impossible_number_is_named_under_soft_membership_too() -> None:
    from credo.errors import DataError

    batch = Batch(0, 2, {name: pa.array([1.0, np.inf if name == "y" else 2.0]) for name in NUMBERS})
    with pytest.raises(DataError, match="'y'"):
        Numbers(NUMBERS).summarise(batch, Soft(np.full((2, 2), 0.5)), GROUPS)


def test_equal_numbers_have_no_variance_under_soft_membership() -> None:
    x = np.full((30_000, 1), 0.1)
    weights = np.random.default_rng(7).dirichlet(np.ones(3), len(x))
    assert not Moments.of(x, Soft(weights)).scatter.any()
    assert not Moments.of(x, Soft(weights)).pooled().scatter.any()


def test_rows_in_order_lose_no_digits_under_soft_membership() -> None:
    """Sums are taken about a mean for each group: the first rows needn't look like the last."""
    rng, rows = np.random.default_rng(8), 10_000
    x = np.concatenate([rng.normal(-1e6, 1, (rows, 1)), rng.normal(1e6, 1, (rows, 1))])
    member = Hard.of(np.arange(2 * rows) // rows, 2)
    np.testing.assert_allclose(Moments.of(x, member.soft()).scatter, Moments.of(x, member).scatter, rtol=1e-9)


STATISTICS: dict[str, Callable[[Any, Membership], Any]] = {
    "counts": lambda rng, member: Counts.of(rng.integers(-1, 5, member.rows), 5, member),
    "large counts": lambda rng, member: GroupCounts.of(rng.integers(-1, 2**19, member.rows), 2**19, member),
    "moments": lambda rng, member: Moments.of(_with_holes(rng, member.rows), member),
    "cross moments": lambda rng, member: CrossMoments.of(rng.normal(5, 1, (member.rows, 3)), member),
    "totals": lambda rng, member: Totals.of(rng.random((member.rows, 2)), rng.random(member.rows), member),
    "extremes": lambda rng, member: Extremes.of(rng.random(member.rows), member),
}


def _with_holes(rng: np.random.Generator, rows: int) -> Any:
    x = rng.normal(5, 1, (rows, 3))
    return np.where(rng.random(x.shape) < 0.2, np.nan, x)


@pytest.mark.parametrize("name", STATISTICS)
@pytest.mark.parametrize("rows", [0, 1, 300])
def test_statistics_of_hard_and_one_hot_soft_membership(name: str, rows: int) -> None:
    member = member_of(rows, 3, 9, weighted=True)
    hard, soft = (STATISTICS[name](np.random.default_rng(10), each) for each in (member, member.soft()))
    check_same(hard, soft)


def test_word_sums_of_zero_weights_keep_no_cells() -> None:
    found = BLOCKS["words"].summarise(drawn(20, 0.0, 11), Soft(np.eye(4)[np.zeros(20, dtype=int)]), GROUPS)
    table = next(part.statistics for part in found.parts.values() if isinstance(part.statistics, WordSums))
    assert {*table.n.columns.tolist()} == {0}
