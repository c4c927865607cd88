"""In a notebook: every model has HTML worth looking at, every plot is a picture, every model has a page."""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import credo
from credo.networks.factor import Factor
from credo.present.arrow_tables import arrow_html, show_arrow_tables
from credo.present.demo import PUMPS
from credo.present.model_page import model_page, model_page_of
from credo.present.models import in_notebook
from credo.present.plotting import Figure
from tests.test_report_page import EVIL, Reader

RNG = np.random.default_rng(0)
ROWS: dict[str, Any] = {
    "x": RNG.normal(size=90), "z": RNG.normal(size=90), EVIL: RNG.choice([EVIL, "v", "w"], 90),
    "y": RNG.choice(["<b>a</b>", "b"], 90),
}  # fmt: skip
NUMBERS = {"x": ROWS["x"], "z": ROWS["z"]}
MODELS: dict[str, Callable[[], Any]] = {
    "network": lambda: credo.Network.example("asia"),
    "large network": lambda: credo.Network.random(50, arrows=49, seed=0),
    "learned network": lambda: credo.Network({"y": (), EVIL: ("y",)}).fit({"y": ROWS["y"], EVIL: ROWS[EVIL]}),
    "classifier": lambda: credo.NaiveBayes().fit(ROWS, target="y"),
    "belief": lambda: credo.BetaBernoulli(1, 1).update([1, 0]),
    "groups": lambda: credo.estimate(ROWS, "x", by=EVIL),
    "mixture": lambda: credo.Mixture(components=2).fit(NUMBERS),
    "hidden Markov model": lambda: credo.HiddenMarkov(states=2).fit(NUMBERS),
    "hybrid network": lambda: credo.HybridNetwork({EVIL: (), "x": (EVIL,)}).fit({EVIL: ROWS[EVIL], "x": ROWS["x"]}),
    "dynamic network": lambda: credo.DynamicNetwork({EVIL: (f"previous({EVIL})",)}).fit({EVIL: ROWS[EVIL]}),
    "plate network": lambda: credo.PlateNetwork(
        "A.a -> B.b", {"A.a": 0.1, "B.b": {"yes": 0.5, "no": 0.02}}, keys={"A": EVIL, "B": "b"}
    ),
    "influence diagram": lambda: credo.InfluenceDiagram(
        {EVIL: (), "d": (), "u": (EVIL, "d")}, {EVIL: 0.3}, {"u": [[7, 0], [2, 10]]}, {"d": [EVIL, "no"]}
    ),
    "causal graph": lambda: credo.CausalGraph({EVIL: (), "d": (EVIL,), "r": (EVIL, "d")}, hidden=EVIL),
    "regression": lambda: credo.LinearRegression().fit(ROWS, target="x"),
    "texts": lambda: credo.NaiveBayes().fit([f"{EVIL} w{i} $a_b$" for i in range(20)], target=["p", "q"] * 10),
    "hypotheses": lambda: credo.Hypotheses({EVIL: 0.1, "b": 0.9}).update({EVIL: 0.9, "b": 0.2}),
    "tree": lambda: credo.DecisionTree().fit(ROWS, target="y"),
    "logistic": lambda: credo.LogisticRegression().fit(ROWS, target="y"),
}


@pytest.mark.parametrize("name", MODELS)
def test_html_of_a_model(name: str) -> None:
    page = Reader(MODELS[name]()._repr_html_())
    assert {"table", "img", "pre"} & {tag for tag, _ in page.seen}
    assert "script" not in {tag for tag, _ in page.seen}


def test_a_column_without_a_name_or_values_is_not_listed() -> None:
    assert "kind" not in credo.BetaBernoulli(1, 1).update([1, 0])._repr_html_()
    assert "kind" in credo.DirichletCategorical(1.0).update(["a", "b"])._repr_html_()
    assert "kind" in credo.estimate(ROWS, "x", by=EVIL)._repr_html_()


def test_answers_of_networks_are_tables() -> None:
    asia, given = credo.Network.example("asia"), {"XRay": "yes"}
    net = credo.HybridNetwork({EVIL: (), "x": (EVIL,), "z": ("x",)}).fit({EVIL: ROWS[EVIL], **NUMBERS})
    graph = credo.CausalGraph("Gender -> Drug, Recovery; Drug -> Recovery")
    expected = {
        "Fever": in_notebook(net.query("x")), "r with z": in_notebook(net.query(["x", "z"])),
        "LungCancer": in_notebook(asia.most_probable(given=given)), "XRay": in_notebook(asia.explain("Smoking", given)),
        "Gender": in_notebook(graph.identify("Drug", "Recovery")),
        "leak": credo.nodes.NoisyOr({EVIL: 0.8}, leak=0.01)._repr_html_(),
        "36.8": credo.nodes.Normal(mean={EVIL: 39.0, "no": 36.8}, sd=0.5)._repr_html_(),
    }  # fmt: skip
    for text, page in expected.items():
        read = Reader(page)
        assert "script" not in {tag for tag, _ in read.seen}
        assert text in read.text or text == "Fever"
    assert "95% interval" in Reader(expected["Fever"]).text


ANSWERS: dict[str, Callable[[], Any]] = {
    "marginals": lambda: credo.Network.example("asia").marginals({"XRay": "yes"}),
    "how sure arrows are": lambda: credo.edge_confidence({"y": ROWS["y"], EVIL: [f"{EVIL}{y}" for y in ROWS["y"]]}),
    "prior": lambda: credo.GammaPoisson(2, 1),
    "graph": lambda: credo.edge_confidence({"y": ROWS["y"], EVIL: [f"{EVIL}{y}" for y in ROWS["y"]]}).graph(),
    "learning curve": lambda: credo.NaiveBayes().fit(ROWS, target="y").learning_curve(ROWS, sizes=[20, 40]),
    "evolution": lambda: credo.Hypotheses({EVIL: 0.1, "b": 0.9}).evolution([{EVIL: 0.9, "b": 0.2}]),
    "means": lambda: credo.em_means(ROWS["x"], k=2, sd=1),
    "scores of numbers": lambda: credo.LinearRegression().fit(ROWS, target="x").leave_one_out(ROWS),
    "explanation": lambda: credo.NaiveBayes().fit(ROWS, target="y").explain({"x": 1.5, "z": 0.5, EVIL: EVIL}),
    "contributions": lambda: credo.LinearRegression().fit(ROWS, target="x").explain({"z": 1.5, EVIL: EVIL, "y": "b"}),
    "belief": lambda: credo.NormalInverseGamma(0, 1, 1, 1).update(ROWS["x"]),
    "numeric": lambda: credo.Numeric(lambda x, t: x * np.log(t) - t, lambda t: 0 * t, support=(0.1, 30)).update([3, 5]),
    "groups": lambda: credo.estimate(ROWS, "x", by=EVIL),
    "average": lambda: credo.average(
        [credo.NaiveBayes().fit(ROWS, "y"), credo.TreeAugmented().fit(ROWS, "y")], ROWS, by="loo"
    ),
    "compare": lambda: credo.compare(ROWS, target="y", sizes=[10, 20], draws=2),
    "concepts": lambda: credo.Concepts({"a": ["u", "v"]}).evolution({"a": ["u", "v"], "y": ["yes", "no"]}, target="y"),
    "forecast": lambda: credo.HiddenMarkov(states=2).fit(NUMBERS).forecast(NUMBERS)[0],
    "traits": lambda: credo.Mixture(components=2).fit(NUMBERS).describe(),
    "description length": lambda: credo.description_length(credo.NaiveBayes().fit(ROWS, "y"), ROWS),
    "graphs compared": lambda: credo.Network("a -> b <- c").compare(credo.Network("a -> b -> c")),
    "distribution": lambda: credo.GammaPoisson(2, 1).update([3, 5]).predictive(),
    "categories": lambda: credo.DirichletCategorical({EVIL: 1, "b": 1}).update(["b"]).predictive(),
    "table": lambda: credo.read(ROWS),
    "schema": lambda: credo.Schema.infer(ROWS),
    "factor": lambda: Factor((EVIL, "b"), np.array([[3.0, 1.0], [1.0, 3.0]])),
    "Markov network": lambda: credo.MarkovNetwork({EVIL: (0, 1)}, [Factor((EVIL,), np.array([1.0, 3.0]))]),
    "marginals of numbers": lambda: credo.HybridNetwork({EVIL: (), "x": (EVIL,)}).fit(ROWS).marginals(),
}
PROSE = {"prior", "graph", "means"}  # a picture, and a few words


@pytest.mark.parametrize("name", ANSWERS)
def test_html_of_an_answer(name: str) -> None:
    found = ANSWERS[name]()
    page = Reader(found._repr_html_())
    tags = {tag for tag, _ in page.seen}
    assert tags & {"table", "img", "pre", "p"}
    assert "script" not in tags
    assert not re.search(r"\d\.\d{9}", page.text)  # no noise of floats
    assert ("table" in tags) == (name not in PROSE)


@pytest.mark.parametrize("name", ["explanation", "contributions"])
def test_an_explanation_has_bars_signs_and_a_total(name: str) -> None:
    found = ANSWERS[name]()
    page = Reader(found._repr_html_())
    total = found.log_odds if name == "explanation" else found.prediction
    assert f"{total:+.3f}"[:5] in page.text
    assert ("log-odds" if name == "explanation" else "prediction") in page.text
    weights = found.weights.values() if name == "explanation" else found.columns.values()
    bars = [about["style"] for tag, about in page.seen if tag == "span" and "width:" in str(about.get("style"))]
    assert len(bars) >= sum(weight != 0 for weight in weights)


def test_words_of_an_explained_text_are_coloured() -> None:
    found = MODELS["texts"]().explain([f"{EVIL} w1 w2"])
    page = Reader(found._repr_html_())
    assert {"for", "against"} & {about.get("class") for tag, about in page.seen if tag == "span"}


def test_options_of_the_terminal_are_named_there_alone() -> None:
    groups = credo.estimate({"g": np.arange(40), "y": np.arange(40) % 2}, "y", by="g")
    assert "20 more groups" in groups._repr_html_()
    assert "--top" not in groups._repr_html_() + model_page_of(groups)


def test_a_network_of_forty_variables_is_legible_in_a_notebook() -> None:
    found = credo.Network.random(40, arrows=55, seed=0).plot()
    natural = round(found.get_figwidth() * 120)
    points = min(float(text.get_fontsize()) for text in found.axes[0].texts)
    shown = found._repr_html_()
    least = int(re.search(r"min-width:(\d+)px", str(shown))[1])  # type: ignore[index]
    assert points / 72 * 120 * least / natural >= 9  # pixels of the smallest letters
    assert credo.Network.example("asia").plot()._repr_html_() is None


def test_ranges_of_numbers_in_a_picture_have_short_names() -> None:
    net = credo.HybridNetwork(
        "Flu -> Fever", {"Flu": 0.1, "Fever": credo.nodes.Normal({"yes": 39, "no": 36.8}, sd=0.5)}
    )
    shown = [text.get_text() for text in net.plot().axes[0].texts]
    assert [each for each in shown if "–" in each] == ["34 – 36 0.05", "36 – 38 0.85", "38 – 40 0.10", "40 – 42 0.00"]


@pytest.mark.parametrize("name", MODELS)
def test_a_page_about_a_model(name: str, tmp_path: Path) -> None:
    model = MODELS[name]()
    page = Reader(model_page_of(model))
    tags = [tag for tag, _ in page.seen]
    assert tags.count("h1") == 1
    assert tags.count("script") == ("table" in tags)  # it sorts tables
    assert re.search(r"Made by credo .*, \d{4}-\d\d-\d\d", page.text)
    assert all(str(about.get("src", "data:")).startswith("data:") for _, about in page.seen)
    model_page(model, tmp_path / "page.html")
    assert (tmp_path / "page.html").read_text() == model_page_of(model)
    assert f"from {EVIL}.credo, 20" in Reader(model_page_of(model, file=f"{EVIL}.credo")).text


@pytest.mark.parametrize("name", MODELS)
def test_plots_are_pictures(name: str) -> None:
    found = MODELS[name]().plot()
    assert isinstance(found, Figure)
    assert found._repr_png_().startswith(b"\x89PNG")


def test_scores_and_reports() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", credo.Notice)
        model = credo.learn(PUMPS, target="fault")
    assert isinstance(model.report.scores.plot(), Figure)
    shown = Reader(model.report._repr_html_())
    assert f"{model.report.tried[0].log_loss:.4f}"[:5] in shown.text
    assert "truth" in Reader(model.report.scores._repr_html_()).text


def test_a_report_is_saved_as_a_page(tmp_path: Path) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", credo.Notice)
        report = credo.learn(PUMPS, target="fault").report
    report.save(tmp_path / "report.html")
    page = Reader((tmp_path / "report.html").read_text())
    for each in report.tried:
        assert each.name in page.text
    for column in report.columns:
        assert column.name in page.text


def test_a_forest_plot_of_one_quantity() -> None:
    groups = credo.estimate(ROWS, "x", by="y")
    assert groups.plot(quantity="variance").axes[0].get_xlabel() == "variance of x"
    with pytest.raises(credo.DataError, match="no estimate 'mode'"):
        groups.plot(quantity="mode")


def test_columns_of_a_classifier_are_drawn_on_demand() -> None:
    model = credo.NaiveBayes().fit(ROWS, target="y")
    assert len(model.plot(["x"]).axes) == 1
    with pytest.raises(credo.DataError, match="no column 'q'"):
        model.plot(["q"])


class Formatter:
    """What IPython has of an HTML formatter."""

    def __init__(self) -> None:
        self.type_printers: dict[Any, Any] = {}
        self.deferred_printers: dict[Any, Any] = {}

    def for_type_by_name(self, module: str, name: str, show: Any) -> None:
        self.deferred_printers[module, name] = show


def test_arrow_tables_are_tables() -> None:
    ads = credo.estimate({"ad": ["a7", "a7", EVIL], "x": [1.25, 2.5, 3.0]}, "x", by="ad").table()
    html = arrow_html(ads)
    Reader(html)
    assert "2 rows" in html
    assert "<td>a7</td>" in html
    assert EVIL not in html
    many = arrow_html(pa.table({"x": np.arange(1000) / 3}))
    assert many.count("<tr>") <= 22
    assert "1,000 rows, 1 column" in many
    assert "0.33333333" not in many


def test_arrow_tables_are_registered_once_and_the_users_own_way_stays() -> None:
    html = Formatter()
    shell = SimpleNamespace(display_formatter=SimpleNamespace(formatters={"text/html": html}))
    show_arrow_tables(shell)
    assert html.deferred_printers == {("pyarrow.lib", "Table"): arrow_html}
    own = Formatter()
    own.type_printers[pa.Table] = repr
    shell.display_formatter.formatters["text/html"] = own
    show_arrow_tables(shell)
    assert not own.deferred_printers
    show_arrow_tables(None)  # a plain Python that has imported IPython


def test_a_belief_names_its_column_and_writes_its_interval_whole() -> None:
    rng = np.random.default_rng(0)
    belief = credo.estimate({"body_mass": rng.normal(4000, 800, 300)}, "body_mass")
    page = Reader(model_page_of(belief)).text
    low, high = belief.interval().variance
    assert f"[{float(f'{low:.4g}'):,.0f}, {float(f'{high:.4g}'):,.0f}]" in page
    assert "body_mass" in page
    assert "…" not in page


def test_pages_are_titled_by_what_a_model_says_it_is() -> None:
    assert "<h1><bdi>LinearRegression of x</bdi></h1>" in model_page_of(MODELS["regression"]())
    assert "<h1><bdi>Network of 8 variables and 8 arrows</bdi></h1>" in model_page_of(MODELS["network"]())


def test_notes_of_several_lines_keep_them() -> None:
    net = credo.Network("A -> B").fit({"A": ["x", None, "y", "x"], "B": ["u", "v", "u", "u"]})
    assert "<br>fitted where cells are missing" in model_page_of(net)


def test_a_mixture_has_clusters_and_expected_counts_align() -> None:
    model = MODELS["mixture"]()
    page = Reader(model_page_of(model)).text
    assert "Columns by cluster" in page
    assert "Columns by class" not in page
    assert all(f"{weight:,.1f}" in page for weight in model.classifier.class_weights)


@pytest.mark.parametrize("family", [credo.GammaPoisson(1, 1), credo.GammaExponential(1, 1)])
def test_emissions_of_a_family_are_drawn(family: Any) -> None:
    counts = np.random.default_rng(0).poisson(np.repeat([2, 9], 40)) + 1
    model = credo.HiddenMarkov(states=2, emission=family).fit({"k": counts})
    (axes,) = model.plot().axes
    heights = [np.asarray(line.get_ydata()) for line in axes.lines if np.size(line.get_ydata())]
    assert len(heights) == 2
    assert "<figure>" in model_page_of(model)
