"""Draws the pictures of the documentation again: python docs/.site/pictures.py [name ...]

Pages are seen in Chromium through Playwright, as in the tests of the explorer; terminals are the commands' own output.
"""

from __future__ import annotations

import json
import os
import shlex
import shutil
import subprocess
import sys
import tempfile
import warnings
from collections.abc import Callable
from io import StringIO
from pathlib import Path
from typing import Any
from urllib.parse import quote

import numpy as np

import credo
from credo.present.demo import PUMPS

IMAGES = Path(__file__).parent.parent / "images"
COMMANDS = (
    f"credo learn {PUMPS.name} --target fault -o pumps.credo",
    f"credo explain pumps.credo {PUMPS.name} --row 7",
    'credo ask storm.bif "P(ForestFire | Storm=yes, Thunder=no)"',
)
CUT = "Models tried"  # where the output of learn is long enough for a picture
TERMINAL = """<!doctype html><meta charset="utf-8"><style>{stylesheet}
body {{ margin: 0; background: #1f2328; color: #d7dce2; display: inline-block; padding: 18px 24px; }}
pre {{ font: 17px/1.28 "DejaVu Sans Mono", monospace; margin: 0; }}
</style><pre>{code}</pre>"""


def storm() -> credo.Network:
    return credo.Network.example("storm")


# Pages


def page(browser: Any, name: str, address: str, width: int, height: int) -> None:
    """What a page shows when nothing moves any more."""
    tab = browser.new_page(viewport={"width": width, "height": height}, color_scheme="light")
    tab.goto(address)
    tab.wait_for_load_state("networkidle")
    tab.wait_for_timeout(800)
    tab.screenshot(path=IMAGES / f"{name}.png")
    tab.close()


def explored(browser: Any, name: str, model: object, state: object, width: int, height: int) -> None:
    with credo.explore(model) as served:
        page(browser, name, f"{served.url}#{quote(json.dumps(state))}", width, height)


def asia(browser: Any) -> None:
    given = {"given": {"XRay": "yes", "Dyspnoea": "yes"}, "target": {"name": "LungCancer", "state": "yes"}}
    explored(browser, "explorer", credo.Network.example("asia"), {"network": given}, 1240, 760)


def numbers(browser: Any) -> None:
    fever = credo.nodes.Normal(mean={"yes": 39.0, "no": 36.8}, sd={"yes": 0.6, "no": 0.4})
    pulse = credo.nodes.Normal(mean=-220.0, weights={"Fever": 8.0}, sd=6.0)
    tables = {"Flu": 0.1, "Cough": {"yes": 0.8, "no": 0.2}, "Fever": fever, "Pulse": pulse}
    net = credo.HybridNetwork("Flu -> Fever -> Pulse; Flu -> Cough", tables)
    state = {"given": {"Pulse": {"low": 90, "high": None}}, "target": {"name": "Flu", "state": "yes"}}
    explored(browser, "explorer-numbers", net, {"network": state}, 1240, 720)


def decisions(browser: Any) -> None:
    diagram = credo.InfluenceDiagram(
        "Rain -> Forecast -> Umbrella; Rain, Umbrella -> Comfort", {"Rain": 0.3, "Forecast": {"yes": 0.8, "no": 0.1}},
        {"Comfort": [[7, 0], [2, 10]]}, ["Umbrella"],
    )  # fmt: skip
    explored(browser, "explorer-decisions", diagram, {}, 1240, 720)


def slices(browser: Any) -> None:
    rain = {"Rain": {"yes": 0.7, "no": 0.3}, "Umbrella": {"yes": 0.9, "no": 0.2}}
    net = credo.DynamicNetwork("previous(Rain) -> Rain -> Umbrella", rain, first={"Rain": 0.5})
    seen = [{"Umbrella": each} if each else {} for each in ("yes", "yes", "", "no", "yes")]
    explored(browser, "explorer-slices", net, {"slices": {"rows": seen}}, 1240, 820)


def message(browser: Any) -> None:
    mail = [
        "Lunch meeting?", "Expenses submitted", "Budget meeting on Monday",
        "Dinner at home?", "See you at home", "The kids are home on Monday",
    ]  # fmt: skip
    sorter = credo.NaiveBayes().fit(mail, target=["work"] * 3 + ["private"] * 3)
    text = "Submit the budget before the meeting, then home on Monday"
    explored(browser, "message", sorter, {"row": {"row": {"x": text}}}, 1000, 700)


def report(browser: Any) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "pumps.html"
        credo.learn(PUMPS, target="fault").report.save(path)
        page(browser, "report", path.as_uri(), 1000, 900)


def terminal(browser: Any) -> None:
    """The commands' own output, in colour."""
    from rich.console import Console
    from rich.text import Text

    screen = Console(record=True, width=100, file=StringIO())
    with tempfile.TemporaryDirectory() as folder:
        shutil.copy(PUMPS, folder)
        storm().write(Path(folder) / "storm.bif")
        coloured = os.environ | {"COLUMNS": "84", "FORCE_COLOR": "1", "TERM": "xterm-256color"}
        for line in COMMANDS:
            call = [sys.executable, "-m", *shlex.split(line)]
            said = subprocess.run(call, cwd=folder, env=coloured, capture_output=True, text=True, check=True)
            screen.print(Text(f"$ {line}", "bold #9ccf6a"))
            text = Text.from_ansi(said.stdout.rstrip())
            if CUT in text.plain:
                text = text[: text.plain.index(CUT)]
                text.rstrip()
                text.append("\n⋮")
            screen.print(text)
            screen.print()
        path = Path(folder) / "terminal.html"
        path.write_text(screen.export_html(code_format=TERMINAL))
        tab = browser.new_page(viewport={"width": 1100, "height": 300})
        tab.goto(path.as_uri())
        tab.locator("body").screenshot(path=IMAGES / "terminal.png")
        tab.close()


# Plots


def em(_: Any) -> None:
    rng = np.random.default_rng(0)
    x = np.concatenate([rng.normal(0, 1, 200), rng.normal(4, 1, 200)])
    credo.em_means(x, k=2, sd=1, start=[1.0, 1.5]).plot().savefig(IMAGES / "em.png", dpi=80)


def sure(_: Any) -> None:
    credo.edge_confidence(storm().sample(1000, seed=1)).plot().savefig(IMAGES / "edge-confidence.png", dpi=120)


def thunder(_: Any) -> None:
    storm().plot({"Thunder": "yes"}).savefig(IMAGES / "storm.png", dpi=120)


PICTURES: dict[str, Callable[[Any], None]] = {
    "explorer": asia, "explorer-numbers": numbers, "explorer-decisions": decisions, "explorer-slices": slices,
    "message": message, "report": report, "terminal": terminal, "em": em, "edge-confidence": sure, "storm": thunder,
}  # fmt: skip


def main() -> None:
    from PIL import Image
    from playwright.sync_api import sync_playwright

    warnings.simplefilter("ignore", credo.Notice)
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=["--no-sandbox"])
        for name in sys.argv[1:] or PICTURES:
            PICTURES[name](browser)
            with Image.open(IMAGES / f"{name}.png") as drawn:
                drawn.convert("RGB").quantize(128).save(IMAGES / f"{name}.png", optimize=True)
            print(IMAGES / f"{name}.png")


if __name__ == "__main__":
    main()
