"""Estimands: products, sums and quotients of observed probabilities P(a | b)."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass

import numpy as np

from credo.networks.factor import Factor
from credo.numerics.exact import Array


@dataclass(frozen=True)
class ConditionalProbability:
    """P(variables | given) under the observed distribution."""

    variables: tuple[str, ...]
    given: tuple[str, ...] = ()

    @property
    def terms(self) -> tuple[Expression, ...]:
        """The terms of which this is the product."""
        return (self,)


@dataclass(frozen=True)
class Product:
    terms: tuple[Expression, ...]


@dataclass(frozen=True)
class Sum:
    """Σ over the values of some variables."""

    over: tuple[str, ...]
    term: Expression

    @property
    def terms(self) -> tuple[Expression, ...]:
        return (self,)


@dataclass(frozen=True)
class Quotient:
    above: Expression
    below: Expression

    @property
    def terms(self) -> tuple[Expression, ...]:
        return (self,)


Expression = ConditionalProbability | Product | Sum | Quotient
ONE = Product(())


def product_of(terms: Iterable[Expression]) -> Expression:
    """A product, with nested products flattened.

    >>> written(product_of([ConditionalProbability(("a",), ("b",)), product_of([ConditionalProbability(("b",))])]))
    'P(a | b) P(b)'
    """
    flat: list[Expression] = []
    for term in terms:
        flat += term.terms
    return flat[0] if len(flat) == 1 else Product(tuple(flat))


def sum_of(over: Iterable[str], term: Expression) -> Expression:
    """Σ term, simplified: factors that sum to 1 are dropped, and factors that don't depend on a variable leave its sum.

    >>> written(sum_of(["a"], product_of([ConditionalProbability(("a",), ("b",)), ConditionalProbability(("b",))])))
    'P(b)'
    """
    left, terms = list(over), [*term.terms]
    if len(terms) == 1 and isinstance(terms[0], Sum):
        return sum_of([*left, *terms[0].over], terms[0].term)
    while True:
        found = next(((i, name) for name in left if (i := _only_term_with(name, terms)) is not None), None)
        if found is None:
            break
        place, name = found
        own = terms[place]
        assert isinstance(own, ConditionalProbability)
        rest = tuple(each for each in own.variables if each != name)
        terms[place : place + 1] = [ConditionalProbability(rest, own.given)] if rest else []
        left.remove(name)
    if not left:
        return product_of(terms)
    inside = [each for each in terms if free(each) & {*left}]
    outside = [each for each in terms if not free(each) & {*left}]
    return product_of([*outside, Sum(tuple(left), product_of(inside))])


def _only_term_with(name: str, terms: list[Expression]) -> int | None:
    """The index of the only term with a variable, if that term is P(..., variable, ... | others)."""
    there = [i for i, each in enumerate(terms) if name in free(each)]
    if len(there) != 1:
        return None
    own = terms[there[0]]
    return there[0] if isinstance(own, ConditionalProbability) and name in own.variables else None


def quotient_of(above: Expression, below: Expression) -> Expression:
    """above / below, common terms cancelled.

    >>> given_b, b = ConditionalProbability(("a",), ("b",)), ConditionalProbability(("b",))
    >>> written(quotient_of(product_of([given_b, b]), b))
    'P(a | b)'
    """
    upper = [*above.terms]
    lower = [*below.terms]
    for term in [*lower]:
        if term in upper:
            upper.remove(term)
            lower.remove(term)
    return Quotient(product_of(upper), product_of(lower)) if lower else product_of(upper)


def free(expression: Expression) -> frozenset[str]:
    """The variables that an expression is a function of."""
    match expression:
        case ConditionalProbability(variables, given):
            return frozenset((*variables, *given))
        case Product(terms):
            return frozenset().union(*map(free, terms))
        case Sum(over, term):
            return free(term) - {*over}
        case Quotient(above, below):
            return free(above) | free(below)


def mentioned(expression: Expression) -> frozenset[str]:
    """All variables in an expression, including those that are summed over."""
    match expression:
        case ConditionalProbability(variables, given):
            return frozenset((*variables, *given))
        case Product(terms):
            return frozenset().union(*map(mentioned, terms))
        case Sum(over, term):
            return mentioned(term) | {*over}
        case Quotient(above, below):
            return mentioned(above) | mentioned(below)


# Text


def written(expression: Expression, taken: Collection[str] | None = None) -> str:
    """The expression in textbook notation; a summed variable that also occurs outside the sum gets a prime.

    >>> inner = sum_of(["x"], product_of([ConditionalProbability(("y",), ("x", "m")), ConditionalProbability(("x",))]))
    >>> written(sum_of(["m"], product_of([ConditionalProbability(("m",), ("x",)), inner])))
    "Σ_m P(m | x) Σ_x' P(y | x', m) P(x')"
    """
    names = {name: name for name in mentioned(expression)}
    return _written(expression, names, frozenset(free(expression) if taken is None else taken))


def _written(expression: Expression, names: Mapping[str, str], taken: frozenset[str]) -> str:
    match expression:
        case ConditionalProbability(variables, given):
            causes = f" | {', '.join(names[name] for name in given)}" if given else ""
            return f"P({', '.join(names[name] for name in variables)}{causes})"
        case Product(terms):
            return " ".join(_factor(each, names, taken) for each in _sums_last(terms)) or "1"
        case Sum(over, term):
            primed = dict(names)
            for name in over:
                while primed[name] in taken:
                    primed[name] += "'"
            shown = ", ".join(primed[name] for name in over)
            sign = f"Σ_{{{shown}}}" if len(over) > 1 else f"Σ_{shown}"
            return f"{sign} {_written(term, primed, taken | {primed[name] for name in over})}"
        case Quotient(above, below):
            return f"{_bracketed(above, names, taken)} / {_bracketed(below, names, taken)}"


def _sums_last(terms: Iterable[Expression]) -> list[Expression]:
    """The terms with sums last: a sum extends to the end of a product, and would need brackets elsewhere."""
    return sorted(terms, key=lambda term: isinstance(term, Sum))


def _factor(term: Expression, names: Mapping[str, str], taken: frozenset[str]) -> str:
    text = _written(term, names, taken)
    return f"[{text}]" if isinstance(term, Quotient) else text


def _bracketed(term: Expression, names: Mapping[str, str], taken: frozenset[str]) -> str:
    text = _written(term, names, taken)
    return text if isinstance(term, ConditionalProbability) else f"({text})"


# Values


def value_of(expression: Expression, joint: Callable[[frozenset[str]], Factor]) -> Factor:
    """The value for all states of the free variables; `joint` gives P(variables) under the observed distribution.

    A probability given an impossible event is NaN, and so is everything that needs it; but 0 · NaN = 0, since
    impossible terms need no probabilities.
    """
    match expression:
        case ConditionalProbability(variables, given):
            together = joint(frozenset((*variables, *given)))
            return _divided(together, together.sum_out(variables)) if given else together
        case Product(terms):
            found = Factor((), np.array(1.0))
            for term in terms:
                found = _times(found, value_of(term, joint))
            return found
        case Sum(over, term):
            return value_of(term, joint).sum_out(over)
        case Quotient(above, below):
            return _divided(value_of(above, joint), value_of(below, joint))


def _times(a: Factor, b: Factor) -> Factor:
    scope = _joined(a, b)
    left, right = _broadcast(a, scope), _broadcast(b, scope)
    return Factor(scope, np.where((left == 0) | (right == 0), 0.0, left * right))


def _divided(a: Factor, b: Factor) -> Factor:
    scope = _joined(a, b)
    with np.errstate(divide="ignore", invalid="ignore"):
        found = _broadcast(a, scope) / _broadcast(b, scope)
    return Factor(scope, np.where(np.isinf(found), np.nan, found))


def _joined(a: Factor, b: Factor) -> tuple[str, ...]:
    return (*a.scope, *(name for name in b.scope if name not in a.scope))


def _broadcast(factor: Factor, scope: tuple[str, ...]) -> Array:
    """The factor's table, with an axis of length 1 for each name that isn't in its scope."""
    lengths = dict(zip(factor.scope, factor.table.shape, strict=True))
    ordered = factor.over(tuple(name for name in scope if name in lengths)).table
    return ordered.reshape([lengths.get(name, 1) for name in scope])
