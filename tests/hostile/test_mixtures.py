"""Mixtures of hostile rows: they are fitted without a collapse, or refused in one sentence."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest

import credo
from tests.hostile.refusals import refused

COVARIANCES = ("full", "tied", "diagonal", "spherical")


@pytest.mark.parametrize("covariance", COVARIANCES)
@pytest.mark.parametrize(
    "table",
    [
        {"x": [1.0, 2.0, 3.0], "y": [1.0, 5.0, 2.0]},  # fewer rows than components
        {"x": [1.0, 1.0, 1.0, 2.0, 2.0, 2.0], "y": [0.0, 0.0, 0.0, 1.0, 1.0, 1.0]},  # two distinct rows
        {"x": [1.0], "y": [2.0]},
        {"x": [1.0, 2.0, 8.0, 9.0], "y": [3.0, 3.0, 3.0, 3.0]},  # a constant column
        {"x": [1.0, 2.0, np.nan, 9.0, 10.0], "y": [1.0, 2.0, np.nan, 7.0, np.nan]},  # a row with every cell missing
        {"x": [1.0, 2.0, 8.0, 9.0], "y": [1.0, 2.0, 8.0, 9.0]},  # columns that repeat each other
        {"x": [1e9, 1e9 + 1, 1e9 + 50, 1e9 + 51], "y": [1e-9, 2e-9, 3e-9, 1e-9]},
        {"x": [1.0, 2.0, 30.0, 31.0], "c": ["a", "a", "b", "b"]},
    ],
)
@pytest.mark.slow
def test_no_component_collapses(table: Any, covariance: Any) -> None:
    mixture = credo.Mixture(5, covariance, starts=2, kinds={"x": "number"}).fit(table)
    assert len(mixture.names) == 5
    found = mixture.responsibilities(table)
    assert np.isfinite(found).all()
    assert np.allclose(found.sum(1), 1.0)
    assert np.isfinite(mixture.log_prob(table)).all()
    assert np.isfinite(mixture.log_evidence)


@pytest.mark.parametrize("covariance", ["tied", "full"])
@pytest.mark.parametrize("components", ["auto", 4])
@pytest.mark.parametrize("seed", [2, 3, 4])
def test_a_column_that_is_the_sum_of_others(seed: int, components: Any, covariance: Any) -> None:
    """The evidence favours priors so weak that a covariance has few correct digits in the direction of the sum."""
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(200, 2)) + rng.normal(size=(2, 2))[rng.integers(0, 2, 200)] * 5
    mixture = credo.Mixture(components, covariance, starts=5).fit(np.column_stack([x, x.sum(1)]))
    alone = credo.Mixture(components, covariance, starts=5).fit(x)
    assert len(mixture.names) == len(alone.names)
    assert np.isfinite(mixture.log_evidence)


def test_one_row_and_ten_equal_rows_are_one_cluster() -> None:
    for rows in ([[1.0, 2.0]], [[1.0, 2.0]] * 10):
        mixture = credo.Mixture(kinds={"x0": "number", "x1": "number"}).fit(np.array(rows))
        assert len(mixture.names) == 1


def test_symbols_never_seen_are_ignored() -> None:
    mixture = credo.Mixture(2, starts=2).fit({"c": list("aaabbb") * 5, "d": list("uuuvvv") * 5})
    with pytest.warns(credo.Notice, match="unseen values, ignored"):
        found = mixture.responsibilities({"c": ["a", "z"], "d": ["u", "u"]})
    np.testing.assert_allclose(found[1], mixture.responsibilities({"d": ["u"], "c": [None]})[0])


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"components": 0}, "components must be a whole number of at least 1 or 'auto'"),
        ({"components": 2.5}, "components must be"),
        ({"components": "three"}, "components must be"),
        ({"components": True}, "components must be"),
        ({"covariance": "round"}, "no such covariance, 'round'"),
        ({"strength": 0}, "strength must be positive"),
        ({"smoothing": -1}, "smoothing must be"),
        ({"estimate": "best"}, "no such estimate"),
        ({"starts": 0}, "starts must be a whole number"),
        ({"steps": -1}, "steps must be a whole number"),
        ({"tolerance": "small"}, "tolerance must be a number"),
        ({"seed": -1}, "a seed must be"),
    ],
)
def test_wrong_settings_are_refused(settings: Any, words: str) -> None:
    assert words in refused(credo.Mixture, **settings)


@pytest.mark.parametrize(
    ("settings", "data", "options", "words"),
    [
        ({}, {"x": np.array([])}, {}, "the data is empty"),
        ({"kinds": {"x": "number"}}, [{"x": [1.0, 2.0]}], {}, "an iterator can be read only once"),
        ({}, {"x": [1.0, 2.0], "c": ["a", None]}, {"target": "y"}, "no column 'y'"),
        (
            {"components": 1},
            {"x": [1.0, 2.0], "c": ["a", "b"]},
            {"target": "c"},
            "2 different labels, but there are only 1",
        ),
        ({}, {"c": ["a", "b"]}, {"target": "c"}, "no column to learn from"),
        ({}, {"x": [1.0, 2.0, 3.0]}, {"weight": [1, -1, 1]}, "a weight must be 0 or more"),
        ({}, {"x": [1.0, 2.0, 3.0]}, {"weight": [0, 0, 0]}, "all weights are zero"),
        ({}, {"x": [None, None]}, {}, "there is no column to learn from"),
    ],
)
def test_wrong_data_is_refused(settings: Any, data: Any, options: Any, words: str) -> None:
    mixture = credo.Mixture(**{"components": 2, **settings})
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", credo.Notice)
        assert words in refused(mixture.fit, iter(data) if isinstance(data, list) else data, **options)


def test_nothing_is_said_before_a_fit() -> None:
    for verb in ("predict", "responsibilities", "log_prob", "surprise", "impute", "explain", "update"):
        assert "nothing was learned yet" in refused(getattr(credo.Mixture(2), verb), {"x": [1.0]})
    assert "nothing was learned yet" in refused(credo.Mixture(2).describe)


def test_what_em_inferred_can_be_neither_forgotten_nor_merged() -> None:
    mixture = credo.Mixture(2, starts=1).fit({"x": [1.0, 2.0, 8.0, 9.0]})
    assert "a mixture can't forget rows" in refused(mixture.forget, {"x": [1.0]})
    assert "a mixture can't be merged" in refused(lambda: mixture + mixture)


def test_an_update_leaves_the_evidence_unknown() -> None:
    mixture = credo.Mixture(2, starts=1).fit({"x": [1.0, 2.0, 8.0, 9.0]}).update({"x": [1.5, 8.5]})
    assert "fit all rows together" in refused(lambda: mixture.log_evidence)
    assert "fit all rows together" in refused(lambda: mixture.component_posterior)


def test_an_update_with_an_unknown_label_is_refused() -> None:
    mixture = credo.Mixture(2, starts=1).fit({"x": [1.0, 2.0, 8.0, 9.0], "c": ["a", None, "b", None]}, target="c")
    assert "no component is called 'q'" in refused(mixture.update, {"x": [1.0], "c": ["q"]})


def test_one_component_has_nothing_to_be_explained_against() -> None:
    mixture = credo.Mixture(1).fit({"x": [1.0, 2.0, 8.0, 9.0]})
    assert refused(mixture.explain, {"x": 1.0}) == "the mixture has one component: nothing to compare it with"


def test_plots_of_unknown_kinds_are_refused() -> None:
    mixture = credo.Mixture(2, starts=1).fit({"x": [1.0, 2.0, 8.0, 9.0], "y": [1.0, 3.0, 2.0, 4.0]})
    assert "no such kind of plot, 'profil'; known: ellipses, profile" in refused(mixture.plot, kind="profil")


def test_wide_tables_of_few_rows() -> None:
    """200 columns and 50 rows, of two clusters. Covariances that can't come near independent columns are given up."""
    rng = np.random.default_rng(0)
    x = rng.normal(size=(50, 200))
    x[:25] += 2
    mixture = credo.Mixture().fit(x)
    assert mixture.classifier.covariance == "diagonal"
    assert len({*mixture.predict(x[:25])}) == len({*mixture.predict(x[25:])}) == 1
    assert len(mixture.names) == 2
    assert len(mixture.choices) < 15


def test_copies_of_rows_are_told() -> None:
    """To the evidence, equal continuous numbers are clusters; rounded ones repeat as it is."""
    rng = np.random.default_rng(1)
    x = rng.normal(size=(60, 2))
    with pytest.warns(credo.Notice, match="50% of the rows are copies of others"):
        credo.Mixture(most_components=2).fit(np.concatenate([x, x]))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        credo.Mixture(most_components=2).fit(np.concatenate([x, x]).round(1))
        credo.Mixture(2).fit(np.concatenate([x, x]))
