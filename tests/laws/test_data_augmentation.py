"""Missing cells beside numbers: draws have the distribution that Bayes' rule gives, and arrows come back."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import credo
from credo.networks.structure.columns import Columns, read_columns
from credo.networks.structure.data_augmentation import Augmentation

ROWS = 3000
PARENTS = ((), (0,), (0, 1))  # sex -> height, both -> weight


def people(rows: int, seed: int) -> dict[str, Any]:
    random = np.random.default_rng(seed)
    sex = random.integers(0, 2, rows)
    height = 1.65 + 0.13 * sex + 0.08 * random.normal(size=rows)
    weight = 60.0 + 8.0 * sex + (70.0 - 30.0 * sex) * (height - 1.7) + 6.0 * random.normal(size=rows)
    return {"sex": np.array(["f", "m"])[sex].tolist(), "height": height, "weight": weight}


def without(columns: Columns, names: set[str]) -> Columns:
    """The same rows; the cells of some columns are missing in all but the first hundred."""
    gone = np.arange(columns.rows) >= 100
    categories = tuple(
        replace(each, codes=np.where(gone, -1, each.codes).astype(np.int32)) if each.name in names else each
        for each in columns.categories
    )
    numbers = tuple(
        replace(each, values=np.where(gone, np.nan, each.values)) if each.name in names else each
        for each in columns.numbers
    )
    return replace(columns, categories=categories, numbers=numbers)


def one_person(missing: set[str]) -> tuple[Columns, Columns]:
    """Rows that tell the parameters; and one row again and again, of which some cells are missing."""
    learned = read_columns(people(ROWS, 1))
    same = np.concatenate([np.arange(100), np.full(ROWS, 100)])
    return learned, without(learned.where(same), missing)


def drawn(missing: set[str], sweeps: int = 30) -> tuple[Columns, Columns, Columns]:
    learned, rows = one_person(missing)
    augmentation = Augmentation(rows, 1.0, 0)
    return learned, rows, augmentation.swept(augmentation.begun(), PARENTS, learned, sweeps)


def gaussians(learned: Columns) -> list[tuple[float, np.ndarray[Any, Any], np.ndarray[Any, Any]]]:
    """P(sex), and the mean and covariance of height and weight given it: counted apart from what is tested."""
    sex = learned.categories[0].codes
    x = np.stack([each.values for each in learned.numbers])
    return [(float((sex == s).mean()), x[:, sex == s].mean(1), np.cov(x[:, sex == s])) for s in (0, 1)]


def density(x: Any, mean: Any, variance: Any) -> Any:
    return np.exp(-0.5 * (x - mean) ** 2 / variance) / np.sqrt(2 * np.pi * variance)


def test_a_missing_category_is_drawn_by_bayes_rule() -> None:
    from scipy.stats import multivariate_normal

    learned, rows, complete = drawn({"sex"})
    height, weight = (each.values[-1] for each in rows.numbers)
    joint = [p * multivariate_normal(mean, cov).pdf([height, weight]) for p, mean, cov in gaussians(learned)]
    share = complete.categories[0].codes[100:].mean()
    assert share == pytest.approx(joint[1] / sum(joint), abs=0.03)
    assert complete.categories[0].codes[:100].tolist() == rows.categories[0].codes[:100].tolist()


def test_a_missing_number_is_drawn_from_its_conditional_gaussian() -> None:
    learned, rows, complete = drawn({"height"})
    _, mean, cov = gaussians(learned)[int(rows.categories[0].codes[-1])]
    slope = cov[0, 1] / cov[1, 1]
    expected = mean[0] + slope * (rows.numbers[1].values[-1] - mean[1])
    values = complete.numbers[0].values[100:]
    assert values.mean() == pytest.approx(expected, abs=0.006)
    assert values.std() == pytest.approx(np.sqrt(cov[0, 0] - slope * cov[0, 1]), rel=0.08)
    assert complete.numbers[1].values.tolist() == rows.numbers[1].values.tolist()


def test_a_category_and_a_number_are_drawn_jointly() -> None:
    """P(sex | weight), height summed out."""
    learned, rows, complete = drawn({"sex", "height"}, sweeps=60)
    weight = rows.numbers[1].values[-1]
    joint = [p * density(weight, mean[1], cov[1, 1]) for p, mean, cov in gaussians(learned)]
    assert complete.categories[0].codes[100:].mean() == pytest.approx(joint[1] / sum(joint), abs=0.03)


def test_states_of_parents_that_never_occurred_have_the_priors_parameters() -> None:
    learned, rows = one_person({"sex"})
    women = learned.where(learned.categories[0].codes == 0)
    augmentation = Augmentation(rows, 1.0, 0)
    complete = augmentation.swept(augmentation.begun(), PARENTS, women, 5)
    assert np.isfinite(complete.numbers[0].values).all()
    assert {*complete.categories[0].codes.tolist()} <= {0, 1}


def mixed(rows: int, seed: int) -> dict[str, Any]:
    random = np.random.default_rng(seed)
    a, c = random.integers(0, 2, rows), random.integers(0, 3, rows)
    b = np.where(random.random(rows) < 0.8, a, 1 - a)
    u = 1.5 * a + random.normal(size=rows)
    v = (0.5 + 0.7 * c) * u + random.normal(size=rows)
    w = random.normal(size=rows)
    y = w - 0.8 * v + 0.5 * random.normal(size=rows)
    categories = {name: [f"{name}{i}" for i in x] for name, x in (("a", a), ("b", b), ("c", c))}
    return {**categories, "u": u.tolist(), "v": v.tolist(), "w": w.tolist(), "y": y.tolist()}


def with_holes(data: dict[str, Any], share: float, seed: int) -> dict[str, Any]:
    random = np.random.default_rng(seed)
    return {name: [None if random.random() < share else x for x in column] for name, column in data.items()}


@pytest.mark.parametrize("share", [0.05, 0.25])
@pytest.mark.slow
def test_arrows_of_mixed_tables_come_back(share: float) -> None:
    """With many complete rows to begin with, and with few."""
    data = mixed(800, 0)
    holes = with_holes(data, share, 1)
    found = credo.learn_structure(holes)
    assert dict(found.parents) == dict(credo.learn_structure(data).parents)
    assert dict(credo.learn_structure(holes).parents) == dict(found.parents)  # the same seed


@pytest.mark.parametrize("score", ["bge", "bic"])
def test_arrows_of_numbers_come_back(score: str) -> None:
    data = {name: column for name, column in mixed(800, 2).items() if name in "uvwy"}
    found = credo.learn_structure(with_holes(data, 0.2, 3), score)
    assert found.shd(credo.learn_structure(data, score)) == 0


def test_confidence_of_mixed_tables_with_holes() -> None:
    data = mixed(500, 4)
    sure, less = credo.edge_confidence(data), credo.edge_confidence(with_holes(data, 0.1, 5))
    for arrow in (("a", "u"), ("v", "y"), ("c", "v")):
        assert sure[arrow] > 0.9
        assert less[arrow] > 0.8
