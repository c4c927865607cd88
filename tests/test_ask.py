"""The question language: what each form of the grammar means, in numbers worked by hand."""

from __future__ import annotations

import json
from math import exp, log
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import credo
from credo.asking import Question, parse
from credo.asking.question import Above, Likely, OneOf, Within
from credo.errors import CredoError, DataError, EvidenceError, NetworkError, Notice, QuestionError, SizeError
from credo.networks.answers import Estimated, MostProbable
from credo.networks.factor import Factor
from credo.networks.inference import components
from tests.networks import evidence, joint, networks

ARROWS = "Storm -> Lightning -> Thunder; Storm, BusTourGroup -> Campfire; Lightning, Campfire -> ForestFire"
TABLES = {
    "Storm": 0.1,
    "Lightning": {"yes": 0.6, "no": 0.02},
    "Thunder": {"yes": 0.95, "no": 0.01},
    "BusTourGroup": 0.3,
    "Campfire": {("yes", "yes"): 0.4, ("yes", "no"): 0.1, ("no", "yes"): 0.8, ("no", "no"): 0.2},
    "ForestFire": {("yes", "yes"): 0.5, ("yes", "no"): 0.4, ("no", "yes"): 0.1, ("no", "no"): 0.01},
}
FIRE = credo.Network(ARROWS, TABLES)
RAIN = credo.Network("Rain -> Wet", {"Rain": 0.2, "Wet": {"yes": 0.9, "no": 0.1}})
DICE = credo.Network("a; b", {"a": [0.5, 0.25, 0.25], "b": [0.5, 0.5]}, {"a": (1, 2, 3), "b": (False, True)})
WEATHER = {
    "outlook": ["sunny", "sunny", "overcast", "rain", "rain", "rain", "overcast"],
    "wind": ["weak", "strong", "weak", "weak", "weak", "strong", "strong"],
    "temp": [30.0, 29.0, 28.0, 20.0, 10.0, 11.0, 12.5],
    "play": ["no", "no", "yes", "yes", "yes", "no", "yes"],
}
MEAN = credo.NaiveBayes(estimate="mean", kinds={"temp": "number"}).fit(WEATHER, target="play")
SHOP = {"ad": ["a7", "a7", "b2", "b2", "b2"], "bought": [1, 0, 1, 1, 0], "price": [1.0, 2.0, 3.0, 4.0, 5.0]}
ADS = credo.estimate(SHOP, "bought", by="ad", prior=credo.BetaBernoulli(1, 1))


def fails(model: Any, question: str) -> QuestionError:
    with pytest.raises(QuestionError) as caught:
        credo.ask(model, question)
    return caught.value


# The grammar


def one(text: str) -> Any:
    """What the first term before the bar says."""
    return parse(text).asked[0].test


def words(test: Any) -> list[str]:
    assert isinstance(test, OneOf)
    return [word.text for word in test.values]


def test_the_parts_of_a_question() -> None:
    found = parse("P(A, B=b | C=c, D!=d, E in {x, y}, F={yes: 0.8, no: 0.2}, do(G=g, H=h))")
    assert found.kind == "P"
    assert found.names == ["A"]
    assert [str(term.name) for term in found.asked] == ["A", "B"]
    assert [str(term.name) for term in found.given] == ["C", "D", "E", "F", "G", "H"]
    assert [term.done for term in found.given] == [False] * 4 + [True] * 2
    assert [term.test.negated for term in found.given[:3] if isinstance(term.test, OneOf)] == [False, True, False]
    assert words(found.given[2].test) == ["x", "y"]
    likely = found.given[3].test
    assert isinstance(likely, Likely)
    assert [(word.text, weight) for word, weight in likely.weights] == [("yes", 0.8), ("no", 0.2)]


@pytest.mark.parametrize(
    ("text", "kind", "asked"),
    [
        ("P(A)", "P", ["A"]),
        ("p(A)", "P", ["A"]),
        ("  P  ( A )  ", "P", ["A"]),
        ("E(A)", "E", ["A"]),
        ("argmax P(A, B)", "argmax", ["A", "B"]),
        ("argmax(A,B)", "argmax", ["A", "B"]),
        ("Argmax P(*)", "argmax", []),
        ("argmax(*|x=1)", "argmax", []),
        ("explain P(A=a)", "explain", ["A"]),
        ("P(P | E=argmax, do=in, in=do)", "P", ["P"]),  # the grammar's words, as names
        ("P(in in {in})", "P", ["in"]),
        ("P(do)", "P", ["do"]),
    ],
)
def test_kinds(text: str, kind: str, asked: list[str]) -> None:
    found = parse(text)
    assert (found.kind, [str(term.name) for term in found.asked]) == (kind, asked)


@pytest.mark.parametrize(
    ("text", "test"),
    [
        ("P(x > 1)", Within(low=1)),
        ("P(x >= 1)", Within(low=1, with_low=True)),
        ("P(x < -1.5e3)", Within(high=-1500)),
        ("P(x<=1)", Within(high=1, with_high=True)),
        ("P(1 < x)", Within(low=1)),
        ("P(1 >= x)", Within(high=1, with_high=True)),
        ("P(0.4 < x <= 0.6)", Within(0.4, 0.6, with_high=True)),
        ("P(0.6 >= x > 0.4)", Within(0.4, 0.6, with_high=True)),
        ("P(0.4 ≤ x < 0.6)", Within(0.4, 0.6, with_low=True)),
    ],
)
def test_orders(text: str, test: Within) -> None:
    assert one(text) == test


def test_two_names_in_order() -> None:
    above, below = parse("P(theta[a7] > theta[b2])").asked[0], parse("P(theta[b2] < theta[a7])").asked[0]
    assert str(above.name) == str(below.name) == "theta[a7]"
    assert isinstance(above.test, Above)
    assert isinstance(below.test, Above)
    assert str(above.test.other) == str(below.test.other) == "theta[b2]"


@pytest.mark.parametrize(
    ("text", "name", "value"),
    [
        ("P(age=5-10)", "age", "5-10"),
        ("P(Disease=Asy/Patch)", "Disease", "Asy/Patch"),
        ("P(name=O'Brien)", "name", "O'Brien"),
        ("P(x=wow!)", "x", "wow!"),
        ("P(x==a)", "x", "a"),
        ("P(x=<5)", "x", "<5"),
        ("P(x!=>=7.5)", "x", ">=7.5"),
        ("P(x in {≤1})", "x", "≤1"),
        ('P("wind speed" = "very high")', "wind speed", "very high"),
        ("P('a' = \"it's\")", "a", "it's"),
        (r"P('it\'s' = 'back\\slash')", "it's", "back\\slash"),
        ('P("P(A|B)"="{,}")', "P(A|B)", "{,}"),
        ("P(größe=∅)", "größe", "∅"),
        ("P(x='')", "x", ""),
        ("P(100%=$5.00)", "100%", "$5.00"),
        ("P(<unit>=1)".replace("<unit>", '"<unit>"'), "<unit>", "1"),
    ],
)
def test_names_and_values(text: str, name: str, value: str) -> None:
    term = parse(text).asked[0]
    assert term.name.text == name
    assert words(term.test) == [value]


def test_the_other_signs() -> None:
    assert one("P(A ≠a)") == one("P(A!=a)")
    assert words(one("P(A ∈ {a, b})")) == ["a", "b"]


@pytest.mark.parametrize(
    ("text", "at", "expected"),
    [
        ("", 0, "the question is empty"),
        ("   ", 3, "the question is empty"),
        ("Q(A)", 0, r"expected P\(\.\.\.\), E"),
        ("P", 1, "expected '\\(', but the question ends"),
        ("P()", 2, "expected a name, but there is '\\)'"),
        ("P(A", 3, "but the question ends"),
        ("P(A))", 4, "expected the end of the question"),
        ("P(A) + P(B)", 5, "expected the end of the question"),
        ("P(A B)", 4, "quote a name of several words"),
        ("P(A,)", 4, "expected a name"),
        ("P(| A=a)", 2, "expected a name"),
        ("P(A |)", 5, "expected a name"),
        ("P(A | B=b | C=c)", 10, "expected ',' or '\\)'"),
        ("P(A=)", 4, "expected a value"),
        ("P(A=< 5)", 4, "quote it if it contains punctuation"),
        ("P(A=<'5')", 4, "quote it if it contains punctuation"),
        ("P(A=<)", 5, "quoted, if it contains punctuation"),
        ("P(A=(5))", 4, "quoted, if it contains punctuation"),
        ("P(A in x)", 7, "as in {x, y}"),
        ("P(A in {})", 8, "expected a value"),
        ("P(A in {x y})", 10, "expected ',' or '}'"),
        ("P(A={x})", 4, "`in`"),
        ("P(A | B={x, y})", 10, "`in`"),
        ("P(A | B={x: y})", 12, "expected a number of at least 0"),
        ("P(A | B={x: -1})", 9, "finite number of at least 0"),
        ("P(A | B={x: inf})", 9, "finite number of at least 0"),
        ("P(A | B={x: nan})", 12, "expected a number of at least 0"),
        ("P(A | B={x: 1, x: 2})", 15, "two likelihoods"),
        ("P(A | do(B))", 9, "do sets each name to one value"),
        ("P(A | do(B!=b))", 9, "do sets each name to one value"),
        ("P(A | do(B=b)", 13, "expected ',' or '\\)'"),
        ("P(*)", 2, "only argmax"),
        ("explain(A)", 7, "expected P"),
        ("argmax Q(A)", 7, "expected P"),
        ("P('A)", 2, "never closed"),
        ('P(A="x)', 4, "never closed"),
        ("P(1 < x > 0)", 8, "expected another '<' or '<='"),
        ("P(y < x < 0)", 2, "a range begins with a number"),
        ("P(0 < x < y)", 10, "expected a number"),
        ("P(x >= y)", 4, "compare two names with < or >"),
        ("P(theta[)", 8, "the name of an entry"),
        ("P(theta[a)", 9, "expected ',' or ']'"),
    ],
)
def test_an_error_says_where(text: str, at: int, expected: str) -> None:
    with pytest.raises(QuestionError, match=expected) as caught:
        parse(text)
    assert caught.value.at == at
    assert f"(character {at + 1} of the question)" in str(caught.value)
    line, caret = caught.value.pointed().split("\n")
    assert caret.index("^") == min(at, len(line))


def test_an_error_points_into_a_long_question() -> None:
    text = "P(A | " + ", ".join(f"x{i}=1" for i in range(100)) + ", y=)"
    with pytest.raises(QuestionError) as caught:
        parse(text)
    line, caret = caught.value.pointed().split("\n")
    assert line[caret.index("^")] == ")"
    assert len(line) <= 60


def test_only_text_is_a_question() -> None:
    question: Any = 3
    with pytest.raises(DataError, match="but is of type int"):
        credo.ask(RAIN, question)
    assert credo.ask(RAIN, Question("", "P", parse("P(Rain)").asked)) == {"yes": 0.2, "no": 0.8}
    with pytest.raises(DataError, match="of type int"):
        credo.ask(3, "P(x)")
    with pytest.raises(DataError, match="of type dict"):
        credo.ask({}, "P(x)")


# Networks


def close(found: Any, expected: Any, tolerance: float = 1e-12) -> None:
    if isinstance(expected, dict):
        assert list(found) == list(expected)
        assert [*found.values()] == pytest.approx([*expected.values()], abs=tolerance)
    else:
        assert found == pytest.approx(expected, abs=tolerance)


@pytest.mark.parametrize(
    ("question", "expected"),
    [
        ("P(Rain)", {"yes": 0.2, "no": 0.8}),
        ("P(Rain=yes)", 0.2),
        ("P(Rain!=yes)", 0.8),
        ("P(Rain in {yes, no})", 1.0),
        ("P(Wet=yes)", 0.26),  # 0.2 · 0.9 + 0.8 · 0.1
        ("P(Rain=yes | Wet=yes)", 9 / 13),  # 0.18/0.26
        ("P(Rain=yes | Wet!=no)", 9 / 13),
        ("P(Rain=yes | Wet in {yes, no})", 0.2),
        ("P(Rain=yes | Wet={yes: 0.8, no: 0.2})", 0.148 / 0.356),  # 0.2(0.72 + 0.02) / (0.148 + 0.8(0.08 + 0.18))
        ("P(Rain=yes | Wet={yes: 4, no: 1})", 0.148 / 0.356),  # only their ratio counts
        ("P(Rain=yes, Wet=yes)", 0.18),
        ("P(Rain=yes, Wet=yes | Rain=yes)", 0.9),
        ("P(Rain, Wet=yes)", {"yes": 0.18, "no": 0.08}),
        ("P(Wet=yes, Rain)", {"yes": 0.18, "no": 0.08}),
        ("P(Rain, Wet)", {("yes", "yes"): 0.18, ("yes", "no"): 0.02, ("no", "yes"): 0.08, ("no", "no"): 0.72}),
        ("P(Wet, Rain=no, Wet=yes)", {"yes": 0.08, "no": 0.0}),
        ("P(Rain=yes, Rain=no)", 0.0),
        ("P(Wet, Rain=yes | Rain=no)", {"yes": 0.0, "no": 0.0}),
        ("P(Wet | do(Rain=yes))", {"yes": 0.9, "no": 0.1}),
        ("P(Rain=yes | do(Wet=yes))", 0.2),  # watering the lawn doesn't make it rain
        ("P(Wet=yes | do(Wet=yes, Rain=no))", 1.0),
        ("P(Rain | Rain=yes)", {"yes": 1.0, "no": 0.0}),
    ],
)
def test_a_small_network(question: str, expected: Any) -> None:
    close(credo.ask(RAIN, question), expected)


def test_the_forest_fire() -> None:
    """P(Fire | Storm, Thunder): Lightning is 0.57 : 0.004, and Campfire is 0.3·0.4 + 0.7·0.1 = 0.19."""
    lightning = 0.6 * 0.95 / (0.6 * 0.95 + 0.4 * 0.01)
    with_it, without = 0.19 * 0.5 + 0.81 * 0.4, 0.19 * 0.1 + 0.81 * 0.01
    expected = lightning * with_it + (1 - lightning) * without
    close(credo.ask(FIRE, "P(ForestFire=yes | Storm=yes, Thunder=yes)"), expected)
    close(credo.ask(FIRE, "P(ForestFire=yes | Storm=yes, do(Thunder=yes))"), 0.6 * with_it + 0.4 * without)


def test_most_probable_states() -> None:
    assert credo.ask(RAIN, "argmax P(Rain | Wet=yes)") == {"Rain": "yes"}
    best = credo.ask(RAIN, "argmax P(*)")
    assert best == {"Rain": "no", "Wet": "no"}
    assert isinstance(best, MostProbable)
    close(best.log_joint, log(0.72))
    assert credo.ask(RAIN, "argmax(* | Wet=yes)") == {"Rain": "yes", "Wet": "yes"}
    assert credo.ask(RAIN, "argmax(* | do(Wet=yes))") == {"Rain": "no", "Wet": "yes"}
    assert credo.ask(FIRE, "argmax P(Storm, Campfire | ForestFire=yes)") == {"Storm": "no", "Campfire": "yes"}


def test_explanations_of_networks() -> None:
    found = credo.ask(RAIN, "explain P(Rain=yes | Wet=yes)")
    close(found.prior, log(0.25))
    close(found.findings[0].weight, log(9))
    close(found.probability, 9 / 13)
    assert credo.ask(RAIN, "explain P(Rain | Wet=no)").value == "no"
    assert credo.ask(RAIN, "explain P(Rain!=yes | Wet=no)").value == "no"
    assert "one value" in str(fails(RAIN, "explain P(Rain in {yes, no} | Wet=no)"))
    assert "one name" in str(fails(RAIN, "explain P(Rain, Wet)"))


@pytest.mark.parametrize(
    ("question", "expected"),
    [
        ("E(a)", 1.75),
        ("E(a | a > 1)", 2.5),
        ("P(a >= 2)", 0.5),
        ("P(1 < a < 3)", 0.25),
        ("P(a > 7)", 0.0),
        ("P(a=2.0)", 0.25),
        ("P(a | a in {2, 3})", {1: 0.0, 2: 0.5, 3: 0.5}),
        ("P(a=1 | a > 0, a != 2, a <= 3)", 2 / 3),
        ("E(b)", 0.5),
        ("P(b=true)", 0.5),
        ("P(b=True, b=yes)", 0.5),
        ("P(b=1)", 0.5),
        ("argmax P(a, b | b=no)", {"a": 1, "b": False}),
    ],
)
def test_states_that_are_numbers_and_truths(question: str, expected: Any) -> None:
    found = credo.ask(DICE, question)
    if "argmax" in question:
        assert found == expected
    else:
        close(found, expected)


@pytest.mark.parametrize(
    ("question", "at", "what"),
    [
        ("P(Strom)", 2, "there is no variable 'Strom'; known: .*Did you mean 'Storm'?"),
        ("P(Storm=yse)", 8, "Storm has no value 'yse'; known: yes, no. Did you mean 'yes'?"),
        ("P(Thunder | Storm={yes: 1, nein: 2})", 27, "Storm has no value 'nein'"),
        ("P(Thunder | Storm in {yes, x})", 27, "Storm has no value 'x'"),
        ("P(Thunder | do(Strm=yes))", 15, "Did you mean 'Storm'?"),
        ("P(Thunder | do(Storm=x))", 21, "Storm has no value 'x'"),
        ("P(Thunder | do(Storm=yes), do(Storm=no))", 30, "sets Storm twice"),
        ("P(Thunder | Storm)", 12, "give a value for Storm"),
        ("P(Thunder | Storm > 1)", 12, "the values of Storm must be numbers, but are yes, no"),
        ("E(Thunder)", 2, "must be numbers, but are"),
        ("E(Storm, Thunder)", 9, "about one name"),
        ("E(Storm=yes)", 2, "after the bar"),
        ("argmax P(Storm=yes)", 9, "after the bar"),
        ("P(Thunder | Storm=yes, Storm=no)", 12, "leaves Storm no possible value"),
        ("P(Thunder | Storm={yes: 0})", 12, "leaves Storm no possible value"),
        ("P(Storm[yes])", 2, "has no entries"),
        ("P(Storm > Thunder)", 2, "with a number"),
    ],
)
def test_what_a_network_refuses(question: str, at: int, what: str) -> None:
    error = fails(FIRE, question)
    assert error.at == at
    with pytest.raises(QuestionError, match=what):
        raise error


def test_impossible_evidence_is_the_networks_own_error() -> None:
    sure = credo.Network("a -> b", {"a": 1.0, "b": {"yes": 1.0, "no": 0.5}})
    for question in (
        "P(a | b=no)",
        "P(a=yes | b=no)",
        "P(a, b=no | b=no)",
        "argmax P(* | b=no)",
        "explain P(a | b=no)",
    ):
        with pytest.raises(EvidenceError):
            credo.ask(sure, question)
    assert credo.ask(sure, "P(b=no)") == 0.0
    assert credo.ask(sure, "P(a, b=no)") == {"yes": 0.0, "no": 0.0}
    with pytest.raises(NetworkError, match="no tables"):
        credo.ask(credo.Network("a -> b"), "P(a)")


def test_networks_without_arrows() -> None:
    table = np.array([[3.0, 1.0], [1.0, 3.0]])
    net = credo.MarkovNetwork(
        {"a": (0, 1), "b": (0, 1)}, [Factor(("a", "b"), table), Factor(("a",), np.array([2.0, 1]))]
    )
    close(credo.ask(net, "P(a=0 | b=1)"), 2 / 5)
    close(credo.ask(net, "P(a, b=1)"), {0: 2 / 12, 1: 3 / 12})
    assert credo.ask(net, "argmax P(*)") == {"a": 0, "b": 0}
    error = fails(net, "P(a | do(b=1))")
    assert (error.at, "arrows" in str(error)) == (9, True)


@settings(max_examples=60, deadline=None)
@given(st.data())
def test_any_network_agrees_with_counting_out(data: st.DataObject) -> None:
    """P(a name, an event | evidence), of random networks, by the product of all tables."""
    net = data.draw(networks())
    known = data.draw(evidence(net))
    whole = joint(net, known)
    if not whole.table.any():
        return
    names = list(net.states)
    name, other = data.draw(st.sampled_from(names)), data.draw(st.sampled_from(names))
    value = data.draw(st.sampled_from(net.states[other]))
    behind = ", ".join(f"{n}{_written(v)}" for n, v in known.items())
    bar = f" | {behind}" if behind else ""
    table = whole.table / whole.table.sum()
    at = list(whole.scope)
    happens = np.array([state == value for state in net.states[other]]).reshape([-1 if n == other else 1 for n in at])
    event = float((table * happens).sum())
    close(credo.ask(net, f"P({other}={value}{bar})"), event, 1e-10)
    by_name = (table * happens).sum(tuple(i for i, n in enumerate(at) if n != name))
    close(
        credo.ask(net, f"P({name}, {other}={value}{bar})"),
        dict(zip(net.states[name], by_name.tolist(), strict=True)),
        1e-10,
    )
    best = credo.ask(net, f"argmax P(*{bar})")
    places = tuple(net.states[n].index(best[n]) for n in at)
    assert whole.table[places] == pytest.approx(whole.table.max())


def _written(value: Any) -> str:
    if isinstance(value, dict):
        return "={" + ", ".join(f"{state}: {weight!r}" for state, weight in value.items()) + "}"
    return f" in {{{', '.join(value)}}}" if isinstance(value, list) else f"={value}"


def test_what_does_not_fit_is_estimated(monkeypatch: pytest.MonkeyPatch) -> None:
    def too_large(*_: Any) -> float:
        raise SizeError("too large")

    monkeypatch.setattr(credo.Network, "_chance", too_large)
    monkeypatch.setattr(components, "_exactly", too_large)
    with pytest.warns(Notice, match="too large: estimated by likelihood-weighting"):
        close(credo.ask(RAIN, "P(Rain=yes, Wet=yes)"), 0.18, 0.01)
    with pytest.raises(SizeError):
        credo.ask(RAIN, "P(Rain=yes, Wet=yes)", method="exact")


def test_estimates_by_sampling() -> None:
    how: dict[str, Any] = {"method": "likelihood-weighting", "samples": 20_000, "seed": 1}
    found = credo.ask(RAIN, "P(Rain | Wet=yes)", **how)
    assert isinstance(found, Estimated)
    close(found, {"yes": 9 / 13, "no": 4 / 13}, 0.05)
    close(credo.ask(RAIN, "P(Rain=yes | Wet=yes)", **how), 9 / 13, 0.05)
    close(credo.ask(RAIN, "P(Rain, Wet=yes)", **how), {"yes": 0.18, "no": 0.08}, 0.05)
    close(credo.ask(RAIN, "P(Rain, Wet, Rain=no)", **how)[("no", "no")], 0.72, 0.05)
    close(credo.ask(DICE, "E(a)", **how), 1.75, 0.05)
    with pytest.raises(NetworkError, match="no method 'guess'"):
        credo.ask(RAIN, "P(Rain)", **{**how, "method": "guess"})


# Classifiers


def test_a_classifier_of_a_few_days() -> None:
    """Laplace: P(play=yes) = 5/9, P(weak | yes) = 4/6, P(weak | no) = 2/5; of outlook (1, 2, 4)... + 1."""
    close(credo.ask(MEAN, "P(play)"), {"no": 4 / 9, "yes": 5 / 9})
    yes, no = 5 / 9 * 4 / 6, 4 / 9 * 2 / 5
    close(credo.ask(MEAN, "P(play=yes | wind=weak)"), yes / (yes + no))
    close(credo.ask(MEAN, "P(wind=weak)"), yes + no)
    close(credo.ask(MEAN, "P(wind | play=yes)"), {"strong": 2 / 6, "weak": 4 / 6})
    close(credo.ask(MEAN, "P(outlook | play=no)"), {"overcast": 1 / 6, "rain": 2 / 6, "sunny": 3 / 6})
    close(credo.ask(MEAN, "P(play, wind=weak)"), {"no": no, "yes": yes})
    close(credo.ask(MEAN, "P(wind=weak, play=yes)"), yes)
    assert list(credo.ask(MEAN, "P(wind, play)")) == [(w, p) for w in ("strong", "weak") for p in ("no", "yes")]
    assert list(credo.ask(MEAN, "P(play, wind)"))[1] == ("no", "weak")
    close(credo.ask(MEAN, "P(play=yes | wind in {weak, strong})"), 5 / 9)
    close(credo.ask(MEAN, "P(play=yes | wind!=strong)"), yes / (yes + no))
    likely = {"yes": 5 / 9 * (0.8 * 4 / 6 + 0.2 * 2 / 6), "no": 4 / 9 * (0.8 * 2 / 5 + 0.2 * 3 / 5)}
    close(credo.ask(MEAN, "P(play=yes | wind={weak: 0.8, strong: 0.2})"), likely["yes"] / sum(likely.values()))
    close(credo.ask(MEAN, "P(wind | play={yes: 1, no: 0})"), {"strong": 2 / 6, "weak": 4 / 6})
    close(credo.ask(MEAN, "P(play | play=yes, wind=weak)"), {"no": 0.0, "yes": 1.0})


def test_numbers_and_texts_are_given() -> None:
    row = {"outlook": [None], "wind": ["weak"], "temp": [25.0]}
    expected = MEAN.predict_proba(row)[0]
    close(credo.ask(MEAN, "P(play | wind=weak, temp=25)"), dict(zip(MEAN.classes, expected.tolist(), strict=True)))
    rows = {"outlook": ["overcast", "rain", "sunny"], "wind": [None] * 3, "temp": [25.0] * 3}
    together = np.exp(MEAN.log_joint(rows)).sum(1)
    close([*credo.ask(MEAN, "P(outlook | temp=25)").values()], [*(together / together.sum())])
    mail = {
        "body": ["buy cheap pills", "cheap pills now", "see you at lunch", "lunch at noon now"],
        "spam": [1, 1, 0, 0],
    }
    model = credo.NaiveBayes(kinds={"body": "text"}).fit(mail, target="spam")
    found = credo.ask(model, "P(spam | body='cheap lunch')")
    close([*found.values()], model.predict_proba({"body": ["cheap lunch"]})[0].tolist())
    close(credo.ask(model, "E(spam)"), 0.5)
    close(credo.ask(model, "P(spam=true | body='pills')"), credo.ask(model, "P(spam=1 | body=pills)"))


def test_a_tuned_classifier_answers_as_it_predicts() -> None:
    random = np.random.default_rng(0)
    size = 400
    truth = random.random(size) < 0.4
    flags = {
        f"x{j}": np.where(random.random(size) < 0.8, truth, random.random(size) < 0.5).astype(str) for j in range(3)
    }
    data = {**flags, "copy": flags["x0"], "y": np.where(truth, "good", "bad")}
    model = credo.NaiveBayes().fit(data, target="y").tune(data)
    row: dict[str, list[Any]] = {"x0": ["True"], "x1": ["False"], "x2": [None], "copy": [None]}
    close([*credo.ask(model, "P(y | x0=True, x1=False)").values()], model.predict_proba(row)[0].tolist())
    rows = {**{name: values * 2 for name, values in row.items()}, "x2": ["False", "True"]}
    weights = np.exp(model.log_prob(rows))
    mixed = weights @ model.predict_proba(rows) / weights.sum()
    close([*credo.ask(model, "P(y | x0=True, x1=False, x2 in {True, False})").values()], mixed.tolist())


def test_most_probable_values_of_columns() -> None:
    best = credo.ask(MEAN, "argmax P(*)")
    assert best["play"] == "yes"
    assert best["wind"] == "weak"
    assert set(best) == {"play", "outlook", "wind"}
    row = {"outlook": [best["outlook"]], "wind": ["weak"], "temp": [None]}
    close(best.log_joint, MEAN.log_joint(row)[0, 1])
    assert credo.ask(MEAN, "argmax P(play | wind=strong)") == {"play": "no"}
    assert credo.ask(MEAN, "argmax P(outlook | play=no)") == {"outlook": "sunny"}
    close(exp(credo.ask(MEAN, "argmax P(play | wind=weak)").log_joint), 5 / 9 * 4 / 6)


def test_explanations_of_classifiers() -> None:
    found = credo.ask(MEAN, "explain P(play=no | wind=strong, temp=25)")
    same = MEAN.explain({"outlook": None, "wind": "strong", "temp": 25.0}, "no")
    assert (found.of, found.weights, found.prior) == (same.of, same.weights, same.prior)
    assert credo.ask(MEAN, "explain P(play | wind=weak)").of == "yes"
    assert "about the class" in str(fails(MEAN, "explain P(wind | play=yes)"))
    assert "one value of each column" in str(fails(MEAN, "explain P(play | outlook!=rain)"))
    assert "one value of each column" in str(fails(MEAN, "explain P(play | play=yes)"))
    assert "about one class" in str(fails(MEAN, "explain P(play in {yes, no})"))


@pytest.mark.parametrize(
    ("question", "at", "what"),
    [
        ("P(ply)", 2, "no column 'ply'.*Did you mean 'play'"),
        ("P(play=yse)", 7, "play has no value 'yse'.*Did you mean 'yes'"),
        ("P(play | wind=week)", 14, "Did you mean 'weak'"),
        ("P(temp)", 2, r"can only be given, as in P\(play \| temp=value\); ask about play, outlook, wind"),
        ("P(play | temp > 20)", 9, "temp is a number: give its value"),
        ("P(play | temp=warm)", 14, "temp must be a number, but is 'warm'"),
        ("P(play | temp=1, temp=2)", 17, "temp is given twice"),
        ("P(play | wind=weak, wind=strong)", 9, "leaves wind no possible value"),
        ("P(play | do(wind=weak))", 12, "not for a NaiveBayes"),
        ("E(wind)", 2, "must be numbers, but are"),
        ("P(wind[a])", 2, "has no entries"),
    ],
)
def test_what_a_classifier_refuses(question: str, at: int, what: str) -> None:
    error = fails(MEAN, question)
    assert error.at == at
    with pytest.raises(QuestionError, match=what):
        raise error


def test_impossible_and_endless_questions_to_classifiers() -> None:
    model = credo.NaiveBayes(estimate="ml").fit(WEATHER, target="play")
    with pytest.raises(EvidenceError, match="impossible under every class"):
        credo.ask(model, "P(wind | outlook=sunny, play=yes)")
    close(credo.ask(model, "P(play | outlook=sunny)"), {"no": 1.0, "yes": 0.0})
    wide = {f"x{j}": [str(i % 5) for i in range(30)] for j in range(12)}
    many = credo.NaiveBayes(kinds=dict.fromkeys(wide, "category")).fit({**wide, "y": ["a", "b"] * 15}, target="y")
    with pytest.raises(SizeError, match="ask about fewer columns, or give more"):
        credo.ask(many, "argmax P(*)")
    with pytest.raises(CredoError, match="nothing was learned"):
        credo.ask(credo.NaiveBayes(), "P(play)")


def test_discriminants_answer_too() -> None:
    model = credo.GaussianDiscriminant("tied").fit(WEATHER, target="play")
    row = {"outlook": ["rain"], "wind": [None], "temp": [25.0]}
    close([*credo.ask(model, "P(play | outlook=rain, temp=25)").values()], model.predict_proba(row)[0].tolist())
    close(sum(credo.ask(model, "P(wind | temp=25)").values()), 1.0)


# Beliefs


COIN = credo.BetaBernoulli(1, 1).update({1: 2, 0: 0})  # Beta(3, 1): P(θ ≤ t) = t³
CALLS = credo.GammaPoisson(1, 1).update([3, 4, 2])
COLOURS = credo.DirichletCategorical(1).update(["red", "red", "red", "blue", "green"])  # α = 2, 2, 4


@pytest.mark.parametrize(
    ("belief", "question", "expected"),
    [
        (COIN, "P(theta > 0.5)", 0.875),
        (COIN, "P(0.4 < theta <= 0.6)", 0.216 - 0.064),
        (COIN, "P(theta < -1)", 0.0),
        (COIN, "P(theta < inf)", 1.0),
        (COIN, "P(x = 1)", 0.75),
        (COIN, "P(x)", {0: 0.25, 1: 0.75}),
        (COIN, "P(x > 0)", 0.75),
        (COIN, "P(x != yes)", 0.25),
        (COIN, "E(theta)", 0.75),
        (COIN, "E(x)", 0.75),
        (COIN, "argmax P(theta)", {"theta": 1.0}),
        (COIN, "argmax P(x)", {"x": 1}),
        (CALLS, "P(x in {0, 1, 2})", 1 - 0.4416542515199998),
        (CALLS, "P(x >= 3)", 0.4416542515199998),
        (CALLS, "P(x > 2)", 0.4416542515199998),
        (CALLS, "P(x = 0)", 0.8**10),  # (4/5)¹⁰
        (CALLS, "P(x != 0)", 1 - 0.8**10),
        (CALLS, "E(x)", 2.5),
        (COLOURS, "P(x = red)", 0.5),
        (COLOURS, "E(theta)", {"blue": 0.25, "green": 0.25, "red": 0.5}),
        (COLOURS, "E(theta[red])", 0.5),
        (COLOURS, "P(theta[red] > theta[blue])", 0.8125),  # Beta(4, 2) above 1/2: 26/32
        (COLOURS, "argmax P(theta[red])", {"theta[red]": 0.6}),
        (COLOURS, "argmax P(theta)", {"theta[blue]": 0.2, "theta[green]": 0.2, "theta[red]": 0.6}),
        (credo.BetaBernoulli(2, 2), "P(theta > 0.5)", 0.5),
        (credo.NormalMean(1, 0, 1), "P(theta >= 1)", 1.0),  # certain
        (credo.NormalMean(1, 0, 1), "P(theta > 1)", 0.0),
    ],
)
def test_beliefs(belief: Any, question: str, expected: Any) -> None:
    close(dict(found) if isinstance(found := credo.ask(belief, question), dict | type(COIN.predictive())) else found,
          expected)  # fmt: skip


def test_distributions_are_answers() -> None:
    law = credo.ask(COIN, "P(theta)")
    assert (law.a, law.b) == (3, 1)
    assert credo.ask(CALLS, "P(x)").mean() == 2.5
    assert set(credo.ask(COLOURS, "P(theta)")) == {"red", "blue", "green"}
    assert credo.ask(COLOURS, "P(theta[red])").mean() == 0.5


def test_beliefs_by_group() -> None:
    """a7: Beta(2, 2); b2: Beta(3, 2), above 1/2 with 11/16."""
    close(credo.ask(ADS, "P(bought = 1 | ad = a7)"), 0.5)
    close(credo.ask(ADS, "P(x = 1 | ad = b2)"), 0.6)
    close(credo.ask(ADS, "P(theta > 0.5 | ad = b2)"), 11 / 16)
    close(credo.ask(ADS, "P(theta[b2] > 0.5)"), 11 / 16)
    close(credo.ask(ADS, "E(theta[b2])"), 0.6)
    expected = ADS["a7"].probability_greater(ADS["b2"])
    close(credo.ask(ADS, "P(theta[a7] > theta[b2])"), expected)
    close(credo.ask(ADS, "P(theta[a7] < theta[b2])"), 1 - expected)
    for question, at, what in (
        ("P(theta)", 2, "name a group, as in P(theta | ad=a7)"),
        ("P(theta[a8] > 0.5)", 8, "ad has no group 'a8'; known: a7, b2"),
        ("P(theta | ad=c)", 13, "ad has no group 'c'"),
        ("P(theta | ad!=a7)", 10, "give one group"),
        ("P(theta | add=a7)", 10, "no 'add'; known: ad. Did you mean 'ad'?"),
        ("P(theta[a7] > theta[a7])", 2, "aren't independent"),
        ("P(x[a7] > x[b2])", 2, "not observations"),
    ):
        error = fails(ADS, question)
        assert what in str(error)
        assert error.at == at


def test_several_columns() -> None:
    both = credo.estimate(SHOP, ["bought", "price"])
    close(credo.ask(both, "P(bought=1)"), 4 / 7)
    close(credo.ask(both, "E(theta[bought])"), 4 / 7)
    close(credo.ask(both, "P(mean[price] > 3)"), 0.5)
    close(credo.ask(both, "E(price)"), 3.0)
    assert credo.ask(both, "P(variance[price])").mean() == both["price"].mean().variance
    assert "known: bought, price" in str(fails(both, "P(cost)"))
    assert "known: bought, price" in str(fails(both, "P(theta[cost])"))
    grouped = credo.estimate(SHOP, ["bought", "price"], by="ad")
    close(credo.ask(grouped, "P(bought=1 | ad=a7)"), 0.5)
    close(credo.ask(grouped, "E(theta[bought, b2])"), credo.ask(grouped, "E(theta[bought] | ad=b2)"))


def test_joint_families() -> None:
    line = credo.LinearRegression(precision=0.01, scale=0.1).update(
        {"a": [1.0, 2, 3, 4], "b": [1.0, 0, 0, 2], "y": [2.0, 4, 6.1, 8]}, target="y"
    )
    close(credo.ask(line, "P(y > 5 | a=3, b=0)"), 1 - line.predictive({"a": 3, "b": 0}).cdf(5.0))
    assert list(credo.ask(line, "E(weights)")) == ["intercept", "a", "b"]
    close(credo.ask(line, "E(weights[a])"), float(line.mean().weights[1]))
    assert "depends on b" in str(fails(line, "P(y | a=3)"))
    assert "no feature 'c'" in str(fails(line, "P(y | c=3)"))
    assert "as a number" in str(fails(line, "P(y | a=x, b=1)"))
    pair = credo.NormalInverseWishart([0, 0], 1, 4, np.eye(2)).update({"u": [1.0, 2, 3], "v": [2.0, 1, 0]})
    close(credo.ask(pair, "E(mean)"), {"u": 1.5, "v": 0.75})
    close(credo.ask(pair, "E(x)"), {"u": 1.5, "v": 0.75})
    close(credo.ask(pair, "P(u > 1.5)"), 0.5)
    rows = credo.DirichletMultinomial([1, 1]).update([[3, 0], [1, 2]])  # Beta(5, 3)
    close(credo.ask(rows, "E(theta[x0])"), 0.625)
    assert "ask about theta[x0]" in str(fails(rows, "P(x0)"))


def test_numeric_beliefs() -> None:
    """An exponential with rate ~ Exponential(1): Gamma(4, 4.5), by quadrature."""
    rate = credo.Numeric(lambda x, rate: np.log(rate) - rate * x, lambda rate: -rate, support=(0, np.inf))
    rate = rate.update([1.0, 2.0, 0.5])
    exact = credo.GammaExponential(1, 1).update([1.0, 2.0, 0.5])
    for question in ("P(theta > 1)", "E(theta)", "P(x > 1)", "E(x)"):
        close(credo.ask(rate, question), credo.ask(exact, question), 1e-6)
    close(credo.ask(rate, "P(rate > 1)"), credo.ask(rate, "P(theta > 1)"))
    close(credo.ask(rate, "argmax P(rate)")["rate"], 3 / 4.5, 1e-6)
    assert "known: rate, x" in str(fails(rate, "P(q)"))
    assert "no entries" in str(fails(rate, "P(rate[a])"))


def test_a_success_goes_by_its_name() -> None:
    games = credo.estimate({"r": ["won", "lost", "won"]}, "r", prior=credo.BetaBernoulli(1, 1), success="won")
    close(credo.ask(games, "P(r=won)"), 0.6)
    close(credo.ask(games, "P(r!=won)"), 0.4)
    assert "known: 0, 1, won" in str(fails(games, "P(r=lost)"))


@pytest.mark.parametrize(
    ("question", "at", "what"),
    [
        ("P(thta > 1)", 2, "there is no 'thta'; known: theta, x. Did you mean 'theta'?"),
        ("P(theta = 0.5)", 2, "ask P(... < theta < ...)"),
        ("P(theta = a)", 10, "'a' isn't"),
        ("P(theta, x)", 9, "one quantity at a time"),
        ("P(theta | a=b)", 10, "can't be given"),
        ("P(theta | do(a=b))", 13, "networks with arrows"),
        ("P(theta[a])", 8, "has no entries"),
        ("P(x[a])", 4, "has no entries"),
        ("explain P(theta)", 0, "nothing to explain"),
        ("argmax P(*)", 0, "about one name"),
        ("E(theta > 1)", 2, "after the bar"),
    ],
)
def test_what_a_belief_refuses(question: str, at: int, what: str) -> None:
    error = fails(COIN, question)
    assert what in str(error)
    assert error.at == at


def test_means_that_do_not_exist() -> None:
    faint = credo.NormalInverseGamma(mean=0, strength=1, shape=0.5, scale=1)
    for question in ("E(mean)", "E(variance)", "E(x)"):
        with pytest.raises(EvidenceError, match="no finite mean"):
            credo.ask(faint, question)
    with pytest.raises(DataError, match="aren't numbers"):
        credo.ask(COLOURS, "E(x)")
    assert "several numbers" in str(fails(COLOURS, "P(theta > 0.5)"))


def test_answers_are_plain_values() -> None:
    for model, question in ((RAIN, "P(Rain, Wet=yes)"), (MEAN, "P(play | wind=weak)"), (ADS, "P(x=1 | ad=a7)")):
        json.dumps(credo.ask(model, question))
