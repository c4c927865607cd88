"""The protocol of questions: a model's variables, its answers and its explanations, all of them JSON-able data.

A new kind of model needs one adapter, a class with the methods of `Adapter`, and one line in `ADAPTERS`. Adapters are
named by their paths and imported when they are needed: a question to a network doesn't import classifiers.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from importlib import import_module
from typing import Any, ClassVar, Literal, Protocol, TypedDict, runtime_checkable

from credo.asking.question import MemberTerm, Question
from credo.errors import DataError

ASK_INSTEAD = {  # for models that answer no questions: what to ask instead
    "PlateNetwork": ": say which members there are: model.given(tables) answers",
    "InfluenceDiagram": ": model.following(model.policy()) is a network",
}
ADAPTERS = {
    "credo.networks.graphical_model.GraphicalModel": "credo.asking.networks.NetworkAdapter",
    "credo.networks.templates.dynamic_network.DynamicNetwork": "credo.asking.templates.SlicesAdapter",
    "credo.networks.templates.given_tables.GivenTables": "credo.asking.templates.MembersAdapter",
    "credo.networks.hybrid.network.HybridNetwork": "credo.asking.hybrid.HybridAdapter",
    "credo.models.class_predictor.ClassPredictor": "credo.asking.classifiers.ClassifierAdapter",
    "credo.models.hidden_markov.model.HiddenMarkov": "credo.asking.classifiers.hidden_groups_adapter",
    "credo.models.mixture.model.Mixture": "credo.asking.classifiers.hidden_groups_adapter",
    "credo.models.regression.linear.LinearRegression": "credo.asking.regression.RegressionAdapter",
    "credo.models.concepts.model.Concepts": "credo.asking.concepts.ConceptsAdapter",
    "credo.estimation.belief.Belief": "credo.asking.beliefs.BeliefAdapter",
    "credo.estimation.beliefs.Beliefs": "credo.asking.beliefs.GroupsAdapter",
    "credo.estimation.numeric.Numeric": "credo.asking.beliefs.NumericAdapter",
    "credo.families.family.Family": "credo.asking.beliefs.family_adapter",
    "builtins.dict": "credo.asking.beliefs.columns_adapter",
}
WATERFALLS = {
    "credo.networks.explanation.QueryExplanation": "credo.asking.networks.waterfall",
    "credo.models.explaining.Explanation": "credo.asking.classifiers.waterfall",
}

Role = Literal["variable", "target", "column", "parameter", "observation", "group"]


class Variable(TypedDict, total=False):
    """A name that questions may use. `values` are those of a category; `range` is that of a number, if known."""

    name: str
    kind: Literal["category", "number", "count", "date", "text"]
    role: Role
    values: list[Any]
    range: tuple[float, float]
    entries: list[str]  # the entries of a vector: name[entry]
    asked: bool  # whether P(name) has an answer; if not, it can only be given


class Adapter(Protocol):
    """How questions reach one kind of model."""

    estimates: ClassVar[bool]  # whether it has methods other than the exact one

    def variables(self) -> list[Variable]: ...

    def query(self, question: Question) -> Any:
        """The answer of `credo.ask` to P, E and argmax."""

    def explain(self, question: Question) -> Any:
        """The answer of `credo.ask` to explain."""


@runtime_checkable
class AnswersEvents(Protocol):
    """An adapter that also answers about conditions joined by or, and, not and parentheses."""

    def event(self, question: Question) -> Any: ...


@runtime_checkable
class AnswersMembers(Protocol):
    """An adapter that also answers about any, or all, of the members of a plate."""

    def about_members(self, question: Question, members: MemberTerm) -> float: ...


class EvidenceWeight(TypedDict):
    """A finding or a column, and its weight of evidence. The value of a missing cell is None."""

    name: str
    value: str | None
    weight: float


class WordWeight(TypedDict):
    """A word of a text, its part of the column's weight, and its position in characters."""

    word: str
    weight: float
    places: list[tuple[int, int]]


class ExplainedText(TypedDict):
    """A column's text and its words, the strongest first."""

    name: str
    text: str
    words: list[WordWeight]


@dataclass(frozen=True)
class Waterfall:
    """prior + weights of evidence = log-odds. `against` is empty where the odds are against all other values."""

    of: str
    against: str
    prior: float
    weights: list[EvidenceWeight]
    log_odds: float
    probability: float
    unit: str = "nats"
    texts: list[ExplainedText] = field(default_factory=list)

    @property
    def title(self) -> str:
        return f"{self.of} against {self.against}" if self.against else self.of


def adapter(model: object) -> Adapter:
    """The adapter of a model."""
    found = registered(model, ADAPTERS)
    if found is None:
        kind = type(model).__name__
        hint = ASK_INSTEAD.get(kind, "")
        raise DataError(f"questions go to networks, classifiers and beliefs, but this is of type {kind}{hint}")
    made: Adapter = found(model)
    return made


def waterfall(explanation: object) -> Waterfall:
    """The result of an `explain` as data."""
    found: Waterfall = registered(explanation, WATERFALLS)(explanation)
    return found


def registered(of: object, places: Mapping[str, str]) -> Any:
    """The entry registered for the type of an object, or for its nearest base class; None if there is none."""
    for each in type(of).__mro__:
        place = places.get(f"{each.__module__}.{each.__qualname__}")
        if place is not None:
            module, _, name = place.rpartition(".")
            return getattr(import_module(module), name)
    return None
