"""Samples and Gaussian networks whose arrows are known: searches find these again."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import credo
from credo.networks.equivalence import cpdag_of
from credo.networks.structure.ges import greedy_equivalence_search
from credo.networks.structure.score import Constraints
from credo.numerics.exact import Array
from tests.dags import Parents, empty
from tests.laws.test_pc import pc
from tests.laws.test_structure_searches import GaussianScore

SHARED = next(
    (place for up in Path(__file__).parents if (place := up / "shared" / "data" / "networks").is_dir()), Path("nowhere")
)
TRUTH = {  # as the documentation of R's bnlearn has them
    "learning.test": "[A][C][F][B|A][D|A:C][E|B:F]",
    "gaussian.test": "[A][B][E][G][C|A:B][D|B][F|A:D:E:G]",
}
GAUSSIAN = sorted(SHARED.glob("gaussian_json/*.json"))
absent = pytest.mark.skipif(not SHARED.is_dir(), reason="../shared/data/networks isn't there")


@absent
@pytest.mark.parametrize("search", ["boss", "exact", "ges", "pc"])
@pytest.mark.parametrize("name", TRUTH)
def test_samples_give_their_cpdag(name: str, search: str) -> None:
    found = credo.learn_structure(str(SHARED / "samples" / f"{name}.csv.gz"), search=search)
    truth = credo.Network(TRUTH[name])
    assert found.compare(truth).shd == 0, found.compare(truth)


@absent
@pytest.mark.parametrize("name", TRUTH)
def test_arrows_of_the_truth_are_probable(name: str) -> None:
    sure = credo.edge_confidence(str(SHARED / "samples" / f"{name}.csv.gz"))
    truth = credo.Network(TRUTH[name])
    assert min(sure.edge(a, b) for a, b in truth.graph().arrows) > 0.99
    assert min(sure[arrow] for arrow in truth.cpdag().arrows) > 0.95


@absent
def test_real_tables_are_read() -> None:
    for name in ("coronary", "lizards"):
        net = credo.learn_structure(str(SHARED / "samples" / f"{name}.csv"), search="exact")
        best = credo.learn_structure(str(SHARED / "samples" / f"{name}.csv"), search="ges")
        data = str(SHARED / "samples" / f"{name}.csv")
        assert isinstance(net, credo.Network)
        assert isinstance(best, credo.Network)
        assert sum(best.score(data).values()) <= sum(net.score(data).values()) + 1e-6
    marks = credo.learn_structure(str(SHARED / "samples" / "marks.csv"), search="ges")
    assert marks.graph().arrows


class PartialCorrelations:
    """Independence in a Gaussian distribution with known covariance."""

    def __init__(self, variables: tuple[str, ...], covariance: Array) -> None:
        self.variables, self.covariance = variables, covariance

    def p_value(self, a: int, b: int, given: Sequence[int]) -> float:
        some = [a, b, *given]
        inverse = np.linalg.inv(self.covariance[np.ix_(some, some)])
        return float(abs(inverse[0, 1]) / np.sqrt(inverse[0, 0] * inverse[1, 1]) < 1e-9)


def gaussian(path: Path) -> tuple[tuple[str, ...], Parents, Array]:
    """Names, parents, and the covariance of standardised variables."""
    read: Any = json.loads(path.read_text())
    names, place = tuple(read["nodes"]), {name: i for i, name in enumerate(read["nodes"])}
    weights, noise = np.zeros((len(names), len(names))), np.zeros(len(names))
    parents = []
    for name in names:
        own = read["cpds"][name]
        parents.append(tuple(place[parent] for parent in own["parents"]))
        noise[place[name]] = own["variance"][0]
        for parent in own["parents"]:
            weights[place[name], place[parent]] = own["coefficients"][parent][0]
    mixing = np.linalg.inv(np.eye(len(names)) - weights)
    covariance = mixing @ np.diag(noise) @ mixing.T
    scale = np.sqrt(covariance.diagonal())
    return names, tuple(parents), covariance / np.outer(scale, scale)


@pytest.mark.slow
@absent
@pytest.mark.parametrize("path", GAUSSIAN, ids=lambda path: path.stem)
def test_endless_rows_of_a_gaussian_network_give_its_cpdag(path: Path) -> None:
    names, parents, covariance = gaussian(path)
    truth = cpdag_of(parents).named(names)
    score = GaussianScore(covariance, 1e10)
    found = greedy_equivalence_search(score, Constraints.none(score.variables), empty(len(names)), 0)
    assert cpdag_of(found).named(names).compare(truth).shd == 0
    if path.stem == "ecoli70":  # the others have many neighbours, and take minutes
        assert pc(PartialCorrelations(names, covariance)).compare(truth).shd == 0
