"""Tuning: what the evidence leaves open, chosen on leave-one-out scores, kept apart from it and shown."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from credo.blocks.block import ALL, Settings
from credo.data import Source
from credo.engines import local
from credo.errors import DataError, EvidenceError
from credo.exact import Array
from credo.lazy import lazy
from credo.learning import Weight, Weights
from credo.models.dates import with_calendar
from credo.models.forms import CALENDAR_FORMS, NUMBER_FORMS, TEXT_FORMS, WORD_FORMS, Number, Text, Views
from credo.models.reading_texts import chosen_readings
from credo.models.sheets import crossed, gains, sample_stride, scored
from credo.models.weighing import Sheet, Weighing, shares, weighed

if TYPE_CHECKING:
    from credo.models.classifier import Classifier

FOLDS = 5  # in which weights are validated
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
        each = [weight for weights in self.weights.values() for weight in weights.values() if weight] or [0.0]
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
        forms = {form for form, _ in self.sheet.voices}
        if name == "smoothing":
            tables = {"category", "binned", "coarse", *CALENDAR_FORMS, *WORD_FORMS}
            return self.settings.m is None and bool(forms & tables)
        return self.settings.estimate != "ml" and bool(forms & {"gaussian", "date", "log", "count"})

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
    settings, texts = chosen_readings(model, table, weights)
    sheet = scored(model, table, weights, {**model.views, **texts}, settings, stride)
    forms = {**chosen_forms(model, sheet), **texts}

    def rescored(settings: Settings) -> Sheet:
        return scored(model, table, weights, forms, settings, sheet.stride)

    return Candidate(model, forms, settings, sheet.only(voices_in(sheet, forms)), seed, rescored=rescored)


def widened(model: Any, table: Source, weight: Any) -> Any:
    """With number columns counted in all their forms, where none was asked for, and texts as odds, too."""
    if not model.chooses_forms:
        return model
    asked = {name for name, how in (model.kinds or {}).items() if isinstance(how, Number)}
    texts = [name for name, views in model.views.items() if views[0] == "words"]
    if texts:
        kinds = {name: how for name, how in (model.kinds or {}).items() if isinstance(how, Text)}
        model = model.counting({name: kinds.get(name, Text()).views for name in texts}, table, weight)
    model = with_calendar(model, table, weight)
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
            best = form if gains(losses[best] - losses[form], sheet.weight) else best
        forms[name] = (best,)
    calendar = {name: tuple(form for form in views if form in CALENDAR_FORMS) for name, views in model.views.items()}
    return {name: (*own, *calendar[name]) for name, own in forms.items()}


def _losses(sheet: Sheet, voice: int) -> Array:
    found = shares(sheet.prior + sheet.said[:, :, voice])
    own = found[np.arange(len(sheet.truth)), sheet.truth]
    return -np.log(np.maximum(own, np.finfo(float).tiny))


def voices_in(sheet: Sheet, forms: Views) -> list[int]:
    """The voices of columns in their forms, and of blocks that have them."""
    every = {form for views in forms.values() for form in views}
    return [j for j, (form, name) in enumerate(sheet.voices) if form in forms.get(name, every)]
