"""What is worked out when it is first asked for, and kept."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Generic, TypeVar, overload

Result = TypeVar("Result")


class lazy(Generic[Result]):  # noqa: N801 - a decorator
    """functools.cached_property without its lock, by which Python 3.11 lets all instances wait for one.

    Two threads that ask one instance at once work it out twice, and get the same.
    """

    def __init__(self, function: Callable[[Any], Result]) -> None:
        self.function, self.name, self.__doc__ = function, function.__name__, function.__doc__

    @overload
    def __get__(self, instance: None, owner: type) -> lazy[Result]: ...
    @overload
    def __get__(self, instance: object, owner: type) -> Result: ...
    def __get__(self, instance: object | None, owner: type) -> Any:
        if instance is None:
            return self
        found = instance.__dict__[self.name] = self.function(instance)
        return found
