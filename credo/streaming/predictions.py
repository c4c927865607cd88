"""Predictions beside their rows, batch by batch: a table may be larger than memory."""

from __future__ import annotations

from collections.abc import Collection, Generator, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from credo.errors import DataError

if TYPE_CHECKING:
    from credo.data import Batch, Source
    from credo.models.class_predictor import ClassPredictor
    from credo.models.hidden_markov.model import HiddenMarkov
    from credo.models.mixture.model import Mixture
    from credo.models.regression.linear import LinearRegression
    from credo.networks.graphical_model import GraphicalModel

PREDICTED, PROBABILITY, LOW, HIGH = "predicted", "probability", "low", "high"


def predictions(model: ClassPredictor, data: object, each: bool = False) -> Generator[Any]:
    """Arrow tables: the data's own columns, the class predicted, its probability and, if asked, that of each class.

    >>> from credo import NaiveBayes
    >>> model = NaiveBayes().fit({"wind": ["weak", "strong"], "play": ["yes", "no"]}, target="play")
    >>> next(predictions(model, {"wind": ["weak"]})).to_pydict()
    {'wind': ['weak'], 'predicted': ['yes'], 'probability': [0.6666666666666666]}
    """
    import pyarrow as pa

    return _beside(model.streamed(data), model.classes, pa.array(model.classes), each)


def network_predictions(net: GraphicalModel, target: str, data: object, each: bool = False) -> Generator[Any]:
    """The same for a network's variable, given the other cells of each row.

    >>> from credo import Network
    >>> rows = {"Storm": ["yes"], "Thunder": ["no"]}
    >>> next(network_predictions(Network.example("storm"), "ForestFire", rows)).column_names
    ['Storm', 'Thunder', 'predicted', 'probability']
    """
    from credo.networks.inference.rows import states_array

    net._number(target)  # an unknown variable is an error before anything is read
    batches = ((batch, net.predict_proba(target, part)) for batch, part in _batches(data))
    return _beside(batches, net.states[target], states_array(net.states[target]), each)


def sequence_predictions(model: HiddenMarkov, data: object, each: bool = False) -> Generator[Any]:
    """The same for sequences: the state of each row in its sequence's most probable path, and that state's probability
    given all rows of the sequence.

    >>> from credo import HiddenMarkov
    >>> model = HiddenMarkov().fit({"walk": ["yes", "no"] * 9, "sky": ["sun", "rain"] * 9}, target="sky")
    >>> next(sequence_predictions(model, {"walk": ["no"]})).column_names
    ['walk', 'predicted', 'probability']
    """
    import pyarrow as pa

    answers = ((batch, shares, path) for batch, path, shares in model.streamed(data))
    return _beside(answers, model.names, pa.array(model.names), each)


def number_predictions(model: LinearRegression, data: object) -> Generator[Any]:
    """The same for numbers: the mean of each row's predictive distribution, and a 95% interval.

    >>> from credo import LinearRegression
    >>> model = LinearRegression().fit({"x": [1.0, 2.0, 3.0, 4.0], "y": [1.1, 2.0, 2.9, 4.0]}, target="y")
    >>> next(number_predictions(model, {"x": [5.0]})).column_names
    ['x', 'predicted', 'low', 'high']
    """
    import pyarrow as pa

    empty = True
    for batch, found in model.streamed(data):
        own = {name: batch.columns[name] if name in batch.columns else batch.column(name) for name in batch.names}
        names = unique_names([PREDICTED, LOW, HIGH], list(own))
        empty = False
        yield pa.table({**own, **dict(zip(names, (np.asarray(found.location), *found.interval()), strict=True))})
    if empty:
        raise DataError("the data is empty: there are no rows to predict")


def network_imputations(net: GraphicalModel, data: object) -> Generator[Any]:
    """Arrow tables: the data, with the states in missing cells that are most probable together."""
    empty = True
    for _, part in _batches(data):
        empty = False
        yield net.impute(part)
    if empty:
        raise DataError("the data is empty: there are no rows to fill in")


def mixture_imputations(mixture: Mixture, data: object) -> Generator[Any]:
    """The same by a mixture: the mean of a number given the row's other cells, the most probable category."""
    empty = True
    for _, part in _batches(data):
        empty = False
        yield mixture.impute(part)
    if empty:
        raise DataError("the data is empty: there are no rows to fill in")


def _batches(data: object) -> Iterator[tuple[Batch, Source]]:
    from credo.data import Source, source

    table = source(data)
    return ((batch, Source.of_batch(batch)) for batch in table.batches(table.names))


def _beside(answers: Iterable[tuple[Any, ...]], values: Sequence[Any], named: Any, each: bool) -> Generator[Any]:
    """The rows of each batch with their predictions: the most probable values, or those that come with them."""
    import pyarrow as pa

    empty = True
    for batch, probabilities, *chosen in answers:
        own = {name: batch.columns[name] if name in batch.columns else batch.column(name) for name in batch.names}
        best = chosen[0] if chosen else probabilities.argmax(1)
        wanted = [PREDICTED, PROBABILITY, *(f"P({value})" for value in values if each)]
        names = unique_names(wanted, list(own))
        columns = [named.take(pa.array(best)), probabilities[np.arange(len(best)), best]]
        columns += [probabilities[:, k] for k in range(len(values)) if each]
        empty = False
        yield pa.table({**own, **dict(zip(names, columns, strict=True))})
    if empty:
        raise DataError("the data is empty: there are no rows to predict")


def unique_names(wanted: Sequence[str], taken: Collection[str]) -> list[str]:
    """Names that differ from those taken and from each other, ignoring case.

    >>> unique_names(["predicted", "P(a)", "P(A)"], ["Predicted", "x"])
    ['predicted_', 'P(a)', 'P(A)_']
    """
    used, found = {name.lower() for name in taken}, []
    for name in wanted:
        while name.lower() in used:
            name += "_"
        used.add(name.lower())
        found.append(name)
    return found
