"""credo.Concepts: learning a concept from examples, as a posterior over all conjunctions of attribute values."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import chain, product
from math import exp, log
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from credo import engines
from credo.core.description import DescriptionLength, bits
from credo.core.learning import gather
from credo.core.records import Shown, with_fields
from credo.data import Batch, Source, cells, source
from credo.data.schema import Schema
from credo.errors import DataError, EvidenceError, PriorError, SchemaError, SizeError, counted
from credo.models.concepts.concept import ANY, Attributes, Concept
from credo.models.concepts.conflicts import contradiction
from credo.models.concepts.evolution import ConceptEvolution
from credo.models.concepts.rows import LabelledRows, different_rows
from credo.models.concepts.version_space import VersionSpace
from credo.models.concepts.weights import ConceptWeights, Consistent, Noisy, best_query, representatives
from credo.models.hypotheses import Hypotheses
from credo.models.targets import with_target
from credo.models.votes import Prediction
from credo.notices import tell
from credo.numerics.exact import Array

MOST_LISTED = 2**16  # concepts of a space that can be listed


@dataclass(frozen=True, eq=False, init=False, repr=False)
class Concepts(Shown):
    """P(h | D) ∝ (1 − ε)^right ε^wrong over conjunctions h of attribute values; 1/|version space| where ε = 0.

    >>> days = Concepts({"sky": ["sunny", "rainy"], "air": ["warm", "cold"]}, target="enjoy")
    >>> days = days.update([{"sky": "sunny", "air": "warm", "enjoy": "yes"},
    ...                     {"sky": "rainy", "air": "warm", "enjoy": "no"}])
    >>> days.find_s(), days.version_space.general, days.version_space.size
    (<sunny, warm>, (<sunny, ?>,), 2)
    >>> days.vote({"sky": "sunny", "air": "cold"})
    {'yes': 0.5, 'no': 0.5}
    """

    _internal: ClassVar[tuple[str, ...]] = ("attributes", "labels", "rows")

    attributes: Attributes | None  # None: taken from the data by fit
    target: str | None  # the column of the labels
    positive: Any  # the label of positive examples; None: yes, true or 1
    noise: float  # the probability that a label is wrong
    rows: LabelledRows = field(init=False)
    labels: tuple[Any, Any] = field(init=False)  # as the data spell them: negative, positive

    def __init__(
        self, schema: Schema | Mapping[str, Iterable[object]] | None = None, *, target: str | None = None,
        positive: object = None, noise: float = 0.0,
    ) -> None:  # fmt: skip
        if not isinstance(noise, int | float | np.number) or not 0 <= noise < 0.5:
            raise PriorError(f"noise is the probability of a wrong label, at least 0 and below 0.5, but is {noise!r}")
        if not isinstance(schema, Schema | Mapping | None):
            raise SchemaError(f"a schema is a credo.Schema or {{attribute: [value, ...]}}, but is {schema!r:.60}")
        attributes = None if schema is None else Attributes.of(schema, target)
        set_ = object.__setattr__
        set_(self, "attributes", attributes)
        set_(self, "target", target)
        set_(self, "positive", positive)
        set_(self, "noise", float(noise))
        set_(self, "rows", LabelledRows.none(0 if attributes is None else len(attributes.names)))
        set_(self, "labels", ("no", "yes") if positive is None else (f"not {positive}", positive))

    # Learning

    def fit(self, data: object, target: object = None) -> Concepts:
        """Learn from a table alone; attributes and their values are those of the table, unless a schema was given."""
        table, name = with_target(source(data), self.target if target is None else target)
        attributes = self.attributes
        if attributes is None:
            if table.once:
                raise DataError("an iterator is read only once, for its values: give a table, or a schema")
            attributes = Attributes.of(Schema.infer(table), name)
        fresh = LabelledRows.none(len(attributes.names))
        return with_fields(self, attributes=attributes, target=name, rows=fresh).update(table)

    def update(self, data: object, target: object = None) -> Concepts:
        """Learn from more rows: candidate elimination, in one pass over the data."""
        model = self._named(target)
        found, labels = model._gathered(data, target)
        if found.unlabelled:
            tell(f"{counted(found.unlabelled, 'row')} without {model.target!r} left out")
        return with_fields(model, rows=model.rows + found, labels=labels)._checked()

    def forget(self, data: object, target: object = None) -> Concepts:
        """Unlearn rows exactly: the version space is as if they had never been learned."""
        found, _ = self._named(target)._gathered(data, target)
        return with_fields(self, rows=self.rows - found)

    def __add__(self, other: Concepts) -> Concepts:
        """The concepts after the rows of both."""
        if not isinstance(other, Concepts):
            return NotImplemented
        mine, its = (None if each.attributes is None else dict(each.attributes.values) for each in (self, other))
        for what, one, two in (
            ("attributes", mine, its), ("targets", self.target, other.target), ("noise", self.noise, other.noise),
            ("positive labels", self.positive, other.positive),
        ):  # fmt: skip
            if one != two:
                raise EvidenceError(f"these don't merge: their {what} differ, {one!r:.60} and {two!r:.60}")
        labels = self.labels if self.rows.n else other.labels
        return with_fields(self, rows=self.rows + other.rows, labels=labels)._checked()

    def merge(self, *others: Concepts) -> Concepts:
        """The same as `+`."""
        return sum(others, self)

    def _named(self, target: object) -> Concepts:
        """The model with its target column settled."""
        if self.attributes is None:
            raise SchemaError("there are no attributes yet: give a schema, or use fit(data, target=...)")
        if isinstance(target, str) and self.target not in (None, target):
            raise SchemaError(f"the labels were in column {self.target!r} so far, not in {target!r}")
        if self.target is not None:
            return self
        if target is None:
            raise SchemaError("name the column that holds the labels, as in update(data, target='enjoy')")
        name = target if isinstance(target, str) else "target"
        attributes = Attributes.of(self.attributes.values, name)
        return with_fields(self, target=name, attributes=attributes, rows=LabelledRows.none(len(attributes.names)))

    def _gathered(self, data: object, target: object) -> tuple[LabelledRows, tuple[Any, Any]]:
        """The rows of a table, and how it spells the two labels."""
        table = source(data)
        if target is not None and not isinstance(target, str):
            table = table.without(self.target).beside(str(self.target), target)
        table = self._opened(table)
        table.require([str(self.target)])
        read = gather(self._summarised, table, [str(self.target), *self._space.names], None, _Read.total)
        return read.rows, _spelt(read.labels, self.labels)

    def _opened(self, table: Source) -> Source:
        words = [str(self.target)] if isinstance(self.positive, str) else []
        table = table.as_words([*self._space.words, *words])
        table.require(self._space.names)
        return table

    def _summarised(self, batch: Batch, weight: Array) -> _Read:  # noqa: ARG002 - all rows count alike
        name = str(self.target)
        labels = cells.truths(batch.column(name), name, batch.number, self.positive, "positive").astype(np.int64)
        codes, levels = batch.categories(name)
        spelt = tuple(tuple(levels[int(k)].as_py() for k in np.unique(codes[labels == which])) for which in (0, 1))
        numbers = batch.number(0) + np.arange(batch.rows) if batch.taken is None else batch.start + 1 + batch.taken
        return _Read(LabelledRows.of(self._space.read(batch), labels, numbers), (spelt[0], spelt[1]))

    def _checked(self) -> Concepts:
        """Raise an error that names the rows if some contradict each other."""
        if not self.noise and (row := self.version_space.contradicted) is not None:
            raise EvidenceError(contradiction(self._space, self.rows, row, self.labels))
        return self

    # What is believed

    @property
    def _space(self) -> Attributes:
        if self.attributes is None:
            raise EvidenceError("nothing was learned yet: fit(data, target=...) first")
        return self.attributes

    @property
    def schema(self) -> dict[str, tuple[Any, ...]] | None:
        """The attributes and their values; None: taken from the data by fit."""
        return None if self.attributes is None else dict(self.attributes.values)

    @property
    def n(self) -> int:
        """Rows learned."""
        return self.rows.n

    @property
    def classes(self) -> tuple[Any, Any]:
        """The negative and the positive label, in the order of the probabilities' columns."""
        return self.labels

    @property
    def size(self) -> int:
        """The number of distinct concepts, consistent or not: 1 + Π (values + 1)."""
        return self._space.concepts

    @cached_property
    def version_space(self) -> VersionSpace:
        """The concepts that agree with every row, by the boundaries S and G of candidate elimination."""
        return VersionSpace(self._space, self.rows)

    def find_s(self) -> Concept:
        """The most specific concept that covers all positive rows. Where labels have no noise and a concept agrees with
        all rows, it is a MAP hypothesis: all concepts of the version space are equally probable."""
        specific = self.version_space.specific
        if specific.constraints is None:
            tell("no row is positive: the most specific concept covers nothing")
        return specific

    @cached_property
    def _weights(self) -> ConceptWeights:
        return Noisy(self._space, self.rows, self.noise) if self.noise else Consistent(self.version_space)

    def posterior(self, concept: Concept | Mapping[str, object]) -> float:
        """P(h | D) of a concept, or of {attribute: value} for the attributes that it constrains."""
        return self._weights.posterior(self._space.codes(concept))

    def most_probable(self) -> Concept:
        """A MAP hypothesis: Find-S's, where labels have no noise."""
        return self._space.concept(self._weights.most_probable())

    def log_evidence(self) -> float:
        """log P(labels | rows) = log Σ P(labels | h) P(h); without noise |version space| / |all concepts|."""
        return self._weights.log_likelihood_sum - log(self.size)

    def hypotheses(self) -> Hypotheses:
        """All concepts as credo.Hypotheses, with their posterior: for spaces that can be listed."""
        concepts = self._listed()
        likelihood = [exp(self._weights.log_likelihood(self._space.codes(each))) for each in concepts]
        return Hypotheses(concepts).update(likelihood) if self.n else Hypotheses(concepts)

    def _listed(self) -> list[Concept]:
        if self.size > MOST_LISTED:
            raise SizeError(f"there are {self.size:,} concepts: too many to list (at most {MOST_LISTED:,})")
        codes = product(*([*range(len(each)), ANY] for each in self._space.values.values()))
        return [self._space.concept(None), *map(self._space.concept, codes)]

    def evolution(self, data: object, target: object = None) -> ConceptEvolution:
        """The version space, and the posterior over concepts, after each row of the data."""
        steps = [self._named(target)]
        table = source(data)
        if target is not None and not isinstance(target, str):
            table = table.beside(str(steps[0].target), target)
        table = steps[0]._opened(table)
        for batch in table.batches([str(steps[0].target), *steps[0]._space.names]):
            for row in range(batch.rows):
                steps.append(steps[-1].update(Source.of_batch(batch.slice(row, 1))))
        return ConceptEvolution(tuple(steps))

    def description_length(self, data: object, *, target: object = None) -> DescriptionLength:
        """−log₂ of prior and of likelihood, for the most probable concept; all concepts are equally probable a
        priori."""
        fitted = self.fit(data, target) if not self.n else self
        rows, _ = fitted._gathered(data, target)
        concept = fitted._space.codes(fitted.most_probable())
        labels = with_fields(fitted, rows=rows)._weights.log_likelihood(concept)
        coded = f"column {fitted.target!r} given the others"
        return DescriptionLength(coded, log(fitted.size) / log(2), 0.0, bits(labels), rows.n)

    # What is predicted

    def vote(self, row: Mapping[str, object]) -> Prediction:
        """The Bayes-optimal classification of a row: P(positive) is the posterior of the concepts that cover it."""
        p = float(self.predict_proba([dict(row)])[0, 1])
        both = sorted([(self.labels[1], p), (self.labels[0], 1 - p)], key=lambda each: -each[1])
        return Prediction(both)

    def predict_proba(self, data: object) -> Array:
        """P(class | row): the share, by posterior, of concepts that cover the row. (rows, [negative, positive])"""
        table = self._opened(source(data))
        found = engines.map(ConceptVotes(self), table.partitions(self._space.names))
        return np.concatenate([np.empty((0, 2)), *found])

    def predict(self, data: object) -> NDArray[Any]:
        """The class that has more than half of the votes."""
        likely = self.predict_proba(data).argmax(axis=1)  # the negative one of equals
        return np.asarray(np.array(self.labels)[likely])

    def most_informative(self, candidates: object = None) -> dict[str, Any]:
        """The most informative query: the row whose vote is nearest to half, among all possible rows or the candidates.
        Its label is expected to halve the version space."""
        if candidates is None:
            nothing = bool(self.noise) or not len(self.rows.positives)
            return self._space.row(best_query(self._weights, self._space, nothing))
        found: dict[str, Any] | None = None
        nearest = 0.5
        for batch in self._opened(source(candidates)).batches(self._space.names):
            distance = np.abs(ConceptVotes(self)(batch)[:, 1] - 0.5)
            if len(distance) and distance.min() < nearest:
                row = int(distance.argmin())
                nearest, found = float(distance[row]), self._space.row(self._space.read(batch)[row])
        if found is None:
            raise EvidenceError("no candidate is informative: all remaining concepts agree on each of them")
        return found

    def __repr__(self) -> str:
        if self.attributes is None:
            return "Concepts: nothing was learned yet"
        about = counted(len(self._space.names), "attribute")
        head = f"{self.size:,} concepts over {about}, after {counted(self.n, 'row')}"
        if self.noise:
            return f"{head}, label noise {self.noise:g}\n  MAP {self.most_probable()}"
        lines = repr(self.version_space).splitlines()
        return "\n".join([head, *(f"  {line}" for line in lines[:-1]), f"  version space: {lines[-1]}"])


@dataclass(frozen=True, eq=False)
class ConceptVotes:
    """P(negative), P(positive) of a batch's rows; rows that are equal are voted on once."""

    model: Concepts

    def __call__(self, batch: Batch) -> Array:
        space, weights = self.model._space, self.model._weights
        codes, which = different_rows(representatives(weights, space, space.read(batch)))
        positive = np.array([weights.covering(row) for row in codes.tolist()], dtype=np.float64)
        return np.stack([1 - positive, positive], axis=1)[which]


@dataclass(frozen=True, eq=False)
class _Read:
    """A batch's labelled rows, and its spellings of the negative and the positive label."""

    rows: LabelledRows
    labels: tuple[tuple[Any, ...], tuple[Any, ...]]

    @classmethod
    def total(cls, parts: Sequence[_Read]) -> _Read:
        spelt = zip(*(part.labels for part in parts), strict=True)
        negative, positive = (tuple(dict.fromkeys(chain.from_iterable(each))) for each in spelt)
        return cls(LabelledRows.total([part.rows for part in parts]), (negative, positive))


def _spelt(seen: tuple[tuple[object, ...], tuple[object, ...]], known: tuple[object, object]) -> tuple[Any, Any]:
    """The negative and the positive label: as spelled in the data if in one way only, else the known ones."""
    negative, positive = (each[0] if len(each) == 1 else old for each, old in zip(seen, known, strict=True))
    if isinstance(negative, bool) and not seen[1]:
        return negative, True
    return (False, positive) if isinstance(positive, bool) and not seen[0] else (negative, positive)
