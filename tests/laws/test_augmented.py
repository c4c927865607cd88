"""The laws of columns that depend on each other: trees, averages over parents, and cut points."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from itertools import pairwise, product
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import credo
from credo.blocks.capabilities import Hides, LeavesOut
from credo.blocks.dependence.cut_points import informative_cuts, quantile_cuts
from credo.blocks.dependence.families import Families
from credo.blocks.dependence.likelihood import TreeLikelihood
from credo.blocks.dependence.pairs import Dependence
from credo.blocks.dependence.pairwise import PairwiseLikelihood
from credo.core.membership import Hard
from credo.data import source
from tests.hostile.refusals import refused
from tests.laws.classifiers import TARGET, Table, drawn, joined, pick, unheard

COLUMNS = ("sky", "wet", "height", "age")
MODELS: dict[str, Any] = {"tree": credo.TreeAugmented, "one-dependence": credo.OneDependence}
EVERY: dict[str, Any] = {**MODELS, "k-dependence": credo.KDependence, "network": credo.NetworkClassifier}
models = pytest.mark.parametrize("kind", MODELS.values(), ids=MODELS.keys())
every = pytest.mark.parametrize("kind", EVERY.values(), ids=EVERY.keys())


def refusal(call: Callable[[], Any], said: str) -> None:
    assert said in refused(call)


def table_of(seed: int, n: int = 60, missing: float = 0.0) -> Table:
    return drawn(np.random.default_rng(seed), n, COLUMNS, missing)


def as_categories(table: Table, cuts: Any) -> Table:
    """Numbers as the names of their bins."""
    found: Table = dict(table)
    for name, edges in cuts.items():
        x = table[name].astype(float)
        places = np.searchsorted(edges, x, "right").astype(object)
        found[name] = np.array(
            [None if np.isnan(v) else f"bin {p}" for v, p in zip(x, places, strict=True)], dtype=object
        )
    return found


@pytest.mark.parametrize("missing", [0.0, 0.2])
def test_a_tree_without_arrows_is_naive_bayes(missing: float) -> None:
    table, rows = table_of(1, missing=missing), table_of(2, 20, missing)
    model = credo.TreeAugmented(tree={}).fit(table, TARGET)
    assert model.parents == {}
    naive = credo.NaiveBayes().fit(as_categories(table, model.cuts), TARGET)
    with unheard():
        np.testing.assert_allclose(
            model.log_joint(rows), naive.log_joint(as_categories(rows, model.cuts)), rtol=0, atol=1e-12
        )


def share_of(
    model: Any, table: Table, own: list[int], name: str, value: Any, given: tuple[str, Any] | None = None
) -> float:
    """p(value | class), or p(value | another column's, class), the class's rows being `own`."""
    levels = {v for v in table[name] if v is not None}
    known = [i for i in own if table[name][i] is not None]
    count = sum(table[name][i] == value for i in known)
    base = float((count + model.smoothing) / (len(known) + model.smoothing * len(levels)))
    if given is None:
        return base
    there = [i for i in known if table[given[0]][i] == given[1]]
    return float((sum(table[name][i] == value for i in there) + model.backoff * base) / (len(there) + model.backoff))


def brute_force(model: Any, table: Table, row: dict[str, Any]) -> np.ndarray[Any, Any]:
    """log p(row, class) of both kinds from the definition, row by row, of tables of categories."""
    names, classes = [name for name in table if name != TARGET], model.classes
    out = []
    for k in classes:
        own = [i for i in range(len(table[TARGET])) if table[TARGET][i] == k]

        share = partial(share_of, model, table, own)
        prior = (len(own) + model.smoothing) / (len(table[TARGET]) + model.smoothing * len(classes))
        cells = {name: row[name] for name in names if row[name] is not None}
        if isinstance(model, credo.TreeAugmented):
            said = 1.0
            for name, value in cells.items():
                parent = model.parents.get(name)
                said *= share(name, value, (parent, cells[parent]) if parent in cells else None)
        else:
            each = [
                share(a, x) * np.prod([share(b, y, (a, x)) for b, y in cells.items() if b != a])
                for a, x in cells.items()
            ]
            said = float(np.mean(each)) if each else 1.0
        out.append(np.log(prior * said))
    return np.array(out)


@models
@pytest.mark.parametrize("missing", [0.0, 0.25])
def test_log_joints_are_those_of_the_definition(kind: Any, missing: float) -> None:
    table = as_categories(table_of(3, missing=missing), {"height": [0.5, 1.5], "age": [38.0, 42.0]})
    rows = as_categories(table_of(4, 15, missing), {"height": [0.5, 1.5], "age": [38.0, 42.0]})
    model = kind(backoff=2.5, smoothing=0.7).fit(table, TARGET)
    wanted = [brute_force(model, table, {name: cells[i] for name, cells in rows.items()}) for i in range(15)]
    np.testing.assert_allclose(model.log_joint(rows), wanted, rtol=0, atol=1e-12)


def test_a_tree_is_a_network_with_the_same_tables() -> None:
    """On rows without missing cells: P(class | row) by a junction tree."""
    table = as_categories(table_of(5), {"height": [0.5], "age": [40.0]})
    model = credo.TreeAugmented(tree={"wet": "sky", "age": "height", "height": "wet"}).fit(table, TARGET)
    ((_, likelihood),) = model.terms.likelihoods
    assert isinstance(likelihood, TreeLikelihood)
    cells, arrows, tables = likelihood.cells, {TARGET: list[str]()}, {TARGET: np.exp(model.terms.log_prior)}
    states = {TARGET: model.classes, **{name: tuple(cells.values(name)) for name in COLUMNS}}
    for j, name in enumerate(COLUMNS):
        own = slice(cells.starts[j], cells.starts[j + 1])
        arrows[name], tables[name] = [TARGET], likelihood.shares[:, own]
        if name in model.parents:
            p = COLUMNS.index(model.parents[name])
            arrows[name] = [TARGET, model.parents[name]]
            tables[name] = likelihood.conditional[:, cells.starts[p] : cells.starts[p + 1], own]
    net = credo.Network(arrows, tables, states)
    rows = pick(table, slice(0, 20))
    np.testing.assert_allclose(
        net.log_prob(rows), model.log_joint(rows)[np.arange(20), _codes(model, rows)], atol=1e-12
    )
    given = {name: rows[name] for name in COLUMNS}
    np.testing.assert_allclose(net.predict_proba(TARGET, given), model.predict_proba(given), rtol=0, atol=1e-12)


def _codes(model: Any, rows: Table) -> list[int]:
    return [model.classes.index(value) for value in rows[TARGET]]


@every
def test_probabilities_of_all_rows_sum_to_one(kind: Any) -> None:
    table = as_categories(table_of(6), {"height": [0.5, 1.5], "age": [40.0]})
    model = kind().fit(table, TARGET)
    states = [sorted(set(table[name])) for name in COLUMNS]
    rows = [dict(zip(COLUMNS, row, strict=True)) for row in product(*states)]
    assert np.exp(model.log_joint(rows)).sum() == pytest.approx(1.0, abs=1e-12)


def test_the_tree_follows_the_evidence() -> None:
    """It isn't stored: parts merge into the whole, and rows that are forgotten leave no arrow behind."""
    rng = np.random.default_rng(7)
    a = rng.integers(0, 3, 400)
    chain = {"a": a, "b": (a + (rng.random(400) < 0.2)) % 3, "c": rng.integers(0, 2, 400)}
    table = {name: np.array([f"v{v}" for v in cells], dtype=object) for name, cells in chain.items()}
    table |= {TARGET: np.array(["x", "y"], dtype=object)[rng.integers(0, 2, 400)]}
    model = credo.TreeAugmented().fit(table, TARGET)
    assert model.parents == {"b": "a"}
    one, two = (credo.TreeAugmented().fit(pick(table, slice(*ends)), TARGET) for ends in ((0, 150), (150, 400)))
    np.testing.assert_array_equal((one + two).log_joint(table), model.log_joint(table))
    shuffled = table | {"b": rng.permutation(table["b"])}
    more = credo.TreeAugmented().fit(shuffled, TARGET).update(table)
    np.testing.assert_array_equal(
        more.forget(table).log_joint(table), credo.TreeAugmented().fit(shuffled, TARGET).log_joint(table)
    )
    assert more.forget(table).parents == {}


@models
def test_cut_points_are_held_and_merge_only_with_the_same(kind: Any) -> None:
    table, more = table_of(8), table_of(9)
    model = kind().fit(table, TARGET)
    assert model.update(more).cuts == model.cuts
    assert set(model.cuts) == {"height", "age"}
    other = kind(bins={"height": [-7.0], "age": [40.0]}).fit(more, TARGET)
    refusal(lambda: model + other, "has different cut points in the two")
    same = kind(bins=model.cuts).fit(more, TARGET)
    whole = kind(bins=model.cuts).fit(joined(table, more), TARGET)
    np.testing.assert_array_equal(
        (kind(bins=model.cuts).fit(table, TARGET) + same).log_joint(more), whole.log_joint(more)
    )


@every
def test_units_do_not_matter_where_cut_points_are_chosen(kind: Any) -> None:
    table, rows = table_of(10), table_of(11, 20)

    def scaled(each: Table) -> Table:
        return {**each, "height": each["height"] * 2.0**20, "age": each["age"] / 2.0**20}

    one, other = kind().fit(table, TARGET), kind().fit(scaled(table), TARGET)
    np.testing.assert_array_equal(one.predict_proba(rows), other.predict_proba(scaled(rows)))


@every
def test_hard_membership_is_soft_membership_with_one_group(kind: Any) -> None:
    table = table_of(12, missing=0.2)
    model = kind().fit(table, TARGET)
    ((_, block),) = [each for each in model.blocks(model.views) if isinstance(each[1], Dependence | Families)]
    (batch,) = source(table).batches(COLUMNS)
    codes = np.array([model.classes.index(v) for v in table[TARGET]], dtype=np.int32)
    hard = Hard(codes, len(model.classes), np.random.default_rng(0).random(len(codes)))
    one, two = (block.summarise(batch, member, "kind").ordered().parts for member in (hard, hard.soft()))
    for label, part in one.items():
        np.testing.assert_allclose(part.statistics.n.value, two[label].statistics.n.value, rtol=1e-14, atol=0)


@every
def test_a_column_without_values_says_nothing(kind: Any) -> None:
    table = table_of(13)
    empty = {**table, "none": np.full(60, np.nan), "nothing": np.full(60, None, dtype=object)}
    with unheard():
        model = kind(kinds={"none": "number", "nothing": "category"}).fit(empty, TARGET)
        plain = kind().fit(table, TARGET)
        np.testing.assert_allclose(model.log_joint(empty), plain.log_joint(table), rtol=0, atol=1e-12)
        again = {**table, "none": np.arange(60.0), "nothing": np.full(60, "new", dtype=object)}
        np.testing.assert_allclose(model.log_joint(again), plain.log_joint(table), rtol=0, atol=1e-12)


@every
def test_unseen_values_are_ignored_and_told(kind: Any) -> None:
    table = table_of(14)
    model = kind().fit(table, TARGET)
    row = {"sky": "green", "wet": True, "height": 1.0, "age": 40.0}
    with pytest.warns(credo.Notice, match="unseen values"):
        found = model.log_joint([row])
    np.testing.assert_array_equal(found, model.log_joint([{**row, "sky": None}]))


@every
def test_weights_of_evidence_add_up(kind: Any) -> None:
    table = table_of(15, missing=0.1)
    model = kind().fit(table, TARGET)
    for i in range(10):
        row = {name: table[name][i] for name in COLUMNS}
        why = model.explain(row)
        shares = dict(zip(model.classes, model.predict_proba([row])[0], strict=True))
        assert why.log_odds == pytest.approx(np.log(shares[why.of] / shares[why.against]), abs=1e-9)


@every
def test_drawn_rows_follow_the_model(kind: Any) -> None:
    table = table_of(16, 300)
    model = kind(bins=4).fit(table, TARGET)
    made = model.sample(20_000, seed=0)
    again = kind(bins=model.cuts).fit(made, TARGET)
    assert again.class_weights / again.n == pytest.approx(np.exp(model.terms.log_prior), abs=0.02)
    rows = table_of(17, 50)
    np.testing.assert_allclose(again.predict_proba(rows), model.predict_proba(rows), atol=0.1)


@every
@pytest.mark.parametrize("scale", [1e-6, 1.0, 1e6])
def test_drawn_numbers_are_in_the_units_of_the_column(kind: Any, scale: float) -> None:
    """Whether there are cut points or not: "flat" isn't informative about the class, and has none."""
    rng = np.random.default_rng(0)
    y = np.array(["p", "q"], dtype=object)[rng.integers(0, 2, 400)]
    flat, steep = rng.normal(size=(2, 400)) * scale
    table = {"flat": 5 * scale + flat, "steep": steep + 3 * scale * (y == "p"), "sky": ["sun", "fog"] * 200, TARGET: y}
    for bins in (None, {"flat": [5 * scale], "steep": [scale]}):
        made = kind(bins=bins).fit(table, TARGET).sample(4000, seed=0)
        for name in ("flat", "steep"):
            drawn = made[name].to_numpy()
            assert np.isfinite(drawn).all()
            assert drawn.mean() == pytest.approx(table[name].mean(), abs=0.4 * table[name].std())
            assert drawn.std() == pytest.approx(table[name].std(), rel=0.5)


@every
def test_columns_with_too_many_values_are_read_by_themselves(kind: Any) -> None:
    n = 3000
    rng = np.random.default_rng(18)
    table = {
        "id": np.array([f"v{i}" for i in range(n)], dtype=object),
        "sky": np.array(["fog", "sun"], dtype=object)[rng.integers(0, 2, n)],
        TARGET: np.array(["a", "b"], dtype=object)[rng.integers(0, 2, n)],
    }
    with pytest.warns(credo.Notice, match="too many values"):
        model = kind(kinds={"id": "category", "sky": "category"}).fit(table, TARGET)
    assert model.views["id"] == ("category",)
    with unheard():
        assert np.isfinite(model.log_joint({"sky": ["fog"]})).all()


@pytest.mark.parametrize("missing", [0.0, 0.2])
def test_what_pairs_say_is_what_they_add_to_single_cells(missing: float) -> None:
    """Each of a tree's arrows adds what the pair says; rows are left out as by a refit; columns share the halves."""
    table = as_categories(table_of(25, missing=missing), {"height": [0.5], "age": [40.0]})
    arrows = {"wet": "sky", "height": "wet", "age": "sky"}
    tree, plain = (credo.TreeAugmented(tree=each).fit(table, TARGET) for each in (arrows, {}))
    (batch,) = source(table).batches(COLUMNS)
    block = Dependence(COLUMNS, {}, "pairwise")
    likelihood = block.likelihood(tree.seen, tree.settings)
    assert isinstance(likelihood, PairwiseLikelihood)
    place = {name: j for j, name in enumerate(COLUMNS)}
    used = [tuple(sorted((place[a], place[b]))) for a, b in arrows.items()]
    weights = np.array([1.0 if pair in used else 0.0 for pair in likelihood.pairs])
    weighted, out = likelihood.weighted(weights), np.zeros((60, 3))
    codes = weighted.read(batch)
    weighted.add(codes, out)
    np.testing.assert_allclose(out, tree.log_joint(table) - plain.log_joint(table), rtol=0, atol=1e-12)
    np.testing.assert_allclose(sum(weighted.by_column(codes, out.shape).values()), out, rtol=0, atol=1e-12)
    own = Hard.of([tree.classes.index(value) for value in table[TARGET]], 3)
    left = np.zeros_like(out)
    likelihood.add_weighted_left_out(codes, own, weights, left)
    wanted = [np.zeros_like(out) for _ in range(2)]
    for model, each in zip((tree, plain), wanted, strict=True):
        ((_, term),) = model.terms.likelihoods
        LeavesOut.needed(term).add_left_out(codes, own, each)
    np.testing.assert_allclose(left, wanted[0] - wanted[1], rtol=0, atol=1e-12)
    each = likelihood.each_nearly_left_out(codes, own)
    np.testing.assert_allclose(each @ weights, left, rtol=0, atol=1e-12)
    np.testing.assert_allclose(likelihood.each(codes, out.shape) @ weights, out, rtol=0, atol=1e-12)


@every
def test_a_hidden_column_is_a_missing_one(kind: Any) -> None:
    table = table_of(26, missing=0.1)
    model = kind().fit(table, TARGET)
    ((_, likelihood),) = model.terms.likelihoods
    (batch,) = source(table).batches(COLUMNS)
    said = np.zeros((60, 3))
    likelihood.add(likelihood.read(batch), said)
    for name, part in Hides.needed(likelihood).hidden(likelihood.read(batch), said).items():
        without = model.log_joint({**table, name: np.full(60, None, dtype=object)})
        np.testing.assert_allclose(model.log_joint(table) - without, part, rtol=0, atol=1e-12)


def test_arrows_are_left_out_where_columns_are_independent() -> None:
    rng = np.random.default_rng(19)
    table = {name: np.array(["u", "v", "w"], dtype=object)[rng.integers(0, 3, 500)] for name in "abcd"}
    table[TARGET] = np.array(["x", "y"], dtype=object)[rng.integers(0, 2, 500)]
    assert credo.TreeAugmented().fit(table, TARGET).parents == {}


def test_cut_points_are_the_most_probable_ones() -> None:
    """Against all partitions of few values."""
    rng = np.random.default_rng(20)
    from math import lgamma

    for _ in range(20):
        counts = rng.integers(0, 4, (2, 7)).astype(float)
        counts[:, counts.sum(0) == 0] = 1.0
        n = counts.sum()

        def said(edges: list[int], counts: Any = counts, n: float = n) -> float:
            bounds = [0, *edges, 7]
            each = [counts[:, a:b].sum(1) for a, b in pairwise(bounds)]
            total = -(lgamma(n + len(each)) - lgamma(n + 1) - lgamma(len(each)))
            return total + sum(sum(lgamma(c + 1) for c in bin_) - lgamma(bin_.sum() + 2) for bin_ in each)

        choices = [[i + 1 for i in range(6) if code >> i & 1] for code in range(64)]
        best = max(map(said, choices))
        found = [int(cut) for cut in informative_cuts(np.arange(7.0), counts, 10**6)]
        assert said(found) == pytest.approx(best, abs=1e-9)
    assert informative_cuts(np.array([1.0]), np.ones((2, 1))) == ()
    assert quantile_cuts(np.arange(4.0), np.array([[5.0, 1.0, 1.0, 1.0]]), 2) == (1.0,)


@every
def test_saved_models_come_back(kind: Any, tmp_path: Any) -> None:
    table = table_of(21, missing=0.1)
    model = kind(bins={"height": [0.5]}).fit(table, TARGET)
    credo.save(model, tmp_path / "m.credo")
    again = credo.load(tmp_path / "m.credo")
    assert (again.cuts, again.settings) == (model.cuts, model.settings)
    np.testing.assert_array_equal(again.log_joint(table), model.log_joint(table))


@models
def test_iterators_need_cut_points(kind: Any) -> None:
    table = table_of(22)
    parts = [pa.table(pick(table, slice(i, i + 20))) for i in (0, 20, 40)]
    kinds = {"sky": "category", "wet": "category", "height": "number", "age": "number"}
    refusal(lambda: kind(kinds=kinds).fit(iter(parts), TARGET), "bins=")
    bins = {"height": [0.5], "age": [40.0]}
    streamed = kind(kinds=kinds, bins=bins).fit(iter(parts), TARGET)
    np.testing.assert_array_equal(
        streamed.log_joint(table), kind(kinds=kinds, bins=bins).fit(table, TARGET).log_joint(table)
    )


@every
def test_wrong_settings_are_refused(kind: Any) -> None:
    table = table_of(23)
    refusal(lambda: kind(backoff=0.0), "backoff must be positive")
    refusal(lambda: kind(smoothing=-1.0), "smoothing must be")
    refusal(lambda: kind(bins=1), "at least 2")
    refusal(lambda: kind(bins={"height": ["x"]}), "cut points")
    refusal(lambda: kind(bins={"hight": [1.0]}).fit(table, TARGET), "Did you mean 'height'")


def test_wrong_trees_are_refused() -> None:
    table = table_of(24)
    refusal(lambda: credo.TreeAugmented(tree={"a": "b", "b": "a"}), "cycle")
    refusal(lambda: credo.TreeAugmented(tree={"sky": "wit"}).fit(table, TARGET), "Did you mean 'wet'")
