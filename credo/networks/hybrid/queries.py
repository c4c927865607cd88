"""Queries of hybrid networks: exact where that is possible, else estimated."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from itertools import product
from math import inf
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from credo.errors import EvidenceError, NetworkError, SchemaError, SizeError, check_seed
from credo.networks.answers import Estimated, EstimatedNumber, MostProbable
from credo.networks.explanation import QueryExplanation
from credo.networks.hybrid.answers import Answer, JointNumbers, NumberAnswer, covariance_roots, known_number
from credo.networks.hybrid.exact import ExactQuery
from credo.networks.hybrid.findings import HybridFindings, number_or_interval
from credo.networks.hybrid.likelihood_weighting import DEFAULT_DRAWS, drawn_particles
from credo.networks.inference.estimate import check_samples
from credo.networks.inference.findings import Given, allowed
from credo.networks.inference.sizes import LIKELIHOOD_WEIGHTING, InferenceOptions, Method, is_exact, needed
from credo.notices import tell
from credo.numerics.distributions import Normal
from credo.numerics.exact import Array

if TYPE_CHECKING:
    from credo.networks.answers import Posterior
    from credo.networks.hybrid.network import HybridNetwork

Result = TypeVar("Result")
DRAWN_AT_ONCE = 2**24  # numbers drawn at once to estimate all marginals
OTHERWISE = "otherwise"  # the state of a number outside the explained interval


def queried(
    net: HybridNetwork, variables: str | Sequence[str], given: Given, method: Method, samples: int, seed: int
) -> Answer:
    names = _names(net, variables)
    how = _how(method, samples, seed)
    if not net.numbers and not net.logistic:
        return net.category_network.query(variables, given, **how)
    findings = HybridFindings.of(net, given)
    if names[0] in net.states:
        return _of_categories(net, variables, names, findings, how)
    if len(names) == 1 and names[0] in findings.values:
        return known_number(findings.values[names[0]])

    def exact() -> Answer:
        if isinstance(variables, str):
            return ExactQuery.of(net, names, findings, how).number(variables)
        free = [name for name in names if name not in findings.values]
        found = ExactQuery.of(net, free, findings, how).numbers(free) if free else None
        return _with_known(names, found, findings)

    def estimated() -> Answer:
        together = not isinstance(variables, str)
        found = drawn_particles(net, names, findings, samples, seed, together)
        return found.numbers() if together else found.number(names[0])

    return answered(method, exact, estimated)


def _names(net: HybridNetwork, variables: str | Sequence[str]) -> list[str]:
    net._check_nodes()
    if not isinstance(variables, Collection):
        raise SchemaError(f"a query must be about a name, or a list of names, not about {variables!r}")
    names = [variables] if isinstance(variables, str) else [*variables]
    if not names or len({*names}) < len(names):
        raise SchemaError(f"a query must name variables, each once, but names {', '.join(map(str, names)) or 'none'}")
    for name in names:
        net._known(name)
    if len({name in net.numbers for name in names}) > 1:
        number = next(name for name in names if name in net.numbers)
        raise SchemaError(
            f"{number!r} is a number, and others are categories: ask for them one after the other, giving the first "
            "as evidence to the second"
        )
    return names


def _how(method: Method, samples: int, seed: int) -> InferenceOptions:
    check_seed(seed)
    check_samples(samples)
    if not is_exact(method) and method != LIKELIHOOD_WEIGHTING:
        raise NetworkError(f"a network with numbers is estimated by method={LIKELIHOOD_WEIGHTING!r}, not by {method!r}")
    return {"method": method, "samples": samples, "seed": seed}


def answered(method: Method, exact: Callable[[], Result], estimated: Callable[[], Result]) -> Result:
    """The exact answer; under "auto", an estimate with a notice if there is none."""
    if method == LIKELIHOOD_WEIGHTING:
        return _with_reliability_notice(estimated())
    try:
        return exact()
    except SizeError as error:
        if method == "exact":
            raise
        found = estimated()
        tell(f"{needed(error)}: estimated by {LIKELIHOOD_WEIGHTING} instead, with standard errors")
        return _with_reliability_notice(found)


def _with_reliability_notice(found: Result) -> Result:
    if not getattr(found, "reliable", True):
        tell("the estimate is unreliable: a few samples carry nearly all the weight; increase samples=")
    return found


def _of_categories(
    net: HybridNetwork,
    variables: str | Sequence[str],
    names: list[str],
    findings: HybridFindings,
    how: InferenceOptions,
) -> Posterior:
    free = [name for name in names if name not in findings.states]
    states = [net.states[name] for name in names]
    keys = [*states[0]] if isinstance(variables, str) else [*product(*states)]

    def exact() -> Posterior:
        found = ExactQuery.of(net, free, findings, how).states(free) if free else {(): 1.0}
        if isinstance(found, Estimated) and free == names:
            return found if not isinstance(variables, str) else _unpacked_keys(found)
        table = np.zeros([len(each) for each in states])
        where = tuple(slice(None) if name in free else findings.states[name] for name in names)
        table[where] = np.array([*found.values()]).reshape([len(net.states[name]) for name in free])
        return dict(zip(keys, table.reshape(-1).tolist(), strict=True))

    def estimated() -> Posterior:
        return drawn_particles(net, names, findings, how["samples"], how["seed"]).states(net, names, keys)

    return answered(how["method"], exact, estimated)


def _unpacked_keys(found: Estimated) -> Estimated:
    """The answer with keys of one name unpacked from their tuples."""
    one = Estimated((key[0], p) for key, p in found.items())
    one.__dict__.update(found.__dict__)
    one.standard_error = {key[0]: error for key, error in found.standard_error.items()}
    return one


def _with_known(names: Sequence[str], found: JointNumbers | None, findings: HybridFindings) -> JointNumbers:
    """The answer extended by the given numbers, which don't vary."""
    if found is not None and found.names == tuple(names):
        return found
    parts = 1 if found is None else len(found.shares)
    means, covariances = np.zeros((parts, len(names))), np.zeros((parts, len(names), len(names)))
    free = np.array([j for j, name in enumerate(names) if name not in findings.values], dtype=np.intp)
    for j, name in enumerate(names):
        means[:, j] = findings.values.get(name, 0.0)
    if found is not None:
        means[:, free] = found.means
        covariances[np.ix_(np.arange(parts), free, free)] = found.covariances
    return JointNumbers(tuple(names), np.ones(1) if found is None else found.shares, means, covariances)


def all_marginals(net: HybridNetwork, given: Given, method: Method, samples: int, seed: int) -> dict[str, Any]:
    net._check_nodes()
    how = _how(method, samples, seed)
    if not net.numbers and not net.logistic:
        return dict(net.category_network.marginals(given, **how))
    findings = HybridFindings.of(net, given)
    known = findings.hard
    asked = [name for name in net.parents if name not in known]

    def exact() -> dict[str, Any]:
        found: dict[str, Any] = {}
        inference = ExactQuery.of(net, asked, findings, how)
        if any(name in net.states for name in asked):
            found |= inference.all_states()
        for solution in inference.solutions:
            found |= _numbers_of(inference, solution)
        return _in_order(net, found, findings)

    def estimated() -> dict[str, Any]:
        found: dict[str, Any] = {}
        some = max(1, DRAWN_AT_ONCE // samples)
        for start in range(0, len(asked), some):
            own = asked[start : start + some]
            drawn = drawn_particles(net, own, findings, samples, seed, joint=False)
            found |= {name: drawn.number(name) for name in drawn.names}
            for name in (name for name in own if name in net.states):
                found[name] = drawn.states(net, [name], net.states[name])
        return _in_order(net, found, findings)

    return answered(method, exact, estimated)


def _numbers_of(inference: ExactQuery, solution: Any) -> dict[str, NumberAnswer]:
    """The distribution of each number of a component."""
    component = solution.component
    if solution.inside is not None:
        return {name: inference.number(name) for name in component.unknown}
    shares = inference.shares(component.switches)
    sd, mean = np.sqrt(solution.solved.variances()), solution.solved.mean
    return {name: NumberAnswer(shares, Normal(mean[:, j], sd[:, j])) for name, j in component.places.items()}


def _in_order(net: HybridNetwork, found: dict[str, Any], findings: HybridFindings) -> dict[str, Any]:
    for name, value in findings.values.items():
        found[name] = known_number(value)
    for name, code in findings.states.items():
        found[name] = {state: float(i == code) for i, state in enumerate(net.states[name])}
    return {name: found[name] for name in net.parents}


# Probabilities of events and findings


def chance(net: HybridNetwork, event: Given, given: Given, method: Method, samples: int, seed: int) -> float:
    """P(event | given) by the chain rule: states first, then one interval after another."""
    net._check_nodes()
    how = _how(method, samples, seed)
    if not net.numbers and not net.logistic:
        return net.category_network.probability(event, given, **how)
    if not isinstance(event, Mapping):
        raise EvidenceError(f"an event is {{name: state or interval}}, but is {event!r:.60}")
    findings = HybridFindings.of(net, given)
    happens = _allowed(net, {name: value for name, value in event.items() if name not in net.numbers})
    intervals = _intervals(net, event)

    def exact() -> float:
        so_far, p = findings, 1.0
        if happens:
            p, so_far = _states_happen(net, happens, findings, how)
        for name, (low, high) in intervals.items():
            if p == 0.0:
                break
            if name in so_far.values:
                p *= float(low < so_far.values[name] < high)
                continue
            p *= ExactQuery.of(net, [name], so_far, how).number(name).probability(low, high)
            before = so_far.intervals.get(name, (-inf, inf))
            both = (max(low, before[0]), min(high, before[1]))
            so_far = replace(so_far, intervals={**so_far.intervals, name: both})
        return min(max(p, 0.0), 1.0)

    def estimated() -> float:
        return _estimated_chance(net, happens, intervals, findings, samples, seed)

    return answered(method, exact, estimated)


def _allowed(net: HybridNetwork, event: Mapping[str, Any]) -> dict[str, Any]:
    """The states that an event allows, for each of its categories."""
    for name in event:
        net._known(name)
    names = [*net.states]
    return {names[v]: flags for v, flags in (allowed(net.category_index, event) if event else {}).items()}


def _intervals(net: HybridNetwork, event: Mapping[str, Any]) -> dict[str, tuple[float, float]]:
    found: dict[str, tuple[float, float]] = {}
    for name in (name for name in event if name in net.numbers):
        read = number_or_interval(name, event[name])
        if isinstance(read, float):
            raise EvidenceError(f"the event that {name!r} is {read:g} exactly has probability 0: give an interval")
        if read is not None:
            found[name] = read
    return found


def _states_happen(
    net: HybridNetwork, happens: Mapping[str, Any], findings: HybridFindings, how: InferenceOptions
) -> tuple[float, HybridFindings]:
    """P(the event's states | findings), and the findings extended by these states."""
    likelihoods, free = dict(findings.likelihoods), list[str]()
    for name, flags in happens.items():
        if name in findings.states:
            if not flags[findings.states[name]]:
                return 0.0, findings
            continue
        free.append(name)
        before = likelihoods.get(name, dict.fromkeys(net.states[name], 1.0))
        likelihoods[name] = {s: w * float(f) for (s, w), f in zip(before.items(), flags, strict=True)}
        if not any(likelihoods[name].values()):
            return 0.0, findings
    if not free:
        return 1.0, findings
    table = np.array([*ExactQuery.of(net, free, findings, how).states(free).values()])
    table = table.reshape([len(net.states[name]) for name in free])
    p = float(table[np.ix_(*(happens[name] for name in free))].sum())
    return p, replace(findings, likelihoods=likelihoods)


def _estimated_chance(
    net: HybridNetwork, happens: Mapping[str, Any], intervals: Mapping[str, Any], findings: HybridFindings,
    samples: int, seed: int,
) -> EstimatedNumber:  # fmt: skip
    """The weight of the draws in which the event happens; for its first interval, the probability mass given each
    draw."""
    from scipy.special import ndtr

    drawn = drawn_particles(net, [*happens, *intervals], findings, samples, seed)
    hit = np.ones(samples)
    for name, flags in happens.items():
        hit *= flags[drawn.codes[name]]
    names = [name for name in drawn.names if name in intervals]
    points: Array = drawn.means
    if len(names) > 1:
        assert drawn.covariances is not None
        random = np.random.default_rng([seed, 1])
        roots = covariance_roots(drawn.covariances)
        points = points + (roots @ random.standard_normal((*points.shape, 1)))[..., 0]
    for name in names:
        j, (low, high) = drawn.names.index(name), intervals[name]
        variance = drawn.variances[:, j]
        if len(names) == 1 and (variance > 0).all():
            sd = np.sqrt(variance)
            hit *= ndtr((high - points[:, j]) / sd) - ndtr((low - points[:, j]) / sd)
        else:
            hit *= (points[:, j] > low) & (points[:, j] < high)
    return drawn.number_of(hit)


def log_evidence(net: HybridNetwork, given: Given, method: Method, samples: int, seed: int) -> float:
    net._check_nodes()
    how = _how(method, samples, seed)
    if not net.numbers and not net.logistic:
        return net.category_network.log_probability(given, **how)
    findings = HybridFindings.of(net, given)
    if not findings.names:
        return 0.0

    def exact() -> float:
        try:
            return ExactQuery.of(net, (), findings, how).log_probability()
        except EvidenceError:
            return -inf

    def estimated() -> float:
        found = drawn_particles(net, (), findings, samples, seed)
        error = 1.0 / np.sqrt(found.effective)
        value = found.log_total + findings.log_scale
        return EstimatedNumber(value, float(error), found.effective, LIKELIHOOD_WEIGHTING, found.reliable)

    return answered(method, exact, estimated)


def most_probable(net: HybridNetwork, variables: Sequence[str] | None, given: Given) -> MostProbable:
    net._check_nodes()
    findings = HybridFindings.of(net, given)
    names = [*net.parents] if variables is None else [variables] if isinstance(variables, str) else [*variables]
    free = [net._known(name) for name in names if name not in findings.hard]
    how: InferenceOptions = {"method": "exact"}
    categories = [name for name in free if name in net.states]
    inference = ExactQuery.of(net, free, findings, how)
    best, log_share = inference.best(categories, everything=variables is None)
    states = findings.states | {name: net.states[name].index(state) for name, state in best.items()}
    likelihoods = {name: each for name, each in findings.likelihoods.items() if name not in best}
    then = replace(findings, states=states, likelihoods=likelihoods)
    found: dict[str, Any] = {name: net.states[name][code] for name, code in states.items()} | then.values
    numbers = [name for name in free if name in net.numbers]
    if numbers:
        after = ExactQuery.of(net, numbers, then, how)
        for solution in after.solutions:
            means = after.shares(solution.component.switches) @ solution.several(solution.component.unknown)[0]
            found |= dict(zip(solution.component.unknown, means.tolist(), strict=True))
    told = MostProbable((name, found[name]) for name in names)
    # All findings must be possible together, including those irrelevant to these variables.
    told.log_joint = log_evidence(net, given, "auto", DEFAULT_DRAWS, 0) + log_share
    return told


def explained(net: HybridNetwork, variable: str, given: Given, value: Any) -> QueryExplanation:
    net._check_nodes()
    known = {name: finding for name, finding in (given or {}).items() if finding is not None}
    if net._known(variable) in known:
        raise EvidenceError(f"{variable!r} is given: there is nothing to explain")
    if variable in net.numbers:
        read = number_or_interval(variable, value)
        if not isinstance(read, tuple):
            raise EvidenceError(f"{variable!r} is a number: explain an interval of it, as in (39, None)")

        def ask(some: Mapping[str, object]) -> Posterior:
            p = chance(net, {variable: read}, some, "exact", 1, 0)
            return {value: p, OTHERWISE: 1.0 - p}

        return QueryExplanation.by(ask, variable, known, value)

    def states(some: Mapping[str, object]) -> Posterior:
        found = net.query(variable, some, method="exact")
        assert isinstance(found, dict)
        return found

    if value is not None:
        flags = allowed(net.category_index, {variable: value})
        (place,) = (np.flatnonzero(each) for each in flags.values())
        value = net.states[variable][int(place[0])]
    return QueryExplanation.by(states, variable, known, value)
