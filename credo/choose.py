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
from credo.models.candidates import KINDS, MANY_CLASSES, Candidates
from credo.models.classifier import Classifier
from credo.models.explaining import contributions
from credo.models.forms import FORM_OF, TEXT_FORMS
from credo.models.labelled import with_target
from credo.models.tuning import Candidate

AS_GOOD = 1e-4  # of the log-loss: a difference for which nothing less plain is chosen
EXPLAINED = 1000  # rows whose weights of evidence are averaged


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
    table = table.held()
    base = Blend(kinds=kinds).fit(table, target=name, weight=weight)
    if len(base.classes) < 2:
        raise EvidenceError(
            f"column {name!r} holds one class only, {base.classes[0]!r}: there is nothing to tell apart"
        )
    return _chosen(Candidates(base, table, weight, seed), KINDS[model], start)


def rechosen(model: Blend, table: Source, weight: Weight, seed: int) -> Any:
    """The best model for rows that were learned before."""
    start, plain = time.perf_counter(), model.untuned()
    base = replace(model, views=plain.views, evidence=plain.evidence, tuning=None, report=None)
    return _chosen(Candidates(base, table.held(), weight, seed), KINDS["auto"], start)


def _chosen(candidates: Candidates, names: Sequence[str], start: float) -> Any:
    with local.one_blas_thread():
        tried = dict(candidates.those(names))
        if not tried:
            raise DataError(f"no such model fits the columns: it needs numbers, and at most {MANY_CLASSES} classes")
        least = min(local.mapped(lambda each: each.log_loss, tried.values()))
        close = [name for name, each in tried.items() if each.log_loss <= least * (1 + AS_GOOD)]
        winner = close[0]  # the plainest
        best = tried[winner] = tried[winner].resettled()
        model = best.tuned()
        outcomes = [Tried(name, each.log_loss, _scores(each).accuracy) for name, each in tried.items()]
        report = Report(
            str(model.target),
            model.n,
            model.unlabelled,
            _columns(model, candidates.table, Weights.of(candidates.weight)),
            tuple(sorted(outcomes, key=lambda each: (each.name != winner, each.log_loss))),
            _why(winner, {each.name: each.log_loss for each in outcomes}),
            _scores(best),
            time.perf_counter() - start,
        )
    return replace(model, report=report)


def _scores(candidate: Candidate) -> Scores:
    sheet = candidate.sheet
    log_probabilities = np.log(np.maximum(candidate.outcome[1], np.finfo(float).tiny))
    return Scores(candidate.model.classes, log_probabilities, sheet.truth.astype(np.intp), sheet.weight, "left out")


def _why(winner: str, losses: Mapping[str, float]) -> str:
    others = {name: loss for name, loss in losses.items() if name != winner}
    if not others:
        return f"{winner}: nothing else fits the columns"
    second = min(others, key=lambda name: others[name])
    how = "best" if losses[winner] <= others[second] else "as well as any, and is the plainest"
    return (
        f"{winner}: it foresees rows that are left out {how}, with a log-loss of {losses[winner]:.4f} "
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
    return next((kind for kind, form in FORM_OF.items() if form == first), "text" if first in TEXT_FORMS else "number")
