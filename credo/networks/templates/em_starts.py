"""Starting points of EM for templates, and the search for the best optimum."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from typing import Any, TypeVar

import numpy as np

from credo.core.em import Extrapolating, Fitted, accelerated_em
from credo.core.evidence import Evidence
from credo.core.restarts import Restarts
from credo.errors import counted
from credo.networks.fitting import SAME_OPTIMUM, STEPS_FROM_EACH_START, FittingSettings
from credo.networks.inference.expectations import ROWS_PER_CHUNK
from credo.networks.learning import TableEM
from credo.networks.network import Network
from credo.networks.table_priors import TablePriors
from credo.notices import tell
from credo.numerics.exact import Array

Model = TypeVar("Model", bound=Extrapolating)


def table_starts(
    network: Network, evidence: Evidence, available: Evidence, hidden: Collection[str], given: Mapping[str, Array],
    how: FittingSettings,
) -> Iterator[TableEM]:  # fmt: skip
    """Tables from the observed cells; those of hidden variables and their children as given in the first start, then
    random.

    `evidence` is added in every step; `available` has further counts, for the start only.
    """
    prior = network.prior or TablePriors()
    begun = network.with_evidence(Evidence.total([evidence, available]))
    labels = {node.label: name for name, node in begun.nodes.items()}
    shapes = {label.name: begun.tables[name].shape for label, name in labels.items()}
    unseen = [label for label, name in labels.items() if not {*begun.parents[name], name}.isdisjoint(hidden)]
    plain = None in map(prior.__getitem__, shapes)  # maximum likelihood: EM must not start from zeros
    smooth = begun._with_prior(TablePriors()).with_evidence(begun.evidence) if plain else begun
    for i in range(how.starts if unseen else 1):
        random = np.random.default_rng([how.seed, i])
        drawn = {label: begun.nodes[labels[label]].drawn(begun.tables[labels[label]], random) for label in unseen}
        if i == 0 and given:
            drawn = {label: given[labels[label]] for label in unseen}
        tables = {name: drawn.get(node.label, smooth.tables[name]) for name, node in begun.nodes.items()}
        yield TableEM(begun._with_prior(prior.in_log_odds(shapes))._like(parameters=tables), evidence)


def best_fit(starts: Sequence[Model], batches: Callable[[], Any], rows: int, how: FittingSettings) -> Fitted[Model]:
    """EM from each start; the best few are run to convergence."""
    restarts = Restarts(
        accelerated_em,
        batches,
        rows,
        how.steps,
        how.tolerance,
        first_steps=(STEPS_FROM_EACH_START,),
        favoured=1,
        same=SAME_OPTIMUM,
        beside=rows <= ROWS_PER_CHUNK,
    )
    best: Fitted[Model] = restarts.best(starts)
    if not best.converged:
        tell(f"EM ended after {counted(len(best.history) - 1, 'step')}, before it converged: increase steps=")
    return best
