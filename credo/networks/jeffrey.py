"""Jeffrey's rule: likelihoods that move variables to given marginals, by iterative proportional fitting."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from credo.errors import EvidenceError, check_mapping

if TYPE_CHECKING:
    from credo.networks.answers import Posterior
    from credo.networks.graphical_model import GraphicalModel
    from credo.networks.inference.findings import Given

MOST_FITTING_ROUNDS = 1000  # rounds of iterative proportional fitting
MARGINAL_TOLERANCE = 1e-12  # largest error of a fitted marginal
COUNTS_AS_ZERO = 1e-150  # smaller probabilities count as 0


def likelihoods(model: GraphicalModel, beliefs: Mapping[str, Mapping[Any, float]], given: Given) -> dict[str, Any]:
    """The evidence, with likelihoods that give each variable in `beliefs` its marginal."""
    found: dict[str, Any] = dict(given or {})
    wanted = {name: distribution(model, name, belief, "the belief about") for name, belief in beliefs.items()}
    if both := next((name for name in wanted if name in found), None):
        raise EvidenceError(f"{both!r} has both evidence and a belief: give only one of them")
    found |= {name: dict.fromkeys(model.states[name], 1.0) for name in wanted}
    for _ in range(MOST_FITTING_ROUNDS):
        if _fit_each(model, wanted, found) < MARGINAL_TOLERANCE:
            return found
        if any(found[name][value] < COUNTS_AS_ZERO for name in wanted for value, p in wanted[name].items() if p > 0):
            break  # the fit diverges
    raise EvidenceError(f"no joint distribution has these marginals of {', '.join(wanted)} together")


def _fit_each(model: GraphicalModel, wanted: Mapping[str, Mapping[Any, float]], found: dict[str, Any]) -> float:
    """One round: scale each variable's likelihood to its marginal. Returns the largest error of a marginal before
    it."""
    furthest = 0.0
    for name, belief in wanted.items():
        now = model.query(name, found, method="exact")
        furthest = max(furthest, *(abs(now[value] - p) for value, p in belief.items()))
        for value in (value for value, p in belief.items() if p > 0 and now[value] < COUNTS_AS_ZERO):
            what = f"{name}={value} has the belief {belief[value]:g}, but is impossible"
            raise EvidenceError(f"{what}, given the other beliefs and the evidence")
        new = {value: found[name][value] * (p / now[value] if p > 0 else 0.0) for value, p in belief.items()}
        found[name] = {value: weight / max(new.values()) for value, weight in new.items()}
    return furthest


def distribution(model: GraphicalModel, name: str, given: Mapping[Any, float], what: str) -> Posterior:
    """A distribution over a variable's states, as a user gives it; states left out have probability 0."""
    from credo.networks.inference.findings import state

    v = model._number(name)
    check_mapping(f"{what} {name!r} must be {{state: probability}}, but is", given, EvidenceError)
    found = dict.fromkeys(model.states[name], 0.0)
    for value, p in given.items():
        own = p if isinstance(p, int | float | np.number) else np.nan
        found[model.states[name][state(model.potentials, v, value)]] = float(own)
    if not (abs(sum(found.values()) - 1.0) <= 1e-6 and min(found.values()) >= 0):
        raise EvidenceError(f"{what} {name!r} must be probabilities that sum to 1, but is {given}")
    return found
