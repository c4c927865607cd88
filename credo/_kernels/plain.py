"""Kernels as plain Python, without Numba: the same code, over memory views instead of arrays.

An element of an array comes as one of NumPy's scalars, which are slow; one of a memory view as Python's own number,
in a third of the time. These differ in one thing: Python refuses to divide by 0, where NumPy and Numba give ±∞ or NaN.
So what a kernel writes to is kept until it is done, and put back if it is refused: then Numba has to do it.
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

NUMBERS = "?bBhHiIlLqQfd"  # types of which memory views know the elements
MOST_WRITTEN = 1 << 20  # elements of an array that is written to, above which keeping it costs more than is saved


class RefusedError(Exception):
    """Plain Python can't: all is as it was before."""


class _Views:
    """NumPy, as kernels see it: what it makes are memory views."""

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
    """The function, with memory views where it and the kernels that it calls make arrays."""
    names: dict[str, Any] = {name: function.__globals__.get(name) for name in function.__code__.co_names}
    changed = {name: VIEWS for name, value in names.items() if value is np}
    called = {name: over_views(inspect.unwrap(value)) for name, value in names.items() if hasattr(value, "__wrapped__")}
    return FunctionType(function.__code__, {**function.__globals__, **changed, **called}, function.__name__)


def places_written(function: Callable[..., Any]) -> frozenset[int]:
    """Which of its arguments a function may write to: those it assigns elements of, or hands on."""
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
    """As `inspect.getsource` has it, which takes longer to find where a function ends."""
    last = max(end for _, end, _, _ in code.co_positions() if end is not None)
    return dedent("".join(getlines(code.co_filename)[code.co_firstlineno - 1 : last]))


def run(function: Callable[..., Any], args: Sequence[Any], written: frozenset[int]) -> Any:
    """What a function over views returns."""
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
    if isinstance(value, np.ndarray) and value.dtype.char in NUMBERS and value.dtype.isnative and value.flags.aligned:
        return memoryview(value)  # type: ignore[arg-type]
    return value.item() if isinstance(value, np.generic) else value
