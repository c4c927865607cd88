"""Questions to hidden Markov models: about a row by itself, its state and its category columns, given any cells."""

from __future__ import annotations

from credo.asking.classifiers import ClassifierAdapter
from credo.models.hidden_markov.model import HiddenMarkov


def states_adapter(model: HiddenMarkov) -> ClassifierAdapter:
    """It answers as the classifier whose classes are its states: the neighbours of the row aren't known."""
    return ClassifierAdapter(model.classifier)
