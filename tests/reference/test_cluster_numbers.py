"""The number of clusters that the evidence chooses: for simulated rows, and for known tables."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import credo

SHARED = next(
    (place for up in Path(__file__).parents if (place := up / "shared" / "data" / "tables").is_dir()), Path("nowhere")
)


def known_table(name: str) -> Any:
    from pyarrow import csv

    path = SHARED / name / f"{name}.csv"
    if not path.exists():
        pytest.skip(f"{path} isn't there")
    return csv.read_csv(path)


def agreement(found: Any, truth: Any) -> float:
    """The share of rows that are in the cluster of most rows of their class."""
    classes = np.unique(truth)
    return float(sum(np.unique(found[truth == each], return_counts=True)[1].max() for each in classes) / len(truth))


def geysers(rows: int = 270) -> dict[str, Any]:
    """Like Old Faithful: short eruptions after short waits, and long ones after long ones."""
    rng = np.random.default_rng(4)
    long = rng.random(rows) < 0.64
    eruptions = np.where(long, 4.29, 2.04) + rng.normal(size=rows) * np.where(long, 0.41, 0.27)
    waits = np.where(long, 80.0, 54.5) + rng.normal(size=rows) * 5.9 + 3.0 * (eruptions - np.where(long, 4.29, 2.04))
    return {"eruptions": eruptions, "waiting": waits}


@pytest.mark.parametrize(("rows", "columns"), [(10, 1), (10, 2), (10, 5), (200, 1), (100, 2)])
@pytest.mark.slow
def test_a_single_gaussian_is_one_cluster(rows: int, columns: int) -> None:
    x = np.random.default_rng(rows + columns).normal(size=(rows, columns))
    mixture = credo.Mixture().fit(x)
    assert len(mixture.names) == 1
    assert sum(mixture.component_posterior.values()) == pytest.approx(1.0)


@pytest.mark.parametrize(("rows", "columns"), [(10, 10), (10, 30), (20, 30), (100, 30)])
@pytest.mark.parametrize("slanted", [False, True])
def test_a_single_gaussian_of_many_columns_is_one_cluster(rows: int, columns: int, slanted: bool) -> None:
    """A prior of one row would favour clusters of a few rows each."""
    for seed in range(2):
        rng = np.random.default_rng([seed, rows, columns])
        x = rng.normal(3.0, 2.0, size=(rows, columns))
        mixture = credo.Mixture().fit(x @ rng.normal(size=(columns, columns)) if slanted else x)
        assert len(mixture.names) == 1


def test_few_rows_of_many_columns_are_clustered() -> None:
    for seed in range(2):
        rng = np.random.default_rng(seed)
        z = np.arange(15) % 3
        x = 8.0 * rng.choice([-0.5, 0.5], size=(3, 10))[z] + rng.normal(size=(15, 10))
        mixture = credo.Mixture().fit(x)
        assert len({*zip(z.tolist(), mixture.predict(x).tolist(), strict=True)}) == len(mixture.names) == 3


@pytest.mark.slow
def test_a_single_gaussian_of_a_million_rows_is_one_cluster() -> None:
    x = np.random.default_rng(0).normal(size=(1_000_000, 2)) @ np.array([[1.0, 0.7], [0.0, 0.5]])
    mixture = credo.Mixture().fit(x)
    assert len(mixture.names) == 1
    assert mixture.n == 1_000_000


@pytest.mark.parametrize("components", [2, 4])
def test_clusters_that_lie_apart_are_counted(components: int) -> None:
    rng = np.random.default_rng(components)
    z = rng.integers(0, components, 250)
    centres = 7.0 * np.array([[0, 0], [1, 0], [0, 1], [1, 1]])[:components]
    x = rng.normal(size=(250, 2)) + centres[z]
    mixture = credo.Mixture("auto", "diagonal").fit(x)
    assert len(mixture.names) == components
    assert agreement(mixture.predict(x), z) > 0.98
    assert mixture.component_posterior[components] > 0.9


@pytest.mark.parametrize("seed", [0, 3])
def test_clusters_that_were_joined_are_split_even_if_they_are_small(seed: int) -> None:
    """Twelve clusters of one long shape in twenty columns, of 20 to 200 rows."""
    rng = np.random.default_rng(seed)
    z = np.repeat(np.arange(12), [200, 180, 160, 140, 120, 100, 80, 60, 40, 30, 20, 20])
    stretch = np.exp(rng.normal(size=20))
    centres = rng.normal(size=(12, 20)) * 3.0
    x = (centres[z] + rng.normal(size=(len(z), 20)) * stretch) @ np.linalg.qr(rng.normal(size=(20, 20)))[0]
    mixture = credo.Mixture(covariance="tied", seed=seed).fit(x)
    assert len(mixture.names) == 12
    assert agreement(mixture.predict(x), z) > 0.99


def test_the_covariance_is_chosen_as_well() -> None:
    """Clusters of one slanted shape: tied; of different shapes: full; of independent columns: diagonal."""
    rng = np.random.default_rng(1)
    z = rng.integers(0, 2, 300)
    noise = rng.normal(size=(300, 2))
    slanted = noise @ np.array([[1.0, 0.9], [0.0, 0.3]]) + 6.0 * z[:, None] * np.array([1.0, -1.0])
    assert credo.Mixture(2, "auto", starts=3).fit(slanted).classifier.covariance == "tied"
    turned = np.where(
        z[:, None] == 0, noise @ np.array([[1.0, 0.9], [0, 0.3]]), noise @ np.array([[1.0, -0.9], [0, 0.3]])
    )
    assert credo.Mixture(2, "auto", starts=3).fit(turned + 6.0 * z[:, None]).classifier.covariance == "full"
    apart = noise * np.where(z[:, None] == 0, [0.3, 2.0], [2.0, 0.3]) + 9.0 * z[:, None]
    assert credo.Mixture(2, "auto", starts=3).fit(apart).classifier.covariance == "diagonal"


def test_categories_are_clustered_by_their_evidence() -> None:
    """Three groups of yes-no answers, some of them missing."""
    rng = np.random.default_rng(2)
    z = rng.integers(0, 3, 200)
    chances = np.array([[0.9] * 4 + [0.1] * 8, [0.1] * 4 + [0.9] * 4 + [0.1] * 4, [0.1] * 8 + [0.9] * 4])
    said = np.where(rng.random((200, 12)) < chances[z], "yes", "no").astype(object)
    said[rng.random(said.shape) < 0.1] = None
    mixture = credo.Mixture().fit({f"q{j}": said[:, j].tolist() for j in range(12)})
    assert len(mixture.names) == 3
    assert agreement(mixture.predict({f"q{j}": said[:, j].tolist() for j in range(12)}), z) > 0.95


def test_geysers_have_two_clusters() -> None:
    table = geysers()
    mixture = credo.Mixture("auto", "full").fit(table)
    assert len(mixture.names) == 2
    assert "eruptions" in repr(mixture.describe())


@pytest.mark.slow
def test_old_faithful_has_two_clusters() -> None:
    mixture = credo.Mixture().fit(known_table("old_faithful"))
    assert len(mixture.names) == 2
    assert mixture.shares[0] == pytest.approx(0.643, abs=0.01)


@pytest.mark.slow
def test_soybeans_have_their_four_diseases() -> None:
    table = known_table("soybean_small")
    diseases = np.array(table["class"].to_pylist())
    columns = {
        name: [str(value) for value in table[name].to_pylist()] for name in table.column_names if name != "class"
    }
    mixture = credo.Mixture().fit(columns)
    assert len(mixture.names) == 4
    assert agreement(mixture.predict(columns), diseases) == 1.0
