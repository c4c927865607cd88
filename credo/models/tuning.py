"""Tuning: what the evidence leaves open, chosen on leave-one-out scores, kept apart from it and shown."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import product
from typing import TYPE_CHECKING, Any

import numpy as np

from credo.blocks.block import ALL, Settings
from credo.blocks.odds import DOUBTS, POWERS
from credo.data import Batch, Source
from credo.engines import local
from credo.errors import DataError, EvidenceError
from credo.evidence import Evidence
from credo.exact import Array
from credo.lazy import lazy
from credo.learning import Weight, Weights, fold_scores
from credo.models.forms import NUMBER_FORMS, ODDS_FORMS, TEXT_FORMS, Number, Text, Views
from credo.models.weighing import Sheet, Weighing, chosen_rows, losses_at_modes, shares, weighed

if TYPE_CHECKING:
    from credo.models.classifier import Classifier

FEW_ROWS = 3000  # on which the settings of odds are chosen
ROWS, CELLS = 20_000, 4_000_000  # of a sheet: more rows are sampled
FOLDS = 5  # in which weights are validated
OUT_OF_FOLD = (10, 5)  # folds by which rows are scored that can't be left out one by one: of few rows, of many
IMPOSSIBLE = -1e3  # nats
OTHERS = {"smoothing": (0.1, 0.01), "strength": (10.0,)}  # what is tried beside what was asked for, while it helps


@dataclass(frozen=True)
class Tuning:
    """Which forms each column is read in, the weight of each, the classes' biases, and what the priors are worth."""

    forms: Mapping[str, tuple[str, ...]]
    weights: Mapping[str, Mapping[str, float]]  # {form: {voice: weight}}
    classes: tuple[Any, ...]
    biases: tuple[float, ...]
    smoothing: float
    strength: float
    rows: float  # the weight of the rows that it was chosen on
    log_loss: float  # of rows whose weights others gave, on leave-one-out scores
    mixed: str | None = None  # the form whose log-likelihoods are mixed between classes
    mixture: tuple[tuple[float, ...], ...] = ()
    odds: Mapping[str, tuple[float, float]] = field(default_factory=dict)  # {text column, or its pairs: c and p}
    slips: float = 0.0  # the share of rows that are told by the classes' prior alone

    def applied_to(self, settings: Settings) -> Settings:
        return replace(settings, smoothing=self.smoothing, strength=self.strength, odds=self.odds)

    def weights_of(self, form: str, voices: Sequence[str]) -> Array:
        own = self.weights.get(form, {})
        return np.array([own.get(voice, own.get(ALL, 0.0)) for voice in voices])

    def biases_of(self, classes: Sequence[Any]) -> Array:
        """A class that came later has none."""
        own = dict(zip(self.classes, self.biases, strict=True))
        return np.array([own.get(value, 0.0) for value in classes])

    def mixture_of(self, classes: Sequence[Any]) -> Array:
        """None at all where a class came later: what is said of the others would be held against it."""
        place = {value: k for k, value in enumerate(self.classes)}
        if not set(classes) <= place.keys():
            return np.zeros((len(classes), len(classes)))
        kept = [place[value] for value in classes]
        return np.array(self.mixture)[np.ix_(kept, kept)]

    def described(self, rows: float) -> str:
        slips = f"slips {self.slips:.2g}, " if self.slips else ""
        older = "" if np.isclose(rows, self.rows) else f" (on {self.rows:g} rows: older than the evidence)"
        each = [weight for weights in self.weights.values() for weight in weights.values()]
        return (
            f"smoothing {self.smoothing:g}, strength {self.strength:g}, weights {min(each):.3g} to {max(each):.3g}, "
            f"{slips}log-loss {self.log_loss:.4f}{older}"
        )


@dataclass(frozen=True, eq=False)
class Candidate:
    """A model in some forms and settings, and what it says of rows that hadn't taught it."""

    model: Any
    forms: Views
    settings: Settings
    sheet: Sheet
    seed: int
    mixed: str | None = None  # a form whose log-likelihoods may be mixed between classes
    rescored: Callable[[Settings], Sheet] | None = None  # what it says under other settings, where that can be found
    tried: tuple[str, ...] = ("smoothing", "strength")  # which settings may be others

    @property
    def rows(self) -> int:
        return len(self.sheet.truth)

    @lazy
    def outcome(self) -> tuple[Weighing, Array]:
        """Weights of what it says, and probabilities of rows by weights that others gave."""
        mixed = next((j for j, (form, _) in enumerate(self.sheet.voices) if form == self.mixed), None)
        texts = any(form in TEXT_FORMS for form, _ in self.sheet.voices)
        return weighed(self.sheet, mixed, FOLDS, self.seed, slips=texts)

    @lazy
    def log_loss(self) -> float:
        shown = self.outcome[1]
        own = shown[np.arange(len(self.sheet.truth)), self.sheet.truth]
        loss = -float(np.average(np.log(np.maximum(own, np.finfo(float).tiny)), weights=self.sheet.weight))
        return 0.0 if loss <= 0 else loss

    def resettled(self) -> Candidate:
        """With smoothing and strength, one after the other, as they foresee rows best."""
        best = self
        for name, values in OTHERS.items():
            if self.rescored is None or not self._open(name):
                continue
            for value in values:
                if value == getattr(best.settings, name):
                    continue
                settings = replace(best.settings, **{name: value})  # type: ignore[arg-type]
                other = replace(best, settings=settings, sheet=self.rescored(settings))
                if other.log_loss >= best.log_loss:
                    break
                best = other
        return best

    def _open(self, name: str) -> bool:
        if name not in self.tried:
            return False
        weights = self.outcome[0].weights
        forms = {form for (form, _), weight in zip(self.sheet.voices, weights, strict=True) if weight}
        if name == "smoothing":
            return self.settings.m is None and bool(forms & {"category", "binned", "coarse", "words", "presences"})
        return self.settings.estimate != "ml" and bool(forms & {"gaussian", "log", "count"})

    def tuned(self) -> Any:
        """The model with this tuning, and with the views that it needs."""
        model, sheet, (weighing, _) = self.model, self.sheet, self.outcome
        weights: dict[str, dict[str, float]] = {}
        for (form, voice), weight in zip(sheet.voices, weighing.weights, strict=True):
            weights.setdefault(form, {})[voice] = float(weight)
        mixed = None if weighing.mixed is None else sheet.voices[weighing.mixed][0]
        speaking = {form for form, own in weights.items() if any(own.values()) or form == mixed}
        views = {
            name: tuple(v for i, v in enumerate(each) if i == 0 or v in speaking) for name, each in model.views.items()
        }
        used = {name: tuple(v for v in self.forms[name] if v in speaking) for name in self.forms}
        mixture = () if weighing.mixture is None else tuple(tuple(map(float, row)) for row in weighing.mixture)
        chosen = Tuning(
            used, weights, model.classes, tuple(map(float, weighing.biases)), self.settings.smoothing,
            self.settings.strength, model.n, self.log_loss, mixed, mixture, self.settings.odds,
            weighing.slips,
        )  # fmt: skip
        narrow = replace(model, views=views, tuning=chosen)
        return replace(narrow, evidence=model.evidence.keeping(narrow.part_names()))


def tuned(model: Classifier, table: Source, weight: Weight, seed: int) -> Any:
    """Forms of number columns, then smoothing and strength, then weights and biases."""
    if table.once:
        raise DataError("tuning reads the data again, and an iterator can be read only once: give a table")
    if len(model.classes) < 2:
        raise EvidenceError("there is only one class: nothing to tune")
    table = table.held()
    model = widened(replace(model, tuning=None, report=None), table, weight)  # type: ignore[type-var]
    with local.one_blas_thread():
        return candidate(model, table, weight, seed).resettled().tuned()


def candidate(model: Any, table: Source, weight: Weight, seed: int, stride: int | None = None) -> Candidate:
    """A model whose columns are in the forms that foresee best; rows are left out one by one, or else by folds."""
    weights = Weights.of(weight)
    if model.refits:
        forms = {name: views[:1] for name, views in model.views.items()}
        sheet, _ = crossed(
            model, table, weight, forms, seed, stride or sample_stride(model, table, weights, len(forms))
        )
        return Candidate(model, forms, model.settings, sheet, seed)
    settings = replace(model.settings, odds=chosen_odds(model, table, weights))
    sheet = scored(model, table, weights, model.views, settings, stride)
    forms = dict(chosen_forms(model, sheet))

    def rescored(settings: Settings) -> Sheet:
        return scored(model, table, weights, forms, settings, sheet.stride)

    return Candidate(model, forms, settings, sheet.only(voices_in(sheet, forms)), seed, rescored=rescored)


def chosen_odds(model: Any, table: Source, weights: Weights) -> dict[str, tuple[float, float]]:
    """For words and pairs that are read as odds, the c and p that foresee a few thousand rows best by themselves."""
    forms = {name: tuple(form for form in own if form in ODDS_FORMS) for name, own in model.views.items()}
    if not any(forms.values()):
        return {}
    terms = model.terms_of(forms, model.settings)
    choices = list(product(DOUBTS, POWERS))
    stride = max(1, int(np.ceil(row_count(model, table, weights) / FEW_ROWS)))

    def of_batch(batch: Batch) -> tuple[Any, ...]:
        batch, own = model.members(*sampled(batch, weights, stride))
        batch = batch.filled(model.views)
        said = [each.scores(each.read(batch), own, DOUBTS, POWERS) for _, each in terms.likelihoods]
        return (*said, model.log_prior_left_out(own), own.codes, own.weight)

    names = weights.beside(model.needs(table.without(weights.column)))
    parts = zip(*local.mapped(of_batch, table.batches(names)), strict=True)
    *said, prior, truth, weight = (np.concatenate(part) for part in parts)
    found = {}
    for (form, likelihood), each in zip(terms.likelihoods, said, strict=True):
        voices, each = ((form, likelihood.block.axis),), each.reshape(*each.shape[:2], len(choices))
        losses = losses_at_modes(
            Sheet(_centred(each[:, :, m : m + 1]), prior, truth, weight, voices, (0,)) for m in range(len(choices))
        )
        found[likelihood.block.axis] = choices[int(np.argmin(losses))]
    return found


def _centred(said: Array) -> Array:
    """Less what is said of all classes alike, which of a long text is much and tells nothing."""
    return np.asarray(said - said.mean(1, keepdims=True))


def crossed(model: Any, table: Source, weight: Any, forms: Views, seed: int, stride: int = 1) -> tuple[Sheet, Evidence]:
    """What each voice says of (every so many) rows by the other folds' evidence, and the evidence of all."""
    voices: list[tuple[str, str]] = []

    def score(taught: Any, batch: Batch, weights: Array) -> tuple[Any, ...]:
        terms, batch = taught.terms_of(forms, taught.settings), batch.filled(model.views)
        said: dict[tuple[str, str], Array] = {}
        for form, likelihood in terms.likelihoods:
            cells = likelihood.read(batch)
            for v, name in enumerate(likelihood.voices):
                said[form, name] = out = np.zeros((batch.rows, len(taught.classes)))
                likelihood.pick([v]).add(likelihood.cells_of(cells, [v]), out)
        voices[:] = said
        prior = np.broadcast_to(terms.log_prior, (batch.rows, len(taught.classes)))
        return np.stack(list(said.values()), axis=2), prior, taught.codes_of(batch), weights

    def chosen(batch: Batch) -> Any:
        return chosen_rows(batch.start, batch.rows, stride)

    count = row_count(model, table, Weights.of(weight))
    folds = max(2, min(OUT_OF_FOLD[count > ROWS], count))
    (said, prior, codes, weights), evidence = fold_scores(model, table, folds, weight, seed, score, chosen=chosen)
    kept = (codes >= 0) & (weights > 0)
    rows = (_finite(said[kept]), prior[kept], codes[kept], weights[kept])
    return Sheet(*rows, tuple(voices), _groups(voices), stride), evidence


def _finite(said: Array) -> Array:
    """What is impossible is very improbable: a weight of 0 must be able to silence it."""
    return np.where(np.isfinite(said), said, np.maximum(said, IMPOSSIBLE))


def _bounded(said: Array) -> Array:
    """The same of texts, whose log-likelihoods are far below 0: impossible is less than all that a row allows."""
    known = np.isfinite(said)
    top = np.where(known, said, -np.inf).max(1, keepdims=True)
    below = said - np.where(np.isfinite(top), top, 0.0)
    least = np.minimum(np.where(known, below, 0.0).min(1, keepdims=True), IMPOSSIBLE)
    return np.where(known, below, least)


def _groups(voices: Sequence[tuple[str, str]]) -> tuple[int, ...]:
    """Columns by themselves are one group; each block of several is one of its own, and each form of texts."""
    blocks = list(dict.fromkeys(form for form, name in voices if name == ALL or form in TEXT_FORMS))
    groups = [1 + blocks.index(form) if form in blocks else 0 for form, name in voices]
    used = sorted(set(groups))
    return tuple(used.index(group) for group in groups)


def widened(model: Any, table: Source, weight: Any) -> Any:
    """With number columns counted in all their forms, where none was asked for, and texts as odds, too."""
    if not model.chooses_forms:
        return model
    asked = {name for name, how in (model.kinds or {}).items() if isinstance(how, Number)}
    texts = [name for name, views in model.views.items() if views[0] == "words"]
    if texts:
        kinds = {name: how for name, how in (model.kinds or {}).items() if isinstance(how, Text)}
        model = model.counting({name: kinds.get(name, Text()).views for name in texts}, table, weight)
    free = [name for name, views in model.views.items() if views[0] == "gaussian" and name not in asked]
    if not free:
        return model
    model = model.counting(dict.fromkeys(free, ("binned",)), table, weight)
    positive = [name for name in free if _least(model, name) > 0]
    if positive:
        model = model.counting(dict.fromkeys(positive, ("log",)), table, weight)
    views = {
        name: tuple(dict.fromkeys((*own, *(["coarse"] if "binned" in own else []))))
        for name, own in model.views.items()
    }
    return replace(model, views=views)


def _least(model: Any, name: str) -> float:
    values = model.evidence.schema[name].levels
    return float(np.min(values.to_numpy(zero_copy_only=False), initial=np.inf))


def scored(
    model: Any, table: Source, weights: Weights, forms: Views, settings: Settings, stride: int | None = None
) -> Sheet:
    """What each voice says of rows that are left out one by one; of a sample, where there are many."""
    terms = model.terms_of(forms, settings)
    voices = [(form, name) for form, likelihood in terms.likelihoods for name in likelihood.voices]
    every = stride or sample_stride(model, table, weights, len(voices))

    def of_batch(batch: Batch) -> tuple[Array, Array, Any, Array]:
        batch, own = model.members(*sampled(batch, weights, every))
        batch = batch.filled(model.views)
        said = np.zeros((batch.rows, len(model.classes), len(voices)))
        j = 0
        for _, likelihood in terms.likelihoods:
            cells = likelihood.read(batch)
            for v in range(len(likelihood.voices)):
                out = np.zeros(said.shape[:2])
                likelihood.pick([v]).add_left_out(likelihood.cells_of(cells, [v]), own, out)
                said[:, :, j] = _centred(_bounded(out)) if voices[j][0] in TEXT_FORMS else out
                j += 1
        return said, model.log_prior_left_out(own), own.codes, own.weight

    names = weights.beside(model.needs(table.without(weights.column)))
    parts = list(local.mapped(of_batch, table.batches(names)))
    said, prior, truth, weight = (np.concatenate(part) for part in zip(*parts, strict=True))
    return Sheet(_finite(said), prior, truth, weight, tuple(voices), _groups(voices), every)


def sample_stride(model: Any, table: Source, weights: Weights, voices: int) -> int:
    """One of how many rows is scored."""
    rows = min(ROWS, max(100, CELLS // (len(model.classes) * max(voices, 1))))
    return max(1, int(np.ceil(row_count(model, table, weights) / rows)))


def row_count(model: Any, table: Source, weights: Weights) -> int:
    """How many rows there are, whatever they weigh."""
    if table.rows is not None:
        return table.rows
    if weights == Weights():
        learned: int = round(model.n + model.unlabelled)
        return learned
    return sum(batch.rows for batch in table.batches([str(model.target)]))


def sampled(batch: Batch, weights: Weights, stride: int) -> tuple[Batch, Weights]:
    """One of so many rows, with their weights."""
    rows = chosen_rows(batch.start, batch.rows, stride)
    own = weights.of_rows(batch)[rows]
    return replace(batch.take(rows), start=0), Weights(values=own)


def chosen_forms(model: Any, sheet: Sheet) -> Views:
    """For each number column the form that foresees the class best by itself.

    A less plain one must be better by more than a standard error of the difference, as chance makes one of many look
    good.
    """
    forms = {name: views if views[0] in TEXT_FORMS else views[:1] for name, views in model.views.items()}
    if not model.chooses_forms:
        return forms
    for name, views in model.views.items():
        candidates = [form for form in NUMBER_FORMS if form in views]
        if len(candidates) < 2:
            continue
        losses = {form: _losses(sheet, sheet.voices.index((form, name))) for form in candidates}
        best = candidates[0]
        for form in candidates[1:]:
            gain = losses[best] - losses[form]
            mean = np.average(gain, weights=sheet.weight)
            error = np.sqrt(np.average((gain - mean) ** 2, weights=sheet.weight) / max(len(gain), 1))
            best = form if mean > error else best
        forms[name] = (best,)
    return forms


def _losses(sheet: Sheet, voice: int) -> Array:
    found = shares(sheet.prior + sheet.said[:, :, voice])
    own = found[np.arange(len(sheet.truth)), sheet.truth]
    return -np.log(np.maximum(own, np.finfo(float).tiny))


def voices_in(sheet: Sheet, forms: Views) -> list[int]:
    """The voices of columns in their forms, and of blocks that have them."""
    every = {form for views in forms.values() for form in views}
    return [j for j, (form, name) in enumerate(sheet.voices) if form in forms.get(name, every)]
