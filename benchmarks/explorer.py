"""The explorer in a real browser: from a click, or a keystroke, until the page shows the answer; scrolling.

The median of several times. alarm is clicked where its file lies beside the checkout (../shared/data/networks).
"""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path
from statistics import median
from typing import Any, NamedTuple

import numpy as np

import credo
from benchmarks.timing import Limit

ALARM = Path(__file__).parents[2] / "shared" / "data" / "networks" / "bif" / "alarm.bif.gz"
ARGUMENTS = ["--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-sync", "--no-first-run"]
CLICKS = 20
# Until the page has drawn bars of the answer: the click, the request, the answer, and the next frame.
CLICKED = """
(place) => new Promise((done) => {
  const button = document.querySelectorAll(".card .state")[place], start = performance.now();
  const watch = new MutationObserver((changes) => {
    if (!changes.some((each) => each.target.classList?.contains("share"))) return;
    watch.disconnect();
    requestAnimationFrame(() => done(performance.now() - start));
  });
  watch.observe(document.querySelector(".canvas"), { subtree: true, attributes: true, attributeFilter: ["style"] });
  button.click();
})
"""
TYPED = """
(text) => new Promise((done) => {
  const box = document.querySelector("textarea"), bars = document.querySelector(".bars"), start = performance.now();
  const watch = new MutationObserver(() => {
    watch.disconnect();
    requestAnimationFrame(() => done(performance.now() - start));
  });
  watch.observe(bars, { subtree: true, characterData: true, attributes: true });
  box.value = text;
  box.dispatchEvent(new Event("input", { bubbles: true }));
})
"""
# Frames, those among them that came later than one after the last (a frame and a half), and the work of each: from its
# start until the page is laid out and painted.
SCROLLED = """
() => new Promise((done) => {
  const box = document.querySelector(".forest"), work = [], times = [], channel = new MessageChannel();
  let began = 0;
  channel.port1.onmessage = () => work.push(performance.now() - began);
  const start = performance.now();
  const step = (now) => {
    times.push(now);
    box.scrollTop += 40;
    began = performance.now();
    channel.port2.postMessage(null);
    if (began - start < 3000) requestAnimationFrame(step);
    else done({ times, work });
  };
  requestAnimationFrame(step);
})
"""


class Scrolling(NamedTuple):
    """Milliseconds a frame, the work of all but one in twenty, and the share of frames that were late."""

    frame: float
    work: float
    late: float


def run() -> Iterator[Limit]:
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=ARGUMENTS)
        if ALARM.is_file():
            yield Limit("a click on alarm, 37 variables", _clicks(browser, credo.Network.read(ALARM)), 50.0, "ms")
        yield Limit("a click on a network of 1,000 variables", _clicks(browser, _large()), 250.0, "ms")
        yield Limit("a keystroke in a message of 2,000 words", _typing(browser), 50.0, "ms")
        scrolling = _scrolling(browser)
        yield Limit("scrolling a million groups, ms a frame", scrolling.frame, 1000 / 60 * 1.02, "ms")
        yield Limit("... work of a frame, 19 of 20", scrolling.work, 1000 / 60, "ms")
        yield Limit("... late frames", 100 * scrolling.late, 5.0, "%")
        browser.close()


def _large() -> credo.Network:
    """1,000 variables of three states; each has one or two parents, which lie close in their order."""
    rng = np.random.default_rng(0)
    near = [{f"v{i - rng.integers(1, min(i, 6) + 1)}" for _ in range(2)} if i else set() for i in range(1000)]
    parents = {f"v{i}": sorted(own) for i, own in enumerate(near)}
    tables = {name: rng.dirichlet(np.ones(3), (3,) * len(own)) for name, own in parents.items()}
    return credo.Network(parents, tables, ["low", "middle", "high"])


def _page(browser: Any, served: Any, ready: str) -> Any:
    page = browser.new_page(viewport={"width": 1400, "height": 900})
    page.goto(served.url)
    page.wait_for_selector(ready, timeout=120_000)
    return page


def _clicks(browser: Any, net: Any) -> float:
    with credo.explore(net) as served:
        page = _page(browser, served, ".card .state")
        count = page.locator(".card .state").count()
        places = [int(place) for place in np.random.default_rng(0).permutation(count)[: CLICKS // 2]]
        found = []
        for place in np.repeat(places, 2).tolist():  # and take it back
            found.append(float(page.evaluate(CLICKED, place)))
            page.wait_for_timeout(150)
        page.close()
    return median(found)


def _typing(browser: Any) -> float:
    rng = np.random.default_rng(0)
    words = np.array([f"word{i}" for i in range(5000)])
    texts = [" ".join(words[(rng.exponential(300, 200).astype(int) + 40 * (i % 2)) % 5000]) for i in range(1000)]
    model = credo.NaiveBayes().fit(texts, target=["a", "b"] * 500)
    long = " ".join(words[rng.integers(0, 5000, 2000)])
    with credo.explore(model) as served:
        page = _page(browser, served, "textarea")
        page.fill("textarea", long)
        page.wait_for_timeout(1500)
        found = []
        for i in range(CLICKS):
            found.append(float(page.evaluate(TYPED, f"{long} {words[i]}")))
            page.wait_for_timeout(150)
        page.close()
    return median(found)


def _scrolling(browser: Any) -> Scrolling:
    rng = np.random.default_rng(0)
    rows = {"group": np.repeat(np.arange(1_000_000), 2), "y": rng.integers(0, 2, 2_000_000)}
    beliefs = credo.estimate(rows, "y", by="group", prior=credo.BetaBernoulli(1, 1))
    with credo.explore(beliefs) as served:
        page = _page(browser, served, ".forest-row")
        page.wait_for_timeout(1000)
        found = page.evaluate(SCROLLED)
        page.close()
    apart = np.diff(found["times"])
    late = float((apart > 1.5 * 1000 / 60).mean())
    return Scrolling(float(apart.mean()), float(np.quantile(found["work"], 0.95)), late)
