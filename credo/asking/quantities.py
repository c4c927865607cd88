"""Questions about a belief's parameter or its next observation: probabilities, means, modes, comparisons."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from math import exp, inf, isfinite
from typing import Any

import numpy as np

from credo.asking.question import Above, Name, OneOf, Question, Term, Values, Within, shortened
from credo.errors import EvidenceError
from credo.estimation.comparison import probability_greater
from credo.numerics.categorical import Categorical
from credo.numerics.distributions import Beta, Distribution, NegativeBinomial


@dataclass(frozen=True)
class Quantity:
    """A number's distribution, or {entry: distribution} of a vector."""

    law: Any
    mode: Callable[[], Any] | None = None  # for a parameter
    spelt: Mapping[str, int] | None = None  # other names of the values
    columns: Sequence[str] = ()  # for an observation that is a row
    owner: tuple[str, ...] = ()  # the belief, if there are several
    concentration: float | None = None  # for an entry of a Dirichlet


def probability(found: Quantity, question: Question, term: Term) -> float:
    """P(the quantity satisfies the term)."""
    if isinstance(found.law, Categorical):
        weights = Values(found.law, found.spelt).weights(question, term)
        return float(np.dot(weights, found.law.probabilities))
    if not isinstance(found.law, Distribution):
        entry = next(iter(found.law), "...") if isinstance(found.law, Mapping) else "..."
        what = f"{term.name} is several numbers: ask about one, as in {term.name}[{shortened(str(entry))}]"
        raise question.error(what, term.at)
    if isinstance(term.test, Within):
        return _mass(found.law, term.test)
    assert isinstance(term.test, OneOf)
    numbers = [word.number for word in term.test.values]
    if wrong := next((word for word in term.test.values if word.number is None), None):
        raise question.error(f"{term.name} is a number, but {str(wrong)!r} isn't", wrong.at)
    if not isinstance(found.law, NegativeBinomial):
        what = f"{term.name} is continuous, and each single value has probability 0: ask P(... < {term.name} < ...)"
        raise question.error(what, term.at)
    p = sum(exp(float(found.law.log_prob(number))) for number in {*numbers} if number is not None)
    return 1 - p if term.test.negated else p


def _mass(law: Distribution, within: Within) -> float:
    """P(low < x < high); a closed end is included."""
    return max(0.0, _below(law, within.high, within.with_high) - _below(law, within.low, not within.with_low))


def _below(law: Distribution, x: float, with_end: bool) -> float:
    """P(≤ x), or P(< x)"""
    if not isfinite(x):
        return float(x > 0)
    return float(law.cdf(x if with_end else np.nextafter(x, -inf)))


def mean(law: Any, name: Name, columns: Sequence[str] = ()) -> Any:
    """A number; of a vector, {entry: number}."""
    if isinstance(law, Mapping) and not isinstance(law, Categorical):
        return {entry: mean(each, name) for entry, each in law.items()}
    found = law.mean()
    if not np.isfinite(found).all():
        raise EvidenceError(f"{name} has no finite mean: the tails of its distribution are too heavy")
    return dict(zip(columns, found.tolist(), strict=True)) if np.ndim(found) else float(found)


def mode(found: Quantity, question: Question, term: Term) -> dict[str, Any]:
    """{name: most probable value}; of a vector, {name[entry]: value}."""
    if isinstance(found.law, Categorical):
        return {term.name.whole: found.law.most_probable()}
    best = None if found.mode is None else found.mode()
    if best is None:
        raise question.error(f"the mode of {term.name} isn't known", term.at)
    if not isinstance(found.law, Mapping):
        return {term.name.whole: float(best)}
    values = best.values() if isinstance(best, Mapping) else best
    return {f"{term.name.whole}[{entry}]": float(value) for entry, value in zip(found.law, values, strict=True)}


def greater(one: Quantity, other: Quantity, question: Question, term: Term) -> float:
    """P(one > other), for independent beliefs or for two entries of a Dirichlet: θᵢ/(θᵢ + θⱼ) ~ Beta(αᵢ, αⱼ)."""
    assert isinstance(term.test, Above)
    if one.mode is None or other.mode is None:
        raise question.error("only parameters can be compared, not observations", term.at)
    for quantity, name in ((one, term.name), (other, term.test.other)):
        if not isinstance(quantity.law, Distribution):
            raise question.error(f"{name} is several numbers: compare one of its entries", name.word.at)
    if one.owner != other.owner:
        return probability_greater(one.law, other.law)
    if one.concentration is None or other.concentration is None or term.name.whole == term.test.other.whole:
        what = f"{term.name} and {term.test.other} aren't independent: compare parameters of two beliefs"
        raise question.error(what, term.at)
    return 1 - float(Beta(one.concentration, other.concentration).cdf(0.5))
