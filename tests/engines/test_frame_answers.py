"""What models other than classifiers say of a frame's rows: a frame, whose cells are those that local rows get."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pandas as pd
import pytest

import credo
from credo.engines.dask import DaskPiece
from tests.engines.verbs import FEW, dask_frame, local, parts_of, table
from tests.laws.test_engines import bits, evidence_bits

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


def test_networks_with_numbers(parts: list[pd.DataFrame]) -> None:
    frame, here = dask_frame(parts), local(parts)
    net = credo.HybridNetwork("kind -> x; z -> x; kind -> seen").fit(here, steps=3)
    names = [f"P({state})" for state in net.states["kind"]]
    np.testing.assert_array_equal(columns(net.predict_proba("kind", frame), names), net.predict_proba("kind", here))
    for variable in ("kind", "x"):
        found = columns(net.predict(variable, frame), ["predicted"])[:, 0]
        assert found.tolist() == net.predict(variable, here).tolist()
    np.testing.assert_array_equal(columns(net.log_prob(frame), ["log_prob"])[:, 0], net.log_prob(here))
    filled, own = net.impute(frame).compute(), net.impute(here)
    assert (filled["seen"].tolist(), filled["x"].tolist()) == (own["seen"].to_pylist(), own["x"].to_pylist())
    pd.testing.assert_index_equal(filled.index, pd.concat(parts).index)
    assert net.description_length(frame).total == pytest.approx(net.description_length(here).total, 1e-12)
    with pytest.raises(credo.SchemaError, match="is a number"):
        net.predict_proba("z", frame)


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


@pytest.mark.parametrize("how", ["leave_one_out", "cross_validate", "scores"])
def test_scores_are_added_up_where_rows_are(how: str, parts: list[pd.DataFrame]) -> None:
    """All figures of the rows' scores come back, and nothing that has a place for each row; models can be compared."""
    model: Any = credo.NaiveBayes(kinds=FEW).fit(local(parts), target="kind")
    there, here = getattr(model, how)(dask_frame(parts)), getattr(model, how)(local(parts))
    assert str(there) == str(here)
    figures = ("accuracy", "log_loss", "log_loss_error", "brier", "ece", "n", "rows", "unknown")
    assert [getattr(there, name) for name in figures] == pytest.approx([getattr(here, name) for name in figures], 1e-12)
    np.testing.assert_array_equal(there.confusion, here.confusion)
    assert (there.by_class(), there.most_confused(9)) == (here.by_class(), here.most_confused(9))
    np.testing.assert_allclose(there.reliability(), here.reliability(), rtol=1e-12)
    assert there.commonest == here.commonest
    assert there._repr_html_() == here._repr_html_()
    assert len(pickle.dumps(there)) < 8 * there.rows
    with pytest.raises(AttributeError, match="added up on the workers"):
        _ = there.log_probabilities


def kept_from_the_driver(monkeypatch: pytest.MonkeyPatch) -> None:
    """Fails if what each batch gave comes to the driver, and not a sum; but for the first rows, which tell of what
    kinds columns are."""
    from credo.data.sources import FirstRows
    from credo.engines.remote import Remote

    def mapped(engine: Any, job: Any, partitions: Any) -> Any:
        assert isinstance(job, FirstRows), "scores of rows came to the driver"
        return before(engine, job, partitions)

    before = Remote.map
    monkeypatch.setattr(Remote, "map", mapped)


FIGURES = ("rmse", "mae", "r2", "log_loss", "log_loss_error", "log_likelihood", "baseline_log_loss", "n", "rows")


@pytest.mark.parametrize("how", ["leave_one_out", "cross_validate", "scores"])
def test_scores_of_numbers_are_added_up(how: str, parts: list[pd.DataFrame], monkeypatch: pytest.MonkeyPatch) -> None:
    line: Any = credo.LinearRegression(kinds={**FEW, "mass": "ignore"}).fit(local(parts), target="z")
    here = getattr(line, how)(local(parts), weight="mass") if how == "scores" else getattr(line, how)(local(parts))
    kept_from_the_driver(monkeypatch)
    there = getattr(line, how)(dask_frame(parts), **({"weight": "mass"} if how == "scores" else {}))
    assert str(there) == str(here)
    assert [getattr(there, name) for name in FIGURES] == pytest.approx([getattr(here, name) for name in FIGURES], 1e-12)
    assert there._repr_html_() == here._repr_html_()
    assert len(pickle.dumps(there)) < 8 * there.rows
    with pytest.raises(AttributeError, match="added up on the workers"):
        _ = there.predicted


def test_scores_of_student_noise_are_added_up(parts: list[pd.DataFrame]) -> None:
    line: Any = credo.LinearRegression(kinds={**FEW, "mass": "ignore"}, noise="student").fit(local(parts), target="z")
    there, here = (line.cross_validate(data, folds=2) for data in (dask_frame(parts), local(parts)))
    assert str(there) == str(here)
    assert there.rows == 700
    assert not hasattr(there, "truth")


@pytest.mark.parametrize("how", ["leave_one_out", "cross_validate"])
def test_scores_of_logistic_regression_are_added_up(
    how: str, parts: list[pd.DataFrame], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A row that is the only one of its class among them."""
    lone = [part.assign(kind=np.where(part.index == 200, "lone", part["kind"])) for part in parts]
    model: Any = credo.LogisticRegression(kinds={**FEW, "mass": "ignore"}).fit(local(lone), target="kind")
    here = getattr(model, how)(local(lone))
    kept_from_the_driver(monkeypatch)
    there = getattr(model, how)(dask_frame(lone))
    assert (str(there), there.unknown) == (str(here), 1)
    assert len(pickle.dumps(there)) < 8 * there.rows
    if how == "leave_one_out":
        with pytest.raises(credo.EvidenceError, match="needs the rows that were learned"):
            model.leave_one_out(dask_frame(lone[:3]))


@pytest.mark.parametrize("how", ["leave_one_out", "cross_validate"])
@pytest.mark.parametrize("what", ["tables", "lines", "belief"])
def test_scores_of_whole_rows_are_added_up(
    what: str, how: str, parts: list[pd.DataFrame], monkeypatch: pytest.MonkeyPatch
) -> None:
    if what == "belief" and how == "leave_one_out":
        return
    few = [part[["z"] if what == "belief" else ["kind", "word", "z"]] for part in parts]
    model: Any = credo.NormalInverseGamma(0, 1, 1, 1)
    if what == "lines":
        model = credo.learn_structure(local(few))
    elif what == "tables":
        model = credo.Network("kind -> word").fit(local(few))
    here = getattr(model, how)(local(few))
    kept_from_the_driver(monkeypatch)
    there = getattr(model, how)(dask_frame(few))
    assert str(there) == str(here)
    assert there.log_loss == pytest.approx(here.log_loss, 1e-12)
    assert there.n == 700
    with pytest.raises(AttributeError, match="added up on the workers"):
        _ = there.log_probabilities


def test_scores_of_rows_with_missing_cells_are_added_up(parts: list[pd.DataFrame]) -> None:
    net = credo.Network("kind -> seen; kind -> word")
    there, here = (
        net.cross_validate(data, folds=2, weight="mass", steps=3) for data in (dask_frame(parts), local(parts))
    )
    assert str(there) == str(here)
    assert not hasattr(there, "log_probabilities")


def test_description_lengths_of_frames(parts: list[pd.DataFrame]) -> None:
    kinds = {**FEW, "mass": "ignore"}
    models: dict[str, Any] = {"z": credo.LinearRegression(kinds=kinds), "kind": credo.NaiveBayes(kinds=kinds)}
    for target, model in models.items():
        fitted = model.fit(local(parts), target=target)
        there, here = (fitted.description_length(data) for data in (dask_frame(parts), local(parts)))
        assert there.total == pytest.approx(here.total, 1e-12)


def test_scores_of_rows_of_classes_that_no_other_row_shows(parts: list[pd.DataFrame]) -> None:
    lone = [part.assign(kind=np.where(part.index == 200, "lone", part["kind"])) for part in parts]
    model: Any = credo.NaiveBayes(kinds=FEW).fit(local(lone), target="kind")
    there, here = (model.leave_one_out(data) for data in (dask_frame(lone), local(lone)))
    assert (there.unknown, str(there)) == (1, str(here))
    with pytest.raises(credo.EvidenceError, match="needs the rows that were learned"):
        model.leave_one_out(dask_frame(lone[:3]))
    with pytest.raises(credo.DataError, match="no row has a class"):
        model.scores(dask_frame([part.assign(kind=None) for part in lone]))


def test_models_are_compared_by_rows(parts: list[pd.DataFrame]) -> None:
    models = [credo.NaiveBayes(kinds=FEW), credo.TreeAugmented(kinds=FEW)]
    found = [str(credo.choose(models, data, target="kind", by="loo")) for data in (dask_frame(parts), local(parts))]
    assert found[0] == found[1]


def test_averages_are_refitted_for_each_fold(parts: list[pd.DataFrame], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(DaskPiece, "rows", property(lambda _: pytest.fail("a partition was read by the driver")))
    found = []
    for data in (dask_frame(parts), local(parts)):
        models = [credo.NaiveBayes(kinds=FEW, smoothing=each).fit(data, target="kind") for each in (1.0, 9.0)]
        average: Any = credo.average(models)
        stacked: Any = credo.average(models, by="loo", data=data)
        weighed = average.leave_one_out(data)
        found.append((str(stacked.cross_validate(data, folds=2)), str(weighed), bits(weighed.log_probabilities)))
    assert found[0] == found[1]


def test_learning_curves_are_compared_on_a_sample(parts: list[pd.DataFrame], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("credo.selection.comparison.COMPARED_ROWS", 300)
    monkeypatch.setattr(DaskPiece, "rows", property(lambda _: pytest.fail("a partition was read by the driver")))
    few = [part[["z", "word", "mass", "kind"]] for part in parts]
    for weight in (None, "mass"):
        found = credo.compare(dask_frame(few), "kind", draws=2, sizes=[50, 100], weight=weight)
        assert (found.withheld, found.sizes) == (100, (50, 100))
        assert np.isfinite(found.log_losses).all()


@pytest.mark.parametrize("weight", [None, "mass"])
def test_numbers_are_learned_from_a_sample_drawn_where_rows_are(
    weight: str | None, parts: list[pd.DataFrame], monkeypatch: pytest.MonkeyPatch
) -> None:
    """What comes to the driver has no place for each row; and the sample is that of local rows."""
    from credo.engines.remote import Remote

    def mapped(engine: Any, job: Any, partitions: Any) -> Any:
        for found in before(engine, job, partitions):
            came.append(getattr(found[0] if isinstance(found, tuple) else found, "rows", 0))
            yield found

    most, before, came = 300, Remote.map, list[int]()
    monkeypatch.setattr("credo.selection.regression.CHOICE_ROWS", most)
    monkeypatch.setattr(Remote, "map", mapped)
    some = [part.assign(z=part["z"].where(part.index % 7 > 0)) for part in parts]
    how: Any = {"target": "z", "kinds": {**FEW, **({} if weight else {"mass": "ignore"})}, "weight": weight}
    there, here = (credo.learn(data, **how) for data in (dask_frame(some), local(some)))
    assert there.report.scores.rows == here.report.scores.rows
    assert weight is not None or there.report.scores.rows == most
    assert there.report.scores.log_loss == here.report.scores.log_loss
    assert evidence_bits(there) == evidence_bits(here)
    first_rows = 700  # which tell of what kinds columns are
    assert most <= sum(came) <= most + 4 * first_rows


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
