"""The general identification algorithm, by c-factors: Q[C] = P(C | do(all others)).

P(y | do(x)) = Σ ∏ Q[Dᵢ], the sum over D without y: D are the ancestors of y once x is cut off, and Dᵢ its c-components
(Tian and Pearl 2002). Each Q[Dᵢ] is found inside the c-component that holds it, or a hedge shows that it isn't
identifiable (Shpitser and Pearl 2006; Huang and Valtorta 2006).
"""

from __future__ import annotations

from dataclasses import dataclass

from credo.networks.causes.estimand import ConditionalProbability, Expression, free, product_of, quotient_of, sum_of
from credo.networks.causes.projection import Component, Projection


@dataclass(frozen=True)
class Hedge:
    """A pair of nested c-components with the same roots (a hedge): the effect isn't identifiable."""

    outer: Component
    inner: Component


def identified(graph: Projection, causes: frozenset[str], outcomes: frozenset[str]) -> Expression | Hedge:
    """P(outcomes | do(causes)) as an expression of P(observed variables), or the hedge that prevents it."""
    relevant = graph.ancestors(outcomes | causes)
    wanted = graph.ancestors(outcomes, {*graph.parents} - causes)
    wholes, terms = graph.components(relevant), list[Expression]()
    for part in graph.components(wanted):
        whole = next(each for each in wholes if part <= each)
        found = _c_factor_of_part(graph, part, whole, _observed_c_factor(graph, whole, relevant))
        if isinstance(found, Hedge):
            return found
        terms.append(found)
    order = [name for name in graph.order if name in wanted - outcomes]
    found = sum_of(reversed(order), product_of(reversed(terms)))
    more = [name for name in graph.order if name in free(found) - causes - outcomes]
    if not more:
        return found
    # The same for all states of these variables: averaging over them is one of many estimators, and uses all rows.
    return sum_of(more, product_of([ConditionalProbability(tuple(more)), found]))


def _observed_c_factor(graph: Projection, whole: Component, relevant: frozenset[str]) -> Expression:
    """Q[S] = ∏ P(v | earlier variables that v depends on), for a c-component S of the observed variables."""
    part = Projection(
        {name: own for name, own in graph.parents.items() if name in relevant},
        frozenset(pair for pair in graph.confounded if pair <= relevant),
    )
    return product_of(
        ConditionalProbability((name,), part.pillow(name)) for name in reversed(part.order) if name in whole
    )


def _c_factor_of_part(graph: Projection, part: Component, whole: Component, known: Expression) -> Expression | Hedge:
    """Q[part], from Q[whole]."""
    above = graph.ancestors(part, whole)
    if above == part:
        return sum_of(_latest(graph, whole - part), known)
    if above == whole:
        return Hedge(whole, part)
    smaller = sum_of(_latest(graph, whole - above), known)
    next_whole = next(each for each in graph.components(above) if part <= each)
    order = [name for name in graph.order if name in above]
    terms: list[Expression] = []
    for i, name in enumerate(order):
        if name in next_whole:
            upto = sum_of(reversed(order[i + 1 :]), smaller)
            before = sum_of(reversed(order[i:]), smaller)
            terms.append(quotient_of(upto, before))
    return _c_factor_of_part(graph, part, next_whole, product_of(reversed(terms)))


def _latest(graph: Projection, names: Component) -> list[str]:
    """The last in the order first: a variable on which no other depends sums to 1."""
    return [name for name in reversed(graph.order) if name in names]
