"""Description length and evidence of classifiers: the bits of arrows and cut points, of parameters at the precision
that the rows warrant, and of the labels given these."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from credo.blocks.capabilities import LogEvidence
from credo.core.description import DescriptionLength, bits, choice_bits, integer_bits, parameter_bits
from credo.core.learning import Weight
from credo.errors import EvidenceError
from credo.families import dirichlet

if TYPE_CHECKING:
    from credo.models.class_predictor import ClassPredictor
    from credo.models.classifier import Classifier
    from credo.models.hidden_markov.model import HiddenMarkov
    from credo.models.metrics import Scores
    from credo.models.mixture.model import Mixture
    from credo.models.regression.linear import LinearRegression
    from credo.models.regression.scores import NumberScores
    from credo.numerics.exact import Array

HALF_LOG_EACH = "½ log₂ n each"


def target_length(
    model: ClassPredictor | LinearRegression, scores: Scores | NumberScores, parameters: float, structure: float
) -> DescriptionLength:
    """The code length of a target given the columns: Σ −log₂ P(target | row), by the model that the first part
    describes.

    For numbers these are densities: the bits of the numbers' precision, equal for all models, are left out.
    """
    data = bits(scores.log_likelihood) if scores.n > 0 else 0.0
    coded = f"column {model.target!r} given the others"
    return DescriptionLength(coded, structure, parameter_bits(parameters, scores.n), data, scores.n, HALF_LOG_EACH)


def classifier_length(model: Classifier, data: object, target: object, weight: Weight) -> DescriptionLength:
    """A two-part code with ½ log₂ n bits a parameter, the same for all classifiers, since not all have an evidence."""
    scores = model.scores(data, target=target, weight=weight)
    tuned = 0 if model.tuning is None else len(model.tuning.biases) + _weights(model.tuning.weights)
    return target_length(model, scores, model.n_parameters + tuned, model.structure_bits(scores.n))


def _weights(weights: Mapping[str, Mapping[str, float]]) -> int:
    return sum(len(own) for own in weights.values())


def cut_bits(cuts: Mapping[str, Sequence[float]], n: float) -> float:
    """The bits of the cut points: their number in each number column, and their positions among n values."""
    places = max(int(n) - 1, 0)
    return sum(integer_bits(len(own)) + choice_bits(max(places, len(own)), len(own)) for own in cuts.values())


def forest_bits(columns: int) -> float:
    """The bits of one of the (d + 1)^(d − 1) forests over d columns (Cayley)."""
    return (columns - 1) * float(np.log2(columns + 1)) if columns else 0.0


def classifier_evidence(model: Classifier) -> float:
    """log p(classes, columns), all parameters integrated out: Dirichlet for P(class), each block by its own family."""
    plain = model.plain
    n = plain.class_weights
    if plain.class_prior is not None:
        found = float(n @ plain._given_prior)
    else:
        smoothing = plain._share_smoothing
        if not smoothing:
            raise EvidenceError("without smoothing P(class) has no prior, and so no evidence")
        found = float(np.sum(dirichlet.log_evidence(n[None], np.full((1, len(n)), float(smoothing)))))
    for _, likelihood in plain.terms.likelihoods:
        able = LogEvidence.of(likelihood)
        if able is None:
            raise EvidenceError(f"a {type(model).__name__} has no evidence in closed form: compare by 'mdl' or 'loo'")
        found += float(np.sum(able.log_evidence()))
    return found


def rows_length(
    model: Mixture | HiddenMarkov, columns: Iterable[str], log_prob: Array, parameters: float, groups: int
) -> DescriptionLength:
    """The code length of all cells under a model with hidden groups: the number of groups, their parameters, −log₂ p of
    the rows.

    For numbers these are densities: the bits of the cells' precision, equal for all models, are left out.
    """
    coded = f"columns {', '.join(sorted(columns))}"
    return DescriptionLength(
        coded,
        integer_bits(groups),
        parameter_bits(parameters, model.n),
        bits(float(log_prob.sum())),
        model.n,
        HALF_LOG_EACH,
    )


def log_evidence_of(model: object) -> float:
    """log p(what was learned | model), parameters integrated out."""
    found = getattr(model, "log_evidence", None)
    if found is None:
        raise EvidenceError(f"a {type(model).__name__} has no evidence")
    return float(found() if callable(found) else found)


def evidence_about(model: Any) -> str:
    """The event whose probability the evidence is: all cells, or a target given the other columns."""
    read_forms = getattr(model, "read_forms", None)
    if read_forms is not None:  # bins and logarithms have densities of their own
        forms = {name: own[0] for name, own in read_forms.items()}
        read = [f"{name} ({form})" if form in ("binned", "log") else name for name, form in forms.items()]
        return f"p(columns {', '.join(sorted([*read, str(model.target)]))})"
    columns = getattr(model, "variables", None) or getattr(model, "columns", None)
    target = getattr(model, "target", None)
    if target is not None:
        return f"p({target} given the other columns)"
    return f"p(columns {', '.join(sorted(map(str, columns)))})" if columns else "p(the observations)"
