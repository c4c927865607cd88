"""credo.nodes: distributions of a variable given its parents, of which networks are made."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

# Each public name and the module that defines it, loaded at first use.
_PUBLIC = {
    "DefaultTable": "credo.networks.nodes.default_table",
    "Deterministic": "credo.networks.nodes.deterministic",
    "Logistic": "credo.networks.nodes.logistic",
    "LogisticOfNumbers": "credo.networks.nodes.logistic_of_numbers",
    "Normal": "credo.networks.nodes.normal",
    "NoisyAnd": "credo.networks.nodes.noisy_and",
    "NoisyMax": "credo.networks.nodes.noisy_max",
    "NoisyOr": "credo.networks.nodes.noisy_or",
    "Softmax": "credo.networks.nodes.softmax",
    "TreeTable": "credo.networks.nodes.tree_table",
}
__all__ = sorted(_PUBLIC)

if TYPE_CHECKING:
    from credo.networks.nodes.default_table import DefaultTable as DefaultTable
    from credo.networks.nodes.deterministic import Deterministic as Deterministic
    from credo.networks.nodes.logistic import Logistic as Logistic
    from credo.networks.nodes.logistic_of_numbers import LogisticOfNumbers as LogisticOfNumbers
    from credo.networks.nodes.noisy_and import NoisyAnd as NoisyAnd
    from credo.networks.nodes.noisy_max import NoisyMax as NoisyMax
    from credo.networks.nodes.noisy_or import NoisyOr as NoisyOr
    from credo.networks.nodes.normal import Normal as Normal
    from credo.networks.nodes.softmax import Softmax as Softmax
    from credo.networks.nodes.tree_table import TreeTable as TreeTable


def __getattr__(name: str) -> Any:
    if name not in _PUBLIC:
        raise AttributeError(f"module 'credo.nodes' has no attribute {name!r}")
    value = getattr(import_module(_PUBLIC[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return __all__
