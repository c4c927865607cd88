"""The blocks of a classifier: columns in the forms that it reads, and how they are counted."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any, NamedTuple

from credo.blocks.block import Block
from credo.blocks.calendar import Calendar
from credo.blocks.categories import Categories
from credo.blocks.conjugate import ConjugateColumn
from credo.blocks.counts import CountColumns
from credo.blocks.dependence.cells import Cuts
from credo.blocks.dependence.families import Families, Parents
from credo.blocks.dependence.pairs import Dependence
from credo.blocks.dependence.parents import Chooser
from credo.blocks.numbers.binned import Binned
from credo.blocks.numbers.gaussian import Joint
from credo.blocks.numbers.independent import Numbers
from credo.blocks.numbers.spherical import Spherical
from credo.blocks.one_hot import OneHotGaussian
from credo.families.family import Family
from credo.families.normal_inverse_wishart import Covariance
from credo.models.forms import CALENDAR_FORMS, FAMILY_FORM, GAUSSIAN_FORMS, PAIR_FORMS, TEXT_FORMS, Text, Views, Word


class FamilySettings(NamedTuple):
    """The parents of columns; the columns independent of the class; and the choice that is repeated when rows are held
    out."""

    parents: Parents
    free: frozenset[str] = frozenset()
    chooser: Chooser | None = None


def blocks_of(
    views: Views, asked: Mapping[str, object] | None, cuts: Cuts | None = None, tree: Mapping[str, str] | None = None,
    families: FamilySettings | None = None,
) -> list[tuple[str, Block]]:  # fmt: skip
    """A block for each form, with all columns read in it; texts have a block per column.

    A column in several forms is in several blocks: tuning weights them. `cuts` are the cut points of binned numbers,
    `tree` the given parent of each column, `families` the columns with several parents.
    """
    kinds: dict[str, Any] = {
        "category": Categories,
        "count": CountColumns,
        "gaussian": Numbers,
        "log": lambda names: Numbers(names, True, frozenset(name for name in names if views[name][0] == "log")),
        "binned": Binned,
        "coarse": lambda names: Binned(names, coarse=True),
        "date": lambda names: Numbers(names, dates=True),
        **{part: partial(Calendar, part=part) for part in CALENDAR_FORMS},
    }
    found: list[tuple[str, Block]] = []
    for form, block in kinds.items():
        names = tuple(name for name, forms in views.items() if form in forms)
        if names:
            found.append((form, block(names)))
    found += [
        (form, how.block(name))
        for name, (form, *_) in views.items()
        if isinstance(how := (asked or {}).get(name), Word)
    ]
    found += [
        (form, ConjugateColumn((name,), how))
        for name, (form, *_) in views.items()
        if form == "conjugate" and isinstance(how := (asked or {}).get(name), Family)
    ]
    for name, forms in views.items():
        texts = [form for form in forms if form in TEXT_FORMS]
        if texts:
            how = (asked or {}).get(name)
            text = how if isinstance(how, Text) else Text()
            found += [(form, text.block(name, form)) for form in texts]
    for covariance in GAUSSIAN_FORMS:
        names = tuple(name for name, forms in views.items() if covariance in forms)
        if names:
            categories = frozenset(name for name in names if "category" in views[name])
            found.append((covariance, OneHotGaussian(names, categories, covariance)))
    for reading in PAIR_FORMS:
        names = tuple(name for name, forms in views.items() if reading in forms)
        if names:
            own = {name: (cuts or {})[name] for name in names if "category" not in views[name]}
            found.append((reading, Dependence(names, own, reading, tree)))
    names = tuple(name for name, forms in views.items() if FAMILY_FORM in forms)
    if names and families is not None:
        own = {name: (cuts or {})[name] for name in names if "category" not in views[name]}
        found.append((FAMILY_FORM, Families(names, own, *families)))
    return found


def with_covariance(blocks: list[tuple[str, Block]], covariance: Covariance) -> list[tuple[str, Block]]:
    """The blocks with all number columns in one Gaussian of that covariance; "diagonal" keeps them independent."""
    if covariance == "diagonal":
        return blocks
    together = Spherical if covariance == "spherical" else partial(Joint, covariance=covariance)
    return [(form, together(block.names) if form == "gaussian" else block) for form, block in blocks]
