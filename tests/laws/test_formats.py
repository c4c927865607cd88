"""Files of networks: what is written and read again is the same network, whatever its names are."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from credo.formats import FORMATS, read, write
from credo.networks.factor import Factor
from credo.networks.markov_network import MarkovNetwork
from credo.networks.network import Network
from credo.notices import quietly

NAMED = sorted(set(FORMATS.values()) - {"uai"})
ODD = [
    "",
    " ",
    "a b",
    "a_b",
    "5 kg",
    '"',
    "\\",
    "\\n",
    "\n",
    "\r\n",
    ",",
    "{",
    "}",
    "<&>",
    "é",
    "a;b",
    "//",
    "/*",
    "%",
    "#",
]
ODD += [
    "|",
    "net",
    "node",
    "table",
    "\x00",
    "\ud800",
    "]]>",
    "&amp;",
    "~20",
    "credo name=x",
    "true",
    "0.5",
    " a",
    "a ",
    "'",
]
WORDS = st.one_of(st.sampled_from(ODD), st.text(max_size=4))


COLLIDING = Network(
    {"a b": (), "a_b": ("a b",)}, {"a b": [0.5, 0.5], "a_b": [[0.1, 0.9], [1, 0]]}, ("x y", "x_y")
)  # once they are cleaned


def random_tables(shapes: dict[str, tuple[int, ...]], seed: int) -> dict[str, Any]:
    draws = np.random.default_rng(seed)
    tables = {}
    for name, shape in shapes.items():
        weights = draws.random(shape) * (draws.random(shape) < 0.8)  # zeros too
        weights[..., 0] += 1e-9
        tables[name] = weights / weights.sum(-1, keepdims=True)
    return tables


@st.composite
def networks(draw: st.DrawFn, states: st.SearchStrategy[Any] = WORDS) -> Network:
    names = draw(st.lists(WORDS, min_size=1, max_size=5, unique=True))
    known = {name: tuple(draw(st.lists(states, min_size=1, max_size=4, unique=True))) for name in names}
    arrows = {}
    for i, name in enumerate(names):
        arrows[name] = tuple(draw(st.lists(st.sampled_from(names[:i]), max_size=3, unique=True))) if i else ()
    order = draw(st.permutations(names))
    shapes = {name: (*(len(known[above]) for above in arrows[name]), len(known[name])) for name in order}
    tables = random_tables(shapes, draw(st.integers(0, 2**32 - 1)))
    return Network({name: arrows[name] for name in order}, tables, {name: known[name] for name in order})


@st.composite
def markov_networks(draw: st.DrawFn) -> MarkovNetwork:
    names = draw(st.lists(WORDS, min_size=1, max_size=5, unique=True))
    states = {name: tuple(draw(st.lists(WORDS, min_size=1, max_size=3, unique=True))) for name in names}
    numbers = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    scopes = draw(st.lists(st.lists(st.sampled_from(names), max_size=3, unique=True), max_size=5))
    made = [Factor(tuple(scope), numbers.exponential(size=[len(states[name]) for name in scope])) for scope in scopes]
    return MarkovNetwork(states, made)


def there_and_back(network: Network | MarkovNetwork, form: str) -> Any:
    module = import_module(f"credo.formats.{form}")
    with quietly():
        text = module.write(network)
        text.encode()
        return module.read(text, "some file")


def assert_same(a: Network | MarkovNetwork, b: Network | MarkovNetwork) -> None:
    assert a.variables == b.variables
    assert dict(a.states) == dict(b.states)
    if isinstance(a, Network) and isinstance(b, Network):
        assert dict(a.parents) == dict(b.parents)
    assert_same_numbers(a, b)


def assert_same_numbers(a: Network | MarkovNetwork, b: Network | MarkovNetwork) -> None:
    assert type(a) is type(b)
    assert len(a.factors) == len(b.factors)
    for one, other in zip(a.factors, b.factors, strict=True):
        np.testing.assert_allclose(one.table, other.table, rtol=0, atol=1e-12)


@pytest.mark.parametrize("form", NAMED)
@settings(max_examples=25, deadline=None)
@given(network=networks())
@example(network=COLLIDING)
def test_what_is_written_is_read(form: str, network: Network) -> None:
    assert_same(network, there_and_back(network, form))


@settings(max_examples=25, deadline=None)
@given(network=networks())
def test_uai_keeps_all_but_names(network: Network) -> None:
    found = there_and_back(network, "uai")
    numbers = {name: f"x{i}" for i, name in enumerate(network.variables)}
    assert found.parents == {numbers[n]: tuple(numbers[p] for p in above) for n, above in network.parents.items()}
    assert found.states == {numbers[name]: tuple(range(len(values))) for name, values in network.states.items()}
    assert_same_numbers(network, found)


@pytest.mark.parametrize("form", ["uai", "credo_json"])
@settings(max_examples=25, deadline=None)
@given(network=markov_networks())
def test_markov_networks_are_read_back(form: str, network: MarkovNetwork) -> None:
    found = there_and_back(network, form)
    assert_same_numbers(network, found)
    if form == "credo_json":
        assert_same(network, found)
        assert [factor.scope for factor in found.factors] == [factor.scope for factor in network.factors]


@settings(max_examples=25, deadline=None)
@given(
    network=networks(st.one_of(st.booleans(), st.integers(), st.floats(allow_nan=False, allow_infinity=False), WORDS))
)
def test_json_keeps_the_types_of_states(network: Network) -> None:
    found = there_and_back(network, "credo_json")
    assert_same(network, found)
    for name, values in network.states.items():
        assert [type(value) for value in values] == [type(value) for value in found.states[name]]


@pytest.mark.parametrize("suffix", sorted(FORMATS))
def test_files_packed_or_not_hold_the_same(suffix: str, tmp_path: Path) -> None:
    network = Network("Storm -> Fire", {"Storm": 0.2, "Fire": {"yes": 0.25, "no": 0.01}})
    for name in (f"fire{suffix}", f"FIRE{suffix.upper()}.gz"):
        with quietly():
            write(network, tmp_path / name)
        assert_same_numbers(network, read(tmp_path / name))
    assert (tmp_path / f"FIRE{suffix.upper()}.gz").read_bytes()[:2] == b"\x1f\x8b"


@pytest.mark.parametrize("form", [".bif", ".xmlbif", ".xdsl", ".net", ".dsl", ".json"])
def test_rows_that_were_scaled_once_stay_as_they_are(form: str, tmp_path: Path) -> None:
    """Written and read again, a network equals itself, to the last bit."""
    thirds = {"yes": {"x": 0.333, "y": 0.333, "z": 0.334}, "no": {"x": 0.1, "y": 0.2, "z": 0.7}}
    rough = Network("A -> B", {"A": 0.3, "B": thirds})
    rough.write(str(tmp_path / f"rough{form}"))
    once = Network.read(str(tmp_path / f"rough{form}"))
    once.write(str(tmp_path / f"once{form}"))
    assert Network.read(str(tmp_path / f"once{form}")) == once == rough
