"""What a process of the command line needn't import: files are read without pandas."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from importlib.abc import MetaPathFinder
from types import ModuleType


class WithoutPandas(MetaPathFinder):
    """Pandas isn't there, for a process that never has a DataFrame.

    Arrow imports it, which takes a fifth of a second, only to find that a list is no Series.
    """

    def find_spec(self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None) -> None:  # noqa: ARG002
        if fullname == "pandas":
            raise ModuleNotFoundError("the command line doesn't use pandas", name=fullname)


def without_pandas() -> None:
    """From now on, and unless it is imported already."""
    if "pandas" not in sys.modules:
        sys.meta_path.insert(0, WithoutPandas())


def with_pandas() -> None:
    """For an engine that insists on it."""
    sys.meta_path[:] = [finder for finder in sys.meta_path if not isinstance(finder, WithoutPandas)]
