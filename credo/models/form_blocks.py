"""The blocks of a classifier: columns in the forms that it reads, and how they are counted."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
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
    joint = _gaussian_blocks(views) + _cell_blocks(views, cuts or {}, tree, families)
    return _column_blocks(views) + _requested_blocks(views, asked or {}) + joint


def _in_form(views: Views, form: str) -> tuple[str, ...]:
    return tuple(name for name, forms in views.items() if form in forms)


def _column_blocks(views: Views) -> list[tuple[str, Block]]:
    """The blocks of columns that are independent given the class and need no settings."""
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
    return [(form, block(names)) for form, block in kinds.items() if (names := _in_form(views, form))]


def _requested_blocks(views: Views, asked: Mapping[str, object]) -> list[tuple[str, Block]]:
    """The blocks of single words, of conjugate families and of texts, each column with its own settings."""
    found: list[tuple[str, Block]] = [
        (form, how.block(name)) for name, (form, *_) in views.items() if isinstance(how := asked.get(name), Word)
    ]
    found += [
        (form, ConjugateColumn((name,), how))
        for name, (form, *_) in views.items()
        if form == "conjugate" and isinstance(how := asked.get(name), Family)
    ]
    for name, forms in views.items():
        how = asked.get(name)
        text = how if isinstance(how, Text) else Text()
        found += [(form, text.block(name, form)) for form in forms if form in TEXT_FORMS]
    return found


def _gaussian_blocks(views: Views) -> list[tuple[str, Block]]:
    """Joint Gaussians of one-hot features."""
    found: list[tuple[str, Block]] = []
    for covariance in GAUSSIAN_FORMS:
        if names := _in_form(views, covariance):
            categories = frozenset(name for name in names if "category" in views[name])
            found.append((covariance, OneHotGaussian(names, categories, covariance)))
    return found


def _cell_blocks(
    views: Views, cuts: Cuts, tree: Mapping[str, str] | None, families: FamilySettings | None
) -> list[tuple[str, Block]]:
    """Columns counted together: pairs, and columns with several parents."""
    found: list[tuple[str, Block]] = [
        (reading, Dependence(names, _own_cuts(views, names, cuts), reading, tree))
        for reading in PAIR_FORMS
        if (names := _in_form(views, reading))
    ]
    if families is not None and (names := _in_form(views, FAMILY_FORM)):
        found.append((FAMILY_FORM, Families(names, _own_cuts(views, names, cuts), *families)))
    return found


def _own_cuts(views: Views, names: Sequence[str], cuts: Cuts) -> Cuts:
    return {name: cuts[name] for name in names if "category" not in views[name]}


def with_covariance(blocks: list[tuple[str, Block]], covariance: Covariance) -> list[tuple[str, Block]]:
    """The blocks with all number columns in one Gaussian of that covariance; "diagonal" keeps them independent."""
    if covariance == "diagonal":
        return blocks
    together = Spherical if covariance == "spherical" else partial(Joint, covariance=covariance)
    return [(form, together(block.names) if form == "gaussian" else block) for form, block in blocks]
