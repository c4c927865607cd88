"""`import credo` and `credo --help` are instant: nothing heavy is loaded until it is used."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from resource import RUSAGE_CHILDREN, getrusage

import pytest

HEAVY = ("numpy", "numba", "pyarrow", "scipy", "duckdb", "rich", "matplotlib", "pandas", "polars", "sklearn")
CREDO = str(Path(sys.executable).with_name("credo"))

LOADED = f"""
import sys
{{statement}}
print(sorted(set(name.partition(".")[0] for name in sys.modules) & set({HEAVY})))
"""


def loaded_by(statement: str) -> str:
    code = LOADED.format(statement=statement)
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout


@pytest.mark.parametrize(
    "statement",
    [
        "import credo",
        "import credo; dir(credo)",
        "from credo.cli import main",
        "from credo.cli import main; main(['--help'], standalone_mode=False)",
        "from credo.cli import main; main(['estimate', '--help'], standalone_mode=False)",
        "from credo.cli import main; main(['show', '--help'], standalone_mode=False)",
        "from credo.cli import main; main(['ask', '--help'], standalone_mode=False)",
        "from credo.cli import main; main(['convert', '--help'], standalone_mode=False)",
        "from credo.cli import main; main(['demo', '--help'], standalone_mode=False)",
        "from credo.cli import main; main(['learn', '--help'], standalone_mode=False)",
        "from credo.cli import main; main(['predict', '--help'], standalone_mode=False)",
        "from credo.cli import main; main(['sample', '--help'], standalone_mode=False)",
        "from credo.cli import main; main(['impute', '--help'], standalone_mode=False)",
        "from credo.cli import main; main(['explain', '--help'], standalone_mode=False)",
        "from credo.cli import main; main(['update', '--help'], standalone_mode=False)",
        "from credo.cli import main; main(['forget', '--help'], standalone_mode=False)",
        "from credo.cli import main; main(['merge', '--help'], standalone_mode=False)",
        "from credo import CredoError",
    ],
)
def test_nothing_heavy_is_loaded(statement: str) -> None:
    assert loaded_by(statement).endswith("[]\n")


def test_help_takes_well_under_half_a_second() -> None:
    def seconds() -> float:
        """Of the processor: the clock would also measure what else the machine does."""
        before = getrusage(RUSAGE_CHILDREN)
        subprocess.run([CREDO, "--help"], capture_output=True, check=True)
        after = getrusage(RUSAGE_CHILDREN)
        return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime

    assert min(seconds() for _ in range(5)) < 0.4
