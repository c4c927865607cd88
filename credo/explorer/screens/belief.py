"""From prior to posterior: another prior, more observations, and how much more data an answer needs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np

from credo.errors import DataError
from credo.estimation.belief import Belief
from credo.estimation.comparison import difference_interval
from credo.explorer.screens.prior_handles import dragged, handles
from credo.explorer.screens.screen import Action, Answer, Asked, Subject, mapping_in, number_in
from credo.explorer.screens.snippets import called
from credo.families import DirichletCategorical, Family
from credo.families.dirichlet import Dirichlet
from credo.numerics.distributions import Distribution
from credo.present.belief_charts import belief_charts
from credo.present.beliefs import summary_rows
from credo.present.content import plain

MOST_ADDED = 10_000  # observations per request
MOST_COMPARED = 24  # values in a comparison
MOST_MORE = 1e12  # the search for "how much more data" ends here


class BeliefScreen:
    """One belief, whose prior can be dragged and whose observations grow."""

    kind: ClassVar[str] = "belief"
    title: ClassVar[str] = "Prior to posterior"

    def __init__(self, subject: Subject) -> None:
        self.subject = subject
        self.belief: Belief = subject.model

    def opened(self) -> Answer:
        found = handles(_full_prior(self.belief)) if self.belief.rule == "given" else None
        single = np.ndim(_first(self.belief).mean()) == 0
        return {
            "family": type(self.belief.family).__name__,
            "prior": None if found is None else plain(found),
            "values": [str(value) for value in _values(self.belief)],
            "single": single,
            "comparable": single or isinstance(self.belief.family, DirichletCategorical),
        }

    @property
    def actions(self) -> Mapping[str, Action]:
        return {"move": self.move, "compare": self.compare, "needed": self.needed}

    def _asked_belief(self, asked: Asked) -> Belief:
        """The belief with the prior and the observations of a request."""
        belief, given = self.belief, mapping_in(asked, "prior")
        if given:
            moved = _under(dragged(_full_prior(belief), given), belief)
            belief = moved if belief.evidence is None else moved.with_evidence(belief.evidence)
        return _updated(belief, asked, "added")

    def move(self, asked: Asked) -> Answer:
        """Prior, likelihood, posterior and predictive as charts, and the estimates."""
        belief = self._asked_belief(asked)
        _, file = called(self.subject)
        rows = [[plain(cell) for cell in row] for row in summary_rows(belief)]
        return {
            "charts": plain(belief_charts(belief)),
            "estimates": rows,
            "maximum_likelihood": plain(_estimate(belief)),
            "n": float(belief.n),
            "log_evidence": float(belief.log_evidence()) if belief.evidence is not None else None,
            "copy": {
                "python": self._line(asked, belief, ".plot()"),
                "cli": "" if self._changed(asked) else f"credo show {file}",
            },
        }

    def _changed(self, asked: Asked) -> bool:
        return bool(asked.get("prior") or asked.get("added"))

    def _line(self, asked: Asked, belief: Belief, unless: str = "") -> str:
        """Python code for the belief with the prior and the observations of a request."""
        own, _ = called(self.subject)
        if asked.get("prior"):
            own = f"{_called_under(belief.prior, belief)}.with_evidence({own}.evidence)"
        return f"{own}.update({asked['added']!r})" if asked.get("added") else f"{own}{unless}"

    def compare(self, asked: Asked) -> Answer:
        """Another belief with the same prior: the difference of a parameter, or of each value's probability, and P(this
        one's is greater)."""
        a = self._asked_belief(asked)
        prior = _full_prior(a)
        b = _updated(_under(prior, a), asked, "other")
        other = f"{_called_under(prior, a)}.update({asked.get('other')!r})"
        values, line = _values(a)[:MOST_COMPARED], f"{self._line(asked, a)}.probability_greater({other}"
        each = f"{{value: {line}, value) for value in {values!r}}}" if values else f"{line})"
        return {
            "differences": [_difference(a, b, value) for value in values or (None,)],
            "charts": plain(belief_charts(b)),
            "copy": {"python": each, "cli": ""},
        }

    def needed(self, asked: Asked) -> Answer:
        """The number of further rows, like those so far, that would narrow the 95% interval to ± x (each of several);
        by default, to half its width."""
        belief = self._asked_belief(asked)
        if belief.evidence is None or belief.n == 0:
            raise DataError("how much more data is needed depends on data, and there is none yet")

        def wide(rows: float) -> float:
            assert belief.evidence is not None
            more = belief.with_evidence(belief.evidence * ((belief.n + rows) / belief.n))
            low, high = (np.asarray(end, dtype=np.float64) for end in _first(more).interval(0.95))
            return float((high - low).max()) / 2

        now = wide(0.0)
        half = number_in(asked, "half_width", float(f"{now / 2:.1g}"))
        if half <= 0:
            raise DataError(f"a half-width must be above 0, but is {half:g}")
        if now <= half:
            return {"rows": 0, "half_width": now, "wanted": half}
        low, high = 0.0, max(1.0, belief.n)
        while wide(high) > half:
            low, high = high, 2 * high
            if high > MOST_MORE:
                return {"rows": None, "half_width": wide(high), "wanted": half}
        while high - low > max(0.5, 1e-3 * high):
            middle = (low + high) / 2
            low, high = (middle, high) if wide(middle) > half else (low, middle)
        return {"rows": int(np.ceil(high)), "half_width": wide(float(np.ceil(high))), "wanted": half}


def _first(belief: Belief) -> Distribution:
    """The marginal distribution of the first parameter; for a Dirichlet distribution, of all probabilities."""
    return belief.posterior.marginals()[0]


def _values(belief: Belief) -> tuple[Any, ...]:
    """The values of a categorical belief."""
    return belief.posterior.names if isinstance(belief.posterior, Dirichlet) else ()


def _full_prior(belief: Belief) -> Family:
    """The prior with a concentration for each value."""
    prior, values = belief.prior, _values(belief)
    if not isinstance(prior, Dirichlet):
        return prior
    return type(prior)(np.broadcast_to(prior.concentration, len(values)), values)


def _under(prior: Family, belief: Belief) -> Belief:
    """A belief about the same quantity under another prior, without observations."""
    return Belief(prior, columns=belief.columns, success=belief.success)


def _called_under(prior: Family, belief: Belief) -> str:
    """Python code for that belief."""
    given = {"columns": belief.columns, "success": belief.success}
    options = [f"{name}={value!r}" for name, value in given.items() if value is not None]
    return f"credo.Belief({', '.join([f'credo.{prior!r}', *options])})"


def _updated(belief: Belief, asked: Asked, name: str) -> Belief:
    """The belief updated with the observations of a request."""
    observed = asked.get(name) or []
    if not isinstance(observed, list) or len(observed) > MOST_ADDED:
        raise DataError(f"{name!r} must be a list of at most {MOST_ADDED:,} observations")
    return belief.update(observed) if observed else belief


def _difference(a: Belief, b: Belief, value: object) -> Answer:
    """The difference of a parameter, or of a value's probability."""
    own, other = a.marginal(value), b.marginal(value)
    return {
        "value": "" if value is None else str(value),
        "difference": float(own.mean()) - float(other.mean()),
        "interval": difference_interval(own, other),
        "greater": a.probability_greater(b, value),
    }


def _estimate(belief: Belief) -> Any:
    return None if belief.evidence is None else belief.maximum_likelihood()
