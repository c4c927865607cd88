"""Streams that are closed or full, signals, names that would command a terminal, notices beside a bar."""

from __future__ import annotations

import io
import os
import re
import signal
import subprocess
import sys
import warnings
from pathlib import Path

import pytest
from click.testing import CliRunner

import credo
from credo.cli import main, streams
from credo.data.queries import Database
from credo.errors import DataError, Notice, printable
from credo.notices import tell, tell_of_columns
from credo.present.demo import ADS
from tests.test_cli import CREDO, SLOW, run, terminal_output

ESCAPES = "\x1b[31mred\x07\x9b2J\u202e"
SHELL = 'exec "$0" "$@" '


def shell(redirection: str, *args: str) -> subprocess.CompletedProcess[str]:
    """A run whose streams a shell redirects."""
    return subprocess.run(
        ["sh", "-c", SHELL + redirection, CREDO, *args], capture_output=True, text=True, check=False, timeout=300
    )


# Streams


@pytest.mark.parametrize("args", [("show", str(ADS)), ("--help",), ("show", "--help"), ("--version",)])
def test_a_closed_or_full_stdout_is_one_sentence(args: tuple[str, ...]) -> None:
    for redirection, why in ((">&-", "it is closed"), (">/dev/full", "the device is full")):
        done = shell(redirection, *args)
        assert (done.returncode, done.stderr) == (1, f"credo: can't write to standard output: {why}\n")


def test_what_needs_no_stdout_is_done_without(tmp_path: Path) -> None:
    """The file is written before anything is printed; a full stderr loses remarks and nothing else."""
    path = tmp_path / "out.csv"
    assert shell(">&- 2>&-", "estimate", str(ADS), "-c", "converted", "-b", "ad", "-o", str(path)).returncode == 1
    assert path.exists()
    assert shell("2>/dev/full", "estimate", str(ADS), "-c", "converted", "-o", str(path)).returncode == 0


def test_errors_end_a_run_even_if_nobody_can_read_them() -> None:
    assert shell("2>&-", "show", "nope.csv").returncode == 1
    assert shell("2>/dev/full", "shw").returncode == 2


def test_help_that_nobody_reads_is_quiet() -> None:
    done = subprocess.run(
        ["sh", "-c", f'{{ "{CREDO}" --help; echo $? >&2; }} | true'], capture_output=True, text=True, check=True
    )
    assert done.stderr in ("0\n", "141\n")


# Control characters


def test_no_name_from_data_or_files_commands_the_terminal(tmp_path: Path) -> None:
    path, model = tmp_path / "a\x1b]0;title\x07.csv", tmp_path / "m\x1b[2J.credo"
    rows = [f"{'yes' if i % 2 else 'no'},p{ESCAPES if i % 3 else ''},{i % 7}.5" for i in range(40)]
    path.write_text(f"y,a{ESCAPES},b{ESCAPES}\n" + "\n".join(rows) + "\n")
    for args in (
        ("show", str(path)),
        ("learn", str(path), "-t", "y", "--model", "naive-bayes", "-o", str(model)),
        ("learn", str(path), "-t", "z\x1b[2J"),
        ("show", str(model)),
        ("predict", str(model), str(tmp_path / "no\x1b[2Jne.csv")),
        ("predict", str(model), str(path), "-o", str(tmp_path / "o\x1b[2J.csv")),
        ("explain", str(model), str(path)),
        ("update", str(model), str(path)),
        ("estimate", str(path), "-c", f"b{ESCAPES}", "-b", f"a{ESCAPES}"),
        ("estimate", str(path), "-c", "y", "--sort", "\x1b[2J"),
        ("ask", str(model), "P(y | c\x1b[2J=1)"),
        ("\x1b[2J",),
        ("show", str(tmp_path / "\x1b[2J" / "x.csv")),
    ):
        result = run(*args)
        assert printable(result.output) == result.output, args
        assert not isinstance(result.exception, Exception), args


def test_errors_and_notices_of_the_library_are_as_harmless() -> None:
    assert str(DataError("\x1b[2J é\n")) == "�[2J é\n"
    with pytest.warns(Notice, match=re.escape("�[2J")):
        tell("\x1b[2J")


# Signals


def test_whatever_a_library_makes_of_an_interrupt_it_is_one(monkeypatch: pytest.MonkeyPatch) -> None:
    """DuckDB may turn it into an error of its own, on the way to which a file can't be saved."""

    def stopped(number: int) -> tuple[int, str]:
        def ask_to_stop(_: object) -> None:
            try:
                os.kill(os.getpid(), number)
                signal.sigtimedwait([], 5)
            except KeyboardInterrupt:
                raise DataError("can't save: Query interrupted") from None

        monkeypatch.setattr("credo.data.profile.profile", ask_to_stop)
        result = run("show", str(ADS))
        return result.exit_code, result.output

    handled = signal.signal(signal.SIGINT, signal.default_int_handler)  # a background job ignores it, and so does credo
    hung_up = signal.signal(signal.SIGHUP, signal.SIG_DFL)  # nohup ignores it
    before = signal.getsignal(signal.SIGTERM)
    assert stopped(signal.SIGINT) == (130, "credo: interrupted\n")
    assert stopped(signal.SIGTERM) == (143, "credo: terminated\n")
    assert stopped(signal.SIGHUP) == (129, "credo: terminated\n")
    assert signal.getsignal(signal.SIGTERM) == before
    signal.signal(signal.SIGINT, handled)
    signal.signal(signal.SIGHUP, hung_up)
    monkeypatch.undo()
    assert run("show", str(ADS)).exit_code == 0


@pytest.mark.parametrize("sentence", ["Query interrupted", "INTERRUPT Error: Interrupted!"])
def test_an_interrupted_query_is_an_interrupt(sentence: str) -> None:
    import duckdb

    class Interrupted:
        def cursor(self) -> None:
            raise duckdb.InterruptException(sentence) if "Error" in sentence else RuntimeError(sentence)

    database = Database()
    database.__dict__["_connection"] = Interrupted()
    with pytest.raises(KeyboardInterrupt):
        list(database.run("SELECT 1", Path("x.csv")))


WRITING = """
import os, signal, sys
from credo.storage import packing
from credo.storage import files as storage
from credo.cli import main

def chunks():
    yield b"begun"
    assert any(name.endswith(".tmp") for name in os.listdir("."))
    os.kill(os.getpid(), signal.SIGTERM)
    yield b"ended"

packing.Packer.node = lambda self, model: storage.write_whole(storage.Path("m.credo"), chunks())
main(["estimate", sys.argv[1], "-c", "converted", "-o", "m.credo"])
"""


def test_a_run_that_is_ended_leaves_no_temporary_file(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", WRITING, str(ADS)], capture_output=True, text=True, cwd=tmp_path, check=False
    )
    assert (done.returncode, done.stderr) == (143, "credo: terminated\n")
    assert list(tmp_path.iterdir()) == []


# Notices


def told(notice: pytest.WarningsRecorder) -> list[str]:
    return [str(each.message) for each in notice]


def test_what_is_said_of_many_columns_is_said_once() -> None:
    table = {"y": ["a", "b"] * 30} | {f"id{j}": [f"r{i}" for i in range(60)] for j in range(80)}
    table |= {f"c{j}": ["p", "q", "q"] * 20 for j in range(80)}
    with pytest.warns(Notice) as notices:
        model = credo.NaiveBayes().fit(table, "y")
    advice = "all values are different, as in a row identifier; kinds={'id0': 'category'} keeps it"
    assert told(notices) == [f"columns 'id0', 'id1', 'id2' and 77 more are ignored: {advice}"]
    with pytest.warns(Notice) as notices:
        model.predict({f"c{j}": ["new", "p"] for j in range(80)})
    assert told(notices) == ["columns 'c0', 'c1', 'c2' and 77 more: 80 cells with unseen values, ignored"]


def test_columns_of_which_different_things_are_said_are_apart() -> None:
    with pytest.warns(Notice) as notices:
        tell_of_columns([("a", "one"), ("b", "two"), ("c", "one"), ("d", "{column}")])
    assert told(notices) == ["columns 'a' and 'c': one", "column 'b': two", "column 'd': 'd'"]


def test_a_sentence_is_told_once_in_a_process() -> None:
    """Whichever lines lead to it, unless a filter asks for more."""
    code = "import credo.notices as n\nn.tell('x')\nn.tell('x')\nfor _ in 'ab':\n    n.tell('y')\n"
    once = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert re.findall(r"Notice: (\w)", once.stderr) == ["x", "y"]
    always = subprocess.run([sys.executable, "-W", "always", "-c", code], capture_output=True, text=True, check=True)
    assert re.findall(r"Notice: (\w)", always.stderr) == ["x", "x", "y", "y"]


NOTED = SLOW.replace(
    "    for _ in range(8):", "    for i in range(8):\n        if i == 5: streams.remark('note: \\x1b[2Jnew')"
).replace("import time", "import time\nfrom credo.cli import streams")


def test_a_notice_stands_above_the_bar_and_the_bar_goes() -> None:
    shown = terminal_output([sys.executable, "-c", NOTED], {"TERM": "xterm", "COLUMNS": "100"})
    assert re.search(r"\x1b\[2Knote: �\[2Jnew\r\n.*reading", shown, re.DOTALL)
    after = shown[shown.rindex("\x1b[2K") :]
    assert "reading" not in after
    assert after.rstrip().endswith("done")


def test_results_stay_on_stdout_while_a_bar_is_shown(tmp_path: Path) -> None:
    """rich would send what is printed to the bar's stream, stderr."""
    code = SLOW.replace('print("done")', "").replace("time.sleep(0.1)", "time.sleep(0.1); print('out')")
    path = tmp_path / "out"
    shown = terminal_output(["sh", "-c", f'exec "$0" -c "$1" >{path}', sys.executable, code], {"TERM": "xterm"})
    assert path.read_text() == "out\n" * 8
    assert "out" not in shown


def test_no_command_prints_past_the_one_way() -> None:
    """print and click.echo would let through what a terminal obeys."""
    for file in Path(streams.__file__).parent.glob("*.py"):
        assert not re.search(r"\bclick\.s?echo\(|(?<![.\w])print\(", file.read_text()), file


def test_warnings_of_others_pass() -> None:
    from credo.cli.group import notices_told

    with pytest.warns(UserWarning, match="theirs"), notices_told():
        warnings.warn("theirs", UserWarning, stacklevel=1)


def test_a_stream_that_was_closed_meanwhile_loses_remarks(monkeypatch: pytest.MonkeyPatch) -> None:
    closed = io.StringIO()
    closed.close()
    monkeypatch.setattr(sys, "stderr", closed)
    streams.remark("nobody reads this")


def test_click_itself_is_unharmed() -> None:
    assert CliRunner().invoke(main, ["--help"]).exit_code == 0
    assert main.main(["--version"], standalone_mode=False) == 0


def test_an_error_is_a_sentence_and_not_a_page() -> None:
    error = DataError(f"column {'x' * 100_000!r} is missing")
    assert len(str(error)) < 1300
    assert str(error).startswith("column 'xxx")
    assert str(error).endswith("xxx' is missing")
    assert str(DataError("x" * 1200)) == "x" * 1200


def test_unknown_states_of_many_columns_are_told_once() -> None:
    names = [f"v{i}" for i in range(9)]
    net = credo.Network({name: [] for name in names}, {name: [0.5, 0.5] for name in names})
    with pytest.warns(Notice) as notices:
        net.log_prob({name: ["yes", "perhaps"] for name in names})
    what = "9 cells with unknown states, such as 'perhaps', taken as missing"
    assert told(notices) == [f"columns 'v0', 'v1', 'v2' and 6 more: {what}"]
