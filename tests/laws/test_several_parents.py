"""The laws of columns that depend on several others: k-dependence, and networks whose arrows are learned."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import credo
from credo.blocks.dependence import parents as choosing
from credo.blocks.dependence.family_likelihood import FamilyLikelihood
from credo.data import source
from tests.hostile.refusals import refused
from tests.laws.classifiers import TARGET, Table, drawn, pick, unheard

COLUMNS = ("sky", "wet", "height", "age")
BINS = {"height": (0.5, 1.5), "age": (38.0, 42.0)}
ARROWS = {"wet": ("sky",), "height": ("sky", "wet"), "age": ("wet", "height", "sky")}


def table_of(seed: int, n: int = 60, missing: float = 0.0) -> Table:
    return drawn(np.random.default_rng(seed), n, COLUMNS, missing)


def as_names(table: Table) -> Table:
    """Numbers as the names of their bins."""
    found: Table = dict(table)
    for name, cuts in BINS.items():
        x = table[name].astype(float)
        bins = np.searchsorted(cuts, x, "right")
        named = [None if np.isnan(v) else f"bin {b}" for v, b in zip(x, bins, strict=True)]
        found[name] = np.array(named, dtype=object)
    return found


def likelihood_of(model: Any) -> FamilyLikelihood:
    ((_, found),) = model.terms.likelihoods
    assert isinstance(found, FamilyLikelihood)
    return found


@pytest.mark.parametrize("missing", [0.0, 0.2])
def test_without_parents_it_is_naive_bayes(missing: float) -> None:
    table, rows = as_names(table_of(1, missing=missing)), as_names(table_of(2, 20, missing))
    naive = credo.NaiveBayes().fit(table, TARGET)
    every = credo.NetworkClassifier(arrows={name: [TARGET] for name in COLUMNS})
    with unheard():
        for model in (credo.KDependence(0), credo.KDependence(2, arrows={}), every):
            found = model.fit(table, TARGET).log_joint(rows)
            np.testing.assert_allclose(found, naive.log_joint(rows), rtol=0, atol=1e-12)


@pytest.mark.parametrize("missing", [0.0, 0.2])
def test_with_a_parent_each_it_is_a_tree(missing: float) -> None:
    table, rows = table_of(3, missing=missing), table_of(4, 20, missing)
    tree = {"wet": "sky", "age": "height", "height": "wet"}
    one = credo.TreeAugmented(bins=BINS, tree=tree).fit(table, TARGET)
    arrows = {name: [parent] for name, parent in tree.items()}
    network = credo.NetworkClassifier(bins=BINS, arrows={n: [*arrows.get(n, []), TARGET] for n in COLUMNS})
    for model in (credo.KDependence(bins=BINS, arrows=arrows), network):
        other = model.fit(table, TARGET)
        np.testing.assert_allclose(other.log_joint(rows), one.log_joint(rows), rtol=0, atol=1e-12)
        scores = [each.leave_one_out(table).probabilities for each in (one, other)]
        np.testing.assert_allclose(scores[0], scores[1], rtol=0, atol=1e-12)
        assert other.n_parameters == one.n_parameters


def by_definition(model: Any, table: Table, row: dict[str, Any], own: list[int], name: str, used: int) -> float:
    """p(cell | its first so many parents, the rows `own`), backing off from parent to parent."""
    known = [i for i in own if table[name][i] is not None]
    levels = {v for v in table[name] if v is not None}
    n = sum(table[name][i] == row[name] for i in known)
    p = (n + model.smoothing) / (len(known) + model.smoothing * len(levels))
    for parent in [each for each in model.parents.get(name, ()) if each != TARGET][:used]:
        if row[parent] is None:
            break
        known = [i for i in known if table[parent][i] == row[parent]]
        n = sum(table[name][i] == row[name] for i in known)
        p = (n + model.backoff * p) / (len(known) + model.backoff)
    return float(p)


@pytest.mark.parametrize("missing", [0.0, 0.25])
@pytest.mark.parametrize("free", [(), ("age",)])
def test_log_joints_are_those_of_the_definition(missing: float, free: tuple[str, ...]) -> None:
    table, rows = as_names(table_of(5, 80, missing)), as_names(table_of(6, 15, missing))
    settings: dict[str, Any] = {"backoff": 2.5, "smoothing": 0.7}
    if free:
        arrows = {name: [*ARROWS.get(name, ()), *([] if name in free else [TARGET])] for name in COLUMNS}
        model: Any = credo.NetworkClassifier(arrows=arrows, **settings).fit(table, TARGET)
    else:
        model = credo.KDependence(arrows=ARROWS, **settings).fit(table, TARGET)
    every = list(range(80))
    for i in range(15):
        row, wanted = {name: rows[name][i] for name in COLUMNS}, []
        for k in model.classes:
            own = [j for j in every if table[TARGET][j] == k]
            logs = np.log((len(own) + 0.7) / (80 + 0.7 * len(model.classes)))
            for name in (name for name in COLUMNS if row[name] is not None):
                logs += np.log(by_definition(model, table, row, every if name in free else own, name, 3))
            wanted.append(logs)
        np.testing.assert_allclose(model.log_joint([row])[0], wanted, rtol=0, atol=1e-12)


def test_each_number_of_parents_is_a_term() -> None:
    table, rows = table_of(7, missing=0.1), table_of(8, 20, missing=0.1)
    model = credo.KDependence(bins=BINS, arrows=ARROWS).fit(table, TARGET)
    likelihood = likelihood_of(model)
    assert likelihood.term_names == ("1", "2", "3")
    (batch,) = source(rows).batches(COLUMNS)
    terms = likelihood.each(likelihood.read(batch), (20, 3))
    for k in (1, 2, 3):
        fewer = {name: above[:k] for name, above in ARROWS.items()}
        other = credo.KDependence(bins=BINS, arrows=fewer).fit(table, TARGET)
        np.testing.assert_allclose(terms[:, :, k - 1], other.log_joint(rows) - other.terms.log_prior, atol=1e-12)
    weights, out = np.array([0.5, 0.0, 2.0]), np.zeros((20, 3))
    likelihood.weighted(weights).add(likelihood.read(batch), out)
    np.testing.assert_allclose(out, terms @ weights, rtol=0, atol=1e-12)
    columns = likelihood.weighted(weights).by_column(likelihood.read(batch), out.shape)
    np.testing.assert_allclose(sum(columns.values()), out, rtol=0, atol=1e-12)


def test_a_network_classifier_is_a_network_with_the_same_tables() -> None:
    """P(class | row) by a junction tree, where no cell is missing."""
    table = as_names(table_of(9, 100))
    arrows = {"sky": [TARGET], "wet": ["sky", TARGET], "height": ["wet"], "age": ["height", "sky", TARGET]}
    model = credo.NetworkClassifier(arrows=arrows).fit(table, TARGET)
    likelihood = likelihood_of(model)
    cells = likelihood.cells
    states = {TARGET: model.classes, **{name: tuple(cells.values(name)) for name in COLUMNS}}
    tables: dict[str, Any] = {TARGET: np.exp(model.terms.log_prior)}
    for j, name in enumerate(COLUMNS):
        shape = [len(states[each]) for each in arrows[name]]
        tables[name] = np.zeros((*shape, len(states[name])))
        for place in np.ndindex(*shape):
            row = np.full((len(states[name]), len(COLUMNS)), -1, dtype=np.int32)
            row[:, j] = cells.starts[j] + np.arange(len(states[name]))
            for parent, at in zip(arrows[name], place, strict=True):
                if parent != TARGET:
                    row[:, COLUMNS.index(parent)] = cells.starts[COLUMNS.index(parent)] + at
            *_, p = likelihood._probabilities(j, row, [*likelihood._configurations(j, row)])
            tables[name][place] = p[:, place[arrows[name].index(TARGET)] if TARGET in arrows[name] else 0]
    net = credo.Network({TARGET: [], **arrows}, tables, states)
    rows = {name: table[name][:25] for name in COLUMNS}
    np.testing.assert_allclose(net.predict_proba(TARGET, rows), model.predict_proba(rows), rtol=0, atol=1e-12)
    assert model.blanket == ("sky", "wet", "height", "age")
    other = credo.NetworkClassifier(arrows={"sky": [TARGET], "wet": ["sky"]}).fit(table, TARGET)
    assert other.blanket == ("sky",)
    with unheard():
        found = other.predict_proba({"sky": rows["sky"]})
    np.testing.assert_allclose(found, other.predict_proba(rows), rtol=0, atol=1e-15)


def interacting(n: int, seed: int = 0) -> Table:
    """The class depends on a and b, c is a copy of a with noise, and noise depends on nothing."""
    rng = np.random.default_rng(seed)
    a, b, noise = rng.integers(0, 3, (3, n))
    c = np.where(rng.random(n) < 0.1, rng.integers(0, 3, n), a)
    y = np.where(rng.random(n) < 0.1, rng.integers(0, 2, n), (a + b >= 2) & (b > 0))
    names = np.array(["u", "v", "w"], dtype=object)
    return {"a": names[a], "b": names[b], "c": names[c], "noise": names[noise], TARGET: names[y.astype(int)]}


def test_parents_are_the_earlier_columns_that_a_column_depends_on_most() -> None:
    table = interacting(800)
    for k in (1, 2, 3):
        model = credo.KDependence(k).fit(table, TARGET)
        assert max(map(len, model.parents.values())) == k
        assert "a" in model.parents.get("c", ())[:1] or "c" in model.parents.get("a", ())[:1]
        order = [name for name in model.views if name not in model.parents]
        assert len(order) == 1, "only the first has none"
    three = credo.KDependence(3).fit(table, TARGET).parents
    for k in (1, 2):
        fewer = credo.KDependence(k).fit(table, TARGET).parents
        assert fewer == {name: above[:k] for name, above in three.items()}


def test_tables_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(choosing, "FAMILY_CELLS", 40)
    model = credo.KDependence(3).fit(interacting(400), TARGET)
    assert max(map(len, model.parents.values())) == 1


def test_learned_arrows_leave_noise_out() -> None:
    table = interacting(1500)
    model = credo.NetworkClassifier().fit(table, TARGET)
    assert set(model.blanket) <= {"a", "b", "c"}
    assert {"a", "b"} <= set(model.blanket)
    fresh = interacting(1000, seed=1)
    naive = credo.NaiveBayes().fit(table, TARGET)
    assert model.scores(fresh).log_loss < 0.9 * naive.scores(fresh).log_loss


def test_parents_are_held_and_merge_only_with_the_same() -> None:
    table, more = interacting(300), interacting(300, seed=1)
    model = credo.KDependence(2).fit(table, TARGET)
    assert model.update(more).parents == model.parents
    other = credo.KDependence(2, arrows={"a": ["b"]}).fit(more, TARGET)
    assert "arrows=first.parents" in refused(lambda: model + other)
    same = credo.KDependence(2, arrows=model.parents)
    parts = same.fit(table, TARGET) + same.fit(more, TARGET)
    np.testing.assert_array_equal(parts.log_joint(more), model.update(more).log_joint(more))


@pytest.mark.parametrize("kind", ["kdb", "network"])
def test_learn_takes_them_alone(kind: Any, tmp_path: Any) -> None:
    table = interacting(400)
    model = credo.learn(table, TARGET, model=kind)
    assert {form for own in model.tuning.forms.values() for form in own} == {"k-dependence"}
    assert model.report.scores.log_loss < 0.45
    credo.save(model, tmp_path / "m.credo")
    again = credo.load(tmp_path / "m.credo")
    rows = interacting(20, seed=2)
    np.testing.assert_array_equal(again.predict_proba(rows), model.predict_proba(rows))
    live = model.live()
    for i in range(3):
        live.observe({name: cells[i] for name, cells in rows.items()})
    updated = model.update(pick(rows, slice(0, 3)))
    np.testing.assert_allclose(live.freeze().predict_proba(rows), updated.predict_proba(rows), rtol=0, atol=1e-12)


def test_folds_choose_parents_again() -> None:
    """What is reported includes the choice of the arrows: on shuffled classes, nothing is gained."""
    table = interacting(200)
    table[TARGET] = np.random.default_rng(3).permutation(table[TARGET])
    shares = credo.KDependence(0, arrows={}).fit({"a": table["a"], TARGET: table[TARGET]}, TARGET).terms.log_prior
    for kind in ("kdb", "network"):
        found = credo.learn(table, TARGET, model=kind).report.scores.log_loss
        assert found > -float(np.exp(shares) @ shares) - 0.02


def test_wrong_settings_are_refused() -> None:
    table = table_of(10)
    said: list[tuple[Any, str]] = [
        (lambda: credo.KDependence(-1), "k must be a whole number"),
        (lambda: credo.KDependence(True), "k must be a whole number"),
        (lambda: credo.KDependence(arrows={"sky": "wet"}), "arrows must be"),
        (lambda: credo.KDependence(arrows={"sky": ["wet", "wet"]}), "arrows must be"),
        (lambda: credo.KDependence(arrows={"sky": ["wet"], "wet": ["sky"]}), "cycle"),
        (lambda: credo.KDependence(arrows={"sky": ["wit"]}).fit(table, TARGET), "Did you mean 'wet'"),
        (lambda: credo.KDependence(arrows={"sky": [TARGET]}).fit(table, TARGET), "arrows names"),
        (lambda: credo.NetworkClassifier(arrows={TARGET: ["sky"]}).fit(table, TARGET), "arrows names"),
        (lambda: credo.NetworkClassifier(max_parents=-1), "max_parents must be"),
        (lambda: credo.NetworkClassifier(search="bos").fit(table, TARGET), "Did you mean 'boss'"),
    ]
    for call, text in said:
        assert text in refused(call)
    parts = [{name: cells[i : i + 20].tolist() for name, cells in table.items()} for i in (0, 20, 40)]
    kinds = {"sky": "category", "wet": "category", "height": "number", "age": "number"}
    assert "arrows=" in refused(lambda: credo.KDependence(bins=BINS, kinds=kinds).fit(iter(parts), TARGET))
    with unheard():
        streamed = credo.KDependence(bins=BINS, kinds=kinds, arrows=ARROWS).fit(iter(parts), TARGET)
    whole = credo.KDependence(bins=BINS, kinds=kinds, arrows=ARROWS).fit(table, TARGET)
    np.testing.assert_array_equal(streamed.log_joint(table), whole.log_joint(table))
