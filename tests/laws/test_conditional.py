"""Conditionals: EM over hidden groups never falls, in any block; with known groups it is the classifier."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Self

import numpy as np
import pyarrow as pa
import pytest

import credo
from credo.blocks.block import Settings
from credo.blocks.numbers.independent import Numbers
from credo.blocks.one_hot import OneHotGaussian
from credo.blocks.text.log_odds import Odds
from credo.core.em import Expected, em
from credo.core.evidence import Evidence
from credo.core.labels import ROWS, UNLABELLED
from credo.core.membership import Hard, Membership, Soft
from credo.data import Batch, source
from credo.errors import EvidenceError
from credo.models.conditional import Conditional
from tests.laws.classifiers import KINDS, TARGET, drawn
from tests.laws.test_soft_membership import BLOCKS, NUMBERS, check_same
from tests.laws.test_soft_membership import drawn as cells

SCORES = {name for name, block in BLOCKS.items() if isinstance(block, Odds | OneHotGaussian)}  # no likelihoods
LIKELIHOODS = {name: block for name, block in BLOCKS.items() if name not in SCORES}
SETTINGS = Settings(estimate="map", smoothing=2.0, strength=3.0)


@dataclass(frozen=True, eq=False)
class Mixture:
    """Groups with shares ~ Dirichlet(2), known in rows with a label and hidden in others."""

    conditional: Conditional
    levels: Any
    target: str = ""  # the column of labels, if there is one

    def expect(self, batch: Batch, /) -> Expected:
        weights = self.conditional.weights
        log_joint = np.log((weights + 1) / (weights + 1).sum()) + self.conditional.log_likelihood(batch)
        if self.target:
            own = batch.column(self.target).to_pylist()
            places = {value: k for k, value in enumerate(self.levels.to_pylist())}
            for i, value in enumerate(own):
                if value is not None:
                    log_joint[i, np.arange(len(self.levels)) != places[value]] = -np.inf
        total = np.logaddexp.reduce(log_joint, axis=1)
        return self.evidence(batch, Soft(np.exp(log_joint - total[:, None]))), float(total.sum())

    def evidence(self, batch: Batch, member: Membership) -> Evidence:
        return self.conditional.summarise(batch, member, self.levels)

    def with_evidence(self, evidence: Evidence, /) -> Self:
        return replace(self, conditional=self.conditional.with_evidence(evidence))

    def log_prior(self) -> float:
        weights = self.conditional.weights
        return self.conditional.log_prior() + float(np.log((weights + 1) / (weights + 1).sum()).sum())


def halves(batch: Batch) -> Callable[[], Iterator[Batch]]:
    middle = batch.rows // 2
    return lambda: iter([batch.slice(0, middle), batch.slice(middle, batch.rows - middle)])


UNBOUNDED = {*NUMBERS, "fare", "when"}  # a group of one number has any likelihood: a prior is needed
BOUNDED = [name for name, block in LIKELIHOODS.items() if not UNBOUNDED & {*block.names}]


@pytest.mark.parametrize(
    ("name", "estimate"), [*((name, "map") for name in LIKELIHOODS), *((name, "ml") for name in BOUNDED)]
)
@pytest.mark.parametrize("missing", [0.0, 0.3])
@pytest.mark.slow
def test_em_over_hidden_groups_never_falls(name: str, estimate: Any, missing: float) -> None:
    """`em` refuses an objective that falls."""
    batch = cells(120, missing, 1)
    start = Mixture(Conditional((LIKELIHOODS[name],), replace(SETTINGS, estimate=estimate), "group"), pa.array("abc"))
    member = Soft(np.random.default_rng(2).dirichlet(np.ones(3), 120))
    fitted = em(start.with_evidence(start.evidence(batch, member)), halves(batch), steps=15)
    assert fitted.history[-1] > fitted.history[0]
    assert fitted.evidence[ROWS].n.value.sum() == pytest.approx(120)


@pytest.mark.parametrize("name", sorted(SCORES))
def test_scores_that_are_no_likelihood_have_no_prior_density(name: str) -> None:
    blocks = (BLOCKS[name], BLOCKS["categories"])
    conditional = Conditional(blocks, SETTINGS, "group")
    learned = conditional.with_evidence(conditional.summarise(cells(50, 0.0, 3), Hard.whole(50), pa.array(["a"])))
    with pytest.raises(EvidenceError, match="aren't a likelihood"):
        learned.log_prior()


COLUMNS = ("sky", "wet", "height", "weight", "age", "fare", "wait", "visits", "note", "memo")
JOINT = ("height", "weight", "age")
MODELS: dict[str, tuple[Callable[..., Any], tuple[str, ...]]] = {
    "naive Bayes": (partial(credo.NaiveBayes, smoothing=2.0), COLUMNS),
    "full": (partial(credo.GaussianDiscriminant, "full"), JOINT),
    "tied": (partial(credo.GaussianDiscriminant, "tied"), JOINT),
    "diagonal": (partial(credo.GaussianDiscriminant, "diagonal"), JOINT),
    "spherical": (partial(credo.GaussianDiscriminant, "spherical"), JOINT),
}


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize("missing", [0.0, 0.2])
def test_em_with_known_labels_is_the_classifier(name: str, missing: float) -> None:
    make, columns = MODELS[name]
    kinds = {column: KINDS[column] for column in columns}
    table = drawn(np.random.default_rng(4), 90, columns, missing)
    model = make(estimate="map", kinds=kinds).fit(table, TARGET)
    (batch,) = source(table).batches([*columns, TARGET])
    member = Soft(np.random.default_rng(5).dirichlet(np.ones(3), batch.rows))
    start = Mixture(model.conditional, pa.array(model.classes), TARGET)
    fitted = em(start.with_evidence(start.evidence(batch, member)), halves(batch), steps=3)
    learned = fitted.model.conditional.seen.ordered()
    assert {*model.seen.parts} == {*learned.parts, UNLABELLED}
    for label in learned.parts:
        check_same(model.seen[label], learned[label])
    log_joint = model.log_joint({column: table[column] for column in columns})
    found = fitted.model.conditional.log_likelihood(batch) + model.log_class_prior(model.class_weights)
    np.testing.assert_allclose(found - found[:, :1], log_joint - log_joint[:, :1], rtol=1e-6, atol=1e-6)


def test_labels_of_some_rows_name_the_groups() -> None:
    """Ten labelled rows of 300: the others find the group of their own."""
    rng = np.random.default_rng(6)
    kind = rng.integers(0, 2, 300)
    labels = [("low", "high")[k] if i < 10 else None for i, k in enumerate(kind)]
    table = {"x": 6.0 * kind + rng.normal(size=300), "kind": labels}
    (batch,) = source(table).batches(["x", "kind"])
    start = Mixture(Conditional((Numbers(("x",)),), SETTINGS, "kind"), pa.array(["low", "high"]), "kind")
    begun = Hard.of([*kind[:10], *[-1] * 290], 2)
    fitted = em(start.with_evidence(start.evidence(batch, begun)), halves(batch))
    found = fitted.model.conditional.log_likelihood(batch).argmax(1)
    assert (found == kind).mean() > 0.98


def test_the_parameters_and_samples_of_all_blocks() -> None:
    blocks = BLOCKS["categories"], BLOCKS["numbers"]
    conditional = Conditional(blocks, SETTINGS, "group")
    batch = cells(200, 0.1, 7)
    member = Hard.of(np.arange(200) % 2, 2)
    learned = conditional.with_evidence(conditional.summarise(batch, member, pa.array(["a", "b"])).ordered())
    assert {line.column for line in learned.describe()} == {"colour", "digit", "x", "y", "z"}
    assert all(line.estimates.shape == (2,) for line in learned.describe())
    drawn = learned.sample(np.array([0, 1, 1]), np.random.default_rng(8))
    assert {*drawn} == {*conditional.names}
    assert all(len(column) == 3 for column in drawn.values())


def test_without_evidence_nothing_is_known() -> None:
    with pytest.raises(EvidenceError, match="nothing was learned"):
        Conditional((BLOCKS["numbers"],), SETTINGS, "group").log_likelihood(cells(2, 0.0, 9))


def test_the_prior_density_is_that_of_the_mode() -> None:
    conditional = Conditional((BLOCKS["numbers"],), Settings(), "group")
    learned = conditional.with_evidence(conditional.summarise(cells(9, 0.0, 9), Hard.whole(9), pa.array(["a"])))
    with pytest.raises(EvidenceError, match="'bayes'"):
        learned.log_prior()
