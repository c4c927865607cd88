"""Effects, diagrams, policies and sensitivities: repr, HTML, pages and plots, with names that look like markup."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import credo
from credo.networks.network import Network
from credo.present.classifier_page import SORTING_SCRIPT
from credo.present.model_page import model_page_of
from credo.present.plotting import Figure
from tests.laws.test_decisions import OIL
from tests.test_cli import ran
from tests.test_report_page import EVIL, Reader, scripts_of

ODD = Network({EVIL: (), "y": (EVIL,)}, {EVIL: [0.2, 0.8], "y": [0.3, 0.6]}, {EVIL: ("<b>a</b>", "$b$")})
SHOWN: dict[str, Callable[[], Any]] = {
    "causal graph": lambda: credo.CausalGraph({EVIL: (), "y": (EVIL, "u"), "u": ()}, hidden="u"),
    "confounded": lambda: credo.CausalGraph("X -> M -> Y; X <-> Y; W <-> X; W"),
    "effect": lambda: ODD.effect(EVIL, "y"),
    "learned effect": lambda: ODD.fit(ODD.sample(50, seed=0)).effect(EVIL, "y", draws=20),
    "diagram": lambda: OIL,
    "policy": lambda: OIL.policy(),
    "decision": lambda: OIL.policy()["Drill"],
    "what to ask": lambda: OIL.what_to_ask({"Oil": 5.0}, before="Drill"),
    "what to ask a network": lambda: ODD.what_to_ask("y"),
    "sensitivity": lambda: ODD.sensitivity("y"),
    "tornado": lambda: ODD.sensitivity("y").tornado(),
    "impact": lambda: ODD.evidence_impact(EVIL, {"y": "yes"}),
}


@pytest.mark.parametrize("name", SHOWN)
def test_shown(name: str) -> None:
    made = SHOWN[name]()
    assert len(repr(made).splitlines()) > 1
    page = Reader(made._repr_html_())
    assert {"table", "pre"} & {tag for tag, _ in page.seen}
    assert "script" not in {tag for tag, _ in page.seen}
    page_of_its_own = model_page_of(made)
    assert [tag for tag, _ in Reader(page_of_its_own).seen].count("h1") == 1
    assert scripts_of(page_of_its_own) <= {SORTING_SCRIPT}


@pytest.mark.parametrize("name", ["causal graph", "confounded", "effect", "learned effect", "diagram", "sensitivity"])
def test_plots(name: str) -> None:
    found = SHOWN[name]().plot()
    assert isinstance(found, Figure)
    assert found._repr_png_()[:4] == b"\x89PNG"


def test_show_prints_a_saved_diagram(tmp_path: Path) -> None:
    credo.save(OIL, tmp_path / "oil.credo")
    said = ran("show", str(tmp_path / "oil.credo"))
    assert "Expected utility 22.5" in said
    assert "Seismic" in said
    OIL.write(tmp_path / "oil.xdsl")
    assert "Expected utility 22.5" in ran("show", str(tmp_path / "oil.xdsl"))


def test_a_tornado_fits_its_figure() -> None:
    """Names of entries are long; what is below the axis must not be cut off."""
    figure = credo.Network.example("asia").sensitivity("LungCancer", {"XRay": "yes"}, "yes").tornado(top=8).plot()
    figure._repr_png_()  # type: ignore[attr-defined]
    assert figure.axes[0].xaxis.label.get_window_extent().x1 <= figure.bbox.x1


BAD: dict[str, tuple[Callable[[], Any], str]] = {
    "a cycle": (lambda: credo.CausalGraph("A -> B -> A"), "a cycle: "),
    "nothing": (lambda: credo.CausalGraph(""), "at least one variable"),
    "hidden, unknown": (lambda: credo.CausalGraph("A -> B", hidden="C"), "'C' is hidden, but isn't a variable"),
    "all hidden": (lambda: credo.CausalGraph("A -> B", hidden=["A", "B"]), "all variables are hidden"),
    "itself": (lambda: credo.CausalGraph("A <-> A"), "two different variables"),
    "two heads": (lambda: Network("A <-> B"), "credo.CausalGraph reads"),
    "no name": (lambda: credo.CausalGraph("A -> B").identify("A", "C"), "no variable 'C'"),
    "a hidden cause": (lambda: credo.CausalGraph("A -> B", hidden="A").identify("A", "B"), "'A' is hidden"),
    "on itself": (lambda: credo.CausalGraph("A -> B").identify("A", "A"), "'A' is cause and outcome"),
    "given, too": (lambda: credo.CausalGraph("A -> B").identify("A", "B", "A"), "'A' is given"),
    "given, no state": (lambda: Network("A -> B; C", {"A": 0.5, "B": [0.1, 0.2], "C": 0.1})
                        .effect("A", "B", given={"C": "perhaps"}), "no state 'perhaps'"),
    "given, impossible": (lambda: Network("C -> A, B; A -> B", {"C": [1.0, 0.0], "A": [0.1, 0.2],
                          "B": [[0.1, 0.2], [0.3, 0.4]]}).effect("A", "B", given={"C": "no"}), "is impossible: C=no"),
    "no cause": (lambda: credo.CausalGraph("A -> B").identify([], "B"), "must be a name or several"),
    "not identifiable": (lambda: credo.CausalGraph("A -> B; A <-> B").effect("A", "B", {"A": ["x"], "B": ["y"]}),
                         r"P\(B | do\(A\)\) isn't identifiable"),
    "no column": (lambda: credo.CausalGraph("A -> B").effect("A", "B", {"A": ["x"]}), "no column 'B'"),
    "read once": (lambda: credo.CausalGraph("A -> B").effect("A", "B", iter([{"A": ["x"], "B": ["y"]}])), "only once"),
    "draws": (lambda: ODD.effect(EVIL, "y", draws=0), "draws must be"),
    "an interval": (lambda: ODD.effect(EVIL, "y").interval("$b$"), "the effect has no interval"),
    "no state": (lambda: ODD.effect(EVIL, "y")["c"], "has no state 'c'"),
    "positivity": (lambda: Network("Z -> X, Y; X -> Y", {"Z": 0.5, "X": [1.0, 0.5], "Y": [[0.1, 0.2], [0.3, 0.4]]})
                   .effect("X", "Y"), "for each state of Z"),
    "which": (lambda: Network("X -> Y", {"X": {"a": 0.2, "b": 0.3, "c": 0.5}, "Y": [0.1, 0.2, 0.3]}).effect("X", "Y")
              .difference(), "between two states of the cause"),
    "no tables": (lambda: Network("A -> B").effect("A", "B"), "no tables"),
    "no tables, counterfactual": (lambda: Network("A -> B").counterfactual("B", {}, {"A": "yes"}), "no tables"),
    "no tables, sensitivity": (lambda: Network("A -> B").sensitivity("A"), "no tables"),
}  # fmt: skip


@pytest.mark.parametrize("case", BAD)
def test_bad_calls(case: str) -> None:
    made, message = BAD[case]
    with pytest.raises(credo.CredoError, match=message):
        made()


def test_a_report_of_a_diagram_in_a_file(tmp_path: Path) -> None:
    OIL.write(tmp_path / "oil.xdsl")
    ran("report", str(tmp_path / "oil.xdsl"), "-o", str(tmp_path / "oil.html"))
    assert "Expected utility" in Reader((tmp_path / "oil.html").read_text()).text
