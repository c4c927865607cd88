"""A dynamic network is its unrolled network, however it is asked; and what it learns adds."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import credo
from credo.core.em import em
from credo.networks.learning import TableEM
from credo.networks.templates import slice_passes
from credo.networks.templates.learning import SliceEM
from credo.networks.templates.slice_answers import expected_counts
from tests.templates import ARROWS, findings, random_dynamic, states_of, with_gaps

SLICES = 4
nets = pytest.mark.parametrize("arrows", ARROWS.values(), ids=ARROWS.keys())


def observed(net: credo.DynamicNetwork, seed: int, slices: int = SLICES) -> Any:
    return with_gaps(net.sample(slices, seed=seed), 0.5, seed).drop_columns(["sequence"])


@nets
@pytest.mark.parametrize("zeros", [False, True])
def test_it_is_the_unrolled_network(arrows: str, zeros: bool) -> None:
    net = random_dynamic(arrows, 1, zeros)
    unrolled = net.unrolled(SLICES)
    for seed in range(3):
        rows = observed(net, seed)
        given = findings(rows, net.variables)
        assert net.log_prob(rows)[0] == pytest.approx(unrolled.log_probability(given), abs=1e-10)
        smoothed, marginals = net.smooth(rows), unrolled.marginals(given)
        filtered = net.filter(rows)
        for t in range(SLICES):
            before = unrolled.marginals({name: value for name, value in given.items() if int(name[-2]) <= t})
            for name in net.variables:
                np.testing.assert_allclose(smoothed[name][t], [*marginals[f"{name}[{t}]"].values()], atol=1e-10)
                np.testing.assert_allclose(filtered[name][t], [*before[f"{name}[{t}]"].values()], atol=1e-10)
        path = net.decode(rows)
        best = unrolled.most_probable(given=given)
        assert unrolled.log_probability(findings(path, net.variables)) == pytest.approx(best.log_joint, abs=1e-10)
        assert findings(path, net.variables).items() >= given.items()


@nets
def test_expected_counts_are_those_of_the_unrolled_network(arrows: str) -> None:
    net = random_dynamic(arrows, 2)
    unrolled = net.unrolled(SLICES)
    rows = observed(net, 3)
    ((coded, _, _),) = net._coded(rows, None, None)
    counts, log_likelihood = expected_counts(net.chain, coded)
    (codes,) = unrolled.coded({name: [value] for name, value in findings(rows, net.variables).items()})
    evidence, total = unrolled.expect(codes)
    assert log_likelihood == pytest.approx(total, abs=1e-10)
    for label in evidence.parts:
        np.testing.assert_allclose(counts[label.name], evidence[label].n.value, atol=1e-10)


@nets
def test_evidence_of_every_form(arrows: str) -> None:
    """Several possible states, likelihoods above 1, and nothing."""
    net = random_dynamic(arrows, 3)
    one, *rest = net.variables
    two = rest[-1] if rest else one
    rows: list[dict[str, Any]] = [{} for _ in range(SLICES)]
    rows[1][one] = {net.states[one][0]: 3.0, net.states[one][1]: 0.5}
    rows[2][two] = [*net.states[two][:2]]
    rows[3][two] = net.states[two][-1]
    given = {f"{name}[{t}]": value for t, row in enumerate(rows) for name, value in row.items()}
    unrolled = net.unrolled(SLICES)
    assert net.log_prob(rows)[0] == pytest.approx(unrolled.log_probability(given), abs=1e-10)
    marginals = unrolled.marginals(given)
    for name, shares in net.smooth(rows).items():
        expected = [[*marginals[f"{name}[{t}]"].values()] for t in range(SLICES)]
        np.testing.assert_allclose(shares, expected, atol=1e-10)
    answer = net.query(f"{two}[0]", given)
    assert answer == pytest.approx(unrolled.query(f"{two}[0]", given), abs=1e-10)
    assert net.query([f"{one}[0]", f"{two}[3]"], given) == pytest.approx(
        unrolled.query([f"{one}[0]", f"{two}[3]"], given), abs=1e-10
    )
    path = findings(net.decode(rows), net.variables)
    best = unrolled.most_probable(given=given)
    assert unrolled.log_probability(path | {f"{one}[1]": best[f"{one}[1]"]}) > -np.inf
    ratio = best.log_joint - unrolled.log_probability(dict(best))  # the likelihood of what isn't one state
    kept = net.states[one].index(path[f"{one}[1]"])
    assert unrolled.log_probability(path) + np.log([3.0, 0.5][kept]) == pytest.approx(best.log_joint, abs=1e-10)
    assert np.isfinite(ratio)


@nets
def test_a_live_filter_is_the_filter_over_all(arrows: str) -> None:
    net = random_dynamic(arrows, 4)
    rows = observed(net, 5, 7)
    live, filtered = net.live(), net.filter(rows)
    for t, row in enumerate(rows.to_pylist()):
        found = live.observe(row)
        for name, shares in found.items():
            np.testing.assert_allclose([*shares.values()], filtered[name][t], atol=1e-12)
    assert live.log_prob == pytest.approx(float(net.log_prob(rows)[0]), abs=1e-12)
    ahead, unrolled = net.forecast(rows, 3), net.unrolled(10)
    assert ahead == live.forecast(3)
    given = findings(rows, net.variables)
    for name in net.variables:
        assert ahead[2][name] == pytest.approx(unrolled.query(f"{name}[9]", given), abs=1e-12)


@nets
def test_stretches_are_the_whole(arrows: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A pass that keeps messages at checkpoints, and computes the rest again, says what one pass says."""
    net = random_dynamic(arrows, 6)
    data = with_gaps(net.sample([5, 1, 9, 3], seed=1), 0.4, 2)

    def answers() -> list[Any]:
        parts = [expected_counts(net.chain, coded) for coded, _, _ in net._coded(data, "sequence", None)]
        counted = [counts[name] for counts, _ in parts for name in sorted(counts)]
        shares = [*net.smooth(data, sequence="sequence").values(), *net.filter(data, sequence="sequence").values()]
        path = net.decode(data, sequence="sequence").to_pylist()
        return [*shares, *counted, net.log_prob(data, sequence="sequence"), path]

    whole = answers()
    monkeypatch.setattr(slice_passes, "STRETCH_NUMBERS", 4 * net.chain.states)
    *parts, path = answers()
    assert whole.pop() == path
    for one, other in zip(whole, parts, strict=True):
        np.testing.assert_allclose(one, other, atol=1e-12)


def test_sequences_are_apart_however_they_come() -> None:
    net = random_dynamic(ARROWS["coupled"], 7)
    data = with_gaps(net.sample([4, 2, 6], seed=3), 0.3, 4)
    apart = [data.filter(pa.compute.equal(data["sequence"], n)).drop_columns(["sequence"]) for n in range(3)]
    whole = net.smooth(data, "A", sequence="sequence")
    np.testing.assert_allclose(whole, net.smooth(apart, "A"), atol=1e-12)
    np.testing.assert_allclose(whole, np.concatenate([net.smooth(each, "A") for each in apart]), atol=1e-12)
    logs = net.log_prob(data, sequence="sequence")
    np.testing.assert_allclose(logs, [net.log_prob(each)[0] for each in apart], atol=1e-12)
    shuffled = data.append_column("when", pa.array(range(12))).take([3, 0, 2, 1, 5, 4, 11, 10, 9, 8, 7, 6])
    again = net.smooth(shuffled, "A", sequence="sequence", order="when")
    np.testing.assert_allclose(again, whole[[3, 0, 2, 1, 5, 4, 11, 10, 9, 8, 7, 6]], atol=1e-12)


def fitted(net: credo.DynamicNetwork, data: Any, **options: Any) -> credo.DynamicNetwork:
    bare = credo.DynamicNetwork(net.parents, states=states_of(net.parents))
    return bare.fit(data, sequence="sequence", **options)


def same_evidence(one: credo.DynamicNetwork, other: credo.DynamicNetwork) -> bool:
    labels = one.evidence.parts.keys()
    return labels == other.evidence.parts.keys() and all(
        np.array_equal(one.evidence[label].n.value, other.evidence[label].n.value) for label in labels
    )


@nets
def test_merge_is_the_whole_and_forget_undoes_update(arrows: str) -> None:
    net = random_dynamic(arrows, 8)
    one, two = net.sample([3, 1, 8], seed=1), net.sample([2, 5], seed=2)
    both = pa.concat_tables([one, two.set_column(0, "sequence", pa.array(np.array(two["sequence"]) + 10))])
    whole, first = fitted(net, both), fitted(net, one)
    assert same_evidence(first + fitted(net, two), whole)
    assert same_evidence(first.update(two), whole)
    assert same_evidence(first.update(two).forget(two), first)
    assert whole.n == 19
    assert first.discount(0.5).n == 6
    twice = fitted(net, one.append_column("w", pa.array([2.0] * 12)), weight="w")
    assert same_evidence(twice, first + first)


def test_what_is_counted_is_what_the_unrolled_network_counts() -> None:
    """Sequences of one length are rows of the unrolled network, whose tied nodes add."""
    net = random_dynamic(ARROWS["coupled"], 9)
    data = net.sample([SLICES] * 30, seed=4)
    learned, bare = fitted(net, data), net.unrolled(SLICES)
    columns = {f"{name}[{t}]": data[name].to_pylist()[t::SLICES] for name in net.variables for t in range(SLICES)}
    unrolled = credo.Network(bare.parents, None, bare.states, bare.tied).fit(columns)
    for name in net.variables:
        np.testing.assert_array_equal(learned.tables[name], unrolled.tables[f"{name}[1]"])
        np.testing.assert_array_equal(learned.first.get(name, learned.tables[name]), unrolled.tables[f"{name}[0]"])


@nets
@pytest.mark.filterwarnings("ignore:EM ended after")
def test_em_never_falls_and_is_that_of_the_unrolled_network(arrows: str) -> None:
    net = random_dynamic(arrows, 10)
    data = with_gaps(net.sample([SLICES] * 12, seed=5), 0.3, 6)
    learned = fitted(net, data, steps=12)
    assert np.all(np.diff(learned.history) > -1e-9 * abs(learned.history[-1]))
    columns = {f"{name}[{t}]": data[name].to_pylist()[t::SLICES] for name in net.variables for t in range(SLICES)}
    bare, prior = net.unrolled(SLICES), fitted(net, net.sample([9], seed=1)).prior
    shapes = {node.label.name: bare.tables[name].shape for name, node in bare.nodes.items()}
    raised = prior.in_log_odds(shapes)
    coded = [each for each, _, _ in net._coded(data, "sequence", None)]
    own = SliceEM(TableEM(net.two_slices._with_prior(raised)), net.parents)
    its = TableEM(bare._with_prior(raised))
    rows = [*bare.coded(columns)]
    one, other = em(own, lambda: coded, steps=4), em(its, lambda: rows, steps=4)
    np.testing.assert_allclose(one.history, other.history, rtol=1e-10)
    for name in net.variables:
        np.testing.assert_allclose(
            one.model.tables.network.tables[f"{name}[1]"], other.model.network.tables[f"{name}[1]"], atol=1e-10
        )


@pytest.mark.filterwarnings("ignore:EM ended after")
@pytest.mark.slow
def test_hidden_variables_are_found() -> None:
    rain = credo.DynamicNetwork(
        "previous(Rain) -> Rain -> Umbrella",
        {"Rain": {"yes": 0.9, "no": 0.05}, "Umbrella": {"yes": 0.95, "no": 0.1}},
        first={"Rain": 0.5},
    )
    data = rain.sample([60] * 30, seed=0)
    found = credo.DynamicNetwork(rain.parents).fit(
        data.drop_columns(["Rain"]), sequence="sequence", hidden={"Rain": 2}, starts=4
    )
    wet = int(found.tables["Umbrella"][:, found.states["Umbrella"].index("yes")].argmax())
    assert found.tables["Rain"][wet, wet] == pytest.approx(0.9, abs=0.05)
    assert found.tables["Rain"][1 - wet, 1 - wet] == pytest.approx(0.95, abs=0.05)
    assert np.all(np.diff(found.history) > -1e-9 * abs(found.history[-1]))
    with pytest.warns(credo.Notice, match="the expected counts of earlier data are kept"):
        more = found.update(rain.sample([20], seed=1).drop_columns(["Rain"]))
    assert more.n == pytest.approx(1820)


@nets
def test_it_is_stored(arrows: str, tmp_path: Path) -> None:
    net = random_dynamic(arrows, 11)
    learned = fitted(net, net.sample([3, 4], seed=1))
    for each in (net, learned, credo.DynamicNetwork(arrows)):
        credo.save(each, tmp_path / "net.credo")
        again = credo.load(tmp_path / "net.credo")
        assert repr(again) == repr(each)
        assert again == each
        assert hash(again) == hash(each)
        assert again != random_dynamic(arrows, 12)
        assert dict(again.states) == dict(each.states)
        for name, table in each.tables.items():
            np.testing.assert_array_equal(again.tables[name], table)
    assert same_evidence(again if again.evidence else learned, learned)
    assert credo.load(tmp_path / "net.credo").sequence is None


def test_questions_name_slices() -> None:
    net = random_dynamic(ARROWS["coupled"], 12)
    unrolled = net.unrolled(5)
    answer = credo.ask(net, "P(A[4] | B[2]=b1, E[0] in {e0})")
    assert answer == pytest.approx(unrolled.query("A[4]", {"B[2]": "b1", "E[0]": "e0"}), abs=1e-12)
    assert credo.ask(net, "P(A[1]=a0, B[1]=b0)") == pytest.approx(
        unrolled.probability({"A[1]": "a0", "B[1]": "b0"}), abs=1e-12
    )
    either = unrolled.probability({"A[0]": "a0"}) + unrolled.probability({"A[0]": "a1", "A[2]": "a0"})
    assert credo.ask(net, "P(A[0]=a0 or A[2]=a0)") == pytest.approx(either, abs=1e-12)
    assert {*credo.ask(net, "argmax P(A[0], A[1] | E[1]=e1)")} == {"A[0]", "A[1]"}
    assert credo.ask(net, "explain P(A[1]=a0 | B[1]=b0)").probability == pytest.approx(
        unrolled.query("A[1]", {"B[1]": "b0"})["a0"]
    )


def test_it_is_drawn() -> None:
    net = random_dynamic(ARROWS["chain"], 13)
    figure = net.plot()
    texts = {text.get_text() for axes in figure.axes for text in axes.texts}
    assert {"A[0]", "A[1]", "B[0]", "B[1]"} <= texts
    assert "previous(A) -> A" in repr(net)
    assert "previous(A)" in net._repr_html_()


def test_samples_follow_the_tables() -> None:
    net = random_dynamic(ARROWS["two chains"], 14)
    drawn = fitted(net, net.sample([40] * 500, seed=0), prior="ml")
    for name in net.variables:
        np.testing.assert_allclose(drawn.tables[name], net.tables[name], atol=0.05)
    assert net.sample([3, 0, 2], seed=1)["sequence"].to_pylist() == [0, 0, 0, 2, 2]
    assert net.sample(5, seed=7).equals(net.sample(5, seed=7))


@pytest.mark.slow
def test_a_hundred_thousand_slices() -> None:
    net = random_dynamic(ARROWS["coupled"], 15)
    rows = with_gaps(net.sample(100_000, seed=0), 0.3, 1).drop_columns(["sequence"])
    smoothed = net.smooth(rows, "A")
    tail, short = smoothed[-50:], net.smooth(rows.slice(99_000), "A")[-50:]
    np.testing.assert_allclose(tail, short, atol=1e-9)  # what is far away doesn't matter
    assert net.decode(rows).num_rows == 100_000


def test_networks_are_the_same_if_their_tables_are() -> None:
    rows, more = {"A": ["x", "y", "y"], "B": ["u", "u", "v"]}, {"A": ["y", "x"], "B": ["v", "u"]}
    net, turned = (credo.DynamicNetwork(arrows) for arrows in ("previous(A) -> A -> B", "A -> B; previous(A) -> A"))
    assert net == turned
    assert hash(net) == hash(turned)
    assert net.fit(rows) == turned.fit(rows) != net
    assert net.fit(rows).update(more).forget(more) == net.fit(rows) != net.fit(more)
    assert net != credo.DynamicNetwork("A -> B") != "A -> B"
