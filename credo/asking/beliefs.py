"""Questions to beliefs: of their parameters, and of the next observation.

A parameter goes by its family's name for it, or by `theta` where it is the only one; the next observation by its
column's name, or by `x`. Entries stand in brackets: theta[red], weights[intercept]. Of beliefs by group,
`P(theta > 0.1 | ad=a7)` and `P(theta[a7] > 0.1)` are the same, and `P(theta[a7] > theta[b2])` compares two. Of a dict
of beliefs, a column's name comes first: theta[converted], or theta[converted, a7].
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from inspect import signature
from math import exp, inf, isfinite
from typing import Any

import numpy as np

from credo.asking.question import Above, Name, OneOf, Question, Term, Values, Within, Word, shortened, unknown
from credo.errors import EvidenceError
from credo.estimation.belief import Belief
from credo.estimation.beliefs import Beliefs
from credo.estimation.comparison import probability_greater
from credo.estimation.numeric import Numeric
from credo.families.dirichlet import Dirichlet
from credo.families.family import Family
from credo.numerics.distributions import Beta, Categorical, Distribution, NegativeBinomial

THETA, NEXT = "theta", "x"


def is_believed(model: object) -> bool:
    return isinstance(model, Belief | Beliefs | Numeric | Family)


@dataclass(frozen=True)
class Quantity:
    """What can be asked of: a number's distribution, or {entry: distribution} of a vector's."""

    law: Any
    mode: Callable[[], Any] | None = None  # of a parameter
    spelt: Mapping[str, int] | None = None  # other names for the values
    columns: Sequence[str] = ()  # of an observation that is a row
    owner: tuple[str, ...] = ()  # which of several beliefs it is in
    concentration: float | None = None  # of an entry of a Dirichlet


def ask_belief(model: Any, question: Question) -> Any:
    if question.kind == "explain":
        raise question.error("a belief has nothing to explain: it is a prior and evidence", 0)
    if not question.asked:
        raise question.error("argmax asks a belief of one name, not of all", 0)
    if done := next((term for term in question.given if term.done), None):
        raise question.error("do(...) asks of networks with arrows, not of beliefs", done.at)
    if len(question.asked) > 1:
        raise question.error("a belief is asked of one thing at a time", question.asked[1].at)
    (term,) = question.asked
    if question.kind != "P":
        question.only_names()
    found = _found(model, question, term.name)
    if question.kind == "E":
        return _mean(found.law, term.name, found.columns)
    if question.kind == "argmax":
        return _mode(found, question, term)
    if isinstance(term.test, Above):
        return _greater(found, _found(model, question, term.test.other), question, term)
    return found.law if term.test is None else _probability(found, question, term)


# Which quantity a name is


def _found(model: Any, question: Question, name: Name) -> Quantity:
    columns: tuple[str, ...] | None = None
    owner: tuple[str, ...] = ()
    given = list(question.given)
    if isinstance(model, Mapping):
        model, name, column = _of_columns(model, question, name)
        owner, columns = (column,), (column,)
    if isinstance(model, Beliefs):
        columns = model.columns
        model, name, group = _of_groups(model, question, name, given)
        owner = (*owner, group)
    if isinstance(model, Family):
        model = model.belief()
    if isinstance(model, Numeric):
        found = _of_numeric(model, question, name)
    else:
        found = _of_belief(model, columns or model.columns or (), question, name, given)
    if given:
        known = "" if owner else ": it has no groups"
        raise question.error(f"{given[0].name} can't be given to this belief{known}", given[0].at)
    return replace(found, owner=owner)


def _of_columns(model: Mapping[str, Any], question: Question, name: Name) -> tuple[Any, Name, str]:
    """A column's belief, and the name of what is asked in it."""
    if name.text in model:
        return model[name.text], Name(Word(NEXT, name.word.at), name.index), name.text
    if name.index and name.index[0].text in model:
        return model[name.index[0].text], Name(name.word, name.index[1:]), name.index[0].text
    word = name.index[0] if name.index else name.word
    raise unknown(question, word, "there is no column", model)


def _of_groups(model: Beliefs, question: Question, name: Name, given: list[Term]) -> tuple[Belief, Name, str]:
    """A group's belief: the one that is given, or that comes first in brackets."""
    groups = Values(model)
    chosen = next((term for term in given if term.name.text == model.by and not term.name.index), None)
    if chosen is not None:
        given.remove(chosen)
        if not isinstance(chosen.test, OneOf) or chosen.test.negated or len(chosen.test.values) > 1:
            raise question.error(f"give one group, as in {chosen.name}=value", chosen.at)
        word, rest = chosen.test.values[0], name
    elif name.index:
        word, rest = name.index[0], Name(name.word, name.index[1:])
    elif given:
        raise unknown(question, given[0].name.word, "there is no", [model.by])
    else:
        few = next(iter(model), "...")
        by = f"{shortened(model.by)}={shortened(str(few))}"
        raise question.error(f"say of which group, as in P({name} | {by})", name.word.at)
    place = groups.find(word)
    if place is None:
        raise unknown(question, word, f"{shortened(model.by)} has no group", groups.values)
    return model[groups.values[place]], rest, str(groups.values[place])


def _of_belief(belief: Belief, columns: Sequence[str], question: Question, name: Name, given: list[Term]) -> Quantity:
    family = belief.posterior
    parameters = tuple(getattr(family.parameters, "_fields", (THETA,)))
    if name.text in parameters:
        law = family.marginals()[parameters.index(name.text)]
        return _of_parameter(belief, law, columns, question, name)
    if family.has_target:
        return _of_target(belief, columns, question, name, given)
    if name.text != NEXT and name.text not in columns:
        raise unknown(question, name.word, "there is no", [*parameters, *(columns or (NEXT,))])
    if name.index:
        raise question.error(f"{shortened(name.text)} has no entries", name.index[0].at)
    law = belief.predictive()
    if isinstance(law, Categorical):
        return Quantity(law, spelt=None if belief.success is None else {str(belief.success): 1})
    if isinstance(law, Distribution) or name.text not in columns:
        return Quantity(law, columns=columns)
    if not hasattr(law, "columns"):
        raise question.error(f"{name} is counted in rows of several columns: ask of {THETA}[{name}]", name.word.at)
    return Quantity(_entry(law.columns(), list(columns).index(name.text)))


def _of_parameter(
    belief: Belief, law: Distribution, columns: Sequence[str], question: Question, name: Name
) -> Quantity:
    family = belief.posterior

    def mode() -> Any:
        whole = belief.mode()
        return getattr(whole, name.text, None) if hasattr(whole, "_fields") else whole

    if not np.ndim(law.mean()):
        if name.index:
            raise question.error(f"{name.word} has no entries: it is one number", name.index[0].at)
        return Quantity(law, mode)
    entries = family.names if isinstance(family, Dirichlet) else family.components(tuple(columns))
    if not name.index:
        return Quantity({entry: _entry(law, j) for j, entry in enumerate(entries)}, mode)
    if len(name.index) > 1:
        raise question.error(f"{name.word} has entries of one name, not of {len(name.index)}", name.index[1].at)
    j = Values(entries).find(name.index[0])
    if j is None:
        raise unknown(question, name.index[0], f"{name.word} has no entry", entries)
    share = float(family.alpha[j]) if isinstance(family, Dirichlet) else None
    return Quantity(_entry(law, j), lambda: _part(mode(), entries[j], j), concentration=share)


def _part(whole: Any, entry: Any, j: int) -> Any:
    return whole[entry] if isinstance(whole, Mapping) else None if whole is None else np.asarray(whole)[j]


def _of_target(belief: Belief, columns: Sequence[str], question: Question, name: Name, given: list[Term]) -> Quantity:
    """A regression's target, given its features."""
    if not columns or name.text != columns[-1]:
        known = [*getattr(belief.family.parameters, "_fields", ()), *columns[-1:]]
        raise unknown(question, name.word, "there is no", known)
    features: dict[str, float] = {}
    for term in [*given]:
        if term.name.text not in columns[:-1]:
            raise unknown(question, term.name.word, "there is no feature", columns[:-1])
        number = term.test.values[0].number if isinstance(term.test, OneOf) and not term.test.negated else None
        if number is None or abs(number) == inf:
            raise question.error(f"{term.name} must be given as a number", term.at)
        features[term.name.text] = number
        given.remove(term)
    if missing := [column for column in columns[:-1] if column not in features]:
        few = shortened(missing[0])
        raise question.error(
            f"what {name} will be depends on {few}: give it, as in P({name} | {few}=value)", name.word.at
        )
    return Quantity(belief.predictive(features))


def _of_numeric(belief: Numeric, question: Question, name: Name) -> Quantity:
    """Parameters by the names that log_prior has for them."""
    if name.index:
        raise question.error(f"{name.word} has no entries", name.index[0].at)
    many = len(belief.axes)
    names = _arguments(belief.log_prior)
    names = names if len(names) == many else [THETA] if many == 1 else [f"{THETA}{i + 1}" for i in range(many)]
    if many == 1 and name.text == THETA:
        names = [THETA]
    if name.text in names:
        j = names.index(name.text)
        return Quantity(belief.marginals[j], lambda: np.atleast_1d(belief.mode())[j])
    if name.text == NEXT:
        return Quantity(belief.predictive().law)
    raise unknown(question, name.word, "there is no", [*names, NEXT])


def _arguments(function: Callable[..., Any]) -> list[str]:
    try:
        return list(signature(function).parameters)
    except (TypeError, ValueError):
        return []


def _entry(law: Distribution, j: int) -> Distribution:
    """One of the numbers that a distribution of many is about."""
    shape = np.shape(law.mean())
    parts = (np.broadcast_to(getattr(law, field.name), shape)[..., j] for field in fields(law))  # type: ignore[arg-type]
    return type(law)(*(float(part) for part in parts))


# What is asked of it


def _probability(found: Quantity, question: Question, term: Term) -> float:
    if isinstance(found.law, Categorical):
        weights = Values(found.law, found.spelt).weights(question, term)
        return float(np.dot(weights, found.law.probabilities))
    if not isinstance(found.law, Distribution):
        entry = next(iter(found.law), "...") if isinstance(found.law, Mapping) else "..."
        what = f"{term.name} is several numbers: ask of one, as in {term.name}[{shortened(str(entry))}]"
        raise question.error(what, term.at)
    if isinstance(term.test, Within):
        return _mass(found.law, term.test)
    assert isinstance(term.test, OneOf)
    numbers = [word.number for word in term.test.values]
    if wrong := next((word for word in term.test.values if word.number is None), None):
        raise question.error(f"{term.name} is a number, but {str(wrong)!r} isn't", wrong.at)
    if not isinstance(found.law, NegativeBinomial):
        what = f"{term.name} is any number, and exactly one has probability 0: ask P(... < {term.name} < ...)"
        raise question.error(what, term.at)
    p = sum(exp(float(found.law.log_prob(number))) for number in {*numbers} if number is not None)
    return 1 - p if term.test.negated else p


def _mass(law: Distribution, within: Within) -> float:
    """P(low < x < high); at a closed end, with the end."""
    return max(0.0, _below(law, within.high, within.with_high) - _below(law, within.low, not within.with_low))


def _below(law: Distribution, x: float, with_end: bool) -> float:
    """P(≤ x), or P(< x)"""
    if not isfinite(x):
        return float(x > 0)
    return float(law.cdf(x if with_end else np.nextafter(x, -inf)))


def _mean(law: Any, name: Name, columns: Sequence[str] = ()) -> Any:
    if isinstance(law, Mapping) and not isinstance(law, Categorical):
        return {entry: _mean(each, name) for entry, each in law.items()}
    found = law.mean()
    if not np.isfinite(found).all():
        raise EvidenceError(f"{name} has no finite mean: its distribution reaches too far out")
    return dict(zip(columns, found.tolist(), strict=True)) if np.ndim(found) else float(found)


def _mode(found: Quantity, question: Question, term: Term) -> dict[str, Any]:
    """{name: most probable value}; of a vector, {name[entry]: value}."""
    if isinstance(found.law, Categorical):
        return {term.name.whole: found.law.most_probable()}
    mode = None if found.mode is None else found.mode()
    if mode is None:
        raise question.error(f"{term.name} has no most probable value that credo knows", term.at)
    if not isinstance(found.law, Mapping):
        return {term.name.whole: float(mode)}
    values = mode.values() if isinstance(mode, Mapping) else mode
    return {f"{term.name.whole}[{entry}]": float(value) for entry, value in zip(found.law, values, strict=True)}


def _greater(one: Quantity, other: Quantity, question: Question, term: Term) -> float:
    """P(one > other): of independent beliefs, or of two shares of the same whole: θᵢ/(θᵢ + θⱼ) ~ Beta(αᵢ, αⱼ)"""
    assert isinstance(term.test, Above)
    if one.mode is None or other.mode is None:
        raise question.error("two parameters can be compared, but not what is observed next", term.at)
    for quantity, name in ((one, term.name), (other, term.test.other)):
        if not isinstance(quantity.law, Distribution):
            raise question.error(f"{name} is several numbers: compare one of its entries", name.word.at)
    if one.owner != other.owner:
        return probability_greater(one.law, other.law)
    if one.concentration is None or other.concentration is None or term.name.whole == term.test.other.whole:
        what = f"{term.name} and {term.test.other} aren't independent: parameters of two beliefs can be compared"
        raise question.error(what, term.at)
    return 1 - float(Beta(one.concentration, other.concentration).cdf(0.5))
