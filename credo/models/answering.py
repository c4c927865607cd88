"""Questions that every network answers, with arrows or without."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from functools import cached_property, partial
from itertools import product
from typing import TYPE_CHECKING, Any, ClassVar, Literal, get_args

import numpy as np

from credo.errors import EvidenceError, NetworkError, SchemaError, SizeError, suggest
from credo.exact import Array
from credo.factor import Factor
from credo.models.conditional import States
from credo.notices import tell

if TYPE_CHECKING:
    from credo.inference.estimates import Estimate
    from credo.inference.findings import Findings, Given
    from credo.inference.potentials import Potentials
    from credo.inference.trees import Trees
    from credo.inference.whole import Whole
    from credo.models.moved import Moved

Posterior = dict[Any, float]
Method = Literal["auto", "exact", "likelihood-weighting", "gibbs", "forward", "loopy"]
SAMPLES = 100_000
ROUNDS, TINY = 1000, 1e-150  # of fitting beliefs in turn; a number that is as good as 0


class Estimated(dict[Any, float]):
    """A posterior that was estimated: how, how far off each probability is likely to be (one standard error), and how
    many independent samples would be as good."""

    method: str
    standard_error: dict[Any, float]
    effective_samples: float


class Marginals(Mapping[str, Posterior]):
    """{name: {state: probability}}; each is made when it is looked at."""

    def __init__(self, places: Mapping[str, tuple[tuple[Any, ...], slice]], values: Array) -> None:
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


class MostProbable(dict[str, Any]):
    """{name: state}; log_joint is the logarithm of the probability of these states together with the evidence."""

    log_joint: float


class Answering:
    """P(all) ∝ ∏ factors, and what follows from it."""

    states: States
    directed: ClassVar[bool]

    if TYPE_CHECKING:  # a field of one kind of network, derived in the other

        @property
        def factors(self) -> tuple[Factor, ...]:
            """What is multiplied."""

    @property
    def variables(self) -> tuple[str, ...]:
        return tuple(self.states)

    @cached_property
    def potentials(self) -> Potentials:
        """The factors, as kernels read them."""
        from credo.inference.potentials import Potentials

        return Potentials.of(self.states, self.factors, self.directed)

    @cached_property
    def exact(self) -> Whole | Trees:
        """Exact inference: in one table where that is small, else in trees."""
        from credo.inference.whole import Whole, is_small

        return Whole(self.potentials) if is_small(self.potentials) else self.trees

    @cached_property
    def trees(self) -> Trees:
        from credo.inference.trees import Trees

        return Trees(self.potentials)

    # Probabilities

    def query(
        self,
        variables: str | Sequence[str],
        given: Given = None,
        *,
        method: Method = "auto",
        samples: int = SAMPLES,
        seed: int = 0,
    ) -> Posterior:
        """{state: probability} of a variable; of several, {(state, state, ...): probability}.

        `given` holds what is known: {name: state}, {name: [states, one of which it is]}, or {name: {state: how likely
        what was seen is in that state}}. "exact" refuses what doesn't fit in memory; "auto" then samples, and says so.
        """
        from credo.inference.sizes import check_table

        if not isinstance(variables, Collection):
            raise SchemaError(f"a query is about a name, or a list of names, not about {variables!r}")
        names = [variables] if isinstance(variables, str) else list(variables)
        if not names or len(set(names)) < len(names):
            raise SchemaError(
                f"a query must name variables, each once, but names {', '.join(map(str, names)) or 'none'}"
            )
        findings, numbers = self._findings(given), [self._number(name) for name in names]
        check_table([len(self.states[name]) for name in names])
        keys = self.states[names[0]] if isinstance(variables, str) else [*product(*(self.states[n] for n in names))]
        if _is_exact(method):
            try:
                table, found = self.exact.joint(findings.codes, findings.weights, numbers)
                self._check(found, given)
                return dict(zip(keys, table.reshape(-1).tolist(), strict=True))
            except SizeError as error:
                method = self._instead(method, error)
        return _told(keys, self._estimate(findings, [numbers], method, samples, seed)[0])

    def marginals(
        self, given: Given = None, *, method: Method = "auto", samples: int = SAMPLES, seed: int = 0
    ) -> Mapping[str, Posterior]:
        """{name: {state: probability}} of all variables."""
        findings = self._findings(given)
        if _is_exact(method):
            try:
                flat = np.empty(int(self.potentials.places[-1]))
                self._check(self.exact.marginals(findings.codes, findings.weights, flat), given)
                return Marginals(self._places, flat)
            except SizeError as error:
                method = self._instead(method, error)
        each = [[v] for v in range(len(self.states))]
        found = self._estimate(findings, each, method, samples, seed)
        return {name: _told([*self.states[name]], one) for name, one in zip(self.states, found, strict=True)}

    def log_probability(self, given: Given = None) -> float:
        """log P(evidence); -inf where it is impossible. Without arrows: log Z, the sum over all that agrees with it."""
        findings = self._findings(given)
        return self.exact.log_total(findings.codes, findings.weights) + findings.log_scale

    def most_probable(self, variables: Sequence[str] | None = None, given: Given = None) -> MostProbable:
        """The most probable states of all variables together, given the evidence; or of some, the others summed out."""
        findings = self._findings(given)
        if isinstance(variables, str):
            variables = [variables]
        asked = None if variables is None else [self._number(name) for name in variables]
        codes, log_joint = self.exact.best(findings.codes, findings.weights, asked)
        self._check(log_joint, given)
        names = self.states if variables is None else variables
        found = MostProbable((name, self.states[name][codes[self._number(name)]]) for name in names)
        found.log_joint = log_joint + findings.log_scale
        return found

    def mutual_information(self, a: str, b: str, given: Given = None) -> float:
        """I(a; b) = Σ P(a, b) log P(a, b) / P(a)P(b), in nats: how much one tells of the other, given the evidence."""
        if a == b:
            p = np.array([*self.query(a, given, method="exact").values()])
            return float(-np.sum(p[p > 0] * np.log(p[p > 0])))
        joint = np.array([*self.query([a, b], given, method="exact").values()])
        joint = joint.reshape(len(self.states[a]), len(self.states[b]))
        apart = joint.sum(1, keepdims=True) * joint.sum(0, keepdims=True)
        there = joint > 0
        return max(0.0, float(np.sum(joint[there] * np.log(joint[there] / apart[there]))))

    def explain(self, variable: str, given: Given, value: Any = None) -> Moved:
        """How much each finding moved the answer: the log-odds of a value, by default the most probable."""
        from credo.models.moved import Moved

        return Moved.of(self, variable, given or {}, value)

    def believing(self, beliefs: Mapping[str, Mapping[Any, float]], given: Given = None) -> dict[str, Any]:
        """Findings after which the variables are believed to be exactly as `beliefs` say (Jeffrey's rule; of several,
        by fitting each in turn): the evidence, with likelihoods added to it."""
        found: dict[str, Any] = dict(given or {})
        wanted = {name: self._belief(name, belief) for name, belief in beliefs.items()}
        if both := next((name for name in wanted if name in found), None):
            raise EvidenceError(f"{both!r} is given and believed at once: leave one out")
        found |= {name: dict.fromkeys(self.states[name], 1.0) for name in wanted}
        for _ in range(ROUNDS):
            furthest = 0.0
            for name, belief in wanted.items():
                now = self.query(name, found, method="exact")
                furthest = max(furthest, *(abs(now[value] - p) for value, p in belief.items()))
                for value in (value for value, p in belief.items() if p > 0 and now[value] < TINY):
                    what = f"{name}={value} is believed with {belief[value]:g}, but is impossible"
                    raise EvidenceError(f"{what}, with all else that is believed and given")
                new = {value: found[name][value] * (p / now[value] if p > 0 else 0.0) for value, p in belief.items()}
                found[name] = {value: weight / max(new.values()) for value, weight in new.items()}
            if furthest < 1e-12:
                return found
            if any(found[name][value] < TINY for name in wanted for value, p in wanted[name].items() if p > 0):
                break  # they run away from each other
        raise EvidenceError(f"no probabilities agree with what is believed of {', '.join(wanted)} together")

    # Rows

    def predict_proba(self, variable: str, data: object) -> Any:
        """(rows, states): what is believed of a variable, given the other cells of each row, any of which may miss."""
        from credo.inference.rows import Rows

        return Rows(self, data).probabilities(variable)

    def predict(self, variable: str, data: object) -> Any:
        """The most probable state in each row."""
        best = self.predict_proba(variable, data).argmax(1)
        states = self.states[variable]
        return np.array(states, dtype=object if len({*map(type, states)}) > 1 else None)[best]

    def log_prob(self, data: object) -> Any:
        """log P(row) of each row, summed over what is missing."""
        from credo.inference.rows import Rows

        return Rows(self, data).log_prob()

    def impute(self, data: object) -> Any:
        """The table, with the states in the missing cells that are most probable together: an Arrow table."""
        from credo.inference.rows import Rows

        return Rows(self, data).imputed()

    # Inside

    def __getstate__(self) -> dict[str, Any]:
        """Without what is worked out from the rest: trees are large, and hold locks."""
        return {
            name: value for name, value in self.__dict__.items() if name in {"parents", "tables", "states", "factors"}
        }

    @cached_property
    def _places(self) -> dict[str, tuple[tuple[Any, ...], slice]]:
        at = self.potentials.places.tolist()
        return {name: (own, slice(at[i], at[i + 1])) for i, (name, own) in enumerate(self.states.items())}

    def _number(self, name: object) -> int:
        from credo.inference.findings import variable

        return variable(self.potentials, name)

    @cached_property
    def _findings(self) -> Callable[[Given], Findings]:
        from credo.inference.findings import Findings

        return partial(Findings.of, self.potentials)

    def _check(self, log_probability: float, given: Given) -> None:
        if log_probability > -np.inf:
            return
        from credo.inference.conflict import impossible

        raise impossible(given or {}, lambda some: self.log_probability(some) > -np.inf)

    def _belief(self, name: str, belief: Mapping[Any, float]) -> dict[Any, float]:
        """A distribution over a variable's states."""
        from credo.inference.findings import state

        v = self._number(name)
        if not isinstance(belief, Mapping):
            raise EvidenceError(f"what is believed of {name!r} must be {{state: probability}}, but is {belief!r:.60}")
        found = dict.fromkeys(self.states[name], 0.0)
        for value, p in belief.items():
            found[self.states[name][state(self.potentials, v, value)]] = float(p)
        if abs(sum(found.values()) - 1.0) > 1e-6 or min(found.values()) < 0:
            raise EvidenceError(f"what is believed of {name!r} must be probabilities that sum to 1, but is {belief}")
        return found

    def _estimate(
        self, findings: Findings, asked: Sequence[Sequence[int]], method: str, samples: int, seed: int
    ) -> list[Estimate]:
        from credo.inference.estimates import estimates

        return estimates(self.potentials, findings, asked, method, samples, seed)

    def _instead(self, method: str, error: SizeError) -> Method:
        """How an answer that doesn't fit is estimated."""
        if method == "exact":
            raise error
        chosen: Method = "likelihood-weighting" if self.directed else "gibbs"
        tell(f"{str(error).partition(';')[0]}: estimated by {chosen} instead, see standard_error")
        return chosen


def _is_exact(method: str) -> bool:
    if method in ("auto", "exact"):
        return True
    if method not in get_args(Method):
        raise NetworkError(f"there is no method {method!r}; {suggest(method, get_args(Method))}")
    return False


def _told(keys: Sequence[Any], found: Estimate) -> Estimated:
    told = Estimated(zip(keys, found.table.reshape(-1).tolist(), strict=True))
    told.method, told.effective_samples = found.method, found.effective
    told.standard_error = dict(zip(keys, found.error.reshape(-1).tolist(), strict=True))
    return told
