"""Scores and searches by the names that users give them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from importlib import import_module
from typing import Any, cast

from credo.errors import NetworkError, suggest
from credo.networks.structure.category_families import K2, BDs
from credo.networks.structure.category_scores import MDL, QNML, BDeuScore, aic, bic
from credo.networks.structure.counting import Countable
from credo.networks.structure.number_scores import BGe, GaussianBIC, Measured
from credo.networks.structure.score import Score, StructureSearch

WITH_PRIOR: Mapping[str, Callable[[Countable, float], Score]] = {"bdeu": BDeuScore, "bds": BDs}
OF_CATEGORIES: Mapping[str, Callable[[Countable], Score]] = {
    "k2": K2, "bic": bic, "aic": aic, "mdl": MDL, "qnml": QNML,
}  # fmt: skip
FOR_CATEGORIES = (*WITH_PRIOR, *OF_CATEGORIES)
FOR_NUMBERS = ("bge", "bic")
MIXED = "conditional-gaussian"
SCORES = (*FOR_CATEGORIES, "bge", MIXED)
NOT_SCORE_EQUIVALENT = ("bds", "k2")  # scores that differ between Markov-equivalent graphs
OVER_CLASSES = ("ges",)  # searches over Markov equivalence classes
SEARCHES = {  # the location of each, loaded at first use
    "auto": "credo.networks.structure.default_search:default_search",
    "boss": "credo.networks.structure.boss:boss",
    "hill-climbing": "credo.networks.structure.climbing:hill_climbing",
    "tabu": "credo.networks.structure.climbing:tabu",
    "iterated": "credo.networks.structure.climbing:iterated",
    "k2": "credo.networks.structure.k2_search:k2_search",
    "exact": "credo.networks.structure.exact:exact_search",
    "ges": "credo.networks.structure.ges:greedy_equivalence_search",
    "pc": "credo.networks.structure.pc:PC",
    "chow-liu": "credo.networks.structure.chow_liu:chow_liu_search",
    "tan": "credo.networks.structure.chow_liu:tan_search",
}


def search_of(given: str | StructureSearch, options: Mapping[str, Any]) -> StructureSearch:
    """A search by name, or a given function, with its options."""
    if isinstance(given, str):
        if given not in SEARCHES:
            raise NetworkError(f"there is no search {given!r:.60}; {suggest(given, SEARCHES)}")
        module, _, name = SEARCHES[given].partition(":")
        found: Any = getattr(import_module(module), name)
        known = _options(found)
        for unknown in (option for option in options if option not in known):
            raise NetworkError(f"search={given!r} has no option {unknown!r}; {suggest(unknown, known)}")
        if given == "tan" and "target" not in options:
            raise NetworkError('search="tan" needs a target, the class that all other columns depend on: target="..."')
        if isinstance(found, type):
            return cast(StructureSearch, found(**options))
    elif callable(given):
        found = given
    else:
        raise NetworkError(f"search must be a name or a function, but is {given!r:.60}")
    return partial(found, **options) if options else found


def _options(search: StructureSearch) -> list[str]:
    from inspect import Parameter, signature

    return [name for name, each in signature(search).parameters.items() if each.kind is Parameter.KEYWORD_ONLY]


def category_score(name: str, table: Countable, equivalent: float) -> Score:
    return WITH_PRIOR[name](table, equivalent) if name in WITH_PRIOR else OF_CATEGORIES[name](table)


def number_score(name: str, table: Measured, equivalent: float) -> Score:
    return BGe(table, equivalent) if name == "bge" else GaussianBIC(table)
