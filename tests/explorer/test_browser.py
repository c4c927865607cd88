"""The page in a real browser: networks, names that are markup, widths, themes, accessibility, exported files."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import numpy as np
import pytest

import credo
from tests.explorer.browsing import HOSTILE, IN_BROWSER, SHOWS, Tab, asia, chosen, figure, state_button, violations

pytestmark = IN_BROWSER
PAPER = "getComputedStyle(document.body).backgroundColor"


def test_clicks_are_evidence_and_the_address_keeps_them(browser: Any) -> None:
    with asia() as served:
        with Tab(browser, served) as page:
            page.wait_for_selector(".card")
            assert figure(page, "LungCancer", "yes") == "5.5%"
            state_button(page, "XRay", "yes").click()
            page.wait_for_function("() => document.querySelector('aside').innerText.includes('XRay')")
            page.wait_for_function(SHOWS, arg="48.9%")
            assert chosen(page) == {"network": {"given": {"XRay": "yes"}, "do": {}}}
            address = page.url
            page.go_back()
            page.wait_for_function(SHOWS, arg="5.5%")
        with Tab(browser, served, json.loads(unquote(address.partition("#")[2]))) as again:
            again.wait_for_selector(".card.seen")
            assert figure(again, "LungCancer", "yes") == "48.9%"


def test_shift_click_excludes_and_dragging_gives_a_likelihood(browser: Any) -> None:
    with asia() as served, Tab(browser, served) as page:
        state_button(page, "Smoking", "no").click(modifiers=["Shift"])
        page.wait_for_selector(".card.seen")
        assert chosen(page)["network"]["given"] == {"Smoking": ["yes"]}
        box = state_button(page, "XRay", "no").bounding_box()
        page.mouse.move(box["x"] + box["width"] - 4, box["y"] + 10)
        page.mouse.down()
        page.mouse.move(box["x"] + box["width"] * 0.25, box["y"] + 10, steps=6)
        page.mouse.up()
        page.wait_for_function("() => location.hash.includes('XRay')")
        given = chosen(page)["network"]["given"]["XRay"]
        assert given["yes"] == 1
        assert 0.15 < given["no"] < 0.35


def test_doing_reasons_and_what_to_ask_next(browser: Any) -> None:
    with asia() as served, Tab(browser, served) as page:
        page.get_by_label("doing").check()
        state_button(page, "LungCancer", "yes").click()
        page.wait_for_selector(".card.set")
        assert figure(page, "Smoking", "yes") == "50.0%"
        page.locator("section.card[aria-label='Tuberculosis'] .name").click()
        page.wait_for_selector(".waterfall")
        page.wait_for_selector(".next")
        assert page.locator(".findings").inner_text().split()[:2] == ["do", "LungCancer"]


def test_contradictions_are_named(browser: Any) -> None:
    given = {"network": {"given": {"TuberculosisOrCancer": "no", "LungCancer": "yes"}}}
    with asia() as served, Tab(browser, served, given) as page:
        page.wait_for_selector(".card.conflict")
        assert page.locator(".card.conflict").count() == 2
        assert "can't be true together" in page.locator(".problem").inner_text()


def test_the_keyboard_alone(browser: Any) -> None:
    with asia() as served, Tab(browser, served) as page:
        page.wait_for_selector(".card")
        state_button(page, "XRay", "yes").focus()
        page.keyboard.press("Enter")
        page.wait_for_selector(".card.seen")
        page.keyboard.press("Alt+ArrowLeft")
        page.wait_for_function("() => document.querySelectorAll('.likelihood').length == 2")
        assert chosen(page)["network"]["given"]["XRay"] == {"yes": 0.9, "no": 1}
        state_button(page, "Smoking", "no").focus()
        page.keyboard.press("Shift+Enter")
        page.wait_for_selector(".state.out")
        assert chosen(page)["network"]["given"]["Smoking"] == ["yes"]
        page.locator(".canvas").focus()
        before = page.locator(".sheet").get_attribute("style")
        page.keyboard.press("+")
        page.wait_for_function("(old) => document.querySelector('.sheet').getAttribute('style') != old", arg=before)


def test_names_from_the_data_are_never_markup(browser: Any) -> None:
    net = credo.Network(
        {HOSTILE: (), "y": (HOSTILE,)}, {HOSTILE: [0.2, 0.8], "y": [[0.25, 0.75], [0.01, 0.99]]},
        {HOSTILE: [HOSTILE + "1", "'\""], "y": ["yes", "no"]},
    )  # fmt: skip
    with credo.explore(net) as served, Tab(browser, served) as page:
        page.wait_for_selector(".card")
        page.locator(".card .name").first.click()
        page.locator(".card .state").first.click()
        page.wait_for_selector(".card.seen")
        assert page.locator("main img").count() == 0
        assert HOSTILE in page.locator("main").inner_text()
    rows = {"a": [HOSTILE, "x"] * 10, "t": [f"{HOSTILE} word{i} here" for i in range(20)], "k": ["<b>1</b>", "2"] * 10}
    model = credo.NaiveBayes(kinds={"t": "text"}).fit(rows, target="k")
    state = {"row": {"row": {"a": HOSTILE, "t": f"{HOSTILE} word3 here"}}}
    with credo.explore(model) as served, Tab(browser, served, state) as page:
        page.wait_for_selector(".coloured button")
        assert page.locator("main img, main aside b b").count() == 0


def test_a_message_is_coloured_as_it_is_typed(browser: Any) -> None:
    mail = ["Lunch meeting?", "Expenses submitted", "Budget meeting on Monday", "Dinner at home?", "See you at home"]
    model = credo.NaiveBayes().fit(mail, target=["work"] * 3 + ["private"] * 2)
    with credo.explore(model) as served, Tab(browser, served) as page:
        page.locator("textarea").type("Budget at home")
        page.wait_for_selector(".coloured .for")
        before = page.locator(".bars li").first.inner_text()
        page.locator(".coloured button", has_text="home").click()
        page.wait_for_function("(before) => document.querySelector('.bars li').innerText != before", arg=before)
        assert chosen(page)["row"]["struck"] == {"x": ["home"]}
        page.get_by_label("The right class is").select_option("private")
        page.get_by_role("button", name="Teach it").click()
        page.wait_for_selector("text=Undo (1 taught)")


def test_the_other_screens_open_and_move(browser: Any, tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    kind = rng.choice(["a", "b"], 120)
    rows = {"x": rng.normal(size=120) + 2 * (kind == "b"), "z": rng.normal(size=120), "kind": kind}
    model = credo.NaiveBayes().fit(rows, target="kind")
    with credo.explore(model, data=rows) as served, Tab(browser, served, {"screen": "trust"}) as page:
        page.wait_for_selector(".matrix button")
        page.get_by_role("button", name="Draw it").click()
        page.wait_for_selector("text=log-loss of held-out rows")
        page.locator(".matrix .wrong").first.click()
        page.wait_for_selector("text=decided to be")
        page.locator(".costs input[type=range]").first.fill("20")
        page.wait_for_function("() => location.hash.includes('loss')")
    with credo.explore(credo.BetaBernoulli(2, 2).update({1: 7, 0: 3})) as served, Tab(browser, served) as page:
        page.wait_for_selector("figure svg")
        page.locator(".slider input").first.fill("0.2")
        page.wait_for_function("() => location.hash.includes('prior')")
    beliefs = credo.estimate({"g": np.repeat(np.arange(3000), 4), "y": rng.integers(0, 2, 12000)}, "y", by="g")
    with credo.explore(beliefs) as served, Tab(browser, served) as page:
        page.wait_for_selector(".forest-row")
        assert page.locator(".forest-row").count() <= 200
        page.locator(".forest").evaluate("(box) => { box.scrollTop = 60000 }")
        page.wait_for_selector(".forest-row[aria-rowindex='2320']")
        more = {"name": "more.csv", "mimeType": "text/csv", "buffer": b"g,y\n1,1\n1,0\n"}
        page.set_input_files("input[type=file]", files=[more])
        page.get_by_role("button", name="learn its rows").click()
        page.wait_for_selector("text=2 rows learned; now 12,002 rows in 3,000 groups")
        with page.expect_download() as saved:
            page.get_by_role("button", name="Export HTML").click()
        saved.value.save_as(tmp_path / "page.html")
    text = (tmp_path / "page.html").read_text()
    assert "<script" not in text
    assert "forest-row" in text


def test_two_groups_are_compared_by_dragging_by_clicks_and_by_keys(browser: Any) -> None:
    rng = np.random.default_rng(0)
    groups = [HOSTILE, "b", *(f"g{i}" for i in range(500))]
    rows = {"g": np.repeat(groups, 4), "y": rng.integers(0, 2, 4 * len(groups))}
    beliefs = credo.estimate(rows, "y", by="g", prior=credo.BetaBernoulli(1, 1))
    with credo.explore(beliefs) as served, Tab(browser, served, {"groups": {"sort": "group", "down": False}}) as page:
        first = page.locator(".forest-row")
        first.first.wait_for()
        a, b = first.nth(1).bounding_box(), first.nth(4).bounding_box()
        page.mouse.move(a["x"] + 200, a["y"] + 9)
        page.mouse.down()
        page.mouse.move(b["x"] + 200, b["y"] + 9, steps=4)
        page.mouse.up()
        names = [first.nth(i).locator("bdi").inner_text() for i in range(6)]
        page.wait_for_selector("text=Difference:")
        assert chosen(page)["groups"]["pair"] == [names[1], names[4]]
        first.nth(4).locator("button").click()
        first.nth(0).locator("button").click()
        page.wait_for_function("() => location.hash.includes('onerror')")
        assert chosen(page)["groups"]["pair"] == [names[1], HOSTILE]
        assert page.locator("main img").count() == 0
        page.set_viewport_size({"width": 400, "height": 800})
        assert page.evaluate("document.documentElement.scrollWidth") <= 400
        page.locator(".forest").focus()
        for key in ("ArrowDown", "ArrowDown", "Shift+ArrowDown", "Shift+ArrowDown"):
            page.keyboard.press(key)
        page.wait_for_selector(f"text=P({names[1]} > {names[3]})")
        assert chosen(page)["groups"]["pair"] == [names[1], names[3]]
        page.keyboard.press("End")
        page.wait_for_function(
            "() => document.activeElement.closest('.forest-row')?.getAttribute('aria-rowindex') == 502"
        )
        page.keyboard.press("Enter")
        page.wait_for_function("() => location.hash.includes('g99')")


def hostile_networks() -> dict[str, Any]:
    """One of each kind, whose names and states are markup."""
    states = {HOSTILE: [f"{HOSTILE}1", "'\""]}
    fever = credo.nodes.Normal(mean={f"{HOSTILE}1": 39.0, "'\"": 36.8}, sd=0.5)
    tables = {HOSTILE: [0.5, 0.5], "y": [[0.9, 0.1], [0.2, 0.8]]}
    return {
        "hybrid": credo.HybridNetwork(
            {HOSTILE: (), "<b>t</b>": (HOSTILE,)}, {HOSTILE: [0.1, 0.9], "<b>t</b>": fever}, states
        ),
        "slices": credo.DynamicNetwork(
            {HOSTILE: (f"previous({HOSTILE})",), "y": (HOSTILE,)},
            {HOSTILE: [[0.7, 0.3], [0.3, 0.7]], "y": [[0.9, 0.1], [0.2, 0.8]]},
            states=states | {"y": ["<i>", "no"]}, first={HOSTILE: [0.5, 0.5]},
        ),
        "decisions": credo.InfluenceDiagram(
            {HOSTILE: (), "<b>d</b>": (HOSTILE,), "<i>u</i>": (HOSTILE, "<b>d</b>")}, {HOSTILE: tables[HOSTILE]},
            {"<i>u</i>": [[7, 0], [2, 10]]}, {"<b>d</b>": ["<u>take</u>", "leave"]}, states,
        ),
    }  # fmt: skip


@pytest.mark.parametrize("kind", ["hybrid", "slices", "decisions"])
def test_names_of_the_other_networks_are_never_markup(browser: Any, kind: str, tmp_path: Path) -> None:
    with credo.explore(hostile_networks()[kind]) as served, Tab(browser, served) as page:
        page.wait_for_selector(".card" if kind != "slices" else ".strip")
        page.wait_for_load_state("networkidle")
        if kind != "slices":
            page.locator(".card .state").first.click()
            page.wait_for_selector(".card.seen")
        assert page.locator("main img, main u, main .card b b, main aside i i").count() == 0
        assert HOSTILE in page.locator("main").inner_text()
        assert violations(page) == []
        with page.expect_download() as saved:
            page.get_by_role("button", name="Export HTML").click()
        saved.value.save_as(tmp_path / "page.html")
    text = (tmp_path / "page.html").read_text()
    assert "<script" not in text
    assert HOSTILE not in text


def test_a_number_is_known_by_typing_by_a_click_and_by_dragging(browser: Any, tmp_path: Path) -> None:
    net = credo.HybridNetwork(
        "Flu -> Fever", {"Flu": 0.1, "Fever": credo.nodes.Normal(mean={"yes": 39.0, "no": 36.8}, sd=0.5)}
    )
    with credo.explore(net) as served, Tab(browser, served, viewport={"width": 400, "height": 800}) as page:
        box = page.get_by_label("Evidence of Fever: a number or an interval")
        for text, given in (("> 38", {"low": 38, "high": None}), ("36 to 37.5", {"low": 36, "high": 37.5}), ("39", 39)):
            box.fill(text)
            box.press("Enter")
            box.blur()
            page.wait_for_function(
                "(text) => decodeURIComponent(location.hash).includes(text)", arg=json.dumps(given).replace(" ", "")
            )
            assert chosen(page)["network"]["given"] == {"Fever": given}
        page.wait_for_function(SHOWS, arg="99.9%")
        box.fill("warm")
        box.blur()
        assert box.get_attribute("aria-invalid") == "true"
        area = page.locator(".density").bounding_box()
        page.mouse.move(area["x"] + 40, area["y"] + 30)
        page.mouse.down()
        page.mouse.move(area["x"] + 90, area["y"] + 30, steps=4)
        page.mouse.up()
        page.wait_for_function("() => location.hash.includes('low')")
        interval = chosen(page)["network"]["given"]["Fever"]
        assert interval["low"] < interval["high"]
        with page.expect_download() as saved:
            page.get_by_role("button", name="Export HTML").click()
        saved.value.save_as(tmp_path / "page.html")
        assert f'value="{interval["low"]} to {interval["high"]}"' in (tmp_path / "page.html").read_text()
        page.locator(".density").click(position={"x": 60, "y": 30})
        page.wait_for_function("() => !location.hash.includes('low')")
        assert page.evaluate("document.documentElement.scrollWidth") <= 400


def test_slices_and_decisions_follow_what_is_chosen(browser: Any) -> None:
    rain = {"Rain": {"yes": 0.7, "no": 0.3}, "Umbrella": {"yes": 0.9, "no": 0.2}}
    net = credo.DynamicNetwork("previous(Rain) -> Rain -> Umbrella", rain, first={"Rain": 0.5})
    with credo.explore(net) as served, Tab(browser, served, viewport={"width": 400, "height": 800}) as page:
        page.get_by_label("Umbrella in slice 4").select_option("yes")
        page.wait_for_function("() => location.hash.includes('Umbrella')")
        page.get_by_label("filtered: given slices so far").check()
        page.get_by_role("button", name="Add a slice").click()
        page.wait_for_selector("text=over 6 slices")
        assert chosen(page)["slices"] == {"rows": [{}, {}, {}, {}, {"Umbrella": "yes"}, {}], "how": "filtered"}
        assert page.evaluate("document.documentElement.scrollWidth") <= 400
    diagram = credo.InfluenceDiagram(
        "Rain -> Forecast -> Umbrella; Rain, Umbrella -> Comfort", {"Rain": 0.3, "Forecast": {"yes": 0.8, "no": 0.1}},
        {"Comfort": [[7, 0], [2, 10]]}, ["Umbrella"],
    )  # fmt: skip
    with credo.explore(diagram) as served, Tab(browser, served, viewport={"width": 400, "height": 800}) as page:
        state_button(page, "Forecast", "yes").focus()
        page.keyboard.press("Enter")
        page.wait_for_selector("text=Known, too, but makes no difference")
        assert chosen(page) == {"decisions": {"given": {"Forecast": "yes"}}}
        state_button(page, "Umbrella", "no").click()
        page.wait_for_selector(".card.decision.seen")
        page.wait_for_function("() => !document.querySelector('aside').innerText.includes('before')")
        assert page.evaluate("document.documentElement.scrollWidth") <= 400


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [400, 1600])
def test_widths_and_themes(browser: Any, scheme: str, width: int) -> None:
    shape = {"width": width, "height": 800}
    with asia() as served, Tab(browser, served, viewport=shape, color_scheme=scheme) as page:
        page.wait_for_selector(".card")
        assert page.evaluate("document.documentElement.scrollWidth") <= width
        assert (page.evaluate(PAPER) == "rgb(255, 255, 255)") == (scheme == "light")
        page.get_by_label("Theme").select_option("light" if scheme == "dark" else "dark")
        page.wait_for_function(f"(light) => ({PAPER} == 'rgb(255, 255, 255)') == light", arg=scheme == "dark")


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [400, 1400])
def test_screens_are_accessible(browser: Any, scheme: str, width: int, tmp_path: Path) -> None:
    (tmp_path / "rows.csv").write_text("x,y\n1,a\n2,b\n")
    letters = credo.NaiveBayes().fit(["Budget meeting", "Dinner at home"] * 3, target=["work", "private"] * 3)
    rng = np.random.default_rng(0)
    kind = rng.choice(["a", "b"], 120)
    rows = {"x": rng.normal(size=120) + 2 * (kind == "b"), "c": rng.choice(["u", "v"], 120), "kind": kind}
    model = credo.NaiveBayes().fit(rows, target="kind")
    beliefs = credo.estimate(rows, "x", by="c")
    numbers = {"x": rows["x"], "y": rng.normal(size=120)}
    line = credo.LinearRegression().fit(rows, target="x")
    net = credo.Network("c -> kind").fit({"c": rows["c"], "kind": kind})
    cases: list[tuple[Any, Any, Any]] = [
        (line, rows, {"regression": {"row": {"c": "u"}, "column": "c"}}),
        (net, None, {"network": {"edges": True}}),
        (credo.Network.example("asia"), None, {"network": {"given": {"XRay": "yes"}, "target": {"name": "Smoking"},
                                                           "sensitivity": True, "cause": "LungCancer"}}),
        *((each, None, None) for each in hostile_networks().values()),
        (model, None, {"row": {"row": {"x": 1.0}, "column": "x"}}),
        (model, rows, {"screen": "trust"}),
        (credo.BetaBernoulli(2, 2).update({1: 7, 0: 3}), None, None),
        (beliefs, None, {"groups": {"pair": ["u", "v"], "best": True}}),
        (credo.Mixture(components=2).fit(numbers), numbers, None),
        (credo.HiddenMarkov(states=2).fit(numbers), numbers, None),
        (letters, None, {"row": {"row": {"x": "Budget at home"}, "struck": {"x": ["at"]}}}),
        (str(tmp_path / "rows.csv"), None, {"table": {"column": "y"}}),
    ]  # fmt: skip
    found = {}
    for i, (subject, data, state) in enumerate(cases):
        how = {"color_scheme": scheme, "viewport": {"width": width, "height": 900}}
        with credo.explore(subject, data=data) as served, Tab(browser, served, state, **how) as page:
            page.wait_for_load_state("networkidle")
            found[i] = violations(page)
            assert page.evaluate("document.documentElement.scrollWidth") <= width
    assert found == {i: [] for i in range(len(cases))}


def test_a_stopped_server_says_so_and_keeps_the_address(browser: Any) -> None:
    with asia() as served:
        tab = Tab(browser, served)
        tab.page.wait_for_selector(".card")
    state_button(tab.page, "XRay", "yes").click()
    tab.page.wait_for_selector("text=The server has stopped")
    assert chosen(tab.page)["network"]["given"] == {"XRay": "yes"}
    tab.context.close()


def test_tables_of_a_report_are_sorted_by_a_click(browser: Any, tmp_path: Path) -> None:
    from credo.present.classifier_page import classifier_page

    rng = np.random.default_rng(0)
    kind = rng.choice(["a", "b", "c"], 90, p=[0.6, 0.3, 0.1])
    rows = {"x": rng.normal(size=90) + (kind == "b"), HOSTILE: rng.choice(["u", "v"], 90), "kind": kind}
    classifier_page(credo.NaiveBayes().fit(rows, "kind"), tmp_path / "report.html", examples=rows)
    page = browser.new_page()
    said = list[str]()
    page.on("console", lambda message: said.append(message.text))
    page.goto((tmp_path / "report.html").as_uri())
    table = page.locator("table.sortable", has_text="P(truth)")
    shown = [float(each.rstrip("%")) for each in table.locator("td:nth-child(4)").all_inner_texts()]
    assert shown == sorted(shown)
    table.locator("th", has_text="P(truth)").click()
    after = [float(each.rstrip("%")) for each in table.locator("td:nth-child(4)").all_inner_texts()]
    assert after == sorted(shown, reverse=True)
    assert said == []
    page.close()


def test_reports_of_every_kind_fit_a_phone(browser: Any, tmp_path: Path) -> None:
    from credo.present.model_page import model_page
    from tests.test_notebooks import MODELS

    wrong = {}
    page = browser.new_page(viewport={"width": 400, "height": 800}, color_scheme="dark")
    for name, made in MODELS.items():
        model_page(made(), tmp_path / "report.html")
        page.goto((tmp_path / "report.html").as_uri())
        if (wide := page.evaluate("document.documentElement.scrollWidth")) > 400:
            wrong[name] = f"{wide} px"
    page.close()
    assert wrong == {}
