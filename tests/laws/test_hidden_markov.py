"""Laws of hidden Markov models: EM never falls, weights are copies, stretches and engines change nothing."""

from __future__ import annotations

import pickle
from functools import partial
from itertools import count
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import credo
from credo import engines
from credo.core.em import interruptible_em
from credo.models.hidden_markov import expecting, fitting, passes
from credo.notices import quietly
from tests.laws.test_em import Pickling

few_steps = pytest.mark.filterwarnings("ignore:EM ended after")

SETTINGS: dict[str, dict[str, Any]] = {
    "full": {},
    "tied": {"emission": "tied"},
    "diagonal": {"emission": "diagonal"},
    "spherical": {"emission": "spherical"},
    "ml": {"estimate": "ml", "emission": "diagonal"},
    "components": {"components": 2},
    "duration": {"duration": 3},
    "sticky": {"sticky": 20.0},
    "strong": {"smoothing": 5.0, "strength": 10.0},
    "left-to-right": {"transitions": "left-to-right"},
    "matrix": {"transitions": [[1, 1, 0], [0, 1, 1], [1, 0, 1]]},
}


def sequences(seed: int = 0, lengths: tuple[int, ...] = (40, 1, 25, 60), missing: float = 0.1) -> dict[str, Any]:
    """Numbers, a category, a count, of states that last; some cells missing."""
    rng = np.random.default_rng(seed)
    hidden = np.concatenate([np.repeat(rng.integers(0, 3, n), 4)[:n] for n in lengths])
    x, y = rng.normal(3.0 * hidden, 1.0), rng.normal(-2.0 * (hidden == 1), 1.0)
    colour = np.array(["red", "green", "blue"], dtype=object)[(hidden + (rng.random(len(hidden)) < 0.2)) % 3]
    n = rng.poisson(1.0 + 4.0 * (hidden == 2)).astype(object)
    for column in (x, y, colour, n):
        column[rng.random(len(hidden)) < missing] = None if column.dtype == object else np.nan
    names = np.repeat([f"s{i}" for i in range(len(lengths))], lengths)
    return {"x": x, "y": y, "colour": colour, "n": n, "id": names, "hidden": hidden}


def only(data: dict[str, Any], *names: str) -> dict[str, Any]:
    return {name: data[name] for name in names}


DATA = sequences()
COLUMNS = only(DATA, "x", "y", "colour", "n", "id")
KINDS = {"n": "count"}


def fitted(settings: dict[str, Any], data: dict[str, Any] = COLUMNS, **how: Any) -> credo.HiddenMarkov:
    model = credo.HiddenMarkov(3, kinds=KINDS, starts=2, **{"steps": 30, **settings})
    with quietly():  # some don't converge in so few steps
        return model.fit(data, sequence="id", **how)


@pytest.mark.parametrize("settings", SETTINGS.values(), ids=SETTINGS.keys())
def test_the_objective_never_falls(settings: dict[str, Any]) -> None:
    start = np.random.default_rng(1).dirichlet(np.ones(3), len(DATA["x"]))
    model = fitted(settings, start=start)
    steps = np.diff(model.history)
    assert len(steps) > 2
    assert steps.min() >= -1e-9 * abs(model.history[-1])
    assert model.history[-1] > model.history[0]
    np.testing.assert_allclose(model.transition_shares.sum(1), 1.0)
    np.testing.assert_allclose(model.smooth(COLUMNS).sum(1), 1.0)


@pytest.mark.parametrize("name", ["full", "components", "duration", "matrix"])
def test_a_weight_of_two_is_the_sequence_twice(name: str) -> None:
    start = np.random.default_rng(2).dirichlet(np.ones(3), len(DATA["x"]))
    if name == "components":
        start = np.eye(3)[DATA["hidden"]]
    twice = {key: np.concatenate([column, column[:40]]) for key, column in COLUMNS.items()}
    twice["id"] = np.concatenate([COLUMNS["id"], ["copy"] * 40])
    settings = SETTINGS[name] | {"emission": "diagonal"}
    if name == "components":  # components begin by chance, row by row: the law is of one E-step
        model = fitted(settings, start=start)
        once, both = (float(model.log_prob(table).sum()) for table in (COLUMNS, twice))
        assert both == pytest.approx(once + float(model.log_prob(COLUMNS)[0]), rel=1e-12)
        return
    weighted = fitted(settings, start=start, weight=[2.0, 1.0, 1.0, 1.0])
    copied = fitted(settings, twice, start=np.concatenate([start, start[:40]]))
    np.testing.assert_allclose(weighted.history, copied.history, rtol=1e-10)
    np.testing.assert_allclose(weighted.transition_shares, copied.transition_shares, rtol=1e-8)


def test_weights_of_rows_sequences_and_columns_are_the_same() -> None:
    start, own = DATA["hidden"], np.array([2.0, 1.0, 0.5, 3.0])
    rows = np.repeat(own, [40, 1, 25, 60])
    by_sequence, by_row = (fitted({}, start=start, weight=weight).history for weight in (own, rows))
    by_column = fitted({}, {**COLUMNS, "w": rows}, start=start, weight="w").history
    assert by_sequence == by_row == by_column


@pytest.mark.parametrize("name", ["full", "duration", "components"])
def test_where_stretches_end_changes_nothing(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Long sequences are read a stretch at a time, whose messages are kept or computed again."""
    data = sequences(4, (13, 1, 22))
    start, data = data["hidden"], only(data, "x", "y", "colour", "n", "id")
    whole = fitted(SETTINGS[name] | {"steps": 2}, data, start=start)
    expected = whole.decode(data), whole.smooth(data)
    monkeypatch.setattr(expecting.Pieces, "__init__", lambda self, rows=7: object.__setattr__(self, "rows", rows))
    for held in (10**9, 0):
        monkeypatch.setattr(passes.Passes.forward.__func__, "__defaults__", (held,))  # type: ignore[attr-defined]
        cut = fitted(SETTINGS[name] | {"steps": 2}, data, start=start)
        np.testing.assert_allclose(cut.history, whole.history, rtol=1e-10)
        again = whole.replaced()
        for verb in ("smooth", "filter", "log_prob"):
            np.testing.assert_allclose(getattr(again, verb)(data), getattr(cut, verb)(data), rtol=1e-6)
        assert (again.decode(data) == expected[0]).all()
        np.testing.assert_allclose(again.smooth(data), expected[1], rtol=1e-9)


@pytest.mark.parametrize("engine", [engines.Serial(), Pickling()], ids=["serial", "pickled"])
def test_any_engine_finds_the_same(engine: Any) -> None:
    here = fitted({})
    with engines.using(engine):
        there = fitted({})
        assert there.history == here.history
        np.testing.assert_array_equal(there.smooth(COLUMNS), here.smooth(COLUMNS))
    assert isinstance(pickle.loads(pickle.dumps(here)), credo.HiddenMarkov)


def test_the_order_of_sequences_changes_nothing() -> None:
    order = np.concatenate([np.flatnonzero(DATA["id"] == name) for name in ("s2", "s0", "s3", "s1")])
    turned = {name: np.asarray(column)[order] for name, column in COLUMNS.items()}
    apart = SETTINGS["diagonal"]  # columns that covary begin with missing cells as in the batch they are in
    one, other = fitted(apart, start=DATA["hidden"]), fitted(apart, turned, start=DATA["hidden"][order])
    np.testing.assert_allclose(one.history, other.history, rtol=1e-10)
    np.testing.assert_allclose(one.smooth(turned), one.smooth(COLUMNS)[order], rtol=1e-12)


def test_rows_are_put_in_order_and_answered_as_they_came() -> None:
    rng = np.random.default_rng(3)
    when = np.concatenate([np.arange(n) for n in (40, 1, 25, 60)])
    mixed = np.concatenate(
        [np.flatnonzero(DATA["id"] == f"s{i}")[rng.permutation(n)] for i, n in enumerate((40, 1, 25, 60))]
    )
    turned = {name: np.asarray(column)[mixed] for name, column in {**COLUMNS, "when": when}.items()}
    plain = fitted(SETTINGS["diagonal"], start=DATA["hidden"])
    ordered = fitted(SETTINGS["diagonal"], turned, start=DATA["hidden"][mixed], order="when")
    np.testing.assert_allclose(ordered.history, plain.history, rtol=1e-10)
    for verb in ("smooth", "filter", "decode"):
        np.testing.assert_array_equal(
            getattr(ordered, verb)(turned), getattr(ordered, verb)({**COLUMNS, "when": when})[mixed]
        )


@few_steps
def test_lists_of_tables_are_sequences_and_one_table_is_one() -> None:
    tables = [only({k: np.asarray(v)[DATA["id"] == f"s{i}"] for k, v in DATA.items()}, "x", "y") for i in range(4)]
    model = credo.HiddenMarkov(3, starts=1, steps=5, emission="diagonal")
    listed = model.fit(tables, start=DATA["hidden"])
    named = model.fit(only(DATA, "x", "y", "id"), sequence="id", start=DATA["hidden"])
    np.testing.assert_allclose(listed.history, named.history, rtol=1e-12)  # batches may end elsewhere
    np.testing.assert_allclose(listed.smooth(tables), named.smooth(only(DATA, "x", "y", "id")), rtol=1e-9)
    assert listed.log_prob(tables).shape == (4,)
    one = model.fit(only(DATA, "x", "y"))
    assert one.log_prob(only(DATA, "x", "y")).shape == (1,)


def test_files_that_are_read_in_each_step_are_the_same(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    from credo.data import Source

    data = {name: [*column] for name, column in only(DATA, "x", "colour", "id").items()}
    pq.write_table(pa.table(data), tmp_path / "days.parquet", row_group_size=50)
    held = credo.HiddenMarkov(3, starts=2).fit(str(tmp_path / "days.parquet"), sequence="id")
    monkeypatch.setattr(Source, "held", lambda self: self)
    again = credo.HiddenMarkov(3, starts=2).fit(str(tmp_path / "days.parquet"), sequence="id")
    np.testing.assert_allclose(again.history, held.history, rtol=1e-9)
    np.testing.assert_allclose(again.smooth(str(tmp_path / "days.parquet")), held.smooth(data), atol=1e-6)


# States that are given


TAGGED = only(DATA, "x", "colour", "id", "hidden")


def test_given_states_are_counted() -> None:
    model = credo.HiddenMarkov().fit(TAGGED, target="hidden", sequence="id")
    assert not model.hidden
    assert model.names == (0, 1, 2)
    steps, firsts = np.ones((3, 3)), np.ones(3)  # of the prior
    for name in np.unique(DATA["id"]):
        own = DATA["hidden"][DATA["id"] == name]
        firsts[own[0]] += 1
        np.add.at(steps, (own[:-1], own[1:]), 1.0)
    np.testing.assert_allclose(model.transition_shares, steps / steps.sum(1, keepdims=True))
    np.testing.assert_allclose([*model.initial_shares.values()], firsts / firsts.sum())
    bayes = credo.NaiveBayes().fit(only(DATA, "x", "colour", "hidden"), target="hidden")
    log_likelihood = bayes.log_joint(TAGGED) - bayes.terms.log_prior
    np.testing.assert_allclose(model.chain.emission.log_likelihood(_batch(TAGGED)), log_likelihood, rtol=1e-12)


def _batch(data: dict[str, Any]) -> Any:
    from credo.data import source

    return next(source(data).batches([*data]))


def test_learning_more_forgetting_and_merging_are_exact_where_states_are_given() -> None:
    first, rest = (
        {k: np.asarray(v)[own] for k, v in TAGGED.items()} for own in (DATA["id"] == "s0", DATA["id"] != "s0")
    )
    model = credo.HiddenMarkov((0, 1, 2))
    whole = model.fit(TAGGED, target="hidden", sequence="id")
    one, other = (model.fit(part, target="hidden", sequence="id") for part in (first, rest))
    for found in (one.update(rest), one + other, one.merge(other), whole.update(first).forget(first)):
        np.testing.assert_allclose(found.transition_shares, whole.transition_shares, rtol=1e-14)
        np.testing.assert_allclose(found.smooth(TAGGED), whole.smooth(TAGGED), rtol=1e-12)
    for label in one.evidence.parts:  # type: ignore[union-attr]
        for mine, its in zip((whole.forget(rest)).evidence[label].sums, one.evidence[label].sums, strict=True):  # type: ignore[index]
            np.testing.assert_allclose(mine.value, its.value, rtol=1e-12)


def test_what_was_hidden_is_neither_forgotten_nor_merged() -> None:
    model = fitted({})
    with pytest.raises(credo.EvidenceError, match="can't forget: states were hidden"):
        model.forget(COLUMNS)
    with pytest.raises(credo.EvidenceError, match="don't merge: states were hidden"):
        _ = model + model


def test_partly_given_states_are_kept() -> None:
    rng = np.random.default_rng(5)
    known = rng.random(len(DATA["x"])) < 0.2
    partly = [k if given else None for k, given in zip(DATA["hidden"].tolist(), known, strict=True)]
    model = credo.HiddenMarkov(kinds=KINDS).fit({**COLUMNS, "state": partly}, target="state", sequence="id")
    assert model.hidden
    assert np.diff(model.history).min() >= -1e-9 * abs(model.history[-1])
    assert (model.decode(COLUMNS) == DATA["hidden"]).mean() > 0.8


def test_states_given_for_sure_are_states_given_with_probability_one() -> None:
    sure = np.eye(3)[DATA["hidden"]]
    sure[::3] = np.nan  # of these nothing is said
    partly = [None if i % 3 == 0 else int(k) for i, k in enumerate(DATA["hidden"])]
    one = credo.HiddenMarkov(3, kinds=KINDS).fit(COLUMNS, target=sure, sequence="id")
    other = credo.HiddenMarkov(3, kinds=KINDS).fit(COLUMNS, target=partly, sequence="id")
    assert one.history[-1] == pytest.approx(other.history[-1], rel=1e-6)
    np.testing.assert_allclose(one.smooth(COLUMNS), other.smooth(COLUMNS), atol=1e-3)


@few_steps
def test_probabilities_of_states_may_be_columns() -> None:
    rng = np.random.default_rng(6)
    shares = rng.dirichlet(np.ones(3), len(DATA["x"]))
    columns = {**COLUMNS, "a": shares[:, 0], "b": shares[:, 1], "c": shares[:, 2]}
    one = credo.HiddenMarkov(3, kinds=KINDS, steps=5).fit(COLUMNS, target=shares, sequence="id")
    target = {0: "a", 1: "b", 2: "c"}
    other = credo.HiddenMarkov(3, kinds=KINDS, steps=5).fit(columns, target=target, sequence="id")
    assert one.history == other.history


# Patterns


def test_no_transition_outside_the_pattern() -> None:
    model = fitted(SETTINGS["matrix"])
    allowed = np.array(SETTINGS["matrix"]["transitions"], dtype=bool)
    assert (model.transition_shares[~allowed] == 0).all()
    path = model.decode(COLUMNS)
    for name in np.unique(DATA["id"]):
        own = path[DATA["id"] == name]
        assert allowed[own[:-1], own[1:]].all()


def test_states_keep_the_order_of_their_names() -> None:
    """Left to right goes by the names as they are given, not by the alphabet."""
    rows = {"x": ["u", "u", "v", "w"] * 3, "id": np.repeat([1, 2, 3], 4)}
    states = ["young", "young", "grown", "aged"] * 3
    model = credo.HiddenMarkov(("young", "grown", "aged"), transitions="left-to-right")
    found = model.fit(rows, target=states, sequence="id")
    assert found.names == ("young", "grown", "aged")
    assert found.initial_shares == {"young": 1.0, "grown": 0.0, "aged": 0.0}
    assert (np.tril(found.transition_shares, -1) == 0).all()
    assert found.decode(rows).tolist() == states
    assert found.update(rows, target=states).forget(rows, target=states).decode(rows).tolist() == states
    assert found.forget(rows, target=states).n == 0.0


def test_a_row_by_itself_is_classified_by_the_states() -> None:
    model = credo.HiddenMarkov().fit(TAGGED, target="hidden", sequence="id")
    own = np.log(model.state_weights + 1.0) + model.chain.emission.log_likelihood(_batch(TAGGED))
    expected = np.exp(own - np.logaddexp.reduce(own, axis=1, keepdims=True))
    np.testing.assert_allclose(model.classifier.predict_proba(TAGGED), expected, rtol=1e-9)
    assert credo.ask(model, "P(hidden=1 | colour=red)") == pytest.approx(
        float(model.classifier.predict_proba({"colour": ["red"], "x": [None]})[0, 1])
    )


def test_a_state_lasts_as_long_as_it_must() -> None:
    path = fitted({"duration": 4}).decode(COLUMNS)
    for name in np.unique(DATA["id"]):
        own = path[DATA["id"] == name]
        lengths = np.diff(np.flatnonzero(np.concatenate([[True], own[1:] != own[:-1], [True]])))
        assert (lengths[:-1] >= 4).all()


def test_a_sticky_prior_keeps_states_longer() -> None:
    stay = [
        np.diagonal(fitted({"sticky": sticky}, start=DATA["hidden"]).transition_shares).mean() for sticky in (0.0, 50.0)
    ]
    assert stay[1] > stay[0] + 0.05


# Prediction


@pytest.fixture(scope="module")
def model() -> credo.HiddenMarkov:
    return fitted({}, start=DATA["hidden"])


@pytest.mark.parametrize("settings", [{}, {"components": 2}, {"duration": 3}], ids=str)
def test_a_live_filter_is_the_filter(settings: dict[str, Any]) -> None:
    model = fitted(settings)
    live, rows = model.live(), {name: column[:40] for name, column in COLUMNS.items()}
    expected = model.filter(rows)
    for i in range(40):
        found = live.observe({name: rows[name][i] for name in ("x", "y", "colour", "n")})
        np.testing.assert_allclose([*found.values()], expected[i], rtol=1e-9, atol=1e-12)
    assert live.log_prob == pytest.approx(model.log_prob(rows)[0])
    np.testing.assert_allclose([*live.forecast(2)[1].states.values()], [*model.forecast(rows, 2)[1].states.values()])
    live.restart()
    assert dict(live.states) == pytest.approx(model.initial_shares)


def test_a_forecast_is_the_filter_carried_on(model: credo.HiddenMarkov) -> None:
    rows = {name: column[:40] for name, column in COLUMNS.items()}
    states = model.filter(rows)[-1]
    laws = model.forecast(rows, 3)
    for step in laws:
        states = states @ model.transition_shares
        np.testing.assert_allclose([*step.states.values()], states, rtol=1e-12)
        colours, x = step["colour"], step["x"]
        assert sum(colours.values()) == pytest.approx(1.0)
        low, high = x.interval(0.9)
        assert x.cdf(high) - x.cdf(low) == pytest.approx(0.9, abs=1e-6)
        grid = np.linspace(-60, 60, 200_001)
        density = np.exp(x.log_prob(grid))
        assert np.trapezoid(density, grid) == pytest.approx(1.0, abs=1e-3)
        assert np.trapezoid(density * grid, grid) == pytest.approx(x.mean(), abs=1e-2)
        assert np.exp(step["n"].log_prob(np.arange(400))).sum() == pytest.approx(1.0, abs=1e-6)
    value: dict[str, Any] = {"colour": ["red"], "x": [1.5]}
    one = {name: np.append(np.asarray(rows[name]), [None if name not in value else value[name][0]]) for name in rows}
    one["id"] = np.repeat("s0", 41)
    for name in ("colour", "x"):
        known = {**one, **{other: np.append(np.asarray(rows[other]), [None]) for other in ("x", "y", "colour", "n")}}
        known[name] = one[name]
        gained = float((model.log_prob(known) - model.log_prob(rows))[0])
        assert laws[0][name].log_prob(value[name][0]) == pytest.approx(gained, abs=1e-8)


def test_made_up_sequences_follow_the_model(model: credo.HiddenMarkov) -> None:
    drawn = model.sample([4000, 1, 3], seed=1)
    assert drawn.column_names == ["id", "x", "y", "colour", "n", "state"]
    assert drawn.num_rows == 4004
    states = np.array(drawn["state"])[:4000]
    steps = np.zeros((3, 3))
    np.add.at(steps, (states[:-1], states[1:]), 1.0)
    np.testing.assert_allclose(steps / steps.sum(1, keepdims=True), model.transition_shares, atol=0.05)
    assert model.sample(5, seed=1).equals(model.sample(5, seed=1))


def test_saved_and_loaded_it_answers_the_same(model: credo.HiddenMarkov, tmp_path: Path) -> None:
    path = tmp_path / "hmm.credo"
    credo.save(model, path)
    loaded = credo.load(path, credo.HiddenMarkov)
    np.testing.assert_array_equal(loaded.smooth(COLUMNS), model.smooth(COLUMNS))
    assert (loaded.history, loaded.names, loaded.hidden) == (model.history, model.names, model.hidden)
    assert repr(loaded) == repr(model)


def test_more_rows_continue_em(model: credo.HiddenMarkov) -> None:
    more = sequences(9)
    grown = model.update(only(more, "x", "y", "colour", "n", "id"))
    assert np.diff(grown.history).min() >= -1e-9 * abs(grown.history[-1])
    new = only(more, "x", "y", "colour", "n", "id")
    assert grown.log_prob(new).sum() > model.log_prob(new).sum()


@few_steps
def test_ctrl_c_keeps_the_last_whole_step(monkeypatch: pytest.MonkeyPatch) -> None:
    whole = credo.HiddenMarkov(3, kinds=KINDS, steps=3, tolerance=0.0).fit(COLUMNS, sequence="id", start=DATA["hidden"])
    expect, calls = expecting.HiddenChain.expect, []

    def interrupted(self: Any, batch: Any) -> Any:
        calls.append(1)
        if len(calls) == 6:  # of one batch: the start's step, its E-step, and those of three steps
            raise KeyboardInterrupt
        return expect(self, batch)

    monkeypatch.setattr(expecting.HiddenChain, "expect", interrupted)
    with pytest.warns(credo.Notice, match="interrupted"):
        found = credo.HiddenMarkov(3, kinds=KINDS, tolerance=0.0).fit(COLUMNS, sequence="id", start=DATA["hidden"])
    assert found.history == whole.history
    monkeypatch.undo()
    np.testing.assert_array_equal(found.smooth(COLUMNS), whole.smooth(COLUMNS))


@pytest.mark.filterwarnings("ignore:EM was interrupted")
def test_ctrl_c_ends_the_search_for_the_number_of_states(monkeypatch: pytest.MonkeyPatch) -> None:
    sizes = list[int]()

    def interrupted(chain: Any, batches: Any, **how: Any) -> Any:
        sizes.append(chain.pattern.states)
        calls = count(1)

        def read() -> Any:
            if chain.pattern.states == 2 and next(calls) == 3:
                raise KeyboardInterrupt
            return batches()

        return interruptible_em(chain, read, **how)

    monkeypatch.setattr(fitting, "interruptible_em", interrupted)
    found = credo.HiddenMarkov(kinds=KINDS, starts=2, tolerance=0.0).fit(COLUMNS, sequence="id")
    assert sizes == [each.states for each in found.tried] == [1, 2]
    assert found.n_states == 2
    assert len(found.history) == 2


# How many states


@pytest.mark.parametrize("states", [1, 2, 3])
def test_the_number_of_states_is_found(states: int) -> None:
    rng = np.random.default_rng(states)
    hidden = np.repeat(rng.integers(0, states, 30), 6)
    x = rng.normal(6.0 * hidden, 1.0)
    model = credo.HiddenMarkov(starts=2).fit({"x": x})
    assert model.n_states == states
    assert sum(model.state_posterior.values()) == pytest.approx(1.0)
    best = min(model.tried, key=lambda each: each.bic)
    assert best.states == states


@pytest.mark.parametrize("seed", [3, 4])
def test_states_of_small_rates_are_split(seed: int) -> None:
    """Beside rates of up to 90, rows of rates 2 and 8 lie close together: starts put them into one state."""
    rng = np.random.default_rng(seed)
    z = np.repeat(rng.integers(0, 5, 100), rng.integers(1, 20, 100))[:800]
    calls = rng.poisson(np.array([2.0, 8.0, 20.0, 45.0, 90.0])[z])
    model = credo.HiddenMarkov(emission=credo.GammaPoisson(1, 0.1), seed=seed).fit({"calls": calls})
    assert model.n_states == 5
    assert model.state_posterior[5] > 0.99


@pytest.mark.parametrize("family", [credo.GammaPoisson(1, 0.1), credo.GammaExponential(1, 1)])
def test_starts_tell_small_rates_apart(family: Any) -> None:
    """Deviations grow with rates: on the scale of the largest, the small ones would look alike."""
    rng = np.random.default_rng(19)
    counted = isinstance(family, credo.GammaPoisson)
    means = np.array([2.0, 8.0, 20.0, 45.0, 90.0] if counted else [0.1, 1.0, 10.0, 100.0])
    z = np.repeat(rng.integers(0, 5, 100), rng.integers(1, 20, 100))[:800] % len(means)
    x = rng.poisson(means[z]) if counted else rng.exponential(means[z])
    model = credo.HiddenMarkov(len(means), emission=family, seed=19)
    known = model.fit({"x": x}, start=z)
    assert model.fit({"x": x}).history[-1] > known.history[-1] - 1.0


def test_texts_are_emitted_too() -> None:
    rng = np.random.default_rng(0)
    hidden = np.repeat(rng.integers(0, 2, 30), 6)
    words = [["sun", "beach", "warm", "swim"], ["snow", "cold", "ski", "ice"]]
    notes = [" ".join(rng.choice(words[k], 4)) for k in hidden]
    with quietly():
        model = credo.HiddenMarkov(2, kinds={"note": "text"}).fit({"note": notes})
    found = model.decode({"note": notes})
    assert max((found == hidden).mean(), (found != hidden).mean()) > 0.95


def test_faces_of_a_die_are_categories() -> None:
    rng = np.random.default_rng(0)
    rolls = np.concatenate([rng.integers(1, 7, 150), rng.choice([1, 2, 3, 4, 5, 6], 150, p=[0.1] * 5 + [0.5])])
    with pytest.warns(credo.Notice, match="few distinct numbers"):
        casino = credo.HiddenMarkov(2, sticky=20, steps=20).fit({"roll": rolls})
    assert casino.views["roll"] == ("category",)


def test_a_start_has_as_many_states_as_it_names() -> None:
    """Without states=, too: it isn't left out of a search for their number."""
    data = only(DATA, "x", "id")
    start = np.array(["low", "mid", "high"])[DATA["hidden"]]
    found = credo.HiddenMarkov().fit(data, sequence="id", start=start)
    asked = credo.HiddenMarkov(("high", "low", "mid")).fit(data, sequence="id", start=start)
    assert found.names == ("high", "low", "mid")
    assert found.history == asked.history


def test_parameters_by_state_and_component() -> None:
    one = fitted({}).parameters()
    assert one.column_names == ["column", "parameter", "0", "1", "2"]
    assert {"x", "y", "colour", "n"} <= {*one["column"].to_pylist()}
    two = fitted({"components": 2})
    assert two.parameters().column_names[2:] == ["0, 1", "0, 2", "1, 1", "1, 2", "2, 1", "2, 2"]
    rates = {line.column: line.estimates for line in two.chain.emission.conditional.describe()}["n"]
    row = two.parameters()["column"].to_pylist().index("n")
    assert [two.parameters()[name][row].as_py() for name in two.parameters().column_names[2:]] == rates.tolist()


def test_unseen_values_are_told_by_every_verb() -> None:
    model = credo.HiddenMarkov(2).fit(only(DATA, "colour"), start=DATA["hidden"] == 1)
    rows = {"colour": ["red", "violet", "blue"]}
    paths = partial(model.decode, paths=2)
    verbs = (model.decode, model.smooth, model.filter, model.log_prob, model.forecast, paths)
    for verb in verbs:
        with pytest.warns(credo.Notice, match="column 'colour': 1 cell with unseen values, ignored"):
            verb(rows)


def test_states_are_forecast_where_no_column_is() -> None:
    notes = ["sun and sea"] * 20 + ["snow and ice"] * 20
    with quietly():
        model = credo.HiddenMarkov(2, kinds={"note": "text"}).fit({"note": notes}, start=np.arange(40) >= 20)
    (found,) = model.forecast({"note": ["snow and ice"] * 3})
    assert found.states.most_probable() == 1
    assert len(found) == 0
    assert repr(found).startswith("Forecast(1 step ahead: state 1 with P = 0.9")


def test_a_forecast_is_shown_in_a_line(model: credo.HiddenMarkov) -> None:
    rows = {name: column[:40] for name, column in COLUMNS.items()}
    (found,) = model.forecast(rows)
    low, high = found["x"].interval(0.95)
    state = found.states.most_probable()
    said = repr(found)
    assert said.startswith(f"Forecast(1 step ahead: state {state} with P = {found.states[state]:.3g}; ")
    assert f"x {found['x'].mean():.4g}, 95% interval {low:.4g} to {high:.4g}" in said


@few_steps
def test_probabilities_of_states_may_be_lists() -> None:
    shares = np.random.default_rng(6).dirichlet(np.ones(3), len(DATA["x"]))
    model = credo.HiddenMarkov(3, kinds=KINDS, steps=5)
    listed = model.fit(COLUMNS, target=shares.tolist(), sequence="id")
    assert listed.history == model.fit(COLUMNS, target=shares, sequence="id").history
