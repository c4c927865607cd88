"""Read-only mappings and records: values derived from them stay valid."""

from __future__ import annotations

from dataclasses import dataclass, fields
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

    def _refuse(self, *_: object, **__: object) -> NoReturn:
        raise TypeError("this mapping can't be changed: make a new object from a copy of it")

    __setitem__ = __delitem__ = __ior__ = _refuse
    clear = pop = popitem = setdefault = update = _refuse

    def __reduce__(self) -> tuple[Any, ...]:
        return Fixed, (dict(self),)

    def __copy__(self) -> Fixed[Key, Value]:
        return self


@dataclass(frozen=True, eq=False, init=False, repr=False)
class FixedRecord:
    """A frozen dataclass whose constructor isn't the generated one."""

    def _set(self, *values: object) -> None:
        """Set all fields, in order."""
        for field, value in zip(fields(self), values, strict=True):
            object.__setattr__(self, field.name, Fixed(value) if type(value) is dict else value)

    def __getstate__(self) -> dict[str, Any]:
        """The fields alone: derived values, such as compiled trees, are large and hold locks."""
        return {field.name: getattr(self, field.name) for field in fields(self)}
