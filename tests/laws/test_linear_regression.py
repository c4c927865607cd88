"""Laws of linear regression: sums add, rows are forgotten, held-out rows are predicted as a refit would."""

from __future__ import annotations

import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.stats import t as student

import credo
from credo.data import source
from credo.models.regression.leave_one_out import LeaveOneOut
from tests.laws.classifiers import unheard

Table = dict[str, list[Any]]
ROWS = 60


def table(rows: int = ROWS, seed: int = 0) -> Table:
    """Numbers, one far from 0, categories and missing cells; each value in several rows."""
    rng = np.random.default_rng(seed)
    age, size = rng.normal(1000, 3, rows), rng.normal(size=rows)
    city = np.array(["bonn", "köln", "ulm"])[rng.integers(0, 3, rows)]
    price = 3 * age + 2 * size + 5 * (city == "ulm") + size * (city == "bonn") + rng.normal(size=rows)
    return {
        "age": [None if i % 9 == 4 else x for i, x in enumerate(age.tolist())],
        "size": size.tolist(),
        "city": [None if i % 11 == 5 else str(x) for i, x in enumerate(city)],
        "price": price.tolist(),
    }


def known(rows: int) -> Table:
    """Without missing cells, which would look like outliers."""
    data = table(rows)
    return {
        **data,
        "age": [1000.0 if x is None else x for x in data["age"]],
        "price": [y + (0 if x is not None else 3000 - y) for x, y in zip(data["age"], data["price"], strict=True)],
    }


WHOLE = table()
MODELS = {
    "plain": credo.LinearRegression(),
    "least squares": credo.LinearRegression(ridge=0),
    "a ridge": credo.LinearRegression(ridge=2.0),
    "interactions": credo.LinearRegression(interactions=[("size", "city"), ("age", "size")]),
    "squares": credo.LinearRegression(interactions="squares"),
    "quadratic": credo.LinearRegression(interactions="quadratic"),
    "selected": credo.LinearRegression(select=True),
    "given": credo.LinearRegression(0, 0.01, 1, 1),
}
each = pytest.mark.parametrize("model", MODELS.values(), ids=MODELS.keys())


def part(start: int, end: int) -> Table:
    return {name: cells[start:end] for name, cells in WHOLE.items()}


def alike(one: credo.LinearRegression, other: credo.LinearRegression, rtol: float = 1e-9) -> None:
    """The same terms, the same posterior, the same predictions."""
    assert one.parameters()["term"] == other.parameters()["term"]
    for a, b in zip(one.mean(), other.mean(), strict=True):
        np.testing.assert_allclose(a, b, rtol=rtol, atol=1e-9)
    np.testing.assert_allclose(one.log_evidence(), other.log_evidence(), rtol=rtol)
    for a, b in zip(one.intervals(WHOLE), other.intervals(WHOLE), strict=True):
        np.testing.assert_allclose(a, b, rtol=rtol)


@each
def test_merged_parts_are_the_whole(model: credo.LinearRegression) -> None:
    whole = model.fit(WHOLE, "price")
    alike(model.fit(part(0, 20), "price") + model.fit(part(20, ROWS), "price"), whole)
    alike(model.fit(part(0, 20), "price").update(part(20, ROWS)), whole)
    with unheard():
        alike(model.fit((part(i, i + 15) for i in range(0, ROWS, 15)), "price"), whole)


@each
def test_forgetting_undoes_an_update(model: credo.LinearRegression) -> None:
    before = model.fit(part(0, 30), "price")
    new = part(30, ROWS) | {"city": ["wien"] * 30}  # a level that goes with its rows
    alike(before.update(new).forget(new), before)


@each
def test_a_row_twice_weighs_two(model: credo.LinearRegression) -> None:
    weight = np.where(np.arange(ROWS) % 3 == 0, 2.0, 1.0)
    twice = {name: [*cells, *cells[::3]] for name, cells in WHOLE.items()}
    alike(model.fit(WHOLE, "price", weight=weight), model.fit(twice, "price"))
    alike(model.fit({**WHOLE, "w": weight.tolist()}, "price", weight="w"), model.fit(twice, "price"))


@each
def test_order_doesnt_matter(model: credo.LinearRegression) -> None:
    order = np.random.default_rng(1).permutation(ROWS)
    alike(
        model.fit({name: [cells[i] for i in order] for name, cells in WHOLE.items()}, "price"),
        model.fit(WHOLE, "price"),
    )


@each
def test_saved_and_pickled_it_is_the_same(model: credo.LinearRegression, tmp_path: Path) -> None:
    fitted = model.fit(WHOLE, "price")
    credo.save(fitted, tmp_path / "m.credo")
    for other in (credo.load(tmp_path / "m.credo"), pickle.loads(pickle.dumps(fitted))):
        np.testing.assert_array_equal(other.predict(WHOLE), fitted.predict(WHOLE))
        assert repr(other) == repr(fitted)
        alike(other.update(part(0, 3)), fitted.update(part(0, 3)))


@each
def test_a_discount_weighs_less(model: credo.LinearRegression) -> None:
    half = model.fit(WHOLE, "price", weight=[0.5] * ROWS)
    alike(model.fit(WHOLE, "price").discount(0.5), half)


@each
def test_the_evidence_is_a_chain_of_predictions(model: credo.LinearRegression) -> None:
    """log p(y₁..yₙ) - log p(y₁..yₙ₋₁) = log p(yₙ | the others), under one and the same prior."""
    fitted = model.fit(WHOLE, "price")
    line, rows = fitted.fitted, source(WHOLE)
    (batch,) = rows.batches(rows.names)
    z, y = line.basis.read(batch)[0], batch.numbers("price")
    from dataclasses import replace

    from credo.core.membership import Hard
    from credo.core.moments import CrossMoments

    def evidence(n: int) -> float:
        sums = CrossMoments.of(np.column_stack([z, y])[:n], Hard.whole(n))
        return replace(line, statistics=sums).log_evidence()

    last = LeaveOneOut(replace(line, statistics=CrossMoments.of(np.column_stack([z, y]), Hard.whole(ROWS))))
    found = last(z, y, np.ones(ROWS))
    expected = student.logpdf(y[-1], found.degrees[-1], found.location[-1], found.scale[-1])  # type: ignore[index]
    np.testing.assert_allclose(evidence(ROWS) - evidence(ROWS - 1), expected, rtol=1e-6)


def refitted(model: credo.LinearRegression, data: Table, i: int, weight: Any) -> tuple[float, float, float]:
    """Degrees, location and scale of row i, by normal equations of the other rows, under the model's prior."""
    line = model.fitted
    (batch,) = source(data).batches(tuple(data))
    features, others = line.basis.features, np.arange(batch.rows) != i
    z = np.column_stack([np.ones(batch.rows), line.basis.read(batch)[0]])
    y = batch.numbers("price")
    seen = {name: {cell for cell, other in zip(data[name], others, strict=True) if other} for name in features.columns}
    cells = {name: [cell if cell in seen[name] or not isinstance(cell, str) else None] for name, cell in
             ((name, data[name][i]) for name in features.columns)}  # fmt: skip
    (one,) = source(cells).batches(tuple(cells))
    new = np.append(1.0, line.basis.read(one)[0][0])
    names = np.array(features.names)[line.basis.kept]
    lost = {f"{name}={data[name][i]}" for name, (cell,) in cells.items() if cell is None and data[name][i] is not None}
    lost |= {f"{name} is missing" for name in features.missing if None not in seen[name]}
    keep = np.array([True, *(not any(part in lost for part in name.split(" × ")) for name in names)])
    z, new = z[:, keep], new[keep]
    before, location = line.prior._prior(len(keep))
    before, location, w = before[np.ix_(keep, keep)], location[keep], weight[others]
    precision = before + (z[others].T * w) @ z[others]
    mean = np.linalg.solve(precision, before @ location + (z[others].T * w) @ y[others])
    residual = y[others] - z[others] @ mean
    away = mean - location
    scale = float(line.prior.scale) + (w @ residual**2 + away @ before @ away) / 2
    shape = float(line.prior.shape) + w.sum() / 2
    squared = scale / shape * (1 + new @ np.linalg.solve(precision, new))
    if line.ridge:  # unknown cells: prior variance of a level's weight, scaled by 1/√½; spread of a column's cells
        levels = sum("=" in part for part in lost if part in names)
        squared += scale / shape * levels * 2 / line.ridge
        marked = {part.removesuffix(" is missing") for part in lost if part.endswith(" is missing")}
        own = np.array([part.split("=")[0] in marked for part in names[keep[1:]]])
        centred = line.basis.read(batch)[0][:, keep[1:]][:, own]
        squared += float(np.sum(weight * (centred @ mean[1:][own]) ** 2) / weight.sum())
    return 2 * shape, float(new @ mean), float(np.sqrt(squared))


@each
@pytest.mark.parametrize("weighted", [False, True])
def test_leave_one_out_is_a_refit(model: credo.LinearRegression, weighted: bool) -> None:
    weight = np.where(np.arange(ROWS) % 4 == 0, 2.5, 1.0) if weighted else np.ones(ROWS)
    fitted = model.fit(WHOLE, "price", weight=weight)
    found = fitted.leave_one_out(WHOLE, weight=weight)
    for i in range(0, ROWS, 7):
        degrees, location, scale = refitted(fitted, WHOLE, i, weight)
        np.testing.assert_allclose(found.predicted[i], location, rtol=1e-8)
        expected = student.logpdf(WHOLE["price"][i], degrees, location, scale)
        np.testing.assert_allclose(found.log_probabilities[i], expected, rtol=1e-7)


@pytest.mark.parametrize("interactions", [(), [("size", "city")]])
@pytest.mark.parametrize("missing", [False, True])
def test_without_its_only_row_a_value_is_unseen(interactions: Any, missing: bool) -> None:
    """The only row of a level, and the only missing cell of a column."""
    data = table()
    data["city"] = ["bonn" if city is None and not missing else city for city in data["city"]]
    data["city"][7] = "wien"
    data["size"][3] = None
    model = credo.LinearRegression(interactions=interactions).fit(data, "price")
    found = model.leave_one_out(data)
    for i in (3, 7, 8):
        degrees, location, scale = refitted(model, data, i, np.ones(ROWS))
        np.testing.assert_allclose(found.predicted[i], location, rtol=1e-8)
        expected = student.logpdf(data["price"][i], degrees, location, scale)
        np.testing.assert_allclose(found.log_probabilities[i], expected, rtol=1e-7)


@pytest.mark.filterwarnings("ignore::credo.errors.Notice")
@pytest.mark.parametrize("noise", ["gaussian", "student"])
@pytest.mark.parametrize("unknown", ["a value", "a number", "a category", "both"])
def test_intervals_cover_rows_with_unknown_cells(noise: Any, unknown: str) -> None:
    """Of columns without missing cells, and values without rows: coverage was 0.68 to 0.87."""
    rng, effects = np.random.default_rng(8), np.random.default_rng(1).normal(size=400) * 2

    def drawn(n: int, levels: int) -> Table:
        k, x = rng.integers(0, levels, n), rng.normal(size=n)
        return {"k": [f"k{i}" for i in k], "x": x.tolist(), "y": (effects[k] + 2 * x + rng.normal(size=n)).tolist()}

    model = credo.LinearRegression(noise=noise).fit(drawn(300, 40), "y")
    new = drawn(3000, 400 if unknown == "a value" else 40)
    if unknown in ("a number", "both"):
        new["x"] = [None if rng.random() < 0.5 else x for x in new["x"]]
    if unknown in ("a category", "both"):
        new["k"] = [None if rng.random() < 0.5 else k for k in new["k"]]
    low, high = model.intervals(new)
    assert 0.92 < np.mean((new["y"] > low) & (new["y"] < high)) < 0.98


@each
def test_folds_are_refits(model: credo.LinearRegression) -> None:
    """Each fold by a model of the others, its prior found from them alone."""
    from credo.core.folds import FoldDraw

    found = model.fit(WHOLE, "price").cross_validate(WHOLE, folds=4, seed=3)
    (batch,) = source(WHOLE).batches(tuple(WHOLE))
    drawn = FoldDraw(4, 3).of(batch)
    with unheard():
        for k in range(4):
            others = {
                name: [c for c, fold in zip(cells, drawn, strict=True) if fold != k] for name, cells in WHOLE.items()
            }
            own = {
                name: [c for c, fold in zip(cells, drawn, strict=True) if fold == k] for name, cells in WHOLE.items()
            }
            scores = model.fit(others, "price").scores(own)
            np.testing.assert_allclose(found.predicted[drawn == k], scores.predicted, rtol=1e-9)
            np.testing.assert_allclose(found.log_probabilities[drawn == k], scores.log_probabilities, rtol=1e-8)


def test_rows_without_a_target_are_left_out() -> None:
    known = part(0, 40)
    with pytest.warns(credo.Notice, match="2 rows without 'price' left out"):
        found = credo.LinearRegression().fit(
            {name: [*cells, *([None] * 2 if name == "price" else cells[:2])] for name, cells in known.items()}, "price"
        )
    assert found.unlabelled == 2
    alike(found, credo.LinearRegression().fit(known, "price"))


def test_units_dont_matter() -> None:
    """Metres or kilometres: the same predictions, and weights in other units."""
    other = {**WHOLE, "size": [1000 * x for x in WHOLE["size"]], "price": [7 * x for x in WHOLE["price"]]}
    one, two = (credo.LinearRegression().fit(data, "price") for data in (WHOLE, other))
    np.testing.assert_allclose(two.predict(other), 7 * one.predict(WHOLE), rtol=1e-9)
    np.testing.assert_allclose(two.mean().weights[2], 7 * one.mean().weights[2] / 1000, rtol=1e-6)


def test_student_noise_never_falls_and_resists_outliers() -> None:
    data = known(80)
    clean = credo.LinearRegression(ridge=1.0).fit(data, "price").predict(data)
    data["price"][10] += 1e4
    model = credo.LinearRegression(ridge=1.0, noise="student").fit(data, "price")
    assert model.robust is not None
    assert (np.diff(model.robust.history) >= -1e-9 * abs(model.robust.history[-1])).all()
    assert np.abs(model.predict(data) - clean).max() < 1
    assert np.abs(credo.LinearRegression(ridge=1.0).fit(data, "price").predict(data) - clean).max() > 50
    for verb in (model.forget, model.leave_one_out):
        with pytest.raises(credo.EvidenceError, match="by EM"):
            verb(data)
    with pytest.raises(credo.EvidenceError, match="by EM"):
        model + model


def test_student_noise_goes_on_from_where_it_was(tmp_path: Path) -> None:
    data = known(90)
    first = {name: cells[:60] for name, cells in data.items()}
    more = {name: cells[60:] for name, cells in data.items()}
    model = credo.LinearRegression(noise="student").fit(first, "price").update(more)
    assert model.n == 90
    whole = credo.LinearRegression(noise="student").fit(data, "price")
    assert np.abs(model.predict(data) - whole.predict(data)).max() < 1
    credo.save(model, tmp_path / "m.credo")
    np.testing.assert_array_equal(credo.load(tmp_path / "m.credo").predict(data), model.predict(data))
    assert model.cross_validate(data, folds=3).r2 > 0.9


def test_the_line_under_student_noise_is_the_most_probable() -> None:
    """The most probable line under Student-t noise solves the weighted normal equations, weights from its residuals."""
    data = known(60)
    model = credo.LinearRegression(ridge=0, noise="student").fit(data, "price")
    line, noise = model.fitted, model.robust
    assert noise is not None
    (batch,) = source(data).batches(tuple(data))
    z, y = np.column_stack([np.ones(60), line.basis.read(batch)[0]]), batch.numbers("price")
    r = y - line.expected(z[:, 1:])
    variance = line.posterior.mode().variance
    u = (noise.degrees + 1) / (noise.degrees + r**2 / variance)
    np.testing.assert_allclose(z.T @ (u * r), 0, atol=1e-2)


@pytest.mark.parametrize(("n", "columns"), [(2, 1), (3, 1), (4, 3), (10, 10), (6, 20)])
def test_intervals_hold_where_rows_are_hardly_more_than_weights(n: int, columns: int) -> None:
    """Lines with much noise and with little: 95% intervals of new rows cover at least 88% of them."""
    rng, inside = np.random.default_rng([n, columns]), []
    for _ in range(30):
        x = rng.normal(size=(n + 10, columns))
        noise = rng.choice([0.3, 1.0, 3.0]) * rng.normal(size=n + 10)
        y = x @ rng.normal(size=columns) / np.sqrt(columns) + noise
        low, high = credo.LinearRegression().fit(x[:n], target=y[:n]).intervals(x[n:])
        inside.append((low <= y[n:]) & (y[n:] <= high))
    assert np.mean(inside) >= 0.88
