"""Questions to regressions: about the target, given columns, and about the weights.

`E(price | rooms=3, city=Bonn)` is the prediction; columns that aren't given count as average. `P(weights[rooms] > 0)`
is about the weight of a term.
"""

from __future__ import annotations

from math import inf
from typing import Any

from credo.asking.beliefs import QuantityAdapter, entry_of
from credo.asking.protocol import Variable
from credo.asking.quantities import Quantity
from credo.asking.question import Name, OneOf, Question, Term, Values, shortened, unknown
from credo.data import Source
from credo.data.schema import Column
from credo.errors import DataError
from credo.models.regression.explaining import Contributions
from credo.models.regression.linear import LinearRegression

WEIGHTS, VARIANCE, INTERCEPT = "weights", "variance", "intercept"


class RegressionAdapter(QuantityAdapter):
    def __init__(self, model: LinearRegression) -> None:
        self.model, features = model, model.fitted.basis.features
        self.schema, self.terms = features.schema, (INTERCEPT, *features.names)

    def variables(self) -> list[Variable]:
        return [
            {"name": str(self.model.target), "kind": "number", "role": "target", "asked": True, "range": (-inf, inf)},
            *map(_column, self.schema),
            {"name": WEIGHTS, "kind": "number", "role": "parameter", "asked": True, "entries": [*self.terms]},
            {"name": VARIANCE, "kind": "number", "role": "parameter", "asked": True, "range": (0.0, inf)},
        ]

    def quantity(self, question: Question, name: Name, given: list[Term]) -> Quantity:
        if name.text == self.model.target:
            return self._target(question, name, given)
        if name.text in self.schema.names:
            raise question.error(f"{name} is a feature: ask about {self.model.target}, given features", name.word.at)
        weights, variance = self.model.marginals()
        if name.text == VARIANCE:
            return Quantity(variance, lambda: self.model.mode().variance)
        if name.text != WEIGHTS:
            raise unknown(question, name.word, "there is no", [str(self.model.target), WEIGHTS, VARIANCE])
        if not name.index:
            every = {term: entry_of(weights, j) for j, term in enumerate(self.terms)}
            return Quantity(every, lambda: self.model.mode().weights)
        if len(name.index) > 1:
            raise question.error(f"{name.word} has entries of one name, not of {len(name.index)}", name.index[1].at)
        j = Values(self.terms).find(name.index[0])
        if j is None:
            raise unknown(question, name.index[0], f"{name.word} has no entry", self.terms)
        return Quantity(entry_of(weights, j), lambda: self.model.mode().weights[j])

    def explain(self, question: Question) -> Any:
        (term,) = question.asked or (None,)
        if term is None or term.name.text != self.model.target or term.test is not None:
            raise question.error(f"a regression explains its target, as in explain P({self.model.target} | ...)", 0)
        given = [*question.given]
        return self.model.explain(self._row(question, given))

    def _target(self, question: Question, name: Name, given: list[Term]) -> Quantity:
        row = self._row(question, given)
        absent = [each for each in self.schema.names if each not in row]
        if absent and self.model.given is not None:  # a given prior is for cells that aren't centred
            few = shortened(absent[0])
            raise question.error(f"{name} depends on {few}: give it, as in P({name} | {few}=value)", name.word.at)
        return Quantity(self.model.predictive({**dict.fromkeys(self.schema.names), **row}))

    def _row(self, question: Question, given: list[Term]) -> dict[str, Any]:
        """The given cells; removes their terms from `given`."""
        row: dict[str, Any] = {}
        known = {column.name: column for column in self.schema}
        for term in [*given]:
            if term.name.text not in known:
                raise unknown(question, term.name.word, "there is no feature", [*known])
            column = known[term.name.text]
            one = isinstance(term.test, OneOf) and not term.test.negated and len(term.test.values) == 1
            word = term.test.values[0] if one and isinstance(term.test, OneOf) else None
            if column.levels is None:
                if word is None or word.number is None or abs(word.number) == inf:
                    raise question.error(f"{term.name} must be given as a number", term.at)
                row[column.name] = word.number
            else:
                place = None if word is None else Values(column.values).find(word)
                if word is None:
                    raise question.error(f"give one value, as in {term.name}=value", term.at)
                if place is None:
                    raise unknown(question, word, f"{term.name} has no value", column.values)
                row[column.name] = column.values[place]
            given.remove(term)
        return row


def _column(column: Column) -> Variable:
    if column.levels is None:
        return {"name": column.name, "kind": "number", "role": "column", "asked": False}
    return {"name": column.name, "kind": "category", "role": "column", "values": [*column.values], "asked": False}


def explained_number(model: LinearRegression, table: Source, row: int) -> Contributions:
    """The explanation of one row, counted from 1; later rows aren't read."""
    seen = 0
    for batch in table.batches([name for name in table.names if name in (model.columns or ())] or table.names):
        if row <= seen + batch.rows:
            return model.explain(Source.of_batch(batch.slice(row - 1 - seen, 1)))
        seen += batch.rows
    raise DataError(f"there is no row {row}: the data has {seen:,}")
