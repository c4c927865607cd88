"""credo.Hypotheses: a finite set of hypotheses with a prior, and their posterior."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from credo.core.description import DescriptionLength, bits
from credo.core.records import Shown, with_fields
from credo.errors import DataError, EvidenceError, PriorError, check_seed, counted, suggest
from credo.models.votes import SUMS_TO_1, Prediction, Votes, tally, vote_of
from credo.numerics.exact import Array, Exact

if TYPE_CHECKING:
    import pyarrow as pa

Likelihood = Mapping[Any, float] | ArrayLike | Callable[..., Any]  # P(d | h) of every hypothesis

PRINTED_HYPOTHESES = 5  # in a repr


@dataclass(frozen=True, eq=False, init=False, repr=False)
class Hypotheses(Shown):
    """P(h | D) = P(D | h) P(h) / Σ P(D | h′) P(h′)

    A test finds 98% of the cancers, and 3% of healthy people test positive.

    >>> people = Hypotheses({"cancer": 0.008, "healthy": 0.992})
    >>> tested = people.update({"cancer": 0.98, "healthy": 0.03})
    >>> round(tested.posterior["cancer"], 4), tested.most_probable()
    (0.2085, 'healthy')

    A NumPy array of hypotheses is handed to a likelihood function whole, so that a million of them take no loop.
    """

    _internal: ClassVar[tuple[str, ...]] = ("evidence", "impossible")

    hypotheses: Sequence[Any] | NDArray[Any]
    prior: Array  # (hypotheses,)
    n: int = field(init=False, default=0)  # data learned
    evidence: Exact = field(init=False)  # Σ log P(d | h) over data that are possible under h; it adds. (hypotheses,)
    impossible: NDArray[np.int64] = field(init=False)  # the number of data that are impossible under h. (hypotheses,)

    def __init__(
        self, hypotheses: Mapping[Any, float] | Iterable[object], prior: Mapping[Any, float] | ArrayLike | None = None
    ) -> None:
        if isinstance(hypotheses, Mapping):
            if prior is not None:
                raise PriorError("the prior is given twice: with the hypotheses, and as prior=")
            prior, hypotheses = [*hypotheses.values()], [*hypotheses]
        names = hypotheses if isinstance(hypotheses, np.ndarray) else tuple(hypotheses)
        if not len(names):
            raise PriorError("there are no hypotheses")
        _check_different(names)
        set_ = object.__setattr__
        set_(self, "hypotheses", names)
        set_(self, "prior", _prior(names, prior))
        set_(self, "n", 0)
        set_(self, "evidence", Exact.zeros(len(names)))
        set_(self, "impossible", np.zeros(len(names), dtype=np.int64))

    # Learning

    def update(self, likelihood: Likelihood, data: Iterable[object] | None = None) -> Hypotheses:
        """Multiply by P(d | h): {hypothesis: probability}, numbers in the order of the hypotheses, or a function of
        (datum, hypothesis), with the data."""
        return self._with(*self._summed(likelihood, data), 1)

    def forget(self, likelihood: Likelihood, data: Iterable[object] | None = None) -> Hypotheses:
        """Unlearn data."""
        return self._with(*self._summed(likelihood, data), -1)

    def __add__(self, other: Hypotheses) -> Hypotheses:
        """The posterior after the data of both; the prior counts once."""
        if not np.array_equal(_as_array(self.hypotheses), _as_array(other.hypotheses)):
            raise EvidenceError("the two have different hypotheses and can't be merged")
        if not np.array_equal(self.prior, other.prior):
            raise EvidenceError("the two have different priors and can't be merged")
        return self._with(other.n, other.evidence, other.impossible, 1)

    def _with(self, n: int, evidence: Exact, impossible: NDArray[np.int64], sign: int) -> Hypotheses:
        new = with_fields(
            self,
            n=self.n + sign * n,
            evidence=self.evidence + evidence if sign > 0 else self.evidence - evidence,
            impossible=self.impossible + sign * impossible,
        )
        if new.n < 0 or (new.impossible < 0).any() or (new.impossible > new.n).any():
            raise EvidenceError("these data weren't learned: they can't be forgotten")
        if not ((new.impossible == 0) & (self.prior > 0)).any():
            raise EvidenceError("the data are impossible: every hypothesis gives them the probability 0")
        return new

    def _summed(self, likelihood: Likelihood, data: Iterable[object] | None) -> tuple[int, Exact, NDArray[np.int64]]:
        """The number of data, Σ log P(d | h), and the number of data that are impossible under h."""
        n, logs, zeros = 0, Exact.zeros(len(self.prior)), np.zeros(len(self.prior), dtype=np.int64)
        for each in self._likelihoods(likelihood, data):
            impossible = each == 0.0
            logs = logs + Exact.of(np.log(np.where(impossible, 1.0, each)))
            zeros += impossible
            n += 1
        return n, logs, zeros

    def _likelihoods(self, likelihood: Likelihood, data: Iterable[object] | None) -> Iterable[Array]:
        """P(d | h) of each datum. (hypotheses,) each"""
        if not callable(likelihood):
            if data is not None:
                raise DataError("data go with a function of (datum, hypothesis); the likelihoods are numbers already")
            return [self._checked(likelihood)]
        if data is None:
            raise DataError("a likelihood function needs data: update(function, data)")
        return (self._checked(self._called(likelihood, datum)) for datum in data)

    def _called(self, function: Callable[..., Any], datum: object) -> Any:
        if isinstance(self.hypotheses, np.ndarray):
            return np.broadcast_to(np.asarray(function(datum, self.hypotheses), dtype=np.float64), self.prior.shape)
        return [function(datum, each) for each in self.hypotheses]

    def _checked(self, likelihood: object) -> Array:
        if isinstance(likelihood, Mapping):
            likelihood = _in_order(likelihood, self.hypotheses, "likelihood", DataError)
        try:
            found = np.asarray(likelihood, dtype=np.float64)
        except (TypeError, ValueError):
            raise DataError(f"likelihoods must be numbers, but are {likelihood!r:.60}") from None
        if found.shape != self.prior.shape:
            raise DataError(
                f"there must be a likelihood for each of {counted(len(self.prior), 'hypothesis')}, "
                f"but the shape is {found.shape}"
            )
        wrong = np.flatnonzero(~((found >= 0) & np.isfinite(found)))
        if len(wrong):
            raise DataError(
                f"a likelihood must be a number of at least 0, but that of {self.hypotheses[wrong[0]]!r:.60} "
                f"is {found[wrong[0]]:g}"
            )
        return found

    # The posterior

    @cached_property
    def log_likelihood(self) -> Array:
        """log P(D | h). (hypotheses,)"""
        return np.where(self.impossible > 0, -np.inf, self.evidence.value)

    @cached_property
    def _log_joint(self) -> Array:
        with np.errstate(divide="ignore"):
            return np.asarray(np.log(self.prior) + self.log_likelihood)

    def log_evidence(self) -> float:
        """log P(D) = log Σ P(D | h) P(h): the theorem of total probability."""
        return float(np.logaddexp.reduce(self._log_joint))

    @cached_property
    def probabilities(self) -> Array:
        """P(h | D), in the order of the hypotheses."""
        return np.asarray(np.exp(self._log_joint - self.log_evidence()))

    @property
    def posterior(self) -> dict[Any, float]:
        """{hypothesis: P(h | D)}"""
        return dict(zip(_as_list(self.hypotheses), self.probabilities.tolist(), strict=True))

    def most_probable(self) -> Any:
        """The MAP hypothesis (brute force); the first if tied."""
        return self.hypotheses[int(self._log_joint.argmax())]

    def maximum_likelihood(self) -> Any:
        """The maximum-likelihood hypothesis; the first if tied."""
        if not self.n:
            raise EvidenceError("nothing was learned yet: without data, no hypothesis is the most likely one")
        return self.hypotheses[int(self.log_likelihood.argmax())]

    def probability(self, predicate: Callable[[Any], bool]) -> float:
        """P(predicate | D): the sum over the hypotheses for which it holds.

        >>> round(Hypotheses(range(1, 7)).probability(lambda h: h % 2 == 0), 6)
        0.5
        """
        if isinstance(self.hypotheses, np.ndarray):
            holds = np.broadcast_to(np.asarray(predicate(self.hypotheses), dtype=bool), self.prior.shape)
        else:
            holds = np.array([bool(predicate(each)) for each in self.hypotheses])
        return float(self.probabilities[holds].sum())

    def total_probability(self, likelihood: Likelihood) -> float:
        """P(d | D) = Σ P(d | h) P(h | D): the predictive probability of the next datum.

        >>> people = Hypotheses({"cancer": 0.008, "healthy": 0.992})
        >>> round(people.total_probability({"cancer": 0.98, "healthy": 0.03}), 4)
        0.0376
        """
        if callable(likelihood):
            raise DataError("give the likelihoods of one datum: numbers, or {hypothesis: probability}")
        return float(self._checked(likelihood) @ self.probabilities)

    def description_length(self, data: Any = None, likelihood: Callable[..., Any] | None = None) -> DescriptionLength:
        """−log₂ P(h) − log₂ P(D | h), for the MAP hypothesis h, which has the shortest description; D are the learned
        data and those given.

        >>> tested = Hypotheses({"cancer": 0.008, "healthy": 0.992}).update({"cancer": 0.98, "healthy": 0.03})
        >>> round(tested.description_length().total, 4)  # −log₂ (0.992 · 0.03)
        5.0705
        """
        if data is not None:
            space = self.update(data) if likelihood is None else self.update(likelihood, data)
            return space.description_length()
        best = int(self._log_joint.argmax())
        given = bits(float(self.log_likelihood[best]))
        return DescriptionLength("the observations", bits(float(np.log(self.prior[best]))), 0.0, given, self.n)

    # Predictions

    def classify(self, votes: Votes) -> Prediction:
        """The Bayes-optimal classifier: P(v | D) = Σ P(v | h) P(h | D), over the hypotheses' predictions.

        Votes are {hypothesis: value}, or {hypothesis: {value: P(v | h)}}, values in the order of the hypotheses, or a
        function of a hypothesis.

        >>> three = Hypotheses({"h1": 0.4, "h2": 0.3, "h3": 0.3})
        >>> found = three.classify({"h1": "+", "h2": "-", "h3": "-"})
        >>> found.best, round(found["-"], 6)
        ('-', 0.6)
        """
        return tally(votes, self.hypotheses, self.probabilities)

    def gibbs(self, votes: Votes, seed: int = 0) -> Any:
        """The Gibbs classifier: draw one hypothesis from the posterior, and predict as it does. If targets are drawn
        from the prior, its expected error is at most twice that of the Bayes-optimal classifier."""
        drawn = np.random.default_rng(check_seed(seed)).choice(len(self.prior), p=self.probabilities)
        return vote_of(votes, self.hypotheses, int(drawn)).best

    def evolution(self, data: Iterable[Any], likelihood: Callable[..., Any] | None = None) -> Evolution:
        """The posterior after each datum: data are likelihoods, or arguments of a likelihood function."""
        steps = [self]
        for datum in data:
            last = steps[-1]
            steps.append(last.update(datum) if likelihood is None else last.update(likelihood, [datum]))
        return Evolution(self.hypotheses, np.array([step.probabilities for step in steps]))

    def plot(self) -> Any:
        """Bars of the prior and of the posterior."""
        from credo.present.hypotheses_plot import plot_evolution

        known = self.prior if self.n == 0 else np.array([self.prior, self.probabilities])
        return plot_evolution(Evolution(self.hypotheses, np.atleast_2d(known)), ("prior", "posterior"))

    def __len__(self) -> int:
        return len(self.prior)

    def __getitem__(self, hypothesis: object) -> float:
        """P(h | D)"""
        try:
            return float(self.probabilities[_as_list(self.hypotheses).index(hypothesis)])
        except ValueError:
            known = suggest(hypothesis, _as_list(self.hypotheses)[:1000])
            raise DataError(f"there is no hypothesis {hypothesis!r:.60}; {known}") from None

    def __repr__(self) -> str:
        order = np.argsort(-self.probabilities, kind="stable")[:PRINTED_HYPOTHESES]
        lines = [f"  {self.hypotheses[i]!s:.60}: {self.probabilities[i]:.4g}" for i in order]
        more = [f"  ... {len(self) - PRINTED_HYPOTHESES} more"] if len(self) > PRINTED_HYPOTHESES else []
        return "\n".join([f"{counted(len(self), 'hypothesis')}, after {counted(self.n, 'observation')}", *lines, *more])


@dataclass(frozen=True, eq=False)
class Evolution(Shown):
    """The posterior before any datum, and after each."""

    hypotheses: Sequence[Any] | NDArray[Any]
    probabilities: Array  # (data + 1, hypotheses)

    def __getitem__(self, n: int) -> dict[Any, float]:
        """The posterior after n data."""
        return dict(zip(_as_list(self.hypotheses), self.probabilities[n].tolist(), strict=True))

    def __len__(self) -> int:
        return len(self.probabilities)

    def table(self) -> pa.Table:
        """A row for each number of data, a column for each hypothesis, as an Arrow table."""
        import pyarrow as pa

        columns = {str(each): p for each, p in zip(_as_list(self.hypotheses), self.probabilities.T, strict=True)}
        return pa.table({"data": np.arange(len(self))} | columns)

    def plot(self) -> Any:
        """Bars of the posterior, one panel for each number of data."""
        from credo.present.hypotheses_plot import plot_evolution

        return plot_evolution(self)


def _prior(names: Sequence[object] | NDArray[Any], given: object) -> Array:
    if given is None:
        return np.full(len(names), 1.0 / len(names))
    if isinstance(given, Mapping):
        given = _in_order(given, names, "prior", PriorError)
    found = np.asarray(given, dtype=np.float64)
    if found.shape != (len(names),):
        raise PriorError(f"there are {counted(len(names), 'hypothesis')}, but the prior has the shape {found.shape}")
    wrong = np.flatnonzero(~((found >= 0) & (found <= 1 + SUMS_TO_1)))
    if len(wrong):
        raise PriorError(f"a prior must be between 0 and 1, but that of {names[wrong[0]]!r:.60} is {found[wrong[0]]:g}")
    total = float(found.sum())
    if abs(total - 1) > SUMS_TO_1:
        how = ": divide it by its sum" if total > 0 else ""
        raise PriorError(f"the prior must sum to 1, but sums to {total:.6g}{how}")
    return found / total


def _in_order(given: Mapping[Any, float], names: object, what: str, error: type[Exception]) -> list[float]:
    known = _as_list(names)
    different = {*known}
    unknown = [each for each in given if each not in different]
    if unknown:
        raise error(f"a {what} is given for {unknown[0]!r:.60}, which isn't a hypothesis; {suggest(unknown[0], known)}")
    for each in known:
        if each not in given:
            raise error(f"there is no {what} for {each!r:.60}: give one for each hypothesis")
    return [given[each] for each in known]


def _check_different(names: Any) -> None:
    if isinstance(names, np.ndarray):
        ordered = np.sort(names) if names.ndim == 1 else names[:0]  # sorting is faster than np.unique's hashing
        if (ordered[1:] == ordered[:-1]).any():
            raise PriorError("two hypotheses are the same")
        return
    try:
        different = len({*names})
    except TypeError:
        raise PriorError("hypotheses must be hashable, such as names, numbers or tuples") from None
    if different < len(names):
        twice = next(each for each, times in Counter(names).items() if times > 1)
        raise PriorError(f"the hypothesis {twice!r:.60} is given twice")


def _as_list(names: Any) -> list[Any]:
    found: list[Any] = names.tolist() if isinstance(names, np.ndarray) else [*names]
    return [tuple(each) for each in found] if isinstance(names, np.ndarray) and names.ndim > 1 else found


def _as_array(names: Any) -> NDArray[Any]:
    if isinstance(names, np.ndarray):
        return names
    found = np.empty(len(names), dtype=object)
    found[:] = names
    return found
