"""Numba's cache: entries of another version of the package are compiled again, quietly."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

KERNEL = """
from credo._kernels.jit import kernel

@kernel
def total(pair):
    return pair[0] + pair[1]
"""
TYPES = "from typing import NamedTuple\n\nclass {0}(NamedTuple):\n    a: int\n    b: int\n"
CALL = "import shapes, summing; print(summing.total(shapes.{0}(1, 2)), summing.total.stats.cache_hits)"


def called(folder: Path, name: str) -> str:
    """What a fresh process says, if the type of the kernel's argument has this name."""
    (folder / "shapes.py").write_text(TYPES.format(name))
    path = os.pathsep.join([str(folder), str(Path(__file__).parents[1])])
    env = {**os.environ, "PYTHONPATH": path, "NUMBA_CACHE_DIR": str(folder / "cache"), "PYTHONDONTWRITEBYTECODE": "1"}
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", CALL.format(name)], env=env, capture_output=True, text=True, check=False
    )
    assert done.stderr == ""
    return done.stdout.strip().replace("Counter", "")


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["renamed", "cut off"])
def test_a_stale_entry_is_compiled_again(tmp_path: Path, kind: str) -> None:
    (tmp_path / "summing.py").write_text(KERNEL)
    assert called(tmp_path, "Pair") == "3 ()"
    assert called(tmp_path, "Pair").endswith("1})")  # from the cache
    (index,) = (tmp_path / "cache").rglob("*.nbi")
    if kind == "cut off":
        index.write_bytes(index.read_bytes()[:-20])
    name = "Duo" if kind == "renamed" else "Pair"
    assert called(tmp_path, name) == "3 ()"
    assert called(tmp_path, name).endswith("1})")


def test_what_kernels_cost_is_looked_up_where_they_are_cached() -> None:
    """Numba's cache lies beside the file of a kernel: a compiled one is cheap to fetch."""
    from credo.data import words
    from credo.networks.structure import counting

    for price in (words._price, counting.PRICE):
        module = price._name.partition(".")[0]
        assert (price._folder / f"{module}.py").is_file()


def test_functions_without_a_module_are_compiled() -> None:
    """As those that other packages make by exec: what watches credo's kernels being compiled sees them, too."""
    from numba import njit

    import credo._kernels.core.cut_products  # noqa: F401

    made: dict[str, Callable[[int], int]] = {}
    exec("def twice(x):\n    return 2 * x", {"__builtins__": {}}, made)
    assert njit(made["twice"])(4) == 8
