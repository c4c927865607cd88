"""How kernels are compiled: late, once, without the interpreter lock, from a cache where one can be written."""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import cache, wraps
from typing import ParamSpec, TypeVar

import numpy as np

Args = ParamSpec("Args")
Result = TypeVar("Result")

SMALL = 4096  # cells that plain Python walks through sooner than Numba can be loaded (about 0.7 s)


def kernel(function: Callable[Args, Result]) -> Callable[Args, Result]:
    """Compile at the first call, with NumPy's rules for 1/0; a cache that can't be written is done without."""
    from numba import njit

    compiled: Callable[Args, Result]
    try:
        compiled = njit(cache=True, nogil=True, error_model="numpy")(function)
    except RuntimeError:  # Numba: "no locator available", as in a read-only install
        compiled = njit(nogil=True, error_model="numpy")(function)
    return compiled


def late_kernel(function: Callable[Args, Result]) -> Callable[Args, Result]:
    """A kernel that needs no Numba for a small first argument: the same code runs as plain Python.

    Both give the same bits, since nothing is reordered or contracted. It can't be called from another kernel.
    """
    compiled = cache(lambda: kernel(function))

    @wraps(function)
    def call(*args: Args.args, **kwargs: Args.kwargs) -> Result:
        if getattr(args[0], "size", SMALL) < SMALL and "numba" not in sys.modules:
            with np.errstate(all="ignore"):
                return function(*args, **kwargs)
        return compiled()(*args, **kwargs)

    return call
