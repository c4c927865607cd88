"""Explanations: the weight of evidence of each column for one class against another; tables of parameters."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pyarrow as pa

from credo import engines
from credo.blocks.block import Likelihood
from credo.blocks.capabilities import Hides, Independent, WordByWord
from credo.core.records import Shown
from credo.data import Batch, source
from credo.data.fingerprints import chosen_rows
from credo.data.free_names import free_name
from credo.errors import DataError, EvidenceError, counted, suggest
from credo.numerics.exact import Array

if TYPE_CHECKING:
    from credo.models.class_predictor import ClassPredictor
    from credo.models.classifier import Classifier

NATS_IN_UNIT = {"nats": 1.0, "bits": float(np.log(2))}
PRINTED_COLUMNS, PRINTED_WORDS, PRINTED_CHARACTERS = 12, 8, 60  # limits of a printed explanation
HIDDEN_CELLS = 100_000  # cells hidden one by one: the more columns, the fewer rows
UNSEEN_REMARK = " (unseen value, ignored)"
ALL_COLUMNS = "(all)"  # stands for the column of a parameter that all columns of a block share


class Reasons(NamedTuple):
    """log P(class, row) of one row, as a sum. (classes,) each"""

    prior: Array
    terms: dict[str, Array]  # weighted, discounted log-likelihoods of each column; and the effect of label noise
    log_joint: Array  # up to a constant
    factor: float = 1.0  # the factor that discounts the columns' evidence


class WordContribution(NamedTuple):
    """A word of a text: its share of the column's weight, and its positions, in characters."""

    word: str
    weight: float
    places: tuple[tuple[int, int], ...]


TextContributions = dict[str, tuple[WordContribution, ...]]  # by text column


class QuestionStep(NamedTuple):
    """A step of a path, as down a tree: the question, the row's answer, and its weight of evidence."""

    column: str
    answer: str
    rows: float  # the weight of the learned rows that reach this step
    weight: float


@dataclass(frozen=True)
class Explanation(Shown):
    """prior + weights of evidence = log-odds of one class against another."""

    of: object
    against: object
    prior: float
    weights: dict[str, float]  # by column (for covarying ones, what each adds to those before it), and corrections
    values: dict[str, Any]  # the row's cells
    probability: float  # P(of | row)
    unit: str = "nats"
    words: TextContributions = field(default_factory=dict)  # by text column, the strongest first
    unseen: frozenset[str] = frozenset()  # columns with unseen values, which are ignored
    steps: tuple[QuestionStep, ...] = ()  # if the model asks about one column after another: prior + steps = log-odds
    shares: tuple[float, ...] = field(default=(), repr=False)  # P(class | row) of all classes

    @property
    def log_odds(self) -> float:
        return self.prior + sum(self.weights.values())

    def cell(self, name: str) -> str:
        """The row's cell in that column, as text."""
        return f"{cell_text(self.values[name])}{UNSEEN_REMARK if name in self.unseen else ''}"

    @property
    def strongest(self) -> list[str]:
        """The columns, largest weight first."""
        return sorted(self.weights, key=lambda name: -abs(self.weights[name]))

    def table(self) -> pa.Table:
        """An Arrow table: the prior and each column, largest weight first."""
        names = self.strongest
        return pa.table(
            {
                "column": ["(prior)", *names],
                "value": ["", *(self.cell(name) if name in self.values else "" for name in names)],
                f"weight ({self.unit})": [self.prior, *(self.weights[name] for name in names)],
            }
        )

    def __repr__(self) -> str:
        lines = [
            f"P({self.of}) = {self.probability:.4g}; for {self.of} against {self.against}, in {self.unit}:",
            f"  {self.prior:+z8.3f}  prior",
        ]
        if self.steps:
            lines += [f"  {step.weight:+z8.3f}  {step.answer} ({_rows(step.rows)})" for step in self.steps]
            return "\n".join([*lines, f"  {self.log_odds:+z8.3f}  log-odds"])
        speaking = [name for name in self.strongest if self.weights[name] or self.values.get(name) is not None]
        shown = speaking[:PRINTED_COLUMNS]
        for name in shown:
            value = f" = {self.cell(name)}" if name in self.values else ""
            lines.append(f"  {self.weights[name]:+z8.3f}  {name}{value}")
            words = self.words.get(name, ())
            lines += [f"            {each.weight:+z8.3f}  {each.word}" for each in words[:PRINTED_WORDS]]
            if others := [each.weight for each in words[PRINTED_WORDS:]]:
                lines.append(f"            {sum(others):+z8.3f}  {counted(len(others), 'more word')}")
        if len(speaking) > PRINTED_COLUMNS:
            rest = sum(self.weights[name] for name in speaking[PRINTED_COLUMNS:])
            lines.append(f"  {rest:+z8.3f}  {counted(len(speaking) - PRINTED_COLUMNS, 'more column')}")
        if silent := len(self.values.keys() - set(speaking)):
            lines.append(f"            {counted(silent, 'missing cell')}")
        lines.append(f"  {self.log_odds:+z8.3f}  log-odds")
        return "\n".join(lines)


def _rows(weight: float) -> str:
    """A number of rows, which may be fractional."""
    return counted(float(f"{weight:.4g}"), "row")


def cell_text(value: object) -> str:
    if value is None:
        return "missing"
    shown = f"{value:.6g}" if isinstance(value, float) else " ".join(str(value).split())
    return shown if len(shown) <= PRINTED_CHARACTERS else f"{shown[: PRINTED_CHARACTERS - 4]} ..."


def explained(model: ClassPredictor, row: object, of: object, against: object, unit: str) -> Explanation:
    """The explanation of one row, given as a dict of its cells or a table with one row."""
    if unit not in NATS_IN_UNIT:
        raise DataError(f"no such unit, {unit!r}; {suggest(unit, NATS_IN_UNIT)}")
    table = model.opened([row] if isinstance(row, dict) and not any(map(_is_column, row.values())) else row)
    batches = list(table.batches(model._present(table)))
    if sum(batch.rows for batch in batches) != 1:
        raise DataError(f"explain takes one row, but the data has {sum(batch.rows for batch in batches)}")
    return explained_row(model, batches[0], 0, of, against, unit)


def explained_row(
    model: ClassPredictor, batch: Batch, row: int, of: object = None, against: object = None, unit: str = "nats"
) -> Explanation:
    one = batch.slice(row, 1)
    prior, terms, log_joint, factor = model._reasons(one)
    if np.isneginf(log_joint.max()):
        raise EvidenceError(model.impossible(one))
    share = np.exp(log_joint - np.logaddexp.reduce(log_joint))
    first = model._code_of(of) if of is not None else int(share.argmax())
    others = [k for k in np.argsort(-share) if k != first]
    if not others:
        raise DataError("there is only one class: nothing to compare it with")
    second = model._code_of(against) if against is not None else int(others[0])
    if first == second:
        raise DataError(f"of and against are both {model.classes[first]!r}")
    if np.isneginf(log_joint[[first, second]]).all():
        both = " and ".join(repr(model.classes[k]) for k in (first, second))
        raise EvidenceError(f"the row is impossible under both {both}: neither has odds against the other")
    size = NATS_IN_UNIT[unit]
    weights = {name: float(each[first] - each[second]) / size for name, each in terms.items()}
    return Explanation(
        model.classes[first],
        model.classes[second],
        float(prior[first] - prior[second]) / size,
        weights,
        {name: _cell(one, name) for name in weights if name in model.feature_names},
        float(share[first]),
        unit,
        model._word_contributions(one, first, second, size / factor if factor else np.inf),
        model._unseen(one),
        model._steps(one, first, second, size),
        tuple(share.tolist()),
    )


def word_contributions(model: Classifier, one: Batch, first: int, second: int, size: float) -> TextContributions:
    """The weight of each word of the row's texts, summed over the column's forms."""
    filled, found = one.filled(model.views), dict[str, dict[str, float]]()
    readings: dict[str, Any] = {}
    for _, likelihood in model.terms.likelihoods:
        if (texts := WordByWord.of(likelihood)) is not None:
            name = likelihood.names[0]
            own, readings[name] = found.setdefault(name, {}), texts.reading
            for word, each in texts.words_of(likelihood.read(filled)).items():
                own[word] = own.get(word, 0.0) + float(each[first] - each[second]) / size
    return {name: placed_words(_cell(one, name) or "", weights, readings[name]) for name, weights in found.items()}


def placed_words(text: str, weights: dict[str, float], reading: Any) -> tuple[WordContribution, ...]:
    """The weight and positions of each word, the strongest first."""
    from credo.data.tokens import places

    at = defaultdict[str, list[tuple[int, int]]](list)
    for start, end, word in places(text, reading):
        at[word].append((start, end))
    words = (WordContribution(word, weight, tuple(at.get(word, ()))) for word, weight in weights.items())
    if reading.buckets:  # hashed words have no readable names: show the text itself
        words = (each._replace(word=_spelt(text, each) or each.word) for each in words)
    return tuple(sorted(words, key=lambda each: -abs(each.weight)))


def _spelt(text: str, word: WordContribution) -> str:
    """The distinct words, in order of first occurrence."""
    found = {text[start:end].lower(): text[start:end] for start, end in reversed(word.places)}
    return " / ".join(reversed(found.values()))


def contributions(model: Classifier, data: object, rows: int) -> dict[str, float]:
    """The mean change of the log-odds between the two most probable classes when a column's cells are hidden.

    The other columns keep their weight: the discount of missing cells is not the column's own doing.
    """
    table = source(data)
    total, seen = dict.fromkeys(model.views, 0.0), 0
    stride = max(1, int(model.n // max(100, min(rows, HIDDEN_CELLS // len(model.views)))))
    for moved, kept in engines.map(ContributionSums(model, stride), table.partitions(model._present(table))):
        for name, size in moved.items():
            total[name] += size
        seen += kept
    return {name: size / max(seen, 1) for name, size in total.items()}


@dataclass(frozen=True, eq=False)
class ContributionSums:
    """The change of the log-odds when a column's cells are hidden, summed over some of a batch's rows, and the number
    of rows."""

    model: Classifier
    stride: int

    def __call__(self, batch: Batch) -> tuple[dict[str, float], int]:
        model, kept = self.model, batch.take(chosen_rows(batch.start, batch.rows, self.stride))
        if not kept.rows:
            return {}, 0
        whole, hidden = _all_terms(model, kept)
        score = model.scoring(kept.filled(model.views))
        log_joint = score(whole)
        first, second = np.argsort(-log_joint, axis=1)[:, :2].T
        each, total = np.arange(kept.rows), dict[str, float]()
        for name in hidden:
            if np.isfinite(gone := sum(hidden[name], np.zeros_like(whole))).all():
                without = score(whole - gone)
            else:  # a row that is impossible with the cell may be possible without it
                without = score(_all_terms(model, kept.without(name))[0])
            with np.errstate(invalid="ignore"):
                apart = log_joint - without
            moved = apart[each, first] - apart[each, second]
            total[name] = float(np.abs(moved).sum())
        return total, kept.rows


def _all_terms(model: Classifier, batch: Batch) -> tuple[Array, dict[str, list[Array]]]:
    """The log-likelihoods of all blocks, and the part of each that is lost when a column's cells are hidden.

    Columns are read once: where the columns of a block add, each is its own part. (rows, classes)
    """
    batch = batch.filled(model.views)
    whole = np.zeros((batch.rows, len(model.classes)))
    hidden: dict[str, list[Array]] = {}
    for _, likelihood in model.terms.likelihoods:
        log_likelihood, parts = _block_terms(likelihood, batch, whole.shape)
        whole += log_likelihood
        for name, part in parts.items():
            hidden.setdefault(name, []).append(part)
    return whole, hidden


def _block_terms(likelihood: Likelihood, batch: Batch, shape: tuple[int, int]) -> tuple[Array, dict[str, Array]]:
    """One block's log-likelihoods, and each column's part of them."""
    cells, log_likelihood = likelihood.read(batch), np.zeros(shape)
    if len(likelihood.names) > 1 and (columns := Independent.of(likelihood)) is not None:
        parts = columns.by_column(cells, shape)
        return sum(parts.values(), log_likelihood), parts
    likelihood.add(cells, log_likelihood)
    if len(likelihood.names) == 1:
        return log_likelihood, {likelihood.names[0]: log_likelihood}
    if (hides := Hides.of(likelihood)) is not None:
        return log_likelihood, hides.hidden(cells, log_likelihood)
    with np.errstate(invalid="ignore"):
        return log_likelihood, {
            name: log_likelihood - _without(likelihood, batch, name, shape) for name in likelihood.names
        }


def _without(likelihood: Likelihood, batch: Batch, name: str, shape: tuple[int, int]) -> Array:
    """The log-likelihoods of a block with a column's cells missing."""
    out = np.zeros(shape)
    likelihood.add(likelihood.read(batch.only([*set(likelihood.names) - {name}]).filled([name])), out)
    return out


def _cell(batch: Batch, name: str) -> Any:
    return batch.column(name)[0].as_py() if name in batch.names else None


def _is_column(value: object) -> bool:
    return isinstance(value, list | tuple | np.ndarray | pa.Array | pa.ChunkedArray)


def parameter_table(model: Classifier) -> pa.Table:
    """An Arrow table with a row for each parameter and a column for each class."""
    lines = [(str(model.target), "P(class)", np.exp(model.terms.log_prior))]
    for _, likelihood in model.plain.terms.likelihoods:
        lines += [(line.column or ALL_COLUMNS, line.name, line.estimates) for line in likelihood.parameters()]
    columns: dict[str, Any] = {"column": [line[0] for line in lines], "parameter": [line[1] for line in lines]}
    for k, value in enumerate(model.classes):
        columns[free_name(str(value), columns)] = [float(line[2][k]) for line in lines]
    return pa.table(columns)


def described(model: Classifier) -> str:
    """A model in a few lines."""
    how = ("averaged " if model.settings.average else "") + ("tuned " if model.tuning is not None else "")
    name = how + type(model.plain).__name__
    if model.evidence is None:
        return f"{name}, not fitted yet"
    forms: dict[str, list[str]] = {}
    tuning = model.tuning
    chosen = model.read_forms if tuning is None else {name: tuning.read_as(name) for name in tuning.forms}
    for column, views in chosen.items():
        forms.setdefault(" and ".join(views) or "left out", []).append(column)
    weights = model.class_weights
    order = np.argsort(-weights)[:8]
    classes = ", ".join(f"{model.classes[k]} {weights[k]:g}" for k in order)
    more = f", ... ({len(model.classes)} in all)" if len(model.classes) > len(order) else ""
    lines = [f"{name} of {model.target}, after {counted(model.n, 'row')}: {classes}{more}"]
    for form, columns in forms.items():
        few = ", ".join(columns[:8]) + (f", ... ({len(columns)} in all)" if len(columns) > 8 else "")
        lines.append(f"  {form}: {few}")
    if model.tuning is not None:
        lines.append(f"  tuned: {model.tuning.described(model.n)}")
    return "\n".join(lines)
