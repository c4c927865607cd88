"""A network: bars of all marginals under findings, explanations, and the best next questions."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from itertools import product
from typing import Any, ClassVar

import numpy as np

from credo.errors import DataError, EvidenceError
from credo.explorer.screens.cards import MOST_CARDS, laid_out
from credo.explorer.screens.contents import tabled
from credo.explorer.screens.questions import gains, priced
from credo.explorer.screens.screen import Action, Answer, Asked, Lines, Subject, mapping_in, text_in
from credo.explorer.screens.snippets import call, called, question, word
from credo.networks.answers import estimate_notice
from credo.networks.graphical_model import GraphicalModel
from credo.networks.network import Network
from credo.present.causes import effect_table
from credo.present.sensitivity import tornado_table, tornado_title

TABLE_CONFIGURATIONS = 64  # of the parents, listed in a table
SENSITIVE_ENTRIES = 15  # listed table entries


PLATES_NOTE = "One member of each plate; credo.ask answers about many, given their tables."


def plates_screen(subject: Subject) -> NetworkScreen:
    """A plate network: the template, one member of each plate."""
    return NetworkScreen(subject, template=True)


class NetworkScreen:
    """Cards with a bar a state. Findings are states, sets of states, or likelihoods; or what was set (do)."""

    kind: ClassVar[str] = "network"
    title: ClassVar[str] = "Network"

    def __init__(self, subject: Subject, template: bool = False) -> None:
        self.subject, self.template = subject, template
        self.net: GraphicalModel = subject.model.template if template else subject.model
        self._last: tuple[dict[str, Any], Network] | None = None

    def opened(self) -> Answer:
        prior = self.net.marginals()
        return {
            "variables": [
                {"name": name, "states": [str(each) for each in states], "parents": [*self._parents.get(name, ())]}
                for name, states in self.net.states.items()
            ],
            "prior": {name: [*map(float, shares.values())] for name, shares in prior.items()},
            "notice": PLATES_NOTE if self.template else estimate_notice(prior),
            "directed": self.net.directed,
            "learned": self._learned is not None,
            "whole": len(self.net) <= MOST_CARDS,
            "unsure": self._learned is not None and any(self._parents.values()),
            "asks": True,
            "sensitive": isinstance(self.net, Network),
        }

    @property
    def actions(self) -> Mapping[str, Action]:
        return {
            "layout": self.layout, "marginals": self.marginals, "explain": self.explain, "next": self.next_questions,
            "table": self.table, "edges": self.edges, "sensitivity": self.sensitivity, "effect": self.effect,
        }  # fmt: skip

    @cached_property
    def _parents(self) -> Mapping[str, tuple[str, ...]]:
        """The arrows; a Markov network has edges, drawn from the earlier variable to the later one."""
        if isinstance(self.net, Network):
            return self.net.parents
        found: dict[str, set[str]] = {name: set() for name in self.net.variables}
        place = {name: i for i, name in enumerate(found)}
        for factor in self.net.factors:
            for a, b in product(factor.scope, repeat=2):
                if place[a] < place[b]:
                    found[b].add(a)
        return {name: tuple(sorted(own, key=place.__getitem__)) for name, own in found.items()}

    def _called(self) -> tuple[str, str]:
        """The network in Python, and its file."""
        own, file = called(self.subject)
        return f"{own}.template" if self.template else own, file

    @property
    def _learned(self) -> Network | None:
        return self.net if isinstance(self.net, Network) and self.net.evidence is not None else None

    # Edge confidence

    def edges(self, asked: Asked) -> Answer:  # noqa: ARG002 - an action's signature
        """P(arrow) of each arrow, the least certain first: averaged over graphs if rows are given; else by the
        network's own counts, the other arrows fixed."""
        ranked = sorted(self._arrow_probabilities.items(), key=lambda each: each[1])
        arrows = [{"from": a, "to": b, "probability": p} for (a, b), p in ranked]
        if self.subject.data is None:
            return {"arrows": arrows, "how": "each beside the others, by a Bayes factor from the network's own counts"}
        return {"arrows": arrows, "how": "averaged over graphs, by credo.edge_confidence"}

    @cached_property
    def _arrow_probabilities(self) -> dict[tuple[str, str], float]:
        if self._learned is None:
            raise DataError("arrows that were given aren't uncertain: learn the network from rows")
        if self.subject.data is not None:
            from credo.networks.structure.edge_confidence import edge_confidence

            averaged = edge_confidence(self.subject.data)
            return {(a, b): averaged[a, b] for b, own in self._parents.items() for a in own}
        from credo.networks.arrow_evidence import arrow_evidence

        factors = arrow_evidence(self._learned)
        return {arrow: float(0.5 + 0.5 * np.tanh(factor / 2)) for arrow, factor in factors.items()}

    def layout(self, asked: Asked) -> Answer:
        return laid_out(self._parents, asked)

    # Sensitivity and effects

    def sensitivity(self, asked: Asked) -> Answer:
        """The table entries that P(target = state | findings) is most sensitive to, each varied alone."""
        net, done, seen = self._given(asked)
        name, value = text_in(asked, "target"), asked.get("value")
        if not isinstance(net, Network):
            raise DataError("a Markov network has no tables whose entries could move")
        seen = {other: finding for other, finding in seen.items() if other != name}
        found = net.sensitivity(name, seen, value).tornado()
        own, _ = self._called()
        changed = f".do({done!r})" if done else ""
        python = f"{call(f'{own}{changed}.sensitivity', name, seen, value)}.tornado()"
        return {
            "title": tornado_title(found),
            "table": tabled(tornado_table(found, SENSITIVE_ENTRIES)),
            "copy": {"python": python, "cli": ""},
        }

    def effect(self, asked: Asked) -> Answer:
        """P(target | do(cause)), the adjustment that gives it, and P(target | cause) beside it."""
        cause, target = text_in(asked, "cause"), text_in(asked, "target")
        if not isinstance(self.net, Network):
            raise DataError("a Markov network has no causes")
        found = self.net.effect(cause, target)
        own, _ = self._called()
        return {
            "formula": found.identification.formula,
            "reason": found.identification.reason,
            "table": tabled(effect_table(found)),
            "copy": {"python": f"{own}.effect({cause!r}, {target!r})", "cli": ""},
        }

    # Answers

    def _given(self, asked: Asked) -> tuple[GraphicalModel, dict[str, Any], dict[str, Any]]:
        """The network after interventions, the interventions, and the findings."""
        done, seen = mapping_in(asked, "do"), mapping_in(asked, "given")
        if not done:
            return self.net, {}, seen
        if not isinstance(self.net, Network):
            raise DataError("a Markov network has no causes: nothing can be set in it")
        return self._after(done), done, {name: value for name, value in seen.items() if name not in done}

    def _after(self, done: Mapping[str, object]) -> Network:
        """The network after interventions; the last one is cached, with its compiled trees."""
        assert isinstance(self.net, Network)
        if self._last is None or self._last[0] != done:
            self._last = dict(done), self.net.do(done)
        return self._last[1]

    def marginals(self, asked: Asked) -> Answer:
        """P(state | findings) of all variables; or which findings contradict each other."""
        net, done, seen = self._given(asked)
        try:
            found = net.marginals(seen)
        except EvidenceError as error:
            if not error.findings:
                raise
            return {"conflict": str(error), "findings": [*error.findings]}
        return {
            "marginals": {name: [*map(float, shares.values())] for name, shares in found.items()},
            "log_probability": float(net.log_probability(seen)) if seen else 0.0,
            "notice": estimate_notice(found),
            "copy": self._lines(asked.get("target"), done, seen),
        }

    def _lines(self, target: object, done: Mapping[str, Any], seen: Mapping[str, Any]) -> Lines:
        """The code to copy; the command asks about the target or the first unobserved variable."""
        net, file = self._called()
        known = {*done, *seen}
        name = target if isinstance(target, str) else next((x for x in self.net.variables if x not in known), None)
        changed = f".do({done!r})" if done else ""
        unasked = self.template or name is None or name in known
        cli = "" if unasked else question(file, f"P({word(name)})", done, seen)
        return {"python": call(f"{net}{changed}.marginals", seen or None), "cli": cli}

    def explain(self, asked: Asked) -> Answer:
        """Each finding's weight of evidence for a state."""
        from credo.asking.protocol import waterfall
        from credo.present.content import plain

        net, done, seen = self._given(asked)
        name, value = text_in(asked, "target"), asked.get("value")
        seen = {other: finding for other, finding in seen.items() if other != name}
        found = plain(waterfall(net.explain(name, seen, value)))
        own, file = self._called()
        changed = f".do({done!r})" if done else ""
        cli = question(file, f"explain P({word(name)}{'' if value is None else f'={word(value)}'})", done, seen)
        python = call(f"{own}{changed}.explain", name, seen, value)
        return {**found, "copy": {"python": python, "cli": "" if self.template else cli}}

    def next_questions(self, asked: Asked) -> Answer:
        """The variables by expected information gain about the target, minus the cost of asking."""
        net, done, seen = self._given(asked)
        return gains(net.what_to_ask(text_in(asked, "target"), seen, costs=priced(asked)), done)

    def table(self, asked: Asked) -> Answer:
        """A variable's table, a row for each configuration of its parents; learned ones with credible intervals."""
        name = text_in(asked, "name")
        if not isinstance(self.net, Network) or name not in self.net:
            raise DataError(f"there is no table of {name!r:.60}")
        parents = self.net.parents[name]
        table, count = self.net.table_rows(name, TABLE_CONFIGURATIONS)
        each = product(*(self.net.states[parent] for parent in parents))
        rows = []
        for states, shares in zip(each, table, strict=False):
            given = dict(zip(parents, states, strict=True))
            row: dict[str, Any] = {"given": [str(state) for state in states], "shares": [*map(float, shares)]}
            if self._learned is not None and name not in self.net.forms:
                belief = self._learned.belief(name, given)
                intervals = belief.interval(0.95)
                row["intervals"] = [[*map(float, intervals[state])] for state in self.net.states[name]]
            rows.append(row)
        return {"name": name, "parents": [*parents], "rows": rows, "more": count - len(rows)}
