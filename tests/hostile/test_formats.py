"""Files of networks that are damaged, forged or odd: read, or refused at once with one clear error."""

from __future__ import annotations

import gzip
import os
import random
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from credo.errors import CredoError, NetworkError, SizeError
from credo.formats import FORMATS, bif, credo_json, draft, dsl, files, hugin, read, scanner, uai, write, xdsl, xmlbif
from credo.networks.factor import Factor
from credo.networks.markov_network import MarkovNetwork
from credo.networks.network import Network
from credo.notices import quietly
from tests.hostile.refusals import read_or_refused, refused
from tests.laws.test_formats import COLLIDING
from tests.reference.test_formats import BIF, BIF_DEFAULT, BIF_ROWS, BIF_TABLE, DSL, JSON, NET, UAI, XDSL, XMLBIF
from tests.work import guarded

VALID: list[tuple[Any, str]] = [
    (bif, BIF + BIF_ROWS),
    (bif, BIF + BIF_TABLE),
    (bif, BIF + BIF_DEFAULT),
    (xmlbif, XMLBIF),
    (xdsl, XDSL),
    (hugin, NET),
    (dsl, DSL),
    (credo_json, JSON),
    (uai, UAI),
    (uai, "MARKOV 2 2 2 2 2 0 1 1 1 4 1 2 3 4 2 1 1"),
]
VALID += [(form, form.write(COLLIDING)) for form in (bif, xmlbif, xdsl, hugin, dsl, credo_json)]
IDS = [f"{form.__name__.rpartition('.')[2]}-{i}" for i, (form, _) in enumerate(VALID)]
CHANGES = 200
SPLICES = [
    "(",
    ")",
    "{",
    "}",
    ";",
    '"',
    "<",
    ">",
    "&",
    "%",
    "/*",
    "//",
    "\\",
    "=",
    "|",
    "[",
    "]",
    "-1",
    "nan",
    "1e999",
    "\x00",
]
JUNK = 6_000_000  # characters


def changed(text: str, seed: int) -> str:
    """With a few pieces left out, put in, doubled, moved or cut off."""
    draws = random.Random(seed)
    for _ in range(draws.randint(1, 3)):
        i, j = sorted(draws.randrange(len(text) + 1) for _ in range(2))
        j = min(j, i + draws.choice([1, 3, 30]))
        match draws.randrange(6):
            case 0:
                text = text[:i] + text[j:]
            case 1:
                text = text[:j] + text[i:]
            case 2:
                text = text[:i] + draws.choice(SPLICES) + text[i:]
            case 3:
                text = text[:i] + draws.choice(SPLICES) + text[j:]
            case 4:
                text = text[:i]
            case _:
                text = text[:i] + chr(draws.choice([0, 34, 92, 0xE9, 0x2028, 0x1F600])) + text[i:]
    return text


@pytest.mark.parametrize(("form", "text"), VALID, ids=IDS)
def test_changed_files_are_read_or_refused(form: Any, text: str) -> None:
    for seed in range(CHANGES):
        read_or_refused(form.read, changed(text, seed), "changed")


@pytest.mark.parametrize(("form", "text"), VALID, ids=IDS)
def test_files_that_end_too_early_are_read_or_refused(form: Any, text: str) -> None:
    for end in range(0, len(text), 7):
        read_or_refused(form.read, text[:end], "cut off")


@pytest.mark.parametrize("suffix", sorted(FORMATS))
def test_changed_bytes_are_read_or_refused(suffix: str, tmp_path: Path) -> None:
    draws = random.Random(suffix)
    path = tmp_path / f"x{suffix}.gz"
    with quietly():
        write(COLLIDING, path)
    packed = path.read_bytes()
    for i in range(60):
        data = bytearray(packed if i % 2 else gzip.decompress(packed))
        for _ in range(3):
            data[draws.randrange(len(data))] = draws.randrange(256)
        path.write_bytes(bytes(data) if i % 2 else gzip.compress(bytes(data)))
        read_or_refused(read, path)


@pytest.fixture
def in_time() -> Iterator[None]:
    with guarded():
        yield


JUNKS = {
    "letters": "a" * JUNK,
    "spaces": " " * JUNK,
    "words": "a " * (JUNK // 2),
    "quotes": '"' * JUNK,
    "escapes": '"' + '\\"' * (JUNK // 2),
    "brackets": "[" * JUNK,
    "braces": "{" * JUNK,
    "comments": "/*" * (JUNK // 2),
    "tags": "<a>" * (JUNK // 3),
    "numbers": "BAYES 1 " * (JUNK // 8),
    "nulls": "\x00" * JUNK,
}


@pytest.mark.parametrize("junk", JUNKS)
@pytest.mark.usefixtures("in_time")
def test_junk_is_refused_at_once(junk: str) -> None:
    for form in sorted(set(FORMATS.values())):
        assert "junk" in refused(import_module(f"credo.formats.{form}").read, JUNKS[junk], "junk")


@pytest.mark.parametrize(
    ("form", "text"),
    [
        (bif, "network x {}\n" + " " * JUNK + ";"),
        (bif, "variable x { type discrete [1] { " + "a" * JUNK + " }; }"),
        (bif, "variable x { type discrete [1] { x }; property " + '"' + '\\"' * (JUNK // 8)),
        (bif, "variable x { property " + "/" * (JUNK // 8) + " }"),
        (hugin, "net { a = " + "(" * (JUNK // 20) + "; }"),
        (dsl, "net x { node y { " + "A = { " * (JUNK // 20)),
        (dsl, "net x { " + "A = { " * (JUNK // 20)),
        (uai, "MARKOV 1 2 1 1 0 2 " + "1" * JUNK),
        (xmlbif, "<BIF><NETWORK>" + "<NAME/>" * (JUNK // 100)),
        (credo_json, '{"variables": ' + "[" * JUNK),
        (credo_json, '{"a": ' + "9" * (JUNK // 100) + "}"),
    ],
    ids=range(11),
)
@pytest.mark.usefixtures("in_time")
def test_junk_after_a_good_start_is_refused(form: Any, text: str) -> None:
    refused(form.read, text, "junk")


@pytest.mark.usefixtures("in_time")
def test_an_unknown_name_as_long_as_a_file_makes_a_short_error() -> None:
    names = "".join(f"variable {c * 100_000} {{ type discrete [1] {{ x }}; }}\n" for c in "abcdefgh")
    assert "unknown variable" in refused(bif.read, names + "probability (" + "a" * 99_000 + ") { table 1; }", "long")


BILLION = "".join(f'<!ENTITY l{i} "{f"&l{i - 1};" * 10}">' for i in range(1, 10))


@pytest.mark.parametrize(
    "dtd",
    [
        f'<!ENTITY l0 "lol">{BILLION}',
        '<!ENTITY x SYSTEM "file:///etc/passwd">',
        '<!ENTITY % x SYSTEM "file:///etc/passwd">%x;',
        f'<!ATTLIST NAME x CDATA "{"a" * 100_000}">',
    ],
    ids=["laughs", "external", "parameter", "default"],
)
@pytest.mark.usefixtures("in_time")
def test_xml_entities_are_refused(dtd: str) -> None:
    text = f"<!DOCTYPE BIF [{dtd}]><BIF><NETWORK><NAME>&l9;&x;</NAME>{'<NAME/>' * 100_000}</NETWORK></BIF>"
    assert "line 1" in refused(xmlbif.read, text, "evil.xml")
    assert refused(xdsl.read, text, "evil.xdsl")


def test_xml_entities_that_nobody_declares_are_refused() -> None:
    outside = '<?xml version="1.0"?><!DOCTYPE BIF SYSTEM "http://nowhere.invalid/x.dtd">' + XMLBIF.partition("]>")[2]
    assert isinstance(xmlbif.read(outside, "x"), Network)
    assert "entity" in refused(xmlbif.read, outside.replace("Storm", "S&torm;"), "x")
    assert "entity" in refused(xmlbif.read, XMLBIF.replace("Storm", "S&torm;"), "x")


HUGE = 10**9
PARENTS = [f"p{i}" for i in range(63)]
WIDE_BIF = "".join(f"variable {name} {{ type discrete [2] {{ a, b }}; }}\n" for name in ["c", *PARENTS])
WIDE_BIF += "".join(f"probability ({name}) {{ table 0.5 0.5; }}\n" for name in PARENTS)
WIDE_NET = "".join(f'node {name} {{ states = ("a" "b"); }}\n' for name in ["c", *PARENTS])
WIDE_DSL = "net x {" + "".join(
    f"node {name} {{ DEFINITION = {{ NAMESTATES = (a, b); PROBABILITIES = (0.5, 0.5); }}; }};" for name in PARENTS
)
LONE = "".join(f"variable v{i} {{ type discrete [1] {{ a }}; }} probability (v{i}) {{ table 1; }}\n" for i in range(70))


@pytest.mark.parametrize(
    ("form", "text", "told"),
    [
        (bif, f"variable x {{ type discrete [{HUGE}] {{ a, b }}; }}", "should have 1000000000 states, but has 2"),
        (bif, WIDE_BIF + f"probability (c | {', '.join(PARENTS)}) {{ default 0.5 0.5; }}", "may have at most"),
        (bif, WIDE_BIF + f"probability (c | {', '.join(PARENTS)}) {{ table 0.5 0.5; }}", "numbers, but has 2"),
        (bif, WIDE_BIF + f"probability (c | {', '.join(PARENTS)}) {{ ({'a, ' * 63}) 0.5 0.5; }}", "has no row"),
        (bif, LONE + f"probability (v0 | {', '.join(f'v{i}' for i in range(1, 70))}) {{ table 1; }}", "two tables"),
        (
            bif,
            LONE.replace("probability (v0) { table 1; }", "")
            + f"probability (v0 | {', '.join(f'v{i}' for i in range(1, 70))}) {{ table 1; }}",
            "more than 63",
        ),
        (hugin, WIDE_NET + f"potential (c | {' '.join(PARENTS)}) {{ data = (1 1); }}", "numbers, but has 2"),
        (
            dsl,
            WIDE_DSL + f"node c {{ PARENTS = ({', '.join(PARENTS)}); DEFINITION = {{ NAMESTATES = (a, b);"
            " RESULTINGSTATES = (a); }; }; };",
            "resulting states, but has 1",
        ),
        (uai, f"MARKOV 1 {HUGE} 1 1 0 {HUGE} 1 1", "expected 1000000000 numbers from here, but the file has 2"),
        (uai, f"MARKOV 1 {HUGE} 0", "states"),
        (uai, f"MARKOV 1 {HUGE}{HUGE} 0", "whole numbers"),
        (uai, f"MARKOV {HUGE} 2 2", "but the file has 2"),
        (uai, f"MARKOV 1 2 {HUGE} 1 0", "but the file has 0"),
        (
            uai,
            "BAYES 61 " + "2 " * 61 + "1 61 " + " ".join(map(str, range(61))) + " 2 1 1",
            "must have about 10^18 numbers",
        ),
        (uai, "MARKOV 70 " + "1 " * 70 + "1 70 " + " ".join(map(str, range(70))) + " 1 1", "at most 64"),
    ],
    ids=range(15),
)
@pytest.mark.usefixtures("in_time")
def test_tables_are_no_larger_than_the_file(form: Any, text: str, told: str) -> None:
    assert told in refused(form.read, text, "huge")


def test_tables_that_rules_fill_are_small_in_sum(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(draft, "MOST_IMPLIED_NUMBERS", 8)
    assert isinstance(bif.read(BIF + BIF_DEFAULT, "x"), Network)
    monkeypatch.setattr(draft, "MOST_IMPLIED_NUMBERS", 7)
    assert "may have at most" in refused(bif.read, BIF + BIF_DEFAULT, "x")


FAULTS: list[tuple[Any, str, str, str, str]] = [  # format, text, what is replaced, by what, and what is said
    (bif, BIF + BIF_ROWS, "(no yes)", "(no maybe)", "'Camp' has no state 'maybe'; known: yes, no"),
    (bif, BIF + BIF_ROWS, "(no yes)", "(no)", "names 1 states of 2 parents"),
    (bif, BIF + BIF_ROWS, "(no yes)", "(no no)", "P(Fire | Storm=no, Camp=no) is given twice"),
    (bif, BIF + BIF_ROWS, "(no yes) 0.4, 0.6;", "", "no row P(Fire | Storm=no, Camp=yes), and no default"),
    (bif, BIF + BIF_ROWS, "0.4, 0.6", "0.4", "must have 2 numbers, but has 1"),
    (bif, BIF + BIF_ROWS, "0.4, 0.6", "0.4, x", "line 19, column 17: expected a number, but found 'x'"),
    (bif, BIF + BIF_ROWS, "0.4, 0.6", "0.4, 0.7", "line 19, column 12: the row P(Fire | Storm=no, Camp=yes) must sum"),
    (bif, BIF + BIF_ROWS, "0.4, 0.6", "-0.4, 1.4", "must be probabilities, but is -0.4, 1.4"),
    (bif, BIF + BIF_ROWS, "0.4, 0.6", "1_0, 0", "expected a number, but found '1_0'"),
    (bif, BIF + BIF_ROWS, "0.4, 0.6", "nan, 0", "expected a number, but found 'nan'"),
    (bif, BIF + BIF_ROWS, "0.4, 0.6", "1e999, 0", "must be probabilities, but is inf, 0"),
    (
        bif,
        BIF + BIF_ROWS,
        "Fire|Storm,Camp",
        "Fire|Strom,Camp",
        "unknown variable 'Strom'; known: Storm, Camp, Fire. Did",
    ),
    (bif, BIF + BIF_ROWS, "Fire|Storm,Camp", "Fire Storm Camp", "expected '|'"),
    (bif, BIF + BIF_ROWS, "Fire|Storm,Camp", "Fire|Storm,Storm", "a parent twice"),
    (bif, BIF + BIF_ROWS, "variable Fire", "variable Storm", "'Storm' is declared twice"),
    (
        bif,
        BIF + BIF_ROWS,
        "type discrete [ 2 ] { yes, no }",
        "type continuous",
        "must be 'discrete', but is 'continuous'",
    ),
    (bif, BIF + BIF_ROWS, "{ yes, no }", "{ yes, yes }", "'Storm' has the state 'yes' twice"),
    (bif, BIF + BIF_ROWS, "probability(Storm){table 0.2 0.8;}", "", "'Storm' has no table"),
    (bif, BIF + BIF_DEFAULT, "default 0.9 0.1;", "default 0.9 0.1; default 0 1;", "has a second 'default'"),
    (bif, BIF + BIF_ROWS, '"Camp"', '"Camp', "never closed"),
    (bif, BIF, "// a comment", "junk", "line 3, column 1: expected 'network', 'variable' or 'probability'"),
    (xmlbif, XMLBIF, "0.2 0.8", "0.2 0.9", "line 13, column 29: the row P(Storm) must sum to 1, but sums to 1.1"),
    (xmlbif, XMLBIF, "0.2 0.8", "0.2 x", "expected numbers in this TABLE, but found 'x'"),
    (xmlbif, XMLBIF, 'VARIABLE TYPE="nature"', 'VARIABLE TYPE="utility"', "'Storm' is of the type 'utility'"),
    (xmlbif, XMLBIF, "</VARIABLE>", "", "this isn't XML: mismatched tag"),
    (xmlbif, XMLBIF, "<BIF VERSION", "<BIFF VERSION", "expected <BIF> at the top, but found <BIFF>"),
    (xdsl, XDSL, '<cpt id="Camp"', '<decision id="Camp"', "this isn't XML"),
    (
        xdsl,
        XDSL,
        "</nodes>",
        '<utility id="Gain"><parents>Fire</parents></utility></nodes>',
        "'Gain' is of the kind 'utility'",
    ),
    (
        xdsl,
        XDSL,
        "</nodes>",
        '<noisyadder id="Any"><state id="a"/></noisyadder></nodes>',
        "'Any' is of the kind 'noisyadder'",
    ),
    (xdsl, XDSL, "</nodes>", '<equation id="Sum"></equation></nodes>', "'Sum' is of the kind 'equation'"),
    (xdsl, XDSL, "<nodes>", '<dynamic numslices="3"/><nodes>', "dynamic"),
    (xdsl, XDSL, "Storm Camp", "Storm Champ", "unknown variable 'Champ'"),
    (hugin, NET, "discrete node Camp", "decision Camp", "'Camp' is of the kind 'decision'"),
    (hugin, NET, "discrete node Camp", "continuous node Camp", "'Camp' is of the kind 'continuous'"),
    (hugin, NET, "data = (0.2 0.8)", "model_nodes = ()", "'Storm' has no 'data'"),
    (hugin, NET, "(0.2 0.8)", "(0 0)", "P(Storm) can't be scaled to 1: it sums to 0"),
    (hugin, NET, "(0.2 0.8)", "(-1 2)", "must be probabilities"),
    (hugin, NET, "(0.2 0.8)", "(1e308 1e308)", "it sums to inf"),
    (bif, BIF + BIF_ROWS, "0.4, 0.6", "1e308, 1e308", "must sum to 1, but sums to inf"),
    (xdsl, XDSL, "</nodes>", "<mystery/></nodes>", "unknown kind, 'mystery'"),
    (hugin, NET, "(0.2 0.8)", "(0.2 0.8", "don't match"),
    (hugin, NET, "(0.2 0.8)", "(0.2 0.4 0.4)", "must have 2 numbers, but has 3"),
    (dsl, DSL, "Camp { TYPE = CPT", "Camp { TYPE = NOISY_MAX", "'Camp' is of the type 'NOISY_MAX'"),
    (dsl, DSL, "(0.2, 0.8)", "(0.2, 0.7)", "P(Storm) must sum to 1, but sums to 0.9"),
    (dsl, DSL, "PARENTS = (Storm, Camp)", "PARENTS = (Fire, Camp)", "has a parent twice, or is its own"),
    (credo_json, JSON, "[0.2, 0.8]", '[0.2, "0.8"]', "variable 1: expected a number, but found"),
    (credo_json, JSON, "[0.2, 0.8]", "[0.2, NaN]", "NaN isn't a number"),
    (credo_json, JSON, "[0.2, 0.8]", "[0.2]", "must be lists of 2 numbers"),
    (credo_json, JSON, "[0.2, 0.8]", "[0, 1" + "0" * 400 + "]", "too large"),
    (credo_json, JSON, '["yes", "no"]', '["yes", ["no"]]', "must be strings, numbers or booleans"),
    (credo_json, JSON, "credo network", "network", "isn't a network in credo's form"),
    (credo_json, JSON, "]}]}", "]}]", "isn't JSON"),
    (uai, UAI, "BAYES", "BAY", "line 1, column 1: expected BAYES or MARKOV, but found 'BAY'"),
    (uai, UAI, "2 0.2", "3 0.2", "must have 2 numbers"),
    (uai, UAI, "0.95", "0.95 1", "expected the end of the file, but found '1'"),
    (uai, UAI, "0.95", "-0.95", "expected a number of at least 0, but found -0.95"),
    (uai, UAI, "1 0 1 1", "1 0 1 3", "different variables, from 0 to 2"),
]


@pytest.mark.parametrize(("form", "text", "old", "new", "told"), FAULTS, ids=range(len(FAULTS)))
def test_errors_say_what_is_wrong_and_where(form: Any, text: str, old: str, new: str, told: str) -> None:
    assert old in text
    said = refused(form.read, text.replace(old, new, 1), "some file")
    assert told in said
    assert said.startswith("some file")


def test_cycles_are_refused() -> None:
    text = "variable a { type discrete [1] { x }; } variable b { type discrete [1] { x }; }"
    text += "probability (a | b) { table 1; } probability (b | a) { table 1; }"
    assert "cycle" in refused(bif.read, text, "x.bif")


def test_remarks_that_were_changed_are_refused() -> None:
    text = bif.write(COLLIDING)
    for old, new in [("states=x~20y,x_y", "states=x~20y"), ("states=x~20y,x_y", "states=x,x"), ("name=", "name=a=")]:
        assert old in text
        assert "a_b" in refused(bif.read, text.replace(old, new), "x.bif")
    assert "twice" in refused(bif.read, text.replace("name=a~20b", "name=a_b"), "x.bif")


@pytest.mark.parametrize("name", ["x", "x.txt", "x.gz", "x.bif.zip", "bif", ".bif"])
def test_unknown_endings_are_listed(name: str, tmp_path: Path) -> None:
    for call in (lambda: read(tmp_path / name), lambda: write(COLLIDING, tmp_path / name)):
        assert "must end in one of .bif, .xmlbif" in refused(call)


def test_what_the_system_refuses_is_one_sentence(tmp_path: Path) -> None:
    (tmp_path / "folder.bif").mkdir()
    os.mkfifo(tmp_path / "pipe.bif")
    assert "there is no such file" in refused(read, tmp_path / "none.bif")
    assert "not a file" in refused(read, tmp_path / "folder.bif")
    assert "not a file" in refused(read, tmp_path / "pipe.bif")
    assert "no folder" in refused(write, COLLIDING, tmp_path / "nowhere" / "x.bif")
    assert "it is a folder" in refused(write, COLLIDING, tmp_path / "folder.bif")


def test_bytes_that_are_no_text_are_one_error(tmp_path: Path) -> None:
    path = tmp_path / "x.bif"
    path.write_bytes(b"network a {\n}\nvariable \xe9 {}")
    assert "line 3: byte 0xe9 isn't utf-8" in refused(read, path)
    path = tmp_path / "x.xdsl"
    path.write_bytes(XDSL.replace("Storm", "St\xf6rm").encode("latin-1"))
    with pytest.raises(NetworkError, match="Störm"):
        xdsl.read(path.read_bytes().decode("latin-1").replace("0.2 0.8", "0.2 0.9"), "x")
    assert "Störm" in read(path).variables
    path.write_bytes(XDSL.replace("ISO-8859-1", "rot13").encode())
    assert "rot13" in refused(read, path)
    path.write_bytes(XDSL.encode("utf-16"))
    assert "Storm" in read(path).variables
    path.write_bytes(b"\xef\xbb\xbf" + XDSL.encode())
    assert "Storm" in read(path).variables


def test_packed_files_are_whole_and_no_bombs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "x.bif.gz"
    path.write_bytes(gzip.compress(bif.write(COLLIDING).encode())[:-9])
    assert "gzip" in refused(read, path)
    path.write_bytes(b"network")
    assert "gzip" in refused(read, path)
    monkeypatch.setattr(files, "MOST_TEXT_BYTES", 1000)
    path.write_bytes(gzip.compress(b" " * 10_000_000))
    assert "more than 1000 bytes" in refused(read, path)


def test_networks_that_a_format_cannot_hold(tmp_path: Path) -> None:
    markov = MarkovNetwork({"a": (0, 1)}, [Factor(("a",), np.array([1.0, 2.0]))])
    assert "no arrows" in refused(write, markov, tmp_path / "x.bif")
    assert "no tables" in refused(write, Network("a -> b"), tmp_path / "x.bif")
    twins = Network({"a": ()}, {"a": [0.5, 0.5]}, {"a": (1, "1")})
    assert ".json" in refused(write, twins, tmp_path / "x.bif")
    write(twins, tmp_path / "x.json")
    assert read(tmp_path / "x.json").states == {"a": (1, "1")}
    assert "JSON" in refused(write, Network({"a": ()}, {"a": [1.0]}, {"a": ((1, 2),)}), tmp_path / "x.json")
    assert "JSON" in refused(write, Network({"a": ()}, {"a": [1.0]}, {"a": (float("inf"),)}), tmp_path / "x.json")


def test_positions_are_right_past_the_first_piece(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(scanner, "TOKENS_AT_ONCE", 3)
    found = bif.read(BIF + BIF_ROWS, "x")
    np.testing.assert_allclose(found.tables["Fire"][0, 1], [0.7, 0.3])
    told = refused(bif.read, (BIF + BIF_ROWS).replace("0.4, 0.6", "0.4, x"), "x")
    assert "line 19, column 17" in told


def test_a_failed_write_leaves_what_was_there(tmp_path: Path) -> None:
    write(COLLIDING, tmp_path / "x.json")
    before = (tmp_path / "x.json").read_bytes()
    with pytest.raises(CredoError):
        write(Network({"a": ()}, {"a": [1.0]}, {"a": ((1, 2),)}), tmp_path / "x.json")
    assert (tmp_path / "x.json").read_bytes() == before


LONG = "y" * 20_000


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("a.xmlbif", f'<BIF><NETWORK><VARIABLE TYPE="{LONG}"><NAME>a</NAME></VARIABLE></NETWORK></BIF>'),
        ("a.xmlbif", f"<BIF><NETWORK><VARIABLE><NAME>{LONG}</NAME></VARIABLE></NETWORK></BIF>"),
        ("a.xmlbif", f"<{LONG}/>"),
        ("a.xmlbif", f"<BIF><NETWORK><DEFINITION><FOR>{LONG}</FOR><TABLE>1</TABLE></DEFINITION></NETWORK></BIF>"),
        ("a.xdsl", f'<smile><nodes><cpt id="{LONG}"><state id="x"/></cpt></nodes></smile>'),
        ("a.xdsl", f"<smile><nodes><{LONG}/></nodes></smile>"),
        ("a.bif", f"variable {LONG} {{ type {LONG} [ 2 ] {{ x, y }}; }}"),
        ("a.bif", LONG),
        ("a.dsl", f"net a {{ node {LONG} {{ TYPE = {LONG}; }}; }};"),
        ("a.net", f"node {LONG} {{ {LONG} }}"),
        ("a.uai", LONG),
        ("a.uai", f"BAYES 1 {'9' * 20_000}"),
        ("a.json", f'{{"format": "{LONG}"}}'),
        ("a.json", f"[{'9' * 20_000}]"),
        (
            "a.json",
            '{"format": "credo network", "kind": "belief network", "variables": '
            f'[{{"name": "{LONG}", "states": [1], "parents": ["{LONG}x"], "rows": [[1]]}}]}}',
        ),
    ],
)
def test_errors_are_short_whatever_the_file_holds(tmp_path: Path, name: str, text: str) -> None:
    (tmp_path / name).write_text(text)
    with pytest.raises(CredoError) as error:
        Network.read(tmp_path / name)
    assert len(str(error.value)) < 500


def test_the_last_guard_cuts_any_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(*_: object) -> None:
        raise NetworkError(LONG)

    monkeypatch.setattr(bif, "read", fails)
    (tmp_path / "a.bif").write_text("")
    with pytest.raises(NetworkError, match=r"y{600} \.\.\. y{100}$"):
        Network.read(tmp_path / "a.bif")


@pytest.mark.parametrize("name", ["a.json", "a.bif", "a.xmlbif", "a.xdsl", "a.dsl", "a.net", "a.uai"])
def test_files_too_large_to_read_are_refused_before(tmp_path: Path, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    with quietly():
        Network.example("asia").write(tmp_path / name)
    monkeypatch.setenv("CREDO_MEMORY", "1 kB")
    said = r"holds .* of text, which takes about .* to read; .* may be used; CREDO_MEMORY sets the limit"
    with pytest.raises(SizeError, match=said):
        Network.read(tmp_path / name)
