"""Kernels as plain Python, without Numba: the same code over memory views instead of arrays.

An element of an array is a NumPy scalar, which is slow; one of a memory view is a Python number, in a third of the
time. They differ in one way: Python raises an error for a division by 0, where NumPy and Numba give ±∞ or NaN. So the
arrays that a kernel writes to are copied, and restored after an error: then Numba runs the kernel.
"""

from __future__ import annotations

import ast
import inspect
from collections.abc import Callable, Sequence
from linecache import getlines
from textwrap import dedent
from types import CodeType, FunctionType
from typing import Any

import numpy as np

VIEWED_TYPES = "?bBhHiIlLqQfd"  # types whose elements memory views support
MOST_WRITTEN = 1 << 20  # elements of written arrays, above which copying them takes longer than compiling


class RefusedError(Exception):
    """Plain Python can't run the kernel; all arrays are restored."""


class _Views:
    """NumPy for kernels in plain Python: new arrays are memory views."""

    def __getattr__(self, name: str) -> Any:
        return getattr(np, name)

    def zeros(self, *args: Any, **kwargs: Any) -> Any:
        return _viewed(np.zeros(*args, **kwargs))

    def empty(self, *args: Any, **kwargs: Any) -> Any:
        return _viewed(np.empty(*args, **kwargs))

    def full(self, *args: Any, **kwargs: Any) -> Any:
        return _viewed(np.full(*args, **kwargs))


VIEWS = _Views()


def over_views(function: Callable[..., Any]) -> Callable[..., Any]:
    """The function with memory views instead of new arrays, in the kernels that it calls, too."""
    names: dict[str, Any] = {name: function.__globals__.get(name) for name in function.__code__.co_names}
    changed = {name: VIEWS for name, value in names.items() if value is np}
    called = {name: over_views(inspect.unwrap(value)) for name, value in names.items() if hasattr(value, "__wrapped__")}
    return FunctionType(function.__code__, {**function.__globals__, **changed, **called}, function.__name__)


def places_written(function: Callable[..., Any]) -> frozenset[int]:
    """The arguments that a function may write to: those whose elements it assigns, or that it passes on."""
    (body,) = ast.parse(_source(function.__code__)).body
    names = function.__code__.co_varnames[: function.__code__.co_argcount]
    found: set[str] = set()
    for node in ast.walk(body):
        if isinstance(node, ast.Subscript) and isinstance(node.ctx, ast.Store) and isinstance(node.value, ast.Name):
            found.add(node.value.id)
        elif isinstance(node, ast.Call) and not (isinstance(node.func, ast.Name) and node.func.id in ("len", "range")):
            found.update(each.id for each in node.args if isinstance(each, ast.Name))
    return frozenset(place for place, name in enumerate(names) if name in found)


def _source(code: CodeType) -> str:
    """The source of a function, faster than `inspect.getsource`."""
    last = max(end for _, end, _, _ in code.co_positions() if end is not None)
    return dedent("".join(getlines(code.co_filename)[code.co_firstlineno - 1 : last]))


def run(function: Callable[..., Any], args: Sequence[Any], written: frozenset[int]) -> Any:
    """The result of a function over views."""
    outputs = [args[place] for place in written if isinstance(args[place], np.ndarray)]
    if sum(each.size for each in outputs) > MOST_WRITTEN:
        raise RefusedError
    before = [each.copy() for each in outputs]
    try:
        with np.errstate(all="ignore"):
            return function(*map(_viewed, args))
    except (ArithmeticError, ValueError) as error:
        for each, old in zip(outputs, before, strict=True):
            each[...] = old
        raise RefusedError from error


def _viewed(value: Any) -> Any:
    if (
        isinstance(value, np.ndarray)
        and value.dtype.char in VIEWED_TYPES
        and value.dtype.isnative
        and value.flags.aligned
    ):
        return memoryview(value)  # type: ignore[arg-type]
    return value.item() if isinstance(value, np.generic) else value
