"""Scores of families beside pyAgrum's, where both are defined alike. It counts in bits."""

from __future__ import annotations

from collections.abc import Callable
from math import log
from typing import Any

import numpy as np
import pandas as pd
import pytest

from credo.networks.structure.category_families import K2
from credo.networks.structure.category_scores import bic
from credo.networks.structure.columns import read_columns
from credo.networks.structure.score import Score

gum = pytest.importorskip("pyagrum")

# Its log Γ is an approximation with six digits for whole numbers, and with fewer below 1: BDeu, whose prior counts
# are such fractions, differs from its formula there by up to 2%. Its AIC takes one bit a parameter, not one nat.
SCORES: list[tuple[Callable[..., Score], str, float]] = [(bic, "useScoreBIC", 1e-8), (K2, "useScoreK2", 2e-6)]
FAMILIES = ((0, ()), (1, (0,)), (2, (0, 1)), (3, (0, 1, 2)))


@pytest.mark.parametrize(("made", "theirs", "digits"), SCORES)
def test_families_are_scored_as_by_pyagrum(made: Callable[..., Score], theirs: str, digits: float) -> None:
    random = np.random.default_rng(0)
    numbers = random.integers(0, [2, 3, 3, 4], (500, 4))
    numbers[:, 1] = (numbers[:, 0] + (random.random(500) < 0.3)) % 3
    frame = pd.DataFrame({name: [f"s{k}" for k in column] for name, column in zip("abcd", numbers.T, strict=True)})
    learner: Any = gum.BNLearner(frame)
    getattr(learner, theirs)()
    learner.useNoPrior()
    ours = made(read_columns(frame).coded())
    for node, parents in FAMILIES:
        expected = learner.score("abcd"[node], ["abcd"[parent] for parent in parents]) * log(2)
        assert ours.family(node, parents) == pytest.approx(expected, rel=digits)
