"""A tuned classifier: a plain classifier and its tuning."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, fields
from functools import cached_property
from typing import Any, ClassVar, Self

import numpy as np

from credo.blocks.block import Block, Likelihood, Settings
from credo.blocks.capabilities import Ignored, Weighable
from credo.blocks.class_mixing import ClassMixture
from credo.core.evidence import Evidence
from credo.core.labels import Label
from credo.core.learning import RowWeights, Weight
from credo.core.membership import Hard
from credo.core.statistics import RESIDUAL_WEIGHT
from credo.data import Batch
from credo.data.arrow_arrays import numpy_array
from credo.data.free_names import free_name
from credo.errors import EvidenceError
from credo.models.class_evidence import few
from credo.models.class_reader import Shares
from credo.models.classifier import Classifier
from credo.models.explaining import Reasons
from credo.models.forms import Views
from credo.models.labelled import Terms
from credo.models.naive_bayes import NaiveBayes
from credo.notices import tell
from credo.numerics.exact import Array
from credo.selection.correction import Correction
from credo.selection.label_noise import noise_rates, with_label_noise
from credo.selection.report import Report
from credo.selection.tuning import Tuning, discount_factor

LEAST_TERM = -1e3  # nats: the lowest weight of evidence of a column under label noise
NOISE_TERM = "allowance for label noise"  # its name in an explanation; underscores follow if a column has this name


@dataclass(frozen=True, eq=False, repr=False)
class TunedClassifier(Classifier):
    """log P(class) + bias + Σ w log p(block | class), with weights w of columns in the forms that tuning chose.

    Rows with missing cells are discounted, and labels may be noisy. The plain model counts columns in all these forms
    and reads the first form of each.
    """

    _internal: ClassVar[tuple[str, ...]] = ("biases", "joint", "model")

    model: Classifier
    tuning: Tuning
    report: Report | Any = field(init=False, default=None)
    joint: bool = field(init=False, default=False)  # whether `tune` tries joint forms, too, as credo.learn does

    @property
    def target(self) -> str | None:
        return self.model.target

    @property
    def views(self) -> Views:
        return self.model.views

    @property
    def evidence(self) -> Evidence | None:
        return self.model.evidence

    @property
    def class_smoothing(self) -> float | None:
        return self.model.class_smoothing

    @property
    def class_prior(self) -> Shares | None:
        return self.model.class_prior

    @property
    def kinds(self) -> Mapping[str, Any] | None:
        return self.model.kinds

    @property
    def settings(self) -> Settings:
        return self.model.settings

    def structure_bits(self, n: float) -> float:
        return self.model.structure_bits(n)

    def log_evidence(self) -> float:
        raise EvidenceError("tuned weights have no prior, and so no evidence: use model.plain.log_evidence()")

    def blocks(self, views: Views) -> list[tuple[str, Block]]:
        return self.model.blocks(views)

    def replaced(self, **values: Any) -> Self:
        """The classifier with fields replaced, those of the plain model included."""
        own = {each.name: values.pop(each.name) for each in fields(self) if each.name in values}
        model = own.get("model", self.model)
        return super().replaced(**own | {"model": model.replaced(**values) if values else model})

    @property
    def plain(self) -> Classifier:
        return self.model

    def untuned(self) -> Classifier:
        return self.model.narrowed(self.first_forms)

    # Learning

    def fit(self, data: object, target: object, *, weight: Weight = None) -> Self:
        """Fit and tune from scratch."""
        fitted = self.untuned() if self.evidence is not None else self.model
        fresh = self.replaced(model=fitted.fit(data, target, weight=weight), report=None)
        return fresh.tune(data, target=target, weight=weight)  # type: ignore[return-value]

    def update(self, data: object, *, target: object = None, weight: Weight = None) -> Self:
        """Learn from more rows; the tuning stays."""
        model = super().update(data, target=target, weight=weight)
        known = set(self.classes if self.evidence else model.classes)
        if new := set(model.classes) - known - set(self.tuning.classes):
            tell(untuned_classes(self.target, new))
        return model

    def forget(self, data: object, *, target: object = None, weight: Weight = None) -> Self:
        """Unlearn rows. The tuning stays; the report, which includes the forgotten rows, is dropped."""
        return super().forget(data, target=target, weight=weight).replaced(report=None)

    def without_class(self, value: object) -> Self:
        return super().without_class(value).replaced(report=None)

    def __add__(self, other: Classifier) -> Any:
        """The evidence of both; a tuning stays only where it is the same."""
        if not isinstance(other, Classifier):
            return NotImplemented
        if self.tuning == other.tuning:
            return self.replaced(model=self.model + other.plain, report=None)  # the report was about one model's rows
        return _untuned_sum(self, other)

    def __radd__(self, other: Classifier) -> Any:
        return _untuned_sum(other, self) if isinstance(other, Classifier) else NotImplemented

    def tune(self, data: object, *, target: object = None, weight: Weight = None, seed: int = 0) -> TunedClassifier:
        """Tune again, with the same candidates."""
        from credo.selection.learn import relearned

        plain = self.untuned()
        if not self.joint or not isinstance(plain, NaiveBayes):
            return plain.tune(data, target=target, weight=weight, seed=seed)
        return relearned(plain, self._labelled(data, target), weight, seed)

    # Prediction

    @cached_property
    def terms(self) -> Terms:
        """The weighted terms, in the forms that tuning chose."""
        found = self.terms_of(self.tuning.forms, self.tuning.applied_to(self.settings))
        parts = ((part.form, part.over(self.tuning.classes, self.classes)) for part in self.tuning.parts)
        weighted = ((form, self._weighted(form, each)) for form, each in (*found.likelihoods, *parts))
        return Terms(tuple(weighted), found.log_prior)

    def _weighted(self, form: str, likelihood: Likelihood) -> Likelihood:
        term = Weighable.needed(likelihood)
        weights = self.tuning.weights_of(form, term.term_names)
        if form == self.tuning.mixed:
            return ClassMixture(term, weights, self.tuning.mixture_of(self.classes))
        return term.weighted(weights)

    def log_joint(self, data: object) -> Array:
        return self.model.log_joint(data)

    def log_prob(self, data: object) -> Array:
        return self.model.log_prob(data)

    def _log_prob_here(self, data: object) -> Array:
        return self.model._log_prob_here(data)

    @cached_property
    def biases(self) -> Array:
        return self.tuning.biases_of(self.classes)

    def _within(self, batch: Batch) -> tuple[Batch, Ignored]:
        """The batch with numbers far outside the tuning's range missing, unless rows were learned since."""
        batch = batch.filled(self.views)
        return self.tuning.within(batch) if np.isclose(self.n, self.tuning.rows) else (batch, {})

    def _log_joint(self, batch: Batch, count_ignored: bool = True) -> tuple[Array, Ignored]:
        batch, far = self._within(batch)
        correction = self._correction(batch)
        out, ignored = self.terms.added_to(correction.start, batch, count_ignored=count_ignored)
        return correction.applied(out), {**ignored, **far}

    def scoring(self, batch: Batch) -> Callable[[Array], Array]:
        return self._correction(batch).of_terms

    def _correction(self, batch: Batch) -> Correction:
        noise = noise_rates(self.tuning.label_noise, self.class_weights) if self.tuning.label_noise else None
        return Correction(self.terms.log_prior, self.biases, self._discount(batch), noise)

    def terms_by_column(self, batch: Batch) -> dict[str, Array]:
        return super().terms_by_column(self._within(batch)[0])

    def _discount(self, batch: Batch, own: Hard | None = None) -> Array | None:
        """The discount factor of each row's evidence; None if no cell is missing. (rows, 1)"""
        if not self.tuning.discount or not self.tuning.used:
            return None
        missing = missing_share(self, batch, self.tuning.used, own)
        return discount_factor(missing, self.tuning.discount)[:, None] if missing.any() else None

    def _left_out(self, weights: RowWeights, batch: Batch) -> tuple[Array, Hard]:
        rows = self._rows_left_out(weights, batch)
        own, label_noise = rows.own, self.tuning.label_noise
        noise = noise_rates(label_noise, self.class_weights_left_out(own)) if label_noise else None
        correction = Correction(rows.log_prior, self.biases, self._discount(rows.batch, own), noise)
        out = correction.start
        for form, likelihood in self.terms.likelihoods:
            term, cells = Weighable.needed(likelihood), likelihood.read(rows.batch)
            term.add_weighted_left_out(cells, own, self.tuning.weights_of(form, term.term_names), out)
        return rows.log_shares(correction.applied(out)), own

    def _validation_name(self, how: str) -> str:
        """The description of a score that doesn't include the choice of the tuning."""
        return f"{how}, tuning held fixed"

    def _reasons(self, one: Batch) -> Reasons:
        """Discounted weights of evidence, and an allowance for label noise."""
        log_prior, discount = self.terms.log_prior, self._discount(self._within(one)[0])
        factor = 1.0 if discount is None else float(discount[0, 0])
        terms = {name: factor * each[0] for name, each in self.terms_by_column(one).items()}
        prior = log_prior + factor * self.biases if any(each.any() for each in terms.values()) else log_prior
        log_joint = prior + sum(terms.values(), np.zeros_like(prior))
        if not self.tuning.label_noise or np.isneginf(log_joint.max()):
            return Reasons(prior, terms, log_joint, factor)
        # Under label noise nothing is impossible: infinite weights are bounded.
        noisy = with_label_noise(log_joint, log_prior, noise_rates(self.tuning.label_noise, self.class_weights))
        terms = {name: np.maximum(each, LEAST_TERM) for name, each in terms.items()}
        noise = free_name(NOISE_TERM, terms)
        terms[noise] = noisy - prior - sum(terms.values(), np.zeros_like(prior))  # up to what all classes share
        return Reasons(prior, terms, noisy, factor)


def missing_share(model: Classifier, batch: Batch, names: Sequence[str], own: Hard | None = None) -> Array:
    """The share of each row's cells, among these columns, that are missing or an unseen category. (rows,)

    Rows of the evidence are left out: a category that no other row has is unseen.
    """
    found = batch.missing_share(names)
    for name in (each for each in names if model.views[each][0] == "category"):
        seen, column = model.seen[Label("column", name)].n.value.sum(0), batch.column(name)
        codes, unseen = batch.codes_among(name, model.seen.schema[name].levels)
        if own is not None and len(seen):
            alone = (codes >= 0) & (seen[codes] - own.weight <= RESIDUAL_WEIGHT * own.weight)
            codes, unseen = np.where(alone, -1, codes), unseen + int(alone.sum())
        if unseen:
            found = found + (codes < 0) * numpy_array(column.is_valid()) / len(names)
    return found


def untuned_classes(target: str | None, values: Collection[object]) -> str:
    """A notice about classes that came after tuning."""
    which = ", ".join(sorted(map(repr, values))[:3]) + (", ..." if len(values) > 3 else "")
    came, them = ("came", "them") if len(values) > 1 else ("comes", "it")
    bias = f"which has no bias for {them}: tune(data) again with all rows"
    return f"column {target!r}: {which} {came} after tuning, {bias}"


def _untuned_sum(one: Classifier, two: Classifier) -> Classifier:
    """The sum of two classifiers with different tunings, untuned."""
    plain, other = one.untuned(), two.untuned()
    if type(plain) is not type(other):
        names = f"a {type(plain).__name__} and a {type(other).__name__}"
        raise EvidenceError(f"{names} store different statistics and can't be merged: learn both with the same model=")
    found = plain + other
    tell(f"the two are tuned differently: their sum is untuned{_dropped(one, two)}")
    return found


def _dropped(*models: Classifier) -> str:
    """The statistics that an untuned sum drops, for the notice."""
    more = {f"{form} of {name!r}": 0 for model in models for name, forms in model.views.items() for form in forms[1:]}
    if not more:
        return ""
    return f", and its extra statistics are dropped ({few(list(more))}): tune(data) with all rows restores them"
