"""What models other than classifiers say of a frame's rows: a frame, whose cells are those that local rows get."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest

import credo
from tests.engines.verbs import FEW, dask_frame, local, parts_of, table

pytest.importorskip("dask.dataframe", reason="Dask isn't installed: pip install 'credo-bayes[dask]'")
pytestmark = pytest.mark.filterwarnings("ignore::credo.Notice")


@pytest.fixture(scope="module")
def parts() -> list[pd.DataFrame]:
    return parts_of(table())


def columns(frame: Any, names: list[str]) -> Any:
    return frame.compute()[names].to_numpy()


def test_mixtures(parts: list[pd.DataFrame]) -> None:
    frame, here = dask_frame(parts), local(parts)
    mix = credo.Mixture(components=2, kinds={**FEW, "kind": "ignore", "mass": "ignore"}, starts=1, steps=4).fit(here)
    names = [f"P({each})" for each in mix.names]
    np.testing.assert_array_equal(columns(mix.responsibilities(frame), names), mix.responsibilities(here))
    assert columns(mix.predict(frame), ["predicted"])[:, 0].tolist() == mix.predict(here).tolist()
    np.testing.assert_array_equal(columns(mix.log_prob(frame), ["log_prob"])[:, 0], mix.log_prob(here))
    whole = mix.impute(frame)
    assert whole.npartitions == len(parts)
    found, own = whole.compute(), mix.impute(here)
    assert list(found.columns) == list(parts[0].columns)
    assert not found["x"].isna().any()
    np.testing.assert_array_equal(found["x"].to_numpy(), own["x"].to_numpy())
    assert found["note"].tolist() == own["note"].to_pylist()
    assert mix.impute(frame, draws=True).num_rows == len(found)


def test_networks(parts: list[pd.DataFrame]) -> None:
    frame, here = dask_frame(parts), local(parts)
    net = credo.Network("kind -> seen; kind -> word").fit(here)
    names = [f"P({state})" for state in net.states["kind"]]
    np.testing.assert_array_equal(columns(net.predict_proba("kind", frame), names), net.predict_proba("kind", here))
    assert columns(net.predict("kind", frame), ["predicted"])[:, 0].tolist() == net.predict("kind", here).tolist()
    np.testing.assert_array_equal(columns(net.log_prob(frame), ["log_prob"])[:, 0], net.log_prob(here))
    found = net.impute(frame).compute()
    assert found["seen"].tolist() == net.impute(here)["seen"].to_pylist()
    assert found["seen"].dtype == parts[0]["seen"].dtype
    pd.testing.assert_index_equal(found.index, pd.concat(parts).index)


def test_regressions(parts: list[pd.DataFrame]) -> None:
    frame, here = dask_frame(parts), local(parts)
    line = credo.LinearRegression(kinds={**FEW, "mass": "ignore"}).fit(here, target="z")
    np.testing.assert_array_equal(columns(line.predict(frame), ["predicted"])[:, 0], line.predict(here))
    steep = credo.LogisticRegression(kinds={**FEW, "mass": "ignore"}).fit(here, target="kind")
    names = [f"P({each})" for each in steep.classes]
    np.testing.assert_array_equal(columns(steep.predict_proba(frame), names), steep.predict_proba(here))


def test_joint_probabilities_and_decisions(parts: list[pd.DataFrame]) -> None:
    frame, here = dask_frame(parts), local(parts)
    model: Any = credo.GaussianDiscriminant("tied", kinds={**FEW, "word": "ignore", "mass": "ignore"}).fit(
        here, target="kind"
    )
    for what, name in ((model.log_joint, "log P(row, {})"), (model.mahalanobis, "distance to {}")):
        names = [name.format(each) for each in model.classes]
        np.testing.assert_array_equal(columns(what(frame), names), what(here))
    costs = {"loss": {"a": {"b": 5.0}}, "reject": 0.3}
    found = model.decide(frame, **costs).compute()["decision"]
    assert found.where(found.notna(), None).tolist() == model.decide(here, **costs).tolist()
    assert found.isna().any()


def test_hidden_states(parts: list[pd.DataFrame]) -> None:
    """Of whole sequences; one that goes on in the next partition is an error that says what to do."""
    kinds = {"note": "ignore", "seen": "ignore", "kind": "ignore"}
    whole = pd.concat(parts).assign(when=np.random.default_rng(0).permutation(700))
    parts = parts_of(whole, (0, 153, 477, 477, 700))
    frame, here = dask_frame(parts), local(parts)
    model: Any = credo.HiddenMarkov(states=2, kinds=kinds, starts=1, steps=4).fit(here, sequence="run", order="when")
    assert columns(model.decode(frame), ["predicted"])[:, 0].tolist() == model.decode(here).tolist()
    for what in (model.smooth, model.filter):
        np.testing.assert_array_equal(columns(what(frame), [f"P({each})" for each in model.names]), what(here))
    with pytest.raises(credo.DataError, match="shuffle"):
        model.smooth(dask_frame(parts_of(whole)))
