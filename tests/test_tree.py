"""Imports point one way: a room knows those below it."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

import credo

ROOMS = (  # each may import from those before it, and from its own line
    ("errors", "notices", "_kernels"),
    ("numerics", "data", "engines"),
    ("core",),
    ("families",),
    ("blocks", "estimation"),
    ("models", "networks"),
    ("selection", "streaming", "asking"),
    ("present", "storage", "formats"),
    ("explorer",),
    ("cli", "sklearn"),
)
LEVEL = {room: level for level, rooms in enumerate(ROOMS) for room in rooms}
FOLDER = Path(credo.__file__).parent
# Methods that hand over to a room above, which they import when they are called.
HANDED_OVER = {
    ("families", "estimation"),  # prior.update(...) is a belief
    ("estimation", "present"),
    ("models", "present"),
    ("networks", "present"),
    ("selection", "present"),  # repr and plot
    ("models", "selection"),  # tune, learning_curve
    ("models", "streaming"),  # live
    ("networks", "formats"),  # read, write
    ("core", "explorer"),  # explore
    ("core", "present"),  # in a notebook
    ("numerics", "present"),
    ("data", "present"),
}


def imports(path: Path) -> list[tuple[str, bool]]:
    """The rooms that a file imports from when it runs, and whether it does so at once."""
    tree = ast.parse(path.read_text())
    checked = {
        id(inner)
        for node in ast.walk(tree)
        if isinstance(node, ast.If) and isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING"
        for inner in ast.walk(node)
    }
    found = []
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and id(node) not in checked and (node.module or "").startswith("credo"):
            modules = [f"credo.{name.name}" for name in node.names] if node.module == "credo" else [str(node.module)]
            rooms = [module.split(".")[1] for module in modules]
            found += [(room, node in tree.body) for room in rooms if room in LEVEL]
    return found


@pytest.mark.parametrize("room", LEVEL)
def test_imports_point_one_way(room: str) -> None:
    files = [*(FOLDER / room).rglob("*.py"), *FOLDER.glob(f"{room}.py")]
    assert files
    for path in files:
        for other, at_once in imports(path):
            upwards = LEVEL[other] > LEVEL[room]
            assert not upwards or (not at_once and (room, other) in HANDED_OVER), f"{path}: {other}"


def test_every_room_is_known() -> None:
    rooms = {path.name for path in FOLDER.iterdir() if path.is_dir() and any(path.glob("*.py"))}
    files = {path.stem for path in FOLDER.glob("*.py")}
    assert rooms | files == {*LEVEL, "__init__", "__main__"} | {"samples"}


def test_kernels_know_nobody() -> None:
    for path in (FOLDER / "_kernels").rglob("*.py"):
        assert {other for other, _ in imports(path)} <= {"_kernels"}, path


# As users know them: of a number, and of a node given its parents.
NAMED_TWICE = {"Distribution", "Normal"}


def test_one_name_has_one_meaning() -> None:
    classes = [
        node.name
        for path in FOLDER.rglob("*.py")
        for node in ast.parse(path.read_text()).body
        if isinstance(node, ast.ClassDef)
    ]
    assert {name for name in classes if classes.count(name) > 1} == NAMED_TWICE
