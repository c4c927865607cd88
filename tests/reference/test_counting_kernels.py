"""Compiled counting against NumPy, and tables learned by it against those learned without it."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from credo._kernels.networks.counting import code_strings, count_families
from credo.core.labels import Label
from credo.networks import incomplete_rows
from credo.networks.inference import coding
from credo.networks.network import Network
from tests.networks import networks


def letters(words: list[str]) -> tuple[Any, Any]:
    spelt = [word.encode() for word in words]
    return np.cumsum([0, *map(len, spelt)], dtype=np.int64), np.frombuffer(b"".join(spelt) or b"\0", dtype=np.uint8)


@settings(max_examples=60, deadline=None)
@given(st.lists(st.text("abü", max_size=3), max_size=30), st.lists(st.text("abü", min_size=1, max_size=3), unique=True))
def test_strings_are_coded_by_their_states(words: list[str], states: list[str]) -> None:
    found = np.empty(len(words), dtype=np.int32)
    unknown = code_strings(*letters(words), *letters(states), found)
    expected = [states.index(word) if word in states else -1 for word in words]
    assert found.tolist() == expected
    assert unknown == expected.count(-1)


@pytest.mark.parametrize("rows", [0, 1, 50])
def test_families_are_counted_as_numpy_counts_them(rows: int) -> None:
    random = np.random.default_rng(rows)
    codes = np.stack([random.integers(0, size, rows, dtype=np.int32) for size in (2, 3, 4)])
    out = np.zeros(2 + 24 + 12, dtype=np.int64)
    heads, members = np.array([0, 1, 4, 6]), np.array([0, 2, 0, 1, 1, 2])
    count_families(codes, heads, members, np.array([1, 6, 3, 1, 4, 1]), np.array([0, 2, 26]), out)
    for at, scope, shape in ((0, [0], (2,)), (2, [2, 0, 1], (4, 2, 3)), (26, [1, 2], (3, 4))):
        wanted: Any = np.zeros(shape)
        np.add.at(wanted, tuple(codes[scope]), 1)
        assert np.array_equal(out[at : at + wanted.size].reshape(shape), wanted)


@settings(max_examples=40, deadline=None)
@given(networks(), st.integers(0, 2**31), st.booleans(), st.sampled_from(["string", "large_string", "dictionary"]))
def test_tables_are_the_same_whichever_code_counts(net: Network, seed: int, declared: bool, kind: str) -> None:
    rows = net.sample(50, seed=seed)
    if kind != "dictionary":
        rows = pa.table({name: rows[name].cast(getattr(pa, kind)()) for name in rows.column_names}).slice(3)
    bare = Network(net.parents, states=net.states if declared else None)
    with pytest.MonkeyPatch.context() as patch:
        learned = []
        for choice in (True, False):
            patch.setattr(coding, "pays", lambda _, choice=choice: choice)
            patch.setattr(incomplete_rows, "pays", lambda _, choice=choice: choice)
            learned.append(bare.fit(rows))
    one, two = learned
    assert one.states == two.states
    for name in net.parents:
        label = Label("column", name)
        assert np.array_equal(one.evidence[label].n.value, two.evidence[label].n.value)


def test_strings_that_are_no_states_or_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    """Compiled code leaves to the other what it doesn't know."""
    for choice in (True, False):
        monkeypatch.setattr(coding, "pays", lambda _, choice=choice: choice)
        net = Network("A -> B", states={"A": ["x", "y"], "B": ["True", "False"]})
        coded = next(net.coded(pa.table({"A": ["x", None, "", "y"], "B": ["True", "False", None, "true"]})))
        assert coded.codes.tolist() == [[0, -1, -1, 1], [0, 1, -1, 0]]
