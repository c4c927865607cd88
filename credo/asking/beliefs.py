"""Questions to beliefs: about their parameters and the next observation.

A parameter has its family's name for it, or `theta` where it is the only one; the next observation has its column's
name, or `x`. Entries are in brackets: theta[red], weights[intercept]. In beliefs by group, `P(theta > 0.1 | ad=a7)` and
`P(theta[a7] > 0.1)` are the same, and `P(theta[a7] > theta[b2])` compares two groups. In a dict of beliefs, the
column's name comes first: theta[converted], or theta[converted, a7].
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import fields, replace
from inspect import signature
from math import inf
from typing import Any, ClassVar

import numpy as np

from credo.asking.protocol import Variable, adapter
from credo.asking.quantities import Quantity, greater, mean, mode, probability
from credo.asking.question import Above, Name, OneOf, PlacedWord, Question, Term, Values, shortened, unknown
from credo.errors import DataError
from credo.estimation.belief import Belief
from credo.estimation.beliefs import Beliefs
from credo.estimation.numeric import Numeric
from credo.families.dirichlet import Dirichlet
from credo.families.family import Family
from credo.numerics.categorical import Categorical
from credo.numerics.distributions import Distribution, NegativeBinomial

THETA, NEXT_OBSERVATION = "theta", "x"  # default names of a parameter and of the next observation


class QuantityAdapter(ABC):
    """The common base of adapters for beliefs: they differ in the quantities that names refer to."""

    estimates: ClassVar[bool] = False

    @abstractmethod
    def variables(self) -> list[Variable]: ...

    @abstractmethod
    def quantity(self, question: Question, name: Name, given: list[Term]) -> Quantity:
        """The quantity that a name refers to; removes the terms that it uses from `given`."""

    def query(self, question: Question) -> Any:
        if not question.asked:
            raise question.error("argmax asks a belief about one name, not about all", 0)
        if done := next((term for term in question.given if term.done), None):
            raise question.error("do(...) is for networks with arrows, not for beliefs", done.at)
        if len(question.asked) > 1:
            raise question.error("a belief answers about one quantity at a time", question.asked[1].at)
        (term,) = question.asked
        if question.kind != "P":
            question.only_names()
        found = self._quantity_asked(question, term.name)
        if question.kind == "E":
            return mean(found.law, term.name, found.columns)
        if question.kind == "argmax":
            return mode(found, question, term)
        if isinstance(term.test, Above):
            return greater(found, self._quantity_asked(question, term.test.other), question, term)
        return found.law if term.test is None else probability(found, question, term)

    def explain(self, question: Question) -> Any:
        raise question.error("a belief has nothing to explain: it is a prior and evidence", 0)

    def _quantity_asked(self, question: Question, name: Name) -> Quantity:
        given = [*question.given]
        found = self.quantity(question, name, given)
        if given:
            known = "" if found.owner else ": it has no groups"
            raise question.error(f"{given[0].name} can't be given to this belief{known}", given[0].at)
        return found


class BeliefAdapter(QuantityAdapter):
    def __init__(self, belief: Belief, columns: Sequence[str] = ()) -> None:
        self.belief, self.columns = belief, tuple(columns or belief.columns or ())

    @property
    def parameters(self) -> tuple[str, ...]:
        return tuple(getattr(self.belief.posterior.parameters, "_fields", (THETA,)))

    def variables(self) -> list[Variable]:
        family = self.belief.posterior
        found = [
            _variable(name, law, "parameter", self._entries(law))
            for name, law in zip(self.parameters, family.marginals(), strict=True)
        ]
        if family.has_target:
            features: list[Variable] = [
                {"name": name, "kind": "number", "role": "column", "asked": False} for name in self.columns[:-1]
            ]
            return [*found, {"name": self.columns[-1], "kind": "number", "role": "target", "asked": True}, *features]
        law = self.belief.predictive()
        rows = law.columns() if hasattr(law, "columns") and self.columns else law
        return [*found, *(_variable(name, rows, "observation") for name in self.columns or (NEXT_OBSERVATION,))]

    def quantity(self, question: Question, name: Name, given: list[Term]) -> Quantity:
        family = self.belief.posterior
        if name.text in self.parameters:
            return self._parameter(family.marginals()[self.parameters.index(name.text)], question, name)
        if family.has_target:
            return self._target(question, name, given)
        if name.text != NEXT_OBSERVATION and name.text not in self.columns:
            raise unknown(
                question, name.word, "there is no", [*self.parameters, *(self.columns or (NEXT_OBSERVATION,))]
            )
        if name.index:
            raise question.error(f"{shortened(name.text)} has no entries", name.index[0].at)
        law = self.belief.predictive()
        if isinstance(law, Categorical):
            return Quantity(law, spelt=None if self.belief.success is None else {str(self.belief.success): 1})
        if isinstance(law, Distribution) or name.text not in self.columns:
            return Quantity(law, columns=self.columns)
        if not hasattr(law, "columns"):
            what = f"{name} is counted in rows of several columns: ask about {THETA}[{name}]"
            raise question.error(what, name.word.at)
        return Quantity(entry_of(law.columns(), self.columns.index(name.text)))

    def _entries(self, law: Distribution) -> Sequence[Any]:
        """The names of a vector's entries."""
        family = self.belief.posterior
        if not np.ndim(law.mean()):
            return ()
        return family.names if isinstance(family, Dirichlet) else family.components(self.columns)

    def _parameter(self, law: Distribution, question: Question, name: Name) -> Quantity:
        family = self.belief.posterior

        def best() -> Any:
            whole = self.belief.mode()
            return getattr(whole, name.text, None) if hasattr(whole, "_fields") else whole

        if not np.ndim(law.mean()):
            if name.index:
                raise question.error(f"{name.word} has no entries: it is one number", name.index[0].at)
            return Quantity(law, best)
        entries = self._entries(law)
        if not name.index:
            return Quantity({entry: entry_of(law, j) for j, entry in enumerate(entries)}, best)
        if len(name.index) > 1:
            raise question.error(f"{name.word} has entries of one name, not of {len(name.index)}", name.index[1].at)
        j = Values(entries).find(name.index[0])
        if j is None:
            raise unknown(question, name.index[0], f"{name.word} has no entry", entries)
        share = float(family.alpha[j]) if isinstance(family, Dirichlet) else None
        return Quantity(entry_of(law, j), lambda: _part(best(), entries[j], j), concentration=share)

    def _target(self, question: Question, name: Name, given: list[Term]) -> Quantity:
        """The distribution of a regression's target, given its features."""
        *columns, target = self.columns or ("",)
        if name.text in columns:
            raise question.error(f"{name} is a feature: ask about {target}, given features", name.word.at)
        if not target or name.text != target:
            raise unknown(question, name.word, "there is no", [*self.parameters, *self.columns[-1:]])
        features: dict[str, float] = {}
        for term in [*given]:
            if term.name.text not in columns:
                raise unknown(question, term.name.word, "there is no feature", columns)
            number = term.test.values[0].number if isinstance(term.test, OneOf) and not term.test.negated else None
            if number is None or abs(number) == inf:
                raise question.error(f"{term.name} must be given as a number", term.at)
            features[term.name.text] = number
            given.remove(term)
        if missing := [column for column in columns if column not in features]:
            few = shortened(missing[0])
            raise question.error(f"{name} depends on {few}: give it, as in P({name} | {few}=value)", name.word.at)
        return Quantity(self.belief.predictive(features))


class NumericAdapter(QuantityAdapter):
    """Questions to Numeric beliefs; parameters are named as in log_prior."""

    def __init__(self, belief: Numeric) -> None:
        self.belief, many = belief, len(belief.axes)
        names = _arguments(belief.log_prior)
        default = [THETA] if many == 1 else [f"{THETA}{i + 1}" for i in range(many)]
        self.names = names if len(names) == many else default

    def variables(self) -> list[Variable]:
        found = [_variable(*each, "parameter") for each in zip(self.names, self.belief.marginals, strict=True)]
        if not self.belief.n:
            return found
        return [*found, _variable(NEXT_OBSERVATION, self.belief.predictive().law, "observation")]

    def quantity(self, question: Question, name: Name, given: list[Term]) -> Quantity:  # noqa: ARG002 - nothing can be given
        if name.index:
            raise question.error(f"{name.word} has no entries", name.index[0].at)
        names = [THETA] if len(self.names) == 1 and name.text == THETA else self.names
        if name.text in names:
            j = names.index(name.text)
            return Quantity(self.belief.marginals[j], lambda: np.atleast_1d(self.belief.mode())[j])
        if name.text == NEXT_OBSERVATION:
            return Quantity(self.belief.predictive().law)
        raise unknown(question, name.word, "there is no", [*names, NEXT_OBSERVATION])


class GroupsAdapter(QuantityAdapter):
    """Questions to beliefs by group; the group is given, or comes first in brackets."""

    def __init__(self, beliefs: Beliefs, columns: Sequence[str] = ()) -> None:
        self.beliefs, self.columns = beliefs, columns or beliefs.columns

    def variables(self) -> list[Variable]:
        groups = [*self.beliefs]
        by: Variable = {"name": self.beliefs.by, "kind": "category", "role": "group", "values": groups, "asked": False}
        return [by, *(BeliefAdapter(self.beliefs[groups[0]], self.columns).variables() if groups else ())]

    def quantity(self, question: Question, name: Name, given: list[Term]) -> Quantity:
        word, rest = self._group(question, name, given)
        groups = Values(self.beliefs)
        place = groups.find(word)
        if place is None:
            raise unknown(question, word, f"{shortened(self.beliefs.by)} has no group", groups.values)
        group = groups.values[place]
        found = BeliefAdapter(self.beliefs[group], self.columns).quantity(question, rest, given)
        return replace(found, owner=(str(group),))

    def _group(self, question: Question, name: Name, given: list[Term]) -> tuple[PlacedWord, Name]:
        """The group, and the queried name within it."""
        by = self.beliefs.by
        chosen = next((term for term in given if term.name.text == by and not term.name.index), None)
        if chosen is not None:
            given.remove(chosen)
            if not isinstance(chosen.test, OneOf) or chosen.test.negated or len(chosen.test.values) > 1:
                raise question.error(f"give one group, as in {chosen.name}=value", chosen.at)
            return chosen.test.values[0], name
        if name.index:
            return name.index[0], Name(name.word, name.index[1:])
        if given:
            raise unknown(question, given[0].name.word, "there is no", [by])
        few = f"{shortened(by)}={shortened(str(next(iter(self.beliefs), '...')))}"
        raise question.error(f"name a group, as in P({name} | {few})", name.word.at)


class ColumnsAdapter(QuantityAdapter):
    """Questions to a dict with a belief for each column."""

    def __init__(self, columns: Mapping[str, QuantityAdapter]) -> None:
        self.columns = columns

    def variables(self) -> list[Variable]:
        return [
            {**each, "name": name if each["role"] == "observation" else f"{each['name']}[{name}]"}
            for name, own in self.columns.items()
            for each in own.variables()
        ]

    def quantity(self, question: Question, name: Name, given: list[Term]) -> Quantity:
        if name.text in self.columns:
            column, rest = name.text, Name(PlacedWord(NEXT_OBSERVATION, name.word.at), name.index)
        elif name.index and name.index[0].text in self.columns:
            column, rest = name.index[0].text, Name(name.word, name.index[1:])
        else:
            raise unknown(question, name.index[0] if name.index else name.word, "there is no column", self.columns)
        found = self.columns[column].quantity(question, rest, given)
        return replace(found, owner=(column, *found.owner))


def family_adapter(family: Family) -> BeliefAdapter:
    return BeliefAdapter(family.belief())


def columns_adapter(beliefs: Mapping[str, object]) -> ColumnsAdapter:
    """The adapter for what `credo.estimate` returns for several columns."""
    found: dict[str, QuantityAdapter] = {}
    for column, belief in beliefs.items():
        own = adapter(belief)
        if not isinstance(own, QuantityAdapter):
            raise DataError(f"a dict must hold beliefs, but {column!r} is of type {type(belief).__name__}")
        found[column] = own
    if not found:
        raise DataError("questions go to networks, classifiers and beliefs, but this is an empty value of type dict")
    return ColumnsAdapter(found)


def _variable(name: str, law: Any, role: Any, entries: Sequence[Any] = ()) -> Variable:
    if isinstance(law, Categorical):
        return {"name": name, "kind": "category", "role": role, "values": [*law], "asked": True}
    kind: Any = "count" if isinstance(law, NegativeBinomial) else "number"
    found: Variable = {"name": name, "kind": kind, "role": role, "asked": True}
    if entries:
        found["entries"] = [*map(str, entries)]
    if isinstance(law, Distribution):
        found["range"] = float(np.min(law.quantile(0.0))), float(np.max(law.quantile(1.0)))
    return found


def _part(whole: object, entry: object, j: int) -> Any:
    return whole[entry] if isinstance(whole, Mapping) else None if whole is None else np.asarray(whole)[j]


def _arguments(function: Callable[..., Any]) -> list[str]:
    try:
        return list(signature(function).parameters)
    except (TypeError, ValueError):
        return []


def entry_of(law: Distribution, j: int) -> Distribution:
    """One entry of a vector."""
    shape = np.shape(law.mean())
    parts = (np.broadcast_to(getattr(law, field.name), shape)[..., j] for field in fields(law))
    return type(law)(*(float(part) for part in parts))
