"""Import blocking for the command line, which reads files without pandas."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from importlib.abc import MetaPathFinder
from types import ModuleType


class WithoutPandas(MetaPathFinder):
    """An import hook that hides pandas, for a process without DataFrames.

    Arrow would import it, taking a fifth of a second, only to check that a list isn't a Series.
    """

    def find_spec(self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None) -> None:  # noqa: ARG002
        if fullname == "pandas":
            raise ModuleNotFoundError("the command line doesn't use pandas", name=fullname)


def without_pandas() -> None:
    """Hide pandas from now on, unless it is already imported."""
    if "pandas" not in sys.modules:
        sys.meta_path.insert(0, WithoutPandas())


def with_pandas() -> None:
    """Allow pandas again, for an engine that needs it."""
    sys.meta_path[:] = [finder for finder in sys.meta_path if not isinstance(finder, WithoutPandas)]
