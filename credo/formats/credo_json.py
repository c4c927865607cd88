"""credo's own JSON format, self-describing. States keep their types: strings, integers, numbers, booleans.

{"format": "credo network", "kind": "belief network", "variables": [
      {"name": "Fire", "states": [true, false], "parents": ["Storm"], "rows": [[0.25, 0.75], [0.01, 0.99]]}, ...]}

A belief network's rows are in the order of the parents' states, the last parent's changing fastest; a Markov network's
variables have neither parents nor rows, and its `factors` a scope and numbers in the same order.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from itertools import chain
from math import isfinite, prod
from typing import Any

import numpy as np

from credo.errors import NetworkError
from credo.formats.draft import MOST_PARENTS_IN_FILE, Draft, DraftNode, many
from credo.formats.gaussian_json import gaussian_network, is_gaussian, written
from credo.formats.names import cut, quoted
from credo.networks.factor import Factor
from credo.networks.hybrid.network import HybridNetwork
from credo.networks.markov_network import MarkovNetwork
from credo.networks.network import Network
from credo.numerics.exact import Array

FORMAT_NAME = "credo network"
BELIEF, MARKOV = "belief network", "markov network"


def read(text: str, file: str) -> Network | MarkovNetwork | HybridNetwork:
    content = _parsed(text, file)
    if is_gaussian(content):
        return gaussian_network(content, file)
    match content:
        case {"format": "credo network", "kind": "belief network", "variables": list(variables)}:
            return _belief(variables, file)
        case {"format": "credo network", "kind": "markov network", "variables": list(variables), "factors": list(made)}:
            return _markov(variables, made, file)
    raise NetworkError(
        f"{file} isn't a network in credo's form: it must be an object with the format {FORMAT_NAME!r}, "
        f"the kind {BELIEF!r} or {MARKOV!r}, and variables"
    )


def write(network: Network | MarkovNetwork | HybridNetwork) -> str:
    if isinstance(network, HybridNetwork):
        return written(network)
    if isinstance(network, Network):
        blocks = [_variable(network, name) for name in network.variables]
        return _document(BELIEF, blocks, [])
    blocks = [f'    {{"name": {quoted(name)}, "states": {_states(network, name)}}}' for name in network.variables]
    return _document(MARKOV, blocks, [_factor(factor) for factor in network.factors])


def _document(kind: str, variables: Sequence[str], factors: Sequence[str]) -> str:
    parts = ['{\n  "format": "credo network"', f'  "kind": "{kind}"']
    parts.append('  "variables": [\n' + ",\n".join(variables) + "\n  ]")
    if kind == MARKOV:
        parts.append('  "factors": [\n' + ",\n".join(factors) + "\n  ]")
    return ",\n".join(parts) + "\n}\n"


def _variable(network: Network, name: str) -> str:
    rows = network.tables[name].reshape(-1, len(network.states[name])).tolist()
    listed = ",\n".join(f"        {json.dumps(row)}" for row in rows)
    parents = ", ".join(map(quoted, network.parents[name]))
    return (
        f'    {{\n      "name": {quoted(name)},\n      "states": {_states(network, name)},\n'
        f'      "parents": [{parents}],\n      "rows": [\n{listed}\n      ]\n    }}'
    )


def _factor(factor: Factor) -> str:
    numbers = json.dumps(factor.table.ravel().tolist())
    return f'    {{"scope": [{", ".join(map(quoted, factor.scope))}], "numbers": {numbers}}}'


def _states(network: Network | MarkovNetwork, name: str) -> str:
    return f"[{', '.join(_state(name, state) for state in network.states[name])}]"


def _state(name: str, state: object) -> str:
    plain = state.item() if isinstance(state, np.generic) else state
    if isinstance(plain, str):
        return quoted(plain)
    if isinstance(plain, bool | int | None) or (isinstance(plain, float) and isfinite(plain)):
        return json.dumps(plain)
    raise NetworkError(f"{name!r} has the state {state!r}; JSON holds strings, numbers and booleans")


def _parsed(text: str, file: str) -> Any:
    try:
        return json.loads(text, parse_constant=_refuse_constant)
    except json.JSONDecodeError as error:
        raise NetworkError(f"{file}, line {error.lineno}, column {error.colno}: this isn't JSON: {error.msg}") from None
    except (ValueError, RecursionError) as error:
        reason = "too deeply nested" if isinstance(error, RecursionError) else error
        raise NetworkError(f"{file}: this isn't JSON: {reason}") from None


def _refuse_constant(word: str) -> None:
    raise ValueError(f"{word} isn't a number")


def _belief(variables: Sequence[object], file: str) -> Network:
    draft = Draft(file, lambda at, message: NetworkError(f"{file}, {at}: {message}"))
    for i, variable in enumerate(variables):
        at = f"variable {i + 1}"
        match variable:
            case {"name": str(name), "states": list(states), "parents": list(parents), "rows": list(rows)}:
                _check_states(draft, states, at)
                if not all(isinstance(parent, str) for parent in parents):
                    raise draft.fault(at, "the parents must be names")
                own = len(states)
                if not all(isinstance(row, list) and len(row) == own for row in rows):
                    raise draft.fault(at, f"the rows of {cut(name)!r} must be lists of {own} numbers each")
                numbers = _numbers(draft, list(chain.from_iterable(rows)), at)
                draft.add(DraftNode(name, tuple(states), at, tuple(parents), numbers))
            case _:
                raise draft.fault(at, "expected an object with a name, states, parents and rows")
    return draft.network()


def _markov(variables: Sequence[object], factors: Sequence[object], file: str) -> MarkovNetwork:
    draft = Draft(file, lambda at, message: NetworkError(f"{file}, {at}: {message}"))
    for i, variable in enumerate(variables):
        at = f"variable {i + 1}"
        match variable:
            case {"name": str(name), "states": list(states)}:
                _check_states(draft, states, at)
                draft.add(DraftNode(name, tuple(states), at))
            case _:
                raise draft.fault(at, "expected an object with a name and states")
    made = [_made(draft, factor, f"factor {i + 1}") for i, factor in enumerate(factors)]
    try:
        return MarkovNetwork({name: node.states for name, node in draft.nodes.items()}, made)
    except NetworkError as error:
        raise NetworkError(f"{file}: {error!s:.300}") from None


def _made(draft: Draft, factor: object, at: str) -> Factor:
    match factor:
        case {"scope": list(scope), "numbers": list(numbers)} if all(isinstance(name, str) for name in scope):
            if len(set(scope)) < len(scope) or len(scope) > MOST_PARENTS_IN_FILE + 1:
                raise draft.fault(at, f"a scope must have at most {MOST_PARENTS_IN_FILE + 1} different names")
            shape = tuple(len(draft.named(name, at).states) for name in scope)
            if len(numbers) != prod(shape):
                raise draft.fault(at, f"there must be {many(prod(shape))} numbers, but there are {len(numbers)}")
            return Factor(tuple(scope), _numbers(draft, numbers, at).reshape(shape))
    raise draft.fault(at, "expected an object with a scope of names and numbers")


def _check_states(draft: Draft, states: Sequence[object], at: str) -> None:
    if not all(isinstance(state, str | int | float | bool | None) for state in states):
        raise draft.fault(at, "the states must be strings, numbers or booleans")


def _numbers(draft: Draft, values: Sequence[object], at: str) -> Array:
    if not {*map(type, values)} <= {int, float}:
        bad = next(value for value in values if type(value) not in (int, float))
        raise draft.fault(at, f"expected a number, but found {cut(repr(bad))}")
    try:
        return np.array(values, dtype=np.float64)
    except OverflowError:
        raise draft.fault(at, "a number is too large") from None
