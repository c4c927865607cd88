"""The command line: what it prints, writes and refuses."""

from __future__ import annotations

import csv
import json
import os
import re
import shlex
import subprocess
import sys
import warnings
from collections.abc import Mapping
from inspect import signature
from pathlib import Path

import click
import pytest
from click.testing import CliRunner, Result
from pyarrow import ipc, parquet

import credo
from credo.cli import main
from credo.cli.group import COMMANDS, in_options, notices_told
from credo.cli.prior import FAMILY_KINDS, PRIOR_NUMBERS, class_name
from credo.errors import Notice
from credo.families import FAMILIES
from credo.present.content import TableColumn
from credo.present.demo import ADS as VISITS
from credo.present.demo import PUMPS
from credo.present.numbers import number_form, one_line, written
from credo.present.terminal import intervals

CREDO = str(Path(sys.executable).with_name("credo"))
ADS = str(VISITS)


def run(*args: str, columns: int = 100) -> Result:
    return CliRunner().invoke(main, args, env={"COLUMNS": str(columns)})


def ran(*args: str, columns: int = 100) -> str:
    """What a run that ends well prints."""
    result = run(*args, columns=columns)
    assert result.exit_code == 0, result.stderr
    return result.stdout


def refused(*args: str, code: int = 1) -> str:
    """The one sentence of a run that ends badly."""
    result = run(*args)
    assert result.exit_code == code
    assert result.stdout == ""
    if code == 1:
        assert result.stderr.startswith("credo: ")
        assert result.stderr.count("\n") == 1
    return result.stderr


def process(*args: str, **settings: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([CREDO, *args], capture_output=True, text=True, env=os.environ | settings, check=False)


@pytest.fixture
def plans(tmp_path: Path) -> str:
    path = tmp_path / "plans.csv"
    rows = ["gold,3,2.5,de,1"] * 6 + ["free,1,0.5,de,2"] * 9 + ["basic,0,1.5,fr,1"] * 5 + [",2,,fr,1", "gold,4,0.25,,1"]
    path.write_text("plan,calls,hours,country,times\n" + "\n".join(rows) + "\n")
    return str(path)


# Help


@pytest.mark.parametrize("name", list(COMMANDS))
def test_every_command_has_help_with_examples(name: str) -> None:
    text = ran(name, "--help")
    assert re.search(r"Examples?:\n +credo " + name, text)
    command = main.get_command(click.Context(main), name)
    assert command is not None
    assert command.get_short_help_str(200) == COMMANDS[name]


def test_help_lists_the_commands_and_how_to_start() -> None:
    text = ran("--help")
    assert all(name in text and about in text for name, about in COMMANDS.items())
    assert "credo demo" in text


def test_version() -> None:
    assert credo.__version__ in ran("--version")


def test_an_unknown_command_is_a_usage_error_with_a_suggestion() -> None:
    assert "Did you mean 'estimate'?" in refused("estmate", code=2)


def test_the_families_of_the_help_are_those_of_the_library() -> None:
    text = ran("estimate", "--help")
    for name, numbers in PRIOR_NUMBERS.items():
        parameters = list(signature(FAMILIES[class_name(name)]).parameters)
        assert numbers.split(",") == [p for p in parameters if p != "levels"]
        assert re.search(rf"{name} +{numbers} ", text)
    assert set(FAMILY_KINDS) < set(PRIOR_NUMBERS)


# estimate


def test_one_belief() -> None:
    text = ran("estimate", ADS, "--column", "converted")
    belief = credo.estimate(ADS, "converted")
    assert f"converted: {belief.n:,.0f} observations" in text
    line = next(line for line in text.splitlines() if line.startswith("probability"))
    low, high = belief.interval()
    numbers = [belief.mean(), belief.mode(), belief.maximum_likelihood(), low, high]
    assert re.findall(r"0\.\d+", line) == [f"{number:.4f}" for number in numbers]


def test_groups_with_prior_and_what_was_left_out() -> None:
    text = ran("estimate", ADS, "--column", "converted", "--by", "ad", "--prior", "2,2")
    beliefs = credo.estimate(ADS, "converted", by="ad", prior=credo.BetaBernoulli(2, 2))
    for ad in beliefs:
        assert re.search(rf"^{ad} .* {beliefs[ad].mean():.4f} ", text, re.MULTILINE)
    assert "prior (given) BetaBernoulli(a=2, b=2)" in text
    assert f"{beliefs.ungrouped:g} rows without ad" in text
    assert "rows without converted" in text


def groups_of(text: str) -> list[str]:
    """The first column of a printed table."""
    lines = text.splitlines()
    start = next(i for i, line in enumerate(lines) if line.startswith("──")) + 1
    return [line.split()[0] for line in lines[start : lines.index("", start)]]


def test_sorting_and_the_first_few() -> None:
    beliefs = credo.estimate(ADS, "converted", by="ad")
    by_mean = sorted(beliefs, key=lambda ad: -beliefs[ad].mean())
    args = ("estimate", ADS, "--column", "converted", "--by", "ad")
    assert groups_of(ran(*args)) == by_mean
    assert groups_of(ran(*args, "--sort", "name")) == sorted(beliefs)
    assert groups_of(ran(*args, "--sort", "rows"))[0] == "banner"
    few = ran(*args, "--top", "2")
    assert groups_of(few) == by_mean[:2]
    assert "4 more groups" in few


def test_an_empirical_prior_is_said() -> None:
    text = ran("estimate", ADS, "--column", "converted", "--by", "ad", "--prior", "empirical")
    prior = credo.estimate(ADS, "converted", by="ad", prior="empirical").prior
    assert f"prior (empirical) {prior}" in text


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        (("--column", "plan"), "P(gold)"),
        (("--column", "plan", "--by", "country"), "P(free)"),
        (("--column", "plan", "--success", "gold", "--by", "country"), "prior (default) BetaBernoulli(a=1, b=1)"),
        (("--column", "plan", "--success", "gold", "--by", "country", "--prior", "2,5"), "BetaBernoulli(a=2, b=5)"),
        (("--column", "calls", "--kind", "count", "--by", "country"), "GammaPoisson"),
        (("--column", "calls", "--family", "gamma-poisson"), "rate"),
        (("--column", "calls", "--prior", "1,2", "--kind", "count"), "GammaPoisson(shape=1, rate=2)"),
        (("--column", "hours", "--by", "country"), "variance"),
        (("--column", "hours", "--prior", "1,2", "--family", "gamma-exponential"), "GammaExponential(shape=1, rate=2)"),
        (("--column", "hours", "--prior", "1,2,3", "--family", "normal-mean"), "noise_sd=3"),
        (("--column", "hours", "--prior", "1,2", "--family", "pareto-uniform"), "upper end"),
        (("--column", "plan", "--prior", "0.5"), "DirichletCategorical(concentration=0.5)"),
        (("--column", "plan", "--weight", "times"), "plan: 30 observations"),
        (("--column", "plan", "--mass", "0.9"), "90% interval"),
    ],
)
def test_how_a_column_can_be_read(plans: str, options: tuple[str, ...], expected: str) -> None:
    assert expected in ran("estimate", plans, *options, columns=160)


def test_a_narrow_screen_gets_the_means_and_is_told_of_the_rest(plans: str) -> None:
    text = ran("estimate", plans, "--column", "plan", "--by", "country", columns=80)
    assert text.count("95% interval") == 1
    assert "no room for 2 intervals" in text
    assert max(map(len, text.splitlines())) <= 80
    assert "no room for 2 more values" in ran("estimate", plans, "--column", "plan", "--by", "country", columns=45)


def test_a_pattern_reads_many_files(tmp_path: Path) -> None:
    for part in "ab":
        (tmp_path / f"{part}.csv").write_text("x\n1\n0\n1\n")
    assert "x: 6 observations" in ran("estimate", str(tmp_path / "*.csv"), "--column", "x")


# Output files


def read_back(path: Path) -> list[dict[str, object]]:
    if path.suffix == ".jsonl":
        return [json.loads(line) for line in path.read_text().splitlines()]
    if path.suffix == ".parquet":
        return parquet.read_table(path).to_pylist()  # type: ignore[no-any-return]
    if path.suffix == ".arrow":
        return ipc.open_file(path.read_bytes()).read_all().to_pylist()  # type: ignore[no-any-return]
    with path.open(newline="") as stream:
        return list(csv.DictReader(stream, delimiter="\t" if path.suffix == ".tsv" else ","))


@pytest.mark.parametrize("ending", [".csv", ".tsv", ".jsonl", ".parquet", ".arrow"])
def test_a_table_is_written_whole(tmp_path: Path, ending: str) -> None:
    path = tmp_path / f"out{ending}"
    result = run("estimate", ADS, "--column", "converted", "--by", "ad", "--top", "1", "-o", str(path))
    assert result.exit_code == 0
    assert f"wrote {path}" in result.stderr
    table = credo.estimate(ADS, "converted", by="ad").table()
    rows = read_back(path)
    assert [row["ad"] for row in rows] == table["ad"].to_pylist()
    assert [float(str(row["mean_low"])) for row in rows] == table["mean_low"].to_pylist()
    assert list(tmp_path.iterdir()) == [path]


def test_one_belief_as_a_table(tmp_path: Path) -> None:
    path = tmp_path / "one.jsonl"
    ran("estimate", ADS, "--column", "seconds", "-o", str(path))
    rows = read_back(path)
    belief = credo.estimate(ADS, "seconds")
    assert [row["parameter"] for row in rows] == ["mean", "variance"]
    assert [row["maximum_likelihood"] for row in rows] == list(belief.maximum_likelihood())
    assert rows[0]["n"] == belief.n


def test_a_saved_file_is_loaded_and_shown(tmp_path: Path) -> None:
    path = str(tmp_path / "ads.credo")
    ran("estimate", ADS, "--column", "converted", "--by", "ad", "--prior", "empirical", "-o", path)
    assert credo.load(path).table().equals(credo.estimate(ADS, "converted", by="ad", prior="empirical").table())
    text = ran("show", path, columns=200)
    assert f"Beliefs, saved by credo {credo.__version__}" in text
    assert "prior (empirical) BetaBernoulli" in text
    assert re.search("^ad +category +banner, newsletter, podcast", text, re.MULTILINE)
    assert groups_of(text.partition("converted by ad")[2])[0] == "newsletter"


def test_a_saved_belief_is_shown(tmp_path: Path) -> None:
    path = str(tmp_path / "coin.credo")
    credo.save(credo.BetaBernoulli(2, 2).update({1: 75, 0: 60}), path)
    assert "BetaBernoulli(a=77, b=62), after 135 observations" in ran("show", path)


def test_a_file_that_cannot_be_written_leaves_the_old_one(tmp_path: Path) -> None:
    path = tmp_path / "out.csv"
    path.write_text("old")
    assert "column" in refused("estimate", ADS, "--column", "nope", "-o", str(path))
    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]


# show


def test_a_table_is_shown_as_it_is_read(plans: str) -> None:
    text = ran("show", plans, columns=200)
    assert "22 rows, 5 columns" in text
    assert re.search(r"^plan +category +4\.5% +gold, free, basic *$", text, re.MULTILINE)
    assert re.search(r"^hours +number +4\.5% +0\.25 to 2\.5 *$", text, re.MULTILINE)
    assert re.search(r"^times +category +- +1, 2 *$", text, re.MULTILINE)
    assert "--kind category" in text
    assert "kinds={" in text


def test_ids_and_empty_columns_are_shown_as_ignored(tmp_path: Path) -> None:
    path = tmp_path / "ids.csv"
    path.write_text("id,none\n" + "".join(f"u{i}z,\n" for i in range(60)))
    text = ran("show", str(path))
    assert re.search(r"^id +ignore +- +identifiers of rows, such as u0z", text, re.MULTILINE)
    assert re.search(r"^none +ignore +100\.0% +every cell is missing", text, re.MULTILINE)


def test_columns_that_credo_does_not_read_are_shown_too(tmp_path: Path) -> None:
    path = tmp_path / "nested.jsonl"
    path.write_text('{"x": 1.5, "words": ["a", "b"]}\n{"x": 2.5, "words": []}\n')
    text = ran("show", str(path))
    assert re.search(r"^words +ignore +- +list<.*>, which credo doesn't read", text, re.MULTILINE)


# demo


def test_the_demo_ends_well_and_fits_80_columns() -> None:
    text = ran("demo", columns=80)
    tour, _, commands = text.partition("7. Try next")
    assert max(map(len, tour.splitlines())) <= 80
    assert "simulated pumps" in tour
    assert "the same in every bit" in tour
    assert commands.count("\n") > 4


def test_the_demo_says_what_the_library_finds() -> None:
    text = ran("demo")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", Notice)
        scores = credo.learn(PUMPS, "fault").report.scores
    assert f"{scores.accuracy:.1%}" in text
    assert f"{scores.log_loss:.3f}" in text
    makers = credo.estimate(PUMPS, "fault", by="maker", success="bearing")
    assert re.search(rf"Birch +{makers['Birch'].n:g} +{makers['Birch'].mean():.3f}", text)


def test_the_demo_explains_a_prediction_by_arithmetic_that_holds() -> None:
    table = ran("demo").partition("4. Explaining")[2].partition("5. Unlearning")[0]
    weights = [float(found) for found in re.findall(r" ([-+]\d+\.\d\d) ", table)]
    assert len(weights) > 5
    assert sum(weights[:-1]) == pytest.approx(weights[-1], abs=0.01 * len(weights))


@pytest.mark.slow
def test_what_the_demo_says_to_try_next_works(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    commands = process("demo").stdout.partition("7. Try next\n")[2].strip().splitlines()
    assert len(commands) == 6
    for command in commands:
        program, *words = shlex.split(command)
        assert Path(program).name == "credo"
        assert process(*words).returncode == 0, command
    assert {path.name for path in tmp_path.iterdir()} == {"pumps.credo", "pumps.html", "scored.csv"}


def test_the_made_up_table_can_be_made_again() -> None:
    from credo.samples.make_pumps import HEADER, rows

    with PUMPS.open(newline="") as stream:
        assert list(csv.DictReader(stream)) == [{name: str(row[name]) for name in HEADER} for row in rows()]


# Errors


@pytest.mark.parametrize(
    ("args", "sentence"),
    [
        (("estimate", "nope.csv", "--column", "x"), "there is no file 'nope.csv'"),
        (("show", "nope.csv"), "there is no file 'nope.csv'"),
        (("show", "nope.credo"), "there is no such file"),
        (("estimate", ADS, "--column", "convertd"), "Did you mean 'converted'?"),
        (("estimate", ADS, "--column", "converted", "--by", "add"), "Did you mean 'ad'?"),
        (("estimate", ADS, "--column", "converted", "--prior", "2,-2"), "b must be positive, but is -2"),
        (("estimate", ADS, "--column", "converted", "--prior", "empirical"), "name their column, --by"),
        (("estimate", ADS, "--column", "converted", "--mass", "1.5"), "mass must lie between 0 and 1"),
        (("estimate", ADS, "--column", "converted", "--success", "yess"), "Did you mean 'yes'?"),
        (("estimate", ADS, "--column", "device", "--kind", "number"), "use --kind category"),
        (("estimate", ADS, "--column", "device", "--prior", "1,1", "--family", "beta-bernoulli"), "with --success"),
        (("estimate", ADS, "--column", "device", "--family", "beta-bernoulli"), "not beta-bernoulli"),
        (("estimate", ADS, "--column", "seconds", "--kind", "count"), "where a count"),
        (("estimate", ADS, "--column", "seconds", "--by", "ad", "-o", "nowhere/x.csv"), "no folder nowhere"),
        (("estimate", ADS, "--column", "seconds", "--by", "ad", "-o", "nowhere/x.credo"), "no folder nowhere"),
        (("estimate", ADS, "--column", "seconds", "--by", "ad", "-o", "x.xlsx"), "must end in one of .csv"),
    ],
)
def test_errors_are_one_sentence(args: tuple[str, ...], sentence: str) -> None:
    assert sentence in refused(*args)


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        (("--prior", "two"), "neither numbers (as in 2,2)"),
        (("--prior", "1,2,3"), "--prior 1,2,3: beta-bernoulli takes a,b"),
        (("--family", "gamma-exponential"), "give its numbers, --prior shape,rate"),
        (("--family", "gamma-poisson", "--kind", "number"), "is for a count, but --kind says number"),
        (("--top", "0"), "--top"),
        (("--sort", "size"), "--sort"),
    ],
)
def test_usage_errors_say_what_is_expected(options: tuple[str, ...], sentence: str) -> None:
    assert sentence in refused("estimate", ADS, "--column", "converted", *options, code=2)


def test_a_column_must_be_named() -> None:
    assert "--column" in refused("estimate", ADS, code=2)


def test_advice_names_options() -> None:
    assert in_options("say kinds={'zip': 'category'}") == "say --kind category"
    assert in_options("give its kind with kinds={'zip': ...}, or") == "give its kind with --kind, or"
    assert in_options("kinds={'a=b': 'category'} keeps it", "learn") == "--kind a=b=category keeps it"
    assert in_options("use kinds={'zip': 'category'}", "update") == "use credo learn --kind zip=category"


def test_notices_go_to_stderr_once(capsys: pytest.CaptureFixture[str]) -> None:
    with notices_told():
        for _ in range(2):
            warnings.warn("column 'id' is ignored", Notice, stacklevel=1)
    captured = capsys.readouterr()
    assert (captured.out, captured.err) == ("", "note: column 'id' is ignored\n")


# The screen


def test_numbers_of_a_column_line_up() -> None:
    form = number_form([0.5, 0.25])
    assert [written(TableColumn("", cells, form)) for cells in ([0.5, 0.25], [0.125, None])] == [
        ["0.5000", "0.2500"],
        ["0.1250", "-"],
    ]
    for numbers, shown in (
        ([1234.5, 20000.0], ["1,234", "20,000"]),
        ([0.0], ["0.000"]),
        ([1e-7, 2e-7], ["1.000e-07", "2.000e-07"]),
    ):
        assert written(TableColumn("", numbers, number_form(numbers))) == shown


def test_pictures_share_a_scale_and_never_fail() -> None:
    assert {len(line) for line in intervals([(0.1, 0, 0.2), (0.9, 0.8, 1), (0.5, 0.2, 0.8)], 30)} == {30}
    assert intervals([(1.0, 1.0, 1.0)], 30) == [""]
    assert intervals([(1.0, 0.0, 0.5)], 5) == ["─── ●"]  # the mean of a heavy tail
    assert intervals([(1.0, 0.0, float("inf"))], 30) == [""]


def test_names_from_the_data_cannot_command_the_terminal(tmp_path: Path) -> None:
    assert "\x1b" not in one_line("\x1b[2J")
    path = tmp_path / "x.csv"
    path.write_text('g,x\n"\x1b[2J[bold]",1\n"[/red]",0\n')
    text = ran("estimate", str(path), "--column", "x", "--by", "g")
    assert "\x1b" not in text
    assert "[bold]" in text
    assert "[/red]" in text


# Real processes


@pytest.mark.parametrize("args", [("demo",), ("show", ADS), ("estimate", ADS, "-c", "converted", "-b", "ad")])
def test_a_pipe_gets_plain_text(args: tuple[str, ...]) -> None:
    done = process(*args)
    assert (done.returncode, done.stderr) == (0, "")
    assert "\x1b" not in done.stdout


def test_a_terminal_without_unicode_is_no_error() -> None:
    done = process("estimate", ADS, "--column", "converted", "--by", "ad", PYTHONIOENCODING="ascii")
    assert done.returncode == 0
    assert "banner" in done.stdout


def test_errors_of_a_process_go_to_stderr() -> None:
    done = process("estimate", "nope.csv", "--column", "x")
    assert (done.returncode, done.stdout, done.stderr) == (1, "", "credo: there is no file 'nope.csv'\n")


def start(*args: str, **streams: int) -> subprocess.Popen[bytes]:
    return subprocess.Popen([CREDO, *args], stderr=subprocess.PIPE, **streams)  # type: ignore[call-overload, no-any-return]


def test_a_reader_who_leaves_early_is_no_error(tmp_path: Path) -> None:
    path = tmp_path / "many.csv"
    path.write_text("g,x\n" + "".join(f"group {i},1\n" for i in range(5000)))
    reading, writing = os.pipe()
    with start("estimate", str(path), "-c", "x", "-b", "g", "--top", "5000", stdout=writing) as running:
        os.close(writing)
        os.close(reading)
        assert running.communicate()[1] == b""
    assert running.returncode == 141


def test_interrupts_are_one_word(monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("credo.data.profile.profile", interrupted)
    result = run("show", ADS)
    assert (result.exit_code, result.output) == (130, "credo: interrupted\n")


def terminal_output(args: list[str], settings: Mapping[str, str]) -> str:
    """What a process shows on a terminal of its own."""
    import pty

    ours, theirs = pty.openpty()
    with subprocess.Popen(args, stdout=theirs, stderr=theirs, stdin=theirs, env=os.environ | settings) as running:
        os.close(theirs)
        shown = b""
        while True:
            try:
                chunk = os.read(ours, 65_536)
            except OSError:  # Linux says so when the other end is closed
                break
            if not chunk:
                break
            shown += chunk
        running.wait()
    os.close(ours)
    return shown.decode()


SLOW = """
import time
from credo.cli import progress
from credo.engines import local
progress.BAR_SECONDS = 0.2
with progress.shown_progress("reading"):
    for _ in range(8):
        time.sleep(0.1)
        report = local.progress.get()
        report(1000)
print("done")
"""


def test_slow_work_on_a_terminal_shows_rows_and_speed_and_cleans_up() -> None:
    shown = terminal_output([sys.executable, "-c", SLOW], {"TERM": "xterm", "COLUMNS": "100"})
    assert re.search(r"reading .*[1-8],000 rows read, [\d,]+ a second", shown)
    assert "\x1b[2K" in shown  # the line is erased
    assert shown.rstrip().endswith("done")


def test_a_terminal_is_told_that_kernels_are_compiled() -> None:
    compiling = SLOW.replace("time.sleep(0.1)", "watched['compiling'] = 1; time.sleep(0.1)")
    compiling = compiling.replace("import time\n", "import time\nfrom credo._kernels.jit import watched\n")
    assert "compiling kernels, once" in terminal_output([sys.executable, "-c", compiling], {"TERM": "xterm"})


def test_kernels_are_watched_while_they_are_compiled() -> None:
    code = """
from numba import types
from numba.extending import overload
from credo._kernels.jit import kernel, watched
seen = []
def look(x): return x
@overload(look)
def of_look(x):
    seen.append(watched["compiling"])
    return lambda x: x
@kernel
def looked(x): return look(x)
assert watched["compiling"] == 0
looked(1.0)
assert seen and all(seen) and watched["compiling"] == 0
"""
    subprocess.run([sys.executable, "-c", code], check=True)


def test_who_waits_for_kernels_in_python_is_told_once(tmp_path: Path) -> None:
    code = """
from time import sleep
from numba.extending import overload
from credo._kernels import jit
jit.NOTICE_SECONDS = 0.05
def wait(x): return x
@overload(wait)
def of_wait(x):
    sleep(0.2)
    return lambda x: x
for _ in range(2):
    @jit.kernel
    def waiting(x): return wait(x)
    waiting.py_func.__module__ = "credo.kernels"
    waiting(1.0)
    waiting(1)
"""
    environment = {"TERM": "xterm", "COLUMNS": "100", "NUMBA_CACHE_DIR": str(tmp_path)}
    shown = terminal_output([sys.executable, "-c", code], environment)
    assert shown.count("credo is compiling kernels, once") == 1
    quiet = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert quiet.stderr == ""


def test_quick_work_on_a_terminal_shows_no_bar() -> None:
    quick = SLOW.replace("0.2", "60").replace("0.1", "0")
    assert terminal_output([sys.executable, "-c", quick], {"TERM": "xterm"}).strip() == "done"


def test_a_terminal_gets_colours() -> None:
    shown = terminal_output([CREDO, "estimate", ADS, "-c", "converted", "-b", "ad"], {"TERM": "xterm", "COLUMNS": "80"})
    assert "\x1b[1m" in shown


def test_numbers_that_do_not_differ_end_with_a_reason(tmp_path: Path) -> None:
    table = tmp_path / "one.csv"
    table.write_text("x,g\n19.5,a\n19.5,b\n")
    for by in ((), ("--by", "g")):
        found = run("estimate", str(table), "--column", "x", "--kind", "number", *by)
        assert found.exit_code == 1
        assert "the scale is unknown: every observation is 19.5" in found.stderr
    found = run("estimate", str(table), "--column", "x", "--kind", "number", "--prior", "20,1,1,1")
    assert found.exit_code == 0


def test_a_large_table_is_shown_by_pairs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from credo.core import sparse

    monkeypatch.setattr(sparse, "DENSE_TABLE", 4)
    table = tmp_path / "bought.csv"
    table.write_text("user,item\n" + "\n".join(f"u{k % 3},p{k % 4}" for k in range(24)) + "\n")
    found = run("estimate", str(table), "--column", "item", "--by", "user", "--top", "2")
    assert found.exit_code == 0
    assert "value" in found.stdout
    assert "10 more pairs" in found.stdout
