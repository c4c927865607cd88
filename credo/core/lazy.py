"""Attributes that are computed when they are first read, and kept."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Generic, TypeVar, overload

Result = TypeVar("Result")


class lazy(Generic[Result]):  # noqa: N801 - a decorator
    """functools.cached_property without its lock, which all instances share in Python 3.11.

    Two threads that read it at the same time compute the same value twice.
    """

    name: str

    def __init__(self, function: Callable[[Any], Result]) -> None:
        self.function, self.__doc__ = function, function.__doc__

    def __set_name__(self, owner: type, name: str) -> None:
        self.name = name

    @overload
    def __get__(self, instance: None, owner: type) -> lazy[Result]: ...
    @overload
    def __get__(self, instance: object, owner: type) -> Result: ...
    def __get__(self, instance: object | None, owner: type) -> Any:
        if instance is None:
            return self
        found = instance.__dict__[self.name] = self.function(instance)
        return found
