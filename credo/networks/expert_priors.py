"""Expert tables as a prior with an equivalent sample size."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from credo.core.evidence import Evidence
from credo.core.labels import Label
from credo.errors import PriorError, suggest
from credo.families.dirichlet import DirichletCategorical
from credo.networks.inference.coding import CodedRows
from credo.networks.learning import no_rows
from credo.networks.table_priors import TablePrior, TablePriors, is_size

if TYPE_CHECKING:
    from credo.networks.network import Network

# replace concentrations of 0, in proportion to the table's row: too small to change any result
EXPERT_ZERO, UNREACHED_CASES = 5e-324, 1e-20


def expert_priors(network: Network, strength: object) -> tuple[TablePriors, Evidence]:
    """Dirichlet(N · P(node, parents)) for each table: the expected counts of N cases from the network (Heckerman,
    Geiger and Chickering 1995). The evidence has no rows yet."""
    if not network.tables:
        raise PriorError("a strength applies to given tables, and the network has none: give tables=, or a prior")
    cases = _cases(network, strength)
    for name, node in network.nodes.items():
        if not node.takes_cases:
            kind = type(network.forms[name]).__name__
            raise PriorError(f"{name!r} is a {kind}: a number of cases is no prior for its weights; fit it to rows")
    empty = CodedRows(None, np.full((len(network.variables), 1), -1, dtype=np.int32), np.ones(1))
    shares, _ = network.expect(empty)
    priors: dict[str, TablePrior] = {}
    for name, node in network.nodes.items():
        table, label = network.parameters[name], node.label
        if label.name not in priors:
            alpha = cases[label] * shares[node.expected_label].n.value
            unreached = UNREACHED_CASES * table * (alpha.sum(-1, keepdims=True) < UNREACHED_CASES)
            priors[label.name] = DirichletCategorical(np.maximum(alpha + unreached, EXPERT_ZERO))
    return TablePriors(by_label=priors), no_rows(network)


def _cases(network: Network, strength: object) -> dict[Label, float]:
    labels = {node.label for node in network.nodes.values()}
    if not isinstance(strength, Mapping):
        return dict.fromkeys(labels, _checked(strength))
    names = {label.name: label for label in labels}
    for unknown in (name for name in strength if name not in names):
        raise PriorError(f"a strength is for {unknown!r}, which isn't a node; {suggest(unknown, names)}")
    for missing in (name for name in names if name not in strength):
        raise PriorError(f"{missing!r} has no strength; give one for each node, or one number for all")
    return {names[name]: _checked(cases) for name, cases in strength.items()}


def _checked(cases: Any) -> float:
    if is_size(cases):
        return float(cases)
    raise PriorError(f"a strength must be a number of cases above 0, but is {cases!r:.60}")
