"""Graphical models: a product of factors, and the queries that every network answers, directed or not."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from functools import partial
from itertools import product
from typing import TYPE_CHECKING, Any, ClassVar, overload

import numpy as np

from credo.errors import NetworkError, SchemaError, check_seed
from credo.networks.answers import (
    Marginals,
    MostProbable,
    Posterior,
    as_log_total,
    as_number,
    as_posterior,
    exact_or_estimated,
)
from credo.networks.factor_model import FactorModel
from credo.networks.graph import one_or_several
from credo.networks.inference.sizes import EXACT, ROW_SAMPLES, SAMPLES, Method, Sampling, exact_only, is_exact
from credo.networks.row_queries import known_columns, queried_rows

if TYPE_CHECKING:
    import pyarrow as pa

    from credo.networks.explanation import QueryExplanation
    from credo.networks.inference.estimate import Total
    from credo.networks.inference.findings import Given
    from credo.networks.information import InformationGains
    from credo.numerics.arrays import Flags, Integers
    from credo.numerics.exact import Array


class GraphicalModel(FactorModel):
    """P(all) ∝ ∏ factors, and the queries that follow from it."""

    _internal: ClassVar[tuple[str, ...]] = (
        "check_known", "coded", "declared", "directed", "expect", "expectations", "factorisation",
        "fixed_distributions", "fixed_tables", "forms", "graph", "index", "nodes", "parameters", "potentials",
        "rows_of", "schema", "state_index", "structures", "table_rows", "trees", "with_evidence", "without_factors",
    )  # fmt: skip

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
        """P(variable | given) as {state: probability}; of several variables, {(state, state, ...): probability}. With
        an event, P(variables, event | given).

        `given` is the evidence: {name: state}, {name: [possible states]}, or {name: {state: likelihood}}. "exact"
        refuses an answer that doesn't fit in memory; "auto" then samples, with a notice.
        """
        from credo.networks.inference.findings import allowed
        from credo.networks.inference.sizes import check_table

        if not isinstance(variables, Collection):
            raise SchemaError(f"a query must be about a name, or a list of names, not about {variables!r}")
        check_seed(seed)
        names = one_or_several(variables)
        if not names or len(set(names)) < len(names):
            raise SchemaError(
                f"a query must name variables, each once, but names {', '.join(map(str, names)) or 'none'}"
            )
        if (weighting := self._weighting(method, samples, seed)) is not None:
            return weighting.query(variables, given, event)
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
            (found,) = self._estimates(findings, [(numbers, happens)], given, Sampling(method, samples, seed))
            return as_posterior(keys, found)

        return exact_or_estimated(method, exact, in_parts)

    def marginals(
        self, given: Given = None, *, method: Method = "auto", samples: int = SAMPLES, seed: int = 0
    ) -> Mapping[str, Posterior]:
        """{name: {state: probability}} of all variables."""
        check_seed(seed)
        if (weighting := self._weighting(method, samples, seed)) is not None:
            return weighting.marginals(given)
        findings = self._findings(given)

        def exact() -> Mapping[str, Posterior]:
            flat = np.empty(self._cells)
            self._check(self.exact.marginals(findings.codes, findings.weights, flat), given)
            return Marginals(self._places, flat)

        def in_parts() -> Mapping[str, Posterior]:
            each: list[tuple[list[int], dict[int, Flags]]] = [([v], {}) for v in range(len(self.states))]
            found = self._estimates(findings, each, given, Sampling(method, samples, seed))
            return {name: as_posterior([*self.states[name]], one) for name, one in zip(self.states, found, strict=True)}

        return exact_or_estimated(method, exact, in_parts)

    def probability(
        self, event: Given, given: Given = None, *, method: Method = "auto", samples: int = SAMPLES, seed: int = 0
    ) -> float:
        """P(event | given); an event gives some variables a state, or a list of possible states."""
        from credo.networks.inference.findings import allowed

        check_seed(seed)
        if (weighting := self._weighting(method, samples, seed)) is not None:
            return weighting.probability(event, given)
        happens = allowed(self.potentials, event or {})
        findings = self._findings(given)

        def in_parts() -> float:
            (found,) = self._estimates(findings, [([], happens)], given, Sampling(method, samples, seed))
            return as_number(found)

        return exact_or_estimated(method, lambda: self._chance(happens, findings, given), in_parts)

    def log_probability(
        self, given: Given = None, *, method: Method = "auto", samples: int = SAMPLES, seed: int = 0
    ) -> float:
        """log P(evidence), -inf if it is impossible; for a Markov network log Z, the sum over all consistent states."""
        check_seed(seed)
        if (weighting := self._weighting(method, samples, seed)) is not None:
            return weighting.log_probability(given)
        findings = self._findings(given)
        if self.directed and not findings.any:
            return 0.0

        def exact() -> float:
            return self.exact.log_total(findings.codes, findings.weights) + findings.log_scale

        def in_parts() -> float:
            return as_log_total(self._log_total(findings, Sampling(method, samples, seed)), findings)

        return exact_or_estimated(method, exact, in_parts)

    @overload
    def most_probable(
        self,
        variables: Sequence[str] | None = None,
        given: Given = None,
        *,
        method: Method = "auto",
        samples: int = SAMPLES,
        seed: int = 0,
    ) -> MostProbable: ...

    @overload
    def most_probable(
        self, variables: Sequence[str] | None = None, given: Given = None, *, k: int, method: Method = "auto"
    ) -> list[MostProbable]: ...

    def most_probable(
        self,
        variables: Sequence[str] | None = None,
        given: Given = None,
        *,
        k: int | None = None,
        method: Method = "auto",
        samples: int = SAMPLES,
        seed: int = 0,
    ) -> MostProbable | list[MostProbable]:
        """The most probable joint state of all variables given the evidence (MPE), or of some variables, the others
        summed out (marginal MAP); the k most probable ones. Where that doesn't fit in memory: simulated annealing,
        method="gibbs", for the most probable one."""
        if k is not None:
            from credo.networks.explanation import best_explanations

            return best_explanations(self, variables, given, k, method)
        if method not in ("auto", "exact", "gibbs"):
            is_exact(method)
            raise NetworkError(f'the most probable states aren\'t found by {method}: use "exact", "gibbs" or "auto"')
        check_seed(seed)
        findings = self._findings(given)
        if isinstance(variables, str):
            variables = [variables]
        asked = self._maximised if variables is None else [self._number(name) for name in variables]

        def exact() -> tuple[Integers, float]:
            codes, log_joint = self.exact.best(findings.codes, findings.weights, asked)
            self._check(log_joint, given)
            return codes, log_joint

        def in_parts() -> tuple[Integers, float | Total, str]:
            sampling = Sampling(method, samples, seed)
            return self.components.best(findings, asked, sampling, partial(self._check, given=given))

        names = self.states if variables is None else variables

        def as_most_probable(codes: Integers, log_joint: float | Total, how: str) -> MostProbable:
            found = MostProbable((name, self.states[name][codes[self._number(name)]]) for name in names)
            if isinstance(log_joint, float):
                found.log_joint = log_joint + findings.log_scale
            else:
                found.log_joint = as_log_total(log_joint, findings)
            found.method = how
            return found

        return exact_or_estimated(
            method, lambda: as_most_probable(*exact(), EXACT), lambda: as_most_probable(*in_parts())
        )

    def sample(self, size: int, given: Given = None, seed: int | None = None, *, method: Method = "auto") -> pa.Table:
        """An Arrow table of independent rows drawn given the evidence, however improbable. Where this doesn't fit in
        memory, "auto" draws Markov chains, with a notice about their effective sample size."""
        from credo.networks.inference.sampling import drawn_table

        if method not in ("auto", "exact"):
            raise NetworkError(f'rows are drawn by method="exact", or "auto", not by {method!r}')
        return drawn_table(self, size, given, seed, method)

    def mutual_information(
        self,
        a: str,
        b: str,
        given: Mapping[str, object] | str | Iterable[str] | None = None,
        *,
        method: Method = "auto",
        samples: int = SAMPLES,
        seed: int = 0,
    ) -> float:
        """I(a; b) = Σ P(a, b) log P(a, b) / P(a)P(b), in nats, given the evidence.

        Given names, I(a; b | c) = Σ P(a, b, c) log P(a, b | c) / P(a | c)P(b | c), averaged over the states of c.
        """
        from credo.networks.information import mutual_information

        return mutual_information(self, a, b, given, method=method, samples=samples, seed=seed)

    def what_to_ask(
        self, variable: str, given: Given = None, *, costs: Mapping[str, float] | None = None, price: float = 1.0
    ) -> InformationGains:
        """The expected reduction in the entropy of a variable, in nats, from observing each other variable, minus its
        cost times the price per unit; the best first."""
        from credo.networks.information import information_gains

        return information_gains(self, variable, given, costs, price)

    def explain(self, variable: str, given: Given, value: object = None) -> QueryExplanation:
        """How much each finding changed the log-odds of a value, by default the most probable one."""
        from credo.networks.explanation import QueryExplanation

        with exact_only("explanations aren't estimated: query can be, with each finding and without it"):
            return QueryExplanation.of(self, variable, given or {}, value)

    def believing(self, beliefs: Mapping[str, Mapping[Any, float]], given: Given = None) -> dict[str, Any]:
        """Evidence after which the variables have the marginals in `beliefs` (Jeffrey's rule; several variables by
        iterative proportional fitting): `given`, with likelihoods added."""
        from credo.networks.jeffrey import likelihoods

        with exact_only("findings that lead to beliefs aren't estimated: query can be, given likelihoods"):
            return likelihoods(self, beliefs, given)

    # Rows

    def predict_proba(
        self, variable: str, data: object, *, method: Method = "auto", samples: int = ROW_SAMPLES, seed: int = 0
    ) -> Any:
        """P(variable | the row's other cells), any of which may be missing. (rows, states)

        Rows whose exact answer doesn't fit in memory are estimated from `samples` each; "exact" refuses them. For a
        Dask or Spark DataFrame, the result is that frame with a column P(state) for each state, computed lazily.
        """
        from credo.networks.inference.rows import PredictRows, answers

        target = self._number(variable)
        table, names, fallback = queried_rows(self, known_columns(data, self.states), method, samples, seed)
        job = PredictRows(self, names, fallback, target)
        if table.frame is not None:
            from credo.models.frame_columns import for_each_class

            return for_each_class(table, names, job, "P({})", self.states[variable])
        parts = answers(job, table)
        return np.concatenate([np.empty((0, len(self.states[variable]))), *parts])

    def predict(
        self, variable: str, data: object, *, method: Method = "auto", samples: int = ROW_SAMPLES, seed: int = 0
    ) -> Any:
        """The most probable state in each row; for a Dask or Spark DataFrame, that frame with a column `predicted`."""
        from credo.data import source

        table = source(data)
        if table.frame is not None:
            from credo.models.frame_columns import Likeliest, of_classes
            from credo.networks.inference.rows import PredictRows

            _, names, fallback = queried_rows(self, known_columns(table, self.states), method, samples, seed)
            job = Likeliest(PredictRows(self, names, fallback, self._number(variable)))
            return of_classes(table, names, job, self.states[variable])
        best = self.predict_proba(variable, table, method=method, samples=samples, seed=seed).argmax(1)
        states = self.states[variable]
        return np.array(states, dtype=object if len({*map(type, states)}) > 1 else None)[best]

    def log_prob(self, data: object, *, method: Method = "auto", samples: int = ROW_SAMPLES, seed: int = 0) -> Any:
        """log P(row) of each row, missing cells summed out.

        For a Dask or Spark DataFrame, the result is that frame with a column log_prob, computed lazily.
        """
        from credo.data import source
        from credo.networks.inference.rows import ScoreRows

        whole = source(data)
        if whole.frame is None or self._weighting(method, samples, seed) is not None:
            return self._log_prob_here(whole, method, samples, seed)
        table, names, fallback = queried_rows(self, known_columns(whole, self.states), method, samples, seed)
        from credo.models.frame_columns import numbers

        return numbers(table, names, ScoreRows(self, names, fallback), "log_prob")

    def _log_prob_here(self, data: object, method: Method = "auto", samples: int = ROW_SAMPLES, seed: int = 0) -> Array:
        """log P(row) as an array, even for a Dask or Spark DataFrame. (rows,)"""
        from credo.networks.inference.rows import ScoreRows, answers

        if (weighting := self._weighting(method, samples, seed)) is not None:
            return np.asarray(weighting.log_prob(data))
        table, names, fallback = queried_rows(self, known_columns(data, self.states), method, samples, seed)
        return np.concatenate([np.empty(0), *answers(ScoreRows(self, names, fallback), table)])

    def impute(self, data: object, *, method: Method = "auto", samples: int = ROW_SAMPLES, seed: int = 0) -> Any:
        """The table with its missing cells filled in by their most probable joint state: an Arrow table.

        For a Dask or Spark DataFrame, the result is that frame, filled in when it is computed.
        """
        import pyarrow as pa

        from credo.networks.inference.rows import Answer, CompleteRows, answers

        table, names, fallback = queried_rows(self, data, method, samples, seed)
        if table.frame is not None:
            from credo.models.frame_columns import filled

            return filled(table, Answer(CompleteRows(self, names, fallback)), names)
        return pa.concat_tables(answers(CompleteRows(self, names, fallback), table, table.names))
