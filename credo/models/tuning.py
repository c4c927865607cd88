"""Tuning: what the evidence leaves open, chosen on leave-one-out scores, kept apart from it and shown."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from credo.blocks.block import Settings
from credo.data import Source
from credo.exact import Array

if TYPE_CHECKING:
    from credo.models.classifier import Classifier


@dataclass(frozen=True)
class Tuning:
    """Which forms each column is read in, the weight of each, the classes' biases, and what the priors are worth."""

    forms: Mapping[str, tuple[str, ...]]
    weights: Mapping[str, Mapping[str, float]]  # {form: {voice: weight}}
    biases: Mapping[str, float]  # {str(class): bias}
    smoothing: float
    strength: float
    rows: float  # the weight of the rows that it was chosen on
    log_loss: float  # on their leave-one-out scores

    def applied_to(self, settings: Settings) -> Settings:
        return replace(settings, smoothing=self.smoothing, strength=self.strength)

    @property
    def class_smoothing(self) -> float | None:
        return None

    def weights_of(self, form: str, voices: Sequence[str]) -> Array:
        return np.array([self.weights[form].get(voice, 0.0) for voice in voices])

    def biases_of(self, classes: Sequence[Any]) -> Array:
        """A class that came later has none."""
        return np.array([self.biases.get(str(value), 0.0) for value in classes])

    def without_class(self, value: object) -> Tuning:
        return replace(self, biases={name: bias for name, bias in self.biases.items() if name != str(value)})

    def described(self, rows: float) -> str:
        older = "" if np.isclose(rows, self.rows) else f" (on {self.rows:g} rows: older than the evidence)"
        each = [weight for weights in self.weights.values() for weight in weights.values()]
        return (
            f"smoothing {self.smoothing:g}, strength {self.strength:g}, weights {min(each):.3g} to {max(each):.3g}, "
            f"leave-one-out log-loss {self.log_loss:.4f}{older}"
        )


def tuned(model: Classifier, table: Source, weight: Any, seed: int) -> Any:
    raise NotImplementedError
