"""The interface of a conjugate pair. Hyperparameters are arrays that broadcast over groups."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, fields
from functools import partial
from inspect import signature
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Protocol, Self, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from credo.core.membership import Membership
from credo.core.records import Shown
from credo.core.statistics import Statistics
from credo.errors import EvidenceError, PriorError
from credo.numerics.distributions import Distribution, Seed, shown
from credo.numerics.exact import Array

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from credo.core.validation import Validation
    from credo.estimation.belief import Belief

Rule = Literal["given", "default", "empirical"]  # the origin of a prior's hyperparameters
Reads = Literal["truth", "category", "count", "positive", "number", "numbers", "counts"]


@runtime_checkable
class HasFamily(Protocol):
    """A model whose prior is a family, such as credo.LinearRegression(0, 1, 1, 1)."""

    @property
    def as_family(self) -> Family: ...


@dataclass(frozen=True, eq=False, repr=False)
class Family(Shown, ABC):
    """A prior over the parameters of a likelihood: prior + statistics = posterior, in the same family.

    Parameters, which `mode`, `maximum_likelihood` and `sample` return and `log_density` takes, are an array or, for
    several, a named tuple.
    """

    reads: ClassVar[Reads]  # the kind of a column's cells
    has_target: ClassVar[bool] = False  # whether it is a distribution of one column given the others
    parameters: ClassVar[Callable[..., Any] | None] = None  # the named tuple of several parameters
    reference: ClassVar[Mapping[str, float]] = {}  # hyperparameters of the improper reference prior, if it is allowed
    predictive: ClassVar[Callable[..., Any]]  # the distribution of the next observation

    @abstractmethod
    def statistics(self, x: Any, member: Membership) -> Statistics:
        """The sufficient statistics of the observations."""

    @abstractmethod
    def posterior(self, statistics: Any) -> Self:
        """The posterior, prior + statistics."""

    @abstractmethod
    def log_evidence(self, statistics: Any) -> Array:
        """log p(observations), with the parameters integrated out. (groups,)"""

    @abstractmethod
    def marginals(self) -> tuple[Distribution, ...]:
        """The marginal distribution of each parameter."""

    @abstractmethod
    def mode(self) -> Any:
        """The most probable parameters (MAP), jointly."""

    @abstractmethod
    def maximum_likelihood(self, statistics: Any) -> Any:
        """The maximum likelihood estimate; NaN for groups without observations."""

    @abstractmethod
    def log_density(self, x: Any, parameters: Any) -> Array:
        """log p(xᵢ | parameters of group k). (rows, groups)"""

    @abstractmethod
    def log_prior(self, parameters: Any) -> Array:
        """log p(parameters of group k), up to a constant. (groups,)"""

    def log_predictive(self, x: Any) -> Array:
        """log p(xᵢ | group k), with the parameters integrated out. (rows, groups)"""
        return np.asarray(self.predictive().log_prob(np.asarray(x)[:, None]))

    def mean(self) -> Any:
        return self._packed(marginal.mean() for marginal in self.marginals())

    def variance(self) -> Any:
        return self._packed(marginal.variance() for marginal in self.marginals())

    def interval(self, mass: float = 0.95) -> Any:
        """The equal-tailed interval of each parameter."""
        return self._packed(marginal.interval(mass) for marginal in self.marginals())

    def highest_density(self, mass: float = 0.95) -> Any:
        """The highest-density interval of each parameter."""
        return self._packed(marginal.highest_density(mass) for marginal in self.marginals())

    def sample(self, size: int, seed: Seed = None) -> Any:
        """Draws of the parameters."""
        (marginal,) = self.marginals()
        return marginal.sample(size, seed)

    def _packed(self, values: Iterable[object]) -> Any:
        values = tuple(values)
        return values[0] if self.parameters is None else self.parameters(*values)

    @property
    def width(self) -> int | None:
        """The number of columns of a joint family, if its prior fixes it."""
        return None

    def components(self, columns: tuple[str, ...]) -> tuple[str, ...]:
        """The names of a vector parameter's entries, for a family that reads these columns."""
        return columns

    def group(self, k: int) -> Self:
        """One group's hyperparameters."""
        return type(self)(*(_of_group(getattr(self, field.name), k) for field in fields(self)))

    def update(self, data: object, **how: Any) -> Belief:
        """The belief after observations or a mapping {value: count}: see Belief.update."""
        return self.belief().update(data, **how)

    def cross_validate(self, data: object, folds: int = 10, **how: Any) -> Validation:
        """The log-probability of each fold under this prior, updated with the others: see Belief.cross_validate."""
        return self.belief().cross_validate(data, folds, **how)

    def belief(self) -> Belief:
        """This prior as a belief without observations."""
        from credo.estimation.belief import Belief

        return Belief(self)

    def plot(self) -> Figure:
        """The prior, and the predictive of the first observation."""
        return self.belief().plot()

    def _require(self, name: str, value: object, domain: Callable[[Array], Any], expected: str) -> None:
        """Set a field to an array of floats; refuse values outside its domain."""
        try:
            array = np.asarray(value, dtype=np.float64)
        except (TypeError, ValueError):
            raise PriorError(f"{type(self).__name__}: {name} must be {expected}, but is {value!r}") from None
        wrong = ~(np.isfinite(array) & domain(array))
        if wrong.any():
            raise PriorError(f"{type(self).__name__}: {name} must be {expected}, but is {array[wrong].flat[0]:g}")
        object.__setattr__(self, name, array)

    def _require_positive(self, *names: str) -> None:
        """Set fields to arrays of positive floats; the reference prior's values are allowed, too."""
        for name in names:
            limit = self.reference.get(name, np.nan)
            self._require(name, getattr(self, name), partial(_positive_or, limit), "positive")
        improper = self.improper
        for name, limit in self.reference.items():
            if (limit <= 0) and ((getattr(self, name) == limit) & ~improper).any():
                raise PriorError(f"{type(self).__name__}: {name} must be positive, but is {limit:g}")

    @property
    def improper(self) -> NDArray[np.bool_]:
        """Whether a group has the reference prior, which is improper without observations. (groups,)"""
        limits = [getattr(self, name) == limit for name, limit in self.reference.items()]
        return np.asarray(np.logical_and.reduce(np.broadcast_arrays(*limits)) if limits else False)

    def _require_proper(self) -> None:
        if self.improper.any():
            raise EvidenceError(
                f"{self} is the reference prior, which is improper: it has no mean, interval or evidence. "
                "Update it first, or give a proper prior"
            )

    def __eq__(self, other: object) -> bool:
        """Whether both are the same family with the same hyperparameters."""
        names = [field.name for field in fields(self)]
        return type(self) is type(other) and all(np.array_equal(getattr(self, n), getattr(other, n)) for n in names)

    def __hash__(self) -> int:
        return hash(repr(self))

    def __repr__(self) -> str:
        names = signature(type(self)).parameters
        values = (getattr(self, field.name) for field in fields(self))
        pairs = (f"{name}={shown(value)}" for name, value in zip(names, values, strict=True) if value is not None)
        return f"{type(self).__name__}({', '.join(pairs)})"


def _positive_or(limit: float, x: Array) -> NDArray[np.bool_]:
    return np.asarray((x > 0) | (x == limit))


def _of_group(value: object, k: int) -> Any:
    return value[k] if isinstance(value, np.ndarray) and value.ndim else value
