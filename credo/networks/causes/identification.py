"""Identification of causal effects: back-door adjustment, front-door adjustment, or the general algorithm."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from itertools import combinations
from typing import Literal

from credo.core.records import Shown
from credo.networks.causes.c_factors import Hedge, identified
from credo.networks.causes.estimand import ConditionalProbability, Expression, product_of, quotient_of, sum_of, written
from credo.networks.causes.projection import Projection
from credo.networks.graph import Parents, children, connected, reached
from credo.networks.smallest_separator import smallest_separator

Way = Literal["no causal path", "back-door", "front-door", "c-components", ""]
MOST_MEDIATORS = 4  # variables of a front-door set
MOST_MEDIATOR_CANDIDATES = 14  # variables searched for a front-door set


@dataclass(frozen=True)
class Identification(Shown):
    """How P(outcomes | do(causes)) follows from the distribution of the observed variables, or why it doesn't."""

    causes: tuple[str, ...]
    outcomes: tuple[str, ...]
    way: Way  # empty if not identifiable
    estimand: Expression | None
    adjustment: tuple[str, ...] = ()  # the back-door set, or the mediators of the front door
    hedge: Hedge | None = None
    given: tuple[str, ...] = ()  # variables that define a subpopulation

    @property
    def identifiable(self) -> bool:
        return self.estimand is not None

    @property
    def wanted(self) -> str:
        """
        >>> Identification(("Drug",), ("Recovery",), "", None).wanted
        'P(Recovery | do(Drug))'
        """
        done = f"do({', '.join(self.causes)})"
        return f"P({', '.join(self.outcomes)} | {', '.join([done, *self.given])})"

    @property
    def formula(self) -> str:
        """The estimand in textbook notation."""
        if self.estimand is None:
            return ""
        return f"{self.wanted} = {written(self.estimand, (*self.causes, *self.outcomes, *self.given))}"

    @property
    def reason(self) -> str:
        """One sentence: what makes the effect identifiable, or what prevents it."""
        several = ", ".join(self.adjustment)
        match self.way:
            case "no causal path":
                return f"no directed path leads from {_listed(self.causes)} to {_listed(self.outcomes)}: no effect"
            case "back-door" if not several:
                known = f" given {_listed(self.given)}" if self.given else ""
                return f"no adjustment: no path that begins with an arrow into the cause is open{known}"
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
    parents: Parents,
    hidden: Collection[str],
    causes: tuple[str, ...],
    outcomes: tuple[str, ...],
    given: tuple[str, ...] = (),
) -> Identification:
    """The simplest identification. `parents` includes the hidden variables."""
    after = reached(causes, children(parents))
    if not after & {*outcomes, *given}:
        return Identification(causes, outcomes, "no causal path", ConditionalProbability(outcomes, given), given=given)
    adjustment = None if after & {*given} else back_door(parents, hidden, causes, outcomes, given)
    if adjustment is not None:
        estimand: Expression = ConditionalProbability(outcomes, (*causes, *given, *adjustment))
        if adjustment:
            estimand = sum_of(adjustment, product_of([estimand, ConditionalProbability(adjustment, given)]))
        return Identification(causes, outcomes, "back-door", estimand, adjustment, given=given)
    if given:
        return _conditional(parents, hidden, causes, outcomes, given)
    mediators = front_door(parents, hidden, causes, outcomes)
    if mediators is not None:
        inner = product_of([ConditionalProbability(outcomes, (*causes, *mediators)), ConditionalProbability(causes)])
        outer = product_of([ConditionalProbability(mediators, causes), sum_of(causes, inner)])
        return Identification(causes, outcomes, "front-door", sum_of(mediators, outer), mediators)
    found = identified(Projection.of(parents, hidden), frozenset(causes), frozenset(outcomes))
    if isinstance(found, Hedge):
        return Identification(causes, outcomes, "", None, hedge=found)
    return Identification(causes, outcomes, "c-components", found)


def _conditional(
    parents: Parents,
    hidden: Collection[str],
    causes: tuple[str, ...],
    outcomes: tuple[str, ...],
    given: tuple[str, ...],
) -> Identification:
    """P(y | do(x), z) = P(y, z | do(x)) / P(z | do(x)); first, each z that can be exchanged for an intervention joins x
    (Shpitser and Pearl 2006, IDC)."""
    done, seen = list(causes), list(given)
    while moved := next((name for name in seen if _can_be_set_instead(parents, done, outcomes, seen, name)), None):
        seen.remove(moved)
        done.append(moved)
    found = identified(Projection.of(parents, hidden), frozenset(done), frozenset((*outcomes, *seen)))
    if isinstance(found, Hedge):
        return Identification(causes, outcomes, "", None, hedge=found, given=given)
    whole = quotient_of(found, sum_of(outcomes, found)) if seen else found
    return Identification(causes, outcomes, "c-components", whole, given=given)


def _can_be_set_instead(
    parents: Parents, done: Collection[str], outcomes: Collection[str], seen: Collection[str], name: str
) -> bool:
    """Whether observing a variable is equivalent to setting it (rule 2 of the do-calculus): no back-door path leads
    from it to the outcomes."""
    cut = {
        each: () if each in done else tuple(parent for parent in own if parent != name) for each, own in parents.items()
    }
    return not connected([name], {*done, *seen} - {name}, cut) & {*outcomes}


def back_door(
    parents: Parents,
    hidden: Collection[str],
    causes: Collection[str],
    outcomes: Collection[str],
    given: Collection[str] = (),
) -> tuple[str, ...] | None:
    """The fewest observed variables that, with those given, block all back-door paths; none is a descendant of a
    cause."""
    after = reached(causes, children(parents))
    allowed = {name for name in parents if name not in after and name not in hidden and name not in outcomes}
    cut = {name: tuple(each for each in own if each not in causes) for name, own in parents.items()}
    found = smallest_separator(causes, outcomes, given, allowed, cut)
    return None if found is None else tuple(name for name in parents if name in found and name not in given)


def front_door(
    parents: Parents, hidden: Collection[str], causes: tuple[str, ...], outcomes: tuple[str, ...]
) -> tuple[str, ...] | None:
    """The fewest observed variables that intercept all directed paths, have no common causes with the cause, and none
    with the outcome that the cause doesn't block (Pearl 1995)."""
    if len(causes) > 1 or len(outcomes) > 1:
        return None
    below = children(parents)
    after, before = reached(causes, below), reached(outcomes, parents)
    between = (after & before) - {*causes, *outcomes}
    known = [name for name in parents if name in between and name not in hidden]
    if len(known) > MOST_MEDIATOR_CANDIDATES:
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
