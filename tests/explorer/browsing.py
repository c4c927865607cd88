"""A page of the explorer in Debian's Chromium, as its tests see it."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import pytest

import credo
from credo.explorer.serving import Explorer

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
ARGUMENTS = [
    "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
    "--disable-component-update", "--disable-sync",
]  # fmt: skip
IN_BROWSER = [
    pytest.mark.skipif(CHROMIUM is None, reason="there is no Chromium: apt-get install chromium"),
    pytest.mark.slow,
]
AXE = Path(__file__).parent / "vendor" / "axe.min.js"
SHOWS = "(text) => [...document.querySelectorAll('.card')].some((card) => card.innerText.includes(text))"
HOSTILE = "<img src=x onerror=alert(1)>"


class Tab:
    """A page of the explorer, and all that its console said."""

    def __init__(self, browser: Any, served: Explorer, state: object = None, **how: Any) -> None:
        self.context = browser.new_context(**({"viewport": {"width": 1300, "height": 850}} | how))
        self.page, self.said = self.context.new_page(), list[str]()
        self.page.set_default_timeout(20_000)
        self.page.on("console", lambda message: self.said.append(message.text))
        self.page.on("pageerror", lambda error: self.said.append(str(error)))
        self.page.on("dialog", self._dismiss)
        self.page.goto(served.url + ("" if state is None else f"#{json.dumps(state)}"))
        self.page.wait_for_selector("main aside, main .trust")

    def _dismiss(self, dialog: Any) -> None:
        self.said.append("dialog")
        dialog.dismiss()

    def __enter__(self) -> Any:
        return self.page

    def __exit__(self, kind: object, *_: object) -> None:
        self.context.close()
        if kind is None:
            assert self.said == []


def chosen(page: Any) -> Any:
    """What the address says."""
    return json.loads(unquote(page.url.partition("#")[2]) or "{}")


def asia() -> Explorer:
    return credo.explore(credo.Network.example("asia"))


def state_button(page: Any, name: str, state: str) -> Any:
    return page.locator(f"section.card[aria-label='{name}'] button.state", has=page.locator(f"bdi:text-is('{state}')"))


def figure(page: Any, name: str, state: str) -> str:
    return str(state_button(page, name, state).locator(".figure").inner_text())


def violations(page: Any) -> list[str]:
    """What axe-core finds wrong for those who don't see the screen, or see it otherwise."""
    page.evaluate(AXE.read_text())
    found = page.evaluate("() => axe.run(document, { resultTypes: ['violations'] })")
    return [f"{each['id']}: {each['nodes'][0]['html']:.150}" for each in found["violations"]]
