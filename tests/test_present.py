"""The presentation room: content is plain data, and every renderer shows what it holds."""

from __future__ import annotations

import ast
import io
import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from rich.console import Console

import credo
from credo.asking import answer_data, parse, waterfall
from credo.data.profile import profile
from credo.models.explaining import Explanation
from credo.present import beliefs, classifiers, html, terminal
from credo.present.answers import answer_content
from credo.present.belief_charts import belief_charts, numeric_charts, value_estimates
from credo.present.classifier_page import page_of
from credo.present.comparison import comparison_content
from credo.present.content import Chart, Content, Drawing, Matrix, Paragraph, Table, TableColumn, json_text, plain
from credo.present.models import CONTENT_OF_KIND, WHOLE_CONTENT_OF_KIND, model_content
from credo.present.network_plot import network_picture
from credo.present.numbers import written
from credo.present.structures import structure_content
from credo.present.tables import head_content, profile_content
from credo.present.waterfalls import explanation_content, waterfall_table

ROOM = Path(credo.__file__).parent / "present"
ROWS: dict[str, list[Any]] = {
    "play": ["yes", "no", "yes", "no", "yes", "no", "yes", "yes"],
    "wind": ["weak", "strong", "weak", "strong", "weak", "weak", "strong", "weak"],
    "heat": [21.5, 3.0, 24.0, 6.5, 19.0, None, 11.5, 26.0],
    "note": ["sun and light", "rain and cold", "sun again", "cold rain", "light wind", "rain", "sun", "a light sun"],
}
STORM = credo.Network.example("storm")
MODEL = credo.learn({name: cells * 4 for name, cells in ROWS.items()}, "play", kinds={"note": "text"})
COIN = credo.BetaBernoulli(1, 1).update([1, 0, 1])
GROUPS = credo.estimate(ROWS, "play", by="wind")


def answered(model: Any, text: str, top: int | None = None) -> list[Content]:
    question = parse(text)
    return answer_content(question, answer_data(question, credo.ask(model, text)), top)


CASES: dict[str, list[Content]] = {
    "classifier": model_content(MODEL),
    "learned": classifiers.learned_content(MODEL, "rows.csv"),
    "network": model_content(STORM),
    "large network": model_content(credo.Network({f"v{i}": [f"v{i - 1}"] if i else [] for i in range(20)})),
    "Markov network": model_content(credo.MarkovNetwork(STORM.states, STORM.factors)),
    "belief": model_content(COIN),
    "groups": model_content(GROUPS),
    "estimate": beliefs.belief_content(COIN, beliefs.parameter_table(COIN, 0.9), "play", 0.9, 5),
    "profile": profile_content(profile(ROWS), "rows.csv"),
    "rows": head_content(GROUPS.table(), "rows.csv", "predicted"),
    "explanation": explanation_content(waterfall(MODEL.explain({n: c[0] for n, c in ROWS.items()})), "row 1", 3),
    "P": answered(STORM, "P(ForestFire | Storm=yes)"),
    "P of many": answered(STORM, "P(ForestFire, Storm, Thunder)", 3),
    "one P": answered(STORM, "P(ForestFire=yes)"),
    "argmax": answered(STORM, "argmax P(* | ForestFire=yes)"),
    "explain": answered(STORM, "explain P(ForestFire | Storm=yes)"),
    "law": answered(COIN, "P(theta)"),
    "laws": answered(credo.DirichletCategorical(1).update(["a", "b", "a"]), "P(theta)"),
    "E": answered(credo.DirichletCategorical(1).update(["a", "b", "a"]), "E(theta)"),
}


def shown(contents: list[Content], width: int = 100) -> str:
    out = io.StringIO()
    terminal.show(contents, Console(file=out, width=width))
    return out.getvalue()


@pytest.mark.parametrize("name", CASES)
def test_content_is_json(name: str) -> None:
    found = json.loads(json_text(CASES[name]), parse_constant=pytest.fail)
    assert [each["type"] for each in found] == [type(each).__name__ for each in CASES[name]]


@pytest.mark.parametrize("name", CASES)
def test_a_terminal_shows_every_text_and_every_name(name: str) -> None:
    text = shown(CASES[name], 300)
    words = " ".join(text.split())
    for content in CASES[name]:
        if isinstance(content, Paragraph):
            assert " ".join(content.text.split()) in words
        elif isinstance(content, Table):
            assert all(cell in text for column in content.columns for cell in written(column))
        elif isinstance(content, Matrix):
            assert all(each in text for each in content.names)


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("width", [40, 60, 80])
def test_no_line_is_wider_than_the_terminal(name: str, width: int) -> None:
    kept = [each for each in CASES[name] if not (isinstance(each, Paragraph) and each.role == "command")]
    assert max(map(len, shown(kept, width).splitlines())) <= width


@pytest.mark.parametrize("name", CASES)
def test_a_page_shows_the_same_tables(name: str) -> None:
    for content in CASES[name]:
        if isinstance(content, Table):
            page = html.table(content)
            assert page.count("<tr>") == 1 + len(content.columns[0].cells)
            numbers = (column for column in content.columns if column.form not in ("text", "share", "cell"))
            assert all(cell in page for column in numbers for cell in written(column) if cell != "-")
        elif isinstance(content, Matrix):
            assert html.matrix(content).count("<span") == len(content.names) ** 2


def test_columns_without_room_are_counted() -> None:
    columns = [TableColumn("group", ["a"])]
    for i in range(4):
        columns.append(TableColumn(f"mean {i}", [0.5], ".3f", rank=min(i, 1)))
        columns.append(TableColumn("interval", [(0.25, 0.75)], ".3f", rank=2))
    table = Table(columns, ranks=("more mean", "interval"), elsewhere="-o writes all")
    assert "no room" not in shown([table], 200)
    assert "no room for 1 interval: -o writes all" in shown([table], 95)
    narrow = shown([table], 30)
    assert "mean 0" in narrow
    assert "mean 3" not in narrow
    assert "no room for 2 more means: -o writes all" in " ".join(narrow.split())


def test_drawings_need_room() -> None:
    table = Table(
        [TableColumn("", ["a", "b"]), TableColumn("P", [0.25, 0.75], "probability")],
        Drawing("bars", [0.25, 0.75], most=1.0),
    )
    assert "█" in shown([table], 60)
    assert "█" not in shown([table], 20)
    assert html.table(table).count('class="bar"') == 2


def test_a_waterfall_keeps_its_sum_when_it_is_cut() -> None:
    found = waterfall(STORM.explain("ForestFire", {"Storm": "yes", "Thunder": "no", "Lightning": "yes"}))
    whole, cut = (waterfall_table(found, top, "finding", ("against", "for")) for top in (9, 1))
    for table in (whole, cut):
        *weights, log_odds = table.columns[2].cells
        assert sum(weights) == pytest.approx(log_odds)
    assert "2 more findings" in cut.columns[0].cells


def test_data_of_any_kind_is_json() -> None:
    data = {"a": np.float64("inf"), "b": (np.int64(3), None, float("nan")), 1: np.array([1.5]), "c": Paragraph("x")}
    expected = {
        "a": "Infinity",
        "b": [3, None, None],
        "1": [1.5],
        "c": {"type": "Paragraph", "text": "x", "role": "text", "hint": ""},
    }
    assert plain(data) == expected


# Pictures


def area(chart: Chart, role: str) -> float:
    (curve,) = (each for each in chart.curves if each.role == role)
    return float(np.trapezoid(curve.y, curve.x))


def test_charts_of_a_belief_are_plain_data() -> None:
    parameter, following = belief_charts(COIN)
    assert [curve.role for curve in parameter.curves] == ["posterior", "prior", "likelihood"]
    for role in ("posterior", "prior", "likelihood"):
        assert area(parameter, role) == pytest.approx(1, abs=1e-3)
    posterior = parameter.curves[0]
    at = int(np.argmax(posterior.y))
    assert posterior.x[at] == pytest.approx(2 / 3, abs=2e-3)  # the mode of Beta(3, 2)
    assert following.bars == pytest.approx({"0": 0.4, "1": 0.6})
    assert json.loads(json_text([parameter, following]))


def test_charts_of_any_likelihood_are_plain_data() -> None:
    def uniform(x: Any, theta: Any) -> Any:
        return np.where(x <= theta, -np.log(theta), -np.inf)

    belief = credo.Numeric(uniform, lambda theta: 0 * theta, support=(0, 10)).update([2, 4, 7, 8])
    parameter, following = numeric_charts(belief)
    assert area(parameter, "posterior") == pytest.approx(1, abs=0.02)
    assert following.curves
    assert json.loads(json_text([parameter, following]))


def test_estimates_of_values_are_plain_data() -> None:
    found = value_estimates(credo.DirichletCategorical(1).update(["a", "b", "a"]))
    assert (found.values, found.prior) == (["a", "b"], [0.5, 0.5])
    assert found.mean == pytest.approx([0.6, 0.4])
    assert found.maximum_likelihood == pytest.approx([2 / 3, 1 / 3])


def test_a_picture_of_a_network_is_plain_data() -> None:
    found = network_picture(STORM, {"Storm": "yes"})
    cards = {card.name: card for card in found.cards}
    assert {(arrow.parent, arrow.child) for arrow in found.arrows} == {
        (parent, name) for name, above in STORM.parents.items() for parent in above
    }
    assert [name for name, card in cards.items() if card.given] == ["Storm"]
    assert cards["ForestFire"].marginal == pytest.approx(STORM.query("ForestFire", {"Storm": "yes"}))
    for arrow in found.arrows:
        assert cards[arrow.parent].place[1] < cards[arrow.child].place[1]
    assert json.loads(json_text(found))


# The room


def imported(path: Path) -> set[str]:
    """Modules of credo that a file imports, wherever it does so, other than for types."""
    tree = ast.parse(path.read_text())
    for node in ast.walk(tree):
        if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING":
            node.body = []
    nodes = [node for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)]
    return {str(node.module) for node in nodes if str(node.module).startswith("credo")}


@pytest.mark.parametrize("renderer", ["terminal", "html", "numbers", "content"])
def test_renderers_know_content_and_no_model(renderer: str) -> None:
    allowed = {f"credo.{name}" for name in ("errors", "present.content", "present.numbers", "present.coloured_text")}
    assert imported(ROOM / f"{renderer}.py") <= allowed


def test_commands_have_no_tables_of_their_own() -> None:
    for path in (ROOM.parent / "cli").glob("*.py"):
        found = {line.strip() for line in path.read_text().splitlines() if "rich" in line and "import" in line}
        assert path.name in ("progress.py", "streams.py") or not found, path
        assert not {"credo.present.terminal.Table", "numpy"} & imported(path)


def test_every_registered_content_is_there() -> None:
    from importlib import import_module

    for pair in (CONTENT_OF_KIND | WHOLE_CONTENT_OF_KIND).items():
        for path in pair:
            module, _, name = path.rpartition(".")
            assert callable(getattr(import_module(module), name)), path


def test_without_a_held_out_row_no_score_is_shown() -> None:
    """Each class has one row: nan, a Brier score of 1 and an empty confusion matrix would be no scores."""
    with pytest.warns(credo.Notice, match="no held-out scores"):
        model = credo.learn({"a": [1.0, 2.0, 3.0], "b": ["u", "v", "w"], "y": ["p", "q", "r"]}, "y")
    text = shown(classifiers.learned_content(model, "rows.csv"))
    assert classifiers.NO_SCORES in " ".join(text.split())
    assert "nan" not in text + repr(model)
    assert "Brier" not in text
    page = page_of(model)
    assert "nan" not in page
    assert classifiers.NO_SCORES in page


def test_scores_have_at_most_four_decimals() -> None:
    """An expected calibration error of 2.7e-14 is 0."""
    scores = MODEL.report.scores
    assert "e-" not in shown(classifiers.scores_content(scores))
    assert [format(x, classifiers.score_form(x)) for x in (2.7e-14, 6.1e-4, 0.25)] == ["0.0000", "0.0006", "0.2500"]


def test_there_is_no_negative_zero() -> None:
    weights = {"wind": -1e-9, "heat": 0.5}
    found = Explanation("yes", "no", -1e-12, weights, {"wind": "weak", "heat": 20.0}, 0.62)
    for text in (repr(found), shown(explanation_content(waterfall(found), "row 1", 3))):
        assert "-0.000" not in text
        assert "+0.000" in text


def test_learning_curves_fit_80_columns() -> None:
    rng = np.random.default_rng(0)
    rows = {"a": rng.normal(size=60), "b": rng.normal(size=60), "y": ["yes", "no", "no"] * 20}
    text = shown(comparison_content(credo.compare(rows, "y", draws=2), "rows.csv"), 80)
    assert "GaussianDiscriminant (generative)" in " ".join(text.split())
    assert "…" not in text
    assert "rows   generative      accuracy   discriminative   accuracy   prefer" in text


def test_what_counts_as_a_success_is_named() -> None:
    groups = credo.estimate(ROWS, "wind", by="play", success="weak")
    assert "wind = weak by play: 2 groups" in shown(model_content(groups))
    assert "P(weak): mean" in repr(credo.estimate(ROWS, "wind", success="weak"))


def test_clusters_of_large_numbers_have_no_exponents() -> None:
    rng = np.random.default_rng(1)
    hours = np.concatenate([rng.normal(50_000, 2_000, 40), rng.normal(10_000, 2_500, 40)])
    assert "e+" not in shown(model_content(credo.Mixture(2).fit({"hours": hours})))


def test_long_names_stay_apart() -> None:
    """Names that differ in their last characters: cut off there, all rows of a table looked alike."""
    names = [f"a_rather_long_column_name_number_{i}" for i in range(3)]
    lines = shown(profile_content(profile({name: [0.5, 1.5] for name in names}), "rows.csv"), 80).splitlines()
    assert [line.split()[0][-2:] for line in lines if line.startswith("a_rather")] == ["_0", "_1", "_2"]
    net = credo.Network({names[0]: [], names[1]: [names[0]], names[2]: [names[1]]})
    strengths = {(names[0], names[1]): 2.0, (names[1], names[2]): 1.0}
    lines = shown(structure_content(net, "rows.csv", strengths), 80).splitlines()
    assert [re.findall(r"number(_\d)", line) for line in lines if " -> " in line] == [["_0", "_1"], ["_1", "_2"]]


def test_one_observation_is_singular() -> None:
    assert "1 observation;" in repr(credo.Numeric(lambda x, t: -x * t, lambda t: 0 * t, support=(0, 5)).update([1.0]))


def test_a_given_number_of_clusters_has_no_probability() -> None:
    rows = {"hours": np.concatenate([np.arange(20.0), 100 + np.arange(20.0)])}
    heading = "Numbers of components tried"
    assert heading not in shown(model_content(credo.Mixture(2).fit(rows)))
    assert heading in shown(model_content(credo.Mixture().fit(rows)))
