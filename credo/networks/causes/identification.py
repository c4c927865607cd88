"""Whether and how an effect follows from what is observed: adjustment, mediators, or the general algorithm."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from itertools import combinations
from typing import Literal

from credo.networks.causes.c_factors import Hedge, identified
from credo.networks.causes.estimand import Conditional, Expression, product_of, sum_of, written
from credo.networks.causes.projection import Projection
from credo.networks.graph import Parents, children, connected, reached
from credo.networks.separation import smallest_separator

Way = Literal["no causal path", "back-door", "front-door", "c-components", ""]
MOST_MEDIATORS = 4  # of a front-door set
CANDIDATES = 14  # variables among which mediators are looked for


@dataclass(frozen=True)
class Identification:
    """How P(outcomes | do(causes)) follows from the distribution of the observed variables, or why it doesn't."""

    causes: tuple[str, ...]
    outcomes: tuple[str, ...]
    way: Way  # empty: not identifiable
    estimand: Expression | None
    adjustment: tuple[str, ...] = ()  # the back-door set, or the mediators of the front door
    hedge: Hedge | None = None

    @property
    def identifiable(self) -> bool:
        return self.estimand is not None

    @property
    def wanted(self) -> str:
        """
        >>> Identification(("Drug",), ("Recovery",), "", None).wanted
        'P(Recovery | do(Drug))'
        """
        return f"P({', '.join(self.outcomes)} | do({', '.join(self.causes)}))"

    @property
    def formula(self) -> str:
        """The estimand, as in books."""
        if self.estimand is None:
            return ""
        return f"{self.wanted} = {written(self.estimand, (*self.causes, *self.outcomes))}"

    @property
    def reason(self) -> str:
        """One sentence: what makes the effect identifiable, or what prevents it."""
        several = ", ".join(self.adjustment)
        match self.way:
            case "no causal path":
                return f"no directed path leads from {_listed(self.causes)} to {_listed(self.outcomes)}: no effect"
            case "back-door" if not several:
                return "back-door adjustment for nothing: cause and outcome have no common causes"
            case "back-door":
                return (
                    f"back-door adjustment for {several}: all paths that begin with an arrow into the cause are blocked"
                )
            case "front-door":
                return f"front-door adjustment by {several}, through which all of the effect passes"
            case "c-components":
                return "the general identification algorithm, over sets of variables joined by hidden common causes"
        assert self.hedge is not None
        outer, inner = (", ".join(sorted(each)) for each in (self.hedge.outer, self.hedge.inner))
        return (
            f"{self.wanted} isn't identifiable from observed data: hidden common causes join {outer}, and the "
            f"intervention leaves {inner} of them (a hedge), so models that agree on all that is observed differ in "
            "the effect; observe a common cause, or a mediator that has none"
        )

    def __bool__(self) -> bool:
        return self.identifiable

    def __repr__(self) -> str:
        return f"{self.formula}\n  {self.reason}" if self.identifiable else self.reason


def _listed(names: Collection[str]) -> str:
    return " and ".join(names)


def identify(
    parents: Parents, hidden: Collection[str], causes: tuple[str, ...], outcomes: tuple[str, ...]
) -> Identification:
    """The simplest way that there is. `parents` has the hidden variables, too."""
    below = children(parents)
    if not reached(causes, below) & {*outcomes}:
        return Identification(causes, outcomes, "no causal path", Conditional(outcomes))
    adjustment = back_door(parents, hidden, causes, outcomes)
    if adjustment is not None:
        estimand: Expression = Conditional(outcomes, (*causes, *adjustment))
        if adjustment:
            estimand = sum_of(adjustment, product_of([estimand, Conditional(adjustment)]))
        return Identification(causes, outcomes, "back-door", estimand, adjustment)
    mediators = front_door(parents, hidden, causes, outcomes)
    if mediators is not None:
        inner = product_of([Conditional(outcomes, (*causes, *mediators)), Conditional(causes)])
        outer = product_of([Conditional(mediators, causes), sum_of(causes, inner)])
        return Identification(causes, outcomes, "front-door", sum_of(mediators, outer), mediators)
    found = identified(Projection.of(parents, hidden), frozenset(causes), frozenset(outcomes))
    if isinstance(found, Hedge):
        return Identification(causes, outcomes, "", None, hedge=found)
    return Identification(causes, outcomes, "c-components", found)


def back_door(
    parents: Parents, hidden: Collection[str], causes: Collection[str], outcomes: Collection[str]
) -> tuple[str, ...] | None:
    """The fewest observed variables that block all paths into the causes, none of them an effect of these."""
    after = reached(causes, children(parents))
    allowed = {name for name in parents if name not in after and name not in hidden and name not in outcomes}
    cut = {name: tuple(each for each in own if each not in causes) for name, own in parents.items()}
    found = smallest_separator(causes, outcomes, (), allowed, cut)
    return None if found is None else tuple(name for name in parents if name in found)


def front_door(
    parents: Parents, hidden: Collection[str], causes: tuple[str, ...], outcomes: tuple[str, ...]
) -> tuple[str, ...] | None:
    """The fewest observed variables that intercept all directed paths, have no common causes with the cause, and none
    with the outcome that the cause doesn't block (Pearl 1995)."""
    if len(causes) > 1 or len(outcomes) > 1:
        return None
    below = children(parents)
    between = (reached(causes, below) & reached(outcomes, parents)) - {*causes, *outcomes}
    known = [name for name in parents if name in between and name not in hidden]
    if len(known) > CANDIDATES:
        return None
    for size in range(1, min(MOST_MEDIATORS, len(known)) + 1):
        for mediators in combinations(known, size):
            if _is_front_door(parents, causes, outcomes, mediators):
                return mediators
    return None


def _is_front_door(
    parents: Parents, causes: tuple[str, ...], outcomes: tuple[str, ...], mediators: tuple[str, ...]
) -> bool:
    past = {name: [each for each in own if each not in mediators] for name, own in children(parents).items()}
    if reached(causes, past) & {*outcomes}:
        return False
    without = {name: tuple(each for each in own if each not in causes) for name, own in parents.items()}
    if connected(causes, (), without) & {*mediators}:
        return False
    behind = {name: tuple(each for each in own if each not in mediators) for name, own in parents.items()}
    return not connected(mediators, causes, behind) & {*outcomes}
