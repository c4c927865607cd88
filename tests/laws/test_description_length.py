"""Description lengths are lengths of codes: an arithmetic coder reaches them within 2 bits, part by part."""

from __future__ import annotations

from math import ceil, log, log2
from typing import Any

import numpy as np
import pytest

import credo
from credo.core.description import arrow_bits, choice_bits, integer_bits
from tests.arithmetic_coder import decode, encode
from tests.laws.classifiers import unheard
from tests.lectures.test_concepts import SPACE, days, learned

N = 300


def table() -> dict[str, Any]:
    rng = np.random.default_rng(3)
    a, noise = rng.integers(0, 3, N), rng.random((2, N))
    b = np.where(noise[0] < 0.8, a, rng.integers(0, 3, N))
    y = (a + b >= 3) ^ (noise[1] < 0.1)
    x = rng.normal(y.astype(float), 1.0)
    return {"a": np.array(list("uvw"))[a], "b": np.array(list("uvw"))[b], "x": x, "y": np.where(y, "yes", "no")}


CLASSIFIERS: dict[str, Any] = {
    "naive Bayes": credo.NaiveBayes(),
    "naive Bayes, averaged": credo.NaiveBayes(average=True),
    "Gaussian": credo.GaussianDiscriminant("full"),
    "TAN": credo.TreeAugmented(),
    "AODE": credo.OneDependence(),
    "KDB": credo.KDependence(2),
    "network": credo.NetworkClassifier(),
    "logistic regression": credo.LogisticRegression(),
}


WITHOUT_STRUCTURE = ("naive Bayes", "naive Bayes, averaged", "Gaussian", "logistic regression")


@pytest.mark.parametrize("name", CLASSIFIERS)
def test_labels_are_coded_as_long_as_is_said(name: str) -> None:
    with unheard():
        model = CLASSIFIERS[name].fit(table(), target="y")
        found = credo.description_length(model, table())
    p = model.predict_proba(table())
    labels = [model.classes.index(value) for value in table()["y"]]
    code = encode(labels, p)
    assert decode(code, N, lambda known: p[len(known)]) == labels
    assert found.data - 1e-6 <= len(code) <= found.data + 2
    assert found.parameters == pytest.approx(model.n_parameters / 2 * log2(N))
    assert found.coded == "column 'y' given the others"
    assert found.total == found.structure + found.parameters + found.data
    assert (found.structure > 0) == (name not in WITHOUT_STRUCTURE)


def test_a_logistic_regression_pays_for_its_free_weights_alone() -> None:
    model = credo.LogisticRegression().fit(table(), target="y")
    assert model.n_parameters == 1 + 2 + 2 + 1  # two categories of three levels, and a number
    both = credo.LogisticRegression(interactions=[("a", "b"), ("a", "x")]).fit(table(), target="y")
    assert both.n_parameters == model.n_parameters + 2 * 2 + 2


def test_a_tuned_classifier_pays_for_its_weights() -> None:
    with unheard():
        plain = credo.NaiveBayes().fit(table(), target="y")
        tuned = plain.tune(table())
        lengths = [credo.description_length(each, table()) for each in (plain, tuned)]
    assert lengths[1].parameters > lengths[0].parameters


def test_observations_are_coded_by_what_is_learned_from_those_before() -> None:
    """The prequential code of a conjugate belief has the length −log₂ evidence, to within 2 bits."""
    values = list("uvw")
    seen = [str(each) for each in table()["a"]]
    prior = credo.DirichletCategorical(dict.fromkeys(values, 1.0))
    found = credo.description_length(prior.update(seen))

    def expected(known: list[int]) -> list[float]:
        counts = np.bincount(known, minlength=3) + 1.0
        return list(counts / counts.sum())

    symbols = [values.index(each) for each in seen]
    code = encode(symbols, [expected(symbols[:i]) for i in range(N)])
    assert found.total - 1e-6 <= len(code) <= found.total + 2
    assert decode(code, N, expected) == symbols
    assert credo.description_length(prior.update(["u"]), seen).total == pytest.approx(found.total)
    groups = credo.estimate(table(), "b", by="a", prior=credo.DirichletCategorical(1))
    assert credo.description_length(groups).total == pytest.approx(-groups.log_evidence() / np.log(2))


def network() -> credo.Network:
    return credo.Network("a -> b; a -> y; b -> y").fit({name: table()[name] for name in ("a", "b", "y")})


def test_rows_of_a_network_are_coded_node_by_node() -> None:
    net = network()
    rows = {name: table()[name] for name in ("a", "b", "y")}
    found = credo.description_length(net, rows)
    symbols: list[int] = []
    distributions: list[Any] = []
    for i in range(N):
        row = {name: str(rows[name][i]) for name in rows}
        for name in net.order:
            given = tuple(net.states[parent].index(row[parent]) for parent in net.parents[name])
            distributions.append(net.tables[name][given])
            symbols.append(net.states[name].index(row[name]))
    assert found.data - 1e-3 <= len(encode(symbols, distributions)) <= found.data + 2
    assert found.parameters == pytest.approx((2 + 3 * 2 + 9 * 1) / 2 * log2(N))


def test_lines_of_a_network_take_an_intercept_a_weight_and_a_variance_for_each_state() -> None:
    rows = {name: table()[name] for name in ("a", "b", "x")}
    rows["z"] = 2 * rows["x"] + np.arange(N) % 7
    net = credo.HybridNetwork("a -> x; b -> x; x -> z; a -> b").fit(rows)
    found = credo.description_length(net, rows)
    tables, lines = 2 + 3 * 2, 9 * 2 + 3
    assert found.parameters == pytest.approx((tables + lines) / 2 * log2(N))
    assert found.structure == pytest.approx(arrow_bits(net.parents, 3))
    assert found.data == pytest.approx(-net.log_prob(rows).sum() / log(2))


def test_categories_of_a_hybrid_network_take_as_long_as_in_a_network_of_tables() -> None:
    rows = {name: table()[name] for name in ("a", "b", "y")}
    both = (kind("a -> b; a -> y; b -> y").fit(rows) for kind in (credo.Network, credo.HybridNetwork))
    plain, hybrid = (credo.description_length(net, rows) for net in both)
    assert (plain.structure, plain.parameters, plain.n) == (hybrid.structure, hybrid.parameters, hybrid.n)
    assert plain.data == pytest.approx(hybrid.data, rel=1e-9)


def test_sequences_pay_for_the_tables_of_later_and_of_first_slices() -> None:
    rows = {name: table()[name] for name in ("a", "b")}
    net = credo.DynamicNetwork("previous(a) -> a -> b").fit(rows)
    found = credo.description_length(net, rows)
    assert found.parameters == pytest.approx((3 * 2 + 3 * 2 + 2) / 2 * log2(N))
    assert found.structure == pytest.approx(2 * (log2(4) + log2(3)) - log2(3) + choice_bits(3, 1))
    assert found.data == pytest.approx(-float(net.log_prob(rows).sum()) / log(2))
    single = credo.DynamicNetwork("a -> b", states={name: tuple("uvw") for name in rows})
    assert credo.description_length(single.fit(rows), rows).data == pytest.approx(
        credo.description_length(credo.Network("a -> b").fit(rows), rows).data
    )


def test_arrows_are_coded_as_long_as_is_said() -> None:
    """Of each node: how many parents, then which; all equally probable."""
    above = {"a": (), "b": ("a",), "y": ("a", "b"), "z": ("y",)}
    subsets: list[int] = []
    sizes: list[int] = []
    for own in above.values():
        sizes += [4, round(2 ** choice_bits(3, len(own)))]
        subsets += [len(own), 0]
    code = encode(subsets, [np.full(size, 1 / size) for size in sizes])
    assert abs(len(code) - arrow_bits(above, 3)) <= 2


def test_parameters_at_that_precision_lose_less_than_a_bit() -> None:
    """A whole two-part message: a coin's bias on a grid of √n values, then its flips."""
    for n, heads in ((100, 37), (400, 300), (2500, 1300)):
        grid = (np.arange(ceil(np.sqrt(n))) + 0.5) / ceil(np.sqrt(n))
        flips = [1] * heads + [0] * (n - heads)
        nearest = int(np.abs(grid - heads / n).argmin())
        message = encode([nearest], [np.full(len(grid), 1 / len(grid))]) + encode(
            flips, [[1 - grid[nearest], grid[nearest]]] * n
        )
        net = credo.Network("flip", states={"flip": [0, 1]}).fit({"flip": flips}, prior="ml")
        found = credo.description_length(net, {"flip": flips})
        assert found.structure == 0
        assert found.total - 1 <= len(message) <= found.total + 4  # two messages, 2 bits each


def test_hypotheses_and_concepts_take_minus_log2_of_prior_times_likelihood() -> None:
    space = credo.Hypotheses({"a": 0.5, "b": 0.3, "c": 0.2}).update({"a": 0.1, "b": 0.5, "c": 0.05})
    found = credo.description_length(space)
    assert found.total == pytest.approx(-log2(0.3 * 0.5))
    assert found.model == pytest.approx(-log2(0.3))
    assert found.data == pytest.approx(1.0)
    joint = {h: -log2(p * q) for h, p, q in (("a", 0.5, 0.1), ("b", 0.3, 0.5), ("c", 0.2, 0.05))}
    assert found.total == pytest.approx(min(joint.values()))  # the shortest description is the MAP hypothesis
    assert credo.description_length(credo.Hypotheses(space.posterior), {"a": 1, "b": 1, "c": 1}).data == 0
    for noise in (0.0, 0.1):
        concepts = learned(noise=noise)
        own = credo.description_length(concepts, days())
        listed = credo.description_length(concepts.hypotheses())
        assert own.total == pytest.approx(listed.total)
        best = concepts.most_probable()
        right = sum(best.covers(row) == (row["enjoy"] == "yes") for row in days())
        likelihood = (1 - noise) ** right * noise ** (4 - right)
        assert own.total == pytest.approx(-log2(likelihood / 973))
    assert credo.description_length(credo.Concepts(SPACE, target="enjoy"), days()).total == pytest.approx(log2(973))


def test_the_code_of_whole_numbers_is_a_code() -> None:
    """Kraft: Σ 2^-length is at most 1."""
    assert sum(2 ** -integer_bits(n) for n in range(20_000)) < 1
    assert all(integer_bits(n) <= integer_bits(n + 1) for n in range(100))


def test_hidden_groups_pay_only_where_rows_have_them() -> None:
    rng = np.random.default_rng(0)
    apart = {"x": np.concatenate([rng.normal(-4, 1, 150), rng.normal(4, 1, 150)])}
    together = {"x": rng.normal(0, 1, 300)}
    for rows, better in ((apart, 2), (together, 1)):
        lengths = {
            k: credo.description_length(credo.Mixture(components=k, seed=0).fit(rows), rows).total for k in (1, 2)
        }
        assert min(lengths, key=lengths.__getitem__) == better
    with unheard():
        steps = {"x": np.tile(np.repeat([0.0, 5.0], 30), 5) + rng.normal(0, 1, 300)}
        one, two = (
            credo.description_length(credo.HiddenMarkov(states=k, seed=0).fit(steps), steps).total for k in (1, 2)
        )
    assert two < one


def test_the_evidence_of_naive_bayes_is_that_of_the_star_network() -> None:
    rows = {name: table()[name] for name in ("a", "b", "y")}
    star = credo.Network("y -> a; y -> b").fit(rows)
    naive = credo.NaiveBayes().fit(rows, target="y")
    assert naive.log_evidence() == pytest.approx(star.log_evidence(), rel=1e-9)
    fuller = network().log_evidence()
    assert fuller > star.log_evidence()  # b depends on a


def test_what_has_no_length_is_refused() -> None:
    with pytest.raises(credo.DataError, match="no description length"):
        credo.description_length(3)  # type: ignore[arg-type]
    with pytest.raises(credo.DataError, match="needs data"):
        credo.description_length(credo.NaiveBayes().fit(table(), target="y"))
    with pytest.raises(credo.EvidenceError, match="nothing was learned yet"):
        credo.description_length(credo.NaiveBayes(), table())
    with unheard(), pytest.raises(credo.EvidenceError, match=r"model\.plain"):
        credo.NaiveBayes().fit(table(), target="y").tune(table()).log_evidence()
    with pytest.raises(credo.EvidenceError, match="in closed form"):
        credo.OneDependence().fit(table(), target="y").log_evidence()
    with pytest.raises(credo.EvidenceError, match="tables are given"):
        credo.Network.example("asia").log_evidence()
    with pytest.raises(credo.EvidenceError, match="without a prior"):
        credo.Network("a").fit({"a": ["u", "v"]}, prior="ml").log_evidence()
