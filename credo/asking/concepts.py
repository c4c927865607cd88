"""Questions to concept learners: about the label of a row, given all of its attributes.

`P(EnjoySport=yes | Sky=Sunny, AirTemp=Warm)` is the vote of all concepts, weighted by their posteriors.
"""

from __future__ import annotations

from typing import Any, ClassVar

from credo.asking.protocol import Variable
from credo.asking.question import Question, Values, combined, refuse_contradictions, shortened, unknown
from credo.models.concepts.model import Concepts


class ConceptsAdapter:
    estimates: ClassVar[bool] = False

    def __init__(self, model: Concepts) -> None:
        self.model, self.target = model, str(model.target)
        self.values = {name: Values(values) for name, values in (model.schema or {}).items()}
        self.labels = Values(model.classes)

    def variables(self) -> list[Variable]:
        columns: list[Variable] = [
            {"name": name, "kind": "category", "role": "column", "asked": False, "values": [*each.values]}
            for name, each in self.values.items()
        ]
        label: Variable = {"name": self.target, "kind": "category", "role": "target", "asked": True}
        return [label | {"values": [*self.labels.values]}, *columns]

    def query(self, question: Question) -> Any:
        """{label: probability}, the probability of some labels, or the most probable label."""
        question.plain("a concept")
        row = self._row(question)
        for term in question.asked:
            if term.name.text != self.target:
                raise unknown(question, term.name.word, "a concept is about the label, not", [self.target])
        vote = self.model.vote(row)
        if question.kind == "argmax":
            question.only_names()
            return {self.target: vote.best}
        if question.kind == "E":
            question.only_names()
            numbers = self.labels.number(question, question.single().name)
            return sum(x * vote[label] for x, label in zip(numbers, self.labels.values, strict=True))
        term = question.single()
        if term.test is None:
            return dict(vote)
        weights = self.labels.weights(question, term)
        return float(sum(w * vote[label] for w, label in zip(weights, self.labels.values, strict=True)))

    def explain(self, question: Question) -> Any:
        raise question.error("the vote of concepts isn't explained column by column: see version_space", 0)

    def _row(self, question: Question) -> dict[str, Any]:
        """The row: one value for each attribute."""
        for term in question.given:
            if term.name.text not in self.values:
                raise unknown(question, term.name.word, "there is no attribute", [*self.values])
        given = combined(question, question.given, self.values)
        refuse_contradictions(question, given)
        row: dict[str, Any] = {}
        for name, each in self.values.items():
            possible = [value for value, weight in zip(each.values, given.get(name, ()), strict=False) if weight > 0]
            if len(possible) != 1:
                example = f"{shortened(name)}={shortened(str(each.values[0]))}"
                what = f"a concept covers a row or doesn't: give one value of {shortened(name)}, as in {example}"
                raise question.error(what, 0)
            row[name] = possible[0]
        return row
