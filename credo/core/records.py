"""Models as frozen dataclasses: replacing fields, and the names that users see."""

from __future__ import annotations

from dataclasses import fields
from typing import TYPE_CHECKING, ClassVar, TypeVar

if TYPE_CHECKING:
    from credo.explorer.serving import Explorer

Record = TypeVar("Record")


class Shown:
    """Displayed in a notebook as tables, with the same contents as on the terminal.

    `dir` lists what users call, without `_internal`: the names that only other rooms of the package use.
    """

    _internal: ClassVar[tuple[str, ...]] = ()

    def __dir__(self) -> list[str]:
        hidden = {name for kind in type(self).__mro__ for name in vars(kind).get("_internal", ())}
        return sorted(set(super().__dir__()) - hidden)

    def _repr_html_(self) -> str:
        from credo.present.models import in_notebook

        return in_notebook(self)


class Surface(Shown):
    """A model with a page of its own in the explorer."""

    def explore(self, data: object = None) -> Explorer:
        """A page about it, optionally with rows: a notebook displays it, and `start()` serves it to a browser."""
        from credo.explorer.serving import explore

        return explore(self, data=data)


def with_fields(record: Record, **values: object) -> Record:
    """The record with some fields replaced, also those with init=False, which dataclasses.replace refuses.

    Cached properties aren't copied.
    """
    new = object.__new__(type(record))
    for each in fields(record):  # type: ignore[arg-type]
        object.__setattr__(new, each.name, values[each.name] if each.name in values else getattr(record, each.name))
    return new
