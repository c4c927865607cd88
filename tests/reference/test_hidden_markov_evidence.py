"""The approximate evidence of numbers of states beside the exact one: all paths of states of a few rows."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import credo
from credo.blocks.block import Settings
from credo.blocks.capabilities import LogEvidence
from credo.core.membership import Hard
from credo.data import source
from credo.models.conditional import Conditional
from credo.models.hidden_markov.chain import ChainPrior, Shares
from credo.models.hidden_markov.pattern import pattern_of
from credo.models.latent.columns import hidden_blocks


def exact_log_evidence(table: Any, views: Any, states: int) -> float:
    """log Σ p(states) p(rows | states), all parameters integrated out: Dirichlet(1) for the first state and for the one
    after each, the default priors for columns."""
    (batch,) = source(table).batches([*views])
    settings = Settings(strength=1.0)
    conditional = Conditional(hidden_blocks(views, None, "full"), settings, "state")
    prior, levels = ChainPrior(pattern_of("any", None, 1, range(states)), 1.0), pa.array(range(states))
    found = []
    for path in product(range(states), repeat=batch.rows):
        steps = np.zeros((states, states))
        np.add.at(steps, (np.array(path[:-1]), np.array(path[1:])), 1.0)
        chain = prior.log_evidence(Shares(np.eye(states)[path[0]], steps))
        seen = conditional.summarise(batch, Hard.of(np.array(path), states), levels)
        likelihoods = (LogEvidence.needed(block.likelihood(seen, settings)) for block in conditional.blocks)
        found.append(chain + sum(float(each.log_evidence().sum()) for each in likelihoods))
    return float(np.logaddexp.reduce(found))


@pytest.mark.parametrize(
    ("table", "views"),
    [
        ({"x": [0.01, 0.32, -0.23, 0.14, 9.01, 9.42, 8.83, 9.14, 9.27]}, {"x": ("gaussian",)}),
        ({"c": [*"aaaaabbbbb"], "d": [*"uuuuuvvvvv"]}, {"c": ("category",), "d": ("category",)}),
        ({"x": [0.01, 1.02, -0.53, 0.74, -1.25, 0.16, 0.37, -0.6]}, {"x": ("gaussian",)}),
    ],
)
def test_the_evidence_of_numbers_of_states_is_near_the_exact_one(table: Any, views: Any) -> None:
    """Exact for one state. For two, both ways to name them are counted, and the approximation is a little low."""
    model = credo.HiddenMarkov(tolerance=1e-12).fit(table)
    tried = {each.states: each.log_evidence for each in model.tried}
    assert tried[1] == pytest.approx(exact_log_evidence(table, views, 1), abs=1e-8)
    exact = exact_log_evidence(table, views, 2)
    assert exact - 1.5 < tried[2] < exact + np.log(2)
