"""Read-only mappings: what is derived from them stays valid."""

from __future__ import annotations

from typing import Any, NoReturn, TypeVar

Key = TypeVar("Key")
Value = TypeVar("Value")


class Fixed(dict[Key, Value]):
    """A dict that refuses to be changed.

    >>> Fixed(a=1)["b"] = 2
    Traceback (most recent call last):
        ...
    TypeError: this mapping can't be changed: make a new object from a copy of it
    """

    def _refuse(self, *_: Any, **__: Any) -> NoReturn:
        raise TypeError("this mapping can't be changed: make a new object from a copy of it")

    __setitem__ = __delitem__ = __ior__ = _refuse
    clear = pop = popitem = setdefault = update = _refuse

    def __reduce__(self) -> tuple[Any, ...]:
        return Fixed, (dict(self),)

    def __copy__(self) -> Fixed[Key, Value]:
        return self
