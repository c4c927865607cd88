"""A hidden Markov model is a dynamic network with a hidden chain: the same answers, and the same steps of EM."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import credo
from credo.core.em import added
from credo.core.labels import Label
from credo.data import source
from credo.models.hidden_markov.chain import INITIAL, TRANSITIONS
from credo.models.hidden_markov.expecting import EQUAL_WEIGHTS
from credo.models.hidden_markov.learning import unfitted
from credo.networks.learning import TableEM
from credo.networks.templates.learning import SliceEM
from tests.equivalences.test_hidden_markov import SEEN, tagged

COLUMNS = ("umbrella", "ice")


def both() -> tuple[credo.HiddenMarkov, credo.DynamicNetwork]:
    """The same parameters."""
    data = tagged(0)
    hmm = credo.HiddenMarkov(kinds={"ice": "category"}).fit(data, target="sky")
    lines = {(line.column, str(line.of)): line.estimates for line in hmm.chain.emission.conditional.describe()}
    values = {name: [value for column, value in lines if column == name] for name in COLUMNS}
    tables: dict[str, Any] = {"sky": hmm.transition_shares}
    tables |= {name: np.column_stack([lines[name, value] for value in own]) for name, own in values.items()}
    states = {"sky": hmm.names, "umbrella": values["umbrella"], "ice": [int(value) for value in values["ice"]]}
    first = {"sky": [*hmm.initial_shares.values()]}
    return hmm, credo.DynamicNetwork("previous(sky) -> sky -> umbrella, ice", tables, first, states)


def test_the_same_answers() -> None:
    hmm, net = both()
    np.testing.assert_allclose(net.smooth(SEEN, "sky"), hmm.smooth(SEEN), atol=1e-10)
    np.testing.assert_allclose(net.filter(SEEN, "sky"), hmm.filter(SEEN), atol=1e-10)
    np.testing.assert_allclose(net.log_prob(SEEN), hmm.log_prob(SEEN), atol=1e-10)
    assert net.decode({**SEEN, "ice": [1, 3, 4, 5, 2, 1], "umbrella": ["yes"] * 6})["sky"].to_pylist() == [
        *hmm.decode({**SEEN, "ice": [1, 3, 4, 5, 2, 1], "umbrella": ["yes"] * 6})
    ]
    ours, theirs = net.forecast(SEEN, 3), hmm.forecast(SEEN, 3)
    for one, other in zip(ours, theirs, strict=True):
        assert one["sky"] == pytest.approx(dict(other.states), abs=1e-10)


def test_the_same_counts_and_step_of_em() -> None:
    hmm, net = both()
    data = {name: column for name, column in tagged(3, 90).items() if name != "sky"} | {"id": np.arange(90) // 30}
    data["umbrella"] = np.where(np.arange(90) % 7 == 0, None, data["umbrella"])
    data["ice"] = [min(int(value), 9) for value in data["ice"]]
    batches = [batch for own in source(data).sequences(["umbrella", "ice"], by="id") for batch in own.batches()]
    expected, log_likelihood = added([hmm.chain.expect(batch) for batch in batches])
    prior = net.fit({"sky": ["wet"], "umbrella": ["yes"], "ice": [1]}).prior
    shapes = {node.label.name: net.two_slices.tables[name].shape for name, node in net.two_slices.nodes.items()}
    own = SliceEM(TableEM(net.two_slices._with_prior(prior.in_log_odds(shapes))), net.parents)
    evidence, total = added([own.expect(coded) for coded, _, _ in net._coded(data, "id", None)])
    assert total == pytest.approx(log_likelihood, abs=1e-9)
    np.testing.assert_allclose(evidence[Label("column", "sky")].n.value, expected[TRANSITIONS].n.value, atol=1e-9)
    begun = expected[INITIAL].n.value[:, 0]
    np.testing.assert_allclose(evidence[Label("column", "first(sky)")].n.value, begun, atol=1e-9)
    after = unfitted(hmm, None, EQUAL_WEIGHTS).with_evidence(expected).shares
    tables = own.with_evidence(evidence).tables.network.tables
    np.testing.assert_allclose(tables["sky[1]"], after.step, atol=1e-10)
    np.testing.assert_allclose(tables["sky[0]"], after.first, atol=1e-10)
