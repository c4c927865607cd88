"""Questions to mixtures: about the component and category columns, given any cells."""

from __future__ import annotations

from credo.asking.classifiers import ClassifierAdapter
from credo.models.mixture.model import Mixture


def mixture_adapter(model: Mixture) -> ClassifierAdapter:
    """A mixture answers as the classifier whose classes are its components."""
    return ClassifierAdapter(model.classifier)
