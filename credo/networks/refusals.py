"""Verbs that a kind of network doesn't support: the error says why, and what to use instead."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, ClassVar, NoReturn

from credo.errors import UnsupportedError


class Refusals:
    """The verbs that a kind of network doesn't support, each with its explanation. `dir` and `hasattr` don't show
    them."""

    _refused: ClassVar[Mapping[str, str]] = {}

    def _refuse(self, name: str) -> NoReturn:
        for kind in type(self).__mro__:
            if name in vars(kind).get("_refused", {}):
                raise UnsupportedError(f"{type(self).__name__} has no {name}: {vars(kind)['_refused'][name]}")
        raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}", name=name, obj=self)

    if not TYPE_CHECKING:  # a type checker reports unknown names itself

        def __getattr__(self, name: str) -> Any:
            self._refuse(name)


def refused(reasons: Mapping[str, str]) -> dict[str, str]:
    """{verb: reason}, from {"several verbs": reason}.

    >>> refused({"fit update": "its factors are given"})
    {'fit': 'its factors are given', 'update': 'its factors are given'}
    """
    return {verb: reason for verbs, reason in reasons.items() for verb in verbs.split()}


class Unlearned(Refusals):
    """A network with given numbers, which doesn't learn from rows."""

    _refused: ClassVar[Mapping[str, str]] = refused({
        "fit update forget discount merge cross_validate leave_one_out belief": "its numbers are given, and it learns "
        "from no rows; credo.Network(arrows).fit(data) learns tables",
    })  # fmt: skip

    def __add__(self, other: object) -> NoReturn:
        raise UnsupportedError(
            f"{type(self).__name__} has no evidence that could be added up: its numbers are given; the evidence of two "
            "credo.Network that were fitted adds"
        )
