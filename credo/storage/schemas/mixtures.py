"""How mixtures are stored: settings, the components as classes, and how they were found."""

from __future__ import annotations

from typing import TYPE_CHECKING

from credo.storage.field_types import (
    ANYTHING,
    FLAG,
    NUMBER,
    TEXT,
    WHOLE,
    class_at,
    either,
    mapping,
    one_of,
    optional,
    tuple_of,
)
from credo.storage.schemas.models import ESTIMATE
from credo.storage.stored import Stored

if TYPE_CHECKING:
    from credo.models.mixture.model import Mixture

COVARIANCE = one_of("full", "tied", "diagonal", "spherical")


def _holds(mixture: Mixture) -> bool:
    """Whether the components have the settings of the mixture, if they were found."""
    model = mixture.fitted
    if model is None:
        return not mixture.history and not mixture.choices
    fixed = mixture.covariance in (None, "auto", model.covariance) and mixture.strength in (None, model.strength)
    alike = (model.estimate, model.smoothing, model.class_smoothing, model.class_prior) == (
        mixture.estimate, mixture.smoothing, mixture.share_smoothing, None
    )  # fmt: skip
    count = mixture.components == "auto" or mixture.components == len(model.classes)
    return fixed and alike and count and model.evidence is not None


CHOICE = Stored(
    "Choice",
    "credo.models.mixture.choices:Choice",
    {
        "components": WHOLE,
        "covariance": COVARIANCE,
        "log_evidence": NUMBER,
        "log_likelihood": NUMBER,
        "whole": FLAG,
    },
)
SCHEMAS = (
    CHOICE,
    Stored(
        "Mixture",
        "credo.models.mixture.model:Mixture",
        {
            "components": either(WHOLE, one_of("auto")),
            "covariance": optional(either(COVARIANCE, one_of("auto"))),
            "strength": optional(NUMBER),
            "smoothing": NUMBER,
            "share_smoothing": NUMBER,
            "estimate": ESTIMATE,
            "kinds": optional(mapping(TEXT, ANYTHING)),
            "starts": WHOLE,
            "steps": WHOLE,
            "tolerance": NUMBER,
            "most_components": WHOLE,
            "seed": WHOLE,
            "fitted": optional(class_at("credo.models.discriminant:GaussianDiscriminant")),
            "history": tuple_of(NUMBER),
            "choices": tuple_of(CHOICE.type),
        },
        learned=("fitted", "history", "choices"),
        consistent=_holds,
    ),
)
