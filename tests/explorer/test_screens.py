"""What screens answer is what the library says; nothing is kept between requests."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from shlex import split
from typing import Any

import numpy as np
import pytest

import credo
from credo.errors import CredoError, DataError
from credo.explorer.opening import opened_file
from credo.explorer.screens.cards import laid_out
from credo.explorer.screens.screen import Subject, answered, screens_of, shown
from credo.networks.structure.learn import task_of
from credo.networks.structure.strengths import arrow_strengths
from credo.present.content import json_text

ASIA = credo.Network.example("asia")


def screen(model: Any, kind: str, **about: Any) -> Any:
    found = screens_of(Subject(model, **about))[kind]
    json_text(shown(found))
    return found


def asked(page: Any, action: str, **given: Any) -> dict[str, Any]:
    found = answered(page, action, given)
    json_text(found)
    return found


# Networks


def test_marginals_are_the_networks() -> None:
    given = {"XRay": "yes", "Smoking": {"yes": 1, "no": 0.3}}
    found = asked(screen(ASIA, "network"), "marginals", given=given)
    expected = ASIA.marginals(given)
    for name, shares in expected.items():
        np.testing.assert_allclose(found["marginals"][name], [*shares.values()])
    assert found["log_probability"] == pytest.approx(ASIA.log_probability(given))


def test_doing_differs_from_seeing() -> None:
    page = screen(ASIA, "network")
    seen = asked(page, "marginals", given={"LungCancer": "yes"})["marginals"]["Smoking"]
    done = asked(page, "marginals", do={"LungCancer": "yes"})["marginals"]["Smoking"]
    assert seen[0] > 0.8
    assert done[0] == pytest.approx(0.5)


def test_contradictions_are_named() -> None:
    found = asked(screen(ASIA, "network"), "marginals", given={"TuberculosisOrCancer": "no", "LungCancer": "yes"})
    assert {*found["findings"]} == {"TuberculosisOrCancer", "LungCancer"}
    assert "marginals" not in found


def test_questions_are_ranked_by_mutual_information() -> None:
    given = {"Dyspnoea": "yes"}
    found = asked(screen(ASIA, "network"), "next", target="LungCancer", given=given, costs={"XRay": 1.0})
    for each in found["questions"]:
        assert each["gain"] == pytest.approx(ASIA.mutual_information("LungCancer", each["name"], given), abs=1e-12)
    worth = [each["worth"] for each in found["questions"]]
    assert worth == sorted(worth, reverse=True)
    assert found["questions"][-1]["name"] == "XRay"
    set_already = asked(screen(ASIA, "network"), "next", target="LungCancer", do={"Smoking": "yes"})
    assert {each["name"] for each in set_already["questions"]} == {*ASIA.variables} - {"Smoking", "LungCancer"}


def test_learned_tables_have_credible_intervals() -> None:
    rows = ASIA.sample(500, seed=0)
    net = credo.Network(ASIA.parents).fit(rows)
    found = asked(screen(net, "network"), "table", name="XRay")
    for row in found["rows"]:
        belief = net.belief("XRay", dict(zip(found["parents"], row["given"], strict=True)))
        np.testing.assert_allclose(row["intervals"], [belief.interval()[state] for state in net.states["XRay"]])


def test_arrows_are_as_sure_as_their_bayes_factors() -> None:
    rows = ASIA.sample(400, seed=3)
    net = credo.learn_structure(rows)
    found = asked(screen(net, "network"), "edges")
    assert shown(screen(net, "network"))["unsure"]
    task = task_of(rows, "bdeu")
    strengths = arrow_strengths(task.scored(task.columns), net.parents)
    assert {(each["from"], each["to"]) for each in found["arrows"]} == {*strengths}
    for each in found["arrows"]:
        factor = strengths[each["from"], each["to"]]
        assert each["probability"] == pytest.approx(1 / (1 + np.exp(-factor)), rel=1e-9)
    with pytest.raises(DataError, match="aren't uncertain"):
        asked(screen(ASIA, "network"), "edges")


def test_with_rows_arrows_are_averaged_over_graphs() -> None:
    rows = ASIA.sample(200, seed=3).select(["Smoking", "LungCancer", "Bronchitis"])
    net = credo.Network("Smoking -> LungCancer; Smoking -> Bronchitis").fit(rows)
    found = asked(screen(net, "network", data=rows), "edges")
    averaged = credo.edge_confidence(rows)
    expected = sorted(averaged["Smoking", each] for each in ("LungCancer", "Bronchitis"))
    assert [each["probability"] for each in found["arrows"]] == pytest.approx(expected)


def test_of_many_variables_those_around_one_are_shown() -> None:
    net = credo.Network.random(200, arrows=190, seed=0)
    page = screen(net, "network")
    assert not shown(page)["whole"]
    found = asked(page, "layout", around="x100", beside={"x0": 1}, reach=1)
    near = {"x100", *net.markov_blanket("x100")}
    assert {*found["places"]} == {"x0", *near}
    assert found["hidden"] == 200 - len(found["places"])
    further = {*near, *(each for name in near for each in net.markov_blanket(name))}
    found = asked(page, "layout", around="x100", reach=2)
    assert {*found["places"]} == (further if len(further) <= 60 else near)
    for name in found["places"]:
        children = [child for child, own in net.parents.items() if name in own]
        unseen = {*net.parents[name], *children} - {*found["places"]}
        assert found["beyond"].get(name, 0) == len(unseen)
    star: dict[str, tuple[str, ...]] = {"a": (), **{f"b{i}": ("a",) for i in range(70)}, "z": ("b0",)}
    for name, reach in (("z", 2), ("b1", 1)):  # as far as figures are legible
        assert laid_out(star, {"around": name})["reach"] == reach


def test_lines_can_be_run(tmp_path: Path) -> None:
    path = tmp_path / "a network.bif"
    ASIA.write(path)
    given = {"XRay": "yes", "Dyspnoea": ["yes", "no"], "Smoking": {"yes": 1, "no": 0.5}}
    found = asked(screen(ASIA, "network", path=str(path)), "marginals", given=given, target="LungCancer")
    marginals = eval(found["copy"]["python"], {"credo": credo})
    np.testing.assert_allclose([*marginals["LungCancer"].values()], found["marginals"]["LungCancer"])
    command = split(found["copy"]["cli"])
    assert command[:3] == ["credo", "ask", str(path)]
    answer = credo.ask(credo.Network.read(path), command[3])
    np.testing.assert_allclose([*answer.values()], found["marginals"]["LungCancer"], atol=1e-3)
    for action in ("explain", "sensitivity"):
        line = asked(screen(ASIA, "network", path=str(path)), action, target="LungCancer")["copy"]["python"]
        assert "None" not in line
        eval(line, {"credo": credo})
    coin = credo.BetaBernoulli(2, 2).update([1, 0, 1])
    found = asked(screen(coin, "belief"), "move", prior={"mean": 0.3, "strength": 10}, added=[1])
    moved = eval(found["copy"]["python"], {"credo": credo, "model": coin})
    assert moved.mean() == pytest.approx(6 / 14)


@pytest.mark.parametrize("name", ["a b", 'quo"te', "back\\slash", "in", "x=1", "ü", "a,b|c"])
def test_names_that_questions_must_quote(name: str) -> None:
    net = credo.Network({name: (), "y": (name,)}, {name: 0.2, "y": {"yes": 0.25, "no": 0.01}})
    found = asked(screen(net, "network", path="net.bif"), "marginals", given={name: "yes"})
    answer = credo.ask(net, split(found["copy"]["cli"])[3])
    assert answer["yes"] == pytest.approx(0.25)


# Rows and messages

MAIL = ["Lunch meeting?", "Expenses submitted", "Budget meeting on Monday", "Dinner at home?", "See you at home"]


def pumps() -> Any:
    rng = np.random.default_rng(0)
    kind = rng.choice(["a", "b"], 80)
    x = rng.normal(size=80) + 2 * (kind == "b")
    return {"x": x, "maker": np.where(rng.random(80) < 0.8, kind, "c"), "kind": kind}


def test_a_rows_probabilities_and_reasons() -> None:
    model = credo.NaiveBayes().fit(pumps(), target="kind")
    found = asked(screen(model, "row"), "predict", row={"x": 1.5, "maker": ""})
    row = {"x": 1.5, "maker": None}
    np.testing.assert_allclose(found["shares"], model.predict_proba([row])[0])
    assert found["why"]["log_odds"] == pytest.approx(model.explain(row).log_odds)


@pytest.mark.parametrize("kind", ["DecisionTree", "LogisticRegression", "TreeAugmented"])
def test_an_explanation_has_the_shares_of_all_classes(kind: str) -> None:
    model, row = getattr(credo, kind)().fit(pumps(), target="kind"), {"x": 1.5, "maker": "a"}
    np.testing.assert_allclose(model.explain(row).shares, model.predict_proba([row])[0], atol=1e-12)


def test_words_are_coloured() -> None:
    model = credo.NaiveBayes().fit(MAIL, target=["work"] * 3 + ["private"] * 2)
    found = asked(screen(model, "row"), "predict", row={"x": "Budget at home"})
    pieces = found["texts"]["x"]
    assert pieces["lengths"] == [len(each) for each in ("Budget", " ", "at", " ", "home")]
    assert pieces["weights"][1] == pieces["weights"][3] == 0
    assert sum(pieces["weights"]) == pytest.approx(found["why"]["weights"][0]["weight"], abs=1e-3)
    assert [each["word"] for each in found["words"]["x"]][:2] == ["at", "home"]


def test_teaching_is_an_update_and_undoing_forgets_it() -> None:
    model = credo.NaiveBayes().fit(pumps(), target="kind")
    page, row = screen(model, "row"), {"x": 4.0, "maker": "c"}
    before = asked(page, "predict", row=row)["shares"]
    taught = asked(page, "predict", row=row, taught=[{"row": row, "class": "a"}] * 3)["shares"]
    expected = model.update([row | {"kind": "a"}] * 3).predict_proba([row])[0]
    np.testing.assert_allclose(taught, expected)
    assert taught != before
    assert asked(page, "predict", row=row)["shares"] == before


def test_what_was_taught_is_saved(tmp_path: Path) -> None:
    model, path = credo.NaiveBayes().fit(pumps(), target="kind"), tmp_path / "m.credo"
    credo.save(model, path)
    page = screen(credo.load(path), "row", path=str(path))
    found = asked(page, "save", taught=[{"row": {"x": 4.0}, "class": "a"}])
    assert found == {"saved": 1, "rows": 81.0}
    assert credo.load(path).n == 81
    with pytest.raises(DataError, match="nothing was taught"):
        asked(page, "save")
    with pytest.raises(DataError, match=r"isn't in a \.credo file"):
        asked(screen(model, "row"), "save", taught=[{"row": {"x": 4.0}, "class": "a"}])


def test_curves_and_the_nearest_change_of_the_decision() -> None:
    model = credo.NaiveBayes().fit(pumps(), target="kind")
    page, row = screen(model, "row"), {"x": -1.0, "maker": "a"}
    curve = asked(page, "curve", row=row, column="x")
    rows = [row | {"x": value} for value in curve["values"]]
    np.testing.assert_allclose(np.transpose(curve["shares"]), model.predict_proba(rows))
    changes = asked(page, "changes", row=row)["changes"]
    assert changes
    for each in changes:
        changed = model.predict([row | {each["column"]: each["value"]}])[0]
        assert str(changed) == each["class"] != str(model.predict([row])[0])


def test_whole_numbers_stay_whole_within_their_range() -> None:
    rng = np.random.default_rng(0)
    rows = {"age": rng.integers(0, 90, 300), "size": rng.gamma(2.0, 1.0, 300), "c": rng.choice(["u", "v"], 300)}
    rows["kind"] = np.where(rows["age"] + rng.normal(0, 9, 300) > 20, "a", "b")
    binned = {name: credo.Number("binned") for name in ("age", "size")}
    page = screen(credo.NaiveBayes(kinds=binned).fit(rows, target="kind"), "row")
    columns = {each["name"]: each for each in page.opened()["columns"]}
    assert [columns[name]["whole"] for name in ("age", "size")] == [True, False]
    assert columns["age"]["range"] == [rows["age"].min(), rows["age"].max()]
    (change,) = (each for each in asked(page, "changes", row={"age": 60})["changes"] if each["column"] == "age")
    assert isinstance(change["value"], int)
    assert len(set(asked(page, "curve", row={}, column="size")["values"])) == 41  # rounded, but apart


def test_dates_are_dates() -> None:
    days = np.arange("2024-01-01", "2024-12-31", 2, dtype="datetime64[D]")
    kind = np.where(days < np.datetime64("2024-06-01"), "a", "b")
    page = screen(credo.NaiveBayes().fit({"day": days.tolist(), "kind": kind}, target="kind"), "row")
    (change,) = asked(page, "changes", row={"day": "2024-03-01"})["changes"]
    assert "2024-05-01" < change["value"] < "2024-07-01"
    assert change["distance"] < 0.5
    curve = asked(page, "curve", row={}, column="day")
    assert [str(np.datetime64(place, "D")) for place in curve["places"]] == curve["values"]


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"row": {"y": 1}}, "no column 'y'"),
        ({"row": 3}, "'row' must be an object"),
        ({"row": {}, "of": "z"}, "no class 'z'"),
        ({"row": {}, "taught": [3]}, "a row is an object"),
        ({"row": {}, "taught": "x"}, "must be a list"),
    ],
)
def test_bad_rows(given: dict[str, Any], said: str) -> None:
    page = screen(credo.NaiveBayes().fit(pumps(), target="kind"), "row")
    with pytest.raises(credo.CredoError, match=said):
        asked(page, "predict", **given)


# Trust


def test_decisions_follow_costs() -> None:
    data = pumps()
    model = credo.NaiveBayes().fit(data, target="kind")
    page = screen(model, "trust", data=data)
    scores = model.leave_one_out(data)
    equal = asked(page, "decide")
    np.testing.assert_allclose(np.array(equal["confusion"])[:, :2], scores.confusion)
    assert equal["cost"] == pytest.approx(1 - scores.accuracy)
    costly = asked(page, "decide", loss={"a": {"b": 1000}})
    assert costly["confusion"][0][1] <= equal["confusion"][0][1]
    assert asked(page, "decide", reject=0.0)["rejected"] == pytest.approx(1.0)
    wrong = asked(page, "worst")
    assert wrong["total"] == round((1 - scores.accuracy) * 80)
    cells = asked(page, "cell", truth="a", decision="b")
    assert cells["total"] == equal["confusion"][0][1]
    assert asked(page, "why", row=cells["rows"][0]["row"])["why"]["of"] in ("a", "b")


def test_a_learning_curve_is_the_models() -> None:
    rng = np.random.default_rng(0)
    kind = rng.choice(["a", "b"], 90)
    rows = {"x": rng.normal(size=90) + (kind == "b"), "kind": kind}
    model = credo.NaiveBayes().fit(rows, target="kind")
    found = asked(screen(model, "trust", data=rows), "curve")
    own = model.learning_curve(rows)
    assert [each["rows"] for each in found["points"]] == [*own.sizes]
    assert [each["log_loss"] for each in found["points"]] == [each.log_loss for each in own.scores]
    report = credo.learn(rows, target="kind").report
    assert report.tried[0].difference_error == 0
    assert all(0 < each.difference_error < 1 for each in report.tried[1:] if each.log_loss > report.tried[0].log_loss)


def test_without_held_out_rows_there_is_nothing_to_trust() -> None:
    with pytest.raises(DataError, match="no scores of held-out rows"):
        screen(credo.NaiveBayes().fit(pumps(), target="kind"), "trust")


# Beliefs and groups


def test_the_prior_moves_and_observations_are_added() -> None:
    coin = credo.BetaBernoulli(2, 2).update({1: 75, 0: 60})
    page = screen(coin, "belief")
    expected = credo.BetaBernoulli(3, 7).update({1: 76, 0: 60})
    found = asked(page, "move", prior={"mean": 0.3, "strength": 10}, added=[1])
    assert found["n"] == 136
    assert found["log_evidence"] == pytest.approx(expected.log_evidence())
    assert {each["role"] for each in found["charts"][0]["curves"]} == {"prior", "likelihood", "posterior"}


def test_how_much_more_data_is_needed() -> None:
    coin = credo.BetaBernoulli(1, 1).update({1: 50, 0: 50})
    found = asked(screen(coin, "belief"), "needed", half_width=0.02)
    more = found["rows"]
    low, high = credo.BetaBernoulli(1, 1).update({1: 50 + more / 2, 0: 50 + more / 2}).interval()
    assert (high - low) / 2 <= 0.02 + 1e-9
    assert found["half_width"] == pytest.approx((high - low) / 2, rel=1e-6)
    low, high = credo.BetaBernoulli(1, 1).update({1: 50 + more * 0.49, 0: 50 + more * 0.49}).interval()
    assert (high - low) / 2 > 0.02


def test_unless_asked_for_an_interval_half_as_wide() -> None:
    low, high = credo.BetaBernoulli(1, 1).update({1: 50, 0: 50}).interval()
    found = asked(screen(credo.BetaBernoulli(1, 1).update({1: 50, 0: 50}), "belief"), "needed")
    assert found["wanted"] == float(f"{(high - low) / 4:.1g}")


def test_probabilities_of_values_have_their_names_and_narrow_together() -> None:
    seen = credo.DirichletCategorical({"red": 1, "green": 1, "blue": 1}).update(["red"] * 5 + ["blue"] * 2)
    page = screen(seen, "belief")
    assert page.opened()["single"] is False
    chart = asked(page, "move")["charts"][0]
    assert (chart["x_label"], [each["label"] for each in chart["curves"]]) == (
        "probability", ["P(red)", "P(green)", "P(blue)"],
    )  # fmt: skip
    more = asked(page, "needed", half_width=0.1)["rows"]
    ends = seen.update({"red": more * 5 / 7, "blue": more * 2 / 7}).interval()
    assert max(high - low for low, high in ends.values()) / 2 == pytest.approx(0.1, abs=0.002)


def test_the_other_parameters_are_integrated_out_of_a_likelihood() -> None:
    def likelihood(belief: Any) -> list[str]:
        curves = asked(screen(belief, "belief"), "move")["charts"][0]["curves"]
        return [each["label"] for each in curves if each["role"] == "likelihood"]

    assert likelihood(credo.NormalInverseGamma(0, 1, 1, 1).update([1.0, 2.0])) == ["integrated likelihood (scaled)"]
    assert likelihood(credo.GammaPoisson(1, 1).update([1, 2])) == ["likelihood (scaled)"]


def test_two_beliefs_are_compared() -> None:
    coin = credo.BetaBernoulli(2, 2).update({1: 75, 0: 60})
    other = credo.BetaBernoulli(2, 2).update([1, 0, 0])
    found = asked(screen(coin, "belief"), "compare", other=[1, 0, 0])
    (difference,) = found["differences"]
    assert difference["greater"] == pytest.approx(coin.probability_greater(other))
    assert eval(found["copy"]["python"], {"credo": credo, "model": coin}) == difference["greater"]
    assert difference["difference"] == pytest.approx(coin.mean() - other.mean())


COLOURS = ["red"] * 5 + ["blue"] * 2 + ["green"]


def test_the_shares_and_the_strength_of_a_prior_about_values_move() -> None:
    for prior in (credo.DirichletCategorical(2), credo.DirichletCategorical({"blue": 2, "green": 2, "red": 2})):
        seen = prior.update(COLOURS)
        page = screen(seen, "belief")
        opened = page.opened()
        assert (opened["values"], opened["prior"]["strength"]) == (["blue", "green", "red"], 6)
        assert opened["prior"]["mean"] == pytest.approx([1 / 3] * 3)
        found = asked(page, "move", prior={"mean": [0.2, 0.5, 0.3], "strength": 10}, added=["red"])
        expected = credo.DirichletCategorical({"blue": 2, "green": 5, "red": 3}).update([*COLOURS, "red"])
        assert found["log_evidence"] == pytest.approx(expected.log_evidence())
        moved = eval(found["copy"]["python"], {"credo": credo, "model": seen})
        assert moved.mean() == pytest.approx(expected.mean())
        for bad in ([0.5, 0.5], [0.5, 0.5, 0], ["a", 1, 1], 0.5):
            with pytest.raises(CredoError):
                asked(page, "move", prior={"mean": bad, "strength": 10})


def test_of_many_values_only_the_strength_moves() -> None:
    seen = credo.DirichletCategorical(1).update([f"v{i}" for i in range(20)])
    page = screen(seen, "belief")
    assert page.opened()["prior"]["mean"] == []
    found = asked(page, "move", prior={"mean": [], "strength": 5})
    assert found["log_evidence"] == pytest.approx(
        credo.DirichletCategorical(0.25).update(list(seen.mean())).log_evidence()
    )


def test_two_beliefs_about_values_are_compared_value_by_value() -> None:
    seen = credo.DirichletCategorical(1).update(COLOURS)
    other = credo.DirichletCategorical({"blue": 1, "green": 1, "red": 1}).update(["blue", "blue", "red"])
    found = asked(screen(seen, "belief"), "compare", other=["blue", "blue", "red"])
    assert eval(found["copy"]["python"], {"credo": credo, "model": seen}) == {
        each["value"]: each["greater"] for each in found["differences"]
    }
    draws = seen.sample(200_000, 1) - other.sample(200_000, 2)
    for k, each in enumerate(found["differences"]):
        assert each["difference"] == pytest.approx(seen.mean()[each["value"]] - other.mean()[each["value"]])
        assert each["greater"] == pytest.approx((draws[:, k] > 0).mean(), abs=0.005)
        assert each["interval"] == pytest.approx(np.quantile(draws[:, k], [0.025, 0.975]), abs=0.005)
    with pytest.raises(CredoError, match="violet"):
        asked(screen(seen, "belief"), "compare", other=["violet"])


def groups() -> Any:
    rng = np.random.default_rng(0)
    by = rng.integers(0, 40, 600)
    return credo.estimate({"g": by, "y": (rng.random(600) < by / 40).astype(int)}, "y", by="g", prior="empirical")


def test_two_groups_are_compared_under_the_prior_that_is_shown() -> None:
    beliefs = groups()
    page = screen(beliefs, "groups")
    for prior in ("given", "default"):
        found = asked(page, "compare", a="30", b="10", prior=prior)
        under = beliefs if prior == "given" else replace(beliefs, rule="default").with_evidence(beliefs.seen)
        a, b = under[30], under[10]
        assert found["greater"] == pytest.approx(a.probability_greater(b))
        assert found["difference"] == pytest.approx(a.mean() - b.mean())
        assert found["interval"][0] < found["difference"] < found["interval"][1]
    assert asked(page, "compare", a="30", b="10", prior="given")["greater"] != found["greater"]


def test_groups_are_sorted_searched_and_shown_in_windows() -> None:
    beliefs = groups()
    page, table = screen(beliefs, "groups"), beliefs.table()
    found = asked(page, "window", count=10, **{"from": 5})
    assert found["total"] == 40
    expected = sorted(table["mean"].to_pylist(), reverse=True)[5:15]
    assert [each["estimate"] for each in found["rows"]] == pytest.approx(expected)
    assert {each["group"] for each in asked(page, "window", search="3")["rows"]} == {
        str(g) for g in range(40) if "3" in str(g)
    }
    up = [each["rows"] for each in asked(page, "window", sort="rows", down=False)["rows"]]
    assert up == sorted(up)
    raw = {each["group"]: each["estimate"] for each in asked(page, "window", prior="raw")["rows"]}
    assert raw["7"] == pytest.approx(beliefs[7].maximum_likelihood())
    default = {each["group"]: each["estimate"] for each in asked(page, "window", prior="default")["rows"]}
    assert default["7"] != pytest.approx(raw["7"])


def test_groups_are_compared_and_the_best_is_likely_the_highest() -> None:
    beliefs = groups()
    page = screen(beliefs, "groups")
    found = asked(page, "compare", a="39", b="2")
    assert found["greater"] == pytest.approx(beliefs[39].probability_greater(beliefs[2]))
    best = asked(page, "best")["best"]
    assert sum(each["probability"] for each in best) <= 1 + 1e-9
    assert int(best[0]["group"]) >= 30
    alike = credo.estimate({"g": [*"abcd"] * 3 + ["e"], "y": [0, 1, 0, 1] * 3 + [1]}, "y", by="g")
    page = screen(alike, "groups")
    under = {prior: asked(page, "best", prior=prior)["best"] for prior in ("default", "empirical")}
    assert under["default"] != under["empirical"]  # P(best) is under the prior that is shown
    with pytest.raises(DataError, match="no group"):
        asked(page, "compare", a="39", b="x")


# Clusters and sequences


def test_dropped_rows_are_learned_and_forgotten_in_the_file(tmp_path: Path) -> None:
    beliefs = credo.estimate({"g": ["a", "a", "b"], "y": [1, 0, 1]}, "y", by="g")
    path = tmp_path / "g.credo"
    credo.save(beliefs, path)
    page = screen(beliefs, "groups", path=str(path))
    found = asked(page, "learn", how="update", csv="g,y\na,1\nc,0\n")
    assert (found["changed"], found["rows"], found["groups"]) == (2.0, 5.0, 3)
    both = beliefs.update({"g": ["a", "c"], "y": [1, 0]})
    assert credo.load(path)["a"].mean() == both["a"].mean()
    assert asked(page, "window")["total"] == 3
    asked(page, "learn", how="forget", csv="g,y\na,1\nc,0\n")
    assert credo.load(path)["a"].mean() == beliefs["a"].mean()
    with pytest.raises(credo.CredoError, match="zz"):
        asked(page, "learn", how="forget", csv="g,y\nzz,1\n")
    with pytest.raises(DataError, match="'update'"):
        asked(page, "learn", how="merge", csv="g,y\na,1\n")
    in_memory = screen(beliefs, "groups")
    assert asked(in_memory, "learn", how="update", csv="g,y\na,1\n")["rows"] == 4.0


def test_a_regressions_row() -> None:
    rng = np.random.default_rng(0)
    rows = {"a": rng.normal(size=60), "c": rng.choice(["u", "v"], 60)}
    rows["y"] = 2 * rows["a"] + (rows["c"] == "u") + rng.normal(0, 0.1, 60)
    model = credo.LinearRegression().fit(rows, target="y")
    page = screen(model, "regression", data=rows)
    found = asked(page, "predict", row={"a": 1.0, "c": "u"})
    own = model.explain({"a": 1.0, "c": "u"})
    assert found["prediction"] == pytest.approx(own.prediction)
    assert found["interval"] == pytest.approx([*own.interval])
    assert found["average"] + sum(each["adds"] for each in found["adds"]) == pytest.approx(own.prediction)
    curve = asked(page, "curve", row={"c": "u"}, column="a")
    at = [{"a": value, "c": "u"} for value in curve["values"]]
    np.testing.assert_allclose(curve["mean"], model.predict(at))
    np.testing.assert_allclose([curve["low"], curve["high"]], model.intervals(at))
    assert asked(page, "curve", row={}, column="c")["values"] == ["u", "v"]
    assert "leave-one-out, 60 rows" in shown(page)["held_out"]["said"]
    for bad in ({"row": {"z": 1}}, {"row": {}, "column": "z"}):
        with pytest.raises(DataError, match="no column 'z'"):
            asked(page, "curve", **({"column": "a"} | bad))


def test_clusters_and_sequences() -> None:
    rng = np.random.default_rng(0)
    codes = rng.integers(0, 2, 60)
    rows = {"a": rng.normal(size=60) + 8 * codes, "b": rng.normal(size=60) - 8 * codes}
    mixture = credo.Mixture(components=2).fit(rows)
    page = screen(mixture, "clusters", data=rows)
    drawn = asked(page, "ellipses", x="a", y="b")
    assert len(drawn["ellipses"]) == 2
    assert len(drawn["points"]) == 60
    found = asked(page, "responsibilities", row={"a": 8.0, "b": -8.0})
    np.testing.assert_allclose(found["shares"], mixture.responsibilities({"a": [8.0], "b": [-8.0]})[0])
    chain = credo.HiddenMarkov(states=2).fit({"a": np.repeat([0.0, 9.0, 0.0], 20) + rng.normal(size=60)})
    page = screen(chain, "sequence")
    found = asked(page, "decode", rows=[{"a": 0.0}, {"a": None}, {"a": 9.0}], steps=4)
    data = {"a": [0.0, None, 9.0]}
    np.testing.assert_allclose(np.transpose(found["smooth"]), chain.smooth(data))
    assert [chain.names[k] for k in found["path"]] == np.ravel(chain.decode(data)).tolist()
    assert len(found["forecast"]) == 4
    (series,) = found["series"]
    assert series["values"] == data["a"]
    ahead = chain.forecast(data, 4)
    assert series["mean"] == [each["a"].mean() for each in ahead]
    assert (series["low"][-1], series["high"][-1]) == ahead[-1]["a"].interval(0.95)


@pytest.mark.parametrize(
    ("made", "title"),
    [
        (lambda: credo.BetaBernoulli(2, 2).update([1, 0]), "BetaBernoulli"),
        (lambda: credo.Network.example("asia"), "Network of 8 variables and 8 arrows"),
        (lambda: credo.NaiveBayes().fit({"x": [1.5, 2.5], "y": ["a", "b"]}, target="y"), "NaiveBayes of y"),
        (lambda: credo.estimate({"g": ["a", "b"], "y": [0, 1]}, "y", by="g"), "2 beliefs about y by g"),
    ],
)
def test_a_model_without_a_file_says_what_it_is(made: Callable[[], Any], title: str) -> None:
    assert Subject(made()).title == title
    assert Subject(made(), "there/m.credo").title == "m.credo"


def test_counts_are_whole_numbers() -> None:
    found = asked(screen(credo.GammaPoisson(2, 1).update([3, 5, 4]), "belief"), "move")
    assert [*json.loads(json_text(found))["charts"][-1]["bars"]][:3] == ["0", "1", "2"]


def test_other_objects_have_no_screen() -> None:
    with pytest.raises(DataError, match="the explorer shows"):
        screens_of(Subject(3))


# Networks beyond tables


def flu() -> Any:
    return credo.HybridNetwork(
        "Flu -> Fever -> Pulse; Flu -> Cough",
        {
            "Flu": 0.1, "Cough": {"yes": 0.8, "no": 0.2},
            "Fever": credo.nodes.Normal(mean={"yes": 39.0, "no": 36.8}, sd={"yes": 0.6, "no": 0.4}),
            "Pulse": credo.nodes.Normal(mean=-220.0, weights={"Fever": 8.0}, sd=6.0),
        },
    )  # fmt: skip


def test_numbers_have_densities_and_intervals_are_evidence() -> None:
    net, page = flu(), screen(flu(), "network")
    found = asked(page, "marginals", given={"Pulse": {"low": 85, "high": None}, "Cough": "yes"})
    expected = net.marginals({"Pulse": (85, None), "Cough": "yes"})
    assert found["marginals"]["Flu"][0] == pytest.approx(expected["Flu"]["yes"])
    fever = found["marginals"]["Fever"]
    assert fever["mean"] == pytest.approx(expected["Fever"].mean())
    np.testing.assert_allclose(fever["y"], np.exp(expected["Fever"].log_prob(np.array(fever["x"]))), rtol=1e-9)
    assert (fever["low"], fever["high"]) == pytest.approx(tuple(expected["Fever"].interval(0.95)))
    command = split(found["copy"]["cli"])
    assert credo.ask(net, command[3])["yes"] == pytest.approx(expected["Flu"]["yes"])
    assert eval(found["copy"]["python"], {"model": net})["Flu"] == expected["Flu"]
    done = asked(page, "marginals", do={"Fever": 40.0})["marginals"]
    assert done["Flu"][0] == pytest.approx(0.1)
    assert done["Fever"]["x"] == [40.0]
    why = asked(page, "explain", target="Flu", given={"Fever": {"low": 38, "high": 39}})
    assert why["weights"][0]["value"] == "38 to 39"
    asking = asked(page, "next", target="Flu", given={"Pulse": {"low": 85, "high": None}})
    expected = net.mutual_information("Flu", "Cough", {"Pulse": (85, None)})
    assert [each["gain"] for each in asking["questions"]] == pytest.approx([expected], abs=1e-9)
    assert asked(page, "table", name="Fever")["lines"] == ["yes: N(39, 0.6²)", "no: N(36.8, 0.4²)"]
    with pytest.raises(DataError, match="needs an end"):
        asked(page, "marginals", given={"Fever": {}})


def test_slices_are_filtered_smoothed_and_forecast() -> None:
    net = credo.DynamicNetwork(
        "previous(Rain) -> Rain -> Umbrella",
        {"Rain": {"yes": 0.7, "no": 0.3}, "Umbrella": {"yes": 0.9, "no": 0.2}},
        first={"Rain": 0.5},
    )
    page, rows = screen(net, "slices"), [{"Umbrella": "yes"}, {}, {"Umbrella": "no"}]
    found = asked(page, "beliefs", rows=rows, steps=2)
    np.testing.assert_allclose(found["filtered"]["Rain"], net.filter(rows, "Rain").T)
    np.testing.assert_allclose(found["smoothed"]["Rain"], net.smooth(rows, "Rain").T)
    ahead = [[*each["Rain"].values()] for each in net.forecast(rows, 2)]
    np.testing.assert_allclose(found["forecast"]["Rain"], ahead)
    assert credo.ask(net, split(found["copy"]["cli"])[3])["yes"] == pytest.approx(found["smoothed"]["Rain"][0][-1])
    np.testing.assert_allclose(eval(found["copy"]["python"], {"model": net})["Rain"], net.smooth(rows, "Rain"))
    given = screen(net, "slices", data={"Umbrella": ["yes", None, "no"]})
    assert asked(given, "beliefs", steps=2)["smoothed"] == found["smoothed"]
    assert shown(given)["rows"] == rows
    assert asked(page, "beliefs", rows=[{}, {}])["smoothed"]["Rain"] == [[0.5, 0.5], [0.5, 0.5]]
    for bad in ([], [{"Rain": "maybe"}], [{"Snow": "yes"}], [1], "x"):
        with pytest.raises(DataError):
            asked(page, "beliefs", rows=bad)


def umbrella() -> Any:
    tables = {"Rain": 0.3, "Forecast": {"yes": 0.8, "no": 0.1}}
    worth = {"Comfort": [[7, 0], [2, 10]]}
    arrows = "Rain -> Forecast -> Umbrella; Rain, Umbrella -> Comfort"
    return credo.InfluenceDiagram(arrows, tables, worth, ["Umbrella"])


def test_decisions_have_a_policy_and_information_has_a_value(tmp_path: Path) -> None:
    diagram, page = umbrella(), screen(umbrella(), "decisions")
    found = asked(page, "solve")
    assert found["expected_utility"] == pytest.approx(diagram.expected_utility())
    assert sum(found["utilities"].values()) == pytest.approx(found["expected_utility"])
    assert [row[:2] for row in found["policy"][0]["table"]["rows"]] == [["yes", "yes"], ["no", "no"]]
    known = asked(page, "solve", given={"Forecast": "yes"})
    assert known["expected_utility"] == pytest.approx(diagram.expected_utility({"Forecast": "yes"}))
    assert eval(known["copy"]["python"], {"model": diagram}).expected_utility == known["expected_utility"]
    asking = asked(page, "ask", costs={"Rain": 0.5})
    assert asking["questions"][0]["value"] == pytest.approx(diagram.value_of_information("Rain"))
    with pytest.raises(CredoError, match="no variable"):
        asked(page, "solve", given={"Snow": "yes"})
    path = tmp_path / "umbrella.xdsl"
    diagram.write(path)
    subject = opened_file(str(path))
    line = answered(screens_of(subject)["decisions"], "solve", {})["copy"]["python"]
    assert eval(line, {"credo": credo}) is not None


def test_a_plate_network_shows_one_member_of_each_plate() -> None:
    clinic = credo.PlateNetwork(
        "Ward.Outbreak -> Patient.Infected",
        {"Ward.Outbreak": 0.1, "Patient.Infected": {"yes": 0.5, "no": 0.02}},
        keys={"Ward": "ward", "Patient": "patient"},
    )
    found = asked(screen(clinic, "network"), "marginals", given={"Patient.Infected": "yes"})
    assert found["marginals"]["Ward.Outbreak"][0] == pytest.approx(0.05 / 0.068)
    assert eval(found["copy"]["python"], {"model": clinic})["Ward.Outbreak"]["yes"] == pytest.approx(0.05 / 0.068)


def test_sensitivity_and_effects_of_a_network() -> None:
    page, given = screen(ASIA, "network"), {"XRay": "yes"}
    found = asked(page, "sensitivity", target="LungCancer", value="yes", given=given)
    tornado = ASIA.sensitivity("LungCancer", given, "yes").tornado()
    assert [row[0] for row in found["table"]["rows"]] == [str(bar.entry) for bar in tornado.bars][:15]
    found = asked(page, "effect", cause="Smoking", target="LungCancer")
    assert found["table"]["rows"][0] == ["yes", "yes", "0.1000", "0.1000"]
    with pytest.raises(CredoError):
        asked(page, "effect", cause="Smoking", target="Smoking")
