"""Files of networks: small ones with numbers known by hand, and those of the public collections."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from credo.errors import NetworkError, Notice
from credo.formats import bif, credo_json, dsl, hugin, read, uai, write, xdsl, xmlbif
from credo.networks.markov_network import MarkovNetwork
from credo.networks.network import Network
from tests.laws.test_formats import NAMED, assert_same, assert_same_numbers, there_and_back

COLLECTION = Path(__file__).parents[2].parent / "shared" / "data" / "networks"
DISCRETE = [
    *COLLECTION.glob("bif/*.bif.gz"),
    *COLLECTION.glob("other_formats/*/*"),
    *COLLECTION.glob("uai2014/*.uai"),
]
UNREADABLE = {  # and why
    "carpo.bifxml": "must sum to 1, but sums to 0",
    "carpo.dsl": "must sum to 1, but sums to 0",
}

# P(Storm) = 0.2; P(Fire | Storm, Camp): the last parent's state changes fastest.
FIRE = [[[0.9, 0.1], [0.7, 0.3]], [[0.4, 0.6], [0.05, 0.95]]]

BIF = """
network "Fires" { property author = "x; }" ; property size = (1, 2) }
// a comment
variable Storm { type discrete [ 2 ] { yes, no }; property position = (827, 511) ; }
variable "Camp"{type discrete[2]{yes no}}  /* commas are
   spaces */
variable Fire {
  property a = b
  property c = d;
  type discrete [2] { yes , no } ;
}
probability(Storm){table 0.2 0.8;}
probability ( Camp ) { table 0.5, 0.5 ; }
"""
BIF_ROWS = """
probability (Fire|Storm,Camp) {
  (no, no) 0.05, 0.95; // rows in any order
  (yes, yes) 0.9 0.1;
  (yes, "no") .7, 3e-1;
  (no yes) 0.4, 0.6;
}
"""
BIF_TABLE = "probability ( Fire | Storm, Camp ) { table 0.9, 0.7, 0.4, 0.05, 0.1, 0.3, 0.6, 0.95; }"
BIF_DEFAULT = """
probability ( Fire | Storm, Camp ) { default 0.9 0.1; (yes, no) 0.7 0.3; (no, no) 0.05 0.95; (no, yes) 0.4 0.6; }
"""
XMLBIF = """<?xml version="1.0"?>
<!DOCTYPE BIF [
  <!ELEMENT BIF ( NETWORK )*>
  <!ATTLIST BIF VERSION CDATA #REQUIRED>
  <!ATTLIST VARIABLE TYPE (nature|decision|utility) "nature">
]>
<BIF VERSION="0.3"><NETWORK><NAME>Fires</NAME>
<VARIABLE TYPE="nature"><NAME>Storm</NAME><OUTCOME>yes</OUTCOME><OUTCOME>no</OUTCOME><PROPERTY>x</PROPERTY></VARIABLE>
<VARIABLE><NAME> Camp </NAME><OUTCOME>yes</OUTCOME><OUTCOME>no</OUTCOME></VARIABLE>
<VARIABLE><NAME>Fire</NAME><OUTCOME>yes</OUTCOME><OUTCOME>no</OUTCOME></VARIABLE>
<DEFINITION><TABLE>0.9 0.1 0.7 0.3 <!-- no storm: --> 0.4 0.6 0.05 0.95</TABLE>
  <GIVEN>Storm</GIVEN><FOR>Fire</FOR><GIVEN>Camp</GIVEN></DEFINITION>
<DEFINITION><FOR>Storm</FOR><TABLE>0.2 0.8</TABLE></DEFINITION>
<DEFINITION><FOR>Camp</FOR><TABLE>0.5 0.5</TABLE></DEFINITION>
</NETWORK></BIF>
"""
XDSL = """<?xml version="1.0" encoding="ISO-8859-1"?>
<smile version="1.0" id="Fires"><nodes>
  <cpt id="Storm"><state id="yes"/><state id="no"/><probabilities>0.2 0.8</probabilities></cpt>
  <cpt id="Camp"><state id="yes"/><state id="no"/><probabilities>0.5 0.5</probabilities></cpt>
  <cpt id="Fire"><state id="yes"/><state id="no"/><parents>Storm Camp</parents>
    <property id="author">x</property><probabilities>0.9 0.1 0.7 0.3 0.4 0.6 0.05 0.95</probabilities></cpt>
</nodes><extensions><genie><submodel id="s"><name>S</name></submodel><node id="Fire"><name>A fire</name></node></genie>
</extensions></smile>
"""
NET = """% a comment
class Fires
{
    inputs = ();
    HR_Desc = "a {class};";
    node Storm { label = "A storm"; position = (457 413); states = ("yes" "no"); }
    discrete node Camp { states = ("yes" "no"); HR_State_0 = ""; }
    node Fire { states = ("yes" "no"); subtype = label; }
    potential (Storm) { data = (0.2 0.8); }
    potential (Camp) { data = (0.5 0.5); }
    potential (Fire | Storm Camp)
    {
        data = (((0.9 0.1)      %  Storm=yes  Camp=yes
                 (0.7 0.3))
                ((0.4 0.6) (0.05 0.95)));
        experience = ((1 2) (3 4));
    }
} % class
"""
DSL = """net Fires
{
// property of the program
/* one }; */ /# another }; #/
 HEADER = { ID = Fires; NAME = "fires"; };
 USER_PROPERTIES = { };
 SHOWAS = 3;
 node Storm { TYPE = CPT; HEADER = { ID = Storm; NAME = "A storm"; }; SCREEN = { POSITION = { X = 1; }; };
   PARENTS = (); DEFINITION = { NAMESTATES = (yes, no); PROBABILITIES = (0.2, 0.8); }; };
 node Camp { TYPE = CPT; PARENTS = (); DEFINITION = { NAMESTATES = (yes, no); PROBABILITIES = (0.5, 0.5); };
   EXTRA_DEFINITION = { FAULT_STATES = (0, 0); QUESTION = ""; DOCUMENTATION = { }; DOCUMENTATION = { }; }; };
 node Fire { TYPE = CPT; PARENTS = (Storm, Camp); DEFINITION = { NAMESTATES = (yes, no);
   PROBABILITIES = (0.9, 0.1, 0.7, 0.3, 0.4, 0.6, 0.05, 0.95); }; };
};
"""
JSON = """{"format": "credo network", "kind": "belief network", "variables": [
  {"name": "Storm", "states": ["yes", "no"], "parents": [], "rows": [[0.2, 0.8]]},
  {"name": "Camp", "states": ["yes", "no"], "parents": [], "rows": [[0.5, 0.5]]},
  {"name": "Fire", "states": ["yes", "no"], "parents": ["Storm", "Camp"],
   "rows": [[0.9, 0.1], [0.7, 0.3], [0.4, 0.6], [0.05, 0.95]]}]}
"""
UAI = "BAYES 3 2 2 2 3 1 0 1 1 3 0 1 2  2 0.2 0.8  2 0.5 0.5  8 0.9 0.1 0.7 0.3 0.4 0.6 0.05 0.95"
SAME: list[tuple[Any, str]] = [
    (bif, BIF + BIF_ROWS),
    (bif, BIF_TABLE + BIF),  # a table before the variables it is about
    (bif, BIF + BIF_DEFAULT),
    (xmlbif, XMLBIF),
    (xmlbif, "\n\n  " + XMLBIF),
    (xdsl, XDSL),
    (hugin, NET),
    (hugin, "net { node_size = (80 40); }" + NET.partition('";')[2].rpartition("}")[0]),
    (dsl, DSL),
    (credo_json, JSON),
]


@pytest.mark.parametrize(("form", "text"), SAME)
def test_the_same_network_in_every_format(form: Any, text: str) -> None:
    found = form.read(text, "fires")
    assert found.parents == {"Storm": (), "Camp": (), "Fire": ("Storm", "Camp")}
    assert found.states == dict.fromkeys(("Storm", "Camp", "Fire"), ("yes", "no"))
    np.testing.assert_allclose(found.tables["Storm"], [0.2, 0.8], rtol=1e-15)
    np.testing.assert_allclose(found.tables["Fire"], FIRE, rtol=1e-15)


def test_uai_has_numbers_for_names() -> None:
    found = uai.read(UAI, "fires")
    assert isinstance(found, Network)
    assert found.parents == {"x0": (), "x1": (), "x2": ("x0", "x1")}
    assert found.states["x2"] == (0, 1)
    np.testing.assert_allclose(found.tables["x2"], FIRE, rtol=1e-15)


def test_uai_markov_networks_have_any_factors() -> None:
    found = uai.read("# one\nMARKOV\n3 2 2 3 3\n0\n2 0 1\n2 1 2\n1 7\n4 1 2 3 4\n6 1 2 3 4 5 6 # end", "x")
    assert isinstance(found, MarkovNetwork)
    assert found.variables == ("x0", "x1", "x2")
    assert [factor.scope for factor in found.factors] == [(), ("x0", "x1"), ("x1", "x2")]
    assert found.factors[0].table == 7
    np.testing.assert_array_equal(found.factors[2].table, [[1, 2, 3], [4, 5, 6]])


@pytest.mark.parametrize(
    "text",
    [
        "BAYES 2 2 2 1 2 0 1 4 1 0 0 1",  # a table too few
        "BAYES 2 2 2 2 1 0 2 1 0 2 0.5 0.5 4 1 0 0 1",  # two of one variable
        "BAYES 1 2 1 1 0 2 3 4",  # no distribution
        "BAYES 2 2 2 2 2 1 0 2 0 1 4 1 0 0 1 4 1 0 0 1",  # a cycle
    ],
)
def test_uai_bayes_files_that_are_none_are_markov_networks(text: str) -> None:
    with pytest.warns(Notice, match="Markov"):
        assert isinstance(uai.read(text, "x"), MarkovNetwork)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("0", {}),
        ("", {}),
        ("1\n0", {}),
        ("1 2 1", {"x2": 1}),
        ("1\n1 2 1", {"x2": 1}),
        ("2 0 1 2 0", {"x0": 1, "x2": 0}),
    ],
)
def test_uai_evidence(text: str, expected: dict[str, int], tmp_path: Path) -> None:
    (tmp_path / "fires.uai.evid").write_text(text)
    assert uai.read_evidence(tmp_path / "fires.uai.evid", uai.read(UAI, "fires")) == expected


@pytest.mark.parametrize("text", ["1 2 1 0", "1 3 0", "1 0 2", "2 0 1", "x", "1 -1 0", "2\n1 0 1\n1 1 0"])
def test_uai_evidence_that_is_none(text: str, tmp_path: Path) -> None:
    (tmp_path / "fires.uai.evid").write_text(text)
    with pytest.raises(NetworkError, match="evid"):
        uai.read_evidence(tmp_path / "fires.uai.evid", uai.read(UAI, "fires"))


def test_deterministic_nodes_are_certain() -> None:
    fire = XDSL.partition('<cpt id="Fire">')[0] + (
        '<deterministic id="Fire"><state id="yes"/><state id="no"/><parents>Storm Camp</parents>'
        "<resultingstates>yes yes yes no</resultingstates></deterministic></nodes></smile>"
    )
    either = DSL.replace(
        "PROBABILITIES = (0.9, 0.1, 0.7, 0.3, 0.4, 0.6, 0.05, 0.95)", "RESULTINGSTATES = (yes, yes, yes, no)"
    )
    for found in (xdsl.read(fire, "x"), dsl.read(either.replace("Fire { TYPE = CPT", "Fire { TYPE = TRUTHTABLE"), "x")):
        np.testing.assert_array_equal(found.tables["Fire"], [[[1, 0], [1, 0]], [[1, 0], [0, 1]]])


def test_rounded_rows_are_scaled_and_told_once() -> None:
    text = "variable a { type discrete [3] { x, y, z }; } probability (a) { table 0.333, 0.333, 0.333; }"
    with pytest.warns(Notice, match=r"P\(a\) sums to 0.999") as told:
        found = bif.read(text, "thirds.bif")
    assert len(told) == 1
    np.testing.assert_allclose(found.tables["a"], 1 / 3, rtol=1e-15)
    bif.read(text.replace("333", "333333"), "thirds.bif")  # not worth a word
    with pytest.raises(
        NetworkError, match=r"thirds.bif, line 1, column \d+: the row P\(a\) must sum to 1, but sums to 0.9$"
    ):
        bif.read(text.replace("333", "3"), "thirds.bif")


def test_hugin_rows_are_weights() -> None:
    with pytest.warns(Notice, match=r"P\(Storm\) sums to 10"):
        found = hugin.read(NET.replace("(0.2 0.8)", "(2 8)"), "x.net")
    np.testing.assert_allclose(found.tables["Storm"], [0.2, 0.8], rtol=1e-15)


def test_states_become_strings_but_in_json(tmp_path: Path) -> None:
    network = Network({"a": ()}, {"a": [0.25, 0.75]}, {"a": (True, 2.5)})
    for form in NAMED:
        kept = (True, 2.5) if form == "credo_json" else ("True", "2.5")
        assert there_and_back(network, form).states == {"a": kept}
    with pytest.warns(Notice, match="no names"):
        write(network, tmp_path / "a.uai")


def test_names_that_a_format_can_hold_are_written_as_they_are() -> None:
    network = Network(
        "Age -> LowerBodyO2",
        {"Age": 0.5, "LowerBodyO2": [[0.5, 0.5], [0, 1]]},
        {"Age": ("<5", "5-12"), "LowerBodyO2": ("Asy/Patch", "x>=3")},
    )
    assert "discrete [ 2 ] { <5, 5-12 };" in bif.write(network)
    assert "(5-12) 0.0, 1.0;" in bif.write(network)
    assert "<OUTCOME>&lt;5</OUTCOME>" in xmlbif.write(network)
    assert "credo" not in bif.write(network) + xmlbif.write(network) + hugin.write(network)


NOISY = """
network x { }
variable A { type discrete [ 2 ] { off, on }; }
variable B { type discrete [ 3 ] { none, some, much }; }
variable Y { type discrete [ 3 ] { 0, 1, 2 }; }
variable Apart { type discrete [ 2 ] { 0, 1 }; }
probability ( A ) { table 0.7, 0.3; }
probability ( B ) { table 0.5, 0.3, 0.2; }
probability ( Y | A, B ) {
  property function max;
  (off, none) 0.9, 0.06, 0.04; // leak
  (on, none) 0.2, 0.5, 0.3;
  (off, some) 0.4, 0.4, 0.2;
  (off, much) 0.1, 0.3, 0.6;
}
"""


def test_a_noisy_max_of_bif_has_a_row_for_each_cause_alone() -> None:
    """P(Y ≤ y | causes) is the product of the causes' and of the leak's."""
    with pytest.warns(Notice, match="'Apart' has no table and no arrows"):
        network = bif.read(NOISY, "noisy.bif")
    leak = np.cumsum([0.9, 0.06, 0.04])
    a = np.cumsum([[1, 0, 0], [0.2, 0.5, 0.3]], axis=1)
    b = np.cumsum([[1, 0, 0], [0.4, 0.4, 0.2], [0.1, 0.3, 0.6]], axis=1)
    below = leak * a[:, None] * b[None]
    np.testing.assert_allclose(network.tables["Y"], np.diff(below, axis=-1, prepend=0.0), atol=1e-12)
    assert network.query("Apart") == pytest.approx({"0": 0.5, "1": 0.5})


@pytest.mark.parametrize(
    ("row", "instead", "match"),
    [
        ("(on, none) 0.2, 0.5, 0.3;", "", r"no row for the states \(1, 0\)"),
        ("(on, none) 0.2, 0.5, 0.3;", "(on, none) 0.2, 0.5, 0.3; (on, much) 0, 0, 1;", "several causes"),
        ("(on, none) 0.2, 0.5, 0.3;", "(on, none) 0.2, 0.5;", "must have 3 numbers, but has 2"),
        ("(on, none) 0.2, 0.5, 0.3;", "(on, none) 0.2, 0.5, 0.9;", "probabilities that sum to 1"),
        ("(on, none) 0.2, 0.5, 0.3;", "(off, none) 0.2, 0.5, 0.3;", "is given twice"),
        ("function max", "function min", "the function 'min' isn't read"),
    ],
)
def test_a_noisy_max_of_bif_that_is_none(row: str, instead: str, match: str) -> None:
    with pytest.raises(NetworkError, match=match):
        bif.read(NOISY.replace(row, instead), "noisy.bif")


@pytest.mark.skipif(not DISCRETE, reason="the public collections aren't beside this checkout")
@pytest.mark.parametrize("path", sorted(DISCRETE), ids=lambda path: path.name)
def test_public_networks(path: Path) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", Notice)
        if path.name in UNREADABLE:
            with pytest.raises(NetworkError, match=UNREADABLE[path.name]):
                read(path)
            return
        network = read(path)
    large = len(network.variables) > 400 or sum(factor.table.size for factor in network.factors) > 15_000
    for form in ["credo_json"] if large or isinstance(network, MarkovNetwork) else NAMED:
        found = there_and_back(network, form)
        if path.suffix != ".uai" or form == "credo_json":  # whose states are numbers
            assert_same(network, found)
        assert_same_numbers(network, found)
    assert_same_numbers(network, there_and_back(network, "uai"))


@pytest.mark.skipif(not DISCRETE, reason="the public collections aren't beside this checkout")
def test_public_sizes_and_numbers() -> None:
    asia = read(COLLECTION / "bif" / "asia.bif.gz")
    assert isinstance(asia, Network)
    assert asia.parents["dysp"] == ("bronc", "either")
    np.testing.assert_allclose(asia.tables["dysp"], [[[0.9, 0.1], [0.8, 0.2]], [[0.7, 0.3], [0.1, 0.9]]])
    child = read(COLLECTION / "bif" / "child.bif.gz")
    assert child.states["LowerBodyO2"] == ("<5", "5-12", "12+")
    dog = read(COLLECTION / "other_formats" / "bifxml" / "dog.bifxml")
    assert isinstance(dog, Network)
    assert dog.tables["dog-out"][0, 1, 0] == 0.97
    grid = read(COLLECTION / "uai2014" / "Promedus_11.uai")
    seen = uai.read_evidence(COLLECTION / "uai2014" / "Promedus_11.uai.evid", grid)
    assert seen == dict.fromkeys(["x158", "x58", "x90", "x26", "x129", "x51", "x4", "x183"], 1)


@pytest.mark.skipif(not DISCRETE, reason="the public collections aren't beside this checkout")
@pytest.mark.parametrize("name", ["bif_agrum/asia.bif", "bifxml/alarm.bifxml", "dsl/alarm.dsl", "net/alarm.net"])
def test_tables_as_pyagrum_reads_them(name: str) -> None:
    pyagrum = pytest.importorskip("pyagrum")
    path = COLLECTION / "other_formats" / name
    ours, theirs = read(path), pyagrum.loadBN(str(path))
    assert isinstance(ours, Network)
    for variable, above in ours.parents.items():
        table = theirs.cpt(variable)
        axes = [*reversed(table.names)]
        expected = table.toarray().transpose([axes.index(name) for name in (*above, variable)])
        np.testing.assert_allclose(ours.tables[variable], expected, atol=1e-6)
