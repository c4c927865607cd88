"""The laws of decision trees: averages are those of all prunings, codes are as short as said, and counts add."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.special import gammaln

import credo
from credo import engines
from credo.core.description import LN2
from credo.core.folds import FoldDraw
from credo.core.labels import ROWS
from credo.data import cutting, source
from credo.errors import EvidenceError, Notice
from credo.models.tree.binning import read_cells
from credo.models.tree.prunings import exception_bits
from tests.arithmetic_coder import decode, encode

Table = dict[str, NDArray[Any]]
PRUNES = ("average", "mdl", "evidence", None)
prunes = pytest.mark.parametrize("prune", PRUNES)


def drawn(n: int = 60, seed: int = 0, missing: float = 0.0, classes: int = 2) -> Table:
    rng = np.random.default_rng(seed)
    x, sky, wind = rng.normal(size=n), rng.choice(["fog", "rain", "sun"], n), rng.choice(["high", "low"], n)
    score = 1.5 * (x > 0.3) + (sky == "sun") - (wind == "low") * (sky != "fog") + 0.7 * rng.normal(size=n)
    kind = np.searchsorted(np.quantile(score, np.arange(1, classes) / classes), score)
    table: Table = {"x": np.round(x, 2), "sky": sky.astype(object), "wind": wind.astype(object)}
    for name, column in table.items():
        gone = rng.random(n) < missing
        nothing: Any = np.nan if name == "x" else None
        table[name] = np.where(gone, nothing, column)
    return {**table, "kind": np.array([f"k{k}" for k in kind], dtype=object)}


def pick(table: Table, rows: Any) -> Table:
    return {name: column[rows] for name, column in table.items()}


def joined(*tables: Table) -> Table:
    return {name: np.concatenate([table[name] for table in tables]) for name in tables[0]}


def fitted(table: Table, prune: Any = "average", **settings: Any) -> credo.DecisionTree:
    weight = settings.pop("weight", None)
    return credo.DecisionTree(prune=prune, **settings).fit(table, target="kind", weight=weight)


def cells_of(tree: credo.DecisionTree, table: Table) -> Any:
    (batch,) = source(table).batches(list(table))
    return read_cells(tree.columns, batch)[0]


# Prunings, by enumeration


def stops(tree: Any, node: int = 0) -> Iterator[frozenset[int]]:
    """The leaves of each pruning below a node."""
    yield frozenset([node])
    if tree.column[node] >= 0:
        below = [[*stops(tree, child)] for child in range(tree.first[node], tree.first[node] + tree.ways[node])]
        for each in product(*below):
            yield frozenset().union(*each)


def parts_of(tree: Any, cells: Any, node: int = 0, part: float = 1.0) -> dict[int, float]:
    """How much of a row is in each node that it comes through."""
    found = {node: part}
    if tree.column[node] >= 0:
        b = int(cells[tree.column[node]])
        branch = -1 if b == 255 else int(tree.routes[tree.route[node] + b])
        for k in range(tree.ways[node]):
            child = int(tree.first[node]) + k
            if branch in (-1, k):
                found |= parts_of(tree, cells, child, part * (tree.share[child] if branch < 0 else 1.0))
    return found


def above(tree: Any, leaves: frozenset[int]) -> set[int]:
    found: set[int] = set()
    for leaf in leaves:
        while (leaf := int(tree.parent[leaf])) >= 0:
            found.add(leaf)
    return found


def weighed(model: credo.DecisionTree) -> tuple[list[frozenset[int]], NDArray[Any]]:
    """All prunings, and log prior · evidence of each, written out."""
    found, tree = model.prunings, model.structure
    assert tree is not None
    assert found.stop is not None
    a, k = found.prior, len(model.classes)
    log_evidence = [
        float(sum(gammaln(n + a) - gammaln(a) for n in row) - gammaln(row.sum() + k * a) + gammaln(k * a))
        for row in found.counts
    ]
    every = [*stops(tree)]
    logs = []
    for leaves in every:
        log = sum(log_evidence[leaf] for leaf in leaves)
        log += sum(np.log(found.stop) for leaf in leaves if tree.column[leaf] >= 0)
        log += sum(np.log1p(-found.stop) - tree.charge[node] for node in above(tree, leaves))
        logs.append(log)
    return every, np.array(logs)


@pytest.mark.parametrize(("missing", "classes"), [(0.0, 2), (0.15, 2), (0.0, 3), (0.2, 4)])
def test_the_average_is_that_of_all_prunings(missing: float, classes: int) -> None:
    table = drawn(40, missing=missing, classes=classes)
    model = fitted(table, max_depth=4, min_rows=1)
    every, logs = weighed(model)
    assert 8 < len(every) < 100_000
    top = logs.max()
    posterior = np.exp(logs - top) / np.exp(logs - top).sum()
    assert model.log_evidence() == pytest.approx(top + np.log(np.exp(logs - top).sum()), abs=1e-10)
    expected = np.zeros((40, classes))
    for i, cells in enumerate(cells_of(model, table).T):
        parts = parts_of(model.structure, cells)
        for leaves, share in zip(every, posterior, strict=True):
            expected[i] += share * sum(parts[leaf] * model.prunings.shares[leaf] for leaf in leaves & set(parts))
    np.testing.assert_allclose(model.predict_proba(table), expected, atol=1e-10)


def test_counts_of_rows_with_missing_cells_are_shared_out() -> None:
    table = drawn(50, missing=0.3)
    model = fitted(table, None, gain="evidence", max_depth=4)
    tree, weight = model.structure, np.random.default_rng(1).uniform(0.2, 3.0, 50)
    assert tree is not None
    again = model.forget(table).update(table, weight=weight)
    expected = np.zeros((tree.size, 2))
    for cells, kind, own in zip(cells_of(model, table).T, table["kind"], weight, strict=True):
        for node, part in parts_of(tree, cells).items():
            expected[node, model.classes.index(kind)] += part * own
    np.testing.assert_allclose(again.prunings.counts, expected, atol=1e-12)


def test_pruning_by_evidence_and_by_description_are_the_best_of_all() -> None:
    table = drawn(40, 3)
    whole = fitted(table, None, max_depth=3)
    tree, counts = whole.structure, whole.prunings.counts
    assert tree is not None
    bits, evidence = [], []
    for leaves in stops(tree):
        inner = above(tree, leaves)
        named = np.array([counts[leaf] for leaf in leaves])
        choices = sum(1 + tree.choices[node] / LN2 for node in inner)
        bits.append(choices + len(leaves) * 2 + exception_bits(named).sum())
        log = sum(whole.prunings.log_evidence[leaf] for leaf in leaves) - sum(tree.charge[node] for node in inner)
        evidence.append(-log / LN2 + len(leaves) + len(inner))
    assert len(bits) > 10
    assert fitted(table, "mdl", max_depth=3).description_length().total == pytest.approx(min(bits), abs=1e-9)
    assert fitted(table, "evidence", max_depth=3).description_length().total == pytest.approx(min(evidence), abs=1e-9)


# Codes


def test_a_coder_reaches_the_length_of_a_tree_and_its_exceptions() -> None:
    """The message: split or leaf and which one of the splits, node by node; in leaves a class, the number of
    exceptions, and row by row whether it is one."""
    table = drawn(80, 4, classes=2)
    model = fitted(table, "mdl")
    tree = model.structure
    assert tree is not None
    assert tree.size > 3
    symbols: list[int] = []
    shares: list[Any] = []

    def send(symbol: int, distribution: Any) -> None:
        symbols.append(symbol)
        shares.append(np.asarray(distribution, dtype=float))

    cells, truth = cells_of(model, table), np.array([model.classes.index(kind) for kind in table["kind"]])
    leaf_of = np.array([max(parts_of(tree, own)) for own in cells.T])
    for node in range(tree.size):
        send(int(tree.column[node] >= 0), [0.5, 0.5])
        if tree.column[node] >= 0:
            share = float(np.exp(-tree.choices[node]))
            send(0, [share, 1 - share])
            continue
        own = truth[leaf_of == node]
        common = int(np.bincount(own, minlength=2).argmax())
        exceptions, most = int((own != common).sum()), len(own) // 2
        send(common, [0.5, 0.5])
        send(exceptions, np.full(most + 1, 1 / (most + 1)))
        for i, kind in enumerate(own):  # of the rows that are left, as many are exceptions
            p = (exceptions - int((own[:i] != common).sum())) / (len(own) - i)
            send(int(kind != common), [1 - p, p])
    sent = encode(symbols, shares)
    assert abs(len(sent) - model.description_length().total) <= 2
    assert decode(sent, len(symbols), lambda before: shares[len(before)]) == symbols


def test_a_coder_reaches_the_length_of_the_average() -> None:
    """Row after row, by the prediction of all rows before: the chain rule."""
    table = drawn(60, 5)
    model = fitted(table, "average", smoothing=0.5)
    empty = model.forget(table)
    length = model.description_length()
    symbols, shares = [], []
    for i in range(60):
        one = pick(table, [i])
        truth = model.classes.index(str(one["kind"][0]))
        before = empty if not i else empty.update(pick(table, slice(0, i)))
        both = before.with_evidence(before.seen.knowing(model.seen.only(ROWS)))
        shares.append(both.predict_proba(one)[0])
        symbols.append(truth)
    assert len(encode(symbols, shares)) == pytest.approx(length.data, abs=2)
    assert length.total == pytest.approx(-model.log_evidence() / LN2, abs=1e-9)


# Leaving rows out


@prunes
@pytest.mark.parametrize("missing", [0.0, 0.2])
def test_leave_one_out_is_what_forgetting_leaves(prune: Any, missing: float) -> None:
    table, weight = drawn(30, 6, missing, classes=3), np.random.default_rng(2).uniform(0.5, 2.0, 30)
    for own in (np.ones(30), weight):
        model = fitted(table, prune, weight=own)
        scores = model.leave_one_out(table, weight=own)
        for i in range(30):
            without = model.forget(pick(table, [i]), weight=own[[i]])
            np.testing.assert_allclose(
                scores.log_probabilities[i], without.predict_log_proba(pick(table, [i]))[0], atol=1e-9
            )


def test_a_class_of_one_row_is_unknown_without_it() -> None:
    table = drawn(30, 7)
    table["kind"][4] = "rare"
    model = fitted(table)
    scores = model.leave_one_out(table)
    without = model.forget(pick(table, [4])).predict_log_proba(pick(table, [4]))[0]
    np.testing.assert_allclose(scores.log_probabilities[4][:2], without, atol=1e-10)
    assert np.isnan(scores.log_probabilities[4, 2])


@prunes
def test_cross_validation_grows_again(prune: Any) -> None:
    table = drawn(60, 8, 0.1)
    model = fitted(table, prune)
    scores = model.cross_validate(table, folds=4, seed=3)
    (batch,) = source(table).batches(list(table))
    folds = FoldDraw(4, 3).of(batch)
    for k in range(4):
        again = fitted(pick(table, folds != k), prune)
        own = again.predict_log_proba(pick(table, folds == k))
        np.testing.assert_allclose(scores.log_probabilities[folds == k], own, atol=1e-10)


# What was learned adds


def assert_same(one: credo.DecisionTree, two: credo.DecisionTree, table: Table) -> None:
    assert one.structure is not None
    assert two.structure is not None
    assert one.structure.equals(two.structure)
    np.testing.assert_allclose(one.prunings.counts, two.prunings.counts, atol=1e-12)
    np.testing.assert_allclose(one.predict_proba(table), two.predict_proba(table), atol=1e-12)


@prunes
@pytest.mark.parametrize("missing", [0.0, 0.2])
def test_order_weights_and_batches(prune: Any, missing: float, monkeypatch: pytest.MonkeyPatch) -> None:
    table = drawn(90, 9, missing, classes=3)
    model, rng = fitted(table, prune), np.random.default_rng(0)
    assert_same(fitted(pick(table, rng.permutation(90)), prune), model, table)
    times = rng.integers(1, 4, 90)
    assert_same(fitted(table, prune, weight=times), fitted(pick(table, np.repeat(np.arange(90), times)), prune), table)
    with engines.using(engines.Serial()):
        assert_same(fitted(table, prune), model, table)
    monkeypatch.setattr(cutting, "BATCH_ROWS", 7)
    assert_same(fitted(table, prune), model, table)


@prunes
def test_update_forget_and_merge(prune: Any) -> None:
    table, more = drawn(60, 10, 0.1), drawn(25, 11, 0.1)
    model = fitted(table, prune)
    grown = model.update(more)
    assert grown.n == 85
    assert_same(grown.forget(more), model, table)
    np.testing.assert_array_equal(grown.forget(more).prunings.counts, model.prunings.counts)
    half = model.forget(pick(table, slice(0, 30)))
    other = model.forget(pick(table, slice(30, 60)))
    assert_same(half + other, model, table)
    with pytest.raises(EvidenceError, match="branches differ"):
        _ = model + fitted(joined(table, more), prune, gain="evidence", min_rows=1)


def test_a_sample_grows_the_tree_and_all_rows_are_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    from credo.models.tree import sampling

    monkeypatch.setattr(sampling, "MOST_GROWING_ROWS", 100)
    table = drawn(400, 12)
    model = fitted(table)
    assert model.n == 400
    assert model.prunings.counts[0].sum() == 400
    assert model.scores(table).log_loss < 0.6
    assert fitted(table, weight=np.ones(400)).n == 400


def test_an_iterator_is_read_once() -> None:
    table = drawn(60, 13)
    parts = (pick(table, slice(start, start + 20)) for start in (0, 20, 40))
    once = credo.DecisionTree().fit(parts, target="kind")
    assert_same(once, fitted(table), table)


# Reasons


@pytest.mark.parametrize("missing", [0.0, 0.4])
@prunes
def test_steps_add_up_to_the_log_odds(prune: Any, missing: float) -> None:
    model = fitted(drawn(200, 14, classes=3), prune, gain="evidence")
    rows = drawn(12, 15, missing)
    shares = model.predict_proba({name: rows[name] for name in ("x", "sky", "wind")})
    for i in range(12):
        row = {name: rows[name][i] for name in ("x", "sky", "wind")}
        found = model.explain(row, "k2", "k0", unit="bits")
        expected = np.log2(shares[i, 2] / shares[i, 0])
        assert found.log_odds == pytest.approx(expected, abs=1e-10)
        assert found.prior + sum(step.weight for step in found.steps) == pytest.approx(expected, abs=1e-10)
        assert found.probability == pytest.approx(shares[i, 2])


def test_unseen_values_are_missing_with_a_notice() -> None:
    model = fitted(drawn(100, 16))
    rows = {"x": [0.1, 0.1], "sky": ["snow", None], "wind": ["low", "low"]}
    with pytest.warns(Notice, match=r"'sky': 1 cell with unseen values, ignored"):
        shares = model.predict_proba(rows)
    np.testing.assert_array_equal(shares[0], shares[1])


def test_class_priors_follow_bayes_rule() -> None:
    table = drawn(80, 17)
    model = fitted(table)
    prior = {"k0": 0.9, "k1": 0.1}
    odds = model.predict_proba(table) * [0.9, 0.1] / (model.class_weights / model.n)
    np.testing.assert_allclose(
        model.predict_proba(table, class_prior=prior), odds / odds.sum(1, keepdims=True), atol=1e-12
    )


def test_the_tree_that_made_the_rows_is_found() -> None:
    rng = np.random.default_rng(18)
    n = 3000
    x, z, colour = rng.uniform(size=n), rng.uniform(size=n), rng.choice(list("abcdefgh"), n)
    truth = np.where(x < 0.4, np.isin(colour, ["b", "e", "h"]), z > 0.7)
    noisy = truth ^ (rng.random(n) < 0.1)
    table = {"x": x, "z": z, "colour": colour, "noise": rng.normal(size=n), "y": noisy.astype(object)}
    for prune in PRUNES:
        model = credo.DecisionTree(prune=prune, gain="evidence").fit(table, target="y")  # type: ignore[arg-type]
        found = model.predict_proba(table)[:, 1]
        if prune is not None:
            assert 4 <= model.n_leaves <= 8
            assert np.mean((found > 0.5) == truth) > 0.995
            assert np.abs(found - np.where(truth, 0.9, 0.1)).mean() < 0.02
