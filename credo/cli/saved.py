"""Models in files: loading, changing, merging, predicting and sampling."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator
from typing import TYPE_CHECKING, Any, NamedTuple

from credo.cli.output import MODEL
from credo.errors import EvidenceError, PriorError, SchemaError, StorageError, suggest

if TYPE_CHECKING:
    from credo.models.class_predictor import ClassPredictor

MOST_UPDATES = 1000  # recorded in a file
FINDINGS_PARSERS = {  # parsers of --given, by the kind of network
    "credo.networks.graphical_model.GraphicalModel": "credo.asking.networks.findings_in",
    "credo.networks.hybrid.network.HybridNetwork": "credo.asking.hybrid.hybrid_findings_in",
}
PREDICTION_OF_KIND = {  # predictors of a network's variable, by the kind of network
    "credo.networks.graphical_model.GraphicalModel": "credo.streaming.network_predictions.network_predictions",
    "credo.networks.hybrid.network.HybridNetwork": "credo.streaming.network_predictions.hybrid_predictions",
    "credo.networks.templates.dynamic_network.DynamicNetwork": "credo.streaming.network_predictions.slice_predictions",
}
INSTEAD_OF_CLASSIFIERS = {
    "Network": "credo ask explains a network, as in 'explain P(A=a | B=b)'",
    "HiddenMarkov": "credo predict and credo show tell of its states",
}


def as_classifier(model: object, path: str) -> ClassPredictor:
    """The model as a predictor of classes; a mixture predicts its components."""
    from credo.models.class_predictor import ClassPredictor
    from credo.models.mixture.model import Mixture

    if isinstance(model, Mixture):
        return model.classifier
    if not isinstance(model, ClassPredictor):
        kind = type(model).__name__
        advice = INSTEAD_OF_CLASSIFIERS.get(kind, "`credo learn` makes one")
        raise StorageError(f"{path} holds a {kind}, not a classifier; {advice}")
    return model


def loaded_learner(path: str) -> Any:
    """The model in a file that has learned from rows: a belief, beliefs by group, a classifier, a mixture, a hidden
    Markov model or a learned network."""
    from credo.core.learning import Additive
    from credo.models.class_predictor import ClassPredictor
    from credo.models.hidden_markov.model import HiddenMarkov
    from credo.models.mixture.model import Mixture
    from credo.networks.hybrid.network import HybridNetwork
    from credo.networks.network import Network
    from credo.networks.templates.dynamic_network import DynamicNetwork
    from credo.storage.files import load

    model = load(path)
    if not isinstance(model, Additive | ClassPredictor | HiddenMarkov | Mixture) and not (
        isinstance(model, Network | DynamicNetwork | HybridNetwork) and model.evidence is not None
    ):
        raise StorageError(f"{path} holds a {type(model).__name__}, which has learned no rows")
    return model


class Change(NamedTuple):
    """A file's model before and after, a line about the change, and the digests of earlier updates."""

    before: Any
    after: Any
    said: str
    updates: list[str]


def changed(
    path: str, output: str | None, change: Callable[[Any], Any], verb: str, recorded: Callable[[list[str]], list[str]]
) -> Change:
    """Change a file's model and its record of updates, in place or into another file."""
    from credo.cli.output import MODEL, check
    from credo.present.numbers import count_of
    from credo.storage.files import describe, save
    from credo.storage.locks import changing

    goal = output or path
    check(goal, (MODEL,))
    with changing(goal):
        before = loaded_learner(path)
        updates = [each for each in describe(path).get("updates", ()) if isinstance(each, str)]
        after = change(before)
        save(after, goal, recorded(updates)[-MOST_UPDATES:])
    said = f"{goal}: {count_of(abs(after.n - before.n), 'row')} {verb}, {count_of(after.n, 'row')} in all"
    return Change(before, after, said, updates)


def merged(models: Iterator[tuple[str, Any]]) -> Any:
    """The evidence of all files' models, added up; two are in memory at a time."""
    start, total = next(models)
    kind = type(total).__name__
    for path, other in models:
        try:
            total = total + other
        except TypeError:
            kinds = f"{start} holds a {kind}, {path} a {type(other).__name__}"
            raise EvidenceError(f"models of different kinds don't merge: {kinds}") from None
    return total


def predicted(
    path: str,
    data: object,
    target: str | None,
    proba: bool,
    class_prior: str | None = None,
    reading: tuple[str | None, str | None] = (None, None),
) -> Generator[Any]:
    """Predictions of a classifier, of a network's variable, or of hidden states; `reading` are the columns of a dynamic
    network's sequences and of their order, where it doesn't know them."""
    from credo.asking.protocol import registered
    from credo.formats import is_network
    from credo.models.hidden_markov.model import HiddenMarkov
    from credo.models.regression.linear import LinearRegression
    from credo.networks.templates.dynamic_network import DynamicNetwork
    from credo.storage.files import load
    from credo.streaming.predictions import number_predictions, predictions, sequence_predictions

    model = loaded(path) if is_network(path) else load(path)
    if any(reading) and not isinstance(model, DynamicNetwork):
        raise StorageError(f"{path} holds a {type(model).__name__}: --sequence and --order are for dynamic networks")
    of_variable = registered(model, PREDICTION_OF_KIND)
    if of_variable is not None:
        if target is None:
            known = ", ".join(model.variables[:3])
            raise StorageError(f"{path} holds a network: --target says which variable to predict, such as {known}")
        found: Generator[Any] = of_variable(model, target, data, proba, *(reading if any(reading) else ()))
        return found
    if target is not None:
        raise StorageError(f"{path} holds a {type(model).__name__}: --target is for networks only")
    if isinstance(model, HiddenMarkov):
        if class_prior:
            raise StorageError(f"{path} holds a HiddenMarkov: --class-prior is for classifiers only")
        return sequence_predictions(model, data, proba)
    if isinstance(model, LinearRegression):
        if class_prior or proba:
            option = "--class-prior" if class_prior else "--proba"
            raise StorageError(f"{path} holds a LinearRegression: {option} is for classifiers only")
        return number_predictions(model, data)
    return predictions(_with_prior(as_classifier(model, path), class_prior), data, proba)


def classifier_for(path: str, class_prior: str | None) -> ClassPredictor:
    """The classifier in a file, with other class probabilities where they are given."""
    from credo.storage.files import load

    return _with_prior(as_classifier(load(path), path), class_prior)


def _with_prior(model: ClassPredictor, class_prior: str | None) -> ClassPredictor:
    return model.with_class_prior(_shares(model, class_prior)) if class_prior else model


def _shares(model: ClassPredictor, given: str) -> dict[Any, float]:
    """Class probabilities, as in no=0.9,yes=0.1."""
    named = {str(value): value for value in model.classes}
    found: dict[Any, float] = {}
    for part in given.split(","):
        name, _, share = part.strip().rpartition("=")
        if name not in named:
            raise SchemaError(f"--class-prior: there is no class {name or part!r}; {suggest(name, named)}")
        try:
            found[named[name]] = float(share)
        except ValueError:
            raise PriorError(f"--class-prior must be probabilities, as in no=0.9,yes=0.1, but has {part!r}") from None
    return found


def drawn(path: str, rows: int, given: str, seed: int | None) -> Any:
    """Rows from a network or a classifier, as an Arrow table."""
    from credo.asking.protocol import registered
    from credo.models.classifier import Classifier
    from credo.models.hidden_markov.model import HiddenMarkov
    from credo.models.mixture.model import Mixture
    from credo.networks.templates.dynamic_network import DynamicNetwork

    model = loaded(path)
    findings_in = registered(model, FINDINGS_PARSERS)
    if findings_in is not None:
        if not hasattr(model, "sample"):
            raise StorageError(f"{path} holds a network without arrows, from which no rows can be drawn")
        return model.sample(rows, findings_in(model, given), seed)
    if isinstance(model, Mixture):
        model = model.classifier
    if not isinstance(model, Classifier | HiddenMarkov | DynamicNetwork):
        raise StorageError(f"{path} holds a {type(model).__name__}, from which no rows can be drawn")
    if given:
        raise StorageError(f"{path} holds a {type(model).__name__}: --given is for networks without time")
    return model.sample(rows, seed)


def loaded_network(path: str) -> Any:
    """The network in a file of any network format."""
    return _net(loaded(path), path)


def _net(model: object, path: str) -> Any:
    from credo.networks.graphical_model import GraphicalModel
    from credo.networks.hybrid.network import HybridNetwork

    if not isinstance(model, GraphicalModel | HybridNetwork):
        raise StorageError(f"{path} holds a {type(model).__name__}, not a network")
    return model


def imputed(path: str, data: object) -> Generator[Any]:
    """The rows of a table, their missing cells filled in by a network or a mixture."""
    from credo.models.mixture.model import Mixture
    from credo.streaming.predictions import imputations

    model = loaded(path)
    return imputations(model if isinstance(model, Mixture) else _net(model, path), data)


def loaded(path: str) -> Any:
    """The model in a .credo file, or the network in a file of another format."""
    from credo.formats import FORMATS, is_network, read
    from credo.formats.files import PACKED
    from credo.storage.files import load

    if path.lower().endswith(MODEL):
        return load(path)
    if not is_network(path):
        known = ", ".join((*FORMATS, MODEL))
        raise StorageError(f"{path} must end in one of {known} (and {PACKED}, if it is a compressed network)")
    return read(path)
