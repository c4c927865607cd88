"""Answers of queries: exact probabilities, or estimates with standard errors."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from credo.core.records import Shown
from credo.errors import SizeError, counted
from credo.networks.inference.sizes import EXACT, is_exact, needed
from credo.notices import tell
from credo.numerics.exact import Array

if TYPE_CHECKING:
    from credo.networks.inference.estimate import Estimate, Total
    from credo.networks.inference.findings import Findings

Posterior = dict[Any, float]
Result = TypeVar("Result")
UNRELIABLE_MARK = " (unreliable)"


class Estimated(dict[Any, float]):
    """An estimated posterior: the method, each probability's standard error, and the effective sample size."""

    method: str
    standard_error: dict[Any, float]
    effective_samples: float
    reliable: bool = True  # whether the standard errors are reliable
    spread: Callable[[Array], float] = staticmethod(lambda _: float("nan"))  # set in answers; copies lose it

    def total(self, x: Sequence[float]) -> EstimatedNumber:
        """Σ x·P with its standard error, for one number x per probability."""
        numbers = np.asarray(x, dtype=np.float64)
        found = float(numbers @ np.array([*self.values()]))
        return EstimatedNumber(found, self.spread(numbers), self.effective_samples, self.method, self.reliable)

    def __repr__(self) -> str:
        each = ((key, EstimatedNumber(p, self.standard_error[key], 0.0, "")) for key, p in self.items())
        return f"{{{', '.join(f'{key!r}: {p!r}' for key, p in each)}}}{'' if self.reliable else UNRELIABLE_MARK}"

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in self.__dict__.items() if name != "spread"}  # functions can't be pickled


class EstimatedNumber(float):
    """An estimated number: the method, its standard error, and the effective sample size.

    >>> EstimatedNumber(0.2314, 0.0042, 10_000.0, "gibbs")
    0.231 ± 0.004
    """

    standard_error: float
    effective_samples: float
    method: str
    reliable: bool  # whether the standard error is reliable

    def __new__(
        cls, value: float, error: float, effective: float, method: str, reliable: bool = True
    ) -> EstimatedNumber:
        found = super().__new__(cls, value)
        found.standard_error, found.effective_samples, found.method = error, effective, method
        found.reliable = reliable
        return found

    def __getnewargs__(self) -> tuple[float, float, float, str, bool]:  # type: ignore[override]
        return float(self), self.standard_error, self.effective_samples, self.method, self.reliable

    def __repr__(self) -> str:
        return self._shown() if self.reliable else self._shown() + UNRELIABLE_MARK

    def _shown(self) -> str:
        if np.isnan(self.standard_error):
            return f"about {float(self):.3g}"
        if not 0.0 < self.standard_error < np.inf:
            return float.__repr__(self)
        digits = max(0, -int(np.floor(np.log10(self.standard_error))))
        if digits > 6:
            return f"{float(self):.3g} ± {self.standard_error:.1g}"
        return f"{float(self):.{digits}f} ± {self.standard_error:.{digits}f}"

    __str__ = __repr__


class Marginals(Shown, Mapping[str, Posterior]):
    """{name: {state: probability}}, each computed at its first use."""

    def __init__(self, places: Mapping[str, tuple[tuple[object, ...], slice]], values: Array) -> None:
        self._places, self._array = places, values

    @cached_property
    def _values(self) -> list[float]:
        found: list[float] = self._array.tolist()
        return found

    def __getitem__(self, name: str) -> Posterior:
        states, place = self._places[name]
        return dict(zip(states, self._values[place]))  # noqa: B905 - as long by construction

    def __iter__(self) -> Iterator[str]:
        return iter(self._places)

    def __len__(self) -> int:
        return len(self._places)

    def __repr__(self) -> str:
        return repr(dict(self))


class MostProbable(Shown, dict[str, Any]):
    """{name: state}; log_joint is log P(states, evidence). Where the method isn't "exact", these are the best states
    found."""

    log_joint: float
    method: str = "exact"


def as_posterior(keys: Sequence[object], found: Estimate) -> Posterior:
    pairs = zip(keys, found.table.reshape(-1).tolist(), strict=True)
    if found.method == EXACT:
        return dict(pairs)
    estimated = Estimated(pairs)
    estimated.method, estimated.effective_samples, estimated.spread = found.method, found.effective, found.spread
    estimated.reliable = found.reliable
    estimated.standard_error = dict(zip(keys, found.error.reshape(-1).tolist(), strict=True))
    return estimated


def as_number(found: Estimate) -> float:
    if found.method == EXACT:
        return float(found.table)
    return EstimatedNumber(float(found.table), float(found.error), found.effective, found.method, found.reliable)


def as_log_total(found: Total, findings: Findings) -> float:
    value = found.log_value + findings.log_scale
    if found.method == EXACT:
        return value
    return EstimatedNumber(value, found.error, found.effective, found.method, found.reliable)


def exact_or_estimated(method: str, exact: Callable[[], Result], in_parts: Callable[[], Result]) -> Result:
    """The exact answer. If it doesn't fit in memory, connected components are answered one by one, and estimated where
    the method allows it."""
    if not is_exact(method):
        found = in_parts()
        if doubt := reliability_notice(found):
            tell(doubt)
        return found
    try:
        return exact()
    except SizeError as error:
        found = in_parts()
        if how := estimate_notice(found):
            tell(f"{needed(error)}: {'; '.join(filter(None, (how, reliability_notice(found))))}")
        return found


def estimate_notice(answer: object) -> str:
    """The notice for an estimated answer; empty for an exact one."""
    if isinstance(answer, MostProbable):
        if answer.method == EXACT and not isinstance(answer.log_joint, EstimatedNumber):
            return ""
        return "searched for by annealing instead; these are the best states found, and others may be more probable"
    if isinstance(answer, Estimated | EstimatedNumber):
        return f"estimated by {answer.method}, with standard errors"
    guesses = _guesses(answer) if isinstance(answer, Mapping) else []
    if not isinstance(answer, Mapping) or not guesses:
        return ""
    some = f"{len(guesses)} of {counted(len(answer), 'variable')} " if len(guesses) < len(answer) else ""
    return f"{some}estimated by {guesses[0].method}, with standard errors"


def reliability_notice(answer: object) -> str:
    """The notice for an unreliable answer; empty for others."""
    from credo.networks.inference.estimate import UNRELIABLE

    if isinstance(answer, MostProbable):
        return reliability_notice(answer.log_joint)
    if isinstance(answer, Estimated | EstimatedNumber):
        return "" if answer.reliable else UNRELIABLE
    lost = [each for each in _guesses(answer) if not each.reliable] if isinstance(answer, Mapping) else []
    return f"{counted(len(lost), 'variable')} {UNRELIABLE}" if lost else ""


def _guesses(answer: Mapping[Any, object]) -> list[Estimated]:
    if isinstance(answer, Marginals):
        return []
    return [each for each in answer.values() if isinstance(each, Estimated)]
