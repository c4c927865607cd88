"""Questions that every network answers, with arrows or without."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cached_property, partial
from itertools import product
from math import exp
from typing import TYPE_CHECKING, Any, ClassVar, TypeVar, get_args

import numpy as np

from credo.errors import EvidenceError, NetworkError, SchemaError, SizeError, check_seed, suggest
from credo.networks.answers import (
    EXACT,
    Estimated,
    EstimatedNumber,
    Marginals,
    MostProbable,
    Posterior,
    doubted,
    estimated,
    number_told,
    told_of,
    total_told,
)
from credo.networks.factor import Factor
from credo.networks.inference.sizes import ROW_SAMPLES, SAMPLES, Method
from credo.networks.tables import States
from credo.notices import tell

if TYPE_CHECKING:
    from credo.data import Source
    from credo.networks.explanation import Moved
    from credo.networks.inference.components import Components
    from credo.networks.inference.elimination import Elimination
    from credo.networks.inference.estimate import Estimate, Total
    from credo.networks.inference.findings import Findings, Given
    from credo.networks.inference.joint_table import Whole
    from credo.networks.inference.potentials import Flags, Integers, Potentials
    from credo.networks.inference.rows import Rows
    from credo.networks.inference.trees import Trees

Result = TypeVar("Result")
WHOLE = ("forward", "loopy")  # methods that don't look at each connected part by itself
SHOWN = 3  # columns that a notice names
ROUNDS, TINY = 1000, 1e-150  # of fitting beliefs in turn; a number that is as good as 0


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

    def __len__(self) -> int:
        return len(self.variables)

    def __contains__(self, name: object) -> bool:
        return name in self.variables

    @cached_property
    def potentials(self) -> Potentials:
        """The factors, as kernels read them."""
        from credo.networks.inference.potentials import Potentials

        factors = self.factors if self.directed else [part for factor in self.factors for part in factor.split()]
        return Potentials.of(self.states, factors, self.directed)

    @cached_property
    def exact(self) -> Whole | Trees | Elimination:
        """Exact inference: in one table where that is small, else in trees, once their kernels are worth loading."""
        from credo.networks.inference.elimination import Elimination, is_loaded
        from credo.networks.inference.joint_table import Whole, is_small

        if is_small(self.potentials):
            return Whole(self.potentials)
        return self.trees if is_loaded() else Elimination(self.potentials, lambda: self.trees)

    @cached_property
    def trees(self) -> Trees:
        from credo.networks.inference.trees import Trees

        return Trees(self.potentials)

    @cached_property
    def components(self) -> Components:
        """Answers part by part, where the whole doesn't fit."""
        from credo.networks.inference.components import Components

        return Components(self.potentials)

    # Probabilities

    def query(
        self,
        variables: str | Sequence[str],
        given: Given = None,
        *,
        event: Given = None,
        method: Method = "auto",
        samples: int = SAMPLES,
        seed: int = 0,
    ) -> Posterior:
        """{state: probability} of a variable; of several, {(state, state, ...): probability}; with an event, that it
        happens too: P(variables, event | given).

        `given` holds what is known: {name: state}, {name: [states, one of which it is]}, or {name: {state: how likely
        what was seen is in that state}}. "exact" refuses what doesn't fit in memory; "auto" then samples, and says so.
        """
        from credo.networks.inference.findings import allowed
        from credo.networks.inference.sizes import check_table

        if not isinstance(variables, Collection):
            raise SchemaError(f"a query is about a name, or a list of names, not about {variables!r}")
        check_seed(seed)
        names = [variables] if isinstance(variables, str) else list(variables)
        if not names or len(set(names)) < len(names):
            raise SchemaError(
                f"a query must name variables, each once, but names {', '.join(map(str, names)) or 'none'}"
            )
        findings, numbers = self._findings(given), [self._number(name) for name in names]
        check_table([len(self.states[name]) for name in names])
        keys = self.states[names[0]] if isinstance(variables, str) else [*product(*(self.states[n] for n in names))]
        happens = allowed(self.potentials, event) if event else {}

        def exact() -> Posterior:
            p = self._chance(happens, findings, given) if happens else 1.0
            after = findings.where(happens, self.potentials.places) if happens else findings
            if after is None or p == 0.0:
                return dict.fromkeys(keys, 0.0)
            table, found = self.exact.joint(after.codes, after.weights, numbers)
            self._check(found, given)
            return dict(zip(keys, (p * table if happens else table).reshape(-1).tolist(), strict=True))

        def in_parts() -> Posterior:
            (found,) = self._estimates(findings, [(numbers, happens)], given, method, samples, seed)
            return told_of(keys, found)

        return self._answer(method, exact, in_parts)

    def marginals(
        self, given: Given = None, *, method: Method = "auto", samples: int = SAMPLES, seed: int = 0
    ) -> Mapping[str, Posterior]:
        """{name: {state: probability}} of all variables."""
        check_seed(seed)
        findings = self._findings(given)

        def exact() -> Mapping[str, Posterior]:
            flat = np.empty(self._cells)
            self._check(self.exact.marginals(findings.codes, findings.weights, flat), given)
            return Marginals(self._places, flat)

        def in_parts() -> Mapping[str, Posterior]:
            each: list[tuple[list[int], dict[int, Flags]]] = [([v], {}) for v in range(len(self.states))]
            found = self._estimates(findings, each, given, method, samples, seed)
            return {name: told_of([*self.states[name]], one) for name, one in zip(self.states, found, strict=True)}

        return self._answer(method, exact, in_parts)

    def probability(
        self,
        event: Given,
        given: Given = None,
        *,
        method: Method = "auto",
        samples: int = SAMPLES,
        seed: int = 0,
    ) -> float:
        """P(event | given): that variables have the states, or one of several states, that the event names."""
        from credo.networks.inference.findings import allowed

        check_seed(seed)
        happens = allowed(self.potentials, event or {})
        findings = self._findings(given)

        def in_parts() -> float:
            (found,) = self._estimates(findings, [([], happens)], given, method, samples, seed)
            return number_told(found)

        return self._answer(method, lambda: self._chance(happens, findings, given), in_parts)

    def log_probability(
        self, given: Given = None, *, method: Method = "auto", samples: int = SAMPLES, seed: int = 0
    ) -> float:
        """log P(evidence); -inf where it is impossible. Without arrows: log Z, the sum over all that agrees with it."""
        check_seed(seed)
        findings = self._findings(given)
        if self.directed and not findings.any:
            return 0.0

        def exact() -> float:
            return self.exact.log_total(findings.codes, findings.weights) + findings.log_scale

        def in_parts() -> float:
            return total_told(self._log_total(findings, method, samples, seed), findings)

        return self._answer(method, exact, in_parts)

    def most_probable(
        self,
        variables: Sequence[str] | None = None,
        given: Given = None,
        *,
        method: Method = "auto",
        samples: int = SAMPLES,
        seed: int = 0,
    ) -> MostProbable:
        """The most probable states of all variables together, given the evidence; or of some, the others summed out.
        What doesn't fit is searched for, by chains that cool down: method="gibbs"."""
        if method not in ("auto", "exact", "gibbs"):
            _is_exact(method)
            raise NetworkError(f'the most probable states aren\'t found by {method}: use "exact", "gibbs" or "auto"')
        check_seed(seed)
        findings = self._findings(given)
        if isinstance(variables, str):
            variables = [variables]
        asked = None if variables is None else [self._number(name) for name in variables]

        def exact() -> tuple[Integers, float]:
            codes, log_joint = self.exact.best(findings.codes, findings.weights, asked)
            self._check(log_joint, given)
            return codes, log_joint

        def in_parts() -> tuple[Integers, float | Total, str]:
            return self.components.best(findings, asked, method, samples, seed, partial(self._check, given=given))

        names = self.states if variables is None else variables

        def told(codes: Integers, log_joint: float | Total, how: str) -> MostProbable:
            found = MostProbable((name, self.states[name][codes[self._number(name)]]) for name in names)
            if isinstance(log_joint, float):
                found.log_joint = log_joint + findings.log_scale
            else:
                found.log_joint = total_told(log_joint, findings)
            found.method = how
            return found

        return self._answer(method, lambda: told(*exact(), EXACT), lambda: told(*in_parts()))

    def mutual_information(
        self,
        a: str,
        b: str,
        given: Mapping[str, Any] | str | Iterable[str] | None = None,
        *,
        method: Method = "auto",
        samples: int = SAMPLES,
        seed: int = 0,
    ) -> float:
        """I(a; b) = Σ P(a, b) log P(a, b) / P(a)P(b), in nats: how much one tells of the other, given the evidence.

        Given names, I(a; b | c) = Σ P(a, b, c) log P(a, b | c) / P(a | c)P(b | c), on average over what c may be.
        """
        evidence = given if isinstance(given, Mapping) else None
        names = [] if given is None or evidence is not None else [given] if isinstance(given, str) else [*given]
        if strange := next((name for name in names if name in (a, b)), None):
            raise SchemaError(f"{strange!r} is named twice: a, b and given must have nothing in common")
        asked = list(dict.fromkeys([a, b, *names]))
        found = self.query(asked, evidence, method=method, samples=samples, seed=seed)
        p = np.array([*found.values()]).reshape([len(self.states[name]) for name in asked])
        if a == b:
            p = np.stack([np.where(np.arange(len(p)) == i, p.T, 0.0).T for i in range(len(p))], axis=1)
        apart = p.sum(1, keepdims=True) * p.sum(0, keepdims=True) / np.maximum(p.sum((0, 1), keepdims=True), TINY)
        ratio = np.log(np.divide(p, apart, out=np.ones_like(p), where=p > 0))
        told = max(0.0, float(np.sum(p * ratio)))
        if not isinstance(found, Estimated):
            return told
        ratio = np.einsum("ii...->i...", ratio) if a == b else ratio
        error = found.spread(ratio.reshape(-1))
        return EstimatedNumber(told, error, found.effective_samples, found.method, found.reliable)

    def explain(self, variable: str, given: Given, value: Any = None) -> Moved:
        """How much each finding moved the answer: the log-odds of a value, by default the most probable."""
        from credo.networks.explanation import Moved

        with _exact_only("what findings weigh isn't estimated: query can be, with each finding and without it"):
            return Moved.of(self, variable, given or {}, value)

    def believing(self, beliefs: Mapping[str, Mapping[Any, float]], given: Given = None) -> dict[str, Any]:
        """Findings after which the variables are believed to be exactly as `beliefs` say (Jeffrey's rule; of several,
        by fitting each in turn): the evidence, with likelihoods added to it."""
        found: dict[str, Any] = dict(given or {})
        wanted = {name: self._shares(name, belief, "what is believed of") for name, belief in beliefs.items()}
        if both := next((name for name in wanted if name in found), None):
            raise EvidenceError(f"{both!r} is given and believed at once: leave one out")
        found |= {name: dict.fromkeys(self.states[name], 1.0) for name in wanted}
        with _exact_only("findings that lead to beliefs aren't estimated: query can be, given likelihoods"):
            return self._fitted(wanted, found)

    def _fitted(self, wanted: Mapping[str, Mapping[Any, float]], found: dict[str, Any]) -> dict[str, Any]:
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

    def predict_proba(
        self,
        variable: str,
        data: object,
        *,
        method: Method = "auto",
        samples: int = ROW_SAMPLES,
        seed: int = 0,
    ) -> Any:
        """(rows, states): what is believed of a variable, given the other cells of each row, any of which may miss.

        Rows whose answers don't fit in memory are estimated, of as many samples each; "exact" refuses them.
        """
        self._number(variable)
        data = self._known_columns(data)
        return self._of_rows(data, method, samples, seed, lambda rows: rows.probabilities(variable))

    def predict(
        self, variable: str, data: object, *, method: Method = "auto", samples: int = ROW_SAMPLES, seed: int = 0
    ) -> Any:
        """The most probable state in each row."""
        best = self.predict_proba(variable, data, method=method, samples=samples, seed=seed).argmax(1)
        states = self.states[variable]
        return np.array(states, dtype=object if len({*map(type, states)}) > 1 else None)[best]

    def log_prob(self, data: object, *, method: Method = "auto", samples: int = ROW_SAMPLES, seed: int = 0) -> Any:
        """log P(row) of each row, summed over what is missing."""
        data = self._known_columns(data)
        return self._of_rows(data, method, samples, seed, lambda rows: rows.log_prob())

    def impute(self, data: object, *, method: Method = "auto", samples: int = ROW_SAMPLES, seed: int = 0) -> Any:
        """The table, with the states in the missing cells that are most probable together: an Arrow table."""
        return self._of_rows(data, method, samples, seed, lambda rows: rows.imputed())

    # Inside

    def __getstate__(self) -> dict[str, Any]:
        """Without what is worked out from the rest: trees are large, and hold locks."""
        return {
            name: value for name, value in self.__dict__.items() if name in {"parents", "tables", "states", "factors"}
        }

    @cached_property
    def _cells(self) -> int:
        """How many states all variables have."""
        return int(self.potentials.places[-1])

    @cached_property
    def _places(self) -> dict[str, tuple[tuple[Any, ...], slice]]:
        at = self.potentials.places.tolist()
        return {name: (own, slice(at[i], at[i + 1])) for i, (name, own) in enumerate(self.states.items())}

    def _number(self, name: object) -> int:
        from credo.networks.inference.findings import variable

        return variable(self.potentials, name)

    @cached_property
    def _findings(self) -> Callable[[Given], Findings]:
        from credo.networks.inference.findings import Findings

        return partial(Findings.of, self.potentials)

    def _chance(self, event: Mapping[int, Flags], findings: Findings, given: Given) -> float:
        """P(event | given), exactly."""
        before = self.exact.log_total(findings.codes, findings.weights)
        self._check(before, given)
        after = findings.where(event, self.potentials.places)
        return 0.0 if after is None else min(1.0, exp(self.exact.log_total(after.codes, after.weights) - before))

    def _check(self, log_probability: float, given: Given) -> None:
        if log_probability > -np.inf:
            return
        from credo.networks.inference.conflict import impossible

        def possible(some: Given) -> bool:
            findings = self._findings(some)
            try:
                return self.exact.log_total(findings.codes, findings.weights) > -np.inf
            except SizeError:  # nobody knows: then it is no conflict that can be shown
                return True

        raise impossible(given or {}, possible)

    def _shares(self, name: str, given: Mapping[Any, float], what: str) -> dict[Any, float]:
        """A distribution over a variable's states, as somebody gives it."""
        from credo.networks.inference.findings import state

        v = self._number(name)
        if not isinstance(given, Mapping):
            raise EvidenceError(f"{what} {name!r} must be {{state: probability}}, but is {given!r:.60}")
        found = dict.fromkeys(self.states[name], 0.0)
        for value, p in given.items():
            own = p if isinstance(p, int | float | np.number) else np.nan
            found[self.states[name][state(self.potentials, v, value)]] = float(own)
        if not (abs(sum(found.values()) - 1.0) <= 1e-6 and min(found.values()) >= 0):
            raise EvidenceError(f"{what} {name!r} must be probabilities that sum to 1, but is {given}")
        return found

    def _estimates(
        self,
        findings: Findings,
        asked: Sequence[tuple[Sequence[int], Mapping[int, Flags]]],
        given: Given,
        method: str,
        samples: int,
        seed: int,
    ) -> list[Estimate]:
        from credo.networks.inference.estimate import Asked
        from credo.networks.inference.estimates import estimates

        groups = [Asked(variables, event) for variables, event in asked]
        if method in WHOLE:
            return estimates(self.potentials, findings, groups, method, samples, seed)
        return self.components.estimates(findings, groups, method, samples, seed, partial(self._check, given=given))

    def _log_total(self, findings: Findings, method: str, samples: int, seed: int) -> Total:
        from credo.networks.inference.estimates import log_total

        if method in WHOLE:
            return log_total(self.potentials, findings, method, samples, seed)
        return self.components.log_total(findings, method, samples, seed)

    def _answer(self, method: str, exact: Callable[[], Result], in_parts: Callable[[], Result]) -> Result:
        """The exact answer; where that doesn't fit, each connected part by itself, estimated unless only the exact one
        will do."""
        if not _is_exact(method):
            found = in_parts()
            if doubt := doubted(found):
                tell(doubt)
            return found
        try:
            return exact()
        except SizeError as error:
            found = in_parts()
            if how := estimated(found):
                tell(f"{_need(error)}: {'; '.join(filter(None, (how, doubted(found))))}")
            return found

    def _of_rows(
        self, data: object, method: Method, samples: int, seed: int, answer: Callable[[Rows], Result]
    ) -> Result:
        from credo.data import source
        from credo.networks.inference.rows import Rows
        from credo.networks.inference.sampling import Instead

        if not _is_exact(method):
            raise NetworkError(f'rows are answered by method="exact", or "auto", not by {method!r}')
        table = source(data)
        self._check_names(table.names)
        if method == "exact":
            return answer(Rows(self.trees, table, self._check))
        instead = Instead(self.trees, self.components, samples, check_seed(seed))
        found = answer(Rows(instead, table, self._check))
        instead.tell()
        return found

    def _check_names(self, columns: Sequence[str]) -> None:
        """Columns that are a variable's name in other letters are hardly meant to be left out."""
        known = {name.casefold(): name for name in self.states}
        for column in columns:
            meant = known.get(column.casefold(), column) if isinstance(column, str) else column
            if column not in self.states and meant in self.states and meant not in columns:
                raise SchemaError(f"column {column!r} isn't a variable of the network. Did you mean {meant!r}?")

    def _known_columns(self, data: object) -> Source:
        """The data, after a notice of columns that aren't read."""
        from credo.data import source

        table = source(data)
        self._check_names(table.names)
        strange = [column for column in table.names if column not in self.states]
        if strange and len(strange) < len(table.names):
            some = ", ".join(f"{column!r:.40}" for column in strange[:SHOWN]) + (", ..." if strange[SHOWN:] else "")
            tell(f"columns that the network doesn't know are ignored, {len(strange)} of {len(table.names)}: {some}")
        return table


@contextmanager
def _exact_only(what: str) -> Iterator[None]:
    """Refuse what would hide how far off it is, if it were estimated."""
    try:
        yield
    except SizeError as error:
        raise SizeError(f"{_need(error)}, and {what}") from None


def _need(error: SizeError) -> str:
    return str(error).partition(";")[0]


def _is_exact(method: str) -> bool:
    if method in ("auto", "exact"):
        return True
    if method not in get_args(Method):
        raise NetworkError(f"there is no method {method!r}; {suggest(method, get_args(Method))}")
    return False
