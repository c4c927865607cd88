"""The marginals, best states and counts of a slice's variables given the interface."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import numpy as np

from credo.networks.templates import slices
from credo.networks.templates.contraction import Scope, marginal
from credo.networks.templates.slice_chain import CodedSlices, EvidenceCases, Places, SliceChain
from credo.networks.templates.slice_factors import SliceFactors, distinct
from credo.networks.templates.slice_passes import Passed, SlicePasses, best_paths
from credo.numerics.arrays import Codes
from credo.numerics.exact import Array

NUMBERS_AT_ONCE = 2**22  # numbers in the joint tables of consecutive slices treated together


def marginals(chain: SliceChain, coded: CodedSlices, passed: Iterable[Passed], names: Scope) -> dict[str, Array]:
    """P(variable | rows) of each row. (rows, states)"""
    found, codes = dict[str, Array](), dict(zip(coded.names, coded.codes, strict=True))
    for name in names:
        size = chain.sizes[name]
        given = bool(((codes[name] >= 0) & (codes[name] < size)).all())  # observed in every row
        found[name] = np.eye(size)[codes[name]] if given else np.empty((coded.rows, size))
        names = tuple(each for each in names if each != name or not given)
    for own in passed:
        rows = slice(own.stretch.a, own.stretch.b)
        shares, of = own.shares, chain.later.interface
        joint = shares.reshape(len(shares), *(chain.sizes[name] for name in of))
        for name in names:
            if name in of:
                found[name][rows] = marginal(joint, of, (name,))
        for cases in own.seen.cases:
            for name in (name for name in cases.part.names if name in names):
                boundary = marginal(joint[cases.rows], of, cases.part.boundary)
                found[name][rows][cases.rows] = _given_boundary(cases, name, boundary, own)
        for cases in own.seen.coupled:
            wanted = [name for name in cases.part.names if name in names]
            boundary = _pairs_at(chain, own, cases) if wanted else np.empty(0)
            for name in wanted:
                found[name][rows][cases.rows] = _given_boundary(cases, name, boundary, own)
    return found


def _given_boundary(cases: EvidenceCases, name: str, boundary: Array, own: Passed) -> Array:
    """Σ P(boundary) P(variable | boundary, seen). (rows, states)"""
    table = cases.part.summed(cases.codes, own.seen.likelihoods, (*cases.part.boundary, name))
    table = table.reshape(len(table), -1, table.shape[-1])
    sums = table.sum(-1, keepdims=True)
    table = np.divide(table, sums, out=np.zeros_like(table), where=sums > 0)
    shares = boundary.reshape(len(boundary), -1)
    found = np.zeros((len(shares), table.shape[-1]))
    for b in range(shares.shape[1]):
        found += shares[:, b, None] * table[cases.which, b]
    return np.asarray(found / found.sum(1, keepdims=True))


def _pairs_at(chain: SliceChain, own: Passed, cases: EvidenceCases) -> Array:
    """P(the part's boundary, in the previous slice and this one | rows). (rows, states of each name)"""
    model, found = chain.later, list[Array]()
    size = max(1, NUMBERS_AT_ONCE // chain.states**2)
    for at in range(0, len(cases.rows), size):
        rows = cases.rows[at : at + size]
        seen = own.seen.logs[rows] + (0.0 if own.backward is None else own.backward[rows])
        left, right = own.forward[rows], seen - seen.max(1, keepdims=True)
        with np.errstate(divide="ignore"):
            logs = left[:, :, None] + np.log(own.seen.transitions[own.seen.keys[rows]]) + right[:, None]
        joint = np.exp(logs - logs.max((1, 2), keepdims=True))
        joint /= joint.sum((1, 2), keepdims=True)
        shape = [chain.sizes[name] for name in model.boundary]
        found.append(marginal(joint.reshape(len(rows), *shape), model.boundary, cases.part.boundary))
    return np.concatenate(found)


def expected_counts(chain: SliceChain, coded: CodedSlices) -> tuple[dict[str, Array], float]:
    """Σ weight · P(variable, parents | sequence) by the name of the table, and Σ weight · log p(sequence)."""
    passes = SlicePasses.of(chain, coded)
    counts: dict[str, Array] = {}
    for own in passes.smoothed(pairs=True):
        weight = np.repeat(coded.weight[own.stretch.own], np.diff(own.stretch.starts))
        shares = own.shares * weight[:, None]
        begins = own.stretch.starts[:-1][1 if own.stretch.continues else 0 :]
        _count_base(counts, chain, chain.first, shares[begins].sum(0))
        _count_base(counts, chain, chain.later, own.pairs.sum(0))
        of = chain.later.interface
        joint = shares.reshape(len(shares), *(chain.sizes[name] for name in of))
        for cases in own.seen.cases:
            boundary = marginal(joint[cases.rows], of, cases.part.boundary).reshape(len(cases.rows), -1)
            size = len(cases.codes[cases.part.names[0]])
            weights = np.zeros((size, boundary.shape[1]))
            for b, column in enumerate(boundary.T):
                weights[:, b] = np.bincount(cases.which, column, size)
            model = chain.first if cases.part in chain.first.emissions else chain.later
            _count_part(counts, chain, model, cases, weights, own)
        for cases in own.seen.coupled:
            shape = [chain.sizes[name] for name in chain.later.boundary]
            joined = own.pairs.reshape(len(own.pairs), *shape)
            weights = marginal(joined, chain.later.boundary, cases.part.boundary).reshape(len(joined), -1)
            _count_part(counts, chain, chain.later, cases, weights, own)
    counted = coded.weight > 0
    return counts, float(coded.weight[counted] @ passes.totals[counted])


def _count_base(counts: dict[str, Array], chain: SliceChain, model: SliceFactors, shares: Array) -> None:
    """Add the counts of tables over the boundary alone."""
    table = shares.reshape(1, *(model.sizes[each] for each in model.boundary))
    for variable, factor in model.base_factors.items():
        _add(counts, chain.label(variable, model), marginal(table, model.boundary, factor.scope)[0])


def _count_part(
    counts: dict[str, Array], chain: SliceChain, model: SliceFactors, cases: EvidenceCases, weights: Array, own: Passed
) -> None:
    """Add the counts of tables over a part's variables, given the weight of each state of its boundary in each case."""
    part, likelihoods = cases.part, own.seen.likelihoods
    sums = part.summed(cases.codes, likelihoods, part.boundary)
    shares = np.divide(weights.reshape(sums.shape), sums, out=np.zeros(sums.shape), where=sums > 0)
    for factor in part.factors:
        found = part.totals(cases.codes, likelihoods, factor.scope, (part.boundary, shares))
        _add(counts, chain.label(factor.scope[-1], model), found)


def _add(counts: dict[str, Array], name: str, more: Array) -> None:
    counts[name] = counts[name] + more if name in counts else more


def most_probable(chain: SliceChain, coded: CodedSlices) -> tuple[Codes, Array]:
    """The most probable states of all variables in all rows (Viterbi), and log p of each sequence. (names, rows)"""
    seen, path, logs = best_paths(chain, coded)
    likelihoods = chain.likelihoods_of(coded)
    found = {name: own.copy() for name, own in zip(coded.names, coded.codes, strict=True)}
    of = chain.later.interface
    if of:
        states = np.unravel_index(path, [chain.sizes[name] for name in of])
        found |= {name: own.astype(np.int32) for name, own in zip(of, states, strict=True)}
    known: dict[str, Codes] = dict(found)
    for name in of:
        known[slices.previous(name)] = np.append(np.int32(0), found[name][:-1]).astype(np.int32)
    for own, parts in seen:
        for cases in parts:
            _complete(chain, cases, own.a + cases.rows, known, likelihoods)
    return np.stack([known[name] for name in coded.names]), logs


def _complete(
    chain: SliceChain, cases: EvidenceCases, rows: Places, known: dict[str, Codes], likelihoods: Mapping[str, Array]
) -> None:
    """Complete the most probable states, one variable after another given those before."""
    part = cases.part
    boundary = {name: np.eye(chain.sizes[name]) for name in part.boundary}
    every = {name: likelihoods[name] for name in part.names} | boundary
    names = (*part.boundary, *part.names)
    own = {name: known[name][rows] for name in names}
    first, which = distinct([own[name] for name in names], [len(every[name]) for name in names])
    case = {name: own[name][first] for name in names}
    inside = type(part)(names, (), part.factors)
    for name in part.names:
        best = inside.summed(case, every, (name,), best=True).argmax(1).astype(np.int32)
        case[name] = best
        known[name][rows] = best[which]
