"""credo.learn: the whole job. Count columns in several ways, tune, choose by validation, say what was tried."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np

from credo.data import Source, source
from credo.data.profile import Profile, profile
from credo.engines import local
from credo.errors import DataError, EvidenceError, suggest
from credo.learning import Weight, Weights
from credo.metrics import Scores
from credo.models.blend import Blend
from credo.models.classifier import Classifier
from credo.models.explaining import contributions
from credo.models.labelled import with_target
from credo.models.naive_bayes import NaiveBayes
from credo.models.tuning import (
    FOLDS,
    chosen_forms,
    crossed,
    log_loss,
    scored,
    voices_in,
    widened,
    with_tuning,
)
from credo.models.weighing import Sheet, weighed

WIDEST, WIDEST_FULL = 200, 150  # features of columns that are read together
MANY_CLASSES = 100
EXPLAINED = 2000  # rows whose weights of evidence are averaged

# What is tried, in words, and which forms speak in it: "columns" are naive Bayes' own.
CANDIDATES: dict[str, tuple[str, ...]] = {
    "naive Bayes": ("columns",),
    "tied Gaussian": ("tied",),
    "full Gaussian": ("full",),
    "naive Bayes and tied Gaussian": ("columns", "tied"),
    "naive Bayes, tied and full Gaussian": ("columns", "tied", "full"),
}
KINDS = {
    "auto": tuple(CANDIDATES),
    "naive-bayes": ("naive Bayes",),
    "gaussian": ("tied Gaussian", "full Gaussian"),
}


@dataclass(frozen=True)
class Tried:
    """A candidate, and how well it foresaw rows that hadn't taught it."""

    name: str
    log_loss: float
    accuracy: float


@dataclass(frozen=True)
class Read:
    """How a column was read, and how much it matters."""

    name: str
    kind: str
    form: str  # in which it speaks; "" where it is left out
    missing: float  # the share of missing cells
    weight: float  # mean size of its weight of evidence between the two most probable classes, in nats


@dataclass(frozen=True, eq=False)
class Report:
    """What credo.learn did and why: the columns, what was tried, and how good the winner is."""

    target: str
    rows: float
    unlabelled: float
    columns: tuple[Read, ...]
    tried: tuple[Tried, ...]  # the winner first
    why: str  # it was chosen, in a sentence
    scores: Scores  # of the winner, on rows (a sample, where there are many) that hadn't taught it
    seconds: float

    @property
    def important(self) -> list[Read]:
        """Columns by how much they matter."""
        return sorted(self.columns, key=lambda column: -column.weight)

    def __repr__(self) -> str:
        lines = [f"{each.log_loss:8.4f}  {each.accuracy:.4f}  {each.name}" for each in self.tried]
        return "\n".join([self.why, "log-loss  accuracy", *lines, repr(self.scores)])


def learn(
    data: object,
    target: object,
    *,
    model: Literal["auto", "naive-bayes", "gaussian"] = "auto",
    kinds: Mapping[str, Any] | None = None,
    weight: Weight = None,
    seed: int = 0,
) -> Any:
    """The best model for a labelled table; `model.report` says what was tried, why it was chosen, how good it is.

    Columns are counted in several forms, each form speaks with a weight that is tuned on rows left out, and of the
    candidates (all, or those of one kind of model) the one that foresees such rows best is chosen.

    >>> rows = {"x": [1.0, 1.2, 0.9, 3.1, 2.9, 3.0] * 3, "y": ["a", "a", "a", "b", "b", "b"] * 3}
    >>> model = learn(rows, target="y")
    >>> model.predict({"x": [1.1, 2.8]}).tolist()
    ['a', 'b']
    """
    start = time.perf_counter()
    if model not in KINDS:
        raise DataError(f"no such kind of model, {model!r}; {suggest(model, KINDS)}")
    table, name = with_target(source(data), target)
    if table.once:
        raise DataError("learning reads the data several times, and an iterator can be read only once: give a table")
    base = Blend(kinds=kinds).fit(table, target=name, weight=weight)
    if len(base.classes) < 2:
        raise EvidenceError(
            f"column {name!r} holds one class only, {base.classes[0]!r}: there is nothing to tell apart"
        )
    with local.one_blas_thread():
        return _chosen(base, table, weight, seed, start, KINDS[model])


def rechosen(model: Blend, table: Source, weight: Weight, seed: int) -> Any:
    """The best model for rows that were learned before."""
    plain = model.untuned()
    base = replace(model, views=plain.views, evidence=plain.evidence, tuning=None, report=None)
    with local.one_blas_thread():
        return _chosen(base, table, weight, seed, time.perf_counter(), KINDS["auto"])


def _chosen(base: Blend, table: Source, weight: Weight, seed: int, start: float, candidates: Sequence[str]) -> Any:
    weights = Weights.of(weight)
    model = widened(base, table, weight)
    sheet = scored(model, table, weights, model.views, model.settings)
    forms = dict(chosen_forms(model, sheet))
    sheet = sheet.only(voices_in(sheet, forms))
    together = _together(base)
    if together:
        model, sheet = _with_together(model, sheet, together, table, weight, seed)
    found: dict[str, Any] = {}
    for candidate in candidates:
        places = _speaking(sheet, CANDIDATES[candidate])
        if places is not None:
            own = sheet.only(places)
            mixed = next((j for j, (form, _) in enumerate(own.voices) if form == "tied"), None)
            found[candidate] = (own, *weighed(own, mixed, FOLDS, seed))
    losses = {candidate: log_loss(shown, own) for candidate, (own, _, shown) in found.items()}
    winner = min(losses, key=lambda candidate: losses[candidate])
    own, weighing, _ = found[winner]
    views = {column: (*forms[column], *together.get(column, ())) for column in forms}
    best = with_tuning(model, views, model.settings, own, weighing, losses[winner])
    if "tied" not in CANDIDATES[winner] and "full" not in CANDIDATES[winner]:
        best = _as_naive_bayes(best)
    scores = {
        name: Scores(best.classes, np.log(p), o.truth.astype(np.intp), o.weight) for name, (o, _, p) in found.items()
    }
    tried = [Tried(candidate, losses[candidate], scores[candidate].accuracy) for candidate in losses]
    report = Report(
        str(best.target),
        best.n,
        best.unlabelled,
        _columns(best, table, weights),
        tuple(sorted(tried, key=lambda each: each.log_loss)),
        _why(winner, losses),
        replace(scores[winner], how="left out"),
        time.perf_counter() - start,
    )
    return replace(best, report=report)


def _together(model: Blend) -> dict[str, tuple[str, ...]]:
    """The columns that can be read together, few values first, and in which forms; none where classes are many."""
    sizes: dict[str, int] = {}
    if len(model.classes) > MANY_CLASSES:
        return {}
    for name, views in model.views.items():
        if views[0] == "category":
            sizes[name] = len(model.seen.schema[name].levels)
        elif views[0] != "count":
            sizes[name] = 1
    chosen, total = [], 0
    for name in sorted(sizes, key=lambda name: sizes[name]):
        if total + sizes[name] <= WIDEST:
            chosen.append(name)
            total += sizes[name]
    forms = ("tied", "full") if total <= WIDEST_FULL else ("tied",)
    return {name: forms for name in model.views if name in chosen}


def _with_together(
    model: Any, sheet: Sheet, together: Mapping[str, tuple[str, ...]], table: Source, weight: Weight, seed: int
) -> tuple[Any, Sheet]:
    """With columns counted together, and what that says of rows whose fold hadn't taught it."""
    views = {n: (("category", *f) if model.views[n][0] == "category" else f) for n, f in together.items()}
    learner = replace(model, views=views)
    other, evidence = crossed(learner, table, weight, together, seed, sheet.stride)
    wider = {name: (*own, *together.get(name, ())) for name, own in model.views.items()}
    model = replace(model, views=wider, evidence=model.seen.beside(evidence))
    group = max(sheet.groups, default=-1) + 1
    return model, replace(
        sheet,
        said=np.concatenate([sheet.said, other.said], axis=2),
        voices=(*sheet.voices, *other.voices),
        groups=(*sheet.groups, *(group + each for each in other.groups)),
    )


def _speaking(sheet: Sheet, forms: Sequence[str]) -> list[int] | None:
    """The voices of a candidate; None where one of its forms isn't there."""
    there = {form if form in ("tied", "full") else "columns" for form, _ in sheet.voices}
    if not set(forms) <= there:
        return None
    return [j for j, (form, _) in enumerate(sheet.voices) if (form if form in ("tied", "full") else "columns") in forms]


def _as_naive_bayes(model: Blend) -> NaiveBayes:
    return NaiveBayes(
        kinds=model.kinds, target=model.target, views=model.views, evidence=model.evidence, tuning=model.tuning
    )


def _why(winner: str, losses: Mapping[str, float]) -> str:
    others = {name: loss for name, loss in losses.items() if name != winner}
    if not others:
        return f"{winner}: nothing else fits the columns"
    second = min(others, key=lambda name: others[name])
    return (
        f"{winner}: it foresees rows that are left out best, with a log-loss of {losses[winner]:.4f} "
        f"(next: {second}, {others[second]:.4f})"
    )


def _columns(model: Classifier, table: Source, weights: Weights) -> tuple[Read, ...]:
    """Every column of the table, as it was read."""
    assert model.tuning is not None
    names = [name for name in table.names if name != model.target and name != weights.column]
    profiles = profile(table, names)
    sizes = contributions(model, table, EXPLAINED)
    found = []
    for name in names:
        forms = model.tuning.forms.get(name, ())
        kind = _kind(model, name, profiles[name])
        found.append(Read(name, kind, " + ".join(forms), profiles[name].missing_share, sizes.get(name, 0.0)))
    return tuple(found)


def _kind(model: Classifier, name: str, found: Profile) -> str:
    if name not in model.views:
        return str((model.kinds or {}).get(name, found.kind))
    first = model.views[name][0]
    return first if first in ("category", "count") else "number"
