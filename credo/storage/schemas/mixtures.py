"""How mixtures are stored: settings, the components as classes, and how they were found."""

from __future__ import annotations

from typing import TYPE_CHECKING

from credo.storage import field_types as t
from credo.storage.schemas.models import ESTIMATE
from credo.storage.stored import Stored

if TYPE_CHECKING:
    from credo.models.mixture.model import Mixture

COVARIANCE = t.one_of("full", "tied", "diagonal", "spherical")


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
        "components": t.WHOLE,
        "covariance": COVARIANCE,
        "log_evidence": t.NUMBER,
        "log_likelihood": t.NUMBER,
        "whole": t.FLAG,
    },
)
SCHEMAS = (
    CHOICE,
    Stored(
        "Mixture",
        "credo.models.mixture.model:Mixture",
        {
            "components": t.either(t.WHOLE, t.one_of("auto")),
            "covariance": t.optional(t.either(COVARIANCE, t.one_of("auto"))),
            "strength": t.optional(t.NUMBER),
            "smoothing": t.NUMBER,
            "share_smoothing": t.NUMBER,
            "estimate": ESTIMATE,
            "kinds": t.KINDS,
            "starts": t.WHOLE,
            "steps": t.WHOLE,
            "tolerance": t.NUMBER,
            "most_components": t.WHOLE,
            "seed": t.WHOLE,
            "fitted": t.optional(t.class_at("credo.models.discriminant:GaussianDiscriminant")),
            "history": t.NUMBERS,
            "choices": t.tuple_of(CHOICE.type),
        },
        learned=("fitted", "history", "choices"),
        consistent=_holds,
    ),
)
