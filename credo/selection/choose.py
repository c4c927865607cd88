"""credo.choose: models compared by description length, evidence, leave-one-out or folds."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from inspect import Parameter, signature
from typing import Any, Literal, NamedTuple, get_args

import numpy as np

from credo.core.description import Describes
from credo.core.validation import Validation
from credo.data import Source, source
from credo.errors import CredoError, DataError, EvidenceError, SchemaError, counted
from credo.models.description_length import evidence_about, log_evidence_of
from credo.models.metrics import Scores, fold_ratio, variance_of_mean
from credo.models.regression.scores import NumberScores
from credo.numerics.exact import Array

By = Literal["mdl", "evidence", "loo", "folds"]
TIE_ERRORS = 2.0  # standard errors within which a difference is a tie
ROW_ROUNDING = 1e-6  # relative rounding error of a model's number of rows


class ModelScore(NamedTuple):
    """A model's score (lower is better) and the quantity scored: only scores of the same quantity can be compared."""

    value: float
    about: str
    details: dict[str, float]
    each: Array | None = None  # (2, rows) the scores and weights of rows, where the score is a mean over rows
    held_out_ratio: float = 0.0  # the ratio of held-out to training rows


@dataclass(frozen=True, eq=False)
class Compared:
    """A compared model, its score, and the difference from the best."""

    name: str
    model: Any
    value: float  # bits, nats or nats per row: lower is better
    details: Mapping[str, float]
    difference: float  # from the best
    error: float | None = None  # the standard error of that difference
    probability: float | None = None  # P(model | data) under equal prior probabilities

    @property
    def tied(self) -> bool:
        """Whether it is tied with the best."""
        return self.error is not None and self.difference <= TIE_ERRORS * self.error


@dataclass(frozen=True, eq=False, repr=False)
class Comparison:
    """The compared models, the best first."""

    by: By
    about: str
    rows: float
    ranked: tuple[Compared, ...]

    @property
    def best(self) -> Any:
        """The best model, fitted."""
        return self.ranked[0].model

    @property
    def name(self) -> str:
        """The name of the best model."""
        return self.ranked[0].name

    def __getitem__(self, name: str) -> Compared:
        for each in self.ranked:
            if each.name == name:
                return each
        raise DataError(f"no model is called {name!r}; known: {', '.join(each.name for each in self.ranked)}")

    def table(self) -> Any:
        """The comparison as an Arrow table."""
        from credo.present.choices import choice_table

        return choice_table(self)

    def plot(self) -> Any:
        """Bars of the bits, or the differences from the best with their standard errors."""
        from credo.present.choices import plot_choice

        return plot_choice(self)

    def __repr__(self) -> str:
        from credo.present.choices import described

        return described(self)

    def _repr_html_(self) -> str:
        from credo.present.choices import choice_html

        return choice_html(self)


def choose(
    models: Sequence[Any] | Mapping[str, Any], data: object, by: By = "loo", *, target: object = None,
    folds: int = 10, seed: int = 0,
) -> Comparison:  # fmt: skip
    """Compare models on data: by="mdl" (bits, L(h) + L(D|h)), "evidence" (log p(D | model), parameters integrated out),
    "loo" (leave-one-out, as each model has it) or "folds" (k-fold cross-validation). Unfitted models are fitted to the
    data.

    >>> from credo import GaussianDiscriminant, NaiveBayes
    >>> rows = {"x": [0.1, 0.4, 1.9, 2.2, 0.3, 2.5], "y": list("aabbab")}
    >>> choose([NaiveBayes(), GaussianDiscriminant("tied")], rows, by="loo", target="y").name
    'NaiveBayes'
    """
    if by not in get_args(By):
        raise DataError(f"by must be one of {', '.join(map(repr, get_args(By)))}, but is {by!r:.60}")
    named = names_of(models)
    table = source(data).to_compare()
    if table.once:
        raise DataError("models are compared on data that are read several times: give a table, not an iterator")
    fitted = {name: fitted_on(name, model, table, target) for name, model in named.items()}
    criterion = _CRITERIA[by] if by != "folds" else _by_folds(folds, seed)
    scores = {name: _scored(name, criterion, model, table, target) for name, model in fitted.items()}
    _check_comparable(scores)
    return _compared(by, fitted, scores)


def names_of(models: Sequence[Any] | Mapping[str, Any]) -> dict[str, Any]:
    """The models by name: given names, or names of classes, numbered where several are equal."""
    if isinstance(models, Mapping):
        found = {str(name): model for name, model in models.items()}
    elif isinstance(models, Sequence) and not isinstance(models, str):
        kinds = [type(model).__name__ for model in models]
        counts = [kinds[: i + 1].count(kind) for i, kind in enumerate(kinds)]
        names = [kind if kinds.count(kind) == 1 else f"{kind} {n}" for kind, n in zip(kinds, counts, strict=True)]
        found = dict(zip(names, models, strict=True))
    else:
        raise DataError(f"models must be a list of models, or {{name: model}}, but are {models!r:.60}")
    if len(found) < 2:
        raise DataError(f"there must be at least two models, but {'one is' if found else 'none is'} given")
    return found


def fitted_on(name: str, model: Any, table: Source, target: object) -> Any:
    """The model, fitted to the data if it has learned nothing yet."""
    if learned(model):
        own = getattr(model, "target", None)
        if isinstance(target, str) and own is not None and own != target:
            raise SchemaError(f"{name} was fitted to predict {own!r}, not {target!r}")
        return model
    learn: Callable[..., Any] | None = getattr(model, "fit", None) or getattr(model, "update", None)
    if learn is None:
        raise DataError(f"{name} is a {type(model).__name__}, which learns from no data")
    asked = signature(learn).parameters.get("target")
    if (asked is None) != (target is None) and (asked is None or asked.default is Parameter.empty):
        needs = "has no target" if asked is None else "needs a target"
        raise SchemaError(f"{name} ({type(model).__name__}) {needs}: compare it with models of its own kind")
    return learn(table) if target is None else learn(table, target=target)


def learned(model: Any) -> bool:
    if getattr(model, "tables", None):  # a network whose tables are given
        return True
    try:
        return bool(getattr(model, "n", 0))
    except EvidenceError:
        return False


Criterion = Callable[[Any, Source, object], ModelScore]


def _scored(name: str, criterion: Criterion, model: Any, table: Source, target: object) -> ModelScore:
    try:
        return criterion(model, table, target)
    except CredoError as reason:
        raise type(reason)(f"{name} can't be compared: {reason}") from None


def _target_argument(model: Any, target: object) -> dict[str, Any]:
    """The target as a keyword argument, where it is an array; a fitted model knows the name of a column."""
    given = target is not None and not isinstance(target, str)
    return {"target": target} if given and getattr(model, "target", None) is not None else {}


def _by_length(model: Any, table: Source, target: object) -> ModelScore:
    if not isinstance(model, Describes):
        raise DataError(f"a {type(model).__name__} has no description length")
    found = model.description_length(table, **_target_argument(model, target))
    details = {"L(h)": found.model, "L(D|h)": found.data, "rows": found.n}
    return ModelScore(found.total, found.coded, details)


def _by_evidence(model: Any, table: Source, target: object) -> ModelScore:  # noqa: ARG001 - evidence of the learned rows
    found = log_evidence_of(model)
    rows = table.count(table.names[0]) if table.rows is None else table.rows
    if model.n > rows * (1 + ROW_ROUNDING):
        raise EvidenceError(f"it has learned {counted(model.n, 'row')}, but the data has {rows}: fit it on these alone")
    return ModelScore(-found, evidence_about(model), {"rows": float(model.n)})


def _by_leave_one_out(model: Any, table: Source, target: object) -> ModelScore:
    if not hasattr(model, "leave_one_out"):
        raise EvidenceError(f"a {type(model).__name__} has no exact leave-one-out: compare by 'mdl', or by 'folds'")
    found = model.leave_one_out(table, **_target_argument(model, target))
    return _held_out(model, found, len(found.weights))


def _by_folds(folds: int, seed: int) -> Criterion:
    def score(model: Any, table: Source, target: object) -> ModelScore:
        if not hasattr(model, "cross_validate"):
            raise EvidenceError(f"a {type(model).__name__} can't be cross-validated")
        return _held_out(
            model, model.cross_validate(table, folds=folds, seed=seed, **_target_argument(model, target)), folds
        )

    return score


def _held_out(model: Any, found: Scores | NumberScores | Validation, folds: int) -> ModelScore:
    """The mean of −log p over held-out rows."""
    if isinstance(found, Scores):
        logs = found.of_truth
        details = {"accuracy": found.accuracy, "rows": found.n}
        about = f"log P({model.target} given the other columns)"
    else:
        target = getattr(model, "target", None)
        about = "log p(row)" if target is None else f"log p({target} given the other columns)"
        errors = {"rmse": found.rmse} if isinstance(found, NumberScores) else {}
        logs, details = found.log_probabilities, errors | {"rows": float(found.weights.sum())}
    known = ~np.isnan(logs)
    each = np.where(known, -logs, np.nan)
    mean = float(np.average(-logs[known], weights=found.weights[known])) if known.any() else float("nan")
    return ModelScore(mean, about, details, np.stack([each, found.weights]), fold_ratio(folds))


_CRITERIA: dict[str, Criterion] = {"mdl": _by_length, "evidence": _by_evidence, "loo": _by_leave_one_out}


def _check_comparable(scores: Mapping[str, ModelScore]) -> None:
    (first, one), *others = scores.items()
    for name, other in others:
        if other.about != one.about:
            raise DataError(f"{first} and {name} can't be compared: one predicts {one.about}, the other {other.about}")
        if abs(one.details["rows"] - other.details["rows"]) > ROW_ROUNDING * one.details["rows"]:
            rows = f"{one.details['rows']:g} and {other.details['rows']:g} rows"
            raise DataError(f"{first} and {name} can't be compared: they score {rows}")


def _compared(by: By, models: Mapping[str, Any], scores: Mapping[str, ModelScore]) -> Comparison:
    order = sorted(scores, key=lambda name: (np.isnan(scores[name].value), scores[name].value))
    best = scores[order[0]]
    shares = _shares([scores[name].value for name in order]) if by == "evidence" else [None] * len(order)
    ranked = []
    for name, share in zip(order, shares, strict=True):
        own = scores[name]
        difference = own.value - best.value if np.isfinite(own.value) else own.value
        details = {what: value for what, value in own.details.items() if what != "rows"}
        line = Compared(name, models[name], own.value, details, difference, probability=share)
        if own.each is not None and best.each is not None:
            line = replace(line, error=_paired_error(own.each, best.each, own.held_out_ratio))
        ranked.append(line)
    return Comparison(by, best.about, best.details["rows"], tuple(ranked))


def _shares(values: Sequence[float]) -> list[float]:
    logs = -np.array(values)
    return list(np.exp(logs - np.logaddexp.reduce(logs)).tolist())


def _paired_error(own: Array, best: Array, held_out_ratio: float) -> float:
    """The standard error of the mean difference over the same rows: what is hard for both models cancels."""
    if own.shape != best.shape:
        return float("nan")
    difference = own[0] - best[0]
    known = np.isfinite(difference)
    return float(np.sqrt(variance_of_mean(difference[known], own[1, known], held_out_ratio)))
