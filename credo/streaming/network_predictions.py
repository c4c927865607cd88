"""Predictions of networks with their rows: for discrete, hybrid and dynamic networks."""

from __future__ import annotations

from collections.abc import Generator
from typing import TYPE_CHECKING, Any

from credo.data.free_names import free_names
from credo.errors import DataError
from credo.models.frame_columns import PREDICTED
from credo.notices import listed, tell
from credo.streaming.predictions import batches_of, beside

if TYPE_CHECKING:
    from credo.networks.graphical_model import GraphicalModel
    from credo.networks.hybrid.network import HybridNetwork
    from credo.networks.templates.dynamic_network import DynamicNetwork


def network_predictions(net: GraphicalModel, target: str, data: object, each: bool = False) -> Generator[Any]:
    """Arrow tables: the data's own columns, the state of a variable that is most probable given the row's other cells,
    its probability and, if asked, that of each state.

    >>> from credo import Network
    >>> rows = {"Storm": ["yes"], "Thunder": ["no"]}
    >>> next(network_predictions(Network.example("storm"), "ForestFire", rows)).column_names
    ['Storm', 'Thunder', 'predicted', 'probability']
    """
    from credo.networks.inference.rows import states_array

    net._number(target)  # an unknown variable is an error before any row is read
    batches = ((batch, net.predict_proba(target, part)) for batch, part in batches_of(data))
    return beside(batches, net.states[target], states_array(net.states[target]), each)


def hybrid_predictions(net: HybridNetwork, target: str, data: object, each: bool = False) -> Generator[Any]:
    """The same for a network with numbers; for a number, its mean given the row's other cells."""
    import pyarrow as pa

    from credo.networks.inference.rows import states_array

    if net._known(target) in net.states:
        batches = ((batch, net.predict_proba(target, part)) for batch, part in batches_of(data))
        yield from beside(batches, net.states[target], states_array(net.states[target]), each)
        return
    if each:
        raise DataError(f"{target!r} is a number: only categories have a probability for each state")
    empty = True
    for batch, part in batches_of(data):
        own = {name: batch.columns[name] if name in batch.columns else batch.column(name) for name in batch.names}
        (name,) = free_names([PREDICTED], list(own))
        empty = False
        yield pa.table({**own, name: net.predict(target, part)})
    if empty:
        raise DataError("the data is empty: there are no rows to predict")


def slice_predictions(
    net: DynamicNetwork,
    target: str,
    data: object,
    each: bool = False,
    sequence: str | None = None,
    order: str | None = None,
) -> Generator[Any]:
    """The same for a dynamic network's variable, given the other columns in all rows of its sequence."""
    from credo.data import source
    from credo.networks.inference.rows import states_array

    table = source(data)
    others = [name for name in table.names if name not in net.states]
    if sequence is None and net.sequence not in table.names and others:
        tell(
            "all rows are read as one sequence; use --sequence to name a column that identifies several "
            f"({listed(others)})"
        )
    answers = ((batch, found[target]) for batch, found in net.streamed(table, target, sequence=sequence, order=order))
    return beside(answers, net.states[target], states_array(net.states[target]), each)
