"""Models with hidden groups learn values and words that only later rows have."""

from typing import Any

import numpy as np
import pytest

from credo import HiddenMarkov, Mixture

EARLIER = ["a", "a", "b", "b"] * 10
LATER = ["a", "b", "c", "c", "a", "b", "c"]
ORDERS = [("a", "b", "c"), ("b", "c", "a"), ("c", "a", "b")]  # the new value sorts last, in the middle and first


def numbers(rows: int) -> list[float]:
    return [round(float(x), 3) for x in np.random.default_rng(rows).normal(size=rows)]


def table(values: list[str], names: tuple[str, str, str]) -> dict[str, Any]:
    called = dict(zip("abc", names, strict=True))
    return {"k": [called[value] for value in values], "n": numbers(len(values))}


@pytest.mark.parametrize("model", [Mixture(components=2, seed=0), HiddenMarkov(states=2, seed=0)])
def test_later_rows_bring_new_values_whatever_their_names(model: Any) -> None:
    found = []
    for names in ORDERS:
        after = model.fit(table(EARLIER, names)).update(table(LATER, names))
        found.append(after.log_prob(table(LATER, names)))
        assert (np.diff(after.history) >= -1e-9).all()
    assert np.isfinite(found[0]).all()
    np.testing.assert_allclose(found[1], found[0], rtol=1e-4)
    np.testing.assert_allclose(found[2], found[0], rtol=1e-4)


@pytest.mark.parametrize("model", [Mixture(components=2, seed=0), HiddenMarkov(states=2, seed=0)])
def test_later_texts_bring_new_words(model: Any) -> None:
    first = {"t": [f"the {animal} sat on mat {i}" for i, animal in enumerate(["cat", "dog"] * 15)]}
    later = {"t": ["a moose ran far away", "the aardvark sat", "zebras sat on mat 3"]}
    after = model.fit(first).update(later)
    assert np.isfinite(after.log_prob(later)).all()
    new = ["moose ran", "zebras aardvark"]
    assert (after.log_prob({"t": new}) < 0.0).all()  # these words have a probability, and no notice says otherwise
