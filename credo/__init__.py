"""credo: Bayesian learning. A belief is a prior plus evidence; evidence adds, merges and can be forgotten."""

from __future__ import annotations

import sys
from importlib import import_module
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

# Each public name and the module that defines it, loaded at first use: `import credo` is instant.
_PUBLIC = {
    "BDeu": "credo.networks.table_priors",
    "Belief": "credo.estimation.belief",
    "Beliefs": "credo.estimation.beliefs",
    "BetaBernoulli": "credo.families.beta_bernoulli",
    "CausalGraph": "credo.networks.causes.causal_graph",
    "Classifier": "credo.models.classifier",
    "Concepts": "credo.models.concepts.model",
    "CredoError": "credo.errors",
    "DataError": "credo.errors",
    "DecisionTree": "credo.models.tree.model",
    "DirichletCategorical": "credo.families.dirichlet",
    "DirichletMultinomial": "credo.families.dirichlet",
    "DynamicNetwork": "credo.networks.templates.dynamic_network",
    "EngineError": "credo.errors",
    "EvidenceError": "credo.errors",
    "GammaExponential": "credo.families.gamma",
    "GammaPoisson": "credo.families.gamma",
    "GaussianDiscriminant": "credo.models.discriminant",
    "HiddenMarkov": "credo.models.hidden_markov.model",
    "Hypotheses": "credo.models.hypotheses",
    "InfluenceDiagram": "credo.networks.decisions.influence_diagram",
    "KDependence": "credo.models.several_parents",
    "LinearGaussian": "credo.families.linear_gaussian",
    "LinearRegression": "credo.models.regression.linear",
    "LogisticRegression": "credo.models.regression.logistic",
    "HybridNetwork": "credo.networks.hybrid.network",
    "MarkovNetwork": "credo.networks.markov_network",
    "Mixture": "credo.models.mixture.model",
    "ModelAverage": "credo.models.average",
    "NaiveBayes": "credo.models.naive_bayes",
    "Network": "credo.networks.network",
    "NetworkClassifier": "credo.models.several_parents",
    "NetworkError": "credo.errors",
    "NormalInverseGamma": "credo.families.normal",
    "NormalInverseWishart": "credo.families.normal_inverse_wishart",
    "NormalMean": "credo.families.normal",
    "Notice": "credo.errors",
    "Number": "credo.models.forms",
    "Numeric": "credo.estimation.numeric",
    "OneDependence": "credo.models.augmented",
    "ParetoUniform": "credo.families.pareto_uniform",
    "PlateNetwork": "credo.networks.templates.plate_network",
    "PriorError": "credo.errors",
    "QuestionError": "credo.errors",
    "Schema": "credo.data.schema",
    "SchemaError": "credo.errors",
    "SizeError": "credo.errors",
    "StorageError": "credo.errors",
    "Text": "credo.models.forms",
    "TreeAugmented": "credo.models.augmented",
    "TunedClassifier": "credo.selection.tuned",
    "UnsupportedError": "credo.errors",
    "Word": "credo.models.forms",
    "ask": "credo.asking",
    "average": "credo.selection.average",
    "bayes_factor": "credo.estimation.comparison",
    "bayes_rule": "credo.numerics.probability_rules",
    "choose": "credo.selection.choose",
    "compare": "credo.selection.comparison",
    "description_length": "credo.selection.description_length",
    "documents": "credo.data.documents",
    "edge_confidence": "credo.networks.structure.edge_confidence",
    "em_means": "credo.models.em_means",
    "estimate": "credo.estimation.estimate",
    "explore": "credo.explorer.serving",
    "learn": "credo.selection.learn",
    "learn_structure": "credo.networks.structure.learn",
    "load": "credo.storage.files",
    "product_rule": "credo.numerics.probability_rules",
    "read": "credo.data.reading",
    "save": "credo.storage.files",
    "sum_rule": "credo.numerics.probability_rules",
    "total_probability": "credo.numerics.probability_rules",
}
# public submodules
_ROOMS = {"engines": "credo.engines", "errors": "credo.errors", "nodes": "credo.networks.nodes"}
__all__ = sorted(_PUBLIC)

if TYPE_CHECKING:
    from credo import engines as engines
    from credo import errors as errors
    from credo.asking import ask as ask
    from credo.data.documents import documents as documents
    from credo.data.reading import read as read
    from credo.data.schema import Schema as Schema
    from credo.errors import CredoError as CredoError
    from credo.errors import DataError as DataError
    from credo.errors import EngineError as EngineError
    from credo.errors import EvidenceError as EvidenceError
    from credo.errors import NetworkError as NetworkError
    from credo.errors import Notice as Notice
    from credo.errors import PriorError as PriorError
    from credo.errors import QuestionError as QuestionError
    from credo.errors import SchemaError as SchemaError
    from credo.errors import SizeError as SizeError
    from credo.errors import StorageError as StorageError
    from credo.errors import UnsupportedError as UnsupportedError
    from credo.estimation.belief import Belief as Belief
    from credo.estimation.beliefs import Beliefs as Beliefs
    from credo.estimation.comparison import bayes_factor as bayes_factor
    from credo.estimation.estimate import estimate as estimate
    from credo.estimation.numeric import Numeric as Numeric
    from credo.explorer.serving import explore as explore
    from credo.families.beta_bernoulli import BetaBernoulli as BetaBernoulli
    from credo.families.dirichlet import DirichletCategorical as DirichletCategorical
    from credo.families.dirichlet import DirichletMultinomial as DirichletMultinomial
    from credo.families.gamma import GammaExponential as GammaExponential
    from credo.families.gamma import GammaPoisson as GammaPoisson
    from credo.families.linear_gaussian import LinearGaussian as LinearGaussian
    from credo.families.normal import NormalInverseGamma as NormalInverseGamma
    from credo.families.normal import NormalMean as NormalMean
    from credo.families.normal_inverse_wishart import NormalInverseWishart as NormalInverseWishart
    from credo.families.pareto_uniform import ParetoUniform as ParetoUniform
    from credo.models.augmented import OneDependence as OneDependence
    from credo.models.augmented import TreeAugmented as TreeAugmented
    from credo.models.average import ModelAverage as ModelAverage
    from credo.models.classifier import Classifier as Classifier
    from credo.models.concepts.model import Concepts as Concepts
    from credo.models.discriminant import GaussianDiscriminant as GaussianDiscriminant
    from credo.models.em_means import em_means as em_means
    from credo.models.forms import Number as Number
    from credo.models.forms import Text as Text
    from credo.models.forms import Word as Word
    from credo.models.hidden_markov.model import HiddenMarkov as HiddenMarkov
    from credo.models.hypotheses import Hypotheses as Hypotheses
    from credo.models.mixture.model import Mixture as Mixture
    from credo.models.naive_bayes import NaiveBayes as NaiveBayes
    from credo.models.regression.linear import LinearRegression as LinearRegression
    from credo.models.regression.logistic import LogisticRegression as LogisticRegression
    from credo.models.several_parents import KDependence as KDependence
    from credo.models.several_parents import NetworkClassifier as NetworkClassifier
    from credo.models.tree.model import DecisionTree as DecisionTree
    from credo.networks import nodes as nodes
    from credo.networks.causes.causal_graph import CausalGraph as CausalGraph
    from credo.networks.decisions.influence_diagram import InfluenceDiagram as InfluenceDiagram
    from credo.networks.hybrid.network import HybridNetwork as HybridNetwork
    from credo.networks.markov_network import MarkovNetwork as MarkovNetwork
    from credo.networks.network import Network as Network
    from credo.networks.structure.edge_confidence import edge_confidence as edge_confidence
    from credo.networks.structure.learn import learn_structure as learn_structure
    from credo.networks.table_priors import BDeu as BDeu
    from credo.networks.templates.dynamic_network import DynamicNetwork as DynamicNetwork
    from credo.networks.templates.plate_network import PlateNetwork as PlateNetwork
    from credo.numerics.probability_rules import bayes_rule as bayes_rule
    from credo.numerics.probability_rules import product_rule as product_rule
    from credo.numerics.probability_rules import sum_rule as sum_rule
    from credo.numerics.probability_rules import total_probability as total_probability
    from credo.selection.average import average as average
    from credo.selection.choose import choose as choose
    from credo.selection.comparison import compare as compare
    from credo.selection.description_length import description_length as description_length
    from credo.selection.learn import learn as learn
    from credo.selection.tuned import TunedClassifier as TunedClassifier
    from credo.storage.files import load as load
    from credo.storage.files import save as save


def __getattr__(name: str) -> Any:
    if name in _ROOMS:  # credo.engines.using(...), whatever was loaded before
        return import_module(_ROOMS[name])
    if name not in _PUBLIC:
        raise AttributeError(f"module 'credo' has no attribute {name!r}", name=name, obj=sys.modules[__name__])
    value = getattr(import_module(_PUBLIC[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return [*__all__, "__version__"]


if "IPython" in sys.modules:  # in a notebook, Arrow tables are displayed as HTML tables
    from credo.present.arrow_tables import show_arrow_tables

    show_arrow_tables(sys.modules["IPython"].get_ipython())
