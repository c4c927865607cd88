"""Many groups: a table of beliefs, sorted and searched on the server; the page shows a window of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, ClassVar, Literal

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from credo.errors import DataError, EvidenceError, suggest
from credo.estimation.belief import Belief
from credo.estimation.beliefs import Beliefs
from credo.explorer.screens.saved import changed, in_file
from credo.explorer.screens.screen import Action, Answer, Asked, Subject, number_in, text_in
from credo.explorer.screens.snippets import called
from credo.families.dirichlet import Dirichlet
from credo.numerics.exact import Array

WINDOW_ROWS = 200  # per request
CONTENDERS, BEST_DRAWS = 50, 4000  # for P(best): groups compared, and draws of each belief
PriorChoice = Literal["given", "raw", "default", "empirical"]
PRIOR_CHOICES: tuple[PriorChoice, ...] = ("given", "raw", "default", "empirical")


@dataclass(frozen=True, eq=False)
class Estimates:
    """Groups and one estimate of each, with its interval."""

    groups: Any  # an Arrow array
    rows: Array
    estimate: Array
    low: Array
    high: Array


class GroupsScreen:
    """A forest plot of any number of groups."""

    kind: ClassVar[str] = "groups"
    title: ClassVar[str] = "Groups"

    def __init__(self, subject: Subject) -> None:
        self.subject = subject
        self.beliefs: Beliefs = subject.model
        self._found: dict[tuple[str, str], Estimates] = {}
        self._orders: dict[tuple[str, str, str, bool, str], NDArray[np.intp]] = {}

    def opened(self) -> Answer:
        return {
            "by": self.beliefs.by,
            "column": ", ".join(self.beliefs.columns),
            "groups": len(self.beliefs),
            "rows": float(self.beliefs.n),
            "quantities": self._quantities,
            "prior": self.beliefs.rule,
            "priors": [*PRIOR_CHOICES],
            "file": self.subject.path if in_file(self.subject) else None,
        }

    @property
    def actions(self) -> Mapping[str, Action]:
        return {"window": self.window, "compare": self.compare, "best": self.best, "learn": self.learn}

    def learn(self, asked: Asked) -> Answer:
        """Add the rows of a table that was dropped on the page, or forget them. The file is changed, if there is one;
        without a file, what was learned lasts as long as the server."""
        how, rows = text_in(asked, "how"), _table(text_in(asked, "csv"))
        if how not in ("update", "forget"):
            raise DataError(f"rows can be learned ('update') or forgotten ('forget'), but this is {how!r:.60}")
        before = self.beliefs.n
        self.beliefs = changed(self.subject, self.beliefs, lambda beliefs: getattr(beliefs, how)(rows))
        self._found, self._orders = {}, {}
        return {**self.opened(), "changed": abs(float(self.beliefs.n - before))}

    @cached_property
    def _quantities(self) -> list[str]:
        """The names of a group's estimates."""
        names = self.beliefs.table().column_names
        return [name for name in names if f"{name}_low" in names]

    def _estimates(self, asked: Asked) -> Estimates:
        """Estimates under one of the priors; "raw" are relative frequencies or means, without intervals."""
        prior, quantity = asked.get("prior") or "given", asked.get("quantity") or self._quantities[0]
        if prior not in PRIOR_CHOICES:
            raise DataError(f"no such prior, {prior!r:.60}; {suggest(str(prior), PRIOR_CHOICES)}")
        if quantity not in self._quantities:
            raise DataError(f"no such quantity, {quantity!r:.60}; {suggest(str(quantity), self._quantities)}")
        key = prior, str(quantity)
        if key not in self._found:
            self._found[key] = self._under(prior, str(quantity))
        return self._found[key]

    def _with_prior(self, prior: object) -> Beliefs:
        """The same evidence under one of the priors; "raw" isn't a prior."""
        if prior == "default" or prior == "empirical":
            return replace(self.beliefs, rule=prior).with_evidence(self.beliefs.seen)
        return self.beliefs

    def _under(self, prior: PriorChoice, quantity: str) -> Estimates:
        beliefs = self._with_prior(prior)
        table = beliefs.table()
        rows, estimate, low, high = (
            table[name].to_numpy() for name in ("rows", quantity, f"{quantity}_low", f"{quantity}_high")
        )
        if prior == "raw":
            estimate = self._raw(quantity)
            low = high = estimate
        groups = table[beliefs.by].combine_chunks()
        return Estimates(groups, rows.astype(np.float64), estimate, low, high)

    def _raw(self, quantity: str) -> Array:
        found = self.beliefs.maximum_likelihood()
        each = getattr(found, quantity, found) if hasattr(found, "_fields") else found
        values = np.asarray(each, dtype=np.float64)
        if values.ndim > 1:
            values = values[:, self._quantities.index(quantity)]
        return values

    def window(self, asked: Asked) -> Answer:
        """A window of the sorted rows that match the search."""
        found, order = self._estimates(asked), self._order(asked)
        start = max(0, int(number_in(asked, "from", 0)))
        some = order[start : start + min(WINDOW_ROWS, int(number_in(asked, "count", WINDOW_ROWS)))]
        names = found.groups.take(pa.array(some)).to_pylist()
        known = np.isfinite(found.low) & np.isfinite(found.high)
        ends = (float(found.low[known].min()), float(found.high[known].max())) if known.any() else (0.0, 1.0)
        own, file = called(self.subject)
        return {
            "from": start,
            "total": len(order),
            "range": ends,
            "rows": [
                {"group": str(name), "rows": float(found.rows[i]), "estimate": float(found.estimate[i]),
                 "low": float(found.low[i]), "high": float(found.high[i])}
                for name, i in zip(names, some.tolist(), strict=True)
            ],
            "copy": {"python": f"{own}.table()", "cli": f"credo show {file}"},
        }  # fmt: skip

    def _order(self, asked: Asked) -> NDArray[np.intp]:
        found = self._estimates(asked)
        sort, search = str(asked.get("sort") or "estimate"), str(asked.get("search") or "")
        down = bool(asked.get("down", True))
        key = str(asked.get("prior")), str(asked.get("quantity")), sort, down, search
        if key not in self._orders:
            self._orders = {} if len(self._orders) > 16 else self._orders
            if sort == "group":
                places = pc.sort_indices(found.groups.cast(pa.string())).to_numpy().astype(np.intp)
                places = places[::-1] if down else places
            else:
                if sort not in ("estimate", "low", "high", "rows"):
                    raise DataError(f"groups can't be sorted by {sort!r:.60}")
                values = getattr(found, sort)
                places = np.argsort(-values if down else values, kind="stable")
            if search:
                matches = pc.match_substring(found.groups.cast(pa.string()), search, ignore_case=True)
                places = places[matches.to_numpy(zero_copy_only=False)[places]]
            self._orders[key] = places
        return self._orders[key]

    def _group(self, asked: Asked, name: str) -> Any:
        """A group by the text of its value."""
        wanted = text_in(asked, name)
        places = pc.index(self.beliefs.groups.cast(pa.string()), wanted).as_py()
        if places < 0:
            raise DataError(f"there is no group {wanted!r:.60}")
        return self.beliefs.groups[places].as_py()

    def _value(self, asked: Asked, belief: Belief) -> object:
        """The value whose probability is shown, for a categorical belief."""
        if not isinstance(belief.posterior, Dirichlet):
            return None
        quantity = asked.get("quantity") or self._quantities[0]
        return next((value for value in belief.posterior.names if f"P({value})" == quantity), quantity)

    def compare(self, asked: Asked) -> Answer:
        """P(a's parameter is greater than b's), the difference with its 95% interval, and both densities."""
        from credo.estimation.comparison import difference_interval
        from credo.present.belief_charts import belief_charts, parameter_chart
        from credo.present.content import plain

        names = self._group(asked, "a"), self._group(asked, "b")
        beliefs = self._with_prior(asked.get("prior"))
        a, b = (beliefs[name] for name in names)
        value = self._value(asked, a)
        own_law, other_law = a.marginal(value), b.marginal(value)
        charts = (
            [belief_charts(each)[0] for each in (a, b)]
            if value is None
            else [parameter_chart(f"P({value})", law) for law in (own_law, other_law)]
        )
        own, _ = called(self.subject)
        named = "" if value is None else f", {value!r}"
        line = f"{own}[{names[0]!r}].probability_greater({own}[{names[1]!r}]{named})"
        return {
            "greater": float(a.probability_greater(b, value)),
            "difference": float(own_law.mean()) - float(other_law.mean()),
            "interval": difference_interval(own_law, other_law),
            "charts": plain(charts),
            "copy": {"python": line, "cli": ""},
        }

    def best(self, asked: Asked) -> Answer:
        """P(group is best), of those with the highest intervals: how often its parameter is largest, of many draws."""
        found, beliefs = self._estimates(asked), self._with_prior(asked.get("prior"))
        top = np.argsort(-found.high, kind="stable")[:CONTENDERS]
        rng = np.random.default_rng(0)
        names = found.groups.take(pa.array(top)).to_pylist()
        try:
            contenders = [beliefs[name] for name in names]
            draws = np.stack([_draws(each, self._value(asked, each), rng) for each in contenders])
        except EvidenceError as error:
            raise DataError(str(error)) from None
        wins = np.bincount(draws.argmax(0), minlength=len(names)) / draws.shape[1]
        order = np.argsort(-wins, kind="stable")[:20]
        return {"best": [{"group": str(names[i]), "probability": float(wins[i])} for i in order.tolist()]}


def _table(text: str) -> Any:
    """The rows of CSV text, read like a file."""
    import tempfile
    from pathlib import Path

    from credo.data import source

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "dropped.csv"
        path.write_text(text, encoding="utf-8")
        return source(str(path)).held()


def _draws(belief: Belief, value: object, rng: np.random.Generator) -> Array:
    """Draws of the first parameter, or of a value's probability."""
    found: Array = np.asarray(belief.marginal(value).sample(BEST_DRAWS, rng), dtype=np.float64)
    return found.reshape(BEST_DRAWS, -1)[:, 0]
