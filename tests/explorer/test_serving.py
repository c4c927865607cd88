"""Opening the page: from files, from Python, in a notebook, and from the command line."""

from __future__ import annotations

import json
import re
import signal
import subprocess
import sys
from pathlib import Path
from urllib.request import Request, urlopen

import pytest
from click.testing import CliRunner

import credo
from credo.cli import main
from credo.cli.group import COMMANDS
from credo.explorer.opening import opened_file
from credo.explorer.screens.screen import screens_of, shown

PUMPS = "station,load,fault\n" + "\n".join(f"s{i % 3},{i % 7},{'yes' if i % 7 > 3 else 'no'}" for i in range(60))


@pytest.fixture
def table(tmp_path: Path) -> str:
    path = tmp_path / "pumps.csv"
    path.write_text(PUMPS)
    return str(path)


def test_files_of_models_networks_and_tables(tmp_path: Path, table: str) -> None:
    credo.save(credo.BetaBernoulli(1, 1).update([1, 0]), tmp_path / "coin.credo")
    credo.Network.example("asia").write(tmp_path / "asia.bif")
    assert [*screens_of(opened_file(str(tmp_path / "coin.credo")))] == ["belief"]
    assert [*screens_of(opened_file(str(tmp_path / "asia.bif")))] == ["network"]
    assert [*screens_of(opened_file(table))] == ["table"]
    assert [*screens_of(opened_file(table, target="fault"))] == ["row", "trust"]


def test_a_table_says_how_it_is_read(table: str) -> None:
    screen = screens_of(opened_file(table))["table"]
    found = shown(screen)
    assert found["rows"] == 60
    assert found["kinds"] == {"station": "category", "load": "number", "fault": "category"}
    assert found["head"]["fault"][:5] == ["no", "no", "no", "no", "yes"]
    lines = screen.actions["lines"]({"column": "fault"})
    assert "--target fault" in lines["learn"]["cli"]


def test_a_notebook_shows_the_page() -> None:
    page = credo.Network.example("asia").explore()
    try:
        frame = page._repr_html_()
        address = re.search(r'src="([^"]+)"', frame)
        assert address is not None
        with urlopen(address[1]) as answer:
            assert b'id="app"' in answer.read()
            assert "frame-ancestors http://127.0.0.1:*" in answer.headers["content-security-policy"]
    finally:
        page.stop()


def test_a_port_that_is_taken_is_refused_in_a_sentence(tmp_path: Path) -> None:
    path = tmp_path / "asia.bif"
    credo.Network.example("asia").write(path)
    with credo.explore(credo.Network.example("asia")) as page:
        found = CliRunner().invoke(main, ["explore", str(path), "--no-browser", "--port", str(page.port)])
    assert found.exit_code == 1
    assert re.fullmatch(r"\S*credo\S*: port \d+ of 127\.0\.0\.1 can't be used: .*\n", found.stderr), found.stderr


@pytest.mark.parametrize("file", ["nothing.credo", "nothing.bif", "nothing.csv"])
def test_files_that_are_not_there(file: str) -> None:
    found = CliRunner().invoke(main, ["explore", file, "--no-browser"])
    assert found.exit_code == 1
    assert "nothing" in found.stderr
    assert "explore" in COMMANDS


def command(*arguments: str) -> subprocess.Popen[str]:
    """credo explore in a process of its own, which ends by Ctrl-C wherever the tests run."""
    handled = signal.signal(signal.SIGINT, signal.default_int_handler)  # which background jobs ignore
    try:
        line = [sys.executable, "-m", "credo", "explore", *arguments, "--no-browser"]
        return subprocess.Popen(line, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    finally:
        signal.signal(signal.SIGINT, handled)


@pytest.mark.slow
def test_the_command_prints_the_address_and_ends_with_ctrl_c(tmp_path: Path) -> None:
    path = tmp_path / "asia.bif"
    credo.Network.example("asia").write(path)
    process = command(str(path))
    try:
        assert process.stdout is not None
        with urlopen(process.stdout.readline().strip()) as answer:
            assert answer.status == 200
        process.send_signal(signal.SIGINT)
        _, said = process.communicate(timeout=30)
    finally:
        process.kill()
        process.communicate()
    assert "Traceback" not in said


@pytest.mark.slow
def test_a_killed_server_loses_nothing_that_was_saved(tmp_path: Path, table: str) -> None:
    path = tmp_path / "pumps.credo"
    credo.save(credo.NaiveBayes().fit(table, target="fault"), path)
    process = command(str(path))
    taught = {"taught": [{"row": {"station": "s1", "load": 3}, "class": "yes"}]}
    try:
        assert process.stdout is not None
        address, _, token = process.stdout.readline().strip().partition("/?token=")
        asked = Request(f"{address}/api/row/save", json.dumps(taught).encode(), {"X-Credo-Token": token})
        with urlopen(asked) as answer:
            assert json.loads(answer.read()) == {"saved": 1, "rows": 61.0}
    finally:
        process.kill()
        process.communicate()
    assert credo.load(path).n == 61
    with credo.explore(str(path)) as again:
        assert again.subject.model.n == 61
