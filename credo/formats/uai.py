"""UAI, the format of the inference competitions: BAYES and MARKOV networks in numbers alone.

It has no names: variables are x0, x1, ... and states 0, 1, ... . A notice reports that names are lost.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any

import numpy as np

from credo.errors import NetworkError
from credo.formats.draft import FILE_SUM_TOLERANCE, MOST_IMPLIED_NUMBERS, MOST_PARENTS_IN_FILE, Draft, DraftNode, many
from credo.formats.files import FilePath, read_text
from credo.formats.scanner import Scanner, shown, tokens_of
from credo.networks import graph
from credo.networks.factor import Factor
from credo.networks.markov_network import MarkovNetwork
from credo.networks.network import Network
from credo.notices import tell
from credo.numerics.exact import Array

TOKENS = tokens_of(r"\s++|#[^\n]*+", r"#", r'[^\s#"]++')
MOST_INTEGER_DIGITS = 15

Scoped = tuple[tuple[int, ...], Array, int]  # variables, table, and the place of its numbers


def read(text: str, file: str) -> Network | MarkovNetwork:
    """A BAYES file whose tables aren't P(last | others), one for each variable, is a Markov network."""
    scanner = Scanner(text, file, TOKENS)
    word = scanner.take()
    kind = word[:10].upper()
    if kind not in {"BAYES", "MARKOV"}:
        raise scanner.fault(0, f"expected BAYES or MARKOV, but found {shown(word)}")
    sizes = _sizes(scanner)
    factors = _factors(scanner, sizes)
    if word := scanner.peek():
        raise scanner.fault(scanner.at, f"expected the end of the file, but found {shown(word)}")
    used = {i for scope, _, _ in factors for i in scope}
    if sum(size for i, size in enumerate(sizes) if i not in used) > MOST_IMPLIED_NUMBERS:
        raise NetworkError(f"{file}: variables without a table have more than {MOST_IMPLIED_NUMBERS} states in all")
    states = {f"x{i}": tuple(range(size)) for i, size in enumerate(sizes)}
    if kind == "BAYES" and _is_directed(factors, len(sizes)):
        return _directed(factors, states, Draft(file, scanner.fault))
    if kind == "BAYES":
        tell(
            f"{file} says BAYES, but its tables aren't P(variable | parents), one each: it is read as a Markov network"
        )
    return MarkovNetwork(states, [Factor(tuple(f"x{i}" for i in scope), table) for scope, table, _ in factors])


def write(network: Network | MarkovNetwork) -> str:
    numbers = {name: i for i, name in enumerate(network.variables)}
    if any(
        name != f"x{i}" or network.states[name] != tuple(range(len(network.states[name])))
        for name, i in numbers.items()
    ):
        tell("UAI files have no names: variables become x0, x1, ... and states 0, 1, ... in their order")
    lines = ["BAYES" if isinstance(network, Network) else "MARKOV", str(len(numbers))]
    lines += [" ".join(str(len(network.states[name])) for name in numbers), str(len(network.factors))]
    for factor in network.factors:
        lines.append(" ".join(map(str, [len(factor.scope), *(numbers[name] for name in factor.scope)])))
    for factor in network.factors:
        lines += ["", str(factor.table.size), " " + " ".join(map(repr, factor.table.ravel().tolist()))]
    return "\n".join([*lines, ""])


def read_evidence(path: FilePath, network: Network | MarkovNetwork) -> dict[str, Any]:
    """The evidence in a .uai.evid file: {variable: state}.

    The file has the number of observed variables, then the index and the state of each. The number of samples may
    precede it, if it is 1.
    """
    scanner = Scanner(read_text(path), str(path), TOKENS)
    numbers = []
    while scanner.peek():
        numbers += _integers(scanner, 1, "whole numbers")
    start = 1 if len(numbers) % 2 == 0 and numbers[:1] == [1] else 0  # 1 + 2n numbers, or the samples before them
    pairs = numbers[start + 1 :]
    if numbers and len(pairs) != 2 * numbers[start]:
        raise NetworkError(
            f"{path} must have the number of observed variables, then a variable and a state for each, "
            f"but has {len(numbers)} numbers; give one sample at a time"
        )
    return dict(_observed(scanner, network, start + 1, pairs))


def _observed(
    scanner: Scanner, network: Network | MarkovNetwork, start: int, pairs: Sequence[int]
) -> list[tuple[str, Any]]:
    found = []
    for i in range(0, len(pairs), 2):
        variable, state = pairs[i : i + 2]
        if variable >= len(network.variables):
            there = len(network.variables)
            raise scanner.fault(start + i, f"there is no variable {variable}; there are {there}, from 0 on")
        name = network.variables[variable]
        if state >= len(network.states[name]):
            there = len(network.states[name])
            raise scanner.fault(start + i + 1, f"variable {variable} has no state {state}; it has {there}, from 0 on")
        found.append((name, network.states[name][state]))
    return found


def _sizes(scanner: Scanner) -> list[int]:
    (count,) = _integers(scanner, 1, "numbers of variables")
    at = scanner.at
    if not count:
        raise scanner.fault(at - 1, "a network must have at least one variable")
    sizes = _integers(scanner, count, "numbers of states")
    if 0 in sizes:
        raise scanner.fault(at + sizes.index(0), "a variable must have at least one state")
    return sizes


def _factors(scanner: Scanner, sizes: Sequence[int]) -> list[Scoped]:
    (count,) = _integers(scanner, 1, "numbers of tables")
    scopes: list[tuple[int, ...]] = []
    while len(scopes) < count:
        at = scanner.at
        (length,) = _integers(scanner, 1, "lengths of scopes")
        scope = tuple(_integers(scanner, length, "variables"))
        if len(scope) > MOST_PARENTS_IN_FILE + 1 or len(set(scope)) < len(scope) or max(scope, default=0) >= len(sizes):
            raise scanner.fault(
                at,
                f"a table must be about at most {MOST_PARENTS_IN_FILE + 1} different variables, "
                f"from 0 to {len(sizes) - 1}",
            )
        scopes.append(scope)
    return [_factor(scanner, scope, tuple(sizes[i] for i in scope)) for scope in scopes]


def _factor(scanner: Scanner, scope: tuple[int, ...], shape: tuple[int, ...]) -> Scoped:
    at = scanner.at
    (size,) = _integers(scanner, 1, "lengths of tables")
    if size != prod(shape):
        about = f"the variables {', '.join(map(str, scope[:8]))}{', ...' if len(scope) > 8 else ''}"
        raise scanner.fault(at, f"the table of {about} must have {many(prod(shape))} numbers, but has {size}")
    table = scanner.numbers(scanner.exactly(size, "numbers"), (at + 1).__add__)
    if not (np.isfinite(table).all() and (table >= 0).all()):
        bad = int(np.nonzero(~(np.isfinite(table) & (table >= 0)))[0][0])
        raise scanner.fault(at + 1 + bad, f"expected a number of at least 0, but found {table[bad]:g}")
    return scope, table.reshape(shape), at + 1


def _integers(scanner: Scanner, count: int, what: str) -> list[int]:
    at = scanner.at
    words = scanner.exactly(count, what)
    for i, word in enumerate(words):
        if not (word.isascii() and word.isdecimal() and len(word) <= MOST_INTEGER_DIGITS):
            raise scanner.fault(at + i, f"expected whole numbers ({what}), but found {shown(word)}")
    return list(map(int, words))


def _is_directed(factors: Sequence[Scoped], count: int) -> bool:
    """Whether each table is P(last | others), one for each variable, without cycles."""
    if {scope[-1] for scope, _, _ in factors if scope} != set(range(count)) or len(factors) != count:
        return False
    with np.errstate(over="ignore"):
        if any(np.abs(table.sum(-1) - 1.0).max() > FILE_SUM_TOLERANCE for _, table, _ in factors):
            return False
    try:
        graph.in_order({str(scope[-1]): tuple(map(str, scope[:-1])) for scope, _, _ in factors})
    except NetworkError:
        return False
    return True


def _directed(factors: Sequence[Scoped], states: dict[str, tuple[int, ...]], draft: Draft) -> Network:
    for scope, table, at in sorted(factors, key=lambda scoped: scoped[0][-1]):
        names = [f"x{i}" for i in scope]
        draft.add(DraftNode(names[-1], states[names[-1]], at, tuple(names[:-1]), table.ravel()))
    return draft.network()
