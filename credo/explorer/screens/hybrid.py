"""A network of categories and numbers: bars and densities under findings, and explanations."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np

from credo.errors import DataError, EvidenceError
from credo.explorer.screens.cards import MOST_CARDS, laid_out
from credo.explorer.screens.questions import gains, priced
from credo.explorer.screens.screen import Action, Answer, Asked, Lines, Subject, mapping_in, number_in, text_in
from credo.explorer.screens.snippets import call, called, question, word
from credo.networks.answers import estimate_notice
from credo.networks.hybrid.answers import NumberAnswer
from credo.networks.hybrid.network import HybridNetwork
from credo.present.content import plain
from credo.present.hybrid import node_lines

NUMBER_DENSITY_POINTS = 61  # of a density
DRAWN_PROBABILITY = 0.998  # of a number, between the ends of its curve


class HybridScreen:
    """Cards with a bar a state, or a density. Findings of numbers are numbers and intervals."""

    kind: ClassVar[str] = "network"
    title: ClassVar[str] = "Network"

    def __init__(self, subject: Subject) -> None:
        self.subject = subject
        self.net: HybridNetwork = subject.model

    def opened(self) -> Answer:
        prior = self.net.marginals()
        return {
            "variables": [
                {"name": name, "parents": [*own], "number": name not in self.net.states,
                 "states": [str(each) for each in self.net.states.get(name, ())]}
                for name, own in self.net.parents.items()
            ],
            "prior": {name: _shown(each) for name, each in prior.items()},
            "notice": _notice(prior),
            "directed": True,
            "learned": False,
            "whole": len(self.net) <= MOST_CARDS,
            "unsure": False,
            "asks": True,
            "sensitive": False,
        }  # fmt: skip

    @property
    def actions(self) -> Mapping[str, Action]:
        return {
            "layout": self.layout, "marginals": self.marginals, "explain": self.explain, "table": self.table,
            "next": self.next_questions,
        }  # fmt: skip

    def layout(self, asked: Asked) -> Answer:
        return laid_out(self.net.parents, asked)

    def _given(self, asked: Asked) -> tuple[HybridNetwork, dict[str, Any], dict[str, Any]]:
        """The network after interventions, the interventions, and the findings."""
        done = mapping_in(asked, "do")
        seen = {name: self._finding(name, each) for name, each in mapping_in(asked, "given").items()}
        net = self.net.do(done) if done else self.net
        return net, done, {name: value for name, value in seen.items() if name not in done}

    def _finding(self, name: str, found: Any) -> Any:
        """A finding; for a number, {"low": ..., "high": ...} is an interval, null meaning unbounded."""
        if name in self.net.states or not isinstance(found, Mapping):
            return found
        ends = [None if found.get(end) is None else number_in(found, end, 0.0) for end in ("low", "high")]
        if ends == [None, None]:
            raise DataError(f"an interval of {name!r:.60} needs an end")
        return tuple(ends)

    def marginals(self, asked: Asked) -> Answer:
        """P(state | findings), or the density, of all variables; or which findings contradict each other."""
        net, done, seen = self._given(asked)
        try:
            found = net.marginals(seen)
            log = float(net.log_probability(seen)) if seen else 0.0
        except EvidenceError as error:
            if not error.findings:
                raise
            return {"conflict": str(error), "findings": [*error.findings]}
        densities = any(isinstance(value, int | float) for value in seen.values())
        return {
            "marginals": {name: _shown(each) for name, each in found.items()},
            "log_probability": log,
            "density": densities,
            "notice": _notice(found),
            "copy": self._lines(asked.get("target"), done, seen),
        }

    def _lines(self, target: object, done: Mapping[str, Any], seen: Mapping[str, Any]) -> Lines:
        net, file = called(self.subject)
        known = {*done, *seen}
        name = target if isinstance(target, str) else next((x for x in self.net.variables if x not in known), None)
        changed = f".do({done!r})" if done else ""
        cli = "" if name is None or name in known else question(file, f"P({word(name)})", done, seen)
        return {"python": call(f"{net}{changed}.marginals", seen or None), "cli": cli}

    def explain(self, asked: Asked) -> Answer:
        """Each finding's weight of evidence for a state; for a number, for lying above its prior mean."""
        from credo.asking.protocol import waterfall

        net, done, seen = self._given(asked)
        name, value = text_in(asked, "target"), asked.get("value")
        seen = {other: finding for other, finding in seen.items() if other != name}
        if name in self.net.numbers:
            middle = float(f"{float(net.query(name).mean()):.4g}")
            value = middle, None
        found = plain(waterfall(net.explain(name, seen, value)))
        if name in self.net.numbers:
            found["of"] = f"{name} > {middle:g}"
        for each in found["weights"]:
            if isinstance(seen.get(each["name"]), tuple):
                each["value"] = interval_text(*seen[each["name"]])
        own, _ = called(self.subject)
        changed = f".do({done!r})" if done else ""
        return {**found, "copy": {"python": call(f"{own}{changed}.explain", name, seen, value), "cli": ""}}

    def next_questions(self, asked: Asked) -> Answer:
        """Which category tells most about the target, a category: its expected information gain, less its cost."""
        net, done, seen = self._given(asked)
        return gains(net.what_to_ask(text_in(asked, "target"), seen, costs=priced(asked)), done)

    def table(self, asked: Asked) -> Answer:
        """A variable's distribution given its parents, a line for each configuration of its category parents."""
        name = text_in(asked, "name")
        if name not in self.net:
            raise DataError(f"there is no variable {name!r:.60}")
        title, *lines = node_lines(self.net, name)
        return {"name": name, "title": title, "lines": [line.strip() for line in lines]}


def interval_text(low: float | None, high: float | None) -> str:
    """An interval as text, as typed on the page."""
    return f"< {high:g}" if low is None else f"> {low:g}" if high is None else f"{low:g} to {high:g}"


def _shown(found: Any) -> Any:
    """Shares of states; or a number's density, mean and 95% interval."""
    if not isinstance(found, NumberAnswer):
        return [*map(float, found.values())]
    low, high = (float(end) for end in found.interval(0.95))
    first, last = (float(end) for end in found.interval(DRAWN_PROBABILITY))
    grid = np.linspace(first, last, NUMBER_DENSITY_POINTS) if last > first else np.array([first])
    density = np.exp(found.log_prob(grid)) if last > first else np.array([1.0])
    return {
        "mean": float(found.mean()), "sd": found.sd, "low": low, "high": high,
        "x": grid.tolist(), "y": np.nan_to_num(density).tolist(),
    }  # fmt: skip


def _notice(found: Mapping[str, Any]) -> str:
    """Whether answers are estimates."""
    numbers = [each for each in found.values() if isinstance(each, NumberAnswer) and each.method != "exact"]
    if numbers:
        return f"estimated by {numbers[0].method}, with standard errors"
    return estimate_notice(found)
