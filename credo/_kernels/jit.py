"""Compilation of kernels: late, once, without the interpreter lock, and with a cache if one can be written.

A late kernel is compiled only when that pays. Until then its code runs as plain Python (see credo._kernels.plain), with
the same result to the last bit. The time spent in plain Python is compared with the time to load Numba and to compile
the kernel or fetch it from the cache. So a kernel takes at most about twice the time of the better choice.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache, cached_property, update_wrapper
from hashlib import sha1
from pathlib import Path
from threading import Timer
from time import monotonic
from typing import Any, Generic, ParamSpec, TypeVar

import numpy as np

from credo._kernels import plain

Args = ParamSpec("Args")
Result = TypeVar("Result")

REORDERED = {"reassoc", "contract", "arcp", "nsz"}  # never the flags that assume there is no NaN or infinity
# Costs in steps, of which plain Python takes about two million per second
LOADING = 1_200_000  # of loading Numba
FETCHING = 40_000  # of fetching a kernel from the cache
COMPILING, COMPILING_CODE = 250_000, 1_200  # of compiling a kernel, and of each byte of its code

NOTICE_SECONDS = 1.0  # of compiling, after which users are notified
COMPILING_NOTICE = "credo is compiling kernels, once: the next process finds them in a cache"

watched = {"compiling": 0, "shown": 0}  # kernels being compiled; displays that show it
_spent = {"steps": 0.0}  # in plain Python, by all kernels
_asked = os.environ.get("CREDO_KERNELS", "")
_forced = {"choice": _asked if _asked in ("plain", "compiled") else ""}


def kernel(function: Callable[Args, Result]) -> Callable[Args, Result]:
    """A kernel that is compiled at the first call, with NumPy's rules for 1/0, and cached if a cache can be written."""
    return _compiled(function, fastmath=False)


def fast_kernel(function: Callable[Args, Result]) -> Callable[Args, Result]:
    """A kernel whose sums may be reordered, so that they vectorise."""
    return _compiled(function, fastmath=REORDERED)


def contracting_kernel(function: Callable[Args, Result]) -> Callable[Args, Result]:
    """A kernel that may fuse multiplications and additions, which round once; nothing else is reordered."""
    return _compiled(function, fastmath={"contract"})


def part(function: Callable[Args, Result]) -> Callable[Args, Result]:
    """A part of a kernel, inlined where it is called: a separate kernel would be compiled by itself and again within
    each caller. For functions that are called in one place, or are very short."""
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
        return njit(nogil=True, error_model="numpy", fastmath=fastmath)(function)  # type: ignore[no-any-return]
    _compile_if_stale(compiled._cache)  # type: ignore[attr-defined]
    return compiled


def _compile_if_stale(cache: Any) -> None:
    """Ignore entries of Numba's cache that can't be read.

    Entries name the types of arguments. Another version of the package may lack them, while the kernel's file is the
    same; and a file may be truncated.
    """
    load = cache.load_overload

    def load_overload(*args: Any) -> Any:
        try:
            return load(*args)
        except Exception:  # whatever unpickling raises
            try:
                cache.flush()
            except OSError:
                cache.disable()
            return None

    cache.load_overload = load_overload


@cache
def _watch() -> None:
    """Track from now on whether kernels are being compiled, and notify users who wait for it."""
    from numba.core import event

    class Watch(event.Listener):  # type: ignore[misc]
        def __init__(self) -> None:
            self.taken, self.begun = 0.0, 0.0
            self.timer: Timer | None = None

        def on_start(self, event: Any) -> None:
            watched["compiling"] += 1
            module = event.data["dispatcher"].py_func.__module__ or ""  # functions made by exec have none
            own = module.partition(".")[0] == "credo"
            if watched["compiling"] == 1 and own and self.taken < NOTICE_SECONDS:
                self.begun, self.timer = monotonic(), Timer(NOTICE_SECONDS - self.taken, _tell)
                self.timer.daemon = True
                self.timer.start()

        def on_end(self, _: Any) -> None:
            watched["compiling"] -= 1
            if not watched["compiling"] and self.timer is not None:
                self.timer.cancel()
                self.taken, self.timer = self.taken + monotonic() - self.begun, None

    event.register("numba:compile", Watch())


def _tell() -> None:
    """Notify users at a terminal or in a notebook, unless a progress bar shows it."""
    if not watched["shown"] and (sys.stderr.isatty() or "ipykernel" in sys.modules):
        print(COMPILING_NOTICE, file=sys.stderr)


class Price:
    """The steps of plain Python spent on a kernel, compared with the cost of compiling it.

    The kernel's name is that of its index in Numba's cache.
    """

    def __init__(self, folder: Path, name: str, compiling: float, fetching: float = FETCHING) -> None:
        self._folder, self._name, self._compiling, self._fetching = folder, name, compiling, fetching
        self._spent = 0.0

    def pays(self, steps: float) -> bool:
        """Whether Numba is faster, if this many more steps are needed."""
        if _forced["choice"]:
            return _forced["choice"] == "compiled"
        if self._spent + steps <= self._fetching:
            return False
        price = self._fetching if self._is_cached else self._compiling
        if self._spent + steps <= price:
            return False
        return "numba" in sys.modules or _spent["steps"] + steps > LOADING + price

    def spend(self, steps: float) -> None:
        self._spent += steps
        _spent["steps"] += steps

    @cached_property
    def _is_cached(self) -> bool:
        return any(each.startswith(self._name) for each in _cached(self._folder))


@cache
def _cached(folder: Path) -> list[str]:
    """The indices of a folder's kernels in Numba's cache."""
    below = f"{folder.name}_{sha1(str(folder).encode(), usedforsecurity=False).hexdigest()}"  # Numba's name
    homes = [folder / "__pycache__", Path.home() / ".cache" / "numba" / below]
    if "NUMBA_CACHE_DIR" in os.environ:
        homes = [Path(os.environ["NUMBA_CACHE_DIR"]) / below]
    return [each.name for home in homes for each in home.glob("*.nbi")]


class Late(Generic[Args, Result]):
    """A kernel that is compiled when that pays. Other kernels may call it in either state."""

    def __init__(self, function: Callable[Args, Result], steps: Callable[..., float]) -> None:
        update_wrapper(self, function)
        self.function = function
        self._steps = steps
        self._ready = False

    def __call__(self, *args: Args.args, **kwargs: Args.kwargs) -> Result:
        if not self._ready or _forced["choice"]:
            steps = self._steps(*args)
            if not self._price.pays(steps):
                try:
                    result: Result = plain.run(self._over_views, args, self._written)
                except plain.RefusedError:
                    pass
                else:
                    self._price.spend(steps)
                    return result
        compiled = self.compiled(*map(self._alike, range(len(args)), args), **kwargs)
        self._ready = True
        return compiled

    @property
    def is_ready(self) -> bool:
        """Whether it is compiled, or must be: for callers that prefer NumPy to plain Python."""
        return self._ready if not _forced["choice"] else _forced["choice"] == "compiled"

    def __reduce__(self) -> str:
        return self.function.__qualname__

    @cached_property
    def _price(self) -> Price:
        code = self.function.__code__
        name = f"{self.function.__module__.rpartition('.')[2]}.{self.function.__qualname__}-{code.co_firstlineno}.py"
        return Price(Path(code.co_filename).parent, name, COMPILING + COMPILING_CODE * len(code.co_code))

    @cached_property
    def compiled(self) -> Callable[Args, Result]:
        """The kernel compiled by Numba, which is loaded now."""
        return kernel(self.function)

    @property
    def _numba_type_(self) -> Any:
        """The type that other kernels see."""
        return self.compiled._numba_type_  # type: ignore[attr-defined]

    @cached_property
    def _written(self) -> frozenset[int]:
        return plain.places_written(self.function)

    @cached_property
    def _over_views(self) -> Callable[..., Any]:
        return plain.over_views(self.function)

    def _alike(self, place: int, value: Any) -> Any:
        """The argument as a contiguous, writeable array, since a kernel is compiled for each layout."""
        if not isinstance(value, np.ndarray) or place in self._written:
            return value
        flags = value.flags
        return value if flags.c_contiguous and flags.writeable else value.copy(order="C")


def late_kernel(function: Callable[Args, Result]) -> Late[Args, Result]:
    """A kernel that is compiled when that pays. Plain Python takes at most one step for each cell of the first array;
    otherwise use `late_kernel_of`."""
    return Late(function, lambda first, *_: getattr(first, "size", FETCHING))


def late_kernel_of(steps: Callable[..., float]) -> Callable[[Callable[Args, Result]], Late[Args, Result]]:
    """A late kernel whose steps in plain Python are a function of its arguments."""
    return lambda function: Late(function, steps)


def at_once(late: Late[Args, Result]) -> Callable[Args, Result]:
    """The compiled form of a late kernel, with Numba loaded now: it saves a microsecond per call."""
    return late.compiled


@contextmanager
def forced(choice: str) -> Iterator[None]:
    """Run all late kernels in "plain" Python, or all "compiled", as CREDO_KERNELS does for a process."""
    before = _forced["choice"]
    _forced["choice"] = choice
    try:
        yield
    finally:
        _forced["choice"] = before
