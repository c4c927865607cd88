"""credo.learn: try likelihoods and models, tune, average, and report."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, get_args, overload

from credo.core.folds import Groups, check_groups, with_groups
from credo.core.learning import Weight, Weights
from credo.data import Source, source
from credo.data.profile import Profile, missing_shares, profile
from credo.engines import local
from credo.errors import DataError, EvidenceError, suggest
from credo.families.normal_inverse_wishart import Covariance
from credo.models.augmented import OneDependence, TreeAugmented
from credo.models.classifier import Classifier
from credo.models.explaining import contributions
from credo.models.forms import FORM_OF, TEXT_FORMS
from credo.models.naive_bayes import NaiveBayes
from credo.models.several_parents import KDependence, NetworkClassifier
from credo.models.targets import tell_of_missing_codes, with_target
from credo.selection.candidate_forms import FULL_FEATURES, JOINT_CLASSES, with_candidate_forms, with_joint_forms
from credo.selection.near_copies import with_near_copies
from credo.selection.nested_validation import CLASS_SHARES, Outcome, outcome
from credo.selection.regression import check_number_target, holds_numbers, learned_regression
from credo.selection.report import ReadColumn, Report, TriedCandidate
from credo.selection.tuned import TunedClassifier

if TYPE_CHECKING:
    from credo.models.regression.linear import LinearRegression
    from credo.models.regression.logistic import LogisticRegression
    from credo.models.tree.model import DecisionTree

Kind = Literal["auto", "naive-bayes", "gaussian", "tan", "aode", "kdb", "network", "linear", "logistic", "tree"]
Generative = Literal["auto", "naive-bayes", "gaussian", "tan", "aode", "kdb", "network"]
LINEAR = "linear"
MODEL_KINDS = get_args(Kind)
LEARNERS: dict[str, Callable[..., Classifier]] = {
    "tan": TreeAugmented,
    "aode": OneDependence,
    "kdb": KDependence,
    "network": NetworkClassifier,
}
EXPLAINED_ROWS = 100  # rows whose weights of evidence are averaged
NAMED_SHARE = 0.005  # candidates with a smaller share aren't named
DISCRIMINANTS: dict[str, Covariance] = {"linear discriminant": "tied", "quadratic discriminant": "full"}


@overload
def learn(
    data: object, target: object, *, model: Literal["linear"], kinds: Mapping[str, Any] | None = None,
    weight: Weight = None, seed: int = 0, groups: Groups = None,
) -> LinearRegression: ...  # fmt: skip


@overload
def learn(
    data: object, target: object, *, model: Literal["logistic"], kinds: Mapping[str, Any] | None = None,
    weight: Weight = None, seed: int = 0, groups: Groups = None,
) -> LogisticRegression: ...  # fmt: skip


@overload
def learn(
    data: object, target: object, *, model: Literal["tree"], kinds: Mapping[str, Any] | None = None,
    weight: Weight = None, seed: int = 0, groups: Groups = None,
) -> DecisionTree: ...  # fmt: skip


@overload
def learn(
    data: object, target: object, *, model: Generative = "auto", kinds: Mapping[str, Any] | None = None,
    weight: Weight = None, seed: int = 0, groups: Groups = None,
) -> TunedClassifier: ...  # fmt: skip


def learn(
    data: object,
    target: object,
    *,
    model: Kind = "auto",
    kinds: Mapping[str, Any] | None = None,
    weight: Weight = None,
    seed: int = 0,
    groups: Groups = None,
) -> TunedClassifier | LinearRegression | LogisticRegression | DecisionTree:
    """A model for a labelled table; `model.report` has the candidates, the result and its nested scores.

    Several likelihoods are tried for each column and weighted on held-out rows. Candidates, logistic regression among
    them, are averaged by their predictions of rows used neither to fit nor to tune. Where the target is a
    quantity (numbers with fractions, more than 20 whole numbers, or kinds={target: "number"}), the model is a
    LinearRegression; with model="linear", type checkers know that, too. "logistic" and "tree" are fitted alone, without
    a report: see their `cross_validate`.

    `groups` is a column or an array, such as patients, authors or days, where new rows come from new ones: rows with
    the same value are held out together, and the column isn't a feature.

    >>> rows = {"x": [1.0, 1.2, 0.9, 3.1, 2.9, 3.0] * 3, "y": ["a", "a", "a", "b", "b", "b"] * 3}
    >>> model = learn(rows, target="y")
    >>> model.predict({"x": [1.1, 2.8]}).tolist()
    ['a', 'b']
    """
    start = time.perf_counter()
    if model not in MODEL_KINDS:
        raise DataError(f"no such kind of model, {model!r}; {suggest(model, MODEL_KINDS)}")
    table, name = with_target(source(data), target)
    table.check_rereadable("learning reads the data several times")
    table, grouped = with_groups(table.held(), groups)
    check_groups(grouped, name, weight)
    features = table.without(grouped)
    if model == "logistic":
        from credo.models.regression.logistic import LogisticRegression

        return LogisticRegression(kinds=kinds).fit(features, target=name, weight=weight)
    if model == "tree":
        from credo.models.tree.model import DecisionTree

        return DecisionTree(kinds=kinds).fit(features, target=name, weight=weight)
    if model == LINEAR:
        check_number_target(table, name)
    if model == LINEAR or (model == "auto" and holds_numbers(table, name, kinds)):
        read = features.without(name).without(weight).names
        table, grouped = with_near_copies(table, grouped, read, name, kinds, quantity=True)
        with local.small_matrices():
            return learned_regression(table, name, kinds, weight, seed, grouped)
    base: Classifier = LEARNERS.get(model, NaiveBayes)(kinds=kinds).fit(features, target=name, weight=weight)
    if len(base.classes) < 2:
        raise EvidenceError(f"column {name!r} holds one class only, {base.classes[0]!r}: there is nothing to classify")
    tell_of_missing_codes(name, base.classes)
    table, grouped = with_near_copies(table, grouped, base.feature_names, name, kinds)
    return _learned(base, table, RowOptions(weight, seed, grouped), model, start)


def relearned(model: NaiveBayes, table: Source, weight: Weight, seed: int) -> TunedClassifier:
    """`learn` for a model that was fitted to the rows before."""
    start = time.perf_counter()
    table, grouped = with_near_copies(table.held(), None, model.feature_names, str(model.target), model.kinds)
    return _learned(model, table, RowOptions(weight, seed, grouped), "auto", start)


class RowOptions(NamedTuple):
    """How rows are weighted and held out."""

    weight: Weight
    seed: int
    groups: str | None = None


def _learned(base: Classifier, table: Source, rows: RowOptions, kind: str, start: float) -> TunedClassifier:
    features = table.without(rows.groups)
    with local.small_matrices():
        if kind == "gaussian":
            name, found = _discriminant(base, table, rows)
        else:
            wide = with_candidate_forms(base, features, rows.weight)
            if kind == "auto":
                wide = with_joint_forms(wide, features, rows.weight)
            name, found = "", outcome(wide, table, *rows, discriminative=kind == "auto")
        model = found.tuned(joint=kind == "auto")
        report = Report(
            str(model.target),
            model.n,
            model.unlabelled,
            _columns(model, features, Weights.of(rows.weight)),
            found.tried,
            _why(name, found),
            found.scores,
            time.perf_counter() - start,
        )
    return model.replaced(report=report)


def _discriminant(base: Classifier, table: Source, rows: RowOptions) -> tuple[str, Outcome]:
    """A joint Gaussian of the numbers, with the other columns: the better of tied and full covariances."""
    from credo.models.discriminant import GaussianDiscriminant

    numbers = {name: forms for name, forms in base.views.items() if forms[0] == "gaussian"}
    if not numbers:
        raise DataError("model='gaussian' needs number columns, and there is none")
    if len(base.classes) > JOINT_CLASSES:
        raise DataError(f"model='gaussian' takes at most {JOINT_CLASSES} classes, but there are {len(base.classes)}")
    learner = GaussianDiscriminant("tied", kinds=base.kinds).replaced(target=base.target, views=numbers)
    evidence = base.seen.beside(learner.gathered(table, rows.weight))
    wide = learner.replaced(evidence=evidence).narrowed(base.views)
    found = {
        name: outcome(wide.replaced(covariance=covariance), table, *rows)
        for name, covariance in DISCRIMINANTS.items()
        if covariance == "tied" or len(numbers) <= FULL_FEATURES
    }
    best = min(found, key=lambda name: found[name].scores.log_loss)
    rest = (
        TriedCandidate(name, each.scores.log_loss, each.scores.accuracy) for name, each in found.items() if name != best
    )
    own = TriedCandidate(best, found[best].scores.log_loss, found[best].scores.accuracy, 1.0)
    shares = tuple(each for each in found[best].tried if each.name == CLASS_SHARES)
    tried = tuple(sorted((own, *rest, *shares), key=lambda each: each.log_loss))
    return best, replace(found[best], tried=tried)


def _why(name: str, found: Outcome) -> str:
    """The outcome in a sentence."""
    if not found.tried:
        return "no row could be held out, so candidates aren't compared"
    parts = [each for each in found.tried if each.share > NAMED_SHARE and each.name != CLASS_SHARES]
    loss = f"log-loss {found.scores.log_loss:.4f} on held-out rows"
    shares = next((each.log_loss for each in found.tried if each.name == CLASS_SHARES), None)
    baseline = "" if shares is None else f" (class shares alone: {shares:.4f})"
    if name:
        return f"{name}: {loss}{baseline}"
    if not parts:
        return f"the class shares: no column predicts held-out rows better; {loss}"
    pool = ", ".join(f"{each.name} ({each.share:.2f})" for each in parts)
    return f"{pool}: {loss}{baseline}"


def _columns(model: TunedClassifier, table: Source, weights: Weights) -> tuple[ReadColumn, ...]:
    """Every column of the table: its kind, its forms and its importance."""
    names = [name for name in table.names if name != model.target and name != weights.column]
    ignored = [name for name in names if name not in model.views]
    profiles = profile(table, ignored, unread=True) if ignored else {}
    missing = missing_shares(table, names)
    sizes = contributions(model, table, EXPLAINED_ROWS)
    found = []
    for name in names:
        forms = model.tuning.read_as(name)
        kind = _kind(model, name, profiles)
        found.append(ReadColumn(name, kind, " + ".join(forms), missing[name], sizes.get(name, 0.0)))
    return tuple(found)


def _kind(model: Classifier, name: str, ignored: Mapping[str, Profile]) -> str:
    if name in ignored:
        return str((model.kinds or {}).get(name, ignored[name].kind))
    first = model.views[name][0]
    return next((kind for kind, form in FORM_OF.items() if form == first), "text" if first in TEXT_FORMS else "number")
