"""Any model: what `credo show` prints of a .credo file, and what a notebook shows."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from credo.asking.protocol import registered
from credo.errors import CredoError, EvidenceError
from credo.present.content import Content, Paragraph

DRAWN_VARIABLES = 40  # of a network that a notebook draws
CONTENT_OF_KIND = {  # lists have at most `top` lines
    "credo.models.classifier.Classifier": "credo.present.classifiers.classifier_content",
    "credo.models.tree.model.DecisionTree": "credo.present.trees.tree_content",
    "credo.models.regression.logistic.LogisticRegression": "credo.present.logistic.logistic_content",
    "credo.models.mixture.model.Mixture": "credo.present.mixtures.mixture_content",
    "credo.models.hidden_markov.model.HiddenMarkov": "credo.present.hidden_markov.states_content",
    "credo.models.regression.linear.LinearRegression": "credo.present.regression.regression_content",
    "credo.networks.network.Network": "credo.present.networks.network_content",
    "credo.networks.causes.causal_graph.CausalGraph": "credo.present.causes.graph_content",
    "credo.networks.decisions.influence_diagram.InfluenceDiagram": "credo.present.decisions.diagram_content",
    "credo.networks.decisions.policy.DecisionTable": "credo.present.decisions.decision_content",
    "credo.networks.decisions.policy.Policy": "credo.present.decisions.policy_content",
    "credo.networks.sensitivity.sensitivity.Sensitivity": "credo.present.sensitivity.sensitivity_content",
    "credo.networks.sensitivity.tornado.Tornado": "credo.present.sensitivity.tornado_content",
    "credo.networks.hybrid.network.HybridNetwork": "credo.present.hybrid.hybrid_content",
    "credo.networks.answers.MostProbable": "credo.present.network_answers.most_probable_content",
    "credo.networks.explanation.QueryExplanation": "credo.present.network_answers.query_explanation_content",
    "credo.networks.hybrid.answers.JointNumbers": "credo.present.network_answers.joint_numbers_content",
    "credo.networks.nodes.distribution.Distribution": "credo.present.network_answers.node_content",
    "credo.networks.nodes.normal.Normal": "credo.present.network_answers.node_content",
    "credo.networks.nodes.logistic_of_numbers.LogisticOfNumbers": "credo.present.network_answers.node_content",
    "credo.networks.answers.Marginals": "credo.present.network_answers.marginals_content",
    "credo.networks.structure.confidence.EdgeConfidence": "credo.present.edge_confidence.confidence_content",
    "credo.models.hypotheses.Hypotheses": "credo.present.hypotheses.hypotheses_content",
    "credo.models.hypotheses.Evolution": "credo.present.hypotheses.evolution_content",
    "credo.models.concepts.evolution.ConceptEvolution": "credo.present.hypotheses.concept_evolution_content",
    "credo.models.explaining.Explanation": "credo.present.waterfalls.row_content",
    "credo.models.regression.explaining.Contributions": "credo.present.regression.prediction_content",
    "credo.models.average.ModelAverage": "credo.present.classifiers.average_content",
    "credo.models.hidden_markov.forecasting.Forecast": "credo.present.hidden_markov.forecast_content",
    "credo.models.mixture.describing.Description": "credo.present.mixtures.description_content",
    "credo.networks.comparison.GraphComparison": "credo.present.structures.graph_comparison_content",
    "credo.networks.hybrid.answers.MixedMarginals": "credo.present.network_answers.mixed_marginals_content",
    "credo.numerics.categorical.Categorical": "credo.present.distributions.categorical_content",
    "credo.networks.factor.Factor": "credo.present.factors.factor_content",
    "credo.networks.markov_network.MarkovNetwork": "credo.present.factors.markov_content",
    "credo.data.sources.Source": "credo.present.tables.source_content",
    "credo.estimation.beliefs.Beliefs": "credo.present.beliefs.saved_groups_content",
}
WHOLE_CONTENT_OF_KIND = {
    "credo.networks.causes.effect.Effect": "credo.present.causes.effect_content",
    "credo.networks.hybrid.effects.NumberEffect": "credo.present.causes.number_effect_content",
    "credo.networks.decisions.information.InformationValues": "credo.present.decisions.questions_content",
    "credo.networks.information.InformationGains": "credo.present.decisions.gains_content",
    "credo.networks.sensitivity.evidence_impact.EvidenceImpact": "credo.present.sensitivity.impact_content",
    "credo.networks.templates.dynamic_network.DynamicNetwork": "credo.present.templates.template_content",
    "credo.networks.hybrid.answers.NumberAnswer": "credo.present.network_answers.number_content",
    "credo.networks.causes.identification.Identification": "credo.present.network_answers.identification_content",
    "credo.networks.templates.plate_network.PlateNetwork": "credo.present.templates.plates_content",
    "credo.models.regression.scores.NumberScores": "credo.present.regression.number_scores_content",
    "credo.models.regression.scores.SummedNumberScores": "credo.present.regression.number_scores_content",
    "credo.core.description.DescriptionLength": "credo.present.description_length.length_content",
    "credo.selection.comparison.CurveComparison": "credo.present.comparison.compared_content",
    "credo.estimation.numeric.Numeric": "credo.present.beliefs.numeric_content",
    "credo.numerics.distributions.Distribution": "credo.present.distributions.distribution_content",
    "credo.data.schema.Schema": "credo.present.tables.schema_content",
    "credo.selection.learning_curve.LearningCurve": "credo.present.classifiers.curve_content",
    "credo.estimation.belief.Belief": "credo.present.beliefs.saved_belief_content",
}


def short_title(model: object) -> str:
    """The first words of a model's repr: "NaiveBayes of play"."""
    return re.split(r"[\n,:;(]", repr(model), maxsplit=1)[0].strip() or type(model).__name__


def model_content(model: object, top: int | None = None) -> list[Content]:
    """The contents of a model; its repr if its kind isn't registered."""
    listed: Callable[[object, int | None], list[Content]] | None = registered(model, CONTENT_OF_KIND)
    if listed is not None:
        return listed(model, top)
    whole: Callable[[object], list[Content]] | None = registered(model, WHOLE_CONTENT_OF_KIND)
    return [Paragraph(repr(model))] if whole is None else whole(model)


PICTURED_KINDS = (  # drawn in a notebook, above their contents
    "credo.networks.templates.dynamic_network.DynamicNetwork",
    "credo.networks.templates.plate_network.PlateNetwork",
    "credo.networks.decisions.influence_diagram.InfluenceDiagram",
    "credo.networks.causes.causal_graph.CausalGraph",
    "credo.networks.hybrid.answers.NumberAnswer",
    "credo.networks.sensitivity.tornado.Tornado",
    "credo.families.family.Family",
    "credo.estimation.belief.Belief",
    "credo.estimation.numeric.Numeric",
    "credo.networks.mixed_graph.MixedGraph",
    "credo.networks.comparison.GraphComparison",
    "credo.models.em_means.FittedMeans",
    "credo.models.hypotheses.Evolution",
    "credo.models.concepts.evolution.ConceptEvolution",
    "credo.selection.comparison.CurveComparison",
    "credo.selection.learning_curve.LearningCurve",
)


def in_notebook(model: object) -> str:
    """Tables with bars; of a network that isn't large, its picture."""
    from credo.networks.hybrid.network import HybridNetwork
    from credo.networks.network import Network
    from credo.present.html import contents_html, notebook_html

    if isinstance(model, Network | HybridNetwork) and len(model) <= DRAWN_VARIABLES:
        return notebook_html(_picture(model))
    kinds = {f"{kind.__module__}.{kind.__qualname__}" for kind in type(model).__mro__}
    pictured = not kinds.isdisjoint(PICTURED_KINDS) and len(getattr(model, "parents", ())) <= DRAWN_VARIABLES
    try:
        contents = model_content(model)
    except EvidenceError:  # an unfitted model has no table
        contents = [Paragraph(repr(model))]
    return notebook_html((_picture(model) if pictured else "") + contents_html(contents))


def _picture(model: Any) -> str:
    from credo.present.html import image

    try:
        return image(model.plot()._repr_png_(), repr(model))
    except CredoError:  # nor a picture
        return ""
