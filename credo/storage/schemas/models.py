"""How classifiers are stored: settings, views of columns, evidence, tuning, and the report of credo.learn."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from credo.storage import field_types as t
from credo.storage.schemas.core import AXIS, EVIDENCE
from credo.storage.schemas.learned import learned
from credo.storage.schemas.regression import FEATURES as REGRESSION_FEATURES
from credo.storage.schemas.string_labels import odds_by_axis
from credo.storage.stored import Moved, Stored, Values

if TYPE_CHECKING:
    from credo.blocks.numbers.gaussian import Joint
    from credo.core.evidence import Part
    from credo.core.labels import Label
    from credo.models.augmented import Augmented
    from credo.models.average import ModelAverage
    from credo.models.classifier import Classifier
    from credo.models.metrics import Scores
    from credo.models.naive_bayes import NaiveBayes
    from credo.models.several_parents import SeveralParents
    from credo.selection.linear_terms import LinearCells, LinearWords
    from credo.selection.tuned import TunedClassifier
    from credo.selection.tuning import Tuning

LOG_PROBABILITY_ERROR = 1e-6  # log P may exceed 0 by rounding


def _scores_hold(scores: Scores) -> bool:
    rows, size = scores.weights.shape, len(scores.classes)
    known = bool(((scores.truth >= 0) & (scores.truth < size)).all())
    weighed = bool(((scores.weights >= 0) & np.isfinite(scores.weights)).all())
    shares = not (scores.log_probabilities > LOG_PROBABILITY_ERROR).any()  # NaN: the class was unknown
    shaped = scores.truth.shape == rows and scores.log_probabilities.shape == (*rows, size)
    grouped = scores.groups is None or (scores.groups.shape == rows and bool((scores.groups >= 0).all()))
    return known and weighed and shares and shaped and grouped


def _cells_hold(term: LinearCells) -> bool:
    """Whether there is a scale, a range and a line of weights for each feature."""
    width = term.features.width
    alike = all(each.shape == (width,) for each in (term.scale, term.lowest, term.highest))
    return alike and bool((term.scale > 0).all()) and term.weights.ndim == 2 and len(term.weights) == width


def _words_hold(term: LinearWords) -> bool:
    """Whether words are distinct strings, with an idf and a line of weights each."""
    import pyarrow as pa

    words, size = term.words, len(term.rarity)
    if not isinstance(words, pa.Array) or not pa.types.is_string(words.type):
        return False
    distinct = not words.null_count and len(words.unique()) == len(words) == size
    shaped = term.rarity.ndim == 1 and term.typical.shape == term.rarity.shape
    return distinct and shaped and term.weights.ndim == 2 and len(term.weights) == size


def _tuning_holds(tuning: Tuning) -> bool:
    size = len(tuning.classes)
    linear = [part.weights for part in tuning.parts if hasattr(part, "weights")]
    if any(weights.shape[1:] != (size,) or not np.isfinite(weights).all() for weights in linear):
        return False
    mixture = {len(row) for row in tuning.mixture} if len(tuning.mixture) == size else {-1}
    return len(tuning.biases) == size and (tuning.mixed is None or mixture == {size})


def _classifier_holds(model: Classifier) -> bool:
    """Whether the evidence has the form that the model produces, as kernels require."""
    import pyarrow as pa

    from credo.blocks.numbers.gaussian import COMPLETED, KNOWN, Joint
    from credo.data import Batch

    if not _views_hold(model):
        return False
    if model.evidence is None:
        return True
    evidence, target = model.evidence, str(model.target)
    classes = evidence.schema[target].levels
    row = Batch(0, 1, {target: classes[:1] if len(classes) else pa.nulls(1)})
    fresh = model.summarise(row, np.ones(1))
    patterns: dict[Label, Part] = {}
    for _, block in model.blocks(model.views):
        if isinstance(block, Joint):
            patterns |= {label: evidence.parts[label] for label in block.labels(evidence)}
            if (COMPLETED in patterns) != (KNOWN in patterns):
                return False
            if not all(_joint_holds(label, part, block, target) for label, part in patterns.items()):
                return False
    return learned(evidence, fresh, patterns) and model.crowded(evidence) is None


def _cuts_hold(model: Augmented | NaiveBayes) -> bool:
    """Whether exactly the numbers that are counted in bins have cut points, in order."""
    from credo.models.forms import CELL_FORMS

    celled = {name for name, own in model.views.items() if not set(CELL_FORMS).isdisjoint(own)}
    numbers = {name for name in celled if model.views[name][0] != "category"}
    ordered = all(all(a < b for a, b in pairwise(cuts)) and np.isfinite(cuts).all() for cuts in model.cuts.values())
    return set(model.cuts) == numbers and ordered and _classifier_holds(model)


def _parents_hold(model: SeveralParents | NaiveBayes) -> bool:
    """Whether the parents of columns whose families are counted are such columns, without a cycle."""
    from graphlib import CycleError, TopologicalSorter

    from credo.models.forms import FAMILY_FORM

    families = {name for name, own in model.views.items() if FAMILY_FORM in own}
    above = {each for own in model.parents.values() for each in own}
    if not model.parents.keys() <= families or not above <= families | {model.target}:
        return False
    try:
        TopologicalSorter(model.parents).prepare()
    except CycleError:
        return False
    return all(len({*own}) == len(own) for own in model.parents.values()) and _cuts_hold(model)


def _views_hold(model: Classifier) -> bool:
    """Whether columns are read in forms that the model has."""
    counted = {form for form, _ in model.blocks(model.views)}
    return (
        (model.target is None) == (not model.views) == (model.evidence is None)
        and model.target not in model.views
        and all(own and set(own) <= counted for own in model.views.values())
    )


def _tuned_holds(tuned: TunedClassifier) -> bool:
    """Whether the tuning uses the forms that the model counts."""
    views, forms = tuned.views, tuned.tuning.forms
    known = all(name in views for part in tuned.tuning.parts for name in part.names)
    counted = all(set(own) <= set(views.get(name, ())) for name, own in forms.items())
    return tuned.evidence is not None and known and counted


def _average_holds(model: ModelAverage) -> bool:
    """Whether stacked weights are shares of the models."""
    stacked = model.stacked
    if stacked is None or len(model.names) != len(model.models):
        return len(model.names) == len(model.models)
    shares = len(stacked) == len(model.models) and all(0 <= each <= 1 for each in stacked)
    return shares and abs(sum(stacked) - 1) < LOG_PROBABILITY_ERROR


def _tuning_apart(plain: str, joint: bool = False) -> Callable[[Values], Values | Moved]:
    """The upgrade of a classifier's version 1, which contained its tuning and its report."""

    def upgraded(values: Values) -> Values | Moved:
        model = {name: value for name, value in values.items() if name not in ("tuning", "report")}
        tuning, report = values["tuning"], values["report"]
        stored = next(each for each in SCHEMAS if each.name == plain)
        if plain == "NaiveBayes":
            model = {"m": None, "p": None, "average": False, "cuts": {}, "parents": {}, **model}
        if tuning is None:
            return Moved(stored, model)
        made = stored.built(stored.version, model)
        return Moved(TUNED, {"model": made, "tuning": tuning, "report": report, "joint": joint})

    return upgraded


def _joint_holds(label: Label, part: Part, block: Joint, target: str) -> bool:
    """Whether a pattern of missing cells has the moments of its observed columns; completed rows have those of all
    columns, and also those of each column's observed cells."""
    from credo.blocks.numbers.gaussian import COMPLETED, KNOWN
    from credo.core.moments import CrossMoments, Moments

    width = len(block.names)
    if label == KNOWN:
        known = {each.shape for each in part.statistics.sums} == {(1, width)}
        return part.axes == (None, None) and isinstance(part.statistics, Moments) and known
    plain = label == label._replace(name="", derived="")
    d, whole = sum(label.pattern), plain and len(label.pattern) == width and part.axes == (target,)
    if label == COMPLETED:
        d, whole = width, part.axes == (target,)
    shapes = [each.shape[1:] for each in part.statistics.sums]
    return bool(whole and isinstance(part.statistics, CrossMoments) and shapes == [(), (d,), (d, d)])


ESTIMATE = t.one_of("bayes", "mean", "map", "ml")

TUNING = Stored(
    "Tuning",
    "credo.selection.tuning:Tuning",
    {
        "forms": t.NAMES_BY_NAME,
        "weights": t.mapping(t.TEXT, t.mapping(t.TEXT, t.NUMBER)),
        "classes": t.VALUES,
        "biases": t.NUMBERS,
        "smoothing": t.NUMBER,
        "strength": t.NUMBER,
        "rows": t.NUMBER,
        "log_loss": t.NUMBER,
        "mixed": t.optional(t.TEXT),
        "mixture": t.tuple_of(t.NUMBERS),
        "odds": t.mapping(AXIS, t.pair_of(t.NUMBER)),
        "shrinkage": t.NUMBER,
        "discount": t.NUMBER,
        "backoff": t.NUMBER,
        "label_noise": t.NUMBER,
        "parts": t.tuple_of(t.class_at("credo.selection.linear_terms:DiscriminativeTerm")),
        "ranges": t.mapping(t.TEXT, t.pair_of(t.NUMBER)),
    },
    upgrades=(
        odds_by_axis,
        lambda values: {**values, "backoff": 5.0},
        lambda values: {**values, "parts": ()},
        lambda values: {**values, "ranges": {}},
    ),
    consistent=_tuning_holds,
)
LINEAR_CELLS = Stored(
    "LinearCells",
    "credo.selection.linear_terms:LinearCells",
    {
        "features": REGRESSION_FEATURES.type,
        "scale": t.FLOATS,
        "lowest": t.FLOATS,
        "highest": t.FLOATS,
        "weights": t.FLOATS,
        "share": t.NUMBER,
    },
    consistent=_cells_hold,
)
LINEAR_WORDS = Stored(
    "LinearWords",
    "credo.selection.linear_terms:LinearWords",
    {
        "name": t.TEXT,
        "text": t.class_at("credo.models.forms:Text"),
        "words": t.ANYTHING,
        "rarity": t.FLOATS,
        "typical": t.FLOATS,
        "weights": t.FLOATS,
        "share": t.NUMBER,
    },
    consistent=_words_hold,
)
SCORES = Stored(
    "Scores",
    "credo.models.metrics:Scores",
    {
        "classes": t.VALUES,
        "log_probabilities": t.FLOATS,
        "truth": t.INTEGERS,
        "weights": t.FLOATS,
        "how": t.TEXT,
        "estimated": t.NUMBER,
        "reuse": t.NUMBER,
        "groups": t.optional(t.INTEGERS),
    },
    consistent=_scores_hold,
    attributes={"reuse": "held_out_ratio"},
    upgrades=(lambda values: values | {"reuse": 0.0}, lambda values: values | {"groups": None}),
)
READ = Stored(
    "Read",
    "credo.selection.report:ReadColumn",
    {"name": t.TEXT, "kind": t.TEXT, "form": t.TEXT, "missing": t.NUMBER, "weight": t.NUMBER},
)
TRIED = Stored(
    "Tried",
    "credo.selection.report:TriedCandidate",
    {"name": t.TEXT, "log_loss": t.NUMBER, "accuracy": t.NUMBER, "share": t.NUMBER, "difference_error": t.NUMBER},
    upgrades=(lambda values: values | {"difference_error": 0.0},),
)
REPORT = Stored(
    "Report",
    "credo.selection.report:Report",
    {
        "target": t.TEXT,
        "rows": t.NUMBER,
        "unlabelled": t.NUMBER,
        "columns": t.tuple_of(READ.type),
        "tried": t.tuple_of(TRIED.type),
        "why": t.TEXT,
        "scores": SCORES.type,
        "seconds": t.NUMBER,
    },
)
SETTINGS = {
    "smoothing": t.NUMBER,
    "class_smoothing": t.optional(t.NUMBER),
    "estimate": ESTIMATE,
    "strength": t.NUMBER,
    "class_prior": t.CLASS_PRIOR,
    "kinds": t.KINDS,
}
LEARNED = {"target": t.optional(t.TEXT), "views": t.NAMES_BY_NAME, "evidence": t.optional(EVIDENCE.type)}
CUTS = t.mapping(t.TEXT, t.NUMBERS)
AUGMENTED = {
    "smoothing": t.NUMBER,
    "backoff": t.NUMBER,
    "bins": t.optional(t.either(t.WHOLE, CUTS)),
    "class_smoothing": t.optional(t.NUMBER),
    "class_prior": t.CLASS_PRIOR,
    "kinds": t.KINDS,
}
CELLS = {"cuts": CUTS, **LEARNED}
FAMILIES = {"cuts": CUTS, "parents": t.NAMES_BY_NAME, **LEARNED}
TUNED = Stored(
    "TunedClassifier",
    "credo.selection.tuned:TunedClassifier",
    {
        "model": t.either(
            t.class_at("credo.models.naive_bayes:NaiveBayes"),
            t.class_at("credo.models.discriminant:GaussianDiscriminant"),
            t.class_at("credo.models.augmented:Augmented"),
        ),
        "tuning": TUNING.type,
        "report": t.optional(REPORT.type),
        "joint": t.FLAG,
    },
    learned=("report", "joint"),
    consistent=_tuned_holds,
)

AVERAGE = Stored(
    "ModelAverage",
    "credo.models.average:ModelAverage",
    {
        "models": t.tuple_of(t.class_at("credo.models.class_predictor:ClassPredictor")),
        "names": t.NAMES,
        "by": t.one_of("evidence", "loo", "folds"),
        "class_prior": t.CLASS_PRIOR,
        "stacked": t.optional(t.NUMBERS),
    },
    consistent=_average_holds,
)

TREE_TERM = Stored(
    "TreeTerm",
    "credo.selection.tree_terms:TreeTerm",
    {"tree": t.class_at("credo.models.tree.model:DecisionTree"), "places": t.tuple_of(t.WHOLE), "share": t.NUMBER},
    consistent=lambda term: term.tree.evidence is not None,
)
SCHEMAS = (
    TREE_TERM,
    LINEAR_CELLS,
    LINEAR_WORDS,
    TUNING,
    SCORES,
    READ,
    TRIED,
    REPORT,
    Stored("Number", "credo.models.forms:Number", {"likelihood": t.one_of("gaussian", "log", "binned")}),
    Stored(
        "Text",
        "credo.models.forms:Text",
        {
            "words": t.one_of("multinomial", "bernoulli"),
            "ngrams": t.WHOLE,
            "lowercase": t.FLAG,
            "min_count": t.WHOLE,
            "drop_most_common": t.WHOLE,
            "max_words": t.optional(t.WHOLE),
            "hashed": t.either(t.FLAG, t.WHOLE),
            "stop_words": t.optional(t.NAMES),
            "token_pattern": t.optional(t.TEXT),
        },
    ),
    TUNED,
    AVERAGE,
    Stored(
        "TreeAugmented",
        "credo.models.augmented:TreeAugmented",
        {**AUGMENTED, "tree": t.optional(t.mapping(t.TEXT, t.TEXT)), **CELLS},
        learned=tuple(CELLS),
        consistent=_cuts_hold,
    ),
    Stored(
        "OneDependence",
        "credo.models.augmented:OneDependence",
        {**AUGMENTED, **CELLS},
        learned=tuple(CELLS),
        consistent=_cuts_hold,
    ),
    Stored(
        "KDependence",
        "credo.models.several_parents:KDependence",
        {"k": t.WHOLE, **AUGMENTED, "arrows": t.optional(t.NAMES_BY_NAME), **FAMILIES},
        learned=tuple(FAMILIES),
        consistent=_parents_hold,
    ),
    Stored(
        "NetworkClassifier",
        "credo.models.several_parents:NetworkClassifier",
        {
            "score": t.TEXT,
            "search": t.TEXT,
            "max_parents": t.WHOLE,
            **AUGMENTED,
            "arrows": t.optional(t.NAMES_BY_NAME),
            **FAMILIES,
        },
        learned=tuple(FAMILIES),
        consistent=_parents_hold,
    ),
    Stored("Blend", "", {}, upgrades=(_tuning_apart("NaiveBayes", joint=True),)),  # only in files of version 0.1
    Stored(
        "GaussianDiscriminant",
        "credo.models.discriminant:GaussianDiscriminant",
        {"covariance": t.one_of("full", "tied", "diagonal", "spherical"), **SETTINGS, **LEARNED},
        learned=tuple(LEARNED),
        upgrades=(_tuning_apart("GaussianDiscriminant"),),
        consistent=_classifier_holds,
    ),
    Stored(
        "NaiveBayes",
        "credo.models.naive_bayes:NaiveBayes",
        {
            **SETTINGS,
            "m": t.optional(t.NUMBER),
            "p": t.optional(t.mapping(t.TEXT, t.mapping(t.ANYTHING, t.NUMBER))),
            "average": t.FLAG,
            **FAMILIES,
        },
        learned=tuple(FAMILIES),
        upgrades=(_tuning_apart("NaiveBayes"), lambda v: {**v, "cuts": {}}, lambda v: {**v, "parents": {}}),
        consistent=_parents_hold,
    ),
)
