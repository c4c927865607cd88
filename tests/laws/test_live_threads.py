"""Live models that threads share, and that are pickled: no row is mixed with another, none is lost."""

from __future__ import annotations

import copy
import pickle
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest

import credo
from credo.models.classifier import Classifier
from credo.streaming.live import Live
from tests.laws.classifiers import CASES, TARGET, pick, unheard
from tests.laws.test_live import assert_foresees, assert_same_bits, observed, rows_of, sums

THREADS, ROWS = 4, 600  # of each


@pytest.fixture(autouse=True)
def _eager() -> Iterator[None]:
    """Threads change places as often as they can."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    yield
    sys.setswitchinterval(before)


def stream(seed: int, rows: int = ROWS) -> list[dict[str, Any]]:
    """Rows all cells of which say the same: one with cells of two rows shows in the sums. Numbers are whole, so that
    sums don't depend on the rows' order."""
    rng = np.random.default_rng(seed)
    found = []
    for i in range(rows):
        k = int(rng.integers(5 if i < rows // 2 else 9))  # some classes and values are new in mid-stream
        found.append(
            {
                **{f"c{j}": f"v{k}" for j in range(4)},
                **{f"n{j}": float(100**k % 997 + j) for j in range(4)},
                "visits": k,
                "bin": float(k),
                "text": f"w{k} w{k} all{k}",
                "y": f"y{k}",
            }
        )
    return found


KINDS = {"visits": "count", "bin": credo.Number("binned"), "text": credo.Text()}
MODELS: dict[str, Callable[[], Classifier]] = {
    "naive Bayes": lambda: credo.NaiveBayes(kinds=KINDS),
    "full": lambda: credo.GaussianDiscriminant("full", kinds=KINDS),
}
models = pytest.mark.parametrize("name", MODELS)


def begun(name: str) -> Classifier:
    return MODELS[name]().fit(stream(99, 40), "y")


@models
def test_rows_of_many_threads_are_an_update(name: str) -> None:
    model, parts = begun(name), [stream(seed) for seed in range(THREADS)]
    live = model.live()

    def learn(rows: list[dict[str, Any]]) -> None:
        for row in rows:
            live.observe(row)

    with ThreadPoolExecutor(THREADS) as pool:
        list(pool.map(learn, parts))
    whole = model.update([row for part in parts for row in part])
    assert sums(live.freeze().seen) == sums(whole.seen)


@models
def test_others_may_predict_freeze_and_pickle_meanwhile(name: str) -> None:
    model, rows = begun(name), stream(1, 200)
    live = model.live()

    def learn() -> None:
        for row in rows:
            live.observe(row)

    def look(what: Callable[[Live], object]) -> list[object]:
        return [what(live) for _ in range(60)]

    def certainty(live: Live) -> object:
        return max(live.predict_proba(rows[0]).values())

    looks = [certainty, lambda live: live.freeze().n, lambda live: pickle.loads(pickle.dumps(live)).freeze().n]
    with ThreadPoolExecutor(THREADS) as pool:
        learned = pool.submit(learn)
        found = [pool.submit(look, each) for each in looks]
        learned.result()
        for each in found[1:]:
            assert each.result() == sorted(each.result())  # type: ignore[type-var]
        assert all(0 < share <= 1 for share in found[0].result())  # type: ignore[operator]
    assert sums(live.freeze().seen) == sums(model.update(rows).seen)


cases = pytest.mark.parametrize(
    "name", ["mixed, cells missing", "texts beside others, cells missing", "full, cells missing", "words there or not"]
)


@cases
@pytest.mark.parametrize("copied", [lambda live: pickle.loads(pickle.dumps(live)), copy.deepcopy, copy.copy])
def test_a_copy_goes_on_where_it_was_made(name: str, copied: Callable[[Live], Live]) -> None:
    case = CASES[name]
    table = case.table(1, 60)
    model, rows = case.fit(pick(table, slice(0, 20))), rows_of(pick(table, slice(20, 60)))
    with unheard():
        live = observed(model, rows[:20])
        twin = copied(live)
        assert_same_bits(twin.freeze(), live.freeze())
        for row in rows[20:]:
            twin.observe(row)
        assert live.freeze().n == model.n + 20
        assert twin.freeze().n == model.n + 40
        np.testing.assert_allclose(
            twin.freeze().log_joint(table), observed(model, rows).freeze().log_joint(table), rtol=1e-9
        )
    assert_foresees(twin, rows[:3], max(case.accuracy, 1e-9))


def test_a_copy_knows_how_many_rows_came() -> None:
    case = CASES["bayes"]
    live = observed(case.fit(case.table(1, 20)), rows_of(case.table(2, 5)))
    twin = pickle.loads(pickle.dumps(live))
    with pytest.raises(credo.errors.DataError, match="row 6"):
        twin.observe({"height": "tall", TARGET: "a"})
