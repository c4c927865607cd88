"""How regressions are stored: features, settings, and evidence."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from credo.storage import field_types as t
from credo.storage.schemas.core import EVIDENCE, SCHEMA
from credo.storage.schemas.families import LINEAR_GAUSSIAN
from credo.storage.schemas.learned import learned
from credo.storage.stored import Moved, Stored

if TYPE_CHECKING:
    from credo.models.regression.features import Features, Readings
    from credo.models.regression.linear import LinearRegression
    from credo.models.regression.robust import StudentNoise
    from credo.models.regression.scores import NumberScores

PAIRS = t.tuple_of(t.pair_of(t.TEXT))


def _features_hold(features: Features) -> bool:
    """Whether there is a centre for each number and level, and the other fields name known columns."""
    from credo.models.regression.features import features_of

    known = set(features.columns)
    width = sum(len(features_of(column)) for column in features.schema)
    named = {name for pair in features.interactions for name in pair} | set(features.missing)
    shares = all(0 <= share <= 1 for share in features.missing.values())
    centred = features.centre.shape == (width,) and bool(np.isfinite(features.centre).all())
    return len(known) == len(features.columns) and named <= known and shares and centred


def _readings_hold(readings: Readings) -> bool:
    """Whether categories and interactions are among the columns."""
    known = set(readings.names)
    squares = known - set(readings.categories)
    pairs = all({a, b} <= known and (a != b or a in squares) for a, b in readings.interactions)
    return len(known) == len(readings.names) and set(readings.categories) <= known and pairs


def _regression_holds(model: LinearRegression) -> bool:
    """Whether the evidence has the form that the model produces, with a feature for each level."""
    import pyarrow as pa

    from credo.data import Batch

    if model.readings is None or model.evidence is None:
        return model.target is None and model.readings is None and model.evidence is None
    if model.target is None or model.target in model.readings.names:
        return False
    if (model.robust is not None) != (model.noise == "student"):
        return False
    fresh = model.summarise(Batch(0, 1, {model.target: pa.array([0.0])}), np.ones(1))
    return learned(model.evidence, fresh) and model.design.complete(model.evidence)


def _scores_hold(scores: NumberScores) -> bool:
    """Whether there is a prediction, a density and a weight for each row."""
    parts = (scores.predicted, scores.log_probabilities, scores.weights)
    weighed = bool(((scores.weights >= 0) & np.isfinite(scores.weights)).all())
    return scores.truth.ndim == 1 and weighed and all(each.shape == scores.truth.shape for each in parts)


def _noise_holds(noise: StudentNoise) -> bool:
    """Whether the expected sums are of the kept features."""
    from credo.blocks.one_hot import LABEL
    from credo.core.moments import CrossMoments
    from credo.core.statistics import Totals
    from credo.models.regression.robust import NOISE_LABEL

    width, kept, parts = noise.features.width, noise.kept, noise.expected.parts
    inside = bool(((kept >= 0) & (kept < width)).all()) and len(np.unique(kept)) == len(kept)
    scaled = noise.scales.shape == (width,) and bool((np.isfinite(noise.scales) & (noise.scales > 0)).all())
    if not (inside and scaled and noise.ridge >= 0 and noise.degrees > 0 and parts.keys() == {LABEL, NOISE_LABEL}):
        return False
    sums, hidden = parts[LABEL].statistics, parts[NOISE_LABEL].statistics
    shaped = isinstance(sums, CrossMoments) and sums.first.shape == (1, len(kept) + 1)
    return shaped and isinstance(hidden, Totals) and hidden.n.shape == (1,)


FEATURES = Stored(
    "Features",
    "credo.models.regression.features:Features",
    {"schema": SCHEMA.type, "centre": t.FLOATS, "missing": t.mapping(t.TEXT, t.NUMBER), "interactions": PAIRS},
    consistent=_features_hold,
)
READINGS = Stored(
    "Readings",
    "credo.models.regression.features:Readings",
    {"names": t.NAMES, "categories": t.NAMES, "interactions": PAIRS},
    consistent=_readings_hold,
)
STUDENT_NOISE = Stored(
    "StudentNoise",
    "credo.models.regression.robust:StudentNoise",
    {
        "features": FEATURES.type,
        "scales": t.FLOATS,
        "kept": t.INTEGERS,
        "ridge": t.NUMBER,
        "expected": EVIDENCE.type,
        "degrees": t.NUMBER,
        "history": t.NUMBERS,
    },
    consistent=_noise_holds,
)
SCORES = Stored(
    "NumberScores",
    "credo.models.regression.scores:NumberScores",
    {
        "truth": t.FLOATS,
        "predicted": t.FLOATS,
        "log_probabilities": t.FLOATS,
        "weights": t.FLOATS,
        "how": t.TEXT,
        "reuse": t.NUMBER,
        "groups": t.optional(t.INTEGERS),
    },
    consistent=_scores_hold,
    attributes={"reuse": "held_out_ratio"},
    upgrades=(lambda values: values | {"reuse": 0.0}, lambda values: values | {"groups": None}),
)
TRIED = Stored(
    "TriedRegression",
    "credo.selection.report:TriedRegression",
    {"name": t.TEXT, "log_loss": t.NUMBER, "rmse": t.NUMBER, "r2": t.NUMBER, "chosen": t.FLAG},
)
REPORT = Stored(
    "RegressionReport",
    "credo.selection.report:RegressionReport",
    {
        "target": t.TEXT,
        "rows": t.NUMBER,
        "unlabelled": t.NUMBER,
        "tried": t.tuple_of(TRIED.type),
        "why": t.TEXT,
        "scores": SCORES.type,
        "seconds": t.NUMBER,
    },
)
LEARNED = {
    "given": t.optional(LINEAR_GAUSSIAN.type),
    "target": t.optional(t.TEXT),
    "readings": t.optional(READINGS.type),
    "evidence": t.optional(EVIDENCE.type),
    "robust": t.optional(STUDENT_NOISE.type),
    "report": t.optional(REPORT.type),
}
SCHEMAS = (
    SCORES,
    TRIED,
    REPORT,
    FEATURES,
    READINGS,
    STUDENT_NOISE,
    Stored(
        "LinearRegression",
        "credo.models.regression.linear:LinearRegression",
        {
            "ridge": t.either(t.NUMBER, t.one_of("evidence")),
            "kinds": t.KINDS,
            "interactions": t.either(t.one_of("all", "squares", "quadratic"), PAIRS),
            "select": t.FLAG,
            "noise": t.one_of("gaussian", "student"),
            **LEARNED,
        },
        learned=tuple(LEARNED),
        upgrades=(
            lambda values: Moved(LINEAR_GAUSSIAN, values),  # version 1 was the name of the conjugate family
            lambda values: {**values, "report": None},
        ),
        consistent=_regression_holds,
    ),
)
