"""The forms of columns among which tuning chooses: they are counted besides those that the model reads."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeVar

import numpy as np

from credo.blocks.dependence.cells import Cuts
from credo.core.learning import Weight
from credo.data import Source
from credo.data.arrow_arrays import numpy_array
from credo.data.schema import Derived
from credo.models.augmented import Augmented, cut_points, dependent_columns
from credo.models.classifier import Classifier
from credo.models.forms import (
    CALENDAR_FORMS,
    FAMILY_FORM,
    GAUSSIAN_FORMS,
    TEXT_FORMS,
    Number,
    PairForm,
    Text,
)
from credo.models.several_parents import parents_of

JOINT_FEATURES, FULL_FEATURES = 200, 150  # features of a joint Gaussian at most; with one covariance per class
JOINT_CLASSES = 100  # above this many classes, columns aren't read jointly
PAIR_ROWS = 1000  # below this many rows, no pairs of columns are counted
PAIRED_CELLS = 500  # levels and bins whose pairs are counted, at most
COUNTED_PAIR_FORMS: tuple[PairForm, ...] = ("one-dependence", "pairwise")  # k-dependence replaces a tree
COLUMN_PARENTS = 4  # parents of a column besides the class, at most

Model = TypeVar("Model", bound=Classifier)


def with_candidate_forms(model: Model, table: Source, weight: Weight) -> Model:
    """The model with number columns counted in all forms, unless one was asked for, and texts as log-odds, too."""
    if isinstance(model, Augmented):  # sketches of numbers, from which each fold chooses cut points
        own = model.bins if isinstance(model.bins, Mapping) else {}
        free = [name for name in model.cuts if name not in own and model.views[name][0] == "gaussian"]
        sketched = dict.fromkeys(free if not isinstance(model.bins, int) else [], ("binned",))
        return model.counting(sketched, table, weight) if sketched else model
    if not model.chooses_forms:
        return model
    asked = {name for name, how in (model.kinds or {}).items() if isinstance(how, Number)}
    texts = [name for name, views in model.views.items() if views[0] == "words"]
    if texts:
        kinds = {name: how for name, how in (model.kinds or {}).items() if isinstance(how, Text)}
        model = model.counting({name: kinds.get(name, Text()).views for name in texts}, table, weight)
    model = _with_calendar(model, table, weight)
    free = [name for name, views in model.views.items() if views[0] == "gaussian" and name not in asked]
    if not free:
        return model
    model = model.counting(dict.fromkeys(free, ("binned",)), table, weight)
    positive = [name for name in free if _smallest_value(model, name) > 0]
    if positive:
        model = model.counting(dict.fromkeys(positive, ("log",)), table, weight)
    views = {
        name: tuple(dict.fromkeys((*own, *(["coarse"] if "binned" in own else []))))
        for name, own in model.views.items()
    }
    return model.replaced(views=views)


def _smallest_value(model: Classifier, name: str) -> float:
    values = model.seen.schema[name].levels
    return float(np.min(numpy_array(values), initial=np.inf))


def _with_calendar(model: Model, table: Source, weight: Weight) -> Model:
    """The model with varying weekdays, months and hours of its dates counted; tuning weights them."""
    dates = [name for name, views in model.views.items() if views[0] == "date"]
    if not dates:
        return model
    model = model.counting(dict.fromkeys(dates, CALENDAR_FORMS), table, weight)
    views = dict(model.views)
    for name in dates:
        varying = {form for form in CALENDAR_FORMS if len(model.seen.schema[Derived(form, name)].levels) > 1}
        views[name] = tuple(form for form in views[name] if form not in CALENDAR_FORMS or form in varying)
    return model.narrowed(views)


def with_joint_forms(model: Classifier, table: Source, weight: Weight) -> Classifier:
    """The model with columns counted jointly, too, where that is possible."""
    jointly, cuts, paired = _joint_forms(model), *(_paired_columns(model) if model.chooses_forms else ({}, set()))
    more = {name: (*jointly.get(name, ()), *(COUNTED_PAIR_FORMS if name in paired else ())) for name in model.views}
    more = {name: forms for name, forms in more.items() if forms}
    if not more:
        return model
    views = {n: (("category", *f) if model.views[n][0] == "category" else f) for n, f in more.items()}
    model, seen = model.replaced(cuts=cuts) if paired else model, model.seen
    evidence = model.replaced(views=views, evidence=None).gathered(table, weight)
    wider = {name: (*forms, *more.get(name, ())) for name, forms in model.views.items()}
    model = model.replaced(views=wider, evidence=seen.beside(evidence))
    return _with_families(model, paired, table, weight) if paired else model


def _with_families(model: Classifier, names: set[str], table: Source, weight: Weight) -> Classifier:
    """The model with these columns counted jointly with their parents, which the counts of pairs determine."""
    model = model.replaced(parents=parents_of(model, COLUMN_PARENTS))
    views = {n: ("category", FAMILY_FORM) if own[0] == "category" else (FAMILY_FORM,) for n, own in model.views.items()}
    own = {name: views[name] for name in model.views if name in names}
    evidence = model.seen.beside(model.replaced(views=own, evidence=None).gathered(table, weight))
    wider = {name: (*forms, FAMILY_FORM) if name in names else forms for name, forms in model.views.items()}
    return model.replaced(views=wider, evidence=evidence)


def _paired_columns(model: Classifier) -> tuple[Cuts, set[str]]:
    """Cut points of numbers, and the columns whose pairs of cells are counted; none for few rows or columns."""
    if model.n < PAIR_ROWS or len(model.classes) > JOINT_CLASSES:
        return {}, set()
    numbers = [name for name, forms in model.views.items() if "binned" in forms]
    categories = [name for name, forms in model.views.items() if forms[0] == "category"]
    cuts = {name: cut_points(model.seen, name) for name in numbers}
    cuts = {name: own for name, own in cuts.items() if own}  # a single bin is uninformative
    chosen = dependent_columns(model.seen, str(model.target), [*categories, *cuts], cuts, PAIRED_CELLS)
    if len(chosen) < 2:
        return {}, set()
    return {name: own for name, own in cuts.items() if name in chosen}, chosen


def _joint_forms(model: Classifier) -> dict[str, tuple[str, ...]]:
    """The joint Gaussian forms of columns, those with few values first; none for many classes."""
    sizes: dict[str, int] = {}
    if len(model.classes) > JOINT_CLASSES:
        return {}
    for name, views in model.views.items():
        if views[0] == "category":
            sizes[name] = len(model.seen.schema[name].levels)
        elif views[0] not in ("count", "date", *TEXT_FORMS):
            sizes[name] = 1
    chosen, total = set(), 0
    for name in sorted(sizes, key=lambda name: sizes[name]):
        if total + sizes[name] <= JOINT_FEATURES:
            chosen.add(name)
            total += sizes[name]
    forms = GAUSSIAN_FORMS if total <= FULL_FEATURES else GAUSSIAN_FORMS[:1]
    return {name: forms for name in model.views if name in chosen}
