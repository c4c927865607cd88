"""The schema of a stored class: its name and version in files, its fields there, and how to read earlier versions.

A schema is written out by hand, so that a class can be moved, and its Python fields renamed, without a change of the
files. Whoever changes the written form adds an upgrade: a function from the fields of the last version to those of the
next. The version is 1 + the number of upgrades, so all files that were ever written stay readable.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from importlib import import_module
from typing import Any, NamedTuple

from credo.core.records import with_fields
from credo.storage.field_types import FieldType, class_at

Values = dict[str, Any]  # a stored object's fields, by their names in the file


class Moved(NamedTuple):
    """The result of an upgrade that changes the object's class."""

    stored: Stored
    values: Values


@dataclass(frozen=True)
class Stored:
    """How objects of one class are written to files and read back.

    `attributes` and `arguments` name the Python attribute and the constructor's argument where they differ from the
    field's name in files. Mappings for the same argument are merged.
    """

    name: str
    place: str  # "module:Class", imported when a file holds one
    fields: Mapping[str, FieldType]
    attributes: Mapping[str, str] = field(default_factory=dict)
    arguments: Mapping[str, str] = field(default_factory=dict)
    learned: tuple[str, ...] = ()  # fields that the constructor doesn't take
    with_learned: Callable[..., Any] = with_fields  # sets these, by their Python names
    upgrades: tuple[Callable[[Values], Values | Moved], ...] = ()  # from version 1 to 2, from 2 to 3, ...
    consistent: Callable[[Any], bool] = lambda _: True  # whether an object's fields are consistent

    @property
    def version(self) -> int:
        return 1 + len(self.upgrades)

    @property
    def type(self) -> FieldType:
        """The type of a field with such an object."""
        return class_at(self.place)

    def values(self, made: object) -> Values:
        """The values that are written for an object."""
        return {name: getattr(made, self._attribute(name)) for name in self.fields}

    def check(self, made: object) -> None:
        """Raise an error if an object's fields have wrong types or contradict each other."""
        for name, value in self.values(made).items():
            if not self.fields[name].fits(value):
                raise ValueError(f"{self.name}.{name} should be {self.fields[name].name}, but is a {described(value)}")
        if not self.consistent(made):
            raise ValueError(f"the parts of {self.name} are inconsistent")

    def built(self, version: int, values: Values) -> Any:
        """The object, built by its class's own constructor, so that all its checks apply."""
        current = self._upgraded(version, values)
        if isinstance(current, Moved):
            return current.stored.built(current.stored.version, current.values)
        values = current
        if values.keys() != self.fields.keys():
            wanted, found = (", ".join(names) for names in (self.fields, values))
            raise ValueError(f"the fields of {self.name} should be {wanted}, but are {found}")
        given: Values = {}
        for name in (name for name in self.fields if name not in self.learned):
            argument = self.arguments.get(name, self._attribute(name))
            given[argument] = {**given[argument], **values[name]} if argument in given else values[name]
        made = self.kind(**given)
        if self.learned:
            made = self.with_learned(made, **{self._attribute(name): values[name] for name in self.learned})
        self.check(made)
        return made

    def _attribute(self, name: str) -> str:
        return self.attributes.get(name, name)

    def _upgraded(self, version: int, values: Values) -> Values | Moved:
        if version > self.version:
            raise ValueError(
                f"it holds version {version} of {self.name}, written by a newer credo; "
                f"this one reads up to version {self.version}: upgrade it"
            )
        for number, upgrade in enumerate(self.upgrades[version - 1 :], version):
            try:
                found = upgrade(values)
            except KeyError as error:
                raise ValueError(f"version {number} of {self.name} should have a field {error}") from None
            if isinstance(found, Moved):
                return found
            values = found
        return values

    @property
    def kind(self) -> Any:
        module, _, attribute = self.place.partition(":")
        return getattr(import_module(module), attribute)


def described(value: object) -> str:
    return f"{type(value).__qualname__} {getattr(value, 'dtype', '')}".strip()
