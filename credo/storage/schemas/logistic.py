"""How logistic regressions are stored: settings, features, and the posterior of the weights."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from credo.storage import field_types as t
from credo.storage.schemas.core import COLUMN
from credo.storage.schemas.regression import FEATURES, PAIRS
from credo.storage.stored import Stored, Values

if TYPE_CHECKING:
    from credo.models.regression.encoding import RowEncoding
    from credo.models.regression.laplace import LaplacePosterior
    from credo.models.regression.logistic import LogisticRegression
    from credo.models.regression.tf_idf import TextFeatures


def _words_hold(text: TextFeatures) -> bool:
    """Whether each word has a positive weight."""
    return text.idf.shape == (len(text.words),) and bool((text.idf > 0).all() and np.isfinite(text.idf).all())


def _encoding_holds(encoding: RowEncoding) -> bool:
    """Whether each feature has a positive scale, and no column is read twice."""
    width = 0 if encoding.features is None else encoding.features.width
    scaled = encoding.scale.shape == (width,) and bool((encoding.scale > 0).all() and np.isfinite(encoding.scale).all())
    return scaled and len(set(encoding.columns)) == len(encoding.columns)


def _posterior_holds(posterior: LaplacePosterior) -> bool:
    """Whether mode and precision are finite and of matching sizes."""
    mode, precision = posterior.mode, posterior.precision
    sizes = mode.ndim == 2 and precision.shape in (mode.shape, (mode.size, mode.size))
    return sizes and bool(np.isfinite(mode).all() and np.isfinite(precision).all()) and posterior.log_likelihood <= 1e-6


def _model_holds(model: LogisticRegression) -> bool:
    """Whether there are weights for each feature and class, if anything was learned."""
    if model.posterior is None:
        return model.target is None and model.class_column is None and not model.history
    if model.class_column is None or model.target != model.class_column.name:
        return False
    classes, shape = len(model.class_column.values), model.posterior.mode.shape
    columns = 1 if classes == 2 else classes
    weights = model.class_sizes.shape == (classes,) and bool((model.class_sizes >= 0).all())
    known = set(model.views) == set(model.encoding.columns) and set(model.strengths) == set(model.encoding.groups)
    return classes >= 2 and shape == (1 + model.encoding.width, columns) and weights and known and model.unlabelled >= 0


TEXT_FEATURES = Stored(
    "TextFeatures",
    "credo.models.regression.tf_idf:TextFeatures",
    {"name": t.TEXT, "how": t.class_at("credo.models.forms:Text"), "words": t.ANYTHING, "idf": t.FLOATS},
    consistent=_words_hold,
)
ROW_ENCODING = Stored(
    "RowEncoding",
    "credo.models.regression.encoding:RowEncoding",
    {"features": t.optional(FEATURES.type), "scale": t.FLOATS, "texts": t.tuple_of(TEXT_FEATURES.type)},
    consistent=_encoding_holds,
)
LAPLACE_POSTERIOR = Stored(
    "LaplacePosterior",
    "credo.models.regression.laplace:LaplacePosterior",
    {"mode": t.FLOATS, "precision": t.FLOATS, "log_likelihood": t.NUMBER, "log_evidence": t.optional(t.NUMBER)},
    consistent=_posterior_holds,
)
LEARNED = {
    "target": t.optional(t.TEXT),
    "views": t.NAMES_BY_NAME,
    "class_column": t.optional(COLUMN.type),
    "class_sizes": t.FLOATS,
    "unlabelled": t.NUMBER,
    "encoding": ROW_ENCODING.type,
    "posterior": t.optional(LAPLACE_POSTERIOR.type),
    "strengths": t.mapping(t.TEXT, t.NUMBER),
    "history": t.NUMBERS,
    "signs": t.mapping(t.TEXT, t.TEXT),
}


def _without_signs(values: Values) -> Values:
    """An upgrade: earlier versions didn't store currency signs."""
    return {**values, "signs": {}}


SCHEMAS = (
    TEXT_FEATURES,
    ROW_ENCODING,
    LAPLACE_POSTERIOR,
    Stored(
        "LogisticRegression",
        "credo.models.regression.logistic:LogisticRegression",
        {
            "strength": t.either(t.NUMBER, t.one_of("auto", "evidence", "cross-validation")),
            "estimate": t.one_of("bayes", "map", "ml"),
            "method": t.one_of("auto", "newton", "lbfgs", "gradient"),
            "scaled": t.FLAG,
            "interactions": t.either(t.one_of("all", "squares", "quadratic"), PAIRS),
            "rate": t.optional(t.NUMBER),
            "steps": t.WHOLE,
            "class_prior": t.CLASS_PRIOR,
            "kinds": t.KINDS,
            **LEARNED,
        },
        learned=tuple(LEARNED),
        upgrades=(_without_signs,),
        consistent=_model_holds,
    ),
)
