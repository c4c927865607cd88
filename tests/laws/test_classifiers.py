"""The laws of classifiers: what was learned adds and can be taken away, and every short cut equals the long way."""

from __future__ import annotations

from dataclasses import replace
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.special import logsumexp
from scipy.stats import invwishart, multivariate_normal

import credo
from credo.core import learning
from credo.core.evidence import Evidence
from credo.core.folds import FoldDraw
from credo.core.membership import Hard
from credo.data import Source, source
from credo.errors import DataError, EvidenceError, Notice
from credo.families.priors import of_counts, of_numbers
from credo.models.classifier import Classifier
from credo.numerics.exact import Array
from tests.laws.classifiers import (
    CASES,
    KINDS,
    MIXED,
    NUMBERS,
    TARGET,
    Case,
    Table,
    assert_same,
    bayes,
    changed,
    drawn,
    gauss,
    joined,
    pick,
    refitted_one_by_one,
    retaught,
    size,
    unheard,
)

cases = pytest.mark.parametrize("case", CASES.values(), ids=CASES.keys())


# What was learned adds, and can be taken away


@cases
def test_parts_merge_into_the_whole(case: Case) -> None:
    table = case.table(1)
    parts = [case.fit(pick(table, slice(start, start + 15))) for start in (0, 15, 30)]
    whole = case.fit(table)
    assert_same(parts[0] + parts[1] + parts[2], whole, table, case.accuracy)
    assert_same(parts[2].merge(parts[0], parts[1]), whole, table, case.accuracy)


@cases
def test_the_order_of_rows_does_not_matter(case: Case) -> None:
    table = case.table(2)
    turned = pick(table, np.random.default_rng(0).permutation(size(table)))
    columns = dict(reversed(table.items()))
    assert_same(case.fit(turned), case.fit(table), table, case.accuracy)
    assert_same(case.fit(columns), case.fit(table), table, case.accuracy)


@cases
def test_forgetting_undoes_learning(case: Case) -> None:
    table, more = case.table(3), case.table(4, 10)
    model = case.fit(table)
    assert_same(model.update(more).forget(more), model, table, case.accuracy)
    assert_same(case.fit(joined(table, more)).forget(table).update(table).forget(more), model, table, case.accuracy)


@cases
def test_weight_two_is_the_row_twice(case: Case) -> None:
    table, weight = case.table(5), np.random.default_rng(5).integers(1, 4, 45)
    repeated = pick(table, np.repeat(np.arange(45), weight))
    weighted = case.fit(table, weight=weight)
    assert_same(weighted, case.fit(repeated), table, case.accuracy)
    assert_same(case.fit({**table, "w": weight}, weight="w"), weighted, table, case.accuracy)


@cases
def test_a_stream_teaches_what_the_table_teaches(case: Case) -> None:
    table = case.table(6)
    stream = (pick(table, slice(start, start + 7)) for start in range(0, 45, 7))
    assert_same(case.fit(stream), case.fit(table), table, case.accuracy)


@cases
def test_a_discount_is_a_weight(case: Case) -> None:
    table = case.table(7)
    assert_same(case.fit(table).discount(0.25), case.fit(table, weight=np.full(45, 0.25)), table, case.accuracy)


@cases
def test_nothing_is_changed_in_place(case: Case) -> None:
    table = case.table(8)
    model = case.fit(table)
    before = model.log_joint(table)
    model.update(case.table(9, 6))
    model.forget(pick(table, slice(0, 5)))
    model.discount(0.5)
    model.without_class("a")
    np.testing.assert_array_equal(case.fit(table).log_joint(table), before)
    np.testing.assert_array_equal(model.log_joint(table), before)


@cases
def test_a_class_left_out_was_never_there(case: Case) -> None:
    table = case.table(10)
    rest = pick(table, table[TARGET] != "b")
    assert_same(case.fit(table).without_class("b"), case.fit(rest), rest, case.accuracy)


def test_classes_and_values_may_be_new() -> None:
    start = {"sky": ["sun", "rain"], TARGET: ["a", "b"]}
    more = {"sky": ["fog", "sun"], TARGET: ["c", "a"]}
    model = bayes().fit(start, TARGET).update(more)
    assert model.classes == ("a", "b", "c")
    whole = bayes().fit({name: start[name] + more[name] for name in start}, TARGET)
    assert_same(model, whole, more)
    assert_same(model.forget(more), bayes().fit(start, TARGET), start)


def test_what_has_other_settings_does_not_merge() -> None:
    table = {"x": [1.5, 2.5, 3.5], TARGET: ["a", "b", "a"]}
    for one, other in (
        (bayes(), bayes(smoothing=2)),
        (bayes(), bayes(estimate="ml")),
        (bayes(), bayes(strength=2)),
        (bayes(), bayes(class_smoothing=2)),
        (bayes(), bayes(class_prior={"a": 0.5, "b": 0.5})),
        (bayes(), bayes(kinds={"x": credo.Number("binned")})),
        (gauss("full"), gauss("tied")),
    ):
        with pytest.raises(EvidenceError, match="don't merge"):
            one.fit(table, TARGET) + other.fit(table, TARGET)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("model", "columns", "cycles"),
    [(bayes(), ("height",), 5_000), (bayes(), ("sky",), 4_000), (gauss("full"), ("height", "weight"), 1_000)],
    ids=["numbers", "categories", "full"],
)
def test_many_random_cycles_leave_what_a_fresh_fit_gives(
    model: Classifier, columns: tuple[str, ...], cycles: int
) -> None:
    """The rows are read beforehand, else reading would be most of the work: what comes and goes is their evidence."""
    rng = np.random.default_rng(11)
    pool = drawn(rng, 60, columns)
    if "height" in pool:
        pool["height"][7] = 1e6  # comes and goes, too
    inside = rng.random(60) < 0.5
    kinds = {name: KINDS[name] for name in columns}
    model = changed(model, kinds=kinds).fit(pick(pool, inside), TARGET)
    rows: list[Evidence] = [model.gathered(pick(pool, [i])) for i in range(60)]
    for _ in range(cycles):
        i = rng.integers(60)
        seen = model.seen.without(rows[i]) if inside[i] else (model.seen + rows[i]).ordered()
        model, inside[i] = model.with_evidence(seen), not inside[i]
    inside[7] = False
    if model.n > inside.sum():
        model = model.with_evidence(model.seen.without(rows[7]))
    fresh = changed(model, evidence=None).update(pick(pool, inside))
    assert_same(model, fresh, pick(pool, np.arange(60) != 7), 1e-9)


@pytest.mark.parametrize("name", ["mixed, cells missing", "tied, categories and logs beside"])
def test_cycles_of_the_public_verbs_do_so_too(name: str) -> None:
    case = CASES[name]
    rng = np.random.default_rng(12)
    pool = case.table(12, 80)
    inside = np.arange(80) < 40
    model = case.fit(pick(pool, inside))
    for _ in range(60):
        some = rng.choice(80, rng.integers(1, 6), replace=False)
        come, go = some[~inside[some]], some[inside[some]]
        model = model.update(pick(pool, come)) if len(come) else model
        model = model.forget(pick(pool, go)) if len(go) else model
        inside[some] = ~inside[some]
    assert_same(model, case.fit(pick(pool, inside)), pool, 1e-9)


def test_one_row_at_a_time() -> None:
    case = CASES["mixed, cells missing"]
    table = case.table(13, 30)
    live = case.fit(pick(table, slice(0, 10))).live()
    for i in range(10, 30):
        live.observe({name: cells[i] for name, cells in table.items()})
    assert_same(live.freeze(), case.fit(table), table)


# Short cuts: leave-one-out and folds

SOME = [1, 2, 3, 4, 5]  # rows that are left out the long way, too: those that are odd in odd tables


@cases
def test_leave_one_out_is_refitting_without_each_row(case: Case) -> None:
    table = case.table(20, case.few)
    model = case.fit(table)
    with unheard():
        scores = model.leave_one_out(table)
        refitted = refitted_one_by_one(model, table, SOME)
    np.testing.assert_allclose(scores.probabilities[SOME], refitted, rtol=0, atol=1e-9)
    assert [model.classes[k] for k in scores.truth] == table[TARGET].tolist()


@pytest.mark.parametrize(
    "name", [name for name, case in CASES.items() if case.estimate != "ml" and name != "tied, cells missing"]
)
@pytest.mark.slow
def test_leave_one_out_of_weighted_rows(name: str) -> None:
    case = CASES[name]
    table, weight = case.table(21, case.few), np.random.default_rng(21).choice([0.3, 1.0, 2.0, 7.25], case.few)
    model = case.fit(table, weight=weight)
    with unheard():
        scores = model.leave_one_out(table, weight=weight)
        refitted = refitted_one_by_one(model, table, SOME, weight)
    np.testing.assert_allclose(scores.probabilities[SOME], refitted, rtol=0, atol=1e-9)
    np.testing.assert_array_equal(scores.weights, weight)


def odd_class(table: Table) -> Table:
    """A class that only one row is of."""
    kind = np.where(table[TARGET] == "c", "a", table[TARGET]).astype(object)
    kind[4] = "c"
    return {**table, TARGET: kind}


def odd_value(table: Table) -> Table:
    """Values that only one row has, or two rows of different classes."""
    table = {name: cells.copy() for name, cells in table.items()}
    if "sky" in table:
        table["sky"][3] = "hail"
        table["sky"][[5, 6]] = "snow"
    if "wait" in table:
        table["wait"][3] = 1000.0
    if "visits" in table:
        table["visits"][3] = 400.0
    return table


def outlier(factor: float) -> Any:
    def with_outlier(table: Table) -> Table:
        table = {name: cells.copy() for name, cells in table.items()}
        for name in {"height", "age", "fare"} & set(table):
            table[name][2] = factor
        return table

    return with_outlier


def offset(table: Table) -> Table:
    """Means of a thousand million, where floats are 10⁻⁷ apart; sd 1 or so."""
    return {name: 1e9 + cells if name in NUMBERS else cells for name, cells in table.items()}


def constant(table: Table) -> Table:
    """A column of each kind that never changes; and two that do so in a single row, a little or a lot."""
    still = {"sky": "sun", "height": 0.1, "wait": 3.0, "fare": 2.5, "visits": 2.0}
    table = {name: np.full_like(cells, still[name]) if name in still else cells.copy() for name, cells in table.items()}
    if "age" in table:
        table["age"][:] = 1e3
        table["age"][1] = 1e3 + 0.1
    if "weight" in table:
        table["weight"][:] = 0.0
        table["weight"][2] = 1e9
    return table


def empty(table: Table) -> Table:
    """Columns of which every cell is missing."""
    lost = {"sky": None, "height": np.nan, "wait": np.nan, "fare": np.nan, "visits": np.nan}
    return {name: np.full_like(cells, lost[name]) if name in lost else cells for name, cells in table.items()}


def lonely(table: Table) -> Table:
    """Columns of which but one cell is known."""
    table = {name: cells.copy() for name, cells in table.items()}
    for name in {"sky", "height", "wait", "visits", "age"} & set(table):
        known = table[name][3]
        table[name][:] = None if table[name].dtype == object else np.nan
        table[name][3] = known if known == known and known is not None else {"sky": "sun"}.get(name, 4.0)
    return table


def apart(table: Table) -> Table:
    """One class a million deviations away from the other two."""
    far = np.where(table[TARGET] == "c", 1e6, 0.0)
    return {name: cells + far if name in NUMBERS else cells for name, cells in table.items()}


ODDITIES: dict[str, Any] = {
    "class seen once": odd_class,
    "values seen once": odd_value,
    "an outlier of 1e9": outlier(1e9),
    "an outlier of 2e4": outlier(2e4),
    "offset": offset,
    "constant": constant,
    "all cells missing": empty,
    "one cell known": lonely,
    "far apart": apart,
}
ODD_MODELS = (
    "mixed, cells missing", "average, cells missing", "mean", "map", "full", "tied", "spherical", "full map",
    "full, cells missing", "spherical, cells missing", "binned map",
)  # fmt: skip
SLOW = ("values seen once", "an outlier of 2e4", "constant", "all cells missing", "far apart")  # where EM refits


@pytest.mark.parametrize(
    ("name", "oddity"),
    [(name, odd) for name in ODD_MODELS for odd in ODDITIES if not (CASES[name].completes and odd in SLOW)],
)
@pytest.mark.slow
def test_leave_one_out_of_odd_tables(name: str, oddity: str) -> None:
    case = CASES[name]
    table = ODDITIES[oddity](case.table(22, case.few))
    model = case.fit(table)
    with unheard():
        scores = model.leave_one_out(table)
        refitted = refitted_one_by_one(model, table, SOME)
    np.testing.assert_allclose(scores.probabilities[SOME], refitted, rtol=0, atol=1e-9)


def test_leave_one_out_says_how_good_the_model_is() -> None:
    case = CASES["bayes"]
    table = case.table(23, 60)
    scores = case.fit(table).leave_one_out(table)
    own = scores.probabilities[np.arange(60), scores.truth]
    np.testing.assert_allclose(scores.log_loss, -np.log(own).mean())
    np.testing.assert_allclose(scores.accuracy, (scores.probabilities.argmax(1) == scores.truth).mean())
    one_hot = np.eye(3)[scores.truth]
    np.testing.assert_allclose(scores.brier, ((scores.probabilities - one_hot) ** 2).sum(1).mean())
    assert scores.confusion.sum() == 60
    assert 0 <= scores.ece <= 1


@cases
def test_folds_are_refits(case: Case) -> None:
    table, weight = case.table(24, 40), np.random.default_rng(24).choice([1.0, 2.0, 0.5], 40)
    model = case.fit(table, weight=weight)
    with unheard():
        scores = model.cross_validate(table, folds=4, weight=weight, seed=9)
    plan = learning.Folds(model, tuple(table), FoldDraw(4, 9), learning.RowWeights())
    (batch,) = source(table).weighted(weight).batches(list(table))
    for rows, part, weights in plan.split(batch):
        np.testing.assert_array_equal(weights, weight[rows])
        others = np.setdiff1d(np.arange(40), rows)
        with unheard():
            refitted = retaught(model, pick(table, others), weight[others]).predict_proba(Source.of_batch(part))
        np.testing.assert_allclose(scores.probabilities[rows], refitted, rtol=0, atol=1e-9)
    np.testing.assert_array_equal(scores.weights, weight)


def test_rows_without_a_class_are_in_no_score() -> None:
    case = CASES["bayes"]
    table = case.table(25, 40)
    table[TARGET][[3, 17]] = None
    with pytest.warns(Notice, match="2 rows without 'kind' left out"):
        model = case.fit(table)
    known = pick(table, table[TARGET] != None)  # noqa: E711 - cell by cell
    assert_same(model, case.fit(known), known)
    scores = model.leave_one_out(table)
    np.testing.assert_allclose(scores.probabilities, case.fit(known).leave_one_out(known).probabilities, atol=1e-12)
    assert len(model.cross_validate(table, folds=4).truth) == 38


def test_leave_one_out_needs_the_rows_that_were_learned() -> None:
    case = CASES["bayes"]
    table = case.table(26)
    with pytest.raises(EvidenceError, match="needs the rows that were learned"):
        case.fit(table).leave_one_out(pick(table, slice(0, 40)))
    stream = iter([table])
    with pytest.raises(DataError, match="read only once"):
        case.fit(table).leave_one_out(stream)


# Probabilities, and reasons for them


@cases
def test_what_is_said_of_a_row_hangs_together(case: Case) -> None:
    table = case.table(30)
    model, rows = case.fit(table), case.table(31, 12)
    joint = model.log_joint(rows)
    np.testing.assert_allclose(model.log_prob(rows), logsumexp(joint, axis=1), rtol=1e-12, atol=1e-12)
    posterior = joint - logsumexp(joint, axis=1, keepdims=True)
    np.testing.assert_allclose(model.predict_log_proba(rows), posterior, rtol=1e-9, atol=1e-10)
    np.testing.assert_allclose(model.predict_proba(rows), np.exp(posterior), rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(model.predict_proba(rows).sum(1), 1, rtol=1e-12)
    assert model.predict(rows).tolist() == [model.classes[k] for k in joint.argmax(1)]
    each = [model.predict_proba(pick(rows, [i]))[0] for i in range(12)]
    np.testing.assert_allclose(each, model.predict_proba(rows), rtol=1e-12, atol=1e-14)


@cases
def test_prior_and_weights_are_the_log_odds(case: Case) -> None:
    model, rows = case.fit(case.table(32)), case.table(33, 6)
    log_share = model.predict_log_proba(rows)
    for i, (of, against) in enumerate([("a", "b"), ("b", "c"), ("c", "a")] * 2):
        row = {name: cells[i] for name, cells in rows.items() if name != TARGET}
        found = model.explain(row, of, against)
        first, second = model.classes.index(of), model.classes.index(against)
        np.testing.assert_allclose(found.log_odds, log_share[i, first] - log_share[i, second], rtol=1e-9, atol=1e-9)
        assert found.log_odds == found.prior + sum(found.weights.values())
        np.testing.assert_allclose(found.probability, np.exp(log_share[i, first]), rtol=1e-9, atol=1e-12)
        bits = model.explain(row, of, against, unit="bits")
        np.testing.assert_allclose(bits.prior, found.prior / np.log(2), rtol=1e-12)
        for name, weight in found.weights.items():
            np.testing.assert_allclose(bits.weights[name], weight / np.log(2), rtol=1e-12)
        turned = model.explain(row, against, of)
        np.testing.assert_allclose(turned.log_odds, -found.log_odds, rtol=1e-12, atol=1e-12)


@cases
def test_a_missing_cell_has_no_weight(case: Case) -> None:
    model, rows = case.fit(case.table(34)), case.table(35, 1)
    nothing = dict.fromkeys(case.columns)
    found = model.explain(nothing)
    assert set(found.weights.values()) == {0.0}
    np.testing.assert_allclose(model.predict_log_proba([nothing])[0], model.log_joint([nothing])[0], atol=1e-12)
    if len(case.columns) == 1:
        return  # a table without it is refused
    one = case.columns[0]
    with pytest.warns(Notice, match=f"no column '{one}': its cells count as missing"):
        absent = model.predict_proba({name: cells for name, cells in rows.items() if name != one})
    lost = {**rows, one: np.array([None])}
    np.testing.assert_array_equal(model.predict_proba(lost), absent)


@pytest.mark.parametrize("name", ["bayes", "mean", "map", "average", "full, categories beside"])
def test_a_missing_category_is_summed_out(name: str) -> None:
    model = CASES[name].fit(CASES[name].table(36))
    row = {column: cells[0] for column, cells in CASES[name].table(37, 1).items() if column != TARGET}
    every = [model.log_joint([{**row, "sky": sky}])[0] for sky in ("fog", "rain", "sun")]
    np.testing.assert_allclose(logsumexp(every, axis=0), model.log_joint([{**row, "sky": None}])[0], rtol=1e-12)


@pytest.mark.parametrize(
    "name", ["bayes", "mean", "log", "average", "full", "tied", "full map", "spherical", "full, cells missing"]
)
def test_a_missing_number_is_integrated_out(name: str) -> None:
    case = CASES[name]
    model, column = case.fit(case.table(38)), "fare" if "fare" in case.columns and name != "average" else "height"
    row = {other: cells[0] for other, cells in case.table(39, 1).items() if other != TARGET}
    row = {**row, **{other: 1.0 for other in NUMBERS if other in row}}
    t, step = np.polynomial.legendre.leggauss(200)
    x, slope = 6 * np.arctanh(t), 6 / (1 - t**2)  # the whole line
    if column == "fare":
        x, slope = np.exp(x), np.exp(x) * slope
    rows = {**{other: np.full(len(x), value) for other, value in row.items()}, column: x}
    density = np.exp(model.log_joint(rows)) * (slope * step)[:, None]
    known = np.exp(model.log_joint([{**row, column: None}])[0])
    np.testing.assert_allclose(density.sum(0), known, rtol=1e-6)


WITH_UNITS = ("spherical", "count", "priors given", "tree", "one-dependence", "k-dependence", "network")


@pytest.mark.parametrize("name", [n for n in CASES if not n.startswith(WITH_UNITS)])
def test_units_do_not_matter(name: str) -> None:
    """Of numbers: Gaussian, log-Gaussian and in bins; counts have no units, and cut points that are given have some."""
    case = CASES[name]
    columns = tuple(column for column in case.columns if column != "visits")
    case = replace(case, columns=columns)
    table, rows = case.table(40), case.table(41, 12)

    def scaled(table: Table, factor: float) -> Table:
        """Waits are whole tenths, so that no two of them are nearer to each other than a sketch tells apart."""
        change = {"height": factor, "age": 1 / factor, "fare": factor, "wait": factor}
        return {c: cells.astype(float) * change[c] if c in change else cells for c, cells in table.items()}

    plain = case.fit(table)
    for factor in (1000.0, 1e-6):
        other = case.fit(scaled(table, factor))
        np.testing.assert_allclose(
            other.predict_log_proba(scaled(rows, factor)), plain.predict_log_proba(rows), rtol=1e-7, atol=1e-7
        )
        if not case.completes:
            scores = [m.leave_one_out(t).probabilities for m, t in ((plain, table), (other, scaled(table, factor)))]
            np.testing.assert_allclose(scores[0], scores[1], rtol=0, atol=1e-7)


@pytest.mark.parametrize("model", [bayes(), gauss("full"), gauss("tied"), gauss("diagonal"), gauss("spherical")])
def test_a_class_of_one_row_is_certain_of_nothing(model: Classifier) -> None:
    rng = np.random.default_rng(42)
    table: dict[str, Any] = {"x": rng.normal(size=50), "y": rng.normal(size=50), TARGET: ["a"] * 49 + ["b"]}
    fitted = model.fit(table, TARGET)
    own = fitted.predict_proba({"x": table["x"][-1:], "y": table["y"][-1:]})[0, 1]
    assert own < 0.6
    near = fitted.predict_proba({"x": table["x"][-1:] + 1e-9, "y": table["y"][-1:]})[0, 1]
    np.testing.assert_allclose(near, own, rtol=1e-6)
    share = fitted.predict_proba(table)[:, 1]
    assert 0.001 < share.min() < share.max() < 0.6


def test_losses_decide() -> None:
    table = CASES["bayes"].table(43)
    model, rows = CASES["bayes"].fit(table), CASES["bayes"].table(44, 60)
    share = model.predict_proba(rows)
    assert model.decide(rows).tolist() == model.predict(rows).tolist()
    loss: dict[str, dict[str, float]] = {"a": {"b": 1, "c": 20}, "b": {"a": 3}, "c": {"c": -0.5}}
    matrix = np.array([[0, 1, 20], [3, 0, 1], [1, 1, -0.5]])
    least = [model.classes[k] for k in (share @ matrix).argmin(1)]
    assert model.decide(rows, loss).tolist() == least
    assert model.decide(rows, matrix.tolist()).tolist() == least
    unsure = share.max(1) < 0.8
    decided = model.decide(rows, reject=0.2)
    assert unsure.any()
    assert not unsure.all()
    assert [choice is None for choice in decided] == unsure.tolist()
    assert [c for c in decided if c is not None] == model.predict(pick(rows, ~unsure)).tolist()
    assert [c is None for c in model.decide(rows, loss, reject=0.3)] == ((share @ matrix).min(1) > 0.3).tolist()


def test_a_given_class_prior_is_used() -> None:
    table = CASES["bayes"].table(45)
    plain, given = CASES["bayes"].fit(table), None
    prior = {"a": 0.7, "b": 0.2, "c": 0.1}
    given = replace(CASES["bayes"], model=bayes(class_prior=prior)).fit(table)
    moved = plain.log_joint(table) - np.log(plain.class_weights + 1) + np.log(48) + np.log([0.7, 0.2, 0.1])
    np.testing.assert_allclose(given.log_joint(table), moved, rtol=1e-12)


# Averages over all subsets of columns


def brute_force(table: Table, rows: Table, columns: tuple[str, ...]) -> Array:
    """log p(row, class), averaged over the 2^d sets of columns that depend on the class."""
    classes, codes = np.unique(table[TARGET].astype(str), return_inverse=True)
    apart, one = Hard.of(codes, len(classes)), Hard.whole(len(codes))
    terms = []  # of each column: evidence and densities, depending on the class and not
    for name in columns:
        x, new = (np.asarray(part[name]) for part in (table, rows))
        if name == "sky":
            levels = sorted(set(x))
            x, new = (np.array([levels.index(v) for v in part], dtype=np.int32) for part in (x, new))
            prior: Any = credo.DirichletCategorical(1.0, tuple(levels))
        elif name == "visits":
            prior = of_counts(credo.GammaPoisson(1, 1).statistics(x.astype(float), one)[0])
        else:
            x, new = (np.log(part.astype(float)) if name == "fare" else part.astype(float) for part in (x, new))
            prior = of_numbers(credo.NormalInverseGamma(0, 1, 1, 1).statistics(x, one)[0])
        base = -new if name == "fare" else 0.0
        pair = []
        for member in (apart, one):
            statistics = prior.statistics(x, member)
            density = prior.posterior(statistics).log_predictive(new) + np.reshape(base, (-1, 1))
            every = np.broadcast_to(density, (len(new), len(classes)))
            pair.append((float(np.sum(prior.log_evidence(statistics))), every))
        terms.append(pair)
    sets = []
    for chosen in product((0, 1), repeat=len(columns)):
        evidence = sum(pair[which][0] for pair, which in zip(terms, chosen, strict=True))
        density = sum(pair[which][1] for pair, which in zip(terms, chosen, strict=True))
        sets.append((evidence, density))
    weights = np.array([evidence for evidence, _ in sets])
    weights -= logsumexp(weights)
    prior_share = np.log((np.bincount(codes) + 1) / (len(codes) + len(classes)))
    return np.asarray(
        prior_share + logsumexp([w + density for w, (_, density) in zip(weights, sets, strict=True)], axis=0)
    )


@pytest.mark.parametrize("n", [6, 30, 400])
@pytest.mark.parametrize("columns", [("sky",), ("height", "visits"), ("sky", "height", "fare", "visits")])
def test_averaging_is_the_sum_over_all_subsets(columns: tuple[str, ...], n: int) -> None:
    rng = np.random.default_rng(50)
    table, rows = drawn(rng, n, columns), drawn(rng, 20, columns)
    with unheard():
        model = bayes(average=True, kinds={name: KINDS[name] for name in columns}).fit(table, TARGET)
    known = np.isin(rows["sky"], table["sky"]) if "sky" in rows else np.full(20, True)
    expected = brute_force(table, pick(rows, known), columns)
    np.testing.assert_allclose(model.log_joint(pick(rows, known)), expected, rtol=1e-9)


def test_averaging_of_a_row_that_no_class_expects() -> None:
    """That the column depends on the class is sure to 40 nats and more; but that a class shows such a cell is less so.

    Then the other side of the mixture speaks: none of the narrow classes is preferred.
    """
    rng = np.random.default_rng(51)
    codes = np.repeat([0, 1, 2], 8)
    x = np.array([0.0, 1.0, 20.0])[codes] + 0.05 * rng.normal(size=24)
    table: Table = {"height": x, TARGET: np.array(["a", "b", "c"], dtype=object)[codes]}
    model = bayes(average=True, estimate="mean", strength=0.1, kinds={"height": "number"}).fit(table, TARGET)
    family = of_numbers(credo.NormalInverseGamma(0, 1, 1, 1).statistics(x, Hard.whole(24))[0], 0.1)
    new, sides = np.array([0.0, 5.0, 10.0, 40.0]), []
    for member in (Hard.of(codes, 3), Hard.whole(24)):
        statistics = family.statistics(x, member)
        density = family.log_density(new, family.posterior(statistics).mean())
        sides.append((float(family.log_evidence(statistics).sum()), np.broadcast_to(density, (4, 3))))
    evidence = np.array([side[0] for side in sides])
    assert 40 < evidence[0] - evidence[1] < 60
    weights = evidence - logsumexp(evidence)
    expected = np.log(9 / 27) + logsumexp([w + side[1] for w, side in zip(weights, sides, strict=True)], axis=0)
    np.testing.assert_allclose(model.log_joint({"height": new}), expected, rtol=1e-9)


def test_averaging_listens_to_the_columns_that_matter() -> None:
    rng = np.random.default_rng(52)

    def made(n: int) -> Table:
        kind = rng.choice(np.array(["a", "b"], dtype=object), n)
        noise = {f"noise{j}": rng.normal(size=n) for j in range(10)}
        return {**noise, "signal": np.where(kind == "a", 0.0, 1.5) + rng.normal(size=n), TARGET: kind}

    table, rows = made(60), made(3000)
    losses = {}
    for average in (True, False):
        model = bayes(average=average).fit(table, TARGET)
        own = (rows[TARGET] == "b").astype(int)
        losses[average] = -model.predict_log_proba(rows)[np.arange(3000), own].mean()
    assert losses[True] < losses[False] - 0.05


# Bins


def test_bins_follow_from_the_evidence() -> None:
    """About √n of them, at quantiles of what is there now."""
    rng = np.random.default_rng(60)
    low, high = ({"x": rng.permutation(200) + at, TARGET: rng.choice(["a", "b"], 200)} for at in (0.5, 1000.5))
    model = bayes(kinds={"x": credo.Number("binned")})
    both = model.fit(low, TARGET).update(high)
    assert_same(both.forget(low), model.fit(high, TARGET), high)
    assert_same(model.fit(high, TARGET) + model.fit(low, TARGET), both, high)
    assert both.n_parameters == 1 + 2 * (20 - 1)
    assert model.fit(high, TARGET).n_parameters == 1 + 2 * (14 - 1)
    edges = [name for name in both.parameters()["parameter"].to_pylist() if name.startswith("P(")]
    assert len(edges) == 20 + 1


def test_bins_take_any_shape() -> None:
    """Two humps about one: Gaussians of the same mean hardly tell them apart, bins do."""
    rng = np.random.default_rng(61)
    kind = rng.choice(["one", "two"], 600)
    x = np.where(kind == "one", rng.normal(0, 1, 600), rng.choice([-3.0, 3.0], 600) + 0.5 * rng.normal(size=600))
    table = {"x": x, TARGET: kind}
    accuracy = bayes(kinds={"x": credo.Number("binned")}).fit(table, TARGET).leave_one_out(table).accuracy
    assert accuracy > 0.93


def test_bins_of_few_values_are_these_values() -> None:
    table = {"x": [1.5, 1.5, 2.5, 2.5] * 50, TARGET: ["a", "a", "b", "a"] * 50}
    binned = bayes(kinds={"x": credo.Number("binned")}).fit(table, TARGET)
    named = bayes(kinds={"x": "category"}).fit(table, TARGET)
    np.testing.assert_allclose(binned.predict_proba(table), named.predict_proba(table), rtol=1e-12)


# Made-up rows


@pytest.mark.parametrize(
    "case",
    [CASES[name] for name in ("mean", "map", "ml", "count mean", "full map", "tied mean", "spherical map")],
    ids=lambda case: f"{type(case.model).__name__} {case.estimate}",
)
def test_made_up_rows_teach_the_parameters_they_were_made_with(case: Case) -> None:
    model = case.fit(case.table(70, 300))
    again = case.fit(model.sample(60_000, seed=1))
    first, second = (m.parameters() for m in (model, again))
    assert first.column_names == second.column_names
    assert first["parameter"].equals(second["parameter"])
    for name in model.classes:
        a, b = (np.asarray(table[name]) for table in (first, second))
        np.testing.assert_allclose(b, a, atol=0.1, rtol=0.03)


@pytest.mark.parametrize("name", [n for n in CASES if CASES[n].estimate == "bayes"])
def test_made_up_rows_are_like_the_learned(name: str) -> None:
    case = CASES[name]
    model = case.fit(case.table(71, 300))
    table = model.sample(500, seed=2)
    assert table.column_names == [*(c for c in KINDS if c in case.columns), TARGET] or set(table.column_names) == {
        *case.columns,
        TARGET,
    }
    assert table.equals(model.sample(500, seed=2))
    rows = {column: table[column].to_numpy(zero_copy_only=False) for column in table.column_names}
    expected = model.predict_proba(rows)[np.arange(500), [model.classes.index(k) for k in rows[TARGET]]]
    assert expected.mean() > 1.2 / 3  # a row's own class is more probable than by chance


# Sameness among covariances


@pytest.mark.parametrize("estimate", ["bayes", "mean", "map", "ml"])
def test_one_column_has_no_covariance(estimate: Any) -> None:
    """Full is naive Bayes then, and tied is spherical."""
    table, rows = drawn(np.random.default_rng(80), 60, ("height",)), {"height": np.linspace(-3, 5, 9)}
    full, naive = gauss("full", estimate=estimate).fit(table, TARGET), bayes(estimate=estimate).fit(table, TARGET)
    np.testing.assert_allclose(full.log_joint(rows), naive.log_joint(rows), rtol=1e-10)
    tied, spherical = (gauss(how, estimate=estimate).fit(table, TARGET) for how in ("tied", "spherical"))
    np.testing.assert_allclose(tied.log_joint(rows), spherical.log_joint(rows), rtol=1e-10)


def test_every_kind_of_column_is_in_a_case() -> None:
    assert {column for case in CASES.values() for column in case.columns} == set(KINDS)
    assert set(MIXED) <= set(KINDS)


# Cells that miss in training


def monotone(n: int) -> tuple[Table, Any]:
    """Rows in which x is always known and y in the first half; and which these are."""
    rng = np.random.default_rng(90)
    kind = np.array(["a", "b"], dtype=object)[np.arange(n) % 2]
    x = rng.normal(size=n)
    y = np.where(rng.permutation(n) < n // 2, 1 + 0.8 * x + 0.5 * rng.normal(size=n), np.nan)
    return {"x": x, "y": y, TARGET: kind}, ~np.isnan(y)


def test_what_is_most_likely_where_cells_miss() -> None:
    """Anderson (1957): x from all rows, y by its regression on x in the whole ones."""
    table, whole = monotone(60)
    model = gauss("full", estimate="ml").fit(table, TARGET)
    lines = {(line["column"], line["parameter"]): line["a"] for line in model.parameters().to_pylist()}
    own = table[TARGET] == "a"
    every, x, y = table["x"][own], table["x"][own & whole], table["y"][own & whole]
    slope = np.cov(x, y, bias=True)[0, 1] / x.var()
    mean, variance = y.mean() + slope * (every.mean() - x.mean()), y.var() + slope**2 * (every.var() - x.var())
    expected = {
        ("x", "mean"): every.mean(),
        ("y", "mean"): mean,
        ("x", "sd"): every.std(),
        ("y", "sd"): np.sqrt(variance),
        ("y", "correlation with x"): slope * every.std() / np.sqrt(variance),
    }
    assert {name: lines[name] for name in expected} == pytest.approx(expected, rel=1e-6)


@pytest.mark.parametrize("how", ["full", "tied"])
def test_what_is_most_probable_where_cells_miss(how: str) -> None:
    """No parameters near the mode have a higher posterior density."""
    table, whole = monotone(30)
    model = gauss(how, estimate="map", smoothing=2).fit(table, TARGET)
    lines = {(line["column"], line["parameter"]): line for line in model.parameters().to_pylist()}
    pooled = {name: (np.nanmean(table[name]), np.nanvar(table[name])) for name in ("x", "y")}
    place, spread = np.array([p for p, _ in pooled.values()]), np.diag([v for _, v in pooled.values()])
    rows = np.column_stack([table["x"], table["y"]])

    def packed() -> Array:
        found = []
        for value in model.classes if how == "full" else model.classes[:1]:
            one = {name: line[value] for name, line in lines.items()}
            cross = one["y", "correlation with x"] * one["x", "sd"] * one["y", "sd"]
            covariance = np.array([[one["x", "sd"] ** 2, cross], [cross, one["y", "sd"] ** 2]])
            found += np.linalg.cholesky(covariance)[np.tril_indices(2)].tolist()
        means = [lines[name, "mean"][value] for value in model.classes for name in ("x", "y")]
        return np.array([*means, *found])

    def objective(parameters: Array) -> float:
        """log N(rows; μ, Σ) + log N(μ; pooled, Σ) + log InverseWishart(Σ; 4, diag(pooled variances))"""
        total = 0.0
        for k, value in enumerate(model.classes):
            mean, root = parameters[2 * k : 2 * k + 2], np.zeros((2, 2))
            root[np.tril_indices(2)] = parameters[4 + 3 * k :][:3] if how == "full" else parameters[4:]
            covariance = root @ root.T
            for known, some in (([0], ~whole), ([0, 1], whole)):
                law = multivariate_normal(mean[known], covariance[np.ix_(known, known)])
                total += float(law.logpdf(rows[(table[TARGET] == value) & some][:, known]).sum())
            total += float(multivariate_normal(place, covariance).logpdf(mean))
            if how == "full" or k == 0:
                total += float(invwishart(2 + 1 + 1, spread).logpdf(covariance))
        return total

    best = packed()
    top = objective(best)
    rng = np.random.default_rng(0)
    for step in (1e-1, 1e-2, 1e-3):
        for _ in range(12):
            assert objective(best + step * rng.normal(size=len(best))) < top


# Columns that are constant, or become so


@pytest.mark.parametrize("model", [bayes(), bayes(average=True), gauss("full"), gauss("tied"), gauss("spherical")])
@pytest.mark.parametrize(("base", "odd"), [(0.0, 1.0), (0.1, 7.0), (3.0, 1e6), (1 / 3, -5.0)])
def test_without_one_row_a_column_is_constant(model: Classifier, base: float, odd: float) -> None:
    """Then it says nothing: leave-one-out, forgetting and refitting agree, however many rows there are."""
    model = changed(model, kinds={"x": "number"})
    for n in (4, 5, 7, 12, 23, 33, 58):
        x = np.full(n, base)
        x[0] = odd
        table = {"x": x, TARGET: np.array(["a", "b", "b"] * n, dtype=object)[:n]}
        one, rest = pick(table, [0]), pick(table, slice(1, n))
        whole = model.fit(table, TARGET)
        left, fresh = whole.leave_one_out(table).probabilities[:1], retaught(whole, rest)
        np.testing.assert_allclose(left, fresh.predict_proba(one), atol=1e-9)
        np.testing.assert_allclose(whole.forget(one).predict_proba(one), fresh.predict_proba(one), atol=1e-9)


@pytest.mark.parametrize("model", [bayes(), gauss("full"), gauss("tied"), gauss("spherical")])
def test_a_constant_column_says_nothing_whatever_rows_weigh(model: Classifier) -> None:
    for seed in range(20):
        rng = np.random.default_rng(seed)
        weight = rng.random(32) + 0.1
        table = {"x": np.full(32, 0.1), TARGET: rng.choice(np.array(["a", "b", "c"], dtype=object), 32)}
        found = changed(model, kinds={"x": "number"}).fit(table, TARGET, weight=weight)
        near, far, unknown = found.predict_proba({"x": [0.1, 1.1, None]})
        np.testing.assert_array_equal(near, unknown)
        np.testing.assert_array_equal(far, unknown)


@pytest.mark.parametrize("estimate", ["bayes", "mean", "map"])
@pytest.mark.parametrize("columns", [("wait",), ("sky", "wet"), ("height", "age")])
def test_averages_under_every_estimate(columns: tuple[str, ...], estimate: Any) -> None:
    case = Case(bayes(average=True, estimate=estimate, smoothing=1.5), columns)
    table = case.table(77, 24)
    model = case.fit(table)
    with unheard():
        scores, refitted = model.leave_one_out(table), refitted_one_by_one(model, table, range(24))
    np.testing.assert_allclose(scores.probabilities, refitted, atol=1e-9)


# Classes that the left-out row alone has


def test_the_only_row_of_a_class_is_not_predicted_without_it() -> None:
    """A model refitted without the row doesn't know the class: the row is wrong, and its P(truth) can't be judged."""
    table = {"x": [1.0, 1.1, 3.0, 3.1, 9.0], TARGET: ["a", "a", "b", "b", "c"]}
    model = credo.NaiveBayes().fit(table, TARGET)
    scores, rest = model.leave_one_out(table), {"x": [1.0, 1.1, 3.0, 3.1], TARGET: ["a", "a", "b", "b"]}
    fresh = credo.NaiveBayes().fit(rest, TARGET).predict_proba({"x": [9.0]})
    np.testing.assert_allclose(scores.probabilities[4], [*fresh[0], 0.0])
    assert scores.known.tolist() == [True, True, True, True, False]
    own = scores.probabilities[np.arange(4), scores.truth[:4]]
    assert scores.log_loss == pytest.approx(-np.log(own).mean())
    assert scores.accuracy == (scores.probabilities.argmax(1) == scores.truth)[:4].sum() / 5
    assert scores.brier == pytest.approx(((scores.probabilities - np.eye(3)[scores.truth]) ** 2).sum(1).mean())
    assert "5 rows (1 of classes that no other row showed: counted as wrong, left out of the log-loss)" in repr(scores)


@pytest.mark.parametrize("estimate", ["bayes", "mean", "map", "ml"])
@pytest.mark.parametrize("given", [False, True])
def test_a_model_of_one_row_is_never_right_without_it(estimate: Any, given: bool) -> None:
    table = {"x": ["u"], TARGET: ["a"]}
    prior = {"a": 1.0} if given else None
    model = credo.NaiveBayes(estimate=estimate, smoothing=2, class_prior=prior).fit(table, TARGET)
    scores = model.leave_one_out(table)
    assert scores.accuracy == 0
    assert np.isnan(scores.log_loss)
    assert scores.ece == 0
    assert "1 of classes that no other row showed" in repr(scores)


def test_classes_of_one_row_each_are_all_wrong() -> None:
    table = {"x": [1.0, 2.0, 3.0], "w": ["u", "v", "u"], TARGET: ["a", "b", "c"]}
    for model in (bayes(), gauss("full"), gauss("tied")):
        scores = model.fit(table, TARGET).leave_one_out(table)
        assert scores.accuracy == 0
        np.testing.assert_allclose(scores.probabilities.sum(1), 1)


def test_a_class_that_one_fold_has_all_rows_of_is_wrong_there() -> None:
    table = {"x": [1.0, 1.1, 0.9, 3.0, 3.1, 2.9, 9.0], TARGET: ["a", "a", "a", "b", "b", "b", "c"]}
    scores = credo.NaiveBayes().fit(table, TARGET).cross_validate(table, folds=3)
    assert scores.known.tolist() == [True] * 6 + [False]
    assert scores.probabilities[6, 2] == 0
    assert np.isfinite(scores.log_loss)


def test_scores_without_a_known_class_are_stored(tmp_path: Path) -> None:
    table = {"x": [1.0, 1.1, 3.0, 3.1, 9.0], TARGET: ["a", "a", "b", "b", "c"]}
    scores = credo.NaiveBayes().fit(table, TARGET).leave_one_out(table)
    credo.save(scores, tmp_path / "scores.credo")
    assert repr(credo.load(tmp_path / "scores.credo")) == repr(scores)
