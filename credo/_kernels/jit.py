"""How kernels are compiled: late, once, without the interpreter lock, from a cache where one can be written."""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable
from functools import cache, wraps
from typing import Any, ParamSpec, TypeVar

import numpy as np

Args = ParamSpec("Args")
Result = TypeVar("Result")

SMALL = 4096  # cells that plain Python walks through sooner than Numba can be loaded (about 0.7 s)
REORDERED = {"reassoc", "contract", "arcp", "nsz"}  # never the flags that assume there is no NaN or infinity
PATIENCE = 16 * SMALL  # cells in all, after which it is loaded for the least of them

_walked = 0
watched = {"compiling": 0}  # how many kernels are, at this moment


def kernel(function: Callable[Args, Result]) -> Callable[Args, Result]:
    """Compile at the first call, with NumPy's rules for 1/0; a cache that can't be written is done without."""
    return _compiled(function, fastmath=False)


def fast_kernel(function: Callable[Args, Result]) -> Callable[Args, Result]:
    """A kernel whose sums may be added in another order, several at a time."""
    return _compiled(function, fastmath=REORDERED)


def part(function: Callable[Args, Result]) -> Callable[Args, Result]:
    """A piece of the kernel that calls it, compiled as if it stood there: a kernel of its own takes longer, being
    compiled alone and then once more within each that calls it. For what is called in one place, or is very short."""
    from numba import njit

    compiled: Callable[Args, Result] = njit(inline="always", nogil=True, error_model="numpy")(function)
    return compiled


def _compiled(function: Callable[Args, Result], fastmath: Any) -> Callable[Args, Result]:
    from numba import njit

    _watch()
    compiled: Callable[Args, Result]
    try:
        compiled = njit(cache=True, nogil=True, error_model="numpy", fastmath=fastmath)(function)
    except RuntimeError:  # Numba: "no locator available", as in a read-only install
        compiled = njit(nogil=True, error_model="numpy", fastmath=fastmath)(function)
    return compiled


@cache
def _watch() -> None:
    """Know from now on whether something is being compiled."""
    from numba.core import event

    class Watch(event.Listener):  # type: ignore[misc]
        def on_start(self, _: Any) -> None:
            watched["compiling"] += 1

        def on_end(self, _: Any) -> None:
            watched["compiling"] -= 1

    event.register("numba:compile", Watch())


def late_kernel(function: Callable[Args, Result]) -> Callable[Args, Result]:
    """A kernel that needs no Numba for little work: the same code runs as plain Python.

    Both give the same bits, since nothing is reordered or contracted. It can't be called from another kernel. How much
    work there is, is told by the first array; that of several passes over it by `late_kernel_of`.
    """
    return late_kernel_of(lambda first, *_: getattr(first, "size", SMALL))(function)


def late_kernel_of(
    work: Callable[..., int],
) -> Callable[[Callable[Args, Result]], Callable[Args, Result]]:
    """A late kernel whose work is told by a function of its arguments."""

    def late(function: Callable[Args, Result]) -> Callable[Args, Result]:
        compiled = cache(lambda: kernel(function))

        @wraps(function)
        def call(*args: Args.args, **kwargs: Args.kwargs) -> Result:
            if "numba" not in sys.modules and _little(work(*args)):
                with np.errstate(all="ignore"):
                    return function(*args, **kwargs)
            return compiled()(*args, **kwargs)

        return call

    return late


def _little(cells: int) -> bool:
    """Whether there is so little work, with all that was done before, that loading Numba wouldn't pay."""
    global _walked
    if cells >= SMALL or _walked + cells > PATIENCE:
        return False
    _walked += cells
    return True


def at_once(late: Callable[Args, Result]) -> Callable[Args, Result]:
    """What a late kernel compiles to, Numba being loaded now: a microsecond less a call."""
    return kernel(inspect.unwrap(late))
