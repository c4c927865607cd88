"""Sums by soft membership in ten groups, against hard sums of the same rows: they may take ten times as long."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pyarrow as pa

from benchmarks.timing import Limit
from credo.blocks.block import Block
from credo.blocks.categories import Categories
from credo.blocks.numbers.gaussian import Joint
from credo.blocks.numbers.independent import Numbers
from credo.blocks.text.column import Cuts
from credo.blocks.text.multinomial import Words
from credo.core.membership import Hard, Soft
from credo.data import Batch
from credo.data.tokens import Tokeniser
from credo.engines.local import one_blas_thread

ROWS, COLUMNS, LEVELS, GROUPS = 1_000_000, 10, 20, 10
DOCUMENTS, LENGTH, WORDS = 20_000, 100, 50_000
TIMES = 5


def run() -> Iterator[Any]:
    rng = np.random.default_rng(0)
    names = tuple(f"x{j}" for j in range(COLUMNS))
    numbers, codes = rng.normal(size=(ROWS, COLUMNS)), rng.integers(0, LEVELS, (ROWS, COLUMNS))
    holes = np.where(rng.random(numbers.shape) < 0.2, np.nan, numbers)
    size = f"1M x {COLUMNS}"
    yield _line(f"numbers, {size}", Numbers(names), lambda: Batch(0, ROWS, {}, numbers, names))
    yield _line(f"numbers, {size}, 20% missing", Numbers(names), lambda: Batch(0, ROWS, {}, holes, names))
    yield _line(f"joint Gaussian, {size}", Joint(names, "full"), lambda: Batch(0, ROWS, {}, numbers, names))
    yield _line(f"categories, {size}, integers", Categories(names), lambda: Batch(0, ROWS, {}, codes, names))
    strings = {name: pa.array(np.char.add("v", codes[:, j].astype(str))) for j, name in enumerate(names)}
    yield _line(f"categories, {size}, strings", Categories(names), lambda: Batch(0, ROWS, strings))
    yield _text(rng)


def _text(rng: np.random.Generator) -> Limit:
    """The words are read beforehand: that takes the same time for both, and most of it."""
    drawn = np.minimum(rng.zipf(1.3, (DOCUMENTS, LENGTH)), WORDS)
    block = Words("text", Tokeniser(), Cuts())
    batch = Batch(0, DOCUMENTS, {"text": pa.array([" ".join(f"w{v}" for v in row) for row in drawn])})
    block.read(batch)
    return _line(f"words, {DOCUMENTS // 1000}k documents of {LENGTH}", block, lambda: batch)


def _line(what: str, block: Block, batch: Callable[[], Batch]) -> Limit:
    """In CPU time, so that other work doesn't disturb it; a fresh batch has nothing encoded yet."""
    rng, rows = np.random.default_rng(1), batch().rows
    hard = Hard.of(rng.integers(0, GROUPS, rows), GROUPS)
    soft = Soft(rng.dirichlet(np.ones(GROUPS), rows))
    taken: dict[bool, list[float]] = {True: [], False: []}
    with one_blas_thread():
        for turn in range(2 * TIMES + 2):
            member, own = (soft if turn % 2 else hard), batch()
            begun = time.process_time()
            block.summarise(own, member, "group")
            taken[turn % 2 == 1].append(time.process_time() - begun)
    ratio = min(taken[True][1:]) / min(taken[False][1:])
    return Limit(f"{what}: soft / hard sums, {GROUPS} groups", ratio, 10, "times")
