"""credo.nodes: distributions of a variable given its parents, of which networks are made."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

# Each public name and the module that defines it, loaded at first use.
_PUBLIC = {
    "LogisticOfNumbers": "credo.networks.nodes.logistic_of_numbers",
    "Normal": "credo.networks.nodes.normal",
    "NoisyAnd": "credo.networks.nodes.noisy_and",
    "NoisyMax": "credo.networks.nodes.noisy_max",
    "NoisyOr": "credo.networks.nodes.noisy_or",
    "Table": "credo.networks.nodes.table",
}
__all__ = sorted(_PUBLIC)

if TYPE_CHECKING:
    from credo.networks.nodes.logistic_of_numbers import LogisticOfNumbers as LogisticOfNumbers
    from credo.networks.nodes.normal import Normal as Normal
    from credo.networks.nodes.noisy_and import NoisyAnd as NoisyAnd
    from credo.networks.nodes.noisy_max import NoisyMax as NoisyMax
    from credo.networks.nodes.noisy_or import NoisyOr as NoisyOr
    from credo.networks.nodes.table import Table as Table


def __getattr__(name: str) -> Any:
    if name not in _PUBLIC:
        raise AttributeError(f"module 'credo.nodes' has no attribute {name!r}")
    value = getattr(import_module(_PUBLIC[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return __all__
