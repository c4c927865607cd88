"""credo structure: what it prints, writes and refuses."""

from __future__ import annotations

from pathlib import Path

import pyarrow.csv as pa_csv
import pytest

import credo
from tests.test_cli import ran, refused


@pytest.fixture
def asia(tmp_path: Path) -> str:
    path = tmp_path / "asia.csv"
    pa_csv.write_csv(credo.Network.example("asia").sample(800, seed=1), path)
    return str(path)


def test_arrows_come_with_their_strength_and_direction(asia: str, tmp_path: Path) -> None:
    net, picture = tmp_path / "net.bif", tmp_path / "net.svg"
    text = ran("structure", asia, "-o", str(net), "--plot", str(picture), columns=300)
    lines = text.splitlines()
    assert "network of 8 variables and " in lines[0]
    assert "(score bic, search exact)" in lines[0]
    read = credo.Network.read(net)
    assert isinstance(read, credo.Network)
    expected = credo.learn_structure(asia)
    assert read.graph() == expected.graph()
    for parent, child in expected.graph().arrows:
        (line,) = [line for line in lines if f"{parent} -> {child} " in line]
        compelled = (parent, child) in expected.cpdag().arrows
        assert ("compelled" in line) == compelled
        assert ("reversible" in line) != compelled
    assert "Strength: the loss of score without the arrow, in nats." in text
    assert picture.read_text().startswith("<?xml")


def test_constraints_compel_only_what_follows_from_them(tmp_path: Path) -> None:
    path = tmp_path / "pairs.csv"
    rows = [("x", "x", "u", "u"), ("y", "y", "v", "v"), ("x", "x", "v", "v"), ("y", "y", "u", "u")] * 30
    path.write_text("a,b,c,d\n" + "\n".join(",".join(row) for row in rows))
    text = ran("structure", str(path), "--forbidden", "b -> a", columns=300)
    assert "compelled" in next(line for line in text.splitlines() if "a -> b" in line)
    assert "reversible" in next(line for line in text.splitlines() if "c -> d" in line or "d -> c" in line)


def test_confidence_adds_probabilities(asia: str, tmp_path: Path) -> None:
    picture = tmp_path / "sure.png"
    text = ran("structure", asia, "--confidence", "--plot", str(picture), "--top", "3", columns=100)
    assert "probability" in text
    assert "Exact posterior probabilities, with a uniform prior over orders." in text
    assert "weaker arrows: --top prints more" in text
    assert picture.read_bytes()[:4] == b"\x89PNG"


@pytest.mark.parametrize("search", ["exact", "ges", "pc", "chow-liu", "k2", "tabu"])
def test_every_search_has_a_name(asia: str, search: str) -> None:
    text = ran("structure", asia, "--search", search, columns=300)
    assert ("tests of independence" if search == "pc" else f"search {search}") in text.splitlines()[0]


def test_constraints_are_kept(asia: str, tmp_path: Path) -> None:
    out = tmp_path / "net.json"
    arrows = ["--required", "VisitToAsia -> Smoking", "--forbidden", "Smoking -> LungCancer; LungCancer -> Smoking"]
    ran("structure", asia, *arrows, "--max-parents", "2", "-o", str(out))
    net = credo.Network.read(out)
    assert isinstance(net, credo.Network)
    assert "VisitToAsia" in net.parents["Smoking"]
    assert "Smoking" not in net.parents["LungCancer"]
    assert max(map(len, net.parents.values())) <= 2


def test_numbers_have_lines_and_no_tables(tmp_path: Path) -> None:
    import numpy as np

    random = np.random.default_rng(0)
    a = random.normal(size=200)
    path = tmp_path / "numbers.csv"
    path.write_text("a,b\n" + "\n".join(f"{x:.4f},{2 * x + 0.1 * random.normal():.4f}" for x in a))
    text = ran("structure", str(path), columns=300)
    assert "network of 2 variables and 1 arrow (score bge" in text
    said = refused("structure", str(path), "-o", str(tmp_path / "net.bif"))
    assert "--bins" in said
    assert not (tmp_path / "net.bif").exists()
    assert "1 arrow" in ran("structure", str(path), "--bins", "3", "-o", str(tmp_path / "net.bif"), columns=300)


def test_independent_columns_are_said_to_be(tmp_path: Path) -> None:
    path = tmp_path / "coins.csv"
    path.write_text("a,b\n" + "\n".join(f"{'ht'[i % 2]},{'ht'[i // 2 % 2]}" for i in range(40)))
    assert "the columns look independent" in ran("structure", str(path))


@pytest.mark.parametrize(
    ("options", "says"),
    [
        (["--required", "Smoking -> Tar"], "'Tar', which isn't a column"),
        (["--required", "A ->"], "a name must follow"),
        (["--required", "Smoking -> XRay", "--forbidden", "Smoking -> XRay"], "both required and forbidden"),
        (["--required", "Smoking -> XRay -> Smoking"], "cycle"),
        (["--tiers", "Smoking"], "in no tier"),
        (["--score", "bge"], "is a category"),
        (["--search", "chow-liu", "--required", "Smoking -> XRay <- LungCancer"], "can't have both required parents"),
        (["--search", "chow-liu", "--tiers", "Smoking"], "no tier"),
        (["-o", "net.txt"], "must end in one of .bif"),
        (["--plot", "net.gif"], "must end in one of .png"),
        (["--kind", "Smoking=number"], "Smoking"),
        (["--weight", "Smokin"], "Did you mean 'Smoking'"),
    ],
)
def test_each_mistake_has_a_sentence(asia: str, options: list[str], says: str) -> None:
    assert says in refused("structure", asia, *options)


def test_a_model_is_no_table(tmp_path: Path) -> None:
    path = tmp_path / "net.credo"
    credo.save(credo.Network.example("storm"), path)
    assert "credo structure needs a table" in refused("structure", str(path), code=2)


def test_the_names_are_those_of_the_library() -> None:
    from credo.cli.structure import SCORES as OFFERED
    from credo.cli.structure import SEARCHES as WAYS
    from credo.networks.structure.searches import SCORES, SEARCHES

    assert {*OFFERED} == {"auto", *SCORES}
    assert {*WAYS} == {*SEARCHES} - {"tan"}  # which needs a target: credo learn has one
