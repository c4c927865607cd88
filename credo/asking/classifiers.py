"""Questions to classifiers: about the class and, where the model is generative, category columns, given any cells."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import product
from math import inf, log, prod
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import pyarrow as pa

from credo.asking.protocol import EvidenceWeight, ExplainedText, Variable, Waterfall, WordWeight
from credo.asking.question import OneOf, Question, Term, Values, combined, refuse_contradictions, shortened, unknown
from credo.data import Source
from credo.data.spelling import dates
from credo.errors import DataError, EvidenceError, SizeError
from credo.models.class_predictor import ClassPredictor
from credo.models.classifier import Classifier
from credo.models.explaining import Explanation, WordContribution
from credo.networks.answers import MostProbable
from credo.numerics.exact import Array

if TYPE_CHECKING:
    from credo.models.hidden_markov.model import HiddenMarkov
    from credo.models.mixture.model import Mixture

MOST_COMBINATIONS = 1_000_000  # combinations of values that a question may enumerate


class ClassifierAdapter:
    """P(class | cells) is that of `predict_proba`, which is tuned; all else follows from log p(row, class), which
    isn't.

    Only generative models have the latter.
    """

    estimates: ClassVar[bool] = False

    def __init__(self, model: ClassPredictor) -> None:
        self.model = model

    def variables(self) -> list[Variable]:
        model = self.model
        found: list[Variable] = [{"name": str(model.target), "kind": "category", "role": "target"}]
        found[0] |= {"values": [*model.classes], "asked": True}
        for name, each in model.features.items():
            is_category = each.kind == "category"
            asked = is_category and isinstance(model, Classifier)
            column: Variable = {"name": name, "kind": each.kind, "role": "column", "asked": asked}  # type: ignore[typeddict-item]
            found.append(column | {"values": [*each.values]} if is_category else column)
        return found

    def query(self, question: Question) -> Any:
        asking = self._asking(question)
        if question.kind == "P":
            return asking.probabilities()
        return asking.expectation() if question.kind == "E" else asking.most_probable()

    def explain(self, question: Question) -> Any:
        return self._asking(question).explanation()

    def _asking(self, question: Question) -> _ClassifierQuestion:
        model = self.model
        _ = model.classes  # an error if nothing was learned
        question.plain("a classifier")
        for term in (*question.asked, *question.given):
            if term.name.text not in (known := (str(model.target), *model.feature_names)):
                raise unknown(question, term.name.word, "there is no column", known)
            if term.done:
                what = f"do(...) is for networks with arrows, not for a {type(model).__name__}"
                raise question.error(what, term.at)
        return _ClassifierQuestion(model, question)


def hidden_groups_adapter(model: Mixture | HiddenMarkov) -> ClassifierAdapter:
    """The adapter of a mixture or hidden Markov model: a classifier whose classes are the components, or the states of
    a single row."""
    return ClassifierAdapter(model.classifier)


def explain_row(
    model: ClassPredictor, table: Source, row: int, of: str | None, against: str | None, unit: str
) -> Waterfall:
    """The explanation of one row, counted from 1; later rows aren't read. Classes are named as text."""
    seen = 0
    classes = [next((value for value in model.classes if str(value) == name), name) for name in (of, against)]
    for batch in table.batches([name for name in table.names if name in model.feature_names] or table.names):
        if row <= seen + batch.rows:
            one = Source.of_batch(batch.slice(row - 1 - seen, 1))
            return waterfall(model.explain(one, *classes, unit=unit))
        seen += batch.rows
    raise DataError(f"there is no row {row}: the data has {seen:,}")


def waterfall(found: Explanation) -> Waterfall:
    weights = [_weight(found, name) for name in found.strongest]
    texts: list[ExplainedText] = [
        {"name": name, "text": str(found.values[name]), "words": [_word(each) for each in words]}
        for name, words in found.words.items()
        if found.values.get(name)
    ]
    sums = found.prior, weights, found.log_odds, found.probability
    return Waterfall(str(found.of), str(found.against), *sums, found.unit, texts)


def _weight(found: Explanation, name: str) -> EvidenceWeight:
    value = None if found.values.get(name, "") is None else found.cell(name) if name in found.values else ""
    return {"name": name, "value": value, "weight": found.weights[name]}


def _word(word: WordContribution) -> WordWeight:
    return {"word": word.word, "weight": word.weight, "places": [*word.places]}


@dataclass(frozen=True)
class _ClassifierQuestion:
    """A question, with its names resolved."""

    model: ClassPredictor
    question: Question

    @property
    def target(self) -> str:
        return str(self.model.target)

    @cached_property
    def values(self) -> dict[str, Values]:
        """The values of the class and of the category columns."""
        columns = self.model.features.items()
        found = {name: Values(column.values) for name, column in columns if column.kind == "category"}
        return {self.target: Values(self.model.classes), **found}

    @cached_property
    def given(self) -> dict[str, list[float]]:
        terms = [term for term in self.question.given if term.name.text in self.values]
        found = combined(self.question, terms, self.values)
        refuse_contradictions(self.question, found)
        return found

    @cached_property
    def cells(self) -> dict[str, Any]:
        """The given cells of numbers and texts, for which only a value can be given."""
        found: dict[str, Any] = {}
        for term in self.question.given:
            name = term.name.text
            if name in self.values:
                continue
            value = self._cell(term)
            if found.setdefault(name, value) != value:
                raise self.question.error(f"{term.name} is given twice", term.at)
        return found

    def _cell(self, term: Term) -> str | float | None:
        kind = self.model.features[term.name.text].kind
        is_text, is_date = kind == "text", kind == "date"
        what = "a text" if is_text else "a date" if is_date else "a number"
        if not isinstance(term.test, OneOf) or term.test.negated or len(term.test.values) > 1:
            raise self.question.error(f"{term.name} is {what}: give its value, as in {term.name}=value", term.at)
        word = term.test.values[0]
        if is_text:
            return word.text
        if is_date:
            if dates(pa.array([word.text])) is None:
                shown = f"must be a date in quotes, as '2024-05-31', but is {str(word)!r}"
                raise self.question.error(f"{term.name} {shown}", word.at)
            return word.text
        if word.number is None or abs(word.number) == inf:
            raise self.question.error(f"{term.name} must be a number, but is {str(word)!r}", word.at)
        return word.number

    def check_asked(self) -> None:
        for term in self.question.asked:
            if term.name.text not in self.values:
                known = ", ".join(shortened(name) for name in [*self.values][:8])
                raise self.question.error(
                    f"{term.name} is a number or a text, which can only be given, as in "
                    f"P({shortened(self.target)} | {term.name}=value); ask about {known}",
                    term.at,
                )

    # Probabilities

    def possible(self, name: str) -> list[int]:
        """The values of a category column, or the classes, that the evidence leaves possible."""
        weights = self.given.get(name) or [1.0] * len(self.values[name].values)
        return [i for i, weight in enumerate(weights) if weight > 0]

    def rows(self, names: Sequence[str]) -> pa.Table:
        """A row for each combination of these columns' values, with the given cells; other cells are missing."""
        places = [self.possible(name) for name in names]
        size = prod(map(len, places))
        if size > MOST_COMBINATIONS:
            raise SizeError(
                f"{', '.join(map(shortened, names[:8]))} have {size:.3g} combinations of values, and at most "
                f"{MOST_COMBINATIONS:,} are enumerated: ask about fewer columns, or give more of them"
            )
        codes = np.unravel_index(np.arange(size), [len(each) for each in places]) if names else ()
        chosen = {name: np.array(each)[at] for name, each, at in zip(names, places, codes, strict=True)}
        columns: dict[str, Any] = {}
        for name, column in self.model.features.items():
            if name not in self.values:
                kind = pa.string() if column.kind in ("text", "date") else pa.float64()
                columns[name] = pa.repeat(pa.scalar(self.cells.get(name), kind), size)
                continue
            levels = column.levels
            if name in chosen:
                columns[name] = levels.take(pa.array(chosen[name]))
            elif name in self.given:
                columns[name] = pa.repeat(levels[self.possible(name)[0]], size)
            else:
                columns[name] = pa.nulls(size, levels.type)
        return pa.table(columns)

    def open_columns(self, asked: Sequence[str]) -> list[str]:
        """The columns asked for, and those given with several values."""
        several = [name for name in self.given if len(self.possible(name)) > 1]
        return [name for name in dict.fromkeys([*asked, *several]) if name != self.target]

    def log_joint(self, columns: Sequence[str]) -> Array:
        """log p(columns, class, evidence). (values of each column..., classes)"""
        if not isinstance(self.model, Classifier):
            raise EvidenceError(
                f"a {type(self.model).__name__} models P({shortened(self.target)} | columns), not the "
                "probability of the columns: ask about the class alone, given at most one value of each column"
            )
        shape = [len(self.possible(name)) for name in columns]
        found = self.model.log_joint(self.rows(columns)).reshape(*shape, len(self.model.classes))
        found = found[..., self.possible(self.target)]
        for axis, name in enumerate([*columns, self.target]):
            if name in self.given:
                weights = np.log([self.given[name][i] for i in self.possible(name)])
                found = found + weights.reshape(-1, *[1] * (found.ndim - 1 - axis))
        settled = [self.given[name] for name in self.given if name not in (*columns, self.target)]
        found = found + sum(log(max(weights)) for weights in settled)  # one value of each is possible
        if np.isneginf(found.max()):
            known = ", ".join(f"{term.name}" for term in self.question.given[:8])
            raise EvidenceError(
                f"the evidence on {known} is impossible under every class; with estimate='bayes' or 'mean' it isn't"
            )
        return found

    def table(self, asked: Sequence[str]) -> Array:
        """P(asked | given). (possible values of each...)"""
        columns = self.open_columns(asked)
        if [*asked] == [self.target] and self.target not in self.given:
            return self._tuned(columns)
        found = self.log_joint(columns)
        p = np.exp(found - found.max())
        axes = [*columns, self.target]
        p = p.sum(tuple(axis for axis, name in enumerate(axes) if name not in asked)) / p.sum()
        left = [name for name in axes if name in asked]
        return np.asarray(p.transpose([left.index(name) for name in asked]))

    def _tuned(self, columns: Sequence[str]) -> Array:
        """P(class | given) = Σ P(values | given) P(class | values, given), over the columns' possible values."""
        rows = self.rows(columns)
        if not columns:
            return np.asarray(self.model.predict_proba(rows)[0])
        found = self.log_joint(columns)
        weights = np.exp(found - found.max()).sum(-1).reshape(-1)
        there = np.flatnonzero(weights)
        return np.asarray(weights[there] @ self.model.predict_proba(rows.take(there)) / weights.sum())

    # Answers

    def probabilities(self) -> Any:
        self.check_asked()
        names, terms = self.question.names, [term for term in self.question.asked if term.test is not None]
        events = combined(self.question, terms, self.values)
        asked = list(dict.fromkeys([*names, *events]))
        table = self.table(asked)
        for axis, name in enumerate(asked):
            if name in events:
                happens = np.array(events[name])[self.possible(name)]
                table = table * happens.reshape(-1, *[1] * (table.ndim - 1 - axis))
        table = table.sum(tuple(range(len(names), len(asked))))
        if not names:
            return float(table)
        found = dict.fromkeys(product(*(self.values[name].values for name in names)), 0.0)
        found |= zip(product(*map(self._possible_values, names)), table.reshape(-1).tolist(), strict=True)
        return found if len(names) > 1 else {value: p for (value,), p in found.items()}

    def _possible_values(self, name: str) -> list[Any]:
        return [self.values[name].values[i] for i in self.possible(name)]

    def expectation(self) -> float:
        self.check_asked()
        self.question.only_names()
        term = self.question.single()
        numbers = np.array(self.values[term.name.text].number(self.question, term.name))
        return float(numbers[self.possible(term.name.text)] @ self.table([term.name.text]))

    def most_probable(self) -> MostProbable:
        self.check_asked()
        self.question.only_names()
        asked = self.question.names or [*self.values]
        table = self.table(asked)
        best = np.unravel_index(int(table.argmax()), table.shape)
        found = MostProbable((name, self._possible_values(name)[i]) for name, i in zip(asked, best, strict=True))
        whole = self.log_joint(self.open_columns([]))
        found.log_joint = float(np.logaddexp.reduce(whole.reshape(-1))) + log(table[best])
        return found

    def explanation(self) -> Any:
        """The explanation of the given row."""
        self.check_asked()
        term = self.question.single()
        if term.name.text != self.target:
            what = f"explain is about the class, as in explain P({shortened(self.target)} | ...)"
            raise self.question.error(what, term.at)
        for each in self.question.given:
            several = each.name.text in self.given and len(self.possible(each.name.text)) > 1
            if several or each.name.text == self.target:
                raise self.question.error(
                    f"explain takes one value of each column, which {each.name} doesn't have", each.at
                )
        of = None
        if term.test is not None:
            weights = self.values[self.target].weights(self.question, term)
            if sum(weights) != 1:
                raise self.question.error("explain is about one class", term.at)
            of = self.model.classes[weights.index(1.0)]
        return self.model.explain(self.rows([]), of)
