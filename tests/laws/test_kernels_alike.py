"""Compiled or as plain Python, kernels give the same bits: in whole models, at the edges, and whichever is chosen."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.special import gammaln

import credo
from credo._kernels import plain
from credo._kernels.core.sums import add_moments_hard
from credo._kernels.jit import forced, late_kernel
from credo._kernels.models.shares import divide_by_total
from credo._kernels.numerics.beta import beta_interval_chunk
from credo._kernels.numerics.gamma import log_gamma
from credo.notices import quietly

CLASSES = ("a", "b", "c")


def table(rows: int = 90) -> dict[str, Any]:
    rng = np.random.default_rng(0)
    own = rng.integers(0, 3, rows)
    x = rng.normal(own, 1.0, (4, rows))
    x[:, rng.random(rows) < 0.1] = np.nan
    x[3] = 1e9 + 1e-3 * x[3]
    columns: dict[str, Any] = {f"x{j}": column for j, column in enumerate(x)}
    columns["n"] = rng.poisson(own + 1.0)
    columns["colour"] = [None if i % 11 == 0 else "rgb"[(k + i % 2) % 3] for i, k in enumerate(own)]
    columns["note"] = [" ".join(f"word{v}" for v in rng.integers(0, 30, 12) + 9 * k) for k in own]
    return {**columns, "y": [CLASSES[k] for k in own]}


def answers(model: Any) -> list[Any]:
    data = table()
    weight = np.random.default_rng(1).uniform(0.5, 2.0, 90)
    fitted, weighed = model.fit(data, target="y"), model.fit(data, target="y", weight=weight)
    less = fitted.forget({name: column[:20] for name, column in data.items()})
    with quietly():  # values that only forgotten rows had
        every = [each.predict_log_proba(data) for each in (fitted, weighed, less)]
    return [*every, fitted.leave_one_out(data).probabilities, fitted.log_joint(data)]


@pytest.mark.parametrize(
    "model",
    [
        credo.NaiveBayes(),
        credo.NaiveBayes(estimate="map", smoothing=2.0),
        credo.NaiveBayes(kinds={"x0": "category", "n": "count"}),
        credo.GaussianDiscriminant(),
        credo.GaussianDiscriminant(covariance="tied"),
        credo.TreeAugmented(),
        credo.OneDependence(),
        credo.KDependence(),
    ],
    ids=repr,
)
@pytest.mark.slow
def test_models_are_the_same_to_the_last_bit(model: Any) -> None:
    with forced("plain"):
        expected = answers(model)
    with forced("compiled"):
        found = answers(model)
    for one, other in zip(expected, found, strict=True):
        np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize("columns", [["x0", "x1", "n", "colour"], ["note"]], ids=lambda names: "+".join(names))
def test_what_is_learned_is_the_same_to_the_last_bit(columns: list[str]) -> None:
    data = {name: column for name, column in table(60).items() if name in [*columns, "y"]}
    found = []
    for choice in ("plain", "compiled"):
        with forced(choice):
            model = credo.learn(data, "y")
            found.append((model.report.scores, model.predict_proba(data)))
    assert repr(found[0][0]) == repr(found[1][0])
    np.testing.assert_array_equal(found[0][1], found[1][1])


def test_quantiles_of_betas_are_the_same_to_the_last_bit() -> None:
    """A law of whole tables failed where the kernel was compiled between two of them."""
    rng = np.random.default_rng(0)
    a, b = np.concatenate([rng.integers(1, 12, (2, 300)), np.exp(rng.uniform(np.log(0.5), 12.0, (2, 300)))], axis=1)
    found = []
    for choice in ("plain", "compiled"):
        with forced(choice):
            low, high = np.empty(600), np.empty(600)
            beta_interval_chunk(0.025, a, b, low, high)
            found.append((low, high))
    np.testing.assert_array_equal(found[0], found[1])
    assert np.isfinite(found).all()


@pytest.mark.parametrize("name", ["asia", "storm"])
def test_drawn_rows_are_the_same(name: str) -> None:
    found = []
    for choice in ("plain", "compiled"):
        with forced(choice):
            found.append(credo.Network.example(name).sample(3000, seed=5))
    assert found[0].equals(found[1])


def test_log_gamma_is_the_same_to_the_last_bit() -> None:
    for x in (1e-300, 0.01, 0.5, 1.0, 2.0, 6.999, 7.0, 33.3, 1e10):
        with forced("compiled"):
            compiled = log_gamma(x)
        with forced("plain"):
            assert log_gamma(x) == compiled
        assert compiled == pytest.approx(float(gammaln(x)), rel=1e-14, abs=4e-15)


LATE = ("late_kernel", "late_kernel_of")
DIFFERENT = {"lgamma", "gamma", "erf", "erfc", "pow"}  # of which Python has its own


@pytest.mark.parametrize("path", sorted(Path(credo.__file__).parent.glob("_kernels/*/*.py")), ids=lambda p: p.stem)
def test_late_kernels_use_nothing_that_differs(path: Path) -> None:
    """Powers of floats by whole numbers are products when compiled, and C's pow in Python."""
    for function in (node for node in ast.parse(path.read_text("utf-8")).body if isinstance(node, ast.FunctionDef)):
        names = {getattr(getattr(each, "func", each), "id", "") for each in function.decorator_list}
        if names.isdisjoint(LATE):
            continue
        for node in (node for line in function.body for node in ast.walk(line)):
            assert not (isinstance(node, ast.Attribute) and node.attr in DIFFERENT), (function.name, node.lineno)
            if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Pow):
                fixed = isinstance(node.left, ast.Constant) or not isinstance(node.right, ast.Constant)
                assert fixed, (function.name, node.lineno)


@late_kernel
def halve(x: Any, i: int) -> float:
    half: float = x[i] / 2.0
    return half


@late_kernel
def halve_all(x: Any, out: Any) -> None:
    scratch = np.zeros(1)
    for i in range(len(x)):
        scratch[0] = halve(x, i)
        out[i] += scratch[0]


@pytest.mark.parametrize("choice", ["plain", "compiled"])
def test_kernels_call_kernels(choice: str) -> None:
    out = np.ones(3)
    with forced(choice):
        halve_all(np.arange(3.0), out)
    assert out.tolist() == [1.0, 1.5, 2.0]


def test_what_plain_python_refuses_is_done_by_numba() -> None:
    """A division by 0, after some rows were divided already: these aren't divided again."""
    rows = np.array([[2.0, 2.0], [0.0, 0.0], [1.0, 3.0]])
    with forced("plain"):
        divide_by_total(rows)
    np.testing.assert_array_equal(rows, [[0.5, 0.5], [np.nan, np.nan], [0.25, 0.75]])


def test_arguments_that_are_written_to_are_known() -> None:
    assert plain.places_written(add_moments_hard.function) == {3, 4, 5}
    assert plain.places_written(halve.function) == frozenset()
    assert plain.places_written(halve_all.function) == {0, 1}  # what is handed on may be


def test_a_kernel_is_compiled_once_for_all_forms_of_an_array() -> None:
    x, codes, weight = np.arange(6.0).reshape(3, 2), np.zeros(3, np.int32), np.ones(3)
    still = codes.copy()
    still.flags.writeable = False
    with forced("compiled"):
        add_moments_hard(x, codes, weight, *np.zeros((3, 3, 1, 2)))
        before = len(add_moments_hard.compiled.signatures)  # type: ignore[attr-defined]
        other = np.zeros((3, 3, 1, 2))
        add_moments_hard(np.asfortranarray(x), still, np.ones(6)[::2], *other)
    assert len(add_moments_hard.compiled.signatures) == before  # type: ignore[attr-defined]
    assert other[0, 1].tolist() == [[6.0, 9.0]]


def test_numba_is_loaded_once_that_pays(tmp_path: Path) -> None:
    code = """
import sys
import numpy as np
from credo._kernels.models.shares import divide_by_total
for _ in range(50):
    divide_by_total(np.ones((100, 2)))
assert "numba" not in sys.modules
for _ in range(200):
    divide_by_total(np.ones((5000, 2)))
assert "numba" in sys.modules
"""
    environment = {"NUMBA_CACHE_DIR": str(tmp_path), "PYTHONPATH": ":".join(sys.path)}
    subprocess.run([sys.executable, "-c", code], check=True, env=environment)
