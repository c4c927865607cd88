"""The first minute: each command in a fresh process, before any kernel was compiled and once all of them are cached.

Seconds are the processor's, of the process and what it started, so that other work on the machine counts little. The
question about alarm is asked where its file lies beside the checkout (../shared/data/networks).
"""

from __future__ import annotations

import os
import random
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from resource import RUSAGE_CHILDREN, getrusage
from tempfile import TemporaryDirectory

import credo
from benchmarks.timing import Limit

COLD, WARM = 6.0, 1.5  # seconds
PATIENTS = 100
SAMPLES = Path(__file__).parents[1] / "credo" / "samples"
ALARM = Path(__file__).parents[2] / "shared" / "data" / "networks" / "bif" / "alarm.bif.gz"
CREDO = (sys.executable, "-m", "credo")
TEXTS = """
import random
import credo
rng = random.Random(0)
words = [f"word{i}" for i in range(2000)]
labels = [f"class{i % 4}" for i in range(400)]
def text(k):
    shifts = (37 * k if rng.random() < 0.3 else 0 for _ in range(60))
    return " ".join(words[min(1999, int(rng.expovariate(1 / 150)) + shift)] for shift in shifts)
credo.learn([text(i % 4) for i in range(400)], labels)
"""


def run() -> Iterator[Limit]:
    with TemporaryDirectory() as folder:
        for what, command in _commands(Path(folder) / "rows.csv").items():
            yield from _cold_and_warm(what, command)


def _cold_and_warm(what: str, command: Sequence[str]) -> Iterator[Limit]:
    with TemporaryDirectory() as cache:
        yield Limit(f"{what}, nothing compiled", min(_seconds(command, cache, fresh=True) for _ in range(3)), COLD, "s")
        _seconds(command, cache, CREDO_KERNELS="compiled")
        yield Limit(f"{what}, all cached", min(_seconds(command, cache) for _ in range(3)), WARM, "s")


def _commands(rows: Path) -> Mapping[str, Sequence[str]]:
    """rows: a file to write a table to."""
    found = {
        "`credo demo`": (*CREDO, "demo"),
        "`credo learn`, a table of 600 rows": (*CREDO, "learn", str(SAMPLES / "pumps.csv"), "--target", "fault"),
        "`credo.learn`, 400 texts": (sys.executable, "-c", TEXTS),
        "`credo estimate` by group": (
            *CREDO, "estimate", str(SAMPLES / "ads.csv"), "--column", "converted", "--by", "ad",
        ),
        "`credo ask` a network of 5 variables": (
            *CREDO, "ask", str(SAMPLES / "networks" / "earthquake.bif"), "P(Burglary | Alarm=yes)",
        ),
    }  # fmt: skip
    if ALARM.is_file():
        question = "P(HYPOVOLEMIA | HISTORY=TRUE, CVP=LOW)"
        found["`credo ask` alarm"] = (*CREDO, "ask", str(ALARM), question)
        _write_patients(rows)
        asked = str(ALARM), str(rows), "--target", "HYPOVOLEMIA"
        found[f"`credo predict` {PATIENTS} rows of alarm, a fifth of the cells missing"] = (*CREDO, "predict", *asked)
    return found


def _write_patients(rows: Path) -> None:
    import pyarrow as pa
    from pyarrow.csv import write_csv

    drawn, rng = credo.Network.read(ALARM).sample(PATIENTS, seed=0), random.Random(0)
    cells = {
        name: [None if rng.random() < 0.2 else value for value in drawn[name].to_pylist()]
        for name in drawn.column_names
    }
    write_csv(pa.table(cells), rows)


def _seconds(command: Sequence[str], cache: str, fresh: bool = False, **variables: str) -> float:
    """Of the processor. With a cache that is filled, or with one that is empty."""
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    with TemporaryDirectory() as empty:
        environment |= {"NUMBA_CACHE_DIR": empty if fresh else cache, **variables}
        before = getrusage(RUSAGE_CHILDREN)
        subprocess.run(command, check=True, env=environment, capture_output=True)
        after = getrusage(RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
