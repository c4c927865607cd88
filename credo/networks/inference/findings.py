"""Evidence about variables: states, sets of possible states, and likelihoods (virtual evidence)."""

from __future__ import annotations

from collections.abc import Collection, Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from credo.errors import EvidenceError, SchemaError, check_mapping, suggest
from credo.networks.bins import bin_codes, cuts_of
from credo.networks.inference.potentials import Potentials
from credo.networks.inference.state_index import BOOLEAN_SPELLINGS, StateIndex
from credo.numerics.arrays import Flags, Integers
from credo.numerics.exact import Array

Given = Mapping[str, Any] | None
NO_LIKELIHOODS = np.empty(0)


@dataclass(frozen=True, eq=False)
class Findings:
    """codes: each variable's state, -1 if unobserved; weights: likelihoods of all states, or empty."""

    codes: Integers
    weights: Array
    log_scale: float = 0.0  # log of the factor by which likelihoods were divided, so that each variable's largest is 1

    @classmethod
    def of(cls, potentials: Potentials, given: Given) -> Findings:
        """From {name: state}, {name: [possible states]} or {name: {state: likelihood}}.

        None is no evidence. A state may be given as the text of its value.
        """
        codes, weights, log_scale = potentials.unknown.copy(), NO_LIKELIHOODS, 0.0
        if given is not None:
            check_mapping("evidence must be {name: state}, but is", given, EvidenceError)
        number, has_auxiliary = potentials.number, len(codes) > potentials.own
        for name, value in (given or {}).items():
            v = number.get(name)
            if v is None:
                v = variable(potentials, name)  # raises the error
            if value is None:
                continue
            known = potentials.codes[v].get(value) if type(value) is str else None
            code = _code(potentials, v, value) if known is None else known
            if isinstance(code, int):
                codes[v] = code
                if has_auxiliary:
                    for auxiliary, implied in potentials.implied(v, code):
                        codes[auxiliary] = implied
            else:
                if not len(weights):
                    weights = np.ones(int(potentials.places[-1]))
                weights[potentials.places[v] : potentials.places[v + 1]] = code / code.max()
                log_scale += float(np.log(code.max()))
        return cls(codes, weights, log_scale)

    @property
    def any(self) -> bool:
        """Whether there is any evidence."""
        return len(self.weights) > 0 or bool((self.codes >= 0).any())

    def where(self, event: Mapping[int, Flags], places: Integers) -> Findings | None:
        """The evidence together with an event; None if the event is impossible."""
        codes, weights = self.codes.copy(), self.weights.copy() if len(self.weights) else np.ones(int(places[-1]))
        for v, allowed in event.items():
            own = weights[places[v] : places[v + 1]]
            if codes[v] < 0 and allowed.sum() == 1 and own[allowed] > 0:
                codes[v] = allowed.argmax()
            own *= allowed
            if not (own[codes[v]] if codes[v] >= 0 else own.any()):
                return None
        return Findings(codes, weights if (weights != 1.0).any() else NO_LIKELIHOODS, self.log_scale)


def allowed(potentials: Potentials, event: Mapping[str, object]) -> dict[int, Flags]:
    """The states that an event allows, for each of its variables."""
    found: dict[int, Flags] = {}
    check_mapping("an event is {name: state}, but is", event, EvidenceError)
    for name, value in event.items():
        v = variable(potentials, name)
        if isinstance(value, Mapping):
            raise EvidenceError(f"an event is a state of {name!r} or several, but is {value!r:.60}")
        if value is not None:
            code = _code(potentials, v, value)
            found[v] = np.arange(len(potentials.states[v])) == code if isinstance(code, int) else code > 0
    return found


def variable(index: StateIndex, name: object) -> int:
    """The index of a variable."""
    found = index.number.get(name) if isinstance(name, str) else None
    if found is None:
        raise SchemaError(f"there is no variable {name!r}; {suggest(name, index.names)}")
    return found


def state(potentials: Potentials, v: int, value: object) -> int:
    """The index of a state, given as its value or as text; a boolean also in words."""
    found = find_state(potentials, v, value)
    if found is None:
        raise EvidenceError(f"{potentials.names[v]!r} has no state {value!r}; {suggest(value, potentials.states[v])}")
    return found


def affirmative(states: Sequence[object]) -> int:
    """The index of the affirmative one of two states; otherwise the first.

    >>> affirmative(["no", "yes"]), affirmative(["a", "b"]), affirmative(["1", "0"])
    (1, 0, 0)
    """
    said = [str(each).lower() in BOOLEAN_SPELLINGS[True] for each in states]
    return said.index(True) if len(states) == 2 and any(said) else 0


def find_state(index: StateIndex, v: int, value: object) -> int | None:
    """The index of a state; None if there is no such state."""
    found = index.codes[v].get(value) if isinstance(value, Hashable) else None
    if found is None:
        words = BOOLEAN_SPELLINGS[bool(value)] if isinstance(value, bool | np.bool_) else (str(value),)
        spelt = index.spelt[v]
        found = next((spelt[word] for word in words if word in spelt), None)
    if found is None and isinstance(value, float | np.floating) and value.is_integer():  # 1.0 for "1"
        found = index.spelt[v].get(str(int(value)))
    if found is None and isinstance(value, float | int | np.number) and not isinstance(value, bool):
        cuts = cuts_of(index.states[v])
        if cuts is not None and not np.isnan(value):
            found = int(bin_codes(cuts, np.array([value], dtype=np.float64))[0])
    return found


def _code(potentials: Potentials, v: int, value: object) -> int | Array:
    """The index of a state, or the likelihoods of all states."""
    if isinstance(value, str):
        return state(potentials, v, value)
    if isinstance(value, Mapping):
        weights = np.zeros(len(potentials.states[v]))
        for each, likelihood in value.items():
            if not isinstance(likelihood, float | int | np.number) or not 0 <= likelihood < np.inf:
                name = potentials.names[v]
                raise EvidenceError(
                    f"the likelihood of {name}={each} must be a number of at least 0, not {likelihood!r}"
                )
            weights[state(potentials, v, each)] = likelihood
    elif isinstance(value, Collection) and not isinstance(value, bytes):
        possible = {state(potentials, v, each) for each in value}
        if len(possible) == 1:
            return possible.pop()
        weights = np.zeros(len(potentials.states[v]))
        weights[[*possible]] = 1.0
    else:
        return state(potentials, v, value)
    if not weights.any():
        raise EvidenceError(f"the evidence about {potentials.names[v]!r} leaves no state possible")
    return weights
