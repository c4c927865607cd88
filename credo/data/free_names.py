"""Names for new columns that differ from those of a table."""

from __future__ import annotations

from collections.abc import Collection, Sequence


def free_name(name: str, taken: Collection[str], mark: str = "_") -> str:
    """The name, with a mark appended until it isn't taken.

    >>> free_name("groups", ["x", "groups", "groups_"])
    'groups__'
    """
    while name in taken:
        name += mark
    return name


def free_names(wanted: Sequence[str], taken: Collection[str]) -> list[str]:
    """Names that differ from those taken and from each other, ignoring case.

    >>> free_names(["predicted", "P(a)", "P(A)"], ["Predicted", "x"])
    ['predicted_', 'P(a)', 'P(A)_']
    """
    used, found = {name.lower() for name in taken}, []
    for name in wanted:
        while name.lower() in used:
            name += "_"
        used.add(name.lower())
        found.append(name)
    return found
