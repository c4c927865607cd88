"""Every gesture in a real browser: what it changes on the page, and that the address restores it."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import credo
from tests.explorer.browsing import IN_BROWSER, Tab, asia, chosen, figure, state_button, violations

pytestmark = IN_BROWSER
MAIL = ["Lunch meeting?", "Expenses submitted", "Budget meeting on Monday", "Dinner at home?", "See you at home"]
# Of letters on the screen, in pixels: as laid out, times the scale of the sheet.
SIZE = "(x) => (parseFloat(getComputedStyle(x).fontSize) * x.getBoundingClientRect().height) / x.offsetHeight"
DROP = """([name, text]) => {
  const transfer = new DataTransfer();
  transfer.items.add(new File([text], name, { type: "text/csv" }));
  document.querySelector(".drop").dispatchEvent(new DragEvent("drop", { dataTransfer: transfer, bubbles: true, cancelable: true }));
}"""  # noqa: E501


def restored(page: Any, part: str = "main") -> None:
    """A reload shows the same: all that was chosen is in the address."""
    page.wait_for_timeout(600)  # the address follows what is dragged or typed when it rests
    page.wait_for_load_state("networkidle")
    before = page.locator(part).inner_text()
    page.reload()
    page.wait_for_function("([part, text]) => document.querySelector(part)?.innerText == text", arg=[part, before])


def numbers(text: str) -> list[float]:
    """All figures of a text, in order."""
    return [float(each.replace("−", "-")) for each in re.findall(r"[-−+]?\d+\.?\d*", text.replace(",", ""))]


def changes(page: Any, selector: str, before: str) -> str:
    """What a part of the page says as soon as it says something else."""
    page.wait_for_function(
        "([selector, before]) => document.querySelector(selector)?.innerText != before", arg=[selector, before]
    )
    return str(page.locator(selector).first.inner_text())


def two_kinds(n: int = 160) -> dict[str, Any]:
    rng = np.random.default_rng(0)
    kind = rng.choice(["a", "b"], n)
    return {
        "x": (rng.normal(size=n) + 2 * (kind == "b")).round(2), "c": np.where(rng.random(n) < 0.7, kind, "c"),
        "kind": kind,
    }  # fmt: skip


# Networks


def test_a_ghost_of_before_stays_behind_the_bars(browser: Any) -> None:
    width = "(each) => each.style.width"
    with asia() as served, Tab(browser, served) as page:
        bar = state_button(page, "LungCancer", "yes")
        bar.wait_for()
        before = bar.locator(".share").evaluate(width)
        state_button(page, "XRay", "yes").click()
        page.wait_for_selector(".card.seen")
        page.wait_for_function("() => document.querySelector('aside').innerText.includes('P(findings)')")
        assert bar.locator(".ghost").evaluate(width) == before
        assert bar.locator(".share").evaluate(width) != before


def test_the_waterfall_adds_up_and_findings_are_taken_back(browser: Any) -> None:
    state = {"network": {"given": {"XRay": "yes", "Smoking": "yes"}, "target": {"name": "LungCancer", "state": "yes"}}}
    with asia() as served, Tab(browser, served, state) as page:
        page.wait_for_selector(".waterfall tfoot")
        *weights, total = (numbers(each)[0] for each in page.locator(".waterfall td:nth-child(2)").all_inner_texts())
        assert abs(sum(weights) - total) < 2e-3
        assert page.locator(".waterfall caption").inner_text() == "LungCancer=yes: P = 64.6%"
        page.get_by_label("Remove Smoking").click()
        page.wait_for_function("() => document.querySelectorAll('.waterfall tbody tr').length == 2")
        assert chosen(page)["network"]["given"] == {"XRay": "yes"}
        restored(page)


def test_costs_change_what_to_ask_next_and_what_was_set_is_not_asked(browser: Any) -> None:
    state = {"network": {"do": {"Smoking": "yes"}, "target": {"name": "LungCancer"}}}
    with asia() as served, Tab(browser, served, state) as page:
        page.wait_for_selector(".next tbody tr")
        names = page.locator(".next tbody th").all_inner_texts()
        assert "Smoking" not in names
        price = page.get_by_label(f"Cost of asking about {names[0]}")
        price.fill("9")
        price.press("Tab")
        page.wait_for_function("(first) => document.querySelector('.next tbody th').innerText != first", arg=names[0])
        assert chosen(page)["network"]["costs"] == {names[0]: 9}
        restored(page)


def test_of_many_variables_one_is_found_and_its_neighbours_are_shown(browser: Any) -> None:
    rng = np.random.default_rng(0)
    parents = {f"v{i}": [f"v{i - 1}"] if i else [] for i in range(200)}
    tables = {name: rng.dirichlet(np.ones(2), (2,) * len(own)) for name, own in parents.items()}
    with credo.explore(credo.Network(parents, tables, ["low", "high"])) as served, Tab(browser, served) as page:
        page.wait_for_selector("text=197 more variables")
        page.get_by_label("Find").fill("v77")
        page.get_by_label("Find").press("Enter")
        page.wait_for_selector("section.card[aria-label='v79']")
        assert page.locator("section.card").count() == 5
        page.get_by_label("Reach").select_option("4")
        page.wait_for_selector("section.card[aria-label='v81']")
        sheet = page.locator(".sheet")
        before = sheet.get_attribute("style")
        box = page.locator(".canvas").bounding_box()
        page.mouse.move(box["x"] + 20, box["y"] + box["height"] - 20)
        page.mouse.wheel(0, -300)
        page.wait_for_function("(old) => document.querySelector('.sheet').getAttribute('style') != old", arg=before)
        before = sheet.get_attribute("style")
        page.mouse.down()
        page.mouse.move(box["x"] + 120, box["y"] + box["height"] - 60, steps=3)
        page.mouse.up()
        assert sheet.get_attribute("style") != before
        page.get_by_role("button", name="Show all").click()
        restored(page)


def test_learned_networks_show_how_sure_arrows_and_tables_are(browser: Any) -> None:
    rows = credo.Network.example("asia").sample(500, seed=0)
    net = credo.Network("Smoking -> LungCancer -> XRay").fit(rows.select(["Smoking", "LungCancer", "XRay"]))
    with credo.explore(net) as served, Tab(browser, served) as page:
        page.get_by_label("edge confidence").check()
        page.wait_for_selector("aside h2:text-is('Edge confidence')")
        assert page.locator("aside .bars li").count() == 2
        page.wait_for_function("() => document.querySelectorAll('.sheet path[style*=stroke-width]').length == 2")
        page.locator("section.card[aria-label='XRay'] .name").click()
        page.get_by_text("Table of XRay, with 95% credible intervals").click()
        first = numbers(page.locator("details td").nth(1).inner_text())
        assert first[1] <= first[0] <= first[2]
        restored(page, "aside section:last-of-type")


def test_lines_are_copied(browser: Any) -> None:
    state = {"network": {"given": {"XRay": "yes"}}}
    with asia() as served, Tab(browser, served, state, permissions=["clipboard-read", "clipboard-write"]) as page:
        page.get_by_role("button", name="Copy as Python").click()
        page.wait_for_selector("text=copied")
        assert page.evaluate("navigator.clipboard.readText()") == "model.marginals({'XRay': 'yes'})"
        page.get_by_role("button", name="Copy as command").click()
        page.wait_for_function("async () => (await navigator.clipboard.readText()).startsWith('credo ask')")


# Rows and messages


def test_what_is_taught_is_undone_exactly_and_saved_for_all_tabs(browser: Any, tmp_path: Path) -> None:
    file = tmp_path / "mail.credo"
    credo.save(credo.NaiveBayes().fit(MAIL, target=["work"] * 3 + ["private"] * 2), file)
    state = {"row": {"row": {"x": "Budget at home"}}}
    with credo.explore(str(file)) as served, Tab(browser, served, state) as page, Tab(browser, served, state) as other:
        page.wait_for_selector(".bars li")
        before = page.locator("main").inner_text()
        page.get_by_label("The right class is").select_option("private")
        page.get_by_role("button", name="Teach it").click()
        page.wait_for_selector("text=Undo (1 taught)")
        changes(page, ".waterfall", before)
        page.get_by_role("button", name="Undo (1 taught)").click()
        page.wait_for_function("(text) => document.querySelector('main').innerText == text", arg=before)
        for tab in (page, other):  # a second tab doesn't overwrite what the first one saved
            tab.get_by_role("button", name="Teach it").click()
            tab.get_by_role("button", name="Save").click()
            tab.wait_for_selector("text=rows saved")
    assert credo.load(file).n == 7


def test_a_struck_word_comes_back(browser: Any) -> None:
    model = credo.NaiveBayes().fit(MAIL, target=["work"] * 3 + ["private"] * 2)
    with credo.explore(model) as served, Tab(browser, served, {"row": {"row": {"x": "Budget at home"}}}) as page:
        page.wait_for_selector(".coloured .for")
        before = page.locator(".bars").inner_text()
        page.locator(".coloured button", has_text="home").click()
        changes(page, ".bars", before)
        restored(page)
        page.locator(".struck").click()
        page.wait_for_function("(text) => document.querySelector('.bars').innerText == text", arg=before)


def test_what_if_curves_and_the_nearest_change_of_the_decision(browser: Any) -> None:
    model = credo.NaiveBayes().fit(two_kinds(), target="kind")
    with credo.explore(model) as served, Tab(browser, served, {"row": {"row": {"x": 0.0}}}) as page:
        cell = page.locator(".cell", has_text="x").first
        cell.get_by_role("button", name="what if").click()
        page.wait_for_selector("text=What if x were")
        assert page.locator("aside svg path").count() == 2
        slider = page.get_by_label("x, slider")
        slider.focus()
        page.keyboard.press("ArrowRight")
        page.wait_for_function("() => !location.hash.includes('%3A0%7D')")
        page.get_by_label("c", exact=True).select_option("a")
        first = page.locator(".bars li").first
        page.wait_for_function("() => document.querySelector('.bars li').innerText.startsWith('a')")
        page.wait_for_timeout(700)  # changes are looked for when the row rests
        button = page.locator(".changes button").first
        button.wait_for()
        says = page.locator(".changes li").first.inner_text()
        button.click()
        page.wait_for_function("() => document.querySelector('.bars li').innerText.startsWith('b')")
        assert numbers(says)[-1] == numbers(first.inner_text())[-1]
        restored(page)


# Beliefs


def test_prior_observations_and_how_much_more_data(browser: Any) -> None:
    with credo.explore(credo.BetaBernoulli(2, 2).update({1: 7, 0: 3})) as served, Tab(browser, served) as page:
        page.wait_for_selector("aside table")
        estimates = page.locator("aside tbody").inner_text()
        page.get_by_label("mean").fill("0.2")
        after = changes(page, "aside tbody", estimates)
        assert numbers(after)[0] < numbers(estimates)[0]
        page.get_by_label("strength, in observations").focus()
        page.keyboard.press("ArrowRight")
        after = changes(page, "aside tbody", after)
        page.get_by_label("Add observations").fill("1 1 0")
        page.get_by_label("Add observations").press("Enter")
        page.wait_for_selector("text=13 in all")
        page.get_by_label("Its observations").fill("0 0 0 0 0 0 1")
        page.get_by_label("Its observations").press("Enter")
        page.wait_for_selector("text=P(this one is greater)")
        more = page.locator("[role=status]", has_text="more observations")
        wide = numbers(more.inner_text())[0]
        page.get_by_label("until the 95% interval is").fill("0.02")
        page.wait_for_function(
            "(wide) => Number(document.querySelector('.belief [role=status]').innerText.replace(/\\D/g, '')) > wide",
            arg=wide,
        )
        restored(page)
        kept = chosen(page)["belief"]
        assert kept["added"] == [1, 1, 0]
        assert kept["half"] == 0.02
        page.get_by_role("button", name="Undo").first.click()
        page.wait_for_selector("text=12 in all")


def test_shares_of_a_prior_and_another_belief_about_values(browser: Any) -> None:
    seen = credo.DirichletCategorical({"red": 1, "green": 1, "blue": 1}).update(["red"] * 5 + ["blue"] * 2)
    with credo.explore(seen) as served, Tab(browser, served) as page:
        page.wait_for_selector("aside table")
        estimates = page.locator("aside tbody").inner_text()
        page.get_by_role("slider", name="mean of P(red)").focus()
        page.keyboard.press("ArrowRight")
        after = changes(page, "aside tbody", estimates)
        assert numbers(after)[0] > numbers(estimates)[0]
        page.get_by_label("strength, in observations").fill("2")
        changes(page, "aside tbody", after)
        page.get_by_label("Its observations").fill("blue blue red")
        page.get_by_label("Its observations").press("Enter")
        page.wait_for_selector("th:has-text('P(greater)')")
        assert page.locator(".controls tbody tr").count() == 3
        restored(page)
        assert sum(chosen(page)["belief"]["prior"]["mean"]) == pytest.approx(1)


# Groups


def test_groups_shrink_are_sorted_searched_and_the_best_is_named(browser: Any) -> None:
    rng = np.random.default_rng(0)
    rows = {"g": np.repeat([f"g{i}" for i in range(40)], np.arange(1, 41)), "y": rng.integers(0, 2, 820)}
    with credo.explore(credo.estimate(rows, "y", by="g")) as served, Tab(browser, served) as page:
        width = "() => document.querySelector('.forest-row .interval i').getBoundingClientRect().width"
        page.wait_for_selector(".forest-row i")
        page.get_by_role("button", name="rows").click()
        page.wait_for_function("() => location.hash.includes('rows')")
        page.get_by_role("button", name="rows").click()
        page.wait_for_selector(".forest-row bdi:text-is('g0')")
        wide = page.evaluate(width)
        page.get_by_label("Prior").select_option("empirical")
        page.wait_for_function(f"(wide) => ({width})() != wide", arg=wide)
        page.get_by_label("Prior").select_option("raw")
        page.wait_for_function(f"() => ({width})() < 5")
        page.get_by_label("Prior").select_option("empirical")
        page.get_by_label("P(best)").check()
        page.wait_for_selector("aside .bars li")
        shares = [numbers(each)[-1] for each in page.locator("aside .bars li").all_inner_texts()]
        assert shares == sorted(shares, reverse=True)
        page.get_by_label("Find").fill("g39")
        page.wait_for_selector("text=1 of 40 groups")
        restored(page)


def test_a_dropped_file_is_learned_and_forgotten(browser: Any, tmp_path: Path) -> None:
    file = tmp_path / "ads.credo"
    credo.save(credo.estimate({"ad": ["p", "q"] * 20, "y": [0, 1, 1, 0] * 10}, "y", by="ad"), file)
    before = credo.load(file).table()
    with credo.explore(str(file)) as served, Tab(browser, served) as page:
        page.wait_for_selector(".forest-row")
        page.evaluate(DROP, ["<b>more</b>.csv", "ad,y\np,1\np,1\nr,0\n"])
        page.get_by_role("button", name="learn its rows").click()
        page.wait_for_selector("text=3 rows learned; now 43 rows in 3 groups, saved")
        page.wait_for_selector(".forest-row bdi:text-is('r')")
        assert credo.load(file).n == 43
        page.evaluate(DROP, ["more.csv", "ad,y\np,1\np,1\nr,0\n"])
        page.get_by_role("button", name="forget its rows").click()
        page.wait_for_selector("text=3 rows forgotten; now 40 rows in 2 groups, saved")
    assert credo.load(file).table() == before


# Trust


def test_costs_move_decisions_and_a_cell_lists_its_rows_with_reasons(browser: Any) -> None:
    rows = two_kinds()
    model = credo.NaiveBayes().fit(rows, target="kind")
    with credo.explore(model, data=rows) as served, Tab(browser, served, {"screen": "trust"}) as page:
        page.wait_for_selector(".matrix button")
        worst = [numbers(each)[0] for each in page.locator("td:nth-child(4)").all_inner_texts()[:5]]
        assert worst == sorted(worst)
        equal = page.locator(".matrix").inner_text()
        page.get_by_label("b where a is true").fill("20")
        costly = changes(page, ".matrix", equal)
        assert numbers(costly)[1] < numbers(equal)[1]  # fewer rows of a are decided to be b
        page.get_by_label("rejecting costs").check()
        page.wait_for_selector(".matrix th bdi:text-is('(rejected)')")
        page.locator(".matrix .wrong", has_text=re.compile(r"[1-9]")).first.click()
        page.wait_for_selector("text=decided to be")
        page.locator("table td button").last.click()
        row = page.locator("[aria-expanded=true]")
        row.wait_for()
        page.wait_for_selector(".reasons .waterfall caption")
        assert page.locator("tr", has=row).locator("xpath=following-sibling::tr[1]").get_attribute("class") == "reasons"
        assert violations(page) == []
        restored(page)
        page.get_by_role("button", name="Equal costs").click()
        page.wait_for_function("() => !location.hash.includes('loss')")


def test_candidates_have_differences_with_standard_errors(browser: Any) -> None:
    model = credo.learn(two_kinds(), target="kind")
    with credo.explore(model) as served, Tab(browser, served, {"screen": "trust"}) as page:
        page.wait_for_selector("text=Models tried")
        table = page.locator("table", has_text="behind the best")
        losses = [float(each) for each in table.locator("td:nth-child(2)").all_inner_texts()]
        assert losses[0] == min(losses)
        assert "±" in table.inner_text()


# Clusters and sequences


def test_clusters_have_profiles_ellipses_and_responsibilities(browser: Any) -> None:
    rng = np.random.default_rng(0)
    side = rng.integers(0, 2, 200)
    rows = {"x": rng.normal(size=200) + 8 * side, "y": rng.normal(size=200), "z": rng.normal(size=200) - 6 * side}
    mixture = credo.Mixture(components=2).fit(rows)
    with credo.explore(mixture, data=rows) as served, Tab(browser, served) as page:
        page.wait_for_selector(".ellipses path")
        assert page.locator(".ellipses path").count() == 4  # two clusters, one and two standard deviations
        assert page.locator(".ellipses circle").count() == 200
        assert page.locator(".controls .cell").count() == 2
        before = page.locator(".ellipses path").first.get_attribute("d")
        page.get_by_label("y axis").select_option("z")
        page.wait_for_function("(d) => document.querySelector('.ellipses path').getAttribute('d') != d", arg=before)
        shares = page.locator("aside .bars").inner_text()
        page.get_by_label("x", exact=True).fill("8")
        after = changes(page, "aside .bars", shares)
        assert max(numbers(after)) > 99
        restored(page)


def test_a_sequence_is_decoded_and_forecast(browser: Any) -> None:
    rng = np.random.default_rng(0)
    rows = {"x": rng.normal(size=120) + 6 * (np.arange(120) // 30 % 2)}
    model = credo.HiddenMarkov(states=2).fit(rows)
    with credo.explore(model, data=rows) as served, Tab(browser, served) as page:
        page.wait_for_selector(".strip rect")
        assert page.locator(".series path").count() == 3  # the interval and the mean ahead, and the rows
        assert page.locator(".strip rect").count() == 120 + 2 * (120 + 24)  # the path, shares, and a forecast
        page.get_by_label("Rows").fill("0\n0.1\n6\n6.2\n\n")
        page.get_by_role("button", name="Decode").click()
        page.wait_for_function("() => document.querySelectorAll('.strip rect').length == 4 + 2 * (4 + 24)")
        said = page.locator(".strip").get_attribute("aria-label").partition(": ")[2].split(", ")
        assert said[0] == said[1] != said[2] == said[3]
        assert page.locator("aside", has_text="Emissions in each state").count() == 1
        restored(page)


# All


def select(page: Any, label: str, value: str) -> None:
    page.get_by_label(label).select_option(value)


def observe(page: Any) -> None:
    page.get_by_label("Add observations").fill("1")
    page.get_by_label("Add observations").press("Enter")


# a model; a gesture, and what it asks the server; an input, and what is typed there meanwhile
TYPING: dict[str, tuple[Callable[[], Any], Callable[[Any], None], str, str, str]] = {
    "network": (
        lambda: credo.Network.example("asia"), lambda page: state_button(page, "XRay", "yes").click(), "next",
        "Cost of asking about Bronchitis", "0.3",
    ),
    "hybrid network": (
        lambda: credo.HybridNetwork("Flu -> Fever", {"Flu": 0.1, "Fever": credo.nodes.Normal(mean=37, sd=1)}),
        lambda page: state_button(page, "Flu", "yes").click(), "marginals", "Evidence of Fever: a number", "> 3",
    ),
    "dynamic network": (
        lambda: credo.DynamicNetwork("previous(Rain) -> Rain", {"Rain": {"yes": 0.7, "no": 0.3}}, first={"Rain": 0.5}),
        lambda page: select(page, "Rain in slice 4", "yes"), "beliefs", "forecast", "3",
    ),
    "influence diagram": (
        lambda: credo.InfluenceDiagram(
            "Rain -> Forecast -> Umbrella; Rain, Umbrella -> Comfort",
            {"Rain": 0.3, "Forecast": {"yes": 0.8, "no": 0.1}}, {"Comfort": [[7, 0], [2, 10]]}, ["Umbrella"],
        ),
        lambda page: state_button(page, "Forecast", "yes").click(), "ask", "Cost of asking about Rain", "0.3",
    ),
    "belief": (lambda: credo.BetaBernoulli(2, 2).update([1, 0]), observe, "move", "until the 95% interval is", ""),
}  # fmt: skip


@pytest.mark.parametrize("name", TYPING)
def test_an_answer_that_arrives_leaves_what_is_being_typed(browser: Any, name: str) -> None:
    made, gesture, asked, label, text = TYPING[name]
    held = list[Any]()
    state = {"network": {"target": {"name": "LungCancer"}}} if name == "network" else None
    with credo.explore(made()) as served, Tab(browser, served, state) as page:
        box = page.get_by_label(label)
        box.wait_for()
        page.wait_for_load_state("networkidle")
        page.route(f"**/{asked}", lambda route: held.append(route))
        with page.expect_request(f"**/{asked}"):
            gesture(page)
        box.fill(text)
        with page.expect_response(f"**/{asked}") as answered:
            held[-1].continue_()
        answered.value.finished()
        page.wait_for_timeout(200)
        assert box.input_value() == text
        page.unroute(f"**/{asked}")


def test_a_number_is_read_as_it_is_typed(browser: Any) -> None:
    with credo.explore(credo.NaiveBayes().fit(two_kinds(), target="kind")) as served, Tab(browser, served) as page:
        cell = page.get_by_label("x", exact=True)
        cell.press_sequentially("0.0507", delay=30)
        assert cell.input_value() == "0.0507"
        restored(page)
        assert chosen(page) == {"row": {"row": {"x": 0.0507}}}


def test_every_screen_is_exported_as_it_is_shown(browser: Any, tmp_path: Path) -> None:
    model = credo.NaiveBayes().fit(two_kinds(), target="kind")
    with credo.explore(model) as served, Tab(browser, served, {"row": {"row": {"x": 1.0}, "column": "x"}}) as page:
        page.wait_for_selector("text=What if x were")
        page.wait_for_load_state("networkidle")
        bars = page.locator(".bars").inner_text()
        with page.expect_download() as saved:
            page.get_by_role("button", name="Export HTML").click()
        saved.value.save_as(tmp_path / "page.html")
    asked = list[str]()
    page = browser.new_page()
    page.on("request", lambda request: asked.append(request.url))
    page.goto((tmp_path / "page.html").as_uri())
    assert page.locator(".bars").inner_text() == bars
    assert page.locator("aside svg path").count() == 2
    assert asked == [(tmp_path / "page.html").as_uri()]
    assert page.evaluate("getComputedStyle(document.querySelector('.bars li button')).position") == "relative"
    page.close()


def test_figures_are_asked_for_by_the_keyboard_alone(browser: Any) -> None:
    rows = two_kinds()
    model = credo.NaiveBayes().fit(rows, target="kind")
    with credo.explore(model, data=rows) as served, Tab(browser, served) as page:
        page.wait_for_selector(".bars")
        for _ in range(40):
            page.keyboard.press("Tab")
            if page.evaluate("document.activeElement.innerText") == "Trust":
                break
        page.keyboard.press("Enter")
        page.wait_for_selector(".matrix button")
        for _ in range(40):
            page.keyboard.press("Tab")
            if page.evaluate("document.activeElement.className") == "wrong":
                break
        page.keyboard.press("Enter")
        page.wait_for_selector("text=decided to be")
        page.keyboard.press("Tab")
        assert page.evaluate("document.activeElement !== document.body")


def test_figures_of_a_small_network_are_legible_on_a_phone(browser: Any) -> None:
    with asia() as served, Tab(browser, served, viewport={"width": 400, "height": 820}) as page:
        assert figure(page, "LungCancer", "yes") == "5.5%"
        size = page.evaluate(SIZE, state_button(page, "LungCancer", "yes").locator(".figure").element_handle())
        assert size >= 9.5
        sizes = page.locator(".card .name bdi").evaluate_all(
            f"(names) => names.map((x) => [x.scrollWidth - x.clientWidth, x.offsetHeight, ({SIZE})(x)])"
        )
        assert all(beyond <= 1 and tall <= 30 and letters >= 8 for beyond, tall, letters in sizes), sizes
